transformed data {
  print("x is ", 1, " and y is ", [1, 2]);
  if (0) reject("no");
  if (0) fatal_error("never ", 1 + 1);
  print("");
}
