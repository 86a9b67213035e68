parameters { vector<lower=0, upper=[2, 3]'>[2] x; }
model { target += -sum(x); }
