// steps from 2
data { int T; }
parameters { vector[2] start; real a; }
model {
  vector[T] x;
  x[1:2] = start;
  for (t in 3:T) x[t] = a * x[t - 1] - 0.3 * x[t - 2];
  target += -dot_self(x);
}
