data {
  int<lower=1> N;
  int<lower=2> K;
  vector[N] y;
  array[N] int<lower=0> n;
}
parameters {
  simplex[K] theta;
  ordered[K] mu;
  vector<lower=0>[K] sigma;
  real<lower=0> rate;
}
model {
  vector[K] log_theta = log(theta);
  for (i in 1 : N) {
    vector[K] lps = log_theta;
    for (k in 1 : K) {
      lps[k] += normal_lpdf(y[i] | mu[k], sigma[k]);
    }
    target += log_sum_exp(lps);
    if (n[i] == 0) {
      target += log_mix(theta[1], 0, poisson_lpmf(0 | rate));
    } else {
      target += log1m(theta[1]) + poisson_lpmf(n[i] | rate);
    }
  }
  sigma ~ lognormal(0, 1);
  mu ~ normal(0, 5);
  rate ~ gamma(2, 1);
}
