parameters { real<lower=2> x; }
model { target += -x; }
