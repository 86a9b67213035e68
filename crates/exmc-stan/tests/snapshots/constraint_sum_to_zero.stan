parameters { sum_to_zero_vector[3] x; }
model { target += -dot_self(x); }
