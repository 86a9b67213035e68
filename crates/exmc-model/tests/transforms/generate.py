#!/usr/bin/env python3
"""Writes goldens.csv: transforms by their textbook loops, with 1000 digits (needs mpmath).

Columns: name, limits, z, x (row-major), log |J|; numbers inside a column are separated by spaces.
The loops follow the Stan reference manual, "Constraint transforms": element by element, with the
Jacobian as a product of the factors that the manual gives. Run: python3 generate.py > goldens.csv
"""
from mpmath import mp, mpf, exp, log, tanh, sqrt, pi

mp.dps = 1000


def logistic(u):
    return 1 / (1 + exp(-u))


def elementwise(f, log_slope):
    return lambda z: ([f(v) for v in z], sum(log_slope(v) for v in z))


def interval(a, b):
    def slope(v):
        return log((b - a) * logistic(v) * logistic(-v))
    return elementwise(lambda v: a + (b - a) * logistic(v), slope)


def ordered(z):
    x = [z[0]]
    for v in z[1:]:
        x.append(x[-1] + exp(v))
    return x, sum(z[1:])


def positive_ordered(z):
    x, total = [], mpf(0)
    for v in z:
        total += exp(v)
        x.append(total)
    return x, sum(z)


def stick(offset):
    def constrain(z):
        n = len(z) + 1
        left, x, log_j = mpf(1), [], mpf(0)
        for k, v in enumerate(z, start=1):
            share = logistic(v - (log(n - k) if offset else 0))
            log_j += log(share) + log(1 - share) + log(left)
            x.append(left * share)
            left -= x[-1]
        return x + [left], log_j
    return constrain


def correlation(z):
    n = next(n for n in range(1, 99) if n * (n - 1) // 2 == len(z))
    values, log_j = iter(z), mpf(0)
    x = [[mpf(0)] * n for _ in range(n)]
    x[0][0] = mpf(1)
    for i in range(1, n):
        squares = mpf(0)
        for j in range(i):
            w = tanh(next(values))
            log_j += log(1 - w * w) + log(1 - squares) / 2
            x[i][j] = w * sqrt(1 - squares)
            squares += x[i][j] ** 2
        x[i][i] = sqrt(1 - squares)
    return sum(x, []), log_j


def covariance(z):
    n = next(n for n in range(1, 99) if n * (n + 1) // 2 == len(z))
    values, log_j = iter(z), mpf(0)
    x = [[mpf(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            x[i][j] = next(values)
        v = next(values)
        x[i][i] = exp(v)
        log_j += v
    return sum(x, []), log_j


def sum_to_zero(z):
    """Stan 2.36's loop; the matrix is orthonormal, so the log Jacobian is zero."""
    x, total = [mpf(0)] * (len(z) + 1), mpf(0)
    for i in range(len(z), 0, -1):
        w = z[i - 1] / sqrt(mpf(i) * (i + 1))
        total += w
        x[i - 1] += total
        x[i] -= w * i
    return x, mpf(0)


def simplex_softmax(z):
    """Stan 2.37: softmax of the vector with sum zero. The log Jacobian by determinant, from first principles."""
    s, _ = sum_to_zero(z)
    total = sum(exp(v) for v in s)
    x = [exp(v) / total for v in s]
    n = len(x)
    basis = [sum_to_zero([mpf(int(i == j)) for i in range(n - 1)])[0] for j in range(n - 1)]
    jacobian = mp.matrix(n - 1, n - 1)
    for k in range(n - 1):
        for j in range(n - 1):
            mean = sum(x[i] * basis[j][i] for i in range(n))
            jacobian[k, j] = x[k] * (basis[j][k] - mean)
    return x, log(abs(mp.det(jacobian)))


def unit_vector(z):
    squares = sum(v * v for v in z)
    return [v / sqrt(squares) for v in z], -squares / 2


ROWS = [
    ("log", (), "-199.5 -40 -3.5 0 0.1 1.75 12.5 199.5"),
    ("softplus", (), "-199.5 -40 -3.5 0 0.3 1.75 40 800"),
    ("logit", (), "-199.5 -40 -3.5 0 0.3 1.75 12.5 30"),
    ("lower", (mpf("-1.5"),), "-20 -3.5 0 1.75 12.5 199.5"),
    ("upper", (mpf("2.5"),), "-20 -3.5 0 1.75 12.5 199.5"),
    ("interval", (mpf("-2"), mpf("3.5")), "-40 -3.5 0 0.3 1.75 12.5 30"),
    ("circle", (), "-40 -3.5 0 0.3 1.75 12.5 30"),
    ("ordered", (), "-1.5 0.25 -2 1.5"),
    ("positive_ordered", (), "-1.5 0.25 -2 1.5"),
    ("simplex", (), "0.2 -0.4"),
    ("simplex", (), "0 0 0 0"),
    ("simplex", (), "60 -50 1.5 -0.75 30"),
    ("simplex_plain", (), "0.2 -0.4"),
    ("simplex_plain", (), "60 -50 1.5 -0.75 30"),
    ("simplex_softmax", (), "0.2 -0.4"),
    ("simplex_softmax", (), "0 0 0 0"),
    ("simplex_softmax", (), "6 -5 1.5 -0.75 3"),
    ("correlation", (), "0.75"),
    ("correlation", (), "0.5 -0.25 1.25 -1.5 0.75 0.125"),
    ("correlation", (), "20 -25 0.5 0.25 30 -1.5"),
    ("covariance", (), "-0.5"),
    ("covariance", (), "0.5 -0.25 1.25 -1.5 0.75 -0.125"),
    ("sum_to_zero", (), "0.5"),
    ("sum_to_zero", (), "0.5 -0.25 1.25 -1.5"),
    ("unit_vector", (), "0.5 -0.25 1.25"),
]


def transform(name, limits):
    fixed = {
        "log": elementwise(exp, lambda v: v),
        "softplus": elementwise(lambda v: log(1 + exp(v)), lambda v: log(logistic(v))),
        "logit": interval(mpf(0), mpf(1)),
        "circle": interval(-pi, pi),
        "ordered": ordered,
        "positive_ordered": positive_ordered,
        "simplex": stick(True),
        "simplex_plain": stick(False),
        "simplex_softmax": simplex_softmax,
        "correlation": correlation,
        "covariance": covariance,
        "sum_to_zero": sum_to_zero,
        "unit_vector": unit_vector,
    }
    if name == "lower":
        return elementwise(lambda v: limits[0] + exp(v), lambda v: v)
    if name == "upper":
        return elementwise(lambda v: limits[0] - exp(v), lambda v: v)
    return interval(*limits) if name == "interval" else fixed[name]


def text(values):
    return " ".join(mp.nstr(v, 20) for v in values)


for name, limits, z in ROWS:
    x, log_j = transform(name, limits)([mpf(v) for v in z.split()])
    print(",".join([name, text(limits), z, text(x), text([log_j])]))
