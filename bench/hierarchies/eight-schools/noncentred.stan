// Effects with known errors that are larger than their spread.
data { int<lower=1> J; vector[J] y; vector<lower=0>[J] sigma; }
parameters { real mu; real<lower=0> tau; vector[J] z; }
transformed parameters { vector[J] theta = mu + tau * z; }
model {
  mu ~ normal(0, 5);
  tau ~ normal(0, 5);
  z ~ std_normal();
  y ~ normal(theta, sigma);
}
