parameters { real x; }
transformed parameters { real y = exp(x); jacobian += x; }
model { target += -y; target += [x, 2 * x]; }
