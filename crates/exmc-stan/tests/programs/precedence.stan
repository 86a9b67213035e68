transformed data {
  int a = 1;
  int b = 2;
  int c = 3;
  real r1 = -2 ^ 2;
  real r2 = 2 ^ 3 ^ 2;
  real r3 = 2 ^ -a;
  real r4 = a * b %/% c;
  int r5 = c + a == b || a;
  int r6 = !a && b;
  int r7 = a < b == b > a;
  real r8 = a ? b : c ? 1 : 2;
  real r9 = a ? b ? 1 : 2 : 3;
  real r10 = a - b - c;
  real r11 = (a - b) - c;
  real r12 = a - (b - c);
  real r13 = - -a;
  real r14 = +a;
  int r15 = a % b;
  int r16 = a <= b != a >= b;
}
