data { int N; array[N] int g; vector[N] y; }
parameters { vector[2] m; }
model {
  m ~ std_normal();
  for (n in 1:N) y[n] ~ normal(m[g[n]], 1);
}
