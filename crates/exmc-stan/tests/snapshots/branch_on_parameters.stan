parameters { real x; real w; }
model {
  real s = 1;
  if (x > 0) s = 1 + square(w);
  else target += -x;
  x ~ normal(0, s);
}
