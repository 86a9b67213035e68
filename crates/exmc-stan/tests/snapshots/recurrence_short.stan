parameters { real a; }
model {
  real x = 1;
  for (t in 1:3) x = a * x + t;
  target += -square(x);
}
