parameters { matrix[3, 3] m; }
model { for (i in 1:3) for (j in 1:i) m[i, j] ~ normal(i, j); }
