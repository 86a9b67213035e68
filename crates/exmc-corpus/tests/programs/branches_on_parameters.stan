data {
  int<lower=1> N;
  vector[N] x;
}
parameters {
  real change;
  array[2] real level;
  vector[N] w;
}
transformed parameters {
  vector[N] mean_;
  real largest = negative_infinity();
  for (n in 1 : N) {
    if (x[n] < change) {
      mean_[n] = level[1];
    } else {
      mean_[n] = level[2] * x[n];
    }
    if (w[n] > 0 && n > 1) {
      mean_[n] += w[n];
    }
  }
  for (n in 1 : N) {
    largest = w[n] > largest ? w[n] : largest;
  }
}
model {
  x ~ normal(mean_, 1);
  target += -abs(largest) + (change > 0 ? level[1] : -level[2]);
  w ~ std_normal();
}
