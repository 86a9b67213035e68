parameters { column_stochastic_matrix[2, 2] x; }
model { target += -x[1, 2]; }
