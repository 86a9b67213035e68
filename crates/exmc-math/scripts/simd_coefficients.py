"""Writes the coefficients of the vector functions: polynomials through Chebyshev nodes, fitted at 60 digits with mpmath.

    python3 scripts/simd_coefficients.py elementary > src/simd/coefficients.rs
    python3 scripts/simd_coefficients.py special > src/simd/special_coefficients.rs

Each line of the table prints to stderr the largest error of the fit (before rounding of the coefficients).
"""
import sys

from mpmath import mp, mpf

mp.dps = 60
one = mpf(1)
EULER = mp.euler


def fit(name, doc, f, low, high, n, split=False):
    """n coefficients of x^0.. for f on [low, high]; `split` prints the first one by itself."""
    low, high = mpf(low), mpf(high)
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    matrix = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            matrix[i, j] = x**j
    c = list(mp.lu_solve(matrix, mp.matrix([f(x) for x in nodes])))
    worst = 0
    for k in range(301):
        x = low + (high - low) * (k + mpf(1) / 7) / 302
        worst = max(worst, abs(mp.polyval(c[::-1], x) / f(x) - 1))
    print(f"{name:16} {n:3} terms, relative error of the fit 2^{float(mp.log(worst, 2)):.1f}", file=sys.stderr)
    if split:
        print(f"/// The first coefficient of [`{name}`]'s function.\npub(super) const {name}_FIRST: f64 = {float(c[0])!r};\n")
        c, n = c[1:], n - 1
        doc += " All but the first."
    body = "".join(f"    {float(v)!r},\n" for v in c)
    print(f"/// {doc}\npub(super) const {name}: [f64; {n}] = [\n{body}];\n")


def two(name, doc, value, first_bits=53):
    """A number as a double (or its leading bits) plus a double."""
    e = mp.floor(mp.log(abs(value), 2)) + 1
    high = mp.nint(value / 2 ** (e - first_bits)) * 2 ** (e - first_bits)
    low = value - high
    print(f"/// {doc}\npub(super) const {name}: [f64; 2] = [{float(high)!r}, {float(low)!r}];\n")



def elementary():
    print("//! Coefficients of the vector functions; written by `scripts/simd_coefficients.py elementary`, not by hand.\n")

    r = mp.log(2) / 2 * (1 + mpf(2) ** -20)
    small = mpf(10) ** -20
    fit("EXP", "(e^r - 1 - r) / r^2 for |r| <= log(2)/2.",
        lambda x: (mp.expm1(x) - x) / x**2 if abs(x) > small else one / 2, -r, r, 11)
    s = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * (1 + mpf(2) ** -20)
    wide = mpf(1) / 5 * (1 + mpf(2) ** -20)


    def log_series(z):
        return (2 * mp.atanh(mp.sqrt(z)) - 2 * mp.sqrt(z)) / mp.sqrt(z) ** 3


    fit("LOG", "(2 atanh(s) - 2s) / s^3 as a series in s^2, for m in [sqrt(1/2), sqrt 2] and s = (m-1)/(m+1).",
        log_series, 0, s**2, 7)
    fit("LOG1P", "The same for m in [3/4, 3/2].", log_series, 0, wide**2, 8)
    fit("LOG_FINE", "(2 atanh(s) - 2s - 2s^3/3) / s^5 as a series in s^2, for m in [sqrt(1/2), sqrt 2].",
        lambda z: (log_series(z) - mpf(2) / 3) / z, 0, s**2, 8)
    two("LN_2", "log 2 in two parts, the first of 42 bits so that its products with exponents are exact.", mp.log(2), 42)
    two("TWO_THIRDS", "2/3 in two parts.", mpf(2) / 3)
    two("HALF_LOG_2_PI", "log(2 pi) / 2 in two parts.", mp.log(2 * mp.pi) / 2)

    q = (mp.pi / 4 * (1 + mpf(2) ** -20)) ** 2
    fit("SIN", "(sin r - r) / r^3 as a series in r^2, for |r| <= pi/4.",
        lambda z: (mp.sin(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3, 0, q, 6)
    fit("COS", "(cos r - 1 + r^2/2) / r^4 as a series in r^2.",
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, 0, q, 6)
    half_pi = mp.pi / 2
    p = []
    rest = half_pi
    for _ in range(3):
        p.append(float(rest))
        rest -= mpf(p[-1])
    print("/// pi/2 in three parts.")
    print(f"pub(super) const HALF_PI: [f64; 3] = [std::f64::consts::FRAC_PI_2, {p[1]!r}, {p[2]!r}];\n")

    fit("ERF", "erf(x)/x - 1 as a series in x^2, for |x| <= 1.", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 0, 1, 14)


    def erfc_part(t):
        x = 4 * (1 + t) / (1 - t)
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


    fit("ERFC", "(1 + 2x) e^(x^2) erfc(x) as a series in (x - 4)/(x + 4), for 0 <= x <= 28.", erfc_part, -1, mpf(24) / 32, 23, split=True)

    print("/// digamma(2) = 1 - Euler's constant.")
    print(f"pub(super) const LGAMMA_AT_2: f64 = {float(1 - EULER)!r};\n")
    fit("LGAMMA", "(lgamma(2 + t) - (1 - gamma) t)/t^2 for |t| <= 1/2.",
        lambda t: (mp.loggamma(2 + t) - (1 - EULER) * t) / t**2 if abs(t) > small else (mp.zeta(2) - 1) / 2,
        -one / 2, one / 2, 18)
    fit("STIRLING", "x (lgamma(x) - (x - 1/2) log x + x - log(2 pi)/2) as a series in 1/x^2, for x >= 6.",
        lambda z: (mp.loggamma(1 / mp.sqrt(z)) - (1 / mp.sqrt(z) - one / 2) * mp.log(1 / mp.sqrt(z)) + 1 / mp.sqrt(z)
                   - mp.log(2 * mp.pi) / 2) / mp.sqrt(z), mpf(10) ** -12, one / 36, 9)
    root = mp.findroot(mp.digamma, 1.4616)
    two("DIGAMMA_ROOT", "The positive root of digamma in two parts.", root)
    fit("DIGAMMA", "digamma(x) / (x - root) as a series in x - 3/2, for 1 <= x <= 2.",
        lambda t: mp.digamma(t + 1.5) / (t + 1.5 - root), -one / 2, one / 2, 22)
    fit("DIGAMMA_REST", "x^2 (log x - 1/(2x) - digamma(x)) as a series in 1/x^2, for x >= 6.",
        lambda z: (mp.log(1 / mp.sqrt(z)) - mp.sqrt(z) / 2 - mp.digamma(1 / mp.sqrt(z))) / z, mpf(10) ** -12, one / 36, 9)

    fit("SINH", "(sinh x - x) / x^3 as a series in x^2, for |x| <= 1.",
        lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, mpf(10) ** -12, one, 8)
    fit("ATAN", "(atan t - t) / t^3 as a series in t^2, for |t| <= tan(pi/8).",
        lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, mpf(10) ** -12, mp.tan(mp.pi / 8) ** 2 * (1 + mpf(2) ** -20), 12)
    fit("ASIN", "(asin x - x) / x^3 as a series in x^2, for |x| <= 1/2.",
        lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, mpf(10) ** -12, one / 4, 15)


def special():
    print("//! Coefficients of trigamma, the normal and the Bessel functions; written by `scripts/simd_coefficients.py special`.\n")

    def of_reciprocal(f):
        """A function of w = 1/x as one of t = (x - 2)/(x + 2)."""
        return lambda t: f((1 - t) / (2 * (1 + t)))

    third, near_one = -one / 3, 1 - mpf(10) ** -8
    fit("TRIGAMMA", "(trigamma(x) - w - w^2/2) / w^3 with w = 1/x as a series in (x - 2)/(x + 2), for x >= 1.",
        of_reciprocal(lambda w: (mp.psi(1, 1 / w) - w - w * w / 2) / w**3), third, near_one, 21)
    fit("TETRAGAMMA", "(-tetragamma(x) - w^2 - w^3) / w^4, likewise.",
        of_reciprocal(lambda w: (-mp.psi(2, 1 / w) - w**2 - w**3) / w**4), third, near_one, 22)

    def mills(t):
        a = 5 * (1 + t) / (1 - t)
        return (1 + 2 * a) * mp.exp(a * a / 2) * mp.erfc(a / mp.sqrt(2)) / 2

    fit("MILLS", "(1 + 2a) e^(a^2/2) Phi(-a) as a series in (a - 5)/(a + 5), for a >= 0.", mills, -1, 1 - mpf(10) ** -5, 27, split=True)

    fit("NORMAL", "(Phi(x) - 1/2) / x as a series in x^2, for |x| <= 3/4.",
        lambda z: mp.erf(mp.sqrt(z / 2)) / mp.sqrt(z) / 2, mpf(10) ** -12, mpf(9) / 16, 10)
    mp.dps = 100
    two("ROOT_2_PI", "The square root of 2 pi in two parts.", mp.sqrt(2 * mp.pi))
    quantile()
    fit("BESSEL_0", "(I0(x) - 1) / x^2 as a series in x^2, for |x| <= 8.",
        lambda z: (mp.besseli(0, mp.sqrt(z)) - 1) / z, mpf(10) ** -12, 64, 16)
    fit("BESSEL_1", "I1(x) / x, likewise.", lambda z: mp.besseli(1, mp.sqrt(z)) / mp.sqrt(z), mpf(10) ** -12, 64, 16)

    def beyond_eight(f):
        """A function of w = 1/x as one of t = 16 w - 1."""
        return lambda t: f((t + 1) / 16)

    start = -1 + mpf(10) ** -5
    fit("BESSEL_LOG", "x log(sqrt(2 pi x) e^-x I0(x)) as a series in 16/x - 1, for x >= 8.",
        beyond_eight(lambda w: mp.log(mp.besseli(0, 1 / w) * mp.exp(-1 / w) * mp.sqrt(2 * mp.pi / w)) / w), start, 1, 26)
    def ratio(w):
        return (1 - mp.besseli(1, 1 / w) / mp.besseli(0, 1 / w)) / w

    fit("BESSEL_RATIO", "x (1 - I1(x)/I0(x)), likewise.", beyond_eight(ratio), start, 1, 26)
    fit("BESSEL_RATIO_NEAR", "The same as a series in 16/x - 3, for 4 <= x <= 8.",
        lambda t: ratio((t + 3) / 16), -1, 1, 20)


def rational(name, doc, f, low, high, n):
    """n coefficients above and below, the first below being one, for f on [low, high]."""
    count = 2 * n - 1
    low, high = mpf(low), mpf(high)
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    matrix, values = mp.matrix(count, count), [f(x) for x in nodes]
    for i, (x, y) in enumerate(zip(nodes, values)):
        for j in range(n):
            matrix[i, j] = x**j
        for j in range(1, n):
            matrix[i, n - 1 + j] = -y * x**j
    c = list(mp.lu_solve(matrix, mp.matrix(values)))
    above, below = c[:n], [mpf(1), *c[n:]]
    worst = 0
    for k in range(101):
        x = low + (high - low) * (k + mpf(1) / 7) / 102
        worst = max(worst, abs(mp.polyval(above[::-1], x) / mp.polyval(below[::-1], x) / f(x) - 1))
    print(f"{name:16} {n:3} over {n}, relative error of the fit 2^{float(mp.log(worst, 2)):.1f}", file=sys.stderr)
    rows = ["".join(f"        {float(v)!r},\n" for v in part) for part in (above, below)]
    print(f"/// {doc} Numerator, denominator.\npub(super) const {name}: [[f64; {n}]; 2] = [\n    [\n{rows[0]}    ],\n    [\n{rows[1]}    ],\n];\n")


def normal_quantile(p):
    """Newton's iteration on the logarithm of a tail probability."""
    x = -mp.sqrt(-2 * mp.log(p)) if p < 0.1 else mpf(0)
    while True:
        tail = mp.erfc(-x / mp.sqrt(2)) / 2
        step = mp.log(tail / p) * tail * mp.exp(x * x / 2) * mp.sqrt(2 * mp.pi)
        x -= step
        if abs(step) < mpf(10) ** -50:
            return x


def quantile():
    def tail(low, part=0):
        return lambda r: -normal_quantile(mp.exp(-((r + mpf(low)) ** 2))) - part * (r + mpf(low))

    widest = mpf("0.425") ** 2

    def centre(rest):
        z = widest - rest
        return (-normal_quantile(one / 2 - mp.sqrt(z)) / mp.sqrt(z) - mp.sqrt(2 * mp.pi)) / z

    # In this variable all coefficients are positive (Wichura 1988), so that nothing cancels.
    rational("QUANTILE_CENTRE", "(x/q - sqrt(2 pi)) / q^2 for the standard normal quantile x of 1/2 + q as a function of 0.180625 - q^2, for |q| <= 0.425.",
             centre, 0, widest - mpf(10) ** -12, 9)
    text = "Minus the quantile of e^(-r^2) as a function of"
    rational("QUANTILE_NEAR", f"{text} r - 1.5, for 1.5 <= r <= 4.", tail(1.5), 0, 2.5, 9)
    rational("QUANTILE_FAR", f"{text} r - 4, less 5/4 r, for 4 <= r <= 10.", tail(4, mpf(5) / 4), 0, 6, 8)
    rational("QUANTILE_END", f"{text} r - 10, less 5/4 r, for 10 <= r <= 27.5.", tail(10, mpf(5) / 4), 0, 17.5, 8)


{"elementary": elementary, "special": special}[sys.argv[1]]()
