data {
  int N; // windows
}
model {
}
