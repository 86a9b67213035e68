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
  vector[J] z_s;
  vector[I] z_t;
}
transformed parameters {
  vector[J] s = sigma_subject * z_s;
  vector[I] t = sigma_item * z_t;
}
model {
  level ~ normal(0, 2);
  by_x ~ normal(0, 2);
  sigma_subject ~ normal(0, 1);
  sigma_item ~ normal(0, 1);
  sigma ~ normal(0, 2);
  z_s ~ std_normal();
  z_t ~ std_normal();
  y ~ normal(level + by_x * x + s[subject] + t[item], sigma);
}
