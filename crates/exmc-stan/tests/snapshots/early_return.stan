functions {
  real first_above(vector v, real a) {
    for (n in 1:size(v)) if (v[n] > a) return v[n];
    return a;
  }
}
parameters { vector[2] v; }
model { target += -square(first_above(v, 0.5)); }
