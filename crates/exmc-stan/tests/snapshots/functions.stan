functions {
  real f(real x, data real k) {
    if (k > 1) return k * x;
    return square(x);
  }
  real g_lpdf(real y, real m) { return -abs(y - m); }
  void h_lp(real x) { target += -f(x, 2); }
}
parameters { real a; real b; }
model {
  a ~ g(f(b, 0.5));
  h_lp(a * b);
}
