transformed data {
  real a = 1, b, c = 3;
  array[2] int d = {1, 2};
  vector[2] e = [1, 2]';
  matrix[2, 2] f = [[1, 2], [3, 4]];
  array[2, 2] real g = {{1, 2}, {3, 4}};
  row_vector[0] h = [];
}
