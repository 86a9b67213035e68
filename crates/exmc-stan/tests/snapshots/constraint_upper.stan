parameters { real<upper=-1> x; }
model { target += --x; }
