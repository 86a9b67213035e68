data { int N; array[N] int k; vector[6] y; }
parameters { vector[N] m; }
model {
  int at = 1;
  for (n in 1:N) {
    segment(y, at, k[n]) ~ normal(m[n], 1);
    at += k[n];
  }
}
