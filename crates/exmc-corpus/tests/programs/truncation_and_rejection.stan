data {
  int<lower=1> N;
  vector<lower=0>[N] y;
  array[N] int<lower=1> n;
}
parameters {
  real mu;
  real<lower=0> sigma;
  real<lower=0, upper=1> p;
}
transformed parameters {
  real<lower=-10> cut = mu - 1;
}
model {
  if (sigma > 6) {
    reject("too wide: ", sigma);
  }
  for (i in 1 : N) {
    y[i] ~ normal(mu, sigma) T[0, ];
    n[i] ~ poisson(3 * p) T[1, 8];
  }
  mu ~ normal(0, 2) T[-3, 3];
  y ~ exponential(p + sigma) T[ , 10];
}
