parameters {
  real y;
}
model {
  target += normal_lpdf(y | 0, 1);
  target += std_normal_lpdf(y | );
  target += std_normal_lpdf(y);
  target += normal_lccdf(1 | y, 2);
}
