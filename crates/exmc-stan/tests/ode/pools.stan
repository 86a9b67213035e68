// Two pools that feed each other, a linear system, by the Adams method in a function.
functions {
  vector feedback(real t, vector c, real k1, real k2, real to_first, real to_second) {
    vector[2] slope;
    slope[1] = -k1 * c[1] + to_first * k2 * c[2];
    slope[2] = -k2 * c[2] + to_second * k1 * c[1];
    return slope;
  }
  vector evolved(array[] real ts, real gamma, real total, real k1, real k2, real to_first, real to_second) {
    int n = size(ts);
    vector[n] gas;
    array[n] vector[2] c = ode_adams_tol(feedback, [gamma * total, (1 - gamma) * total]', 0.5, ts, 1e-11, 1e-11, 1000000, k1, k2, to_first, to_second);
    for (t in 1:n) {
      gas[t] = total - sum(c[t]);
    }
    return gas;
  }
}
transformed data {
  array[3] real ts = {1.0, 3.5, 11.0};
}
parameters {
  real<lower=0> k1;
  real<lower=0> k2;
  real to_first;
  real to_second;
  real<lower=0, upper=1> gamma;
}
model {
  target += normal_lpdf([2.0, 3.1, 5.6]' | evolved(ts, gamma, 7.7, k1, k2, to_first, to_second), 0.3);
}
