parameters { real x; vector[2] v; }
model {
  int k = x > 0 ? 1 : 2;
  target += -square(v[k]);
}
