// steps from 2
data { int T; vector[T] y; array[T] int kind; }
parameters { real a; real b; }
model {
  real x = 0.5;
  for (t in 1:T) {
    if (kind[t] == 1) x = a * x + y[t];
    else if (kind[t] == 2) x = tanh(b * x);
    y[t] ~ normal(x, 1);
  }
}
