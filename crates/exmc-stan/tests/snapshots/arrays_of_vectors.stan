parameters { array[2, 2] vector[2] v; }
model {
  for (i in 1:2) v[i, 1] ~ normal(v[i, 2], 1);
  target += -dot_self(v[1, 2] - v[2, 2]);
}
