"""Writes ode.csv: solutions of initial value problems by scipy's Radau and DOP853 at tight tolerances.

Columns: problem, time, states. Run by hand: python3 generate_ode.py > ode.csv (scipy 1.x).
Two methods must agree to 1e-8 relative, or the script fails.
"""
import numpy as np
from scipy.integrate import solve_ivp


def robertson(t, y):
    return [
        -0.04 * y[0] + 1e4 * y[1] * y[2],
        0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2,
        3e7 * y[1] ** 2,
    ]


def robertson_jacobian(t, y):
    return [
        [-0.04, 1e4 * y[2], 1e4 * y[1]],
        [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]],
        [0.0, 6e7 * y[1], 0.0],
    ]


def van_der_pol(mu):
    return (
        lambda t, y: [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]],
        lambda t, y: [[0.0, 1.0], [-2 * mu * y[0] * y[1] - 1, mu * (1 - y[0] ** 2)]],
    )


def lotka_volterra(t, y):
    return [0.55 * y[0] - 0.028 * y[0] * y[1], -0.84 * y[1] + 0.026 * y[0] * y[1]]


def write(name, f, jacobian, start, times, second):
    span = (0.0, times[-1])
    first = solve_ivp(f, span, start, "Radau", times, rtol=1e-12, atol=1e-18, jac=jacobian).y
    extra = {"jac": jacobian} if second != "DOP853" else {}
    other = solve_ivp(f, span, start, second, times, rtol=1e-12, atol=1e-18, **extra).y
    assert np.all(np.abs(first - other) <= 1e-8 * np.abs(first)), (name, first - other)
    best = other if second == "DOP853" else first
    for t, row in zip(times, best.T):
        print(",".join([name, repr(float(t))] + [repr(float(x)) for x in row]))


write("robertson", robertson, robertson_jacobian, [1.0, 0.0, 0.0], [0.4, 4.0, 40.0, 400.0, 4000.0, 4e4], "LSODA")
f, jacobian = van_der_pol(100.0)
write("van_der_pol", f, jacobian, [2.0, 0.0], [1.0, 50.0, 80.0, 120.0, 150.0], "LSODA")
write(
    "lotka_volterra",
    lotka_volterra,
    lambda t, y: [[0.55 - 0.028 * y[1], -0.028 * y[0]], [0.026 * y[1], -0.84 + 0.026 * y[0]]],
    [30.0, 4.0],
    [float(k) for k in range(1, 21)],
    "DOP853",
)
