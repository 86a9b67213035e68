data { array[3] int n; }
parameters { real<lower=0> r; }
model { n ~ poisson(r); r ~ gamma(2, 3); }
