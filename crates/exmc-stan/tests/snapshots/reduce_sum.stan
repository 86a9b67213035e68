functions {
  real part(array[] real y, int start, int end, real m) { return normal_lpdf(y | m, 1); }
}
data { array[3] real y; }
parameters { real m; }
model { target += reduce_sum(part, y, 1, m); }
