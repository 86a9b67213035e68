data { int N; vector[N] y; }
parameters { real a; }
model {
  real total = 0;
  for (n in 1:N) {
    if (y[n] < 0) continue;
    if (y[n] > 5) break;
    total += square(y[n] - a);
  }
  target += -total;
}
