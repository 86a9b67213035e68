parameters {
  real log_x;
}
transformed parameters {
  real x = exp(log_x);
  jacobian += log_x;
}
