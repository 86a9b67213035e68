data {
  int<lower=1> N;
  int<lower=2> K;
  array[N, K] vector[3] y;
  array[N] int<lower=1, upper=K> pick;
}
transformed data {
  array[K] vector[3] centre = rep_array(rep_vector(0.5, 3), K);
  matrix[N, 3] picked;
  int count = 0;
  for (n in 1 : N) {
    picked[n] = y[n, pick[n]]';
    count += pick[n] > 1;
  }
  centre[1][2] = count;
}
parameters {
  array[K] vector[3] m;
  array[2, K] matrix[2, 3] W;
}
transformed parameters {
  array[K] vector[3] both = m;
  both[2] = m[1] - centre[1];
  both[1][2 : 3] = m[2][ : 2] * count;
  array[K] row_vector[2] out;
  for (k in 1 : K) {
    out[k] = (W[1, k] * both[k])' + W[2, k][ : , 3]';
  }
}
model {
  for (n in 1 : N) {
    y[n] ~ multi_normal(both[pick[n]], identity_matrix(3));
    picked[n] ~ normal(both[pick[n]], 2);
  }
  for (k in 1 : K) {
    target += -dot_self(out[k]) - sum(W[1 : 2, k][2][1]);
    m[k] ~ normal(both[K], 1);
  }
}
