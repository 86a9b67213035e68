// Absorption and saturated elimination: a branch on time, the stiff method, a matrix as argument.
functions {
  vector dose(real t, vector y, vector elimination, matrix absorbed) {
    real rate = absorbed[1, 2];
    real slope = 0;
    if (t > 0.25) {
      slope = exp(-rate * (t - 0.25)) * absorbed[2, 1] * rate;
    }
    return [slope - elimination[2] * y[1] / (elimination[1] + y[1])]';
  }
}
transformed data {
  vector[4] observed = [0.6, 1.8, 2.2, 0.9]';
}
parameters {
  real<lower=0> rate;
  real<lower=0> half;
  real<lower=0> fastest;
}
model {
  matrix[2, 2] absorbed = [[0, rate], [4.5, rate]];
  array[4] vector[1] c = ode_bdf_tol(dose, [0.0]', 0, {0.4, 1.0, 2.0, 5.0}, 1e-11, 1e-12, 1000000, [half, fastest]', absorbed);
  for (n in 1:4) {
    target += lognormal_lpdf(observed[n] | log(c[n, 1]), 0.5);
  }
}
