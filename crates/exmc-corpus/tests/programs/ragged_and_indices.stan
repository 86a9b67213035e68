data {
  int<lower=1> N;
  int<lower=1> J;
  array[N] int<lower=1, upper=J> group;
  array[J] int<lower=0, upper=2> size_;
  vector[2 * J] y;
}
parameters {
  vector[J] a;
  matrix[J, 3] B;
}
transformed parameters {
  vector[N] eta = a[group] + B[group, 2];
  vector[J] total = rep_vector(0, J);
  matrix[3, J] turned = B';
  for (n in 1 : N) {
    total[group[n]] += eta[n] * n;
  }
  turned[2 : 3, 1] = turned[1 : 2, 1];
  turned[1, group] = eta';
}
model {
  int at = 1;
  for (j in 1 : J) {
    segment(y, at, size_[j]) ~ normal(a[j] + total[j], exp(B[j, 1]));
    at += size_[j];
  }
  to_vector(turned) ~ std_normal();
  a[ : J %/% 2] ~ normal(1, 2);
  target += sum(B[ : , {1, 3, 3}]) - dot_self(to_vector(B[group, : ]));
}
