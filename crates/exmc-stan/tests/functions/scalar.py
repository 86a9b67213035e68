"""Values and derivatives of Stan's functions of numbers -> scalar.csv.

    python3 scalar.py scalar.csv [NAME ...]

A section is `# name types`, its lines are arguments, value, derivatives by the real arguments (`-`: none is claimed).
`nan` is "no number": Stan throws or gives NaN. What Stan does at edges is from the Stan functions reference and the documentation in
stan-dev/math (stan/math/prim/fun/NAME.hpp), for functions of the C++ library from ISO C, annex F.
"""

import math
import sys

from mpmath import mp, mpf

from oracle import INF, NAN, Undefined, chosen, row, settled, write

TINY, HUGE = 1e-300, 1e300
SIZES = [TINY, 1e-17, 1e-8, 0.1, 0.25, 0.5, 0.75, 1 - 2.0**-53, 1.0, 1 + 2.0**-52, 1.3, 1.5, 2.0, 2.5, 3.0, 5.0, 10.5, 30.0, 37.5,
         100.0, 170.5, 709.5, 745.5, 800.25, 1e5, 1e8, 1e17, HUGE, INF]
LINE = [NAN, 0.0] + SIZES + [-x for x in SIZES]

ISPOLE = lambda x: x <= 0 and math.isfinite(x) and x == math.floor(x)


def outside():
    raise Undefined


def where(condition, f):
    return lambda *x: f(*x) if condition(*x) else outside()


def quantile_of_log(l):
    """x with log Phi(x) = l < 0, by Newton's method."""
    log_cdf = lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) if x < 1 else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)
    if l > -mpf("0.5"):
        upper = -mp.expm1(l)
        log_upper = mp.log(upper)
        return -quantile_of_log(log_upper)
    x = -mp.sqrt(-2 * l) if l < -5 else mpf(0)
    if l < -5:
        x = -mp.sqrt(-2 * l - mp.log(-2 * l * 2 * mp.pi))
    last = mp.inf
    for turn in range(60):
        value = log_cdf(x)
        slope = mp.exp(-x * x / 2 - value) / mp.sqrt(2 * mp.pi)
        step = (value - l) / slope
        x -= step
        if abs(step) <= abs(x) * mpf(10) ** (-mp.dps // 2 - 4) or (turn > 6 and abs(step) >= last):
            break
        last = abs(step)
    return x


def quantile(p):
    if p <= 0 or p >= 1:
        outside()
    if p == mpf("0.5"):
        return mpf(0)
    return quantile_of_log(mp.log(p)) if p < 0.5 else -quantile_of_log(mp.log1p(-p))


def lgamma(x):
    if x <= 0 and x == mp.floor(x):
        return mp.inf
    return mp.log(abs(mp.gamma(x))) if abs(x) < 300 else mp.re(mp.loggamma(x))


def digamma(x):
    return mp.digamma(x)


def round_half_away(x):
    size = mp.floor(abs(x) + mpf(0.5))
    return size if x >= 0 else -size


def whole(x):
    return x == mp.floor(x)


# name: (function of finite numbers, values at chosen edges)
limits = lambda low, high: {-INF: low, INF: high}
UNARY = {
    "Phi": (lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, limits(0.0, 1.0)),
    "Phi_approx": (lambda x: 1 / (1 + mp.exp(-(mpf("0.07056") * x**3 + mpf("1.5976") * x))), limits(0.0, 1.0)),
    "abs": (abs, limits(INF, INF)),
    "acos": (where(lambda x: abs(x) <= 1, mp.acos), {}),
    "acosh": (where(lambda x: x >= 1, mp.acosh), {INF: INF}),
    "asin": (where(lambda x: abs(x) <= 1, mp.asin), {}),
    "asinh": (mp.asinh, limits(-INF, INF)),
    "atan": (mp.atan, limits(-math.pi / 2, math.pi / 2)),
    "atanh": (where(lambda x: abs(x) <= 1, mp.atanh), {1.0: INF, -1.0: -INF}),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), limits(-INF, INF)),
    "ceil": (mp.ceil, limits(-INF, INF)),
    "cos": (mp.cos, {}),
    "cosh": (mp.cosh, limits(INF, INF)),
    "digamma": (where(lambda x: not (x <= 0 and whole(x)), digamma), {INF: INF}),
    "erf": (mp.erf, limits(-1.0, 1.0)),
    "erfc": (mp.erfc, limits(2.0, 0.0)),
    "exp": (mp.exp, limits(0.0, INF)),
    "exp2": (lambda x: mp.exp(x * mp.log(2)), limits(0.0, INF)),
    "expm1": (mp.expm1, limits(-1.0, INF)),
    "floor": (mp.floor, limits(-INF, INF)),
    "inv": (lambda x: 1 / x, {**limits(0.0, 0.0), 0.0: INF}),
    "inv_Phi": (quantile, {0.0: -INF, 1.0: INF}),
    "inv_cloglog": (lambda x: -mp.expm1(-mp.exp(x)) if x < 20 else mpf(1), limits(0.0, 1.0)),
    "inv_erfc": (where(lambda x: 0 <= x <= 2, lambda x: -quantile(x / 2) / mp.sqrt(2)), {0.0: INF, 2.0: -INF}),
    "inv_logit": (lambda x: 1 / (1 + mp.exp(-x)), limits(0.0, 1.0)),
    "inv_sqrt": (where(lambda x: x >= 0, lambda x: 1 / mp.sqrt(x)), {0.0: INF, INF: 0.0}),
    "inv_square": (lambda x: 1 / x**2, {**limits(0.0, 0.0), 0.0: INF}),
    "lambert_w0": (where(lambda x: x >= -mp.exp(-1), lambda x: mp.re(mp.lambertw(x))), {INF: INF}),
    "lambert_wm1": (where(lambda x: -mp.exp(-1) <= x < 0, lambda x: mp.re(mp.lambertw(x, -1))), {0.0: -INF}),
    "lgamma": (lgamma, limits(INF, INF)),
    "log": (where(lambda x: x >= 0, mp.log), {0.0: -INF, INF: INF}),
    "log10": (where(lambda x: x >= 0, mp.log10), {0.0: -INF, INF: INF}),
    "log1m": (where(lambda x: x <= 1, lambda x: mp.log1p(-x)), {1.0: -INF, -INF: INF}),
    "log1m_exp": (where(lambda x: x <= 0, lambda x: mp.log(-mp.expm1(x)) if x > -1 else mp.log1p(-mp.exp(x))),
                  {0.0: -INF, -INF: 0.0}),
    "log1m_inv_logit": (lambda x: -mp.log1p(mp.exp(x)), limits(0.0, -INF)),
    "log1p": (where(lambda x: x >= -1, mp.log1p), {-1.0: -INF, INF: INF}),
    "log1p_exp": (lambda x: mp.log1p(mp.exp(x)), limits(0.0, INF)),
    "log2": (where(lambda x: x >= 0, lambda x: mp.log(x) / mp.log(2)), {0.0: -INF, INF: INF}),
    "log_inv_logit": (lambda x: -mp.log1p(mp.exp(-x)), limits(-INF, 0.0)),
    "logit": (where(lambda x: 0 <= x <= 1, lambda x: mp.log(x) - mp.log1p(-x)), {0.0: -INF, 1.0: INF}),
    "minus": (lambda x: -x, limits(INF, -INF)),
    "plus": (lambda x: x, limits(-INF, INF)),
    "round": (round_half_away, limits(-INF, INF)),
    "sin": (mp.sin, {}),
    "sinh": (mp.sinh, limits(-INF, INF)),
    "sqrt": (where(lambda x: x >= 0, mp.sqrt), {INF: INF}),
    "square": (lambda x: x * x, limits(INF, INF)),
    "std_normal_log_qf": (where(lambda x: x <= 0, quantile_of_log), {0.0: INF, -INF: -INF}),
    "std_normal_qf": (quantile, {0.0: -INF, 1.0: INF}),
    "tan": (mp.tan, {}),
    "tanh": (mp.tanh, limits(-1.0, 1.0)),
    # An error at zero and at negative whole numbers, of which minus infinity is one to Stan.
    "tgamma": (where(lambda x: not (x <= 0 and whole(x)), mp.gamma), {INF: INF}),
    "trigamma": (lambda x: mp.inf if x <= 0 and whole(x) else mp.polygamma(1, x), {INF: 0.0}),
    "trunc": (lambda x: mp.floor(x) if x >= 0 else mp.ceil(x), limits(-INF, INF)),
    # Below zero 0, anything else 1, NaN too.
    "step": (lambda x: mpf(x >= 0), {**limits(0.0, 1.0), NAN: 1.0}),
}
# Classifications: integers without derivatives.
TESTS = {
    "int_step": lambda x: float(x > 0),
    "is_inf": lambda x: float(math.isinf(x)),
    "is_nan": lambda x: float(math.isnan(x)),
}
# Where the derivative is a matter of definition.
KINKS = {"abs": {0.0}, "step": {0.0}, "sqrt": {0.0}}
# Where derivatives of all floating-point numbers are zero, the differences of neighbours are not.
FLAT = {"ceil", "floor", "round", "trunc"}
MOST = {"trigamma": 1e17, "digamma": HUGE, "lgamma": HUGE, "tgamma": 1e17, "lambert_wm1": HUGE}


def own_points(name):
    near = {
        "lambert_w0": [-0.3678794411714423, -0.3678794411714, -0.36, -0.2],
        "lambert_wm1": [-0.3678794411714423, -0.3678794411714, -0.36, -0.2, -1e-10],
        "std_normal_log_qf": [-0.69314718055994530, -0.6, -0.61, -699.0, -701.0, -1e-5, -0.025],
        "inv_Phi": [0.075, 0.925, 1e-5, 0.999, 0.0250001],
        "inv_erfc": [1.999, 1.9999999, 1e-5, 1.7],
        "lgamma": [-0.5, -1.5000001, -2.0001, -2.457024738220801, 1e-5, 7.7, 12.3, -33.3, -170.6],
        "tgamma": [-0.5, -1.5, -170.6, -180.5, 171.6, 171.7, 7.7, 12.3, 1e-5],
        "digamma": [-0.5, 1.4616321449683622, 7.7, 12.3, -33.3],
        "trigamma": [-0.5, 7.7, 12.3, -33.3, 1e-5],
        "log1m_exp": [-0.6931471805599453, -0.69, -0.7],
        "acosh": [1.0000001, 1.01],
        "erfc": [26.5, 27.0, 6.0, -6.0],
        "sin": [355.0, 1e15, math.pi],
        "cos": [355.0, 1e15, math.pi / 2],
        "tan": [355.0, 1e15, math.pi / 2],
        "round": [0.49999999999999994, -0.49999999999999994, 4503599627370497.5, 2.4999999999999996],
        "logit": [0.50001, 0.3],
    }
    return near.get(name, [])


def unary_sections():
    for name, (f, edges) in UNARY.items():
        if not chosen(name):
            continue
        rows = []
        kinks = KINKS.get(name, set())

        def edge(x):
            if math.isnan(x):
                return edges.get(NAN, NAN) if name == "step" else NAN
            return edges.get(x)

        def smooth(x):
            if name in FLAT:
                return x != math.floor(x)
            return x not in kinks

        for x in LINE + own_points(name):
            if abs(x) > MOST.get(name, HUGE) and math.isfinite(x):
                continue
            if name in ("lgamma", "tgamma", "digamma", "trigamma") and x < -1e6 and math.isfinite(x) and x != math.floor(x):
                continue
            rows.append(row(f, (x,), edge=edge, smooth=smooth))
        yield f"{name} real", rows
    for name, f in TESTS.items():
        if chosen(name):
            yield f"{name} real", [row(None, (x,), edge=f, smooth=lambda x: False) for x in LINE]


SIDES = [NAN, 0.0, -INF, INF] + [s * x for x in (HUGE, 1e17, 30.5, 2.5, 2.0, 1.0, 0.5, 1e-17) for s in (1, -1)] + [TINY, 3.7]
isnan = lambda a, b: math.isnan(a) or math.isnan(b)
c99 = lambda f: lambda a, b: float_edge(f, a, b)


def float_edge(f, a, b):
    """Values at infinities, zeros and NaN from the C library; None elsewhere."""
    if all(math.isfinite(x) and x != 0 for x in (a, b)):
        return None
    try:
        value = f(a, b)
        return NAN if isinstance(value, complex) else value
    except ZeroDivisionError:
        return INF
    except (ValueError, OverflowError):
        return NAN


def c_pow(a, b):
    # Python raises where C gives infinity at zero with a negative power.
    if a == 0 and b < 0:
        return INF
    return math.pow(a, b)


def log_sum_exp(a, b):
    high, low = max(a, b), min(a, b)
    return high + mp.log1p(mp.exp(low - high))


def log_diff_exp(a, b):
    if a < b:
        outside()
    if a == b:
        return -mp.inf
    return a + (mp.log(-mp.expm1(b - a)) if b - a > -1 else mp.log1p(-mp.exp(b - a)))


def edge_log_diff_exp(a, b):
    if isnan(a, b) or a < b or a == INF == b:
        return NAN
    if a == b:
        return -INF
    return INF if a == INF else a if b == -INF else None


def edge_log_inv_logit_diff(a, b):
    if isnan(a, b) or a < b:
        return NAN
    # Both at minus infinity: 0 - 0, whose log Stan's formula does not reach.
    if a == b:
        return "skip" if a == -INF else -INF
    if a == INF:
        return 0.0 if b == -INF else number_of(lambda: -mp.log1p(mp.exp(mpf(b))))
    if b == -INF:
        return number_of(lambda: -mp.log1p(mp.exp(-mpf(a))))
    return None


def number_of(f):
    value = settled(f)
    return None if value is None else float(value)


def log_inv_logit_diff(a, b):
    # inv_logit(a) - inv_logit(b) = (e^a - e^b) / ((1 + e^a)(1 + e^b))
    return log_diff_exp(a, b) - mp.log1p(mp.exp(a)) - mp.log1p(mp.exp(b))


def lbeta(a, b):
    if a < 0 or b < 0:
        outside()
    if a == 0 or b == 0:
        return mp.inf
    return mp.re(mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b))


def edge_lbeta(a, b):
    if isnan(a, b) or a < 0 or b < 0:
        return NAN
    if 0 in (a, b):
        return INF
    return -INF if INF in (a, b) else None


def lchoose(n, k):
    if n < -1 or k < -1 or k > n + 1:
        outside()
    if k == 0 or k == n:
        return mpf(0)
    if n == -1:
        return "skip"
    if k == -1 or k == n + 1:
        return -mp.inf
    return mp.re(mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1))


def edge_lchoose(n, k):
    if isnan(n, k):
        return NAN
    # At minus one it is the log of a ratio of two poles; at infinity of a difference of infinities.
    if n == -1 or math.isinf(n) or math.isinf(k):
        return "skip"
    return None


def log_rising(x, n):
    if x <= 0:
        outside()
    return lgamma(x + n) - lgamma(x)


def log_falling(x, n):
    if x <= 0:
        outside()
    low = x - n + 1
    return -mp.inf if low <= 0 and whole(low) else lgamma(x + 1) - lgamma(low)


def edge_factorial(x, n):
    if isnan(x, n) or x <= 0:
        return NAN
    # x + n needs as many digits as lie between both; more than are asked for make whole numbers of it.
    far = n != 0 and not 1e-250 < abs(x) / abs(n) < 1e250
    return "skip" if math.isinf(x) or math.isinf(n) or far else None


def log_bessel_i(v, z):
    if z < 0 or v < -1:
        outside()
    if z > 2000:
        # Hankel's series, for orders far below the argument.
        mu, term, total, k = 4 * v * v, mpf(1), mpf(1), 1
        while abs(term) > mpf(10) ** -mp.dps and k < 400:
            term *= -(mu - (2 * k - 1) ** 2) / (k * 8 * z)
            total += term
            k += 1
        return z - mp.log(2 * mp.pi * z) / 2 + mp.log(total)
    quarter, term, total, k = z * z / 4, mpf(1), mpf(1), 1
    order = v
    if v == -1:
        order = mpf(1)
    while term > total * mpf(10) ** -mp.dps:
        term *= quarter / (k * (k + order))
        total += term
        k += 1
    return order * mp.log(z / 2) - mp.re(mp.loggamma(order + 1)) + mp.log(total)


def edge_log_bessel_i(v, z):
    if isnan(v, z) or z < 0 or v < -1:
        return NAN
    if z == 0:
        return 0.0 if v == 0 else -INF if v > 0 else INF
    if z == INF:
        return "skip" if v == INF else INF
    return "skip" if v == INF or v > 1e5 or (z > 2000 and v > 100) else None


def gamma_tail(upper):
    def f(a, z):
        if a <= 0 or z < 0:
            outside()
        if z == 0:
            return mpf(1 if upper else 0)
        if upper and z > a + 10:
            return mp.gammainc(a, z, mp.inf, regularized=True)
        term = total = 1 / mp.gamma(a + 1) if a < 1e4 else mp.exp(-mp.loggamma(a + 1))
        k = 1
        while term > total * mpf(10) ** -(mp.dps + 5) or k < z - a:
            term *= z / (a + k)
            total += term
            k += 1
            if k > 40000:
                raise mp.NoConvergence
        lower = total * mp.exp(a * mp.log(z) - z)
        return 1 - lower if upper else lower

    def edge(a, z):
        if isnan(a, z) or a <= 0 or z < 0:
            return NAN
        if math.isinf(a):
            return "skip"
        if z == INF or z >= 1e5 > 1e3 >= a:
            return 0.0 if upper else 1.0
        return None

    return f, edge


def owens_t(h, a):
    sign = mp.sign(a)
    h, a = abs(h), abs(a)
    if a == 0:
        return mpf(0)
    if h > 200:
        return mpf(0)
    cdf = lambda x: mp.erfc(-x / mp.sqrt(2)) / 2
    if a > 1:
        upper = lambda x: mp.erfc(x / mp.sqrt(2)) / 2
        value = (upper(h) + upper(a * h)) / 2 - upper(h) * upper(a * h) - owens_t(a * h, 1 / a)
        return sign * value
    ends = [mpf(0)] + [e for e in (mpf(k) / (4 + h) for k in (1, 3, 8, 16)) if e < a] + [a]
    # The quadrature's error is absolute, so the integrand is of size one.
    integrand = lambda x: mp.exp(-h * h * x * x / 2) / (1 + x * x)
    return sign * mp.exp(-h * h / 2) * mp.quad(integrand, ends) / (2 * mp.pi)


def edge_owens_t(h, a):
    if isnan(h, a):
        return NAN
    if math.isinf(h):
        return 0.0
    if math.isinf(a):
        return 0.0 if abs(h) > 200 else math.copysign(1, a) * number_of(lambda: mp.erfc(abs(mpf(h)) / mp.sqrt(2)) / 4)
    return None


def fmax(a, b):
    return b if math.isnan(a) else a if math.isnan(b) else max(a, b)


def fmin(a, b):
    return b if math.isnan(a) else a if math.isnan(b) else min(a, b)


def multiply_log(a, b):
    if b < 0:
        outside()
    return a * mp.log(b)


def edge_multiply_log(a, b):
    if isnan(a, b) or b < 0:
        return NAN
    if b == 0:
        return 0.0 if a == 0 else -INF * a
    if INF in (abs(a), b):
        log = INF if b == INF else math.log(b)
        return a * log
    return None


def exact_fmod(a, b):
    quotient = a / b
    quotient = mp.floor(quotient) if quotient >= 0 else mp.ceil(quotient)
    return a - quotient * b


SHAPES = [TINY, 1e-17, 0.5, 1.0, 2.5, 30.5, 1000.0]
WAITS = [0.0, TINY, 1e-17, 0.1, 0.5, 1.0, 2.5, 30.5, 990.0, 1e5, HUGE, INF]
POLES = [(0.0, 1.0), (-1.0, 1.0), (NAN, 1.0), (1.0, NAN), (1.0, -1.0), (INF, 1.0)]
grid = lambda xs, ys: [(x, y) for x in xs for y in ys]
pairs = grid(SIDES, SIDES)
plus = lambda *more: pairs + [p for q in more for p in (q, q[::-1])]
gamma_p, gamma_q = gamma_tail(False), gamma_tail(True)
always, never = (lambda a, b: True), (lambda a, b: False)
# name: function, edges, where derivatives are claimed, points
BINARY = {
    "atan2": (mp.atan2, lambda a, b: math.atan2(a, b) if not all(map(math.isfinite, (a, b))) or a == b == 0 else None,
              lambda a, b: a != 0 or b > 0, pairs),
    "beta": (lambda a, b: mp.exp(lbeta(a, b)), lambda a, b: {-INF: 0.0}.get(edge_lbeta(a, b), edge_lbeta(a, b)), always,
             plus((150.5, 160.5), (1e-8, 1e-8), (0.1, 200.0), (1e5, 2e5))),
    "fdim": (lambda a, b: max(a - b, mpf(0)),
             lambda a, b: NAN if isnan(a, b) else None if all(map(math.isfinite, (a, b))) else 0.0 if a <= b else INF,
             lambda a, b: a != b, pairs),
    "fmax": (lambda a, b: max(a, b), lambda a, b: fmax(a, b) if not all(map(math.isfinite, (a, b))) else None,
             lambda a, b: a != b, pairs),
    "fmin": (lambda a, b: min(a, b), lambda a, b: fmin(a, b) if not all(map(math.isfinite, (a, b))) else None,
             lambda a, b: a != b, pairs),
    "fmod": (exact_fmod, c99(math.fmod), lambda a, b: abs(a / b) < 1e15 and a / b != math.floor(a / b),
             plus((1e17, 3.0), (1e300, 3.0), (5.3, 2.0), (-5.3, 2.0), (5.0, -3.0), (1e-300, 2e-300), (7.5, 2.5))),
    "hypot": (lambda a, b: mp.sqrt(a * a + b * b),
              lambda a, b: INF if INF in (abs(a), abs(b)) else NAN if isnan(a, b) else None, lambda a, b: a != 0 or b != 0, pairs),
    "lbeta": (lbeta, edge_lbeta, always, plus((150.5, 160.5), (1e-8, 1e-8), (0.1, 200.0), (1e5, 2e5), (1e8, 1e8))),
    "lchoose": (lchoose, edge_lchoose, lambda n, k: True,
                [(n, k) for n in (NAN, -1.0, -0.5, 0.0, 1e-17, 0.5, 1.0, 2.5, 5.0, 30.5, 200.0, 1e5, 1e17)
                 for k in (NAN, -1.5, -1.0, -0.5, 0.0, 1e-17, 0.5, 1.0, 2.5, 5.0, 6.0, 100.0, 5e4, 5e16)] + [(-2.0, 0.0)]),
    "lmultiply": (multiply_log, edge_multiply_log, always, pairs),
    "log_diff_exp": (log_diff_exp, edge_log_diff_exp, always, plus((-800.25, -801.0), (1.0, 0.9999999), (1e-8, 0.0))),
    "log_falling_factorial": (log_falling, edge_factorial, always,
                              plus((5.0, 3.0), (5.5, 3.0), (0.5, 2.0), (100.5, 60.25), (5.0, 6.0), (5.5, -2.5), (1e17, 30.5))),
    "log_inv_logit_diff": (log_inv_logit_diff, edge_log_inv_logit_diff, always,
                           plus((-800.25, -801.0), (801.0, 800.25), (800.25, -800.25), (1.0, 0.9999999))),
    "log_modified_bessel_first_kind": (log_bessel_i, edge_log_bessel_i, always,
                                       grid([-1.0, -0.75, -0.5, 0.0, 1e-17, 0.5, 1.0, 2.5, 30.5, 1000.0],
                                            [0.0, TINY, 1e-17, 0.5, 1.0, 2.5, 30.5, 50.5, 800.25, 1e5, 1e17, INF])
                                       + [(-1.5, 1.0), (1.0, -1.0), (NAN, 1.0), (1.0, NAN)]),
    "log_rising_factorial": (log_rising, edge_factorial, always,
                             plus((5.0, 3.0), (5.5, 3.0), (0.5, 2.0), (100.5, 60.25), (5.0, 6.0), (2.5, -3.5), (1e17, 30.5))),
    "log_sum_exp": (log_sum_exp, lambda a, b: NAN if isnan(a, b) else None if all(map(math.isfinite, (a, b))) else max(a, b),
                    always, plus((-800.25, -801.0), (800.25, 801.0))),
    "pow": (lambda a, b: mp.power(a, b), c99(c_pow), lambda a, b: a != 0 and abs(b) < 2**53,
            plus((0.5, 3.0), (-2.5, 3.0), (-1.5, -1.0), (1e-300, 0.5), (7.0, 300.0), (0.0, 3.0), (-1.0, 3.0))),
    "gamma_p": (*gamma_p, always, grid(SHAPES, WAITS) + POLES),
    "gamma_q": (*gamma_q, always, grid(SHAPES, WAITS) + POLES),
    "owens_t": (owens_t, edge_owens_t, always,
                grid([NAN, 0.0, -INF, INF, HUGE, 30.5, 5.0, 2.5, -2.5, 1.0, 0.5, -0.5, 1e-17],
                     [NAN, 0.0, -INF, INF, HUGE, 30.5, 2.5, 1.0, -1.0, 0.5, -0.5, 1e-17])),
}


def binary_sections():
    for name, (f, edge, smooth, points) in BINARY.items():
        if chosen(name):
            yield f"{name} real real", [row(f, p, edge=edge, smooth=smooth, few=name in ("owens_t", "gamma_p", "gamma_q")) for p in dict.fromkeys(points)]


def product(x, n, by):
    value = mpf(1)
    for k in range(n):
        value *= x + by * k
    return value


def factorial(by):
    def f(x, n):
        return outside() if n < 0 else product(x, n, by)

    def edge(x, n):
        if math.isnan(x) or n < 0:
            return NAN
        if math.isinf(x):
            return "skip" if n == 0 else INF if x > 0 or n % 2 == 0 else -INF
        return None

    return f, edge


HALVES = [NAN, 0.0, -INF, INF] + [s * x for x in (TINY, 1e-17, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 30.5, 170.5, 1e5, 1e17) for s in (1, -1)]
COUNTS = [-2, 0, 1, 2, 3, 5, 20, 150]


def bessel(f, lowest=-INF, at_zero=None):
    def edge(n, x):
        if math.isnan(x) or x < lowest:
            return NAN
        if x == 0 and at_zero is not None:
            return at_zero
        return "skip" if math.isinf(x) else None

    return f, edge


BESSEL_AT = [NAN, 0.0, 1e-17, 0.5, -0.5, 1.0, 2.5, -2.5, 10.5, 30.5, 100.25, 700.5]
ORDERS = [0, 1, 2, 3, 10, -1, -2]


def lmgamma(k, x):
    return mpf(k * (k - 1)) / 4 * mp.log(mp.pi) + sum((lgamma(x - mpf(j) / 2) for j in range(k)), mpf(0))


INT_FIRST = {
    "binary_log_loss": (lambda y, p: outside() if not 0 <= p <= 1 else -mp.log(p) if y else -mp.log1p(-p),
                        lambda y, p: NAN if math.isnan(p) else INF if p == 1 - y else None,
                        grid([0, 1], [NAN, -0.5, 0.0, TINY, 1e-17, 0.25, 0.5, 0.75, 1 - 2.0**-53, 1.0, 1.5])),
    # No dimension is a sum of nothing in Stan Math, whatever x is.
    "lmgamma": (lmgamma, lambda k, x: 0.0 if k == 0 else NAN if math.isnan(x) else INF if x == INF else "skip" if x == -INF else None,
                grid([0, 1, 2, 3, 10], [NAN, -INF, INF, -2.25, 0.25, 1e-17, 0.75, 1.0, 1.75, 2.5, 3.7, 30.5, 1e5, 1e17, HUGE])),
    "bessel_first_kind": (*bessel(lambda n, x: mp.besselj(n, x)), grid(ORDERS, BESSEL_AT)),
    "bessel_second_kind": (*bessel(lambda n, x: mp.bessely(n, x), 0.0, -INF), grid([0, 1, 2, 3, 10], BESSEL_AT)),
    "modified_bessel_first_kind": (*bessel(lambda n, x: mp.besseli(n, x)), grid(ORDERS, BESSEL_AT)),
    "modified_bessel_second_kind": (*bessel(lambda n, x: mp.besselk(n, x), 0.0, INF), grid([0, 1, 2, 3, 10], BESSEL_AT)),
}
REAL_INT = {
    "falling_factorial": (*factorial(-1), grid(HALVES, COUNTS)),
    "rising_factorial": (*factorial(1), grid(HALVES, COUNTS)),
    "ldexp": (lambda x, n: x * mpf(2) ** n, lambda x, n: x if not math.isfinite(x) or x == 0 else None,
              grid([NAN, 0.0, INF, -INF, 1.0, -2.5, 1e17, TINY, HUGE], [-2000, -1074, -3, 0, 1, 10, 1000, 2000])),
}
INT_INT = {
    "choose": (lambda n, k: outside() if n < 0 or k < 0 else mp.binomial(n, k) if k <= n else mpf(0),
               grid([-1, 0, 1, 2, 5, 30, 33], [-1, 0, 1, 2, 3, 15, 16, 31])),
    "falling_factorial": (lambda x, n: outside() if n < 0 else product(mpf(x), n, -1), grid([-5, -1, 0, 1, 2, 5, 12], [0, 1, 2, 3, 7])),
    "rising_factorial": (lambda x, n: outside() if n < 0 else product(mpf(x), n, 1), grid([-5, -1, 0, 1, 2, 5], [0, 1, 2, 3, 7])),
    "modulus": (lambda a, b: mpf(int(math.fmod(a, b))), grid([-7, -1, 0, 1, 7, 2147483647], [-3, -1, 1, 3, 10])),
    "divide": (lambda a, b: mpf(int(a / b)), grid([-7, -1, 0, 1, 7, 2147483647], [-3, -1, 1, 3, 10])),
    "add": (lambda a, b: mpf(a + b), grid([-7, 0, 7], [-3, 0, 3])),
    "subtract": (lambda a, b: mpf(a - b), grid([-7, 0, 7], [-3, 0, 3])),
    "multiply": (lambda a, b: mpf(a * b), grid([-7, 0, 7], [-3, 0, 3])),
    "elt_multiply": (lambda a, b: mpf(a * b), grid([-7, 0, 7], [-3, 0, 3])),
    "logical_and": (lambda a, b: mpf(a != 0 and b != 0), grid([-7, 0, 1], [-3, 0, 3])),
    "logical_or": (lambda a, b: mpf(a != 0 or b != 0), grid([-7, 0, 1], [-3, 0, 3])),
}
REALS_TO_INT = {
    "logical_gt": lambda a, b: a > b,
    "logical_gte": lambda a, b: a >= b,
    "logical_lt": lambda a, b: a < b,
    "logical_lte": lambda a, b: a <= b,
    "logical_eq": lambda a, b: a == b,
    "logical_neq": lambda a, b: a != b,
}
FEW = [NAN, 0.0, -INF, INF, HUGE, -HUGE, 1e17, -1e17, 2.5, -2.5, 1.0, -0.5, TINY]


def ieee(f):
    def edge(a, b):
        return None if all(map(math.isfinite, (a, b))) else f(a, b)

    return edge


def quotient(a, b):
    if b == 0:
        return NAN if a == 0 or math.isnan(a) else math.copysign(INF, a)
    return a / b


ARITHMETIC = {
    "add": (lambda a, b: a + b, ieee(lambda a, b: a + b)),
    "subtract": (lambda a, b: a - b, ieee(lambda a, b: a - b)),
    "multiply": (lambda a, b: a * b, ieee(lambda a, b: a * b)),
    "elt_multiply": (lambda a, b: a * b, ieee(lambda a, b: a * b)),
    "divide": (lambda a, b: a / b, lambda a, b: None if all(map(math.isfinite, (a, b))) and b != 0 else quotient(a, b)),
    "elt_divide": (lambda a, b: a / b, lambda a, b: None if all(map(math.isfinite, (a, b))) and b != 0 else quotient(a, b)),
    "lower_bound_constrain": (lambda x, low: mp.exp(x) + low,
                              lambda x, low: x if low == -INF and not math.isnan(x) else None),
    "upper_bound_constrain": (lambda x, up: up - mp.exp(x), lambda x, up: x if up == INF and not math.isnan(x) else None),
    "lower_bound_unconstrain": (where(lambda y, low: y >= low, lambda y, low: mp.log(y - low)),
                                lambda y, low: NAN if isnan(y, low) else y if low == -INF else -INF if y == low else INF if y == INF and low < y else None),
    "upper_bound_unconstrain": (where(lambda y, up: y <= up, lambda y, up: mp.log(up - y)),
                                lambda y, up: NAN if isnan(y, up) else y if up == INF else -INF if y == up else INF if y == -INF and up > y else None),
}


def fixed(edges):
    return lambda *args: edges(*args)


def mixed_sections():
    for name, (f, edge, points) in INT_FIRST.items():
        if chosen(name):
            yield f"{name} int real", [row(f, p, edge=edge, few="bessel" in name) for p in points]
    for name, (f, edge, points) in REAL_INT.items():
        if chosen(name):
            yield f"{name} real int", [row(f, p, edge=edge) for p in points]
    for name, (f, points) in INT_INT.items():
        if chosen(name):
            yield f"{name} int int", [row(f, p) for p in points]
    for name, f in REALS_TO_INT.items():
        if chosen(name):
            yield f"{name} real real", [row(None, p, edge=lambda a, b: float(f(a, b)), smooth=never) for p in grid(FEW[:9], FEW[:9])]
    for name, (f, edge) in ARITHMETIC.items():
        if chosen(name):
            constrain = "bound" in name
            points = grid([NAN, -30.5, -2.5, -1e-17, 0.0, 0.5, 1.0, 30.5, 709.5], [NAN, -INF, INF, -2.5, 0.0, 1.0, 1e17]) if constrain else grid(FEW, FEW)
            if constrain:
                # An infinite limit is none on its own side; on the other there is nothing.
                points = [p for p in points if p[1] != (INF if "lower" in name else -INF)]
            yield f"{name} real real", [row(f, p, edge=edge) for p in points]
    if chosen("logical_negation"):
        yield "logical_negation int", [row(lambda a: mpf(a == 0), (a,)) for a in (-2, -1, 0, 1, 5)]
    for name, f in (("abs", abs), ("minus", lambda a: -a), ("plus", lambda a: a)):
        if chosen(name):
            yield f"{name} int", [row(lambda a: mpf(f(a)), (a,)) for a in (-2147483647, -2, 0, 1, 5)]
    if chosen("int_step"):
        yield "int_step int", [row(lambda a: mpf(a > 0), (a,)) for a in (-2, -1, 0, 1, 5)]


def inc_beta(a, b, x):
    if a <= 0 or b <= 0 or not 0 <= x <= 1:
        outside()
    if x in (0, 1):
        return mpf(x)
    swap = x > (a + 1) / (a + b + 2)
    p, q, y = (b, a, 1 - x) if swap else (a, b, x)
    # x^p (1 - x)^q / (p B) 2F1(p + q, 1; p + 1; x), whose terms are positive.
    term = total = mpf(1)
    k = 0
    while term > total * mpf(10) ** -(mp.dps + 3):
        term *= y * (p + q + k) / (p + 1 + k)
        total += term
        k += 1
        if k > 60000:
            raise mp.NoConvergence
    log = p * mp.log(y) + q * mp.log1p(-y) - mp.log(p) - mp.re(mp.loggamma(p) + mp.loggamma(q) - mp.loggamma(p + q))
    value = mp.exp(log) * total
    return 1 - value if swap else value


def edge_inc_beta(a, b, x):
    if any(map(math.isnan, (a, b, x))) or not (a > 0 and b > 0 and 0 <= x <= 1):
        return NAN
    return "skip" if INF in (a, b) else None


def inv_inc_beta(a, b, p):
    if a <= 0 or b <= 0 or not 0 <= p <= 1:
        outside()
    if p in (0, 1):
        return mpf(p)
    low, high = mpf(-3000), mpf(3000)
    f = lambda u: inc_beta(a, b, 1 / (1 + mp.exp(-u))) - p
    for _ in range(int(mp.dps * 3.4) + 30):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    return 1 / (1 + mp.exp(-low))


def log_mix(t, a, b):
    if not 0 <= t <= 1:
        outside()
    if t == 0 or t == 1:
        return a if t else b
    return log_sum_exp(mp.log(t) + a, mp.log1p(-t) + b)


def edge_log_mix(t, a, b):
    if any(map(math.isnan, (t, a, b))) or not 0 <= t <= 1:
        return NAN
    if math.isinf(a) or math.isinf(b):
        if INF in (a, b) or t in (0, 1):
            return "skip"
        if a == b:
            return -INF
        return number_of(lambda: mp.log(mpf(t)) + a) if b == -INF else number_of(lambda: mp.log1p(-mpf(t)) + b)
    return None


def student_quantile(p, nu, mu, sigma):
    if not (0 < p < 1 and nu > 0 and sigma > 0):
        outside()
    if p == mpf("0.5"):
        return mpf(mu)
    tail = 2 * min(p, 1 - p)
    # t^2 = nu (1 - x) / x with I_x(nu/2, 1/2) = tail; the log odds of x by bisection and secants.
    f = lambda u: mp.log(inc_beta(nu / 2, mpf(0.5), 1 / (1 + mp.exp(-u)))) - mp.log(tail)
    low, high = mpf(-3000), mpf(100)
    for _ in range(int(mp.dps * 3.4) + 30):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    t = mp.sqrt(nu) * mp.exp(-low / 2)
    return mu + sigma * (-t if p < 0.5 else t)


def hypergeometric(name):
    return {"hypergeometric_1F0": lambda a, z: mp.hyp1f0(a, z) if hasattr(mp, "hyp1f0") else mp.power(1 - z, -a),
            "hypergeometric_2F1": lambda a, b, c, z: mp.hyp2f1(a, b, c, z)}[name]


CUBE = [(a, b, x) for a in (1e-8, 0.5, 1.0, 2.5, 300.0) for b in (1e-8, 0.5, 2.5, 1000.0)
        for x in (0.0, TINY, 1e-17, 0.1, 0.5, 0.9, 1 - 2.0**-53, 1.0)]


def ternary_sections():
    if chosen("inc_beta"):
        points = CUBE + [(0.0, 1.0, 0.5), (1.0, -1.0, 0.5), (1.0, 1.0, -0.1), (1.0, 1.0, 1.1), (NAN, 1.0, 0.5), (1.0, 1.0, NAN)]
        # Terms of the series for 1 - 2^-53 with a large second shape are many; the swapped one's are not.
        yield "inc_beta real real real", [row(inc_beta, p, edge=edge_inc_beta, smooth=lambda a, b, x: 0 < x < 1, few=True) for p in points]
    if chosen("inv_inc_beta"):
        points = [(a, b, p) for a in (0.5, 1.0, 2.5, 30.5) for b in (0.5, 1.0, 4.0) for p in (0.0, 1e-17, 0.1, 0.5, 0.9, 1.0)]
        points += [(0.0, 1.0, 0.5), (1.0, 1.0, -0.1), (1.0, 1.0, 1.1)]
        yield "inv_inc_beta real real real", [row(inv_inc_beta, p, smooth=lambda *x: False, few=True) for p in points]
    if chosen("fma"):
        points = [(1e17, 3.0, -3e17), (1 + 2.0**-30, 1 - 2.0**-30, -1.0), (2.5, -0.5, 1.0), (INF, 1.0, 2.5), (0.0, 5.0, TINY), (NAN, 1.0, 1.0), (1.0, 1.0, NAN), (-1e-17, 1e17, 1.0), (TINY, 1e17, 0.0), (3.7, 3.7, -13.69)]
        edge = lambda a, b, c: None if all(map(math.isfinite, (a, b, c))) else a * b + c
        yield "fma real real real", [row(lambda a, b, c: a * b + c, p, edge=edge) for p in points]
    if chosen("log_mix"):
        points = [(t, a, b) for t in (0.0, 1e-17, 0.25, 0.5, 1 - 2.0**-53, 1.0) for a in (-800.25, -1.0, 0.0, 700.5, -INF)
                  for b in (-801.0, -1.0, 0.5, -INF)]
        points += [(-0.1, 0.0, 0.0), (1.1, 0.0, 0.0), (NAN, 0.0, 0.0), (0.5, NAN, 0.0)]
        yield "log_mix real real real", [row(log_mix, p, edge=edge_log_mix, smooth=lambda t, a, b: 0 < t < 1) for p in points]
    limits = [(-INF, INF), (0.0, INF), (-INF, 1.5), (0.0, 1.0), (-2.5, 3.5), (1e8, 1e8 + 1)]
    numbers = [-800.25, -30.5, -2.5, 0.0, 1e-17, 0.5, 30.5, 800.25, NAN]
    if chosen("lower_upper_bound_constrain"):
        def f(x, low, up):
            return low + (up - low) / (1 + mp.exp(-x))

        def edge(x, low, up):
            if math.isnan(x):
                return NAN
            if low == -INF and up == INF:
                return x
            if up == INF:
                return number_of(lambda: low + mp.exp(mpf(x)))
            return number_of(lambda: up - mp.exp(mpf(x))) if low == -INF else None

        yield "lower_upper_bound_constrain real real real", [row(f, (x, *l), edge=edge) for x in numbers for l in limits]
    if chosen("lower_upper_bound_unconstrain"):
        f = lambda y, low, up: mp.log(y - low) - mp.log(up - y)
        points = [(low + (up - low) * u, low, up) for low, up in limits[3:] for u in (2.0**-20, 0.25, 0.5, 1 - 2.0**-20)]
        points += [(2.5, -INF, INF), (2.5, 0.0, INF), (-2.5, -INF, 1.5)]

        def edge(y, low, up):
            if low == -INF and up == INF:
                return y
            if up == INF:
                return number_of(lambda: mp.log(mpf(y) - low))
            return number_of(lambda: mp.log(up - mpf(y))) if low == -INF else None

        yield "lower_upper_bound_unconstrain real real real", [row(f, p, edge=edge) for p in points]
    some = [(x, m, s) for x in (-30.5, 0.0, 1e-17, 2.5, 1e17) for m in (-2.5, 0.0, 1e17) for s in (1e-8, 1.0, 2.5)]
    if chosen("offset_multiplier_constrain"):
        yield "offset_multiplier_constrain real real real", [row(lambda x, m, s: m + s * x, p) for p in some]
    if chosen("offset_multiplier_unconstrain"):
        yield "offset_multiplier_unconstrain real real real", [row(lambda x, m, s: (x - m) / s, p) for p in some]
    if chosen("student_t_qf"):
        points = [(p, nu, m, s) for p in (1e-17, 0.01, 0.3, 0.5, 0.9, 0.999) for nu in (0.5, 1.0, 2.5, 30.5) for m, s in ((0.0, 1.0), (-2.5, 0.1))]
        points += [(-0.1, 1.0, 0.0, 1.0), (1.1, 1.0, 0.0, 1.0), (0.5, 0.0, 0.0, 1.0), (0.3, 1.0, 0.0, -1.0)]
        edge = lambda p, nu, m, s: NAN if not (0 <= p <= 1 and nu > 0 and s > 0) else -INF if p == 0 else INF if p == 1 else None
        yield "student_t_qf real real real real", [row(student_quantile, p, edge=edge, smooth=lambda *x: False, few=True) for p in points]
    if chosen("hypergeometric_1F0"):
        f = lambda a, z: mp.power(1 - z, -a) if abs(z) < 1 else outside()
        points = [(a, z) for a in (-2.5, 0.0, 0.5, 3.0) for z in (-0.9, 0.0, 1e-17, 0.5, 0.999)] + [(1.0, 1.5)]
        yield "hypergeometric_1F0 real real", [row(f, p) for p in points]
    if chosen("hypergeometric_2F1"):
        f = lambda a, b, c, z: mp.hyp2f1(a, b, c, z)
        points = [(a, b, c, z) for a in (0.5, 2.0, -1.5) for b in (1.0, 2.5) for c in (3.0, 1.5) for z in (-0.5, 0.0, 0.3, 0.9)]
        yield "hypergeometric_2F1 real real real real", [row(f, p, smooth=lambda *x: False) for p in points]


CONSTANTS = {"e": math.e, "log10": math.log(10), "log2": math.log(2), "machine_precision": 2.0**-52, "negative_infinity": -INF,
             "not_a_number": NAN, "pi": math.pi, "positive_infinity": INF, "sqrt2": math.sqrt(2)}


def sections():
    for name, value in CONSTANTS.items():
        if chosen(name):
            yield name, [row(None, (), edge=lambda: value)]
    for part in (unary_sections, binary_sections, mixed_sections, ternary_sections):
        for head, rows in part():
            print(head, len(rows), file=sys.stderr, flush=True)
            yield head, [r for r in rows if r is not None and " skip" not in r]


if __name__ == "__main__":
    write(sys.argv[1], sections())
