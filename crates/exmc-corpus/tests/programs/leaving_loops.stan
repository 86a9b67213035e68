functions {
  real first_above(vector x, real limit) {
    for (n in 1 : num_elements(x)) {
      if (x[n] > limit) {
        return x[n] * n;
      }
    }
    return -1;
  }
  real clipped(real x) {
    if (x > 1) {
      return 1 + 0.1 * x;
    } else if (x < -1) {
      return -1;
    }
    real y = x ^ 2;
    return y * x;
  }
  real stretched_lpdf(real y, real s) {
    return normal_lpdf(y | 0, s);
  }
  real stretched_lcdf(real y, real s) {
    return normal_lcdf(y | 0, s);
  }
  real stretched_lccdf(real y, real s) {
    return normal_lccdf(y | 0, s);
  }
}
data {
  int<lower=1> N;
  vector[N] y;
}
parameters {
  vector[N] x;
  real limit;
  real<lower=0> s;
}
transformed parameters {
  real total = 0;
  for (n in 1 : N) {
    if (x[n] > limit) {
      break;
    }
    if (y[n] > 0.5) {
      continue;
    }
    total += clipped(x[n]) * n;
  }
  for (n in 1 : N) {
    for (m in 1 : N) {
      if (x[n] * x[m] < -1) {
        continue;
      }
      if (m > n + 1) {
        break;
      }
      total += x[m] / (n + m);
    }
  }
}
model {
  target += first_above(x, limit) - total ^ 2;
  for (n in 1 : N) {
    abs(y[n]) ~ stretched(s) T[0, ];
    target += clipped(2 * x[n]) - clipped(limit);
  }
  x ~ std_normal();
  limit ~ std_normal();
}
