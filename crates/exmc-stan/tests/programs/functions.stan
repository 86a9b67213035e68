functions {
  real declared_first(real x);
  real declared_first(real x) {
    return x;
  }
  void shout(data array[,] int x, vector y, row_vector z, matrix w, complex c) {
    print(x, y);
  }
  array[] real sizes(array[] vector x, array[,,] matrix y) {
    return {1.0};
  }
  real half_normal_lpdf(real y, real sigma) {
    return normal_lpdf(y | 0, sigma) + log(2);
  }
  real add_lp(real x) {
    target += x;
    return target();
  }
  int draw_rng(int n) {
    return poisson_rng(n);
  }
  complex_matrix cm(complex_vector a, complex_row_vector b) {
    return a * b;
  }
}
model {
}
