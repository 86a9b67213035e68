data {
  int<lower=1> I;
  int<lower=1> J;
  int<lower=1> K;
  array[I, J] int<lower=0, upper=1> y;
  array[I] int<lower=1, upper=K> first;
}
parameters {
  matrix[I, K] ability;
  array[J] vector[K] load;
  array[I, J, K] real extra;
}
transformed parameters {
  array[I, J] real eta;
  real corner = 0;
  for (i in 1 : I) {
    for (j in 1 : J) {
      eta[i, j] = 0;
      for (k in first[i] : K) {
        eta[i, j] += ability[i, k] * load[j][k] + extra[i, j, k] / (k + j);
      }
      if (i == j) {
        corner += eta[i, j];
      }
    }
  }
}
model {
  for (i in 1 : I) {
    for (j in 1 : i) {
      if (j <= J) {
        y[i, j] ~ bernoulli_logit(eta[i, j]);
      }
    }
  }
  for (x in load) {
    x ~ normal(corner, 1);
  }
  to_vector(ability) ~ std_normal();
  for (row in extra) {
    for (cell in row) {
      target += -sum(square(to_vector(cell)));
    }
  }
}
