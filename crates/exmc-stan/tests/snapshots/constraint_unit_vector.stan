parameters { unit_vector[2] x; }
model { target += -x[1]; }
