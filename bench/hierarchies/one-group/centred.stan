// One group: its mean is known, that of the population and the spread around it hardly.
data { int<lower=1> N; vector[N] y; real<lower=0> noise; }
parameters {
  real mu_group;
  real<lower=0> sigma_group;
  real alpha;
}
model {
  mu_group ~ normal(0, 10);
  sigma_group ~ normal(0, 5);
  alpha ~ normal(mu_group, sigma_group);
  y ~ normal(alpha, noise);
}
