// Item response with one parameter an item: abilities and difficulties.
data {
  int<lower=1> N;
  int<lower=1> J;
  int<lower=1> I;
  array[N] int<lower=1, upper=J> person;
  array[N] int<lower=1, upper=I> item;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real mu_b;
  real<lower=0> sigma_theta;
  real<lower=0> sigma_b;
  vector[J] theta;
  vector[I] b;
}
model {
  mu_b ~ normal(0, 2);
  sigma_theta ~ normal(0, 2);
  sigma_b ~ normal(0, 2);
  theta ~ normal(0, sigma_theta);
  b ~ normal(mu_b, sigma_b);
  y ~ bernoulli_logit(theta[person] - b[item]);
}
