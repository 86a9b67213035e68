functions {
  real power(real x, int n) { return n == 0 ? 1 : x * power(x, n - 1); }
}
parameters { real a; }
model { target += -power(a, 4); }
