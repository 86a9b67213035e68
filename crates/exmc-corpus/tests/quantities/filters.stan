// Recurrences, elements of matrices by loops, and functions with loops.
functions {
  vector shares(vector v) {
    vector[num_elements(v)] out;
    real total = 0;
    for (k in 1:num_elements(v)) { out[k] = exp(v[k] - max(v)); total += out[k]; }
    return out / total;
  }
}
data { int<lower=2, upper=30> T; vector[T] y; }
parameters { vector[3] z; real<lower=-1, upper=1> phi; real<lower=0> s; }
transformed parameters {
  vector[T] h;
  h[1] = z[1];
  for (t in 2:T) h[t] = phi * h[t - 1] + 0.1 * y[t - 1];
  matrix[3, T] W;
  for (t in 1:T) for (k in 1:3) W[k, t] = z[k] * h[t] + k;
}
model { z ~ std_normal(); y ~ normal(h, s); s ~ exponential(1); }
generated quantities {
  matrix[T, 3] P;
  array[T] int best;
  vector[3] w = shares(z);
  for (t in 1:T) P[t] = shares(col(W, t))';
  real peak = max(to_vector(P));
  real drift = h[T] - h[1];
  cov_matrix[3] V = add_diag(z * z', 1);
  real ld = log_determinant_spd(V);
  vector[T] path;
  path[1] = drift;
  for (t in 2:T) path[t] = path[t - 1] * phi + (y[t] > 0 ? w[1] : w[2]);
  for (t in 1:T) best[t] = P[t, 1] > P[t, 2] ? 1 : 2;
  real next = normal_rng(phi * h[T], s);
}
