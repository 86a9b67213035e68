parameters { vector[4] v; vector[3] w; }
model {
  real q = 0; real r = 1;
  for (i in 1:3) { for (j in 1:i) { if (v[j] * v[i] > 0 && i > 1) { q = w[j]; r = q + v[i]; } else if (v[j] < -0.5) continue; } }
  target += q * r;
  v ~ normal(0,1); w ~ normal(0,1);
}
