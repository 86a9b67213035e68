"""Compares the double-double oracle of the vector tests with mpmath.

    EXMC_ORACLE_DUMP=/tmp/oracle.txt cargo test -p exmc-math --test all simd_accuracy::written_out
    python3 scripts/check_simd_oracle.py /tmp/oracle.txt

Prints, for each function, the oracle's largest error in units of the last place of an f64 (that is
how much it can change a measured error) and where. Values past overflow or underflow are stand-ins, not compared.
"""
import sys
from concurrent.futures import ProcessPoolExecutor

from mpmath import mp, mpf

mp.prec = 300


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def wide(f):
    """For functions that mpmath computes by cancellation: more bits."""
    def run(x):
        with mp.workprec(1400 if abs(x) < 1e-40 else 420):
            return f(x)
    return run


def normal_quantile(p):
    """Newton's iteration on the logarithm of the smaller tail, or on Phi - 1/2 about the middle."""
    tail = min(p, 1 - p)
    x = mp.sqrt(-2 * mp.log(tail)) if tail < 0.1 else mpf(0)
    for _ in range(200):
        upper = mp.erfc(x / mp.sqrt(2)) / 2
        step = mp.log(upper / tail) * upper * mp.exp(x * x / 2) * mp.sqrt(2 * mp.pi)
        x += step
        if abs(step) < abs(x) * mpf(2) ** -150:
            break
    return x if p > 0.5 else -x


def log_bessel_i0(x):
    x = abs(x)
    if x > 1e6:
        return x - mp.log(2 * mp.pi * x) / 2 + mp.log1p(1 / (8 * x) + 9 / (128 * x**2) + 225 / (3072 * x**3) + 11025 / (98304 * x**4))
    return mp.log1p(mp.besseli(0, x) - 1)


FUNCTIONS = {
    "exp": mp.exp,
    "expm1": wide(mp.expm1),
    "tanh": mp.tanh,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "softplus": softplus,
    "log": mp.log,
    "log1p": wide(mp.log1p),
    "sqrt": mp.sqrt,
    "reciprocal": lambda x: 1 / x,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "lgamma": wide(mp.loggamma),
    "digamma": wide(mp.digamma),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": wide(mp.asin),
    "acos": wide(mp.acos),
    "atan": wide(mp.atan),
    "sinh": wide(mp.sinh),
    "cosh": mp.cosh,
    "log1m_exp": wide(lambda x: mp.log(-mp.expm1(x)) if x > -1 else mp.log1p(-mp.exp(x))),
    "trigamma": wide(lambda x: mp.psi(1, x)),
    "tetragamma": wide(lambda x: mp.psi(2, x)),
    "log_std_normal_cdf": lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) if x < 0 else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2),
    "std_normal_quantile": normal_quantile,
    "log_bessel_i0": wide(log_bessel_i0),
    "bessel_i1_i0_ratio": wide(lambda x: mp.besseli(1, x) / mp.besseli(0, x)),
}


def log_add_exp(a, b):
    return max(a, b) + mp.log1p(mp.exp(-abs(a - b)))


def log_beta(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


# With the size below which errors count in units of that size, as in the tests.
PAIRS = {
    "pow": (mp.power, lambda x, y: 0),
    "atan2": (mp.atan2, lambda y, x: 0),
    "log_add_exp": (log_add_exp, lambda a, b: max(abs(max(a, b)), mpf(1) / 2)),
    "log_diff_exp": (lambda a, b: a + mp.log(-mp.expm1(b - a)) if b - a > -1 else a + mp.log1p(-mp.exp(b - a)), lambda a, b: max(abs(a), 1)),
    "lbeta": (log_beta, lambda a, b: 1),
}


def pair_error(line):
    name, x, y, high, low, e = line.split()
    x, y = mpf(float(x)), mpf(float(y))
    if abs(int(e)) == 2000 or abs(x - y) > 1e5 and name.startswith("log"):
        return name, 0.0, (float(x), float(y))
    function, scale = PAIRS[name]
    with mp.workprec(1500):
        exact = function(x, y)
        got = (mpf(float(high)) + mpf(float(low))) * mpf(2) ** int(e)
        size = max(abs(exact), scale(x, y))
        unit = mpf(2) ** max(mp.floor(mp.log(size, 2)) - 52, -1074)
        return name, float(abs(got - exact) / unit), (float(x), float(y))


def error(line):
    if line.split()[0] in PAIRS:
        return pair_error(line)
    name, x, high, low, e = line.split()
    x = mpf(float(x))
    if x == 0 and name == "reciprocal" or name in ("exp", "expm1") and x > 760 or name in ("exp", "sigmoid", "softplus") and x < -760:
        return name, 0.0, 0.0
    if name == "erfc" and x > 30 or name in ("sigmoid", "tanh", "erf") and abs(x) > 800:
        return name, 0.0, float(x)
    if name in ("sinh", "cosh") and abs(x) > 760 or name == "log1m_exp" and x < -760 or name == "log_std_normal_cdf" and not -1e6 < x < 38:
        return name, 0.0, float(x)
    if name == "bessel_i1_i0_ratio" and abs(x) > 1e5:
        return name, 0.0, float(x)
    exact = FUNCTIONS[name](x)
    got = (mpf(float(high)) + mpf(float(low))) * mpf(2) ** int(e)
    if exact == 0:
        return name, float(abs(got) / mpf(2) ** -1074), float(x)
    unit = mpf(2) ** max(mp.floor(mp.log(abs(exact), 2)) - 52, -1074)
    return name, float(abs(got - exact) / unit), float(x)


def main():
    worst = {}
    with ProcessPoolExecutor() as pool:
        for name, ulps, x in pool.map(error, open(sys.argv[1]), chunksize=500):
            count, old, at = worst.get(name, (0, 0.0, None))
            worst[name] = (count + 1, *((ulps, x) if ulps > old else (old, at)))
    for name, (count, ulps, x) in worst.items():
        print(f"{name:12} {count:6} points, largest error {ulps:.1e} ulp at {x!r}")


main()
