functions {
  tuple(real, int) pair(real x, tuple(real, array[] int) t) {
    return (x + t.1, t.2[1]);
  }
  tuple(real,) one() {
    return (1,);
  }
}
data {
  tuple(int, real<lower=0>) t;
  array[2] tuple(vector[2], tuple(int, matrix[2, 2])) nested;
}
transformed data {
  real a;
  int b;
  (a, b) = pair(1.0, (2.0, {1, 2}));
  tuple(real, int) p = (1, 2);
  p.1 = 3;
  p.2 += 1;
  real x = nested[1].2.2[1, 2];
  (p.1, (a, b)) = (1, (2.0, 3));
}
