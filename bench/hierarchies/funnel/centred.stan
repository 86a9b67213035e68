// Neal's funnel: nothing is observed.
data { int<lower=1> K; }
parameters { real y; vector[K] x; }
model {
  y ~ normal(0, 3);
  x ~ normal(0, exp(y / 2));
}
