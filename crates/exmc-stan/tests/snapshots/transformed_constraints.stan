parameters { vector[2] v; }
transformed parameters {
  real<lower=0> s = exp(v[1]);
  ordered[2] o = [v[2], v[2] + s]';
}
model { v ~ normal(0, s); }
