// Subjects crossed with items, outcomes of yes or no.
data {
  int<lower=1> N;
  int<lower=1> J;
  int<lower=1> I;
  array[N] int<lower=1, upper=J> subject;
  array[N] int<lower=1, upper=I> item;
  vector[N] x;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real level;
  real by_x;
  real<lower=0> sigma_subject;
  real<lower=0> sigma_item;
  vector[J] s;
  vector[I] t;
}
model {
  level ~ normal(0, 2);
  by_x ~ normal(0, 2);
  sigma_subject ~ normal(0, 1);
  sigma_item ~ normal(0, 1);
  s ~ normal(0, sigma_subject);
  t ~ normal(0, sigma_item);
  y ~ bernoulli_logit(level + by_x * x + s[subject] + t[item]);
}
