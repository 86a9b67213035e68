data {
  array[3] vector[2] xs;
}
transformed data {
  real total = 0;
  for (x in xs) for (element in x) total += element;
  for (k in {1, 2, 3}) total += k;
  for (k in 1 + 1 : 2 * 3) total += k;
}
