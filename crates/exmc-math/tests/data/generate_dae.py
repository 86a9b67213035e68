"""Writes dae.csv: solutions of differential-algebraic equations with sensitivities, by problem and time.

Columns: problem, time, numbers (states, then the sensitivities of each state, row by row). Run by hand:
python3 generate_dae.py > dae.csv

Both problems are reduced to ordinary differential equations first, which the code under test does not do. Robertson's: the
conservation law is put in, and the two equations left are solved with their variational equations by scipy's Radau at a
tolerance of 1e-13. The pendulum's: the angle obeys one equation, solved with its variation by mpmath's Taylor series.
"""
import mpmath
import numpy as np
from scipy.integrate import solve_ivp

A, B, C = 0.04, 1e4, 3e7


def robertson(_, x):
    """States y1, y2 and their derivatives by the logarithms of the rates; y3 = 1 - y1 - y2."""
    y1, y2 = x[:2]
    y3 = 1 - y1 - y2
    first, second, third = A * y1, B * y2 * y3, C * y2 * y2
    slope = [-first + second, first - second - third]
    by_state = np.array([[-A - B * y2, B * y3 - B * y2], [A + B * y2, -(B * y3 - B * y2) - 2 * C * y2]])
    by_rate = np.array([[-first, second, 0.0], [first, -second, -third]])
    return np.concatenate([slope, (by_state @ x[2:].reshape(2, 3) + by_rate).ravel()])


def jacobian(t, x):
    """By complex differences: exact to rounding."""
    n = len(x)
    out = np.empty((n, n))
    for k in range(n):
        moved = x.astype(complex)
        moved[k] += 1e-30j
        out[:, k] = robertson(t, moved).imag / 1e-30
    return out


def write(name, time, numbers):
    print(",".join([name, repr(time), ";".join(repr(float(v)) for v in numbers)]))


times = [0.4, 40.0, 4000.0]
solved = solve_ivp(
    robertson, (0, times[-1]), [1.0, 0.0] + 6 * [0.0], method="Radau", t_eval=times, rtol=1e-13, atol=1e-18, jac=jacobian
)
assert solved.success
for time, x in zip(times, solved.y.T):
    (y1, y2), s = x[:2], x[2:].reshape(2, 3)
    write("robertson", time, [y1, y2, 1 - y1 - y2, *s[0], *s[1], *(-s[0] - s[1])])

mpmath.mp.dps = 30
G = mpmath.mpf("9.81")


def pendulum(_, x):
    """Angle from the horizontal downwards, its speed, and their derivatives by gravity."""
    angle, speed, by_g, speed_by_g = x
    return [speed, G * mpmath.cos(angle), speed_by_g, mpmath.cos(angle) - G * mpmath.sin(angle) * by_g]


solution = mpmath.odefun(pendulum, 0, [mpmath.mpf(0)] * 4, tol=mpmath.mpf(10) ** -22)
for time in [0.5, 2.0, 10.0]:
    angle, speed, d, e = solution(mpmath.mpf(time))
    c, s = mpmath.cos(angle), mpmath.sin(angle)
    # Position (c, -s); the force is speed^2 - g y with y = -s.
    states = [c, -s, -s * speed, -c * speed, speed**2 + G * s]
    slopes = [
        -s * d,
        -c * d,
        -c * d * speed - s * e,
        s * d * speed - c * e,
        2 * speed * e + s + G * c * d,
    ]
    write("pendulum", time, states + slopes)
