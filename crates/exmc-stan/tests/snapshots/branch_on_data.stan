data { int N; array[N] int k; vector[N] y; }
parameters { real a; real b; }
model {
  for (n in 1:N) {
    if (k[n] == 1) y[n] ~ normal(a, 1);
    else if (k[n] == 2) y[n] ~ cauchy(b, 1);
  }
}
