data { int N; }
parameters { real a; }
model {
  int n = N;
  real x = a;
  while (n > 1) { x = tanh(x) + n; n = n %/% 2; }
  target += -square(x);
}
