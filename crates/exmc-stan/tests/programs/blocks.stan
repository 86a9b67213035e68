// every block, in order
functions {
  real twice(real x) {
    return 2 * x;
  }
}
data {
  int<lower=0> N;
  vector[N] y;
}
transformed data {
  real scale = twice(1.5);
}
parameters {
  real mu;
}
transformed parameters {
  real shifted = mu + scale;
}
model {
  y ~ normal(shifted, 1);
}
generated quantities {
  real z = normal_rng(mu, 1);
}
