"""Writes the reference tables of tests/special_tables.rs: arguments and 50-digit mpmath values, one CSV per function.

Arguments are exact (shortest decimal that reads back as the same double), values have 22 digits.
The incomplete functions come from their positive power series summed with 420 digits, so that the
complements and the numerical derivatives keep 50 good digits down to 1e-300.
Run: python generate.py [name ...] in this folder. Needs mpmath. All tables take a few minutes.
"""
import random
import sys
from functools import lru_cache

from mpmath import mp, mpf

mp.dps = 50
rng = random.Random(20240917)


def logspace(low, high, n):
    import math
    return [round_(10 ** rng.uniform(math.log10(low), math.log10(high))) for _ in range(n)]


def uniform(low, high, n):
    return [round_(rng.uniform(low, high)) for _ in range(n)]


def round_(x):
    """A double with at most 7 significant digits where that is shorter; keeps the tables small."""
    return float(f"{x:.6e}")


def single(*groups):
    return [(x,) for group in groups for x in group]


# ---- incomplete gamma and beta -------------------------------------------------------------------

def with_digits(digits):
    def wrap(f):
        def g(*args):
            with mp.workdps(digits):
                return f(*args)
        return g
    return wrap


@with_digits(420)
def gamma_p(a, x):
    a, x = mpf(a), mpf(x)
    term = total = mpf(1)
    n, tiny = 0, mpf(10) ** -425
    while term > total * tiny or n < x - a:
        n += 1
        term = term * x / (a + n)
        total += term
    return total * mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))


@with_digits(420)
def gamma_q(a, x):
    return 1 - gamma_p(a, x)


@with_digits(420)
def beta_series(a, b, x, y):
    term = total = mpf(1)
    n, tiny = 0, mpf(10) ** -425
    while True:
        ratio = (a + b + n) / (a + 1 + n) * x
        term *= ratio
        total += term
        n += 1
        if ratio < 1 and term < total * tiny * (1 - x):
            break
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    return total * mp.exp(a * mp.log(x) + b * mp.log(y) - log_beta) / a


@with_digits(420)
def beta_inc(a, b, x):
    a, b, x = mpf(a), mpf(b), mpf(x)
    return beta_series(a, b, x, 1 - x) if x <= 0.6 else 1 - beta_series(b, a, 1 - x, x)


@with_digits(420)
def beta_inc_upper(a, b, x):
    return 1 - beta_inc(a, b, x)


def slope(f, index):
    """Derivative by the argument `index`: central difference with a step of 1e-60 at 420 digits."""
    @with_digits(420)
    def g(*args):
        args = [mpf(v) for v in args]
        h = args[index] * mpf(10) ** -60
        up, down = list(args), list(args)
        up[index] += h
        down[index] -= h
        return (f(*up) - f(*down)) / (2 * h)
    return g


@with_digits(420)
def log_of(value):
    return mp.log(value)


@lru_cache(None)
def gamma_points():
    rng.seed("gamma points")
    points = []
    for a in [1e-6, 0.01, 0.5, 1.0, 1.5, 5.0, 30.0, 200.0, 1000.0, 5000.0] + logspace(1e-3, 5000, 60):
        sd = a ** 0.5
        for z in [-30, -12, -4, -1, -0.01, 0, 0.3, 2, 6, 20, 35]:
            x = round_(a + z * sd)
            if x > 0 and rng.random() < 0.6:
                points.append((a, x))
        if a < 20:
            points += [(a, x) for x in logspace(1e-8, 1, 2) + [1.05, 1.2, round_(a * 1.001)]]
    keep = []
    for a, x in points:
        p = gamma_p(a, x)
        if p > mpf(10) ** -300 and 1 - p > mpf(10) ** -300:
            keep.append((a, x))
    return keep


@lru_cache(None)
def beta_points():
    rng.seed("beta points")
    shapes = [(1e-6, 1e-6), (0.5, 0.5), (0.01, 5.0), (5.0, 0.01), (1.0, 1.0), (2.0, 0.5), (0.5, 5000.0),
              (5000.0, 0.5), (5000.0, 5000.0), (1000.0, 3.0), (5000.0, 1.2), (1.3, 4000.0), (20.0, 30.0)]
    shapes += list(zip(logspace(1e-2, 5000, 60), logspace(1e-2, 5000, 60)))
    keep = []
    for a, b in shapes:
        mean, sd = a / (a + b), (a * b / (a + b) ** 2 / (a + b + 1)) ** 0.5
        xs = [mean, 0.5, 0.69, 0.71, 0.9, 0.999]
        xs += [mean + z * sd for z in [-25, -8, -3, -0.7, 0.01, 1, 4, 12, 30]] + [mean * 0.01, mean * 0.5]
        for x in xs:
            x = round_(x)
            if 0 < x < 1 and rng.random() < 0.5:
                p = beta_inc(a, b, x)
                if p > mpf(10) ** -300 and 1 - p > mpf(10) ** -300:
                    keep.append((a, b, x))
    return keep


LARGE_GAMMA = [(1.1e5, 1.1e5 - 300), (2e5, 2.01e5), (3e5, 2.2e5), (1e6, 1e6), (1e6, 1e6 + 1e-3), (1e6, 1.004e6), (3e7, 3e7 - 2e5)]
LARGE_BETA = [(1e9, 0.5, 1 - 1e-10), (3e9, 2.5, 1 - 2 ** -30), (7.0, 1e10, 1e-9), (0.03, 2e9, 1e-12)]


def thin(points, n):
    return points if len(points) <= n else random.Random(7).sample(points, n)


# ---- normal family -------------------------------------------------------------------------------

def erfcx(x):
    if x > 1e10:  # two terms of the asymptotic series leave 1e-40
        return (1 - 1 / (2 * mpf(x) ** 2)) / (mpf(x) * mp.sqrt(mp.pi))
    with mp.workdps(80):
        return mp.exp(mpf(x) ** 2) * mp.erfc(x)


def log_cdf(x):
    with mp.workdps(80):
        return mp.log(mp.erfc(-mpf(x) / mp.sqrt(2)) / 2) if x < 0 else mp.log1p(-mp.erfc(mpf(x) / mp.sqrt(2)) / 2)


def mills(x):
    with mp.workdps(80):
        return mp.exp(-mpf(x) ** 2 / 2 - log_cdf(x)) / mp.sqrt(2 * mp.pi)


def quantile_of_log(lp):
    with mp.workdps(100):
        lp = mpf(lp)
        if lp > -30:
            return mp.sqrt(2) * mp.erfinv(2 * mp.exp(lp) - 1)
        x = -mp.sqrt(-2 * lp - mp.log(-2 * lp * 2 * mp.pi))
        for _ in range(60):
            step = (log_cdf_any(x) - lp) / mp.exp(-x * x / 2 - log_cdf_any(x)) * mp.sqrt(2 * mp.pi)
            x -= step
            if abs(step) < mpf(10) ** -50 * (1 + abs(x)):
                return x
    raise ValueError(lp)


def log_cdf_any(x):
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def quantile(p):
    with mp.workdps(100):
        return quantile_of_log(mp.log(mpf(p)))


def owens_t(h, a):
    h, a = mpf(h), mpf(a)
    width = min(a, 20 / h) if h > 0 else a
    pieces = [width * k / 16 for k in range(17)]
    # The height's own factor stays outside: mp.quad stops at an absolute error.
    return mp.exp(-h * h / 2) * mp.quad(lambda t: mp.exp(-h * h * t * t / 2) / (1 + t * t), pieces) / (2 * mp.pi)


def student_t_cdf(t, nu):
    with mp.workdps(420):
        t, nu = mpf(t), mpf(nu)
        x, y = nu / (nu + t * t), t * t / (nu + t * t)
        a, b = nu / 2, mpf(1) / 2
        tail = (beta_series(a, b, x, y) if x < 0.6 else 1 - beta_series(b, a, y, x)) / 2
        return tail if t < 0 else 1 - tail


# ---- the tables ----------------------------------------------------------------------------------

SIGNED = uniform(-3, 3, 60) + [-x for x in logspace(1e-12, 1, 20)] + logspace(1e-12, 1, 20)


def elementary_points(name):
    positive = logspace(1e-300, 1e300, 60) + uniform(0.5, 2, 60)
    wide = SIGNED + uniform(-700, 700, 60)
    unit = uniform(-1, 1, 100) + [-x for x in logspace(1e-12, 1, 20)] + logspace(1e-12, 1, 20)
    angle = SIGNED + uniform(-1e3, 1e3, 40) + logspace(1e3, 1e15, 20)
    groups = {"exp": wide, "expm1": wide, "exp2": wide, "log": positive, "log2": positive, "log10": positive,
              "log1p": logspace(1e-15, 1e300, 60) + uniform(-0.99, 2, 60), "sin": angle, "cos": angle, "tan": angle,
              "asin": unit, "acos": unit, "atan": SIGNED + positive, "sinh": wide, "cosh": wide,
              "tanh": SIGNED + uniform(-30, 30, 30), "asinh": SIGNED + positive,
              "acosh": uniform(1, 3, 60) + logspace(1.0001, 1e300, 60), "atanh": unit,
              "cbrt": SIGNED + positive}
    return single(groups[name])


ELEMENTARY = {"exp2": lambda x: mpf(2) ** mpf(x), "log2": lambda x: mp.log(x) / mp.log(2), "log10": mp.log10,
              "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(mpf(x)))}


def lbeta(a, b):
    return mp.loggamma(mpf(a)) + mp.loggamma(mpf(b)) - mp.loggamma(mpf(a) + mpf(b))


def lchoose(n, k):
    n, k = mpf(n), mpf(k)
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


GAMMA_X = [logspace(1e-6, 1e6, 300), uniform(0.5, 3, 150), [1 + 1e-9, 1 - 1e-9, 2 + 1e-9, 2 - 1e-9, 10.0, 9.99]]


def tables():
    yield from ((f"elementary/{n}", ELEMENTARY.get(n, getattr(mp, n, None)), lambda n=n: elementary_points(n)) for n in [
        "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
        "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt"])
    yield "elementary/pow", lambda x, y: mpf(x) ** mpf(y), lambda: list(zip(logspace(1e-5, 1e5, 150), uniform(-50, 50, 150)))
    yield "elementary/atan2", mp.atan2, lambda: list(zip(uniform(-5, 5, 100), uniform(-5, 5, 100)))
    yield "elementary/hypot", mp.hypot, lambda: list(zip(logspace(1e-200, 1e200, 60), logspace(1e-200, 1e200, 60))) + list(zip(uniform(-5, 5, 60), uniform(-5, 5, 60)))
    yield "inv_logit", lambda x: 1 / (1 + mp.exp(-mpf(x))), lambda: single(SIGNED, uniform(-700, 40, 120))
    yield "logit", lambda p: mp.log(mpf(p)) - mp.log(1 - mpf(p)), lambda: single(logspace(1e-300, 1, 60), uniform(0, 1, 100), [0.5 + x for x in (1e-9, -1e-5, 0.01, -1e-15)])
    yield "softplus", lambda x: mp.log1p(mp.exp(mpf(x))), lambda: single(SIGNED, uniform(-700, 700, 120), [-40.0, 800.0])
    yield "softplus_inverse", lambda y: mp.log(mp.expm1(mpf(y))), lambda: single(logspace(1e-300, 1e3, 100), uniform(0.4, 1.1, 60), [0.69314718, 0.6931471805599453])
    yield "log1m_exp", lambda x: mp.log(-mp.expm1(mpf(x))), lambda: single([-x for x in logspace(1e-300, 700, 60)], uniform(-40, 0, 60), uniform(-2, 0, 60))
    yield "lgamma", lambda x: mp.loggamma(mpf(x)), lambda: single(*GAMMA_X)
    yield "lgamma1p", with_digits(400)(lambda x: mp.loggamma(1 + mpf(x))), lambda: single(logspace(1e-300, 1e6, 100), [-x for x in logspace(1e-18, 1, 100)], uniform(-0.9, 2, 100))
    yield "lbeta", lbeta, lambda: list(zip(logspace(1e-6, 1e12, 300), logspace(1e-6, 1e12, 300))) + list(zip(uniform(0.1, 30, 100), uniform(0.1, 30, 100)))
    yield "lchoose", lchoose, lambda: [(float(n), float(int(n * rng.random()) or 1)) for n in (int(x) + 2 for x in logspace(1, 1e9, 200))]
    yield "digamma", lambda x: mp.digamma(mpf(x)), lambda: single(*GAMMA_X, uniform(1.4, 1.5, 50), [1.4616321449683622, 1.46163])
    yield "digamma_negative", lambda x: mp.digamma(mpf(x)), lambda: single(uniform(-20, 0, 150))
    yield "digamma_rise", with_digits(400)(lambda x, h: mp.digamma(mpf(x) + mpf(h)) - mp.digamma(mpf(x))), lambda: list(zip(logspace(1e-6, 1e12, 200), logspace(1e-14, 1e8, 200))) + list(zip(uniform(0.1, 30, 100), uniform(0.01, 30, 100))) + [(1e17, 1e5), (1e160, 3.0), (3.0, 1e160), (1e-300, 2e-300), (1e-300, 1e-310)]
    yield "trigamma", lambda x: mp.polygamma(1, mpf(x)), lambda: single(*GAMMA_X, uniform(-20, 0, 100))
    yield "polygamma", lambda n, x: mp.polygamma(int(n), mpf(x)), lambda: [(float(rng.randint(2, 8)), x) for x in logspace(1e-6, 1e6, 200)]
    yield "erf", lambda x: mp.erf(mpf(x)), lambda: single(uniform(-6, 6, 150), logspace(1e-300, 1, 50))
    yield "erfc", lambda x: mp.erfc(mpf(x)), lambda: single(uniform(-6, 26, 400), [0.84375, 1.25, 1 / 0.35])
    yield "erfcx", erfcx, lambda: single(uniform(-26, 30, 300), logspace(1, 1e300, 40))
    yield "std_normal_cdf", lambda x: mp.ncdf(mpf(x)), lambda: single(uniform(-37, 8, 400), SIGNED)
    yield "log_std_normal_cdf", log_cdf, lambda: single(uniform(-40, 8, 300), [-x for x in logspace(1, 1e6, 60)], uniform(8, 37, 40), [-10.0, -40.0])
    yield "inverse_mills", mills, lambda: single(uniform(-40, 37, 300), [-x for x in logspace(1, 1e6, 30)])
    yield "std_normal_quantile", quantile, lambda: single(logspace(1e-300, 1e-3, 100), uniform(0, 1, 150), [0.5 + 1e-10, 0.5 - 1e-6, 1 - 1e-10, 0.075, 0.925])
    yield "std_normal_quantile_log", quantile_of_log, lambda: single([-x for x in logspace(1e-15, 1e8, 150)])
    yield "gamma_p", gamma_p, lambda: thin(gamma_points(), 600) + LARGE_GAMMA
    yield "gamma_q", gamma_q, lambda: thin(gamma_points(), 600) + LARGE_GAMMA
    yield "log_gamma_p", lambda a, x: log_of(gamma_p(a, x)), lambda: thin(gamma_points(), 150) + LARGE_GAMMA + [(50.0, 1e-5), (1e3, 1.0), (0.3, 1e-200)]
    yield "log_gamma_q", lambda a, x: log_of(gamma_q(a, x)), lambda: thin(gamma_points(), 150) + LARGE_GAMMA
    yield "gamma_p_da", slope(gamma_p, 0), lambda: thin(gamma_points(), 250) + LARGE_GAMMA
    yield "log_gamma_p_da", slope(lambda a, x: log_of(gamma_p(a, x)), 0), lambda: thin(gamma_points(), 100) + LARGE_GAMMA + [(50.0, 1e-8), (3e3, 1.0), (0.3, 1e-200)]
    yield "log_gamma_q_da", slope(lambda a, x: log_of(gamma_q(a, x)), 0), lambda: thin(gamma_points(), 100) + LARGE_GAMMA
    yield "beta_inc", beta_inc, lambda: thin(beta_points(), 600) + LARGE_BETA
    yield "beta_inc_upper", beta_inc_upper, lambda: thin(beta_points(), 600) + LARGE_BETA
    yield "log_beta_inc", lambda a, b, x: log_of(beta_inc(a, b, x)), lambda: thin(beta_points(), 150) + LARGE_BETA
    yield "log_beta_inc_upper", lambda a, b, x: log_of(beta_inc_upper(a, b, x)), lambda: thin(beta_points(), 150) + LARGE_BETA
    yield "beta_inc_da", slope(beta_inc, 0), lambda: thin(beta_points(), 200) + LARGE_BETA
    yield "beta_inc_db", slope(beta_inc, 1), lambda: thin(beta_points(), 200) + LARGE_BETA
    yield "student_t_cdf", student_t_cdf, lambda: [(t, nu) for t, nu in zip(uniform(-8, 4, 100), logspace(0.3, 1e3, 100))] + list(zip([-x for x in logspace(1e-6, 1e4, 60)], uniform(1, 30, 60)))
    yield "log_bessel_i0", lambda x: mp.log(mp.besseli(0, mpf(x))), lambda: single(logspace(1e-6, 1e6, 150), uniform(0, 40, 60))
    yield "log_bessel_i1", lambda x: mp.log(mp.besseli(1, mpf(x))), lambda: single(logspace(1e-6, 1e6, 150), uniform(0.1, 40, 60))
    yield "bessel_i1_i0_ratio", lambda x: mp.besseli(1, mpf(x)) / mp.besseli(0, mpf(x)), lambda: single(logspace(1e-6, 1e6, 150), uniform(0, 40, 60))
    yield "owens_t", owens_t, lambda: list(zip(uniform(0, 10, 120), logspace(1e-4, 1e2, 120))) + list(zip(uniform(0, 35, 60), uniform(0.01, 2, 60)))


# ---- inverses: the quantile of the rounded probability, by one Newton step from the x that made it ----

@with_digits(420)
def gamma_quantile(a, x, p):
    """The quantile of `p`, a double next to P(a, x)."""
    a, x = mpf(a), mpf(x)
    density = mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))
    return x + (mpf(p) - gamma_p(a, x)) / density


@with_digits(420)
def beta_quantile(a, b, x, p):
    a, b, x = mpf(a), mpf(b), mpf(x)
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    density = mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x) - log_beta)
    return x + (mpf(p) - beta_inc(a, b, x)) / density


@with_digits(420)
def student_t_quantile(nu, t, p):
    nu, t = mpf(nu), mpf(t)
    density = mp.exp(mp.loggamma((nu + 1) / 2) - mp.loggamma(nu / 2)) / mp.sqrt(nu * mp.pi) * (1 + t * t / nu) ** (-(nu + 1) / 2)
    return t + (mpf(p) - student_t_cdf(t, nu)) / density


def inverse_points(f, points):
    """Points whose probability is a double below 0.999, so that rounding it moves the quantile little."""
    rows = [(*args, float(f(*args))) for args in points]
    return [row for row in rows if 1e-300 < row[-1] < 0.999]


def inverse_tables():
    yield "gamma_p_inverse", gamma_quantile, lambda: inverse_points(gamma_p, thin(gamma_points(), 250))
    yield "beta_inc_inverse", beta_quantile, lambda: inverse_points(beta_inc, [v for v in thin(beta_points(), 250) if v[0] > 0.005 and v[1] > 0.005])
    yield "student_t_quantile", student_t_quantile, lambda: inverse_points(lambda nu, t: student_t_cdf(t, nu), [(nu, t) for t, nu in zip(uniform(-8, 3, 120), logspace(0.5, 1e3, 120))])


def main():
    wanted = set(sys.argv[1:])
    for name, f, points in [*tables(), *inverse_tables()]:
        rng.seed(name)
        if wanted and name not in wanted:
            continue
        rows = []
        for args in points():
            value = f(*args)
            if value == 0 or not mpf(10) ** -307 < abs(value) < mpf(10) ** 308:
                continue
            rows.append(",".join([repr(a) for a in args] + [mp.nstr(mpf(value), 22, min_fixed=0, max_fixed=0)]))
        with open(name.replace("/", "_") + ".csv", "w") as out:
            out.write(f"# {name.split('/')[-1]}: arguments, value (mpmath, generate.py)\n" + "\n".join(rows) + "\n")
        print(name, len(rows))


if __name__ == "__main__":
    main()
