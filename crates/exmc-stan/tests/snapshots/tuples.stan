functions {
  tuple(real, vector) split(vector v) { return (v[1], 2 * v[2:3]); }
}
parameters { vector[3] v; }
model {
  tuple(real, vector[2]) t = split(v);
  target += -square(t.1) - dot_self(t.2);
}
