data {
  int N;
  matrix[N, N] m;
  array[N, N] vector[N] a;
  array[2] int idx;
}
transformed data {
  real x = m[1, 2];
  row_vector[N] row = m[1];
  matrix[2, N] rows = m[idx];
  vector[N] column = m[ : , 1];
  matrix[N, N] all = m[ : , : ];
  matrix[N, N] also = m[ , ];
  vector[2] part = a[1, 2][1 : 2];
  vector[N] tail = a[1, 2][2 : ];
  vector[N] head = a[1, 2][ : N - 1];
  real y = a[1][2][1];
  array[N, N] vector[N] whole = a[];
  real z = (m')[1, 2];
  real w = (a[1, 1] + 1)[1];
}
