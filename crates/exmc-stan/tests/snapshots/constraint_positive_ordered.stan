parameters { positive_ordered[2] x; }
model { target += -sum(x); }
