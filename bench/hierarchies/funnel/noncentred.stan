// Neal's funnel: nothing is observed.
data { int<lower=1> K; }
parameters { real y; vector[K] z; }
transformed parameters { vector[K] x = exp(y / 2) * z; }
model {
  y ~ normal(0, 3);
  z ~ std_normal();
}
