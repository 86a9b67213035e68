data { int N; matrix[N, 2] X; array[N] int y; }
parameters { real a; vector[2] b; }
model { y ~ bernoulli_logit_glm(X, a, b); }
