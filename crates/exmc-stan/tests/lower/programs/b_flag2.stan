parameters { vector[4] v; vector[3] w; }
model {
  int seen = 0; real q = 0;
  for (i in 1:4) { if (v[i] > 0) { seen = 1; q = w[1]; } if (seen == 1) target += w[2] * i; }
  target += q;
  v ~ normal(0,1); w ~ normal(0,1);
}
