"""Log densities and log distribution functions of Stan's distributions of numbers, with derivatives -> densities.csv.

    python3 densities.py densities.csv [NAME ...]

A section is `# name functions : types`; its lines are arguments and, for each function, value and derivatives by the real arguments
(`-`: none is claimed). `error`: Stan throws; `none`: an outcome that cannot be, for which Stan throws or gives minus infinity;
`nan`: an argument is NaN. Outside of the support a distribution function is 0 or 1, by its definition, where Stan throws for some.
Formulas: Stan functions reference, chapters on distributions; masses are summed term by term, nothing is shared with the program.
"""

import math
import sys

from mpmath import mp, mpf

import scalar
from oracle import INF, LEVELS, NAN, TooLong, Undefined, chosen, derivative, number, settled, short, write
import signal

log, exp, log1p = mp.log, mp.exp, mp.log1p
root = mp.sqrt
lgamma = lambda x: mp.re(mp.loggamma(x))
lbeta = lambda a, b: lgamma(a) + lgamma(b) - lgamma(a + b)
lower_normal = lambda z: mp.erfc(-z / root(2)) / 2
choose = lambda n, k: lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


# Digits of slow functions, and those of their derivatives.
QUADRATURE, SERIES = (30, 60, 120), (40, 90, 250)
SLOPES = {QUADRATURE: (40, 80), SERIES: (50, 100, 250)}


class Family:
    """`density(y, *p)` inside of the support, `lower` and `upper` the probabilities below and above."""

    def __init__(self, kinds, density, lower=None, upper=None, *, low=None, high=None, closed=True, points, bad, end=None,
                 discrete=False, digits=LEVELS, log_tails=False):
        self.kinds, self.density, self.lower, self.upper = kinds.split(), density, lower, upper
        self.low = low or (lambda *p: -INF)
        self.high = high or (lambda *p: INF)
        self.closed, self.points, self.bad, self.end = closed, points, bad, end
        self.discrete, self.digits, self.log_tails = discrete, digits, log_tails

    def tail(self, which):
        first, second = (self.lower, self.upper) if which == "lower" else (self.upper, self.lower)
        if self.log_tails:
            return first
        if first is None:
            def tail(*a):
                return log(1 - second(*a))

            return tail
        # Near one, the other one's digits count.
        def tail(*a):
            value = first(*a)
            if second is not None and value > mpf("0.6"):
                return log1p(-second(*a))
            return log(value)

        return tail


def claim(f, args, kinds, digits):
    try:
        signal.setitimer(signal.ITIMER_REAL, 2.5)
        given = [mpf(a) if k == "real" else a for a, k in zip(args, kinds)]
        value = settled(lambda: f(*given), digits)
        if value is None:
            return "skip", None
        text = number(value)
        # A sum whose terms cancel to nothing says nothing.
        if text == "-inf" and f.__name__ == "tail":
            return "skip", None
        if math.isinf(float(value)) or math.isnan(float(value)):
            return text, None
        real = [k for k, kind in enumerate(kinds) if kind == "real"]
        if f is skew_de and args[0] == args[1]:
            # Bent there.
            return text, None
        return text, [derivative(f, args, k, *[SLOPES.get(digits)] * (digits in SLOPES)) for k in real]
    except (TooLong, Undefined, ValueError, ZeroDivisionError):
        return "skip", None
    finally:
        signal.alarm(0)


def line(family, args, tokens=None):
    y, p = args[0], args[1:]
    count = family.kinds.count("real")
    out = []
    for function in ("density", "lower", "upper"):
        if function != "density" and family.lower is None and family.upper is None:
            continue
        slopes, f = None, family.density if function == "density" else family.tail(function)
        if tokens:
            value = tokens
        elif any(isinstance(a, float) and math.isnan(a) for a in args):
            value = "nan"
        else:
            low, high = family.low(*p), family.high(*p)
            below = y < low or (y == low and not family.closed)
            above = y > high or (y == high and not family.closed)
            at_end = math.isinf(y) if isinstance(y, float) else False
            if function == "density":
                if below or above or at_end:
                    value = "none"
                elif family.end and y in (low, high):
                    value = family.end(*args)
                else:
                    value = None
            else:
                nothing = (below or y == -INF) if function == "lower" else (above or y == INF)
                everything = (above or y == INF) if function == "lower" else (below or y == -INF)
                if not family.discrete:
                    nothing = nothing or (y == low if function == "lower" else y == high)
                    everything = everything or (y == high if function == "lower" else y == low)
                else:
                    nothing = nothing or (function == "upper" and y == high)
                    everything = everything or (function == "lower" and y == high)
                value = "-inf" if nothing else "0" if everything else None
            if value is None:
                value, slopes = claim(f, args, family.kinds, family.digits)
        out += [value, *([short(s) for s in slopes] if slopes else ["-"] * count)]
    return " ".join([*(number(a) if k == "real" else str(a) for a, k in zip(args, family.kinds)), *out])


Z = [-1e17, -1e5, -40.0, -38.6, -8.5, -2.5, -0.5, -1e-9, 0.0, 0.5, 2.5, 8.5, 38.6, 1e5]


def located(parameters, zs=Z):
    """Outcomes at so many scales from the location, and at infinity; `parameters` are (location, scale, *rest)."""
    return [(y, *p) for p in parameters for y in [float(p[0] + p[1] * z) for z in zs] + [-INF, INF]]


def crossed(ys, parameters):
    return [(y, *p) for p in parameters for y in ys]


REAL = [(0.0, 1.0), (-2.5, 0.5), (1e5, 1e-3), (0.0, 1e-150), (2.5, 1e10)]
BAD_SCALE = [(0.3, 0.0, 0.0), (0.3, 0.0, -1.0), (0.3, INF, 1.0), (0.3, -INF, 1.0)]
NANS = lambda n: [tuple(NAN if i == k else 0.5 for i in range(n)) for k in range(n)]
WAIT = [-1.0, 0.0, 1e-300, 1e-17, 0.1, 0.5, 1.0, 2.5, 30.5, 800.25, 1e5, 1e17, INF]
SHAPE = [1e-3, 0.5, 1.0, 2.5, 30.5, 1000.0]
bad_shapes = lambda *more: [(0.5, *p) for p in ((0.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (1.0, -1.0), (INF, 1.0), (1.0, INF))] + list(more)

gamma_p, gamma_q = scalar.gamma_p[0], scalar.gamma_q[0]
inc_beta = scalar.inc_beta


def student_tail(z, nu):
    """P(T > z) for z > 0."""
    return inc_beta(nu / 2, mpf(0.5), nu / (nu + z * z)) / 2


def student(sign):
    def f(y, nu, mu, sigma):
        z = sign * (y - mu) / sigma
        return student_tail(z, nu) if z > 0 else 1 - student_tail(-z, nu)

    return f


def summed(mass, upper=False, last=None):
    def f(y, *p):
        if upper and last is not None:
            return mp.fsum(exp(mass(k, *p)) for k in range(y + 1, last(*p) + 1))
        return mp.fsum(exp(mass(k, *p)) for k in range(0, y + 1))

    return f


def binomial(y, n, theta):
    if theta == 0 or theta == 1:
        return mpf(0) if y == (0 if theta == 0 else n) else -mp.inf
    return choose(n, y) + y * log(theta) + (n - y) * log1p(-theta)


def neg_binomial_2(y, mu, phi):
    return choose(y + phi - 1, y) + y * log(mu / (mu + phi)) - phi * log1p(mu / phi)


def exp_mod_normal(y, mu, sigma, rate):
    z = (y - mu) / sigma
    return log(rate) + rate * (mu - y) + (rate * sigma) ** 2 / 2 + log(lower_normal(z - rate * sigma))


def exp_mod_normal_lower(y, mu, sigma, rate):
    z = (y - mu) / sigma
    return lower_normal(z) - exp(rate * (mu - y) + (rate * sigma) ** 2 / 2) * lower_normal(z - rate * sigma)


def exp_mod_normal_upper(y, mu, sigma, rate):
    z = (y - mu) / sigma
    return lower_normal(-z) + exp(rate * (mu - y) + (rate * sigma) ** 2 / 2) * lower_normal(z - rate * sigma)


def skew_de(y, mu, sigma, tau):
    weight = (1 - tau) * (mu - y) if y < mu else tau * (y - mu)
    return log(2) + log(tau) + log1p(-tau) - log(sigma) - 2 / sigma * weight


def skew_de_lower(y, mu, sigma, tau):
    return tau * exp(-2 * (1 - tau) * (mu - y) / sigma) if y < mu else 1 - (1 - tau) * exp(-2 * tau * (y - mu) / sigma)


def skew_de_upper(y, mu, sigma, tau):
    return 1 - tau * exp(-2 * (1 - tau) * (mu - y) / sigma) if y < mu else (1 - tau) * exp(-2 * tau * (y - mu) / sigma)


def skew_normal_lower(sign):
    def f(y, xi, omega, alpha):
        z = sign * (y - xi) / omega
        a = sign * alpha
        return lower_normal(z) - 2 * scalar.owens_t(z, a)

    return f


def wiener(y, alpha, tau, beta, delta):
    t, w = y - tau, 1 - beta
    u = t / alpha**2
    if u < 1:
        f = mp.fsum((w + 2 * k) * exp(-((w + 2 * k) ** 2 - w * w) / (2 * u)) for k in range(-40, 41))
        log_f = log(f) - w * w / (2 * u) - log(2 * mp.pi * u**3) / 2
    else:
        f = mp.fsum(k * exp(-(k * k - 1) * mp.pi**2 * u / 2) * mp.sin(k * mp.pi * w) for k in range(1, 41))
        log_f = log(f) - mp.pi**2 * u / 2 + log(mp.pi)
    return delta * alpha * w - delta**2 * t / 2 - 2 * log(alpha) + log_f


def beta_neg_binomial(y, r, alpha, beta):
    return choose(y + r - 1, y) + lbeta(beta + y, alpha + r) - lbeta(beta, alpha)


def hypergeometric_mass(y, n, a, b):
    return choose(a, y) + choose(b, n - y) - choose(a + b, n)


def at_power(shape_is_one):
    """At an end of the support a power of zero: minus infinity above the shape that makes it constant, else not claimed."""
    return lambda *args: "none" if shape_is_one(*args) > 0 else "skip"


UNIT = [-0.5, 0.0, 1e-300, 1e-17, 0.1, 0.5, 0.9, 1 - 2.0**-53, 1.0, 1.5]
BETAS = [(0.5, 0.5), (1.0, 1.0), (1e-3, 2.5), (2.5, 30.5), (1000.0, 500.0)]
COUNTS = [-1, 0, 1, 2, 10, 150]

z_of = lambda y, mu, sigma: (y - mu) / sigma
FAMILIES = {
    "normal": Family("real real real", lambda y, m, s: -z_of(y, m, s) ** 2 / 2 - log(s) - log(2 * mp.pi) / 2,
                     lambda y, m, s: lower_normal(z_of(y, m, s)), lambda y, m, s: lower_normal(-z_of(y, m, s)),
                     points=located(REAL) + NANS(3), bad=BAD_SCALE),
    "std_normal": Family("real", lambda y: -y * y / 2 - log(2 * mp.pi) / 2, lower_normal, lambda y: lower_normal(-y),
                         points=[(z,) for z in Z + [-INF, INF, NAN, 1e-300, 1e10]], bad=[]),
    "cauchy": Family("real real real", lambda y, m, s: -log(mp.pi * s) - log1p(z_of(y, m, s) ** 2),
                     lambda y, m, s: mp.atan2(1, -z_of(y, m, s)) / mp.pi, lambda y, m, s: mp.atan2(1, z_of(y, m, s)) / mp.pi,
                     points=located(REAL) + NANS(3), bad=BAD_SCALE + [(0.3, 0.0, INF)]),
    "double_exponential": Family("real real real", lambda y, m, s: -log(2 * s) - abs(z_of(y, m, s)),
                                 lambda y, m, s: exp(z_of(y, m, s)) / 2 if y < m else 1 - exp(-z_of(y, m, s)) / 2,
                                 lambda y, m, s: 1 - exp(z_of(y, m, s)) / 2 if y < m else exp(-z_of(y, m, s)) / 2,
                                 points=located(REAL) + NANS(3), bad=BAD_SCALE + [(0.3, 0.0, INF)]),
    "logistic": Family("real real real", lambda y, m, s: -abs(z_of(y, m, s)) - log(s) - 2 * log1p(exp(-abs(z_of(y, m, s)))),
                       lambda y, m, s: -log1p(exp(-z_of(y, m, s))), lambda y, m, s: -log1p(exp(z_of(y, m, s))), log_tails=True,
                       points=located(REAL) + NANS(3), bad=BAD_SCALE + [(0.3, 0.0, INF)]),
    "gumbel": Family("real real real", lambda y, m, s: -z_of(y, m, s) - exp(-z_of(y, m, s)) - log(s),
                     lambda y, m, s: -exp(-z_of(y, m, s)),
                     lambda y, m, s: log(-mp.expm1(-exp(-z_of(y, m, s)))) if y > m - 5 * s else log1p(-exp(-exp(-z_of(y, m, s)))),
                     log_tails=True, points=located(REAL, [-600.0, -12.0, -6.0, -2.5, -0.5, 0.0, 0.5, 2.5, 8.5, 38.6, 700.0, 1e5]) + NANS(3),
                     bad=BAD_SCALE + [(0.3, 0.0, INF)]),
    "student_t": Family("real real real real",
                        lambda y, nu, m, s: lgamma((nu + 1) / 2) - lgamma(nu / 2) - log(nu * mp.pi) / 2 - log(s)
                        - (nu + 1) / 2 * log1p(z_of(y, m, s) ** 2 / nu),
                        student(-1), student(1), digits=SERIES,
                        points=[(y, nu, m, s) for nu in (0.1, 1.0, 3.7, 30.5, 1e3) for m, s in ((0.0, 1.0), (-2.5, 1e-3))
                                for y in [float(m + s * z) for z in (-1e17, -1e5, -38.6, -2.5, -0.5, 0.0, 1e-9, 0.5, 2.5, 8.5, 1e5)] + [-INF, INF]]
                        + NANS(4), bad=[(0.3, 0.0, 0.0, 1.0), (0.3, -1.0, 0.0, 1.0), (0.3, 1.0, INF, 1.0), (0.3, 1.0, 0.0, 0.0),
                                        (0.3, 1.0, 0.0, -1.0), (0.3, 1.0, 0.0, INF)]),
    "lognormal": Family("real real real", lambda y, m, s: -z_of(log(y), m, s) ** 2 / 2 - log(y * s) - log(2 * mp.pi) / 2,
                        lambda y, m, s: lower_normal(z_of(log(y), m, s)), lambda y, m, s: lower_normal(-z_of(log(y), m, s)),
                        low=lambda *p: 0, closed=False, points=crossed(WAIT, [(0.0, 1.0), (-2.5, 0.5), (2.5, 10.0)]) + NANS(3),
                        bad=BAD_SCALE),
    "chi_square": Family("real real", lambda y, nu: (nu / 2 - 1) * log(y) - y / 2 - lgamma(nu / 2) - nu / 2 * log(2),
                         lambda y, nu: gamma_p(nu / 2, y / 2), lambda y, nu: gamma_q(nu / 2, y / 2), digits=SERIES, low=lambda *p: 0,
                         end=at_power(lambda y, nu: nu - 2), points=crossed(WAIT, [(s,) for s in SHAPE]) + NANS(2),
                         bad=[(0.5, 0.0), (0.5, -1.0), (0.5, INF)]),
    "exponential": Family("real real", lambda y, b: log(b) - b * y, lambda y, b: -mp.expm1(-b * y), lambda y, b: exp(-b * y),
                          low=lambda *p: 0, points=crossed(WAIT, [(1.0,), (1e-8,), (30.5,), (1e10,)]) + NANS(2),
                          bad=[(0.5, 0.0), (0.5, -1.0), (0.5, INF)]),
    "gamma": Family("real real real", lambda y, a, b: a * log(b) - lgamma(a) + (a - 1) * log(y) - b * y,
                    lambda y, a, b: gamma_p(a, b * y), lambda y, a, b: gamma_q(a, b * y), digits=SERIES, low=lambda *p: 0, closed=False,
                    points=crossed(WAIT, [(0.5, 1.0), (1.0, 1e-8), (2.5, 30.5), (1000.0, 2.5), (1e-3, 1.0)]) + NANS(3), bad=bad_shapes()),
    "inv_gamma": Family("real real real", lambda y, a, b: a * log(b) - lgamma(a) - (a + 1) * log(y) - b / y,
                        lambda y, a, b: gamma_q(a, b / y), lambda y, a, b: gamma_p(a, b / y), digits=SERIES, low=lambda *p: 0, closed=False,
                        points=crossed(WAIT, [(0.5, 1.0), (1.0, 1e-8), (2.5, 30.5), (1e-3, 1.0)]) + NANS(3), bad=bad_shapes()),
    "inv_chi_square": Family("real real", lambda y, nu: -nu / 2 * log(2) - lgamma(nu / 2) - (nu / 2 + 1) * log(y) - 1 / (2 * y),
                             lambda y, nu: gamma_q(nu / 2, 1 / (2 * y)), lambda y, nu: gamma_p(nu / 2, 1 / (2 * y)), digits=SERIES, low=lambda *p: 0,
                             closed=False, points=crossed(WAIT, [(0.5,), (1.0,), (30.5,)]) + NANS(2),
                             bad=[(0.5, 0.0), (0.5, -1.0), (0.5, INF)]),
    "scaled_inv_chi_square": Family("real real real",
                                    lambda y, nu, s: nu / 2 * log(nu / 2) - lgamma(nu / 2) + nu * log(s) - (nu / 2 + 1) * log(y) - nu * s * s / (2 * y),
                                    lambda y, nu, s: gamma_q(nu / 2, nu * s * s / (2 * y)), lambda y, nu, s: gamma_p(nu / 2, nu * s * s / (2 * y)), digits=SERIES,
                                    low=lambda *p: 0, closed=False, points=crossed(WAIT, [(0.5, 1.0), (2.5, 1e-3), (30.5, 2.5)]) + NANS(3),
                                    bad=bad_shapes()),
    "weibull": Family("real real real", lambda y, a, s: log(a) - log(s) + (a - 1) * log(y / s) - (y / s) ** a,
                      lambda y, a, s: -mp.expm1(-((y / s) ** a)), lambda y, a, s: exp(-((y / s) ** a)), low=lambda *p: 0,
                      end=at_power(lambda y, a, s: a - 1), points=crossed(WAIT[:-3] + [INF], [(0.5, 1.0), (1.0, 2.5), (2.5, 30.5), (2.5, 1e5)]) + NANS(3),
                      bad=bad_shapes()),
    "frechet": Family("real real real", lambda y, a, s: log(a) - log(s) - (a + 1) * log(y / s) - (y / s) ** -a,
                      lambda y, a, s: -((y / s) ** -a), lambda y, a, s: log(-mp.expm1(-((y / s) ** -a))) if (y / s) ** -a < 1 else log1p(-exp(-((y / s) ** -a))), log_tails=True,
                      low=lambda *p: 0, closed=False, points=crossed([-1.0, 0.0, 1e-3, 0.1, 0.5, 1.0, 2.5, 30.5, 1e5, 1e17, INF],
                                                                      [(0.5, 1.0), (1.0, 2.5), (2.5, 0.1)]) + NANS(3), bad=bad_shapes()),
    "rayleigh": Family("real real", lambda y, s: log(y) - 2 * log(s) - y * y / (2 * s * s), lambda y, s: -mp.expm1(-y * y / (2 * s * s)),
                       lambda y, s: exp(-y * y / (2 * s * s)), low=lambda *p: 0, closed=False,
                       points=crossed(WAIT, [(1.0,), (1e-3,), (1e10,)]) + NANS(2), bad=[(0.5, 0.0), (0.5, -1.0), (0.5, INF)]),
    "loglogistic": Family("real real real", lambda y, a, b: log(b / a) + (b - 1) * log(y / a) - 2 * log1p((y / a) ** b),
                          lambda y, a, b: 1 / (1 + (y / a) ** -b), lambda y, a, b: 1 / (1 + (y / a) ** b), low=lambda *p: 0,
                          end=at_power(lambda y, a, b: b - 1), points=crossed(WAIT, [(1.0, 0.5), (2.5, 1.0), (30.5, 4.0)]) + NANS(3),
                          bad=bad_shapes()),
    "pareto": Family("real real real", lambda y, m, a: log(a) + a * log(m) - (a + 1) * log(y), lambda y, m, a: 1 - (m / y) ** a,
                     lambda y, m, a: (m / y) ** a, low=lambda m, a: m,
                     points=[(y, m, a) for m, a in ((1.0, 1.0), (1e-3, 0.5), (30.5, 4.0))
                             for y in (-1.0, 0.0, m * 0.5, math.nextafter(m, 0), m, math.nextafter(m, INF), m * 1.5, m * 100, 1e17, INF)] + NANS(3),
                     bad=bad_shapes()),
    "pareto_type_2": Family("real real real real", lambda y, m, l, a: log(a / l) - (a + 1) * log1p((y - m) / l),
                            lambda y, m, l, a: 1 - (1 + (y - m) / l) ** -a, lambda y, m, l, a: (1 + (y - m) / l) ** -a,
                            low=lambda m, l, a: m,
                            points=[(y, m, l, a) for m, l, a in ((0.0, 1.0, 1.0), (-2.5, 0.5, 4.0), (2.5, 1e-3, 0.5))
                                    for y in (m - 1, m, m + 1e-9, m + 0.5, m + 30.5, 1e17, INF)] + NANS(4),
                            bad=[(0.5, 0.0, 0.0, 1.0), (0.5, 0.0, 1.0, 0.0), (0.5, 0.0, -1.0, 1.0), (0.5, 0.0, 1.0, -1.0)]),
    "beta": Family("real real real", lambda y, a, b: (a - 1) * log(y) + (b - 1) * log1p(-y) - lbeta(a, b),
                   lambda y, a, b: inc_beta(a, b, y), lambda y, a, b: inc_beta(b, a, 1 - y), digits=SERIES, low=lambda *p: 0, high=lambda *p: 1,
                   end=at_power(lambda y, a, b: a - 1 if y == 0 else b - 1), points=crossed(UNIT, BETAS) + NANS(3), bad=bad_shapes()),
    "beta_proportion": Family("real real real", lambda y, m, k: (m * k - 1) * log(y) + ((1 - m) * k - 1) * log1p(-y) - lbeta(m * k, (1 - m) * k),
                              lambda y, m, k: inc_beta(m * k, (1 - m) * k, y), lambda y, m, k: inc_beta((1 - m) * k, m * k, 1 - y), digits=SERIES,
                              low=lambda *p: 0, high=lambda *p: 1, end=at_power(lambda y, m, k: m * k - 1 if y == 0 else (1 - m) * k - 1),
                              points=crossed(UNIT, [(0.5, 1.0), (0.1, 30.5), (0.75, 0.5)]) + NANS(3),
                              bad=[(0.5, 0.0, 1.0), (0.5, 1.0, 1.0), (0.5, -0.5, 1.0), (0.5, 1.5, 1.0), (0.5, 0.5, 0.0), (0.5, 0.5, -1.0)]),
    "uniform": Family("real real real", lambda y, a, b: -log(b - a), lambda y, a, b: (y - a) / (b - a), lambda y, a, b: (b - y) / (b - a),
                      low=lambda a, b: a, high=lambda a, b: b,
                      points=[(y, a, b) for a, b in ((0.0, 1.0), (-2.5, 30.5), (1e5, 1e5 + 1))
                              for y in (a - 1, math.nextafter(a, -INF), a, a + 0.25, (a + b) / 2, b, math.nextafter(b, INF), b + 1, INF, -INF)] + NANS(3),
                      bad=[(0.5, 1.0, 0.0), (0.5, 0.5, 0.5), (0.5, -INF, 1.0), (0.5, 0.0, INF)]),
    "von_mises": Family("real real real", lambda y, m, k: k * (mp.cos(m - y) - 1) + (k - log(2 * mp.pi * mp.besseli(0, k))),
                        points=crossed([-math.pi, -2.5, -1e-9, 0.0, 0.5, 2.5, math.pi], [(0.0, 1.0), (1.0, 1e-8), (-2.5, 30.5), (0.5, 1e5)]) + NANS(3),
                        bad=[(0.5, 0.0, -1.0), (0.5, INF, 1.0), (0.5, 0.0, INF)]),
    "exp_mod_normal": Family("real real real real", exp_mod_normal, exp_mod_normal_lower, exp_mod_normal_upper,
                             points=located([(0.0, 1.0, 1.0), (-2.5, 0.5, 30.5), (2.5, 10.0, 1e-3)],
                                            [-1e5, -38.6, -8.5, -2.5, -0.5, 0.0, 0.5, 2.5, 8.5, 38.6, 1e5]) + NANS(4),
                             bad=[(0.3, 0.0, 0.0, 1.0), (0.3, 0.0, -1.0, 1.0), (0.3, 0.0, 1.0, 0.0), (0.3, 0.0, 1.0, -1.0), (0.3, INF, 1.0, 1.0)]),
    "skew_double_exponential": Family("real real real real", skew_de, skew_de_lower, skew_de_upper,
                                      points=located([(0.0, 1.0, 0.5), (-2.5, 0.5, 0.1), (2.5, 1e5, 1 - 1e-9)],
                                                     [-1e5, -38.6, -2.5, -0.5, 0.0, 0.5, 2.5, 38.6, 1e5]) + NANS(4),
                                      bad=[(0.3, 0.0, 0.0, 0.5), (0.3, 0.0, -1.0, 0.5), (0.3, 0.0, 1.0, -0.5), (0.3, 0.0, 1.0, 1.5), (0.3, INF, 1.0, 0.5)]),
    "skew_normal": Family("real real real real",
                          lambda y, x, o, a: log(2) - log(o) - z_of(y, x, o) ** 2 / 2 - log(2 * mp.pi) / 2 + log(lower_normal(a * z_of(y, x, o))),
                          skew_normal_lower(1), skew_normal_lower(-1), digits=QUADRATURE,
                          points=located([(0.0, 1.0, 0.0), (0.0, 1.0, 2.5), (-2.5, 0.5, -0.5), (2.5, 30.5, -30.5)],
                                         [-30.0, -8.5, -2.5, -0.5, 0.0, 0.5, 2.5, 8.5, 30.0]) + NANS(4),
                          bad=[(0.3, 0.0, 0.0, 1.0), (0.3, 0.0, -1.0, 1.0), (0.3, INF, 1.0, 1.0), (0.3, 0.0, 1.0, INF)]),
    "wiener": Family("real real real real real", wiener, low=lambda a, t, b, d: t, closed=False,
                     points=crossed([0.3, 0.30000001, 0.35, 0.5, 1.0, 2.5, 30.5, 100.0],
                                    [(1.0, 0.3, 0.5, 0.0), (2.0, 0.1, 0.3, -2.5), (0.5, 0.3, 0.9, 5.0), (3.0, 0.2, 1e-3, 0.5)])
                     + NANS(5), bad=[(1.0, 0.0, 0.3, 0.5, 0.0), (1.0, -1.0, 0.3, 0.5, 0.0), (1.0, 1.0, -0.3, 0.5, 0.0),
                                     (1.0, 1.0, 0.3, 1.5, 0.0), (1.0, 1.0, 0.3, -0.5, 0.0), (1.0, 1.0, 0.3, 0.5, INF)]),
    # Counts.
    "bernoulli": Family("int real", lambda y, t: binomial(y, 1, t), lambda y, t: 1 - t, lambda y, t: t, low=lambda *p: 0, high=lambda *p: 1,
                        discrete=True, points=[(y, t) for t in (0.0, 1e-300, 1e-17, 0.25, 0.5, 1 - 2.0**-53, 1.0) for y in (-1, 0, 1, 2)] + [(0, NAN), (1, NAN)],
                        bad=[(0, -0.1), (1, 1.1), (1, INF)]),
    "bernoulli_logit": Family("int real", lambda y, e: -log1p(exp(-e if y else e)), low=lambda *p: 0, high=lambda *p: 1, discrete=True,
                              points=[(y, e) for e in (-1e17, -800.25, -30.5, -1e-17, 0.0, 2.5, 38.0, 800.25, 1e17) for y in (-1, 0, 1, 2)] + [(0, NAN), (1, NAN)],
                              bad=[]),
    "binomial": Family("int int real", binomial, summed(binomial), summed(binomial, True, lambda n, t: n), low=lambda *p: 0,
                       high=lambda n, t: n, discrete=True,
                       points=[(y, n, t) for n in (0, 1, 10, 200) for t in (0.0, 1e-17, 0.25, 0.5, 0.999, 1.0)
                               for y in dict.fromkeys((-1, 0, 1, n // 2, n - 1, n, n + 1))] + [(1, 2, NAN)],
                       bad=[(0, -1, 0.5), (1, 2, -0.1), (1, 2, 1.1)]),
    "binomial_logit": Family("int int real", lambda y, n, e: choose(n, y) - y * log1p(exp(-e)) - (n - y) * log1p(exp(e)), low=lambda *p: 0,
                             high=lambda n, e: n, discrete=True,
                             points=[(y, n, e) for n in (0, 1, 10, 200) for e in (-800.25, -2.5, 0.0, 30.5, 800.25)
                                     for y in dict.fromkeys((-1, 0, 1, n // 2, n - 1, n, n + 1))] + [(1, 2, NAN)],
                             bad=[(0, -1, 0.5), (1, 2, INF)]),
    "poisson": Family("int real", lambda y, l: y * log(l) - l - lgamma(y + 1) if l else (mpf(0) if y == 0 else -mp.inf),
                      lambda y, l: summed(lambda k, l: k * log(l) - l - lgamma(k + 1))(y, l) if l else mpf(1), low=lambda *p: 0, discrete=True,
                      points=crossed(COUNTS, [(l,) for l in (0.0, 1e-300, 1e-17, 0.5, 2.5, 30.5, 800.25, 1e17)]) + [(1, NAN)],
                      bad=[(1, -0.5)]),
    "poisson_log": Family("int real", lambda y, e: y * e - exp(e) - lgamma(y + 1), low=lambda *p: 0, discrete=True,
                          points=crossed(COUNTS, [(e,) for e in (-800.25, -2.5, 0.0, 0.5, 5.0, 30.5)]) + [(1, NAN)], bad=[]),
    "neg_binomial": Family("int real real", lambda y, a, b: neg_binomial_2(y, a / b, a), summed(lambda y, a, b: neg_binomial_2(y, a / b, a)),
                           low=lambda *p: 0, discrete=True, points=crossed(COUNTS, [(0.5, 1.0), (30.5, 2.5), (2.5, 1e-3), (1e5, 1e5)]) + [(1, NAN, 1.0), (1, 1.0, NAN)],
                           bad=[(1, 0.0, 1.0), (1, -1.0, 1.0), (1, 1.0, 0.0), (1, 1.0, -1.0), (1, INF, 1.0), (1, 1.0, INF)]),
    "neg_binomial_2": Family("int real real", neg_binomial_2, summed(neg_binomial_2), low=lambda *p: 0, discrete=True,
                             points=crossed(COUNTS, [(0.5, 1.0), (30.5, 2.5), (2.5, 1e-3), (2.5, 1e8), (1e5, 30.5), (1e-17, 1.0)]) + [(1, NAN, 1.0), (1, 1.0, NAN)],
                             bad=[(1, 0.0, 1.0), (1, -1.0, 1.0), (1, 1.0, 0.0), (1, 1.0, -1.0), (1, INF, 1.0), (1, 1.0, INF)]),
    "neg_binomial_2_log": Family("int real real", lambda y, e, f: neg_binomial_2(y, exp(e), f), low=lambda *p: 0, discrete=True,
                                 points=crossed(COUNTS, [(0.5, 1.0), (-30.5, 2.5), (2.5, 1e-3), (2.5, 1e8), (30.5, 30.5), (-800.25, 1.0)]) + [(1, NAN, 1.0), (1, 1.0, NAN)],
                                 bad=[(1, 0.0, 0.0), (1, 0.0, -1.0), (1, INF, 1.0), (1, 1.0, INF)]),
    "beta_binomial": Family("int int real real", lambda y, n, a, b: choose(n, y) + lbeta(y + a, n - y + b) - lbeta(a, b),
                            summed(lambda y, n, a, b: choose(n, y) + lbeta(y + a, n - y + b) - lbeta(a, b)),
                            summed(lambda y, n, a, b: choose(n, y) + lbeta(y + a, n - y + b) - lbeta(a, b), True, lambda n, a, b: n),
                            low=lambda *p: 0, high=lambda n, a, b: n, discrete=True,
                            points=[(y, n, a, b) for n in (0, 1, 10, 60) for a, b in ((0.5, 1.0), (30.5, 2.5), (1e-3, 1e5))
                                    for y in dict.fromkeys((-1, 0, 1, n // 2, n - 1, n, n + 1))] + [(1, 2, NAN, 1.0), (1, 2, 1.0, NAN)],
                            bad=[(0, -1, 0.5, 0.5), (1, 2, 0.0, 1.0), (1, 2, 1.0, -1.0), (1, 2, INF, 1.0)]),
    "beta_neg_binomial": Family("int real real real", beta_neg_binomial, summed(beta_neg_binomial), low=lambda *p: 0, discrete=True,
                                points=crossed([-1, 0, 1, 10, 60], [(0.5, 1.0, 2.5), (30.5, 4.0, 0.5), (2.5, 0.1, 30.5)])
                                + [(1, NAN, 1.0, 1.0), (1, 1.0, NAN, 1.0), (1, 1.0, 1.0, NAN)],
                                bad=[(1, 0.0, 1.0, 1.0), (1, 1.0, 0.0, 1.0), (1, 1.0, 1.0, -1.0), (1, INF, 1.0, 1.0)]),
    "yule_simon": Family("int real", lambda y, a: log(a) + lbeta(mpf(y), a + 1), lambda y, a: 1 - y * exp(lbeta(mpf(y), a + 1)),
                         lambda y, a: y * exp(lbeta(mpf(y), a + 1)), low=lambda *p: 1, discrete=True,
                         points=crossed([-1, 0, 1, 2, 10, 150], [(1e-3,), (1.0,), (2.5,), (30.5,)]) + [(1, NAN)], bad=[(1, 0.0), (1, -1.0), (1, INF)]),
    "hypergeometric": Family("int int int int", hypergeometric_mass, discrete=True, low=lambda n, a, b: max(0, n - b), high=lambda n, a, b: min(a, n),
                             points=[(y, n, a, b) for n, a, b in ((3, 5, 4), (10, 30, 20), (0, 2, 2)) for y in (0, 1, 2, 3) if max(0, n - b) <= y <= min(a, n)],
                             bad=[(4, 3, 5, 4), (-1, 3, 5, 4)]),
    "discrete_range": Family("int int int", lambda y, a, b: -log(mpf(b - a + 1)), lambda y, a, b: mpf(y - a + 1) / (b - a + 1),
                             lambda y, a, b: mpf(b - y) / (b - a + 1), low=lambda a, b: a, high=lambda a, b: b, discrete=True,
                             points=[(y, a, b) for a, b in ((0, 0), (-3, 5), (1, 100)) for y in dict.fromkeys((a - 1, a, (a + b) // 2, b, b + 1))],
                             bad=[(1, 5, 3)]),
}


def sections():
    for name, family in FAMILIES.items():
        if not chosen(name):
            continue
        suffix = "_lpmf" if family.kinds[0] == "int" else "_lpdf"
        has_tails = family.lower is not None or family.upper is not None
        functions = [suffix, "_lcdf", "_lccdf"] if has_tails else [suffix]
        rows = [line(family, p) for p in family.points] + [line(family, p, "error") for p in family.bad]
        print(name, len(rows), file=sys.stderr, flush=True)
        yield f"{name} {' '.join(functions)} : {' '.join(family.kinds)}", rows


if __name__ == "__main__":
    write(sys.argv[1], sections())
