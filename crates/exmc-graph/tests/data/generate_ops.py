"""Values and partial derivatives of the elementwise operations, from 50-digit arithmetic.

Writes `ops.csv`: operation, arguments, value, then one partial derivative an argument (empty where
the operation documents none). Run with mpmath installed: `python generate_ops.py > ops.csv`.
"""

import random

import mpmath as mp

mp.mp.dps = 50
rng = random.Random(20240501)


def points(*ranges, n=24):
    return [tuple(rng.uniform(lo, hi) for lo, hi in ranges) for _ in range(n)]


def near_and_far(lo, hi, n=24):
    """Positive numbers with logarithms evenly spread."""
    return [(10.0 ** rng.uniform(mp.log10(lo), mp.log10(hi)),) for _ in range(n)]


def log_phi(x):
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def gamma_p(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def gamma_q(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def log_beta_inc(a, b, x):
    return mp.log(mp.betainc(a, b, 0, x, regularized=True))


def owens_t(h, a):
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


def quantile(p):
    with mp.workdps(400):
        return mp.sqrt(2) * mp.erfinv(2 * p - 1)


def quantile_of_log(l):
    """Newton's method on log Phi, from where its parabola is."""
    x = -mp.sqrt(-2 * l) if l < -1 else mp.sqrt(-2 * mp.log(-mp.expm1(l))) if l > -0.2 else mp.mpf(0)
    for _ in range(60):
        x -= (log_phi(x) - l) * mp.exp(log_phi(x) + x * x / 2) * mp.sqrt(2 * mp.pi)
    return x


def round_away(x):
    return mp.sign(x) * mp.floor(abs(x) + mp.mpf(1) / 2)


def orders(x):
    return [(float(k % 6 - 1), *p) for k, p in enumerate(points(x, n=12))]


def student_cdf(t, nu):
    tail = mp.betainc(nu / 2, mp.mpf(1) / 2, 0, nu / (nu + t * t), regularized=True) / 2
    return tail if t < 0 else 1 - tail


def student_quantile(p, nu):
    """The root of the distribution function, by scipy's as a start."""
    import scipy.stats

    start = mp.mpf(scipy.stats.t.ppf(float(p), float(nu)))
    return mp.findroot(lambda t: student_cdf(t, nu) / p - 1, (start * (1 - mp.mpf(10) ** -9), start))


def beta_inverse(a, b, p):
    import scipy.special

    start = mp.mpf(scipy.special.betaincinv(float(a), float(b), float(p)))
    return mp.findroot(lambda x: mp.betainc(a, b, 0, x, regularized=True) / p - 1, (start * (1 - mp.mpf(10) ** -12), start))


REAL = points((-6, 6))
UNIT = points((-0.99, 0.99))
# name: (function, points, whether partial derivatives are wanted)
OPS = {
    "neg": (lambda x: -x, REAL, True),
    "abs": (abs, REAL, True),
    "sign": (mp.sign, REAL, False),
    "floor": (mp.floor, REAL, False),
    "ceil": (mp.ceil, REAL, False),
    "round": (round_away, REAL + [(0.5,), (-0.5,), (2.5,), (0.49999999999999994,)], False),
    "not": (lambda x: mp.mpf(x == 0), REAL + [(0.0,)], False),
    "is_finite": (lambda x: mp.mpf(1), REAL, False),
    "exp": (mp.exp, REAL + points((-700, 700), n=8), True),
    "expm1": (mp.expm1, REAL + [(1e-9,), (-40.0,), (300.0,)], True),
    "log": (mp.log, near_and_far(1e-300, 1e300), True),
    "log1p": (mp.log1p, near_and_far(1e-12, 1e12) + points((-0.999, 0)), True),
    "sqrt": (mp.sqrt, near_and_far(1e-300, 1e300), True),
    "square": (lambda x: x * x, REAL + [(1e150,), (1e-150,)], True),
    "reciprocal": (lambda x: 1 / x, REAL + [(1e150,), (1e-150,)], True),
    "sin": (mp.sin, REAL + [(1e6,)], True),
    "cos": (mp.cos, REAL + [(1e6,)], True),
    "tan": (mp.tan, REAL, True),
    "asin": (mp.asin, UNIT + [(1 - 1e-9,), (-1 + 1e-9,)], True),
    "acos": (mp.acos, UNIT + [(1 - 1e-9,), (-1 + 1e-9,)], True),
    "atan": (mp.atan, REAL + [(1e8,)], True),
    "sinh": (mp.sinh, REAL, True),
    "cosh": (mp.cosh, REAL, True),
    "tanh": (mp.tanh, REAL, True),
    "inv_logit": (lambda x: 1 / (1 + mp.exp(-x)), REAL + [(-700.0,), (36.0,)], True),
    "softplus": (lambda x: mp.log1p(mp.exp(x)), REAL + [(-40.0,), (-700.0,), (800.0,)], True),
    "log1m_exp": (
        lambda x: mp.log1p(-mp.exp(x)),
        points((-6, -0.01)) + [(-1e-9,), (-40.0,), (-700.0,)],
        True,
    ),
    "lgamma": (
        lambda x: mp.log(abs(mp.gamma(x))),
        near_and_far(1e-6, 0.5) + near_and_far(2.5, 1e6) + points((-4.8, -4.2), n=4),
        True,
    ),
    "digamma": (mp.digamma, near_and_far(1e-6, 1) + near_and_far(2, 1e6), True),
    "trigamma": (lambda x: mp.psi(1, x), near_and_far(1e-6, 1e6), True),
    "tetragamma": (lambda x: mp.psi(2, x), near_and_far(1e-6, 1e6), False),
    "erf": (mp.erf, REAL, True),
    "erfc": (mp.erfc, REAL + [(20.0,)], True),
    "std_normal_lcdf": (
        log_phi,
        REAL + points((-60, -20)) + [(-1e3,), (-1e6,), (7.0,), (-40.0,), (-39.999,)],
        True,
    ),
    "inv_Phi": (quantile, points((0.001, 0.999)) + [(1e-10,), (1e-300,), (1 - 1e-12,)], True),
    "log_bessel_i0": (lambda x: mp.log(mp.besseli(0, x)), REAL + [(700.0,), (1e-5,), (30.0,)], True),
    "bessel_i1_i0": (
        lambda x: mp.besseli(1, x) / mp.besseli(0, x),
        REAL + [(700.0,), (1e-5,), (30.0,)],
        True,
    ),
    "add": (lambda a, b: a + b, points((-6, 6), (-6, 6)), True),
    "sub": (lambda a, b: a - b, points((-6, 6), (-6, 6)), True),
    "mul": (lambda a, b: a * b, points((-6, 6), (-6, 6)), True),
    "div": (lambda a, b: a / b, points((-6, 6), (0.1, 6)) + points((-6, 6), (-6, -0.1)), True),
    "pow": (lambda a, b: a**b, points((0.01, 6), (-5, 5)), True),
    "min": (min, points((-6, 6), (-6, 6)), True),
    "max": (max, points((-6, 6), (-6, 6)), True),
    "log_add_exp": (
        lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
        points((-6, 6), (-6, 6)) + [(800.0, 801.0), (-800.0, -801.0), (0.0, -50.0)],
        True,
    ),
    "log_diff_exp": (
        lambda a, b: mp.log(mp.exp(a) - mp.exp(b)),
        points((0.01, 6), (-6, 0)) + [(801.0, 800.0), (0.0, -50.0), (1.0, 1.0 - 1e-9)],
        True,
    ),
    "atan2": (mp.atan2, points((-6, 6), (0.1, 6)) + points((0.1, 6), (-6, 6)), True),
    "lt": (lambda a, b: mp.mpf(a < b), points((-6, 6), (-6, 6)) + [(1.0, 1.0)], False),
    "le": (lambda a, b: mp.mpf(a <= b), points((-6, 6), (-6, 6)) + [(1.0, 1.0)], False),
    "eq": (lambda a, b: mp.mpf(a == b), points((-6, 6), (-6, 6)) + [(1.0, 1.0)], False),
    "ne": (lambda a, b: mp.mpf(a != b), points((-6, 6), (-6, 6)) + [(1.0, 1.0)], False),
    "and": (lambda a, b: mp.mpf(a != 0 and b != 0), [(a, b) for a in (0.0, 1.0, -2.5) for b in (0.0, 3.0)], False),
    "or": (lambda a, b: mp.mpf(a != 0 or b != 0), [(a, b) for a in (0.0, 1.0, -2.5) for b in (0.0, 3.0)], False),
    "lbeta": (lambda a, b: mp.log(mp.beta(a, b)), points((0.01, 20), (0.01, 20)) + [(1e5, 0.3), (1e-4, 2e4)], True),
    "log_gamma_p": (lambda a, x: mp.log(gamma_p(a, x)), points((0.1, 12), (0.1, 12)) + [(30.0, 2.0)], True),
    "log_gamma_q": (lambda a, x: mp.log(gamma_q(a, x)), points((0.1, 12), (0.1, 12)) + [(2.0, 30.0)], True),
    "log_gamma_p_da": (
        lambda a, x: mp.diff(lambda t: mp.log(gamma_p(t, x)), a), points((0.1, 12), (0.1, 12), n=12), False),
    "log_gamma_q_da": (
        lambda a, x: mp.diff(lambda t: mp.log(gamma_q(t, x)), a), points((0.1, 12), (0.1, 12), n=12), False),
    "owens_t": (owens_t, points((-3, 3), (-3, 3), n=16), True),
    "select": (lambda a, b, c: b if a != 0 else c, [(k % 3 - 1.0, *p) for k, p in enumerate(points((-6, 6), (-6, 6)))], True),
    "log_beta_inc": (log_beta_inc, points((0.3, 8), (0.3, 8), (0.05, 0.95)), True),
    "log_beta_inc_da": (
        lambda a, b, x: mp.diff(lambda t: log_beta_inc(t, b, x), a), points((0.3, 8), (0.3, 8), (0.05, 0.95), n=12), False),
    "log_beta_inc_db": (
        lambda a, b, x: mp.diff(lambda t: log_beta_inc(a, t, x), b), points((0.3, 8), (0.3, 8), (0.05, 0.95), n=12), False),
    "log_add_exp_share": (
        lambda a, b: 1 / (1 + mp.exp(b - a)),
        points((-6, 6), (-6, 6)) + [(800.0, 801.0), (-800.0, -801.0), (0.0, -50.0), (-50.0, 0.0)],
        True,
    ),
    "lambert_w0": (
        lambda x: mp.lambertw(x).real,
        points((-0.36, 0.5)) + near_and_far(0.1, 1e300) + [(1e-300,), (-1e-9,), (-0.3678,), (-0.367879441171,)],
        True,
    ),
    "lambert_wm1": (
        lambda x: mp.lambertw(x, -1).real,
        points((-0.36, -0.01)) + [(-1e-300,), (-1e-9,), (-0.3678,), (-0.367879441171,), (-0.25,)],
        True,
    ),
    "bessel_j": (mp.besselj, orders((0.1, 2.0)) + orders((20.0, 30.0)) + [(1.0, -1.5), (2.0, 1e-5), (0.0, 1e-9)], True),
    "bessel_y": (mp.bessely, orders((0.1, 0.8)) + orders((20.0, 30.0)) + [(2.0, 1e-5), (0.0, 1e-9)], True),
    "student_t_quantile": (
        student_quantile,
        points((0.01, 0.99), (0.5, 20)) + [(1e-10, 3.0), (1 - 2.0**-20, 2.5), (0.499, 7.0), (0.3, 300.0)],
        True,
    ),
    "beta_inc_inverse": (
        beta_inverse,
        points((0.3, 8), (0.3, 8), (0.02, 0.98)) + [(1.0, 1.0, 0.3), (2.0, 3.0, 1e-12), (30.0, 0.4, 0.9)],
        True,
    ),
    # At the end, so that the random points above stay what they were.
    "std_normal_log_qf": (
        quantile_of_log, [(-k / 7,) for k in range(1, 24)] + [(-1e-10,), (-50.25,), (-699.0,), (-800.25,), (-1e5,)], True),
    "fmod": (
        lambda a, b: a - b * (mp.floor(a / b) if a / b > 0 else mp.ceil(a / b)),
        [(a, b) for a in (-5.3, 0.7, 4.2, 1e17) for b in (-1.7, 0.31, 3.0)],
        True,
    ),
    "digamma_rise": (lambda x, h: mp.digamma(x + h) - mp.digamma(x), points((0.05, 20), (1, 20)) + [(1e-4, 2e4)], True),
}

# Branches are constant in their condition; their derivative is that of the branch at a point.
PIECEWISE = {
    "abs": lambda x: [mp.sign(x)],
    "min": lambda a, b: [mp.mpf(a <= b), mp.mpf(a > b)],
    "max": lambda a, b: [mp.mpf(a >= b), mp.mpf(a < b)],
    # Orders are whole.
    "bessel_j": lambda n, x: [mp.mpf(0), (mp.besselj(n - 1, x) - mp.besselj(n + 1, x)) / 2],
    "bessel_y": lambda n, x: [mp.mpf(0), (mp.bessely(n - 1, x) - mp.bessely(n + 1, x)) / 2],
    "select": lambda a, b, c: [mp.mpf(0), mp.mpf(a != 0), mp.mpf(a == 0)],
}


def partials(name, function, args):
    if name in PIECEWISE:
        return PIECEWISE[name](*args)
    result = []
    for k in range(len(args)):
        order = tuple(int(i == k) for i in range(len(args)))
        step = {"h": mp.mpf(10) ** -20 * (abs(args[k]) or 1)}
        if len(args) == 1:
            result.append(mp.diff(function, args[0], 1, **step))
        else:
            result.append(mp.diff(function, tuple(args), order, **step))
    return result


def main():
    print("operation,a,b,c,value,da,db,dc")
    for name, (function, where, smooth) in OPS.items():
        for point in where:
            args = [mp.mpf(x) for x in point]
            with mp.workdps(60):
                value = function(*args)
                slopes = partials(name, function, args) if smooth else []
            pad = lambda row: [repr(float(x)) for x in row] + [""] * (3 - len(row))
            print(",".join([name, *pad(point), repr(float(value)), *pad(slopes)]))


main()
