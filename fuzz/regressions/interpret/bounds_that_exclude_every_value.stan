data {
  int<lower=0> n;
  int<lower=0, upper=10> k;
  int<upper=5> j;
  real<lower=+1.5, upper=(n > 0 ? 1 : 2)> p;
  array[n] real<lower=0> times;
  array[n, k] int<lower=1> table;
  array[n] matrix<lower=0>[n, k] stack;
}
parameters {
  real a, b;
  real<offset=p, multiplier=2> c;
  real<multiplier=3> d;
  vector<offset=1>[n] e;
  simplex[k] s;
  ordered[k] o;
  positive_ordered[k] po;
  unit_vector[k] u;
  sum_to_zero_vector[k] z;
  sum_to_zero_matrix[k, n] zm;
  cholesky_factor_corr[k] L;
  cholesky_factor_cov[k] Lv;
  cholesky_factor_cov[k, n] Lw;
  corr_matrix[k] R;
  cov_matrix[k] V;
  column_stochastic_matrix[k, n] cs;
  row_stochastic_matrix[k, n] rs;
  array[3] simplex[k] many;
  row_vector<lower=0>[k] rv;
}
