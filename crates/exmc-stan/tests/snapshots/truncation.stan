data { real y; }
parameters { real m; }
model { y ~ normal(m, 1) T[0, 3]; }
