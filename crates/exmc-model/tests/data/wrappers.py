"""Writes wrappers.csv: log densities and log probabilities of mixtures, truncated, censored and zero-inflated
distributions, with 50 digits.

Needs mpmath only. A row's distribution is written as the Python expression that is evaluated here, and
read by the Rust test: numbers with a point are parameters there, others (and `const(…)`) constants.
Run: python wrappers.py

Columns: distribution, quantity (exact: log density; right: log P(Y > y) or, for counts, P(Y >= y); left:
log P(Y <= y); to U: log probability of the interval from y to U), outcome, value.
"""

import pathlib

from mpmath import (
    betainc, binomial as choose, ceil, erfc, exp, factorial, floor, gammainc, inf, log, loggamma, mp, mpf, pi, sqrt,
)

mp.dps = 50


def const(x):
    return x


class Continuous:
    discrete = False

    def between(self, a, b):
        """P(a <= Y <= b), by whichever tail keeps the digits."""
        right = self.below(a) > mpf(1) / 2
        return self.above(a) - self.above(b) if right else self.below(b) - self.below(a)


class Counts:
    """Probabilities by adding up masses; `last` masses are all that matter."""
    discrete, last = True, 4000

    def below(self, y):
        return sum((self.density(mpf(k)) for k in range(int(floor(y)) + 1)), mpf(0)) if y < inf else mpf(1)

    def above(self, y):
        if y == inf:
            return mpf(0)
        total, k, term = mpf(0), max(int(floor(y)) + 1, 0), mpf(1)
        while k <= self.last and (term == 0 or term > total * mpf(10) ** -45):
            term = self.density(mpf(k))
            total, k = total + term, k + 1
        return total

    def between(self, a, b):
        first = max(int(ceil(a)), 0) if a > -inf else 0
        return self.above(first - 1) if b == inf else sum(
            (self.density(mpf(k)) for k in range(first, int(floor(b)) + 1)), mpf(0))


class normal(Continuous):
    def __init__(self, mu, sigma):
        self.mu, self.sigma = mpf(mu), mpf(sigma)

    def density(self, y):
        return exp(-(((y - self.mu) / self.sigma) ** 2) / 2) / self.sigma / sqrt(2 * pi)

    def below(self, y):
        return erfc(-(y - self.mu) / self.sigma / sqrt(mpf(2))) / 2 if abs(y) < inf else mpf(y > 0)

    def above(self, y):
        return self.__class__(-self.mu, self.sigma).below(-y)


class student_t(Continuous):
    def __init__(self, nu, mu, sigma):
        self.nu, self.mu, self.sigma = mpf(nu), mpf(mu), mpf(sigma)

    def density(self, y):
        nu, z = self.nu, (y - self.mu) / self.sigma
        front = exp(loggamma((nu + 1) / 2) - loggamma(nu / 2)) / sqrt(pi * nu) / self.sigma
        return front * (1 + z * z / nu) ** (-(nu + 1) / 2)

    def below(self, y):
        if abs(y) == inf:
            return mpf(y > 0)
        nu, z = self.nu, (y - self.mu) / self.sigma
        tail = betainc(nu / 2, mpf(1) / 2, 0, nu / (nu + z * z), regularized=True) / 2
        return tail if z < 0 else 1 - tail

    def above(self, y):
        return student_t(self.nu, -self.mu, self.sigma).below(-y)


class gamma(Continuous):
    def __init__(self, alpha, beta):
        self.alpha, self.beta = mpf(alpha), mpf(beta)

    def density(self, y):
        a, b = self.alpha, self.beta
        return exp(a * log(b) - loggamma(a) + (a - 1) * log(y) - b * y) if y > 0 else mpf(0)

    def below(self, y):
        if y == inf:
            return mpf(1)
        return gammainc(self.alpha, 0, self.beta * y, regularized=True) if y > 0 else mpf(0)

    def above(self, y):
        if y == inf:
            return mpf(0)
        return gammainc(self.alpha, self.beta * y, inf, regularized=True) if y > 0 else mpf(1)


class weibull(Continuous):
    def __init__(self, alpha, sigma):
        self.alpha, self.sigma = mpf(alpha), mpf(sigma)

    def hazard(self, y):
        return (max(y, mpf(0)) / self.sigma) ** self.alpha

    def density(self, y):
        return self.alpha / y * self.hazard(y) * exp(-self.hazard(y)) if y > 0 else mpf(0)

    def below(self, y):
        return 1 - self.above(y)

    def above(self, y):
        return exp(-self.hazard(y)) if y < inf else mpf(0)


class uniform(Continuous):
    def __init__(self, a, b):
        self.a, self.b = mpf(a), mpf(b)

    def density(self, y):
        return 1 / (self.b - self.a) if self.a <= y <= self.b else mpf(0)

    def below(self, y):
        return (min(max(y, self.a), self.b) - self.a) / (self.b - self.a)

    def above(self, y):
        return (self.b - min(max(y, self.a), self.b)) / (self.b - self.a)


class poisson(Counts):
    def __init__(self, rate):
        self.rate = mpf(rate)

    def density(self, y):
        return self.rate ** y * exp(-self.rate) / factorial(y)


class negative_binomial(Counts):
    def __init__(self, mu, phi):
        self.mu, self.phi = mpf(mu), mpf(phi)

    def density(self, y):
        mu, phi = self.mu, self.phi
        rise = exp(loggamma(y + phi) - loggamma(phi) - loggamma(y + 1))
        return rise * (mu / (mu + phi)) ** y * (phi / (mu + phi)) ** phi


class binomial(Counts):
    def __init__(self, n, theta):
        self.n, self.theta, self.last = n, mpf(theta), n

    def density(self, y):
        return choose(self.n, y) * self.theta ** y * (1 - self.theta) ** (self.n - y) if y <= self.n else mpf(0)


class mixture:
    def __init__(self, weights, *parts):
        total = sum(mpf(w) for w in weights)
        self.weights, self.parts = [mpf(w) / total for w in weights], parts
        self.discrete = parts[0].discrete

    def add(self, f):
        return sum(w * f(p) for w, p in zip(self.weights, self.parts))

    def density(self, y):
        return self.add(lambda p: p.density(y))

    def below(self, y):
        return self.add(lambda p: p.below(y))

    def above(self, y):
        return self.add(lambda p: p.above(y))

    def between(self, a, b):
        return self.add(lambda p: p.between(a, b))


class truncated:
    def __init__(self, base, lower, upper):
        self.base, self.discrete = base, base.discrete
        self.lower = -mpf(inf) if lower is None else mpf(lower)
        self.upper = mpf(inf) if upper is None else mpf(upper)
        self.mass = base.between(self.lower, self.upper)

    def density(self, y):
        return self.base.density(y) / self.mass if self.lower <= y <= self.upper else mpf(0)

    def between(self, a, b):
        a, b = max(a, self.lower), min(b, self.upper)
        return self.base.between(a, b) / self.mass if a <= b else mpf(0)

    def below(self, y):
        return self.between(-mpf(inf), y)

    def above(self, y):
        return self.between(floor(y) + 1 if self.discrete and y < inf else y, mpf(inf))


class censored:
    def __init__(self, base, lower, upper):
        self.base, self.discrete = base, base.discrete
        self.lower = -mpf(inf) if lower is None else mpf(lower)
        self.upper = mpf(inf) if upper is None else mpf(upper)

    def density(self, y):
        if y == self.lower:
            return self.base.below(y)
        if y == self.upper:
            return self.base.between(y, mpf(inf))
        return self.base.density(y) if self.lower < y < self.upper else mpf(0)


class zero_inflated:
    discrete = True

    def __init__(self, base, p):
        self.base, self.p = base, mpf(p)

    def density(self, y):
        return self.p * (y == 0) + (1 - self.p) * self.base.density(y)

    def below(self, y):
        return self.p * (y >= 0) + (1 - self.p) * self.base.below(y)

    def above(self, y):
        return self.p * (y < 0) + (1 - self.p) * self.base.above(y)

    def between(self, a, b):
        return self.p * (a <= 0 <= b) + (1 - self.p) * self.base.between(a, b)


EXACT = {
    "mixture([0.3, 0.7], normal(0.0, 1.0), normal(2.0, 0.5))": [1, -3.5, 0, 2.25, 40],
    "mixture([2.0, 1.0, 1.0], student_t(4.0, -1.0, 0.5), normal(2.0, 3.0), normal(1.5, 0.1))": [-9, 0.5, 1.5, 1e3],
    "mixture([0.4, 0.6], gamma(2.0, 1.5), normal(-1.0, 2.0))": [-3, -0.25, 0.7, 12],
    "mixture([0.2, 0.8], uniform(0.0, 1.0), uniform(0.5, 4.0))": [0.25, 0.75, 3],
    "mixture([0.5, 0.5], mixture([0.1, 0.9], normal(0.0, 1.0), normal(5.0, 2.0)), gamma(3.0, 0.5))": [-2, 1, 6],
    "mixture([0.25, 0.75], poisson(2.0), negative_binomial(9.0, 3.0))": [0, 2, 11, 60],
    "mixture([0.5, 0.5], poisson(3.5), binomial(6, 0.3))": [0, 5, 6, 7, 20],
    "mixture([0.6, 0.4], truncated(normal(0.0, 1.0), const(0.5), None), truncated(normal(0.0, 2.0), None, 1.0))":
        [-2, 0.75, 3],
    "truncated(normal(0.0, 1.0), 8.0, None)": [9, 8.5, 20],
    "truncated(normal(0.0, 1.0), 8.0, const(inf))": [9],
    "truncated(normal(0.0, 1.0), 40.0, 41.0)": [40.01, 40.5],
    "truncated(normal(0.0, 1.0), -41.0, -40.0)": [-40.5, -40.01],
    "truncated(normal(0.0, 1.0), None, -12.0)": [-12.5, -14],
    "truncated(normal(0.3, 0.2), -1.0, 1.0)": [-0.9, 0.3, 0.9],
    "truncated(normal(1.0, 2.0), -30.0, 30.0)": [0.5],
    "truncated(gamma(2.5, 1.5), 0.5, 3.0)": [0.6, 1, 2.9],
    "truncated(gamma(2.5, 1.5), 60.0, None)": [60.5, 75],
    "truncated(gamma(0.5, 1.0), None, 0.001)": [0.0005, 1e-5],
    "truncated(gamma(2.0, 1.0), -1.0, 3.0)": [0.5, 2],
    "truncated(student_t(3.0, 0.5, 1.5), -2.0, 4.0)": [-1, 3.5],
    "truncated(student_t(5.0, 0.0, 1.0), 100.0, None)": [110, 1e4],
    "truncated(weibull(1.5, 2.0), 1.0, None)": [1.5, 9],
    "truncated(uniform(0.0, 2.0), 0.5, None)": [0.6, 1.9],
    "truncated(poisson(3.0), 1, None)": [1, 4, 30],
    "truncated(poisson(3.0), 2.5, 6.5)": [3, 5, 6],
    "truncated(poisson(3.0), 4, 4)": [4],
    "truncated(poisson(4.0), 60, None)": [60, 63],
    "truncated(negative_binomial(3.0, 2.0), 0.5, None)": [1, 7],
    "truncated(negative_binomial(3.0, 2.0), None, 5)": [0, 5],
    "truncated(binomial(10, 0.3), 2, 7)": [2, 7],
    "truncated(mixture([0.3, 0.7], normal(0.0, 1.0), normal(4.0, 0.5)), 1.0, 6.0)": [1.5, 4, 5.5],
    "truncated(mixture([0.3, 0.7], normal(0.0, 1.0), normal(4.0, 0.5)), 15.0, None)": [15.5],
    "truncated(zero_inflated(poisson(3.0), 0.25), None, 4)": [0, 2],
    "truncated(truncated(normal(0.0, 1.0), -1.0, None), None, 2.0)": [-0.5, 1.5],
    "truncated(truncated(poisson(3.0), 1, None), None, 5)": [1, 5],
    "censored(normal(0.5, 2.0), -1, 3)": [-1, 0.25, 3, 2.5],
    "censored(normal(0.0, 1.0), None, 40)": [40, 39.5],
    "censored(normal(0.0, 1.0), -40, None)": [-40],
    "censored(student_t(4.0, 0.0, 1.0), const(-0.5), const(0.5))": [-0.5, 0.1, 0.5],
    "censored(gamma(2.0, 0.5), 1, 6)": [1, 2, 6],
    "censored(weibull(1.5, 2.0), None, 3)": [0.5, 3],
    "censored(poisson(4.0), 2, 7)": [2, 4, 7],
    "censored(poisson(4.0), None, const(6.5))": [6, 6.5],
    "censored(negative_binomial(4.0, 1.5), 1, 12)": [1, 5, 12],
    "censored(mixture([0.3, 0.7], normal(0.0, 1.0), normal(2.0, 0.5)), 0, 2)": [0, 1, 2],
    "censored(truncated(normal(0.0, 1.0), -2.0, None), None, 1)": [-1, 1],
    "zero_inflated(poisson(2.5), 0.3)": [0, 1, 6],
    "zero_inflated(negative_binomial(3.0, 2.0), 0.15)": [0, 4],
    "zero_inflated(binomial(5, 0.4), 0.2)": [0, 1, 5],
    "zero_inflated(truncated(poisson(2.5), 1, None), 0.4)": [0, 1, 6],
    "zero_inflated(mixture([0.5, 0.5], poisson(1.0), poisson(8.0)), 0.1)": [0, 3],
}

CENSORED = {
    "normal(0.0, 1.0)": [("right", 2.5), ("left", 2.5), ("to 0.5", -1), ("right", 10), ("right", 40), ("left", -40),
                         ("to 11.5", 11), ("to 41.0", 40), ("to inf", 1), ("to 0.5", -mpf(inf))],
    "weibull(1.5, 2.0)": [("right", 3), ("left", 3), ("right", 0), ("to 1.5", 0), ("to 4.0", 2.5)],
    "gamma(2.0, 0.5)": [("right", 0), ("right", 200), ("left", 0.01), ("to 3.0", 0), ("to 3.0", 1), ("to 1.0", -2)],
    "student_t(3.0, 0.0, 2.0)": [("right", 50), ("left", -50), ("to 60.0", 50)],
    "poisson(4.0)": [("right", 6), ("right", 0), ("left", 2), ("to 5", 3), ("to 4", 4), ("right", 70)],
    "negative_binomial(3.0, 2.0)": [("right", 4), ("left", 1), ("to 9", 4)],
    "mixture([0.3, 0.7], normal(0.0, 1.0), normal(2.0, 0.5))": [("right", 3), ("left", -6), ("to 2.0", 1), ("right", 30)],
    "mixture([0.3, 0.7], gamma(2.0, 1.0), normal(0.0, 1.0))": [("left", -2), ("right", -2), ("to 2.0", -1)],
    "truncated(weibull(1.5, 2.0), 1.0, None)": [("right", 3), ("left", 3), ("to 5.0", 2), ("right", 0.5), ("to 2.0", 0.5)],
    "truncated(normal(0.0, 1.0), 8.0, 9.0)": [("right", 8.5), ("left", 8.5), ("right", 7), ("to 8.75", 8.25)],
    "truncated(poisson(3.0), 1, 6)": [("right", 4), ("right", 1), ("left", 2), ("to 5", 2)],
    "zero_inflated(poisson(2.5), 0.3)": [("right", 0), ("right", 1), ("right", 30), ("left", 0), ("left", 3), ("to 2", 0), ("to 4", 2)],
    "zero_inflated(negative_binomial(3.0, 2.0), 0.15)": [("right", 2), ("left", 0), ("left", 5)],
}


def value(dist, quantity, y):
    if quantity == "exact":
        p = dist.density(y)
    elif quantity == "right":
        p = dist.between(y, mpf(inf)) if dist.discrete else dist.above(y)
    elif quantity == "left":
        p = dist.below(y)
    else:
        p = dist.between(y, mpf(quantity.split()[1]))
    return log(p) if p > 0 else -mpf(inf)


def text(x):
    x = 0 if abs(x) < mpf(10) ** -40 else x  # what rounding leaves of a zero
    x = float(x)
    return repr(x) if abs(x) != float("inf") else ("inf" if x > 0 else "-inf")


def main():
    rows = ["distribution;quantity;outcome;value"]
    for name, outcomes in EXACT.items():
        rows += [f"{name};exact;{text(y)};{text(value(eval(name), 'exact', mpf(y)))}" for y in outcomes]
    for name, cases in CENSORED.items():
        rows += [f"{name};{q};{text(y)};{text(value(eval(name), q, mpf(y)))}" for q, y in cases]
    (pathlib.Path(__file__).parent / "wrappers.csv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
