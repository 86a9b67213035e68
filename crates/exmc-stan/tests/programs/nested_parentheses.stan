transformed data {
  real x = ((((1 + (2 * (3 - (4))))))) ;
  array[1, 1, 1] real y = {{{1}}};
  matrix[1, 1] z = [[(1)]];
}
