parameters { vector[5] v; matrix[3, 3] m; }
model {
  target += -dot_product(v[2:4], v[{5, 1, 1}]) - sum(m[1:2, 3]) - sum(m[2]) - sum(v[3:]);
}
