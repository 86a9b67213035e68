transformed data {
  int i = 1_000_000;
  real a = 1.;
  real b = .5;
  real c = 1e3;
  real d = 1.5E-3;
  real e = 1.e+2;
  real f = .5e1;
  real g = 1_0.2_5;
  complex z = 3i;
  complex w = 1.5 + 2e1i;
  complex v = .5i;
}
