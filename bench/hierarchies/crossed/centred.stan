// Subjects crossed with items, normal outcomes.
data {
  int<lower=1> N;
  int<lower=1> J;
  int<lower=1> I;
  array[N] int<lower=1, upper=J> subject;
  array[N] int<lower=1, upper=I> item;
  vector[N] x;
  vector[N] y;
}
parameters {
  real level;
  real by_x;
  real<lower=0> sigma_subject;
  real<lower=0> sigma_item;
  real<lower=0> sigma;
  vector[J] s;
  vector[I] t;
}
model {
  level ~ normal(0, 2);
  by_x ~ normal(0, 2);
  sigma_subject ~ normal(0, 1);
  sigma_item ~ normal(0, 1);
  sigma ~ normal(0, 2);
  s ~ normal(0, sigma_subject);
  t ~ normal(0, sigma_item);
  y ~ normal(level + by_x * x + s[subject] + t[item], sigma);
}
