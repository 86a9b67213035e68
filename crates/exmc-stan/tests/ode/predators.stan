// Prey and predators: everything that can depend on parameters does, times too.
functions {
  vector growth(real t, vector z, array[] real theta, real season) {
    real u = z[1];
    real v = z[2];
    return [(theta[1] - theta[2] * v + season * sin(t)) * u, (theta[4] * u - theta[3]) * v]';
  }
}
transformed data {
  array[4, 2] real observed = {{47.2, 6.1}, {70.2, 9.8}, {77.4, 35.2}, {36.3, 59.4}};
}
parameters {
  array[4] real log_theta;
  vector[2] log_start;
  real season;
  real before;
  real<lower=0> gap;
}
model {
  array[4] real ts;
  for (n in 1:4) {
    ts[n] = n * gap;
  }
  array[4] vector[2] z = ode_rk45_tol(growth, exp(log_start), before, ts, 1e-11, 1e-11, 1000000, exp(log_theta), season);
  for (n in 1:4) {
    target += normal_lpdf(log(to_vector(observed[n])) | log(z[n]), 0.4);
  }
}
