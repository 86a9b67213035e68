parameters { vector[3] v; }
model {
  real total = 0;
  for (n in 1:3) {
    if (v[n] > 1) break;
    total += square(v[n]);
  }
  target += -total;
}
