functions { vector slope(real t, vector y, real k) { return -k * y; } }
data { array[2] real ts; }
parameters { real<lower=0> k; }
model {
  array[2] vector[1] y = ode_rk45(slope, [1]', 0, ts, k);
  target += -square(y[2][1] - 0.5);
}
