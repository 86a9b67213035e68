functions {
  vector growth(real t, vector y, real rate) {
    return rate * y;
  }
}
data {
  int T;
  array[T] real ts;
}
parameters {
  real rate;
}
model {
  array[T] vector[1] y = ode_rk45(growth, [1]', 0, ts, rate);
  array[T] vector[1] z = ode_bdf_tol(growth, [1]', 0, ts, 1e-6, 1e-6, 1000, rate);
}
