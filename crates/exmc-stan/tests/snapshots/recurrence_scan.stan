data { int T; vector[T] y; }
parameters { real a; }
model {
  vector[T] x;
  x[1] = a;
  for (t in 2:T) x[t] = 0.5 * x[t - 1] + y[t] * a;
  target += -sum(square(x));
}
