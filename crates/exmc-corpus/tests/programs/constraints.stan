data {
  int<lower=2> K;
  int<lower=2> J;
  vector[K] low;
}
parameters {
  real<lower=1> a;
  real<upper=a> b;
  real<lower=b, upper=a> c;
  vector<lower=low>[K] d;
  array[J] vector<lower=a, upper=a + 3>[K] e;
  matrix<offset=b, multiplier=a>[J, K] f;
  array[2] simplex[K] p;
  ordered[K] q;
  array[J] positive_ordered[K] r;
  unit_vector[K] u;
  sum_to_zero_vector[K] s;
  sum_to_zero_matrix[J, K] t;
  array[2] cholesky_factor_corr[K] L;
  cholesky_factor_cov[K + 1, K] M;
  array[J, 2] corr_matrix[K] C;
  cov_matrix[J] S;
  row_stochastic_matrix[J, K] rows_;
  column_stochastic_matrix[J, K] columns_;
}
model {
  target += a * b - c ^ 2 + sum(d);
  for (j in 1 : J) {
    target += dot_product(e[j], to_vector(f[j])) + dot_self(r[j]) + sum(C[j, 2][ : , 1]);
  }
  target += dot_product(p[1], q) - log(p[2][K]) + u[1] * s[2] + sum(t[ : , 1] .* t[ : , K]);
  target += sum(L[1] * L[2]') + sum(M) + log_determinant(S) + rows_[1, 2] + columns_[2, 1];
}
