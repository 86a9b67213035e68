// Log likelihoods, replicated data and summaries, as most programs have them.
data { int<lower=1, upper=40> N; vector[N] x; vector[N] y; array[N] int<lower=0> n; }
parameters { real alpha; real beta; real<lower=0> sigma; }
transformed parameters { vector[N] mu = alpha + beta * x; }
model { y ~ normal(mu, sigma); n ~ poisson_log(mu); alpha ~ std_normal(); beta ~ std_normal(); sigma ~ exponential(1); }
generated quantities {
  vector[N] log_lik;
  array[N] real y_rep;
  array[N] int n_rep;
  real bayes_r2;
  for (i in 1:N) {
    real m = alpha + beta * x[i];
    log_lik[i] = normal_lpdf(y[i] | m, sigma) + poisson_log_lpmf(n[i] | m);
    y_rep[i] = normal_rng(m, sigma);
    n_rep[i] = poisson_log_rng(fmin(m, 10));
  }
  {
    vector[N] residual = y - mu;
    bayes_r2 = variance(mu) / (variance(mu) + variance(residual) + 1e-9);
  }
  real total = sum(log_lik);
}
