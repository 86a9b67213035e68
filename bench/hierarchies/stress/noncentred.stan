// Three well known groups, each with its own noise.
data { int<lower=1> N; int<lower=1> J; array[N] int<lower=1, upper=J> g; vector[N] y; }
parameters {
  real mu_pop;
  real<lower=0> sigma_pop;
  vector[J] z;
  vector<lower=0>[J] noise;
}
transformed parameters { vector[J] theta = mu_pop + sigma_pop * z; }
model {
  mu_pop ~ normal(0, 10);
  sigma_pop ~ exponential(0.5);
  z ~ std_normal();
  noise ~ exponential(1);
  y ~ normal(theta[g], noise[g]);
}
