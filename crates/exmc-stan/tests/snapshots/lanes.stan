data { int N; vector[N] y; vector[N] x; }
parameters { real a; real b; }
model { for (n in 1:N) y[n] ~ normal(a + b * x[n], 2); }
