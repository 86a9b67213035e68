parameters { corr_matrix[2] x; }
model { target += -x[1, 2]; }
