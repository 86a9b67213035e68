data {
  real T;
  real lower_bound;
  real datax;
  real transformed;
  real generated;
  real quantities;
  real e1;
  real i;
  real intercept;
}
model {
  T ~ normal(0, 1) T[0, T];
}
