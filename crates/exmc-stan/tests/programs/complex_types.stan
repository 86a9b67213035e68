data {
  complex z;
  complex_vector[2] v;
  complex_row_vector[2] r;
  complex_matrix[2, 2] m;
}
transformed data {
  complex w = to_complex(1, 2) * 3i;
  complex_vector[2] u = m * v;
}
