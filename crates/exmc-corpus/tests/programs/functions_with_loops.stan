functions {
  real twice(real x) {
    return 2 * x;
  }
  vector running(vector x, int n) {
    vector[n] out;
    real total = 0;
    for (i in 1 : n) {
      total += x[i];
      out[i] = total / i;
    }
    return out;
  }
  real shifted_lpdf(real y, real mu, real scale) {
    if (scale > 1) {
      return normal_lupdf(y | mu, scale);
    }
    return normal_lupdf(y | mu + 1, 1 + scale);
  }
  void add_prior_lp(vector x) {
    x ~ normal(0, 2);
    target += -dot_self(x);
  }
  int factorial(int n) {
    return n <= 1 ? 1 : n * factorial(n - 1);
  }
}
data {
  int<lower=1> N;
  vector[N] y;
}
parameters {
  vector[N] theta;
  real<lower=0> scale;
}
model {
  vector[N] r = running(theta, N);
  add_prior_lp(theta);
  for (n in 1 : N) {
    y[n] ~ shifted(twice(r[n]), scale);
    target += shifted_lupdf(r[n] | 0, factorial(3) * 1.0);
  }
  scale ~ exponential(1);
}
