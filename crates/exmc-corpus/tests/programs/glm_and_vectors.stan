functions {
  real part_lpmf(array[] int slice, int from, int to, real alpha) {
    return bernoulli_logit_lupmf(slice | alpha * from);
  }
}
data {
  int<lower=1> N;
  int<lower=1> K;
  matrix[N, K] X;
  array[N] int<lower=0, upper=1> y;
  array[N] int<lower=0> n;
  array[N] int<lower=1, upper=K + 1> category;
  vector[N] z;
}
parameters {
  real alpha;
  vector[K] beta;
  ordered[K] cut;
  real<lower=0> sigma;
}
model {
  y ~ bernoulli_logit_glm(X, alpha, beta);
  n ~ poisson_log_glm(X, alpha, beta);
  z ~ normal_id_glm(X, alpha, beta, sigma);
  category ~ ordered_logistic(X * beta, cut);
  target += neg_binomial_2_lupmf(n | exp(alpha + X * beta), sigma);
  target += reduce_sum(part_lpmf, y, 1, alpha);
  target += binomial_logit_lpmf(y | 1, z * alpha) - bernoulli_lpmf(y | inv_logit(z * sigma));
  {
    vector[N] local = z - alpha;
    local ~ double_exponential(0, sigma);
    target += -sum(sqrt(square(local) + 1)) / N;
  }
}
