parameters { vector[4] v; vector[3] w; }
model {
  real q = 0.1; if (v[1] > 0) { for (i in 1:2) { int k = 0; while (k < 2) { k += 1; if (v[i] > 0) q = w[k]; } } } target += q;
  v ~ normal(0,1); w ~ normal(0,1);
}
