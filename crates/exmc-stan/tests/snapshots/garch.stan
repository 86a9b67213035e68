// steps from 2
data { int T; vector[T] y; }
parameters { real mu; real<lower=0> a0; real<lower=0, upper=1> a1; }
transformed parameters {
  vector<lower=0>[T] s;
  s[1] = 1;
  for (t in 2:T) s[t] = sqrt(a0 + a1 * square(y[t - 1] - mu) + 0.2 * square(s[t - 1]));
}
model { y ~ normal(mu, s); }
