data {
  matrix[2, 2] A;
  vector[2] v;
  row_vector[2] r;
}
transformed data {
  matrix[2, 2] B = A' * A .* A ./ A;
  vector[2] w = A \ v;
  row_vector[2] s = r / A;
  matrix[2, 2] C = A .^ 2;
  real q = r * A * v;
  matrix[2, 2] D = A''^2;
  vector[2] e = -r';
}
