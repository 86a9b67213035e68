// Infections through contaminated water, by the deprecated interface, with data beside parameters.
functions {
  array[] real flow(real t, array[] real y, array[] real theta, data array[] real x_r, data array[] int x_i) {
    array[4] real dydt;
    dydt[1] = -theta[1] * y[4] / (y[4] + theta[2]) * y[1];
    dydt[2] = theta[1] * y[4] / (y[4] + theta[2]) * y[1] - theta[3] * y[2];
    dydt[3] = theta[3] * y[2] * x_r[x_i[1]];
    dydt[4] = theta[4] * y[2] - theta[5] * y[4];
    return dydt;
  }
}
transformed data {
  real kappa = 1000000;
  array[5] real times = {1, 4, 4, 9, 20};
  array[2] real x_r = {0.0, 1.0};
  array[1] int x_i = {2};
}
parameters {
  array[4] real log_rate;
}
model {
  array[5] real theta = {exp(log_rate[1]), kappa, exp(log_rate[2]), exp(log_rate[3]), exp(log_rate[4])};
  array[5, 4] real y = integrate_ode_rk45(flow, {9999.0, 1.0, 0.0, 0.0}, 0, times, theta, x_r, x_i, 1e-11, 1e-11, 1e6);
  target += normal_lpdf(to_vector(y[ : , 1]) | 5000, 2000);
  target += normal_lpdf(log(col(to_matrix(y), 4)) | 9, 3);
}
