parameters { cholesky_factor_cov[2] x; }
model { target += -sum(x); }
