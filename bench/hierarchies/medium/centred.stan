// Two well known groups under one population, whose spread two groups hardly tell.
data { int<lower=1> N; int<lower=1> J; array[N] int<lower=1, upper=J> g; vector[N] y; }
parameters {
  real mu_global;
  real<lower=0> sigma_global;
  vector[J] group;
  real<lower=0> sigma_obs;
}
model {
  mu_global ~ normal(0, 10);
  sigma_global ~ exponential(1);
  group ~ normal(mu_global, sigma_global);
  sigma_obs ~ exponential(2);
  y ~ normal(group[g], sigma_obs);
}
