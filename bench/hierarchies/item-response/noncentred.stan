// Item response with two parameters an item: discrimination and difficulty.
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
  real<lower=0> sigma_a;
  real<lower=0> sigma_b;
  vector[J] theta;
  vector[I] z_a;
  vector[I] z_b;
}
transformed parameters {
  vector<lower=0>[I] a = exp(sigma_a * z_a);
  vector[I] b = mu_b + sigma_b * z_b;
}
model {
  mu_b ~ normal(0, 2);
  sigma_a ~ normal(0, 1);
  sigma_b ~ normal(0, 2);
  theta ~ std_normal();
  z_a ~ std_normal();
  z_b ~ std_normal();
  y ~ bernoulli_logit(a[item] .* (theta[person] - b[item]));
}
