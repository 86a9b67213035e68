// Two reactions at rest by every solver of equations, one of them in a loop over observations.
functions {
  vector balance(vector x, vector theta, data array[] real total, data array[] int order) {
    vector[2] rest;
    rest[1] = x[1] + order[1] * x[2] - total[1];
    rest[2] = theta[1] * x[1] ^ order[1] - theta[2] * x[2];
    return rest;
  }
  vector yield(vector x, real rate, vector total) {
    return rate * exp(-x) - total .* x;
  }
}
data {
}
transformed data {
  array[3] real total = {1.0, 2.0, 4.0};
  array[1] int order = {2};
}
parameters {
  vector<lower=0>[2] theta;
  real rate;
}
model {
  vector[2] guess = [0.3, 0.3]';
  for (n in 1 : 3) {
    vector[2] x = algebra_solver(balance, guess, theta, {total[n]}, order, 1e-10, 1e-10, 1000);
    target += normal_lpdf(x | 0.5, 0.2);
  }
  vector[2] x = algebra_solver_newton(balance, guess, theta, total, order, 1e-10, 1e-10, 1000);
  target += x[1] * x[2];
  vector[2] z = solve_newton_tol(yield, guess, 1e-3, 1e-12, 200, exp(rate), theta);
  vector[2] w = solve_powell_tol(yield, guess, 1e-10, 1e-10, 200, exp(rate), [1.5, 2.5]');
  target += sum(z) - square(w[2]) - 0.5 * square(rate);
}
