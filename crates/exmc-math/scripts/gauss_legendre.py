"""Prints the positive nodes and weights of the 40-point Gauss-Legendre rule, as in src/owens_t.rs. Needs mpmath."""
from mpmath import mp, mpf, cos, pi

mp.dps = 60
N = 40


def legendre(x):
    """P_N and its derivative by the three-term recurrence."""
    before, now = mpf(1), x
    for n in range(1, N):
        before, now = now, ((2 * n + 1) * x * now - n * before) / (n + 1)
    return now, N * (before - x * now) / (1 - x * x)


for k in range(N // 2, 0, -1):
    x = cos(pi * (k - mpf(1) / 4) / (N + mpf(1) / 2))
    for _ in range(8):
        value, slope = legendre(x)
        x -= value / slope
    _, slope = legendre(x)
    print(f"    [{float(x)!r}, {float(2 / ((1 - x * x) * slope * slope))!r}],")
