// steps from 2
data { int T; vector[T] y; }
parameters { ordered[2] mu; array[2] simplex[2] A; }
model {
  array[T] vector[2] g;
  for (k in 1:2) g[1, k] = normal_lpdf(y[1] | mu[k], 1);
  for (t in 2:T)
    for (k in 1:2) g[t, k] = log_sum_exp(g[t - 1] + log(A[k])) + normal_lpdf(y[t] | mu[k], 1);
  target += log_sum_exp(g[T]);
}
