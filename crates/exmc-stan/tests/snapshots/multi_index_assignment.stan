parameters { vector[4] v; matrix[2, 2] m; }
model {
  vector[4] u = rep_vector(0, 4);
  matrix[2, 3] a = rep_matrix(1, 2, 3);
  u[{4, 2}] = v[1:2];
  a[, {3, 1}] = m;
  a[2, 2] += u[4];
  target += -dot_self(u) - sum(square(a));
}
