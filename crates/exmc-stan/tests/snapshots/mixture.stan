data { int N; vector[N] y; }
parameters { real<lower=0, upper=1> p; ordered[2] m; }
model {
  for (n in 1:N)
    target += log_mix(p, normal_lpdf(y[n] | m[1], 1), normal_lpdf(y[n] | m[2], 1));
}
