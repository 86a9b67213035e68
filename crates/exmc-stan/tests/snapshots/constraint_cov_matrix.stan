parameters { cov_matrix[2] x; }
model { target += -sum(x); }
