data {
  int<lower=2> K;
  int<lower=1> N;
  array[N] vector[K] y;
  matrix[N, K] X;
}
parameters {
  vector[K] mu;
  cholesky_factor_corr[K] L;
  vector<lower=0>[K] tau;
  cov_matrix[K] S;
}
transformed parameters {
  matrix[K, K] Sigma = multiply_lower_tri_self_transpose(diag_pre_multiply(tau, L));
  matrix[K, K] kernel;
  for (i in 1 : K) {
    for (j in 1 : K) {
      kernel[i, j] = exp(-0.5 * square(mu[i] - mu[j])) + (i == j ? 0.1 : 0);
    }
  }
}
model {
  y ~ multi_normal(mu, Sigma);
  for (n in 1 : N) {
    y[n] ~ multi_normal_cholesky(mu, cholesky_decompose(kernel));
    target += quad_form(S, y[n] - mu);
  }
  L ~ lkj_corr_cholesky(2);
  S ~ inv_wishart(K + 2, identity_matrix(K));
  target += sum(mdivide_left_spd(S, X')) + log_determinant(kernel) + trace(S * Sigma);
  target += sum(X * mu) + sum(inverse(S)[ : , 1]);
  tau ~ cauchy(0, 2.5);
}
