parameters { real<offset=1, multiplier=3> x; }
model { target += -square(x); }
