parameters { vector[20] v; real w; }
model {
  real q = 0; vector[20] z = rep_vector(0, 20); matrix[2, 3] m = rep_matrix(0.5, 2, 3); int last = 0;
  real both;
  for (t in 1:20) {
    if (v[t] > 0.3) { q = v[t] * w; last = t; m[1:2, 2] = [v[t], w]'; }
    else if (v[t] < -1) m[2] = [q, w, v[t]];
    if (v[t] > w) both = q; else both = -w;
    z[t] = q + both;
  }
  target += dot_self(z) * -0.1 + last * w + sum(square(m)) * -0.2;
  v ~ normal(0,1); w ~ normal(0,1);
}
