parameters { cholesky_factor_corr[2] x; }
model { target += -x[2, 1]; }
