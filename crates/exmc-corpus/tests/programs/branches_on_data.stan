data {
  int<lower=1> N;
  array[N] int<lower=0, upper=1> censored;
  array[N] int<lower=1, upper=3> kind;
  vector[N] y;
}
parameters {
  real mu;
  real<lower=0> sigma;
}
model {
  for (n in 1 : N) {
    if (censored[n] == 1) {
      target += normal_lccdf(y[n] | mu, sigma);
    } else if (kind[n] == 2) {
      y[n] ~ normal(mu, sigma);
    } else if (kind[n] == 3) {
      continue;
    } else {
      y[n] ~ student_t(4, mu, sigma);
    }
  }
}
