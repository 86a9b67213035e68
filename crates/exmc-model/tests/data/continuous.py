"""Writes continuous.csv, log densities and log distribution functions of univariate families, and
continuous_examples.csv, ordinary arguments of each.

Needs mpmath only. Every formula is the textbook one with enough digits that it does not matter how it
cancels; outcomes and parameters are doubles and taken exactly. Run: python continuous.py (half a minute).

Columns: family, quantity (lpdf, lcdf, lccdf), outcome, parameters (separated by `|`), value, terms
(size of the largest term that a log density is a sum of, which its rounding is relative to).
"""

import pathlib

from mpmath import (
    atan, besseli, beta, betainc, cos, erf, erfc, exp, expm1, gammainc, inf, log, log1p, loggamma, mp, mpf, pi,
    quad, sqrt,
)

mp.dps = 60
HALF = mpf(1) / 2


def text(x):
    x = float(x)
    return repr(x) if abs(x) != float("inf") else ("inf" if x > 0 else "-inf")


def phi(x):
    return erfc(-x / sqrt(mpf(2))) / 2 if abs(x) < inf else mpf(x > 0)


def total(*terms):
    """A log density with the size of its largest term."""
    return sum(terms), max(abs(t) for t in terms)


LOG_SQRT_2PI = log(2 * pi) / 2


class Normal:
    def z(self, y, mu, sigma):
        return (y - mu) / sigma

    def lpdf(self, y, mu, sigma):
        return total(-self.z(y, mu, sigma) ** 2 / 2, -log(sigma), -LOG_SQRT_2PI)

    def cdf(self, y, *args):
        return phi(self.z(y, *args))

    def sf(self, y, *args):
        return phi(-self.z(y, *args))


class StdNormal(Normal):
    def lpdf(self, y):
        return Normal.lpdf(self, y, mpf(0), mpf(1))

    def z(self, y, mu=0, sigma=1):
        return (y - mu) / sigma


class HalfNormal:
    def lpdf(self, y, sigma):
        return total(-((y / sigma) ** 2) / 2, -log(sigma), log(sqrt(2 / pi)))

    def cdf(self, y, sigma):
        return erf(y / sigma / sqrt(mpf(2)))

    def sf(self, y, sigma):
        return erfc(y / sigma / sqrt(mpf(2)))


class StudentT:
    def lpdf(self, y, nu, mu, sigma):
        z = (y - mu) / sigma
        kernel = -(nu + 1) / 2 * log1p(z * z / nu)
        gammas = loggamma((nu + 1) / 2) - loggamma(nu / 2)
        return total(kernel, gammas - log(nu * pi) / 2, -log(sigma))

    def two_sided(self, z, nu):
        return betainc(nu / 2, HALF, 0, nu / (nu + z * z), regularized=True)

    def cdf(self, y, nu, mu, sigma):
        z = (y - mu) / sigma
        tail = self.two_sided(z, nu) / 2
        return tail if z < 0 else 1 - tail

    def sf(self, y, nu, mu, sigma):
        return self.cdf(2 * mu - y, nu, mu, sigma)


class HalfStudentT(StudentT):
    def lpdf(self, y, nu, sigma):
        value, size = StudentT.lpdf(self, y, nu, mpf(0), sigma)
        return value + log(mpf(2)), size

    def cdf(self, y, nu, sigma):
        return 1 - self.two_sided(y / sigma, nu)

    def sf(self, y, nu, sigma):
        return self.two_sided(y / sigma, nu)


class Cauchy:
    def lpdf(self, y, mu, sigma):
        return total(-log1p(((y - mu) / sigma) ** 2), -log(sigma), -log(pi))

    def cdf(self, y, mu, sigma):
        return HALF + atan((y - mu) / sigma) / pi

    def sf(self, y, mu, sigma):
        return HALF - atan((y - mu) / sigma) / pi


class HalfCauchy:
    def lpdf(self, y, sigma):
        return total(-log1p((y / sigma) ** 2), -log(sigma), log(2 / pi))

    def cdf(self, y, sigma):
        return 2 * atan(y / sigma) / pi

    def sf(self, y, sigma):
        return 1 - 2 * atan(y / sigma) / pi


class Laplace:
    def lpdf(self, y, mu, sigma):
        return total(-abs(y - mu) / sigma, -log(sigma), -log(mpf(2)))

    def cdf(self, y, mu, sigma):
        z = (y - mu) / sigma
        return exp(z) / 2 if z < 0 else 1 - exp(-z) / 2

    def sf(self, y, mu, sigma):
        return self.cdf(2 * mu - y, mu, sigma)


class Logistic:
    def lpdf(self, y, mu, sigma):
        z = (y - mu) / sigma
        return total(-z - 2 * log1p(exp(-z)), -log(sigma))

    def cdf(self, y, mu, sigma):
        return 1 / (1 + exp(-(y - mu) / sigma))

    def sf(self, y, mu, sigma):
        return 1 / (1 + exp((y - mu) / sigma))


class Lognormal(Normal):
    def lpdf(self, y, mu, sigma):
        return total(-self.z(y, mu, sigma) ** 2 / 2, -log(sigma), -LOG_SQRT_2PI, -log(y))

    def z(self, y, mu, sigma):
        return (log(y) - mu) / sigma


class Exponential:
    def lpdf(self, y, rate):
        return total(log(rate), -rate * y)

    def cdf(self, y, rate):
        return -expm1(-rate * y)

    def sf(self, y, rate):
        return exp(-rate * y)


class Gamma:
    def lpdf(self, y, alpha, rate):
        return total(alpha * log(rate), -loggamma(alpha), (alpha - 1) * log(y), -rate * y)

    def cdf(self, y, alpha, rate):
        return gammainc(alpha, 0, rate * y, regularized=True)

    def sf(self, y, alpha, rate):
        return gammainc(alpha, rate * y, inf, regularized=True)


class InverseGamma:
    def lpdf(self, y, alpha, scale):
        return total(alpha * log(scale), -loggamma(alpha), -(alpha + 1) * log(y), -scale / y)

    def cdf(self, y, alpha, scale):
        return gammainc(alpha, scale / y, inf, regularized=True)

    def sf(self, y, alpha, scale):
        return gammainc(alpha, 0, scale / y, regularized=True)


class ChiSquare(Gamma):
    def lpdf(self, y, nu):
        return Gamma.lpdf(self, y, nu / 2, HALF)

    def cdf(self, y, nu):
        return Gamma.cdf(self, y, nu / 2, HALF)

    def sf(self, y, nu):
        return Gamma.sf(self, y, nu / 2, HALF)


class Weibull:
    def lpdf(self, y, alpha, sigma):
        return total(
            log(alpha), -alpha * log(sigma), alpha * log(y), -log(y), -((y / sigma) ** alpha)
        )

    def cdf(self, y, alpha, sigma):
        return -expm1(-((y / sigma) ** alpha))

    def sf(self, y, alpha, sigma):
        return exp(-((y / sigma) ** alpha))


class Gumbel:
    def lpdf(self, y, mu, scale):
        z = (y - mu) / scale
        return total(-z, -exp(-z), -log(scale))

    def cdf(self, y, mu, scale):
        return exp(-exp(-(y - mu) / scale))

    def sf(self, y, mu, scale):
        return -expm1(-exp(-(y - mu) / scale))


class Pareto:
    def lpdf(self, y, y_min, alpha):
        return total(log(alpha), alpha * log(y_min), -(alpha + 1) * log(y))

    def cdf(self, y, y_min, alpha):
        return -expm1(alpha * log(y_min / y)) if y > y_min else mpf(0)

    def sf(self, y, y_min, alpha):
        return (y_min / y) ** alpha if y > y_min else mpf(1)


class Beta:
    def lpdf(self, y, a, b):
        return total((a - 1) * log(y), (b - 1) * log1p(-y), loggamma(a + b) - loggamma(a) - loggamma(b))

    def cdf(self, y, a, b):
        return betainc(a, b, 0, y, regularized=True)

    def sf(self, y, a, b):
        return betainc(b, a, 0, 1 - y, regularized=True)


class Uniform:
    def lpdf(self, y, lower, upper):
        return total(-log(upper - lower))

    def cdf(self, y, lower, upper):
        return min(max((y - lower) / (upper - lower), mpf(0)), mpf(1))

    def sf(self, y, lower, upper):
        return 1 - self.cdf(y, lower, upper)


class VonMises:
    def lpdf(self, y, mu, kappa):
        bessel = besseli(0, kappa) if kappa < 5000 else None
        if bessel is None:
            terms, term, k = mpf(0), mpf(1), 0
            while abs(term) > mpf(10) ** -50 and k < 60:
                terms += term
                k += 1
                term *= mpf((2 * k - 1) ** 2) / (8 * k * kappa)
            return total(kappa * (cos(y - mu) - 1), -log(2 * pi), log(2 * pi * kappa) / 2 - log(terms))
        return total(kappa * (cos(y - mu) - 1), -log(2 * pi), kappa - log(bessel))


class SkewNormal:
    def lpdf(self, y, xi, omega, alpha):
        z = (y - xi) / omega
        return total(log(mpf(2)), -log(omega), -z * z / 2 - LOG_SQRT_2PI, log(phi(alpha * z)))

    def left(self, z, alpha):
        """The density integrated from below over pieces of growing length, until nothing is left."""
        mp.dps = 25
        sharpness = max(1, abs(z), abs(alpha), alpha * alpha * abs(z))
        ends = [z] + [z - mpf(2) ** k / sharpness for k in range(-3, 60) if mpf(2) ** k / sharpness < 128]
        density = lambda t: 2 * exp(-t * t / 2) / sqrt(2 * pi) * phi(alpha * t)
        value = quad(density, ends[::-1])
        mp.dps = 60
        return value

    def cdf(self, y, xi, omega, alpha):
        z = (y - xi) / omega
        return self.left(z, alpha) if z <= 0 else 1 - self.left(-z, -alpha)

    def sf(self, y, xi, omega, alpha):
        z = (y - xi) / omega
        return self.left(-z, -alpha) if z >= 0 else 1 - self.left(z, alpha)


class TruncatedNormal:
    def mass(self, a, b):
        return phi(-a) - phi(-b) if a > 0 else phi(b) - phi(a)

    def lpdf(self, y, mu, sigma, lower, upper):
        a, b = (lower - mu) / sigma, (upper - mu) / sigma
        return total(
            -(((y - mu) / sigma) ** 2) / 2, -log(sigma), -LOG_SQRT_2PI, -log(self.mass(a, b))
        )

    def cdf(self, y, mu, sigma, lower, upper):
        a, b, z = (lower - mu) / sigma, (upper - mu) / sigma, (y - mu) / sigma
        return self.mass(a, z) / self.mass(a, b)

    def sf(self, y, mu, sigma, lower, upper):
        a, b, z = (lower - mu) / sigma, (upper - mu) / sigma, (y - mu) / sigma
        return self.mass(z, b) / self.mass(a, b)


Z = [-40, -12, -4, -1.5, -0.3, 0, 1e-9, 0.3, 1, 2.5, 6, 15, 38]
HUGE_Z = Z + [-1e10, -1e5, -300, 1e-200, 300, 1e7]
SIZE = [1e-200, 1e-12, 1e-3, 0.1, 0.5, 1, 2, 4, 9, 20, 38]
HUGE_SIZE = SIZE + [300, 1e5, 1e12]
SCALES = [(0, 1), (1.5, 0.3), (-2e3, 50), (0, 1e-30), (0, 1e30)]
INF = float("inf")


def located(zs, scales):
    """Outcomes at z scales from the location."""
    return [((mu, sigma), [mu + sigma * z for z in zs]) for mu, sigma in scales]


def scaled(sizes, scales):
    return [((sigma,), [sigma * z for z in sizes]) for sigma in scales]


CASES = {
    "normal": (Normal(), located(Z, SCALES)),
    "std_normal": (StdNormal(), [((), Z + [-1e3, 1e-30, 1e3])]),
    "half_normal": (HalfNormal(), scaled(SIZE, [1, 0.3, 1e-30, 1e30])),
    "student_t": (
        StudentT(),
        [((nu, mu, s), [mu + s * z for z in HUGE_Z]) for nu, (mu, s) in
         [(0.1, (0, 1)), (1, (0, 1e-30)), (3, (1.5, 0.3)), (4.5, (0, 1e30)), (30, (-2e3, 50)), (1e3, (0, 1))]],
    ),
    "half_student_t": (
        HalfStudentT(),
        [((nu, s), [s * z for z in HUGE_SIZE]) for nu, s in
         [(0.1, 1), (1, 1e-30), (3, 0.3), (4.5, 1e30), (30, 2), (1e3, 1)]],
    ),
    "cauchy": (Cauchy(), located(HUGE_Z, SCALES)),
    "half_cauchy": (HalfCauchy(), scaled(HUGE_SIZE, [1, 0.3, 1e-30, 1e30])),
    "laplace": (Laplace(), located(Z + [-700, 700], SCALES)),
    "logistic": (Logistic(), located(Z + [-700, 700], SCALES)),
    "lognormal": (
        Lognormal(),
        [((mu, s), [1e-30, 1e-3, 0.2, 0.9, 1, 1.1, 2, 7, 1e3, 1e30]) for mu, s in
         [(0, 1), (0.5, 0.7), (-3, 5), (2, 40), (0, 1e30)]],
    ),
    "exponential": (
        Exponential(), [((b,), [x / b for x in SIZE + [0, 700]]) for b in [1, 2.5, 1e-30, 1e30]]
    ),
    "gamma": (
        Gamma(),
        [((a, b), [a / b * x for x in [1e-30, 1e-3, 0.2, 0.8, 1, 1.3, 2, 6, 30]]) for a, b in
         [(0.01, 1), (0.5, 3), (1, 1e-30), (2, 0.5), (7.5, 1e30), (100, 4)]],
    ),
    "inverse_gamma": (
        InverseGamma(),
        [((a, b), [b / a * x for x in [0.05, 0.2, 0.8, 1, 1.3, 2, 6, 1e3, 1e30]]) for a, b in
         [(0.01, 1), (0.5, 3), (1, 1e-30), (3, 0.5), (7.5, 1e30), (100, 4)]],
    ),
    "chi_square": (
        ChiSquare(), [((nu,), [nu * x for x in [1e-30, 1e-3, 0.2, 0.8, 1, 1.3, 2, 6, 30]]) for nu in [0.1, 1, 2, 5, 90]]
    ),
    "weibull": (
        Weibull(),
        [((k, s), [s * x for x in [1e-30, 1e-3, 0.2, 0.9, 1, 1.1, 1.5, 2]]) for k, s in
         [(0.1, 1), (1, 2), (1.5, 1e-30), (2, 0.3), (3.5, 1e30), (12, 5)]],
    ),
    "gumbel": (Gumbel(), located([-6, -3, -1.5, -0.3, 0, 1e-9, 0.3, 1, 2.5, 6, 15, 38, 60, 700], SCALES)),
    "pareto": (
        Pareto(),
        [((m, a), [m * x for x in [1, 1 + 2**-30, 1.001, 1.3, 2, 10, 1e6, 1e100]]) for m, a in
         [(1, 1), (0.3, 2.5), (1e-30, 0.1), (1e30, 4), (7, 60)]],
    ),
    "beta": (
        Beta(),
        [(ab, [1e-200, 1e-20, 1e-3, 0.2, 0.4, 0.5, 0.7, 0.95, 1 - 1e-6, 1 - 2**-50]) for ab in
         [(1, 1), (2, 3), (0.5, 0.5), (0.01, 3), (5, 0.02), (200, 100)]],
    ),
    "uniform": (
        Uniform(),
        [((a, b), [a + (b - a) * x for x in [0.25, 0.5, 0.75, 1 / 3, 0.9]] + [a, b]) for a, b in
         [(0, 1), (-3, 8), (0, 1e-30), (-1e30, 1e30), (1e5, 1e5 + 1)]],
    ),
    "von_mises": (
        VonMises(),
        [(mk, [-3.141592653589793, -2, -0.7, -1e-3, 0, 1e-9, 0.4, 1.5, 3.1]) for mk in
         [(0, 0), (0, 1e-30), (0.5, 1), (-2, 8), (3, 90), (0.1, 999), (0.1, 1001), (0, 1e6), (0, 1e12)]],
    ),
    "skew_normal": (
        SkewNormal(),
        [((xi, w, a), [xi + w * z for z in zs]) for xi, w, a, zs in
         [(0, 1, 0, Z[1:-1]), (0, 1, 0.7, Z[1:-1]), (0, 1, -0.7, Z[1:-1]), (1, 0.4, 3, Z[1:-1]), (0, 1e30, -3, Z[1:-1]),
          (0, 1e-30, 60, [-2, -0.5, -0.1, -0.07, -0.05, -1e-3, 0, 1e-3, 0.5, 1, 3]),
          (0, 1, 1e3, [-1, -0.0041, -0.0039, -1e-4, 0, 0.1, 1, 6])]],
    ),
    "truncated_normal": (
        TruncatedNormal(),
        [((mu, s, a, b), ys) for mu, s, a, b, ys in
         [(0, 1, -1, 1, [-1, -0.9, -0.2, 0, 0.5, 1]), (0, 1, 8, INF, [8, 8.01, 9, 12, 40]), (0, 1, -INF, -8, [-40, -9, -8]),
          (0, 1, -INF, INF, [-30, -1, 0, 2, 30]), (2, 0.5, 0, INF, [1e-9, 0.1, 2, 4]), (0, 1, 40, 41, [40, 40.01, 40.5, 41]),
          (0, 1e30, -1, 1, [-1, -0.5, 0, 0.9]), (3, 1e4, 0, 1, [0, 0.1, 0.5, 1]), (0, 1, 5, 5.001, [5, 5.0004, 5.001]),
          (0, 1, 0.0049, 0.0149, [0.005, 0.01]), (0, 1, -0.02, -0.009, [-0.015]), (1, 1e-30, 0, 5, [1]),
          (0, 1e-30, 0, INF, [0, 1e-30, 3e-30])]],
    ),
}

# Ordinary arguments, on which the general tests run: parameters, a point of the support to integrate from in both directions (an end where
# there is one), a typical distance from it, and outcomes in the middle and in both tails at none of which a derivative jumps.
EXAMPLES = {
    "normal": [((0.5, 2.0), 0.5, 2.0, [-7.0, 0.0, 1.5, 6.0])],
    "std_normal": [((), 0.0, 1.0, [-4.0, -0.3, 0.7, 3.0])],
    "half_normal": [((1.5,), 0.0, 1.5, [0.05, 0.7, 2.0, 6.0])],
    "student_t": [
        ((5.0, 1.0, 2.0), 1.0, 2.0, [-30.0, -0.5, 1.2, 4.0, 25.0]),
        ((0.8, 0.0, 1.0), 0.0, 1.0, [-30.0, -0.5, 0.2, 4.0]),
    ],
    "half_student_t": [((4.5, 0.7), 0.0, 0.7, [0.03, 0.4, 1.3, 9.0])],
    "cauchy": [((-1.0, 0.8), -1.0, 0.8, [-90.0, -1.3, -0.8, 0.4, 40.0])],
    "half_cauchy": [((2.0,), 0.0, 2.0, [0.1, 1.3, 2.6, 50.0])],
    "laplace": [((0.5, 1.2), 0.5, 1.2, [-9.0, 0.1, 0.8, 7.0])],
    "logistic": [((1.0, 0.6), 1.0, 0.6, [-9.0, 0.8, 1.3, 14.0])],
    "lognormal": [((0.3, 0.6), 0.0, 1.0, [0.05, 0.8, 1.6, 9.0])],
    "exponential": [((2.5,), 0.0, 0.4, [0.02, 0.4, 3.0])],
    "gamma": [
        ((3.2, 2.0), 0.0, 1.5, [0.05, 0.9, 2.0, 8.0]),
        ((0.6, 0.5), 0.0, 1.0, [0.01, 0.9, 12.0]),
    ],
    "inverse_gamma": [((4.5, 2.0), 0.0, 0.5, [0.1, 0.4, 1.0, 6.0])],
    "chi_square": [((5.0,), 0.0, 4.0, [0.2, 3.0, 7.0, 30.0])],
    "weibull": [((1.7, 2.0), 0.0, 2.0, [0.05, 1.1, 2.7, 7.0])],
    "gumbel": [((0.4, 1.3), 0.4, 1.3, [-3.0, 0.1, 1.3, 12.0])],
    "pareto": [((1.5, 4.5), 1.5, 0.5, [1.6, 2.2, 9.0])],
    "beta": [
        ((2.5, 4.0), 0.0, 1.0, [0.03, 0.3, 0.6, 0.97]),
        ((0.7, 0.6), 0.0, 1.0, [0.03, 0.3, 0.6, 0.97]),
    ],
    "uniform": [((-1.0, 3.5), -1.0, 1.0, [-0.9, 1.0, 3.2])],
    "von_mises": [((0.7, 2.3), 0.7, 1.0, [-3.0, 0.3, 1.0, 2.9])],
    "skew_normal": [
        ((0.5, 1.5, 3.0), 0.5, 1.5, [-3.0, -1.0, 0.4, 0.7, 2.0, 6.0]),
        ((0.0, 1.0, -0.6), 0.0, 1.0, [-3.0, -0.2, 0.4, 5.0]),
    ],
    "truncated_normal": [
        ((0.5, 2.0, -1.0, 4.0), -1.0, 1.0, [-0.9, 0.4, 3.5]),
        ((0.5, 2.0, 6.0, INF), 6.0, 1.0, [6.1, 7.0, 11.0]),
        ((0.5, 2.0, -INF, 0.0), 0.0, 1.0, [-7.0, -0.5, -0.1]),
        ((0.5, 2.0, -INF, INF), 0.5, 2.0, [-3.5, 0.4, 3.0]),
        ((0.5, 2.0, 0.7, 0.71), 0.7, 1.0, [0.702, 0.707]),
    ],
}


def main():
    rows = ["family,quantity,outcome,parameters,value,terms"]
    for family, (oracle, cases) in CASES.items():
        for parameters, outcomes in cases:
            exact = [mpf(p) for p in parameters]
            shown = "|".join(text(p) for p in parameters)
            for outcome in outcomes:
                outcome = float(outcome)
                y = mpf(outcome)
                value, size = oracle.lpdf(y, *exact)
                rows.append(f"{family},lpdf,{text(outcome)},{shown},{text(value)},{float(size):.3g}")
                for quantity, function in (("lcdf", "cdf"), ("lccdf", "sf")):
                    if hasattr(oracle, function):
                        p = getattr(oracle, function)(y, *exact)
                        # A log of 1 minus little needs the digits of the little, from the other side.
                        if p > HALF:
                            other = getattr(oracle, "sf" if function == "cdf" else "cdf")(y, *exact)
                            value = log1p(-other)
                        else:
                            value = log(p) if p > 0 else -inf
                        rows.append(f"{family},{quantity},{text(outcome)},{shown},{text(value)},0")
    here = pathlib.Path(__file__)
    here.with_name("continuous.csv").write_text("\n".join(rows) + "\n")
    rows = ["family,parameters,origin,scale,outcomes"]
    for family, examples in EXAMPLES.items():
        for parameters, origin, scale, outcomes in examples:
            listed = ["|".join(text(x) for x in numbers) for numbers in (parameters, outcomes)]
            rows.append(f"{family},{listed[0]},{text(origin)},{text(scale)},{listed[1]}")
    here.with_name("continuous_examples.csv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
