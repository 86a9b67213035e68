data {
  int<lower=3> T;
  vector[T] y;
}
parameters {
  real phi;
  real<lower=0> sigma;
  array[2] real<lower=0, upper=1> stay;
  vector[T] jump;
}
transformed parameters {
  vector[T] h;
  array[T] vector[2] forward;
  h[1] = jump[1];
  for (t in 2 : T) {
    h[t] = phi * h[t - 1] + jump[t];
  }
  forward[1] = [0.1, 0.2]';
  for (t in 2 : T) {
    array[2] real acc;
    for (j in 1 : 2) {
      acc[1] = forward[t - 1][1] + log(stay[1]) * j;
      acc[2] = forward[t - 1][2] + log1m(stay[2]) * y[t];
      forward[t][j] = log_sum_exp(acc) + normal_lpdf(y[t] | h[t], j);
    }
  }
}
model {
  real last = 0;
  vector[T] eps;
  for (t in 1 : T) {
    eps[t] = y[t] - phi * last - (t > 2 ? eps[t - 2] * 0.3 : 0);
    last = eps[t];
  }
  eps ~ normal(0, sigma);
  jump ~ std_normal();
  phi ~ normal(0, 1);
  target += log_sum_exp(forward[T]);
}
