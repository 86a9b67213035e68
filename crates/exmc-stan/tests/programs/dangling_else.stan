transformed data {
  int a = 1;
  if (a) while (a) if (a) a = 0; else a = 1;
  if (a)
    // a comment in between
    a = 2;
  else if (a) {
    a = 3; // behind
  } // behind a brace
  else
    a = 4;
}
