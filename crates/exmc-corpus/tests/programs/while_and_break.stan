data {
  int<lower=1> N;
  array[N] int<lower=1, upper=4> steps;
  vector[N] x;
}
parameters {
  vector[5] b;
}
model {
  int k = 0;
  real power = 1;
  while (k < N) {
    k += 1;
    if (steps[k] == 4) {
      break;
    }
    power *= 1 + b[steps[k]] ^ 2;
    target += -power * x[k] ^ 2;
  }
  for (n in 1 : N) {
    real z = x[n];
    for (s in 1 : steps[n]) {
      if (s == 3) {
        continue;
      }
      z = z * b[s] + b[5];
    }
    z ~ normal(0, 1 + n);
  }
  b ~ normal(0, 1);
}
