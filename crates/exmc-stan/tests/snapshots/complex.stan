parameters { real a; real b; }
model {
  complex z = to_complex(a, b);
  target += -abs(z * z + 1) + get_real(exp(z));
}
