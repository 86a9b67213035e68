/* A comment of
   two lines. */
data {
  int N; // behind a declaration: "quoted", naïve, π
  // on its own line
  real /* inside */ x;
  // before the brace
}
model { // behind a brace
  ; /* two */ // behind a statement
}
// at the end
