// Two well known groups under one population, whose spread two groups hardly tell.
data { int<lower=1> N; int<lower=1> J; array[N] int<lower=1, upper=J> g; vector[N] y; }
parameters {
  real mu_global;
  real<lower=0> sigma_global;
  vector[J] z;
  real<lower=0> sigma_obs;
}
transformed parameters { vector[J] group = mu_global + sigma_global * z; }
model {
  mu_global ~ normal(0, 10);
  sigma_global ~ exponential(1);
  z ~ std_normal();
  sigma_obs ~ exponential(2);
  y ~ normal(group[g], sigma_obs);
}
