data {
  int<lower=2> K;
  vector[K] y;
}
parameters {
  vector[K] x;
  array[K] real z;
  matrix[K + 1, K] A;
}
transformed parameters {
  vector[K] sorted = sort_asc(x);
  array[K] real down = sort_desc(z);
  matrix[K, K] squared = crossprod(A);
}
model {
  y ~ normal(sorted, 1);
  target += -down[1] ^ 2 + down[K] - sum(x[ : K - 1] .* sorted[2 : ]) - dot_self(to_vector(A));
  target += trace(matrix_exp(-squared)) - sum(singular_values(A));
  target += -sum(square(qr_thin_R(A)[1]));
  x ~ std_normal();
  z ~ std_normal();
}
