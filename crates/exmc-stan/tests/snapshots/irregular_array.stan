// steps from 2
data { int T; vector[T] y; array[T] int kind; }
parameters { real a; }
model {
  vector[T] x;
  x[1] = a;
  for (t in 2:T) {
    if (kind[t] == 1) x[t] = a * x[t - 1];
    else x[t] = x[t - 1] + y[t];
    if (kind[t] == 2) target += -square(x[t]);
  }
  target += -x[T];
}
