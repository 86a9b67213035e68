parameters { ordered[3] x; }
model { target += -dot_self(x); }
