"""Compares the double-double oracle of the vector tests with mpmath.

    EXMC_ORACLE_DUMP=/tmp/oracle.txt cargo test -p exmc-math --test simd_accuracy written_out
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
        with mp.workprec(1400 if abs(x) < 1e-60 else 420):
            return f(x)
    return run


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
}


def error(line):
    name, x, high, low, e = line.split()
    x = mpf(float(x))
    if x == 0 and name == "reciprocal" or name in ("exp", "expm1") and x > 760 or name in ("exp", "sigmoid", "softplus") and x < -760:
        return name, 0.0, 0.0
    if name == "erfc" and x > 30 or name in ("sigmoid", "tanh", "erf") and abs(x) > 800:
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
