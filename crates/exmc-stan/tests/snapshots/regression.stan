data { int N; matrix[N, 2] X; vector[N] y; }
parameters { vector[2] b; real<lower=0> s; }
model { y ~ normal(X * b, s); b ~ normal(0, 5); }
