data {
  int N;
  array[N] real y;
}
parameters {
  real mu;
  real<lower=0> sigma;
}
model {
  real total = 0;
  target += normal_lupdf(mu | 0, 1);
  y ~ normal(mu, sigma);
  mu ~ std_normal();
  y[1] ~ normal(mu, sigma) T[0, ];
  y[2] ~ normal(mu, sigma) T[ , 10];
  y[3] ~ normal(mu, sigma) T[0, 10];
  y[4] ~ normal(mu, sigma) T[ , ];
  to_vector(y) - mu ~ normal(0, sigma);
  {y[1], y[2]} ~ normal(0, 1);
  total += 1;
  total -= 1;
  total *= 2;
  total /= 2;
  if (N > 1) total = 1; else total = 2;
  if (N > 1) {
    total = 1;
  } else if (N > 2) {
    total = 2;
  } else {
    total = 3;
  }
  if (N > 1) if (N > 2) total = 1; else total = 2;
  while (total < 10) total += 1;
  for (n in 1 : N) {
    if (n == 2) continue;
    if (n == 3) break;
    for (m in 1 : n) total += y[m];
  }
  for (v in y) total += v;
  {
    real local;
    local = 1;
  }
  profile("a part") {
    total += 1;
  }
  ;
}
