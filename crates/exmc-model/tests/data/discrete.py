"""Writes discrete.csv and multivariate.csv: log densities and distribution functions to 50 digits.

Needs mpmath only. Every formula here is the textbook one, evaluated with enough digits that it does
not matter how it cancels; arguments are doubles and taken exactly. Run: python discrete.py

Columns: family, quantity, outcome, parameters (separated by `|`, numbers in each by spaces), value,
terms (size of the largest terms that the value is the difference of, which rounding is relative to).
"""

import itertools
import pathlib

from mpmath import binomial, exp, factorial, inf, log, log1p, loggamma, matrix, mp, mpf, pi, rf

mp.dps = 60
HERE = pathlib.Path(__file__).parent


def log_or_inf(x):
    return log(x) if x > 0 else -inf


def text(x):
    x = float(x)
    return repr(x) if abs(x) != float("inf") else ("inf" if x > 0 else "-inf")


def numbers(x):
    return " ".join(text(v) for v in (x if isinstance(x, (list, tuple)) else [x]))


class Table:
    def __init__(self, name):
        self.rows = ["family,quantity,outcome,parameters,value,terms"]
        self.path = HERE / name

    def add(self, family, quantity, outcome, parameters, value, terms=0):
        params = "|".join(numbers(p) for p in parameters)
        self.rows.append(f"{family},{quantity},{numbers(outcome)},{params},{text(value)},{float(terms):.3g}")

    def write(self):
        self.path.write_text("\n".join(self.rows) + "\n")


def sigmoid(x):
    return 1 / (1 + exp(-mpf(x)))


def xlog(k, p):
    return mpf(0) if k == 0 else k * log_or_inf(p)


def binomial_lpmf(y, n, p, q):
    return log(binomial(n, y)) + xlog(y, p) + xlog(n - y, q)


def poisson_lpmf(y, rate):
    return xlog(y, mpf(rate)) - rate - loggamma(mpf(y) + 1)


def negative_binomial_lpmf(y, mu, phi):
    mu, phi = mpf(mu), mpf(phi)
    mp.dps = 120  # log gammas at 1e10 and beyond cancel
    value = (loggamma(y + phi) - loggamma(phi) - loggamma(mpf(y) + 1)
             + y * log(mu / (mu + phi)) - phi * log1p(mu / phi))
    mp.dps = 60
    return value


def tails(log_mass, y, top=None):
    """Logs of P(Y <= y) and P(Y > y), by adding up masses; the larger side from the smaller."""
    low = sum(exp(log_mass(k)) for k in range(0, y + 1))
    if top is not None:
        high = sum(exp(log_mass(k)) for k in range(y + 1, top + 1))
    else:
        high, term, k = mpf(0), mpf(1), y + 1
        while k <= y + 40 or term > high * mpf(10) ** -40:
            term = exp(log_mass(k))
            high += term
            k += 1
    if low > high:
        return log1p(-high), log_or_inf(high)
    return log_or_inf(low), log1p(-low)


def negative_binomial_tails(y, mu, phi):
    log_mass = lambda k: negative_binomial_lpmf(k, mu, phi)
    if mu < 9 * phi:
        return tails(log_mass, y)
    # The masses fall too slowly to add them up, but then the upper side is not tiny.
    mp.dps = 300
    failure = mpf(phi) / (mpf(phi) + mpf(mu))
    low = failure ** mpf(phi) * sum(rf(mpf(phi), k) / factorial(k) * (1 - failure) ** k for k in range(y + 1))
    low, high = log(low), log(1 - low)
    mp.dps = 60
    return low, high


def discrete():
    t = Table("discrete.csv")
    for p in [0.0, 1e-30, 1e-9, 0.1, 0.3, 0.5, 0.7, 1 - 1e-9, 1.0]:
        for y in (0, 1):
            t.add("bernoulli", "lpdf", y, [p], log_or_inf(mpf(p)) if y else log_or_inf(1 - mpf(p)))
        for y in (-1.0, 0.0, 0.5, 1.0, 3.0):
            low = -inf if y < 0 else (log_or_inf(1 - mpf(p)) if y < 1 else 0)
            high = 0 if y < 0 else (log_or_inf(mpf(p)) if y < 1 else -inf)
            t.add("bernoulli", "lcdf", y, [p], low)
            t.add("bernoulli", "lccdf", y, [p], high)
    for a in [-800.0, -40.0, -3.0, -0.5, 0.0, 1e-9, 0.7, 4.0, 40.0, 800.0]:
        for y in (0, 1):
            t.add("bernoulli_logit", "lpdf", y, [a], -log1p(exp(mpf(a) if y == 0 else -mpf(a))))
        t.add("bernoulli_logit", "lcdf", 0, [a], -log1p(exp(mpf(a))))
        t.add("bernoulli_logit", "lccdf", 0, [a], -log1p(exp(-mpf(a))))
        t.add("bernoulli_logit", "lccdf", 1, [a], -inf)
    for n, p in itertools.product([0, 1, 7, 980, 100000], [0.0, 1e-30, 1e-3, 0.446, 0.9, 1.0]):
        for y in sorted({0, n // 3, round(n * p), max(n - 1, 0), n}):
            t.add("binomial", "lpdf", y, [n, p], binomial_lpmf(y, n, mpf(p), 1 - mpf(p)))
            if n <= 980 and 0 < p < 1:
                low, high = tails(lambda k: binomial_lpmf(k, n, mpf(p), 1 - mpf(p)), y, n)
                t.add("binomial", "lcdf", y + 0.25, [n, p], low)
                t.add("binomial", "lccdf", y + 0.25, [n, p], high)
    t.add("binomial", "lpdf", 437, [980, 0.446], binomial_lpmf(437, 980, mpf(0.446), 1 - mpf(0.446)))
    for n, a in itertools.product([1, 7, 980], [-300.0, -9.0, -0.3, 0.0, 2.5, 40.0, 300.0]):
        for y in sorted({0, n // 3, n}):
            p, q = sigmoid(a), sigmoid(-mpf(a))
            t.add("binomial_logit", "lpdf", y, [n, a], binomial_lpmf(y, n, p, q))
            if n <= 100:
                low, high = tails(lambda k: binomial_lpmf(k, n, p, q), y, n)
                t.add("binomial_logit", "lcdf", y, [n, a], low)
                t.add("binomial_logit", "lccdf", y, [n, a], high)
    for rate in [0.0, 1e-30, 1e-3, 0.5, 2.0, 30.0, 1000.0, 1e6, 1e30]:
        for y in sorted({0, 1, 3, 50, int(min(rate, 1e9))}):
            terms = loggamma(mpf(y) + 1) + abs(xlog(y, mpf(rate) or mpf(1))) + rate
            t.add("poisson", "lpdf", y, [rate], poisson_lpmf(y, rate), terms)
            if 0 < rate <= 1000:
                low, high = tails(lambda k: poisson_lpmf(k, rate), y)
                t.add("poisson", "lcdf", y + 0.75, [rate], low)
                t.add("poisson", "lccdf", y + 0.75, [rate], high)
    for a in [-700.0, -20.0, -1.0, 0.0, 0.5, 3.0, 8.0]:
        for y in (0, 1, 4, 30, 3000):
            rate = exp(mpf(a))
            terms = loggamma(mpf(y) + 1) + abs(y * a) + rate
            t.add("poisson_log", "lpdf", y, [a], xlog(y, rate) - rate - loggamma(mpf(y) + 1), terms)
            if y <= 30:
                low, high = tails(lambda k: poisson_lpmf(k, rate), y)
                t.add("poisson_log", "lcdf", y, [a], low)
                t.add("poisson_log", "lccdf", y, [a], high)
    for mu, phi in itertools.product([1e-30, 0.02, 3.0, 250.0, 1e6], [1e-30, 1e-3, 0.4, 2.0, 80.0, 999.0, 1001.0, 1e6, 1e10, 1e30]):
        for y in sorted({0, 1, 4, 260, 20000}):
            value = negative_binomial_lpmf(y, mu, phi)
            terms = loggamma(mpf(y) + 1) + abs(y * log(mpf(mu))) + mpf(y) * abs(log(mpf(phi))) + abs((y + mpf(phi)) * log1p(mpf(mu) / mpf(phi)))
            t.add("negative_binomial", "lpdf", y, [mu, phi], value, terms)
            if y <= 300 and 0.01 < mu < 1000 and 1e-4 < phi < 1500:
                low, high = negative_binomial_tails(y, mu, phi)
                t.add("negative_binomial", "lcdf", y + 0.5, [mu, phi], low)
                t.add("negative_binomial", "lccdf", y + 0.5, [mu, phi], high)
    thetas = [[1.0], [0.25, 0.75], [0.2, 0.3, 0.5], [0.0, 0.5, 0.5], [1e-30, 0.25, 0.75], [0.125] * 8]
    for theta in thetas:
        for y in range(len(theta)):
            t.add("categorical", "lpdf", y, [theta], log_or_inf(mpf(theta[y])))
    betas = [[0.3], [0.0, 0.0], [1.0, -2.0, 0.5], [1000.0, 0.0, -1000.0], [-800.0, -801.0], [0.1, 0.2, 0.3, 0.4, 0.5]]
    for beta in betas:
        for y in range(len(beta)):
            t.add("categorical_logit", "lpdf", y, [beta], mpf(beta[y]) - log(sum(exp(mpf(b)) for b in beta)))
    cuts = [[0.0], [-1.0, 1.5], [-2.0, -0.5, 0.25, 3.0], [-1e-6, 1e-6], [-300.0, 0.0, 400.0]]
    for cut, eta in itertools.product(cuts, [-40.0, -1.3, 0.0, 0.7, 40.0]):
        for y in range(len(cut) + 1):
            upper = sigmoid(mpf(cut[y]) - eta) if y < len(cut) else mpf(1)
            lower = sigmoid(mpf(cut[y - 1]) - eta) if y > 0 else mpf(0)
            mp.dps = 800
            upper = 1 / (1 + exp(mpf(eta) - cut[y])) if y < len(cut) else mpf(1)
            lower = 1 / (1 + exp(mpf(eta) - cut[y - 1])) if y > 0 else mpf(0)
            value = log(upper - lower)
            mp.dps = 60
            t.add("ordered_logistic", "lpdf", y, [eta, cut], value)
    t.write()


def normal_lpdf(y, mu, sigma):
    z = (mpf(y) - mpf(mu)) / mpf(sigma)
    return -z * z / 2 - log(mpf(sigma)) - log(2 * pi) / 2


def multi_normal_lpdf(y, mu, covariance):
    d = len(y)
    mp.dps = 300  # or scales of 1e-30 beside 1e30 look singular
    s = matrix(d, d)
    for i, j in itertools.product(range(d), range(d)):
        s[i, j] = covariance[i * d + j]
    r = matrix([mpf(a) - mpf(b) for a, b in zip(y, mu)])
    value = -(r.T * mp.lu_solve(s, r))[0] / 2 - log(mp.det(s)) / 2 - d * log(2 * pi) / 2
    mp.dps = 60
    return value


def points(d, mean):
    """Outcomes and means: the mode, ordinary points and a far tail."""
    yield [0.0] * d, [0.0] * d
    yield [1.0 + i for i in range(d)], [mean] * d
    yield [0.3 * (-1) ** i for i in range(d)], [0.1 * i - 1 for i in range(d)]
    yield [40.0] * d, [-3.0] * d


def lkj_lpdf(factor, size, eta):
    """Density of the correlation matrix (volume by the recursion over its size in Lewandowski et al.,
    equation 16, with beta functions) times the Jacobian of the map from its Cholesky factor."""
    eta = mpf(eta)
    log_c = mpf(0)
    for k in range(1, size):
        b = eta + mpf(size - k - 1) / 2
        log_c -= (size - k) * ((2 * b - 1) * log(2) + 2 * loggamma(b) - loggamma(2 * b))
    log_det = sum(2 * log(mpf(factor[k * size + k])) for k in range(size))
    log_jacobian = sum((size - 1 - k) * log(mpf(factor[k * size + k])) for k in range(1, size))
    return log_c + (eta - 1) * log_det + log_jacobian


def multivariate():
    t = Table("multivariate.csv")
    alphas = [[1.0, 1.0, 1.0], [2.0, 3.0, 4.0], [0.5, 0.5], [1e-3, 2.0, 0.7, 5.0], [1e4, 2e4, 1.0], [1e-30, 1.0], [1e8, 1e8]]
    for alpha in alphas:
        k = len(alpha)
        base = [[1 / k] * k, [0.5] + [0.5 / (k - 1)] * (k - 1), [1e-30] + [1 / (k - 1)] * (k - 1), [0.2 / (k - 1)] * (k - 1) + [0.8]]
        for y in base:
            mp.dps = 80
            value = loggamma(sum(map(mpf, alpha))) - sum(loggamma(mpf(a)) for a in alpha) + sum((mpf(a) - 1) * log(mpf(v)) for a, v in zip(alpha, y))
            terms = sum(abs((mpf(a) - 1) * log(mpf(v))) for a, v in zip(alpha, y))
            mp.dps = 60
            t.add("dirichlet", "lpdf", y, [alpha], value, terms)
    t.add("dirichlet", "lpdf", [0.0, 0.25, 0.75], [[1.0, 2.0, 3.0]], log(mpf(60)) + log(mpf(0.25)) + 2 * log(mpf(0.75)))
    for theta, y in [([0.2, 0.3, 0.5], [1, 2, 3]), ([0.2, 0.3, 0.5], [0, 0, 7]), ([0.0, 0.5, 0.5], [0, 2, 1]), ([0.25, 0.75], [0, 0]),
                     ([1e-30, 0.25, 0.75], [2, 1, 0]), ([0.125] * 8, [5, 1, 0, 9, 2, 2, 0, 1]), ([0.2, 0.3, 0.5], [200, 310, 490]),
                     ([0.0, 1.0], [1, 2]), ([1.0], [4])]:
        n = sum(y)
        value = loggamma(mpf(n) + 1) + sum(xlog(c, mpf(p)) - loggamma(mpf(c) + 1) for c, p in zip(y, theta))
        t.add("multinomial", "lpdf", y, [n, theta], value, loggamma(mpf(n) + 1))
    covariances = {
        1: [[4.0], [1e-40], [1e40]],
        2: [[1.0, 0.0, 0.0, 1.0], [2.0, 0.5, 0.5, 1.0], [1.0, 0.999, 0.999, 1.0], [1e30, 0.0, 0.0, 1e-30]],
        3: [[2.0, 0.5, 0.25, 0.5, 1.0, -0.25, 0.25, -0.25, 3.0]],
        4: [[4.0, 1.0, 0.5, 0.25, 1.0, 3.0, 0.75, 0.5, 0.5, 0.75, 2.0, 0.25, 0.25, 0.5, 0.25, 1.0]],
    }
    for d, list_ in covariances.items():
        for s in list_:
            for y, mu in points(d, 0.0):
                t.add("multi_normal", "lpdf", y, [mu, s], multi_normal_lpdf(y, mu, s))
    factors = {
        1: [[2.0], [1e-30], [1e30]],
        2: [[1.0, 0.0, 0.0, 1.0], [1.5, 0.0, -0.5, 0.25], [1e-30, 0.0, 0.0, 1e30]],
        3: [[1.0, 0.0, 0.0, 0.5, 2.0, 0.0, -0.25, 0.75, 0.5]],
    }
    for d, list_ in factors.items():
        for f in list_:
            s = [sum(mpf(f[i * d + k]) * mpf(f[j * d + k]) for k in range(d)) for i in range(d) for j in range(d)]
            for y, mu in points(d, 0.5):
                t.add("multi_normal_cholesky", "lpdf", y, [mu, f], multi_normal_lpdf(y, mu, s))
    lower = {
        1: [[1.0]],
        2: [[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.6, 0.8], [1.0, 0.0, -0.28, 0.96]],
        3: [[1.0, 0.0, 0.0, 0.6, 0.8, 0.0, 0.0, -0.28, 0.96], [1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0], [1.0, 0, 0, 0.8, 0.6, 0, 0.48, 0.6, 0.64]],
        4: [[1.0, 0, 0, 0, 0.6, 0.8, 0, 0, 0.48, 0.6, 0.64, 0, 0.1, -0.1, 0.7, 0.7]],
        5: [[1.0 if i == j else 0.0 for i in range(5) for j in range(5)]],
    }
    for size, list_ in lower.items():
        for f in list_:
            for eta in [1e-3, 0.5, 1.0, 2.0, 4.5, 50.0, 1e4]:
                t.add("lkj_corr_cholesky", "lpdf", f, [eta], lkj_lpdf(f, size, eta))
    walks = [([0.5, 1.0, 0.7], 0.5, 0.0, 0.5), ([0.5, 1.0, 0.7], 0.5, 0.0, 3.0), ([2.0], 0.1, 1.5, 2.0), ([0.0, 0.0], 1e-30, 0.0, 1.0),
             ([1e30, 2e30, -1e30], 1e30, 0.0, 1e30), ([0.1, -0.4, 1.3, 1.2, 0.9, -2.0], 0.8, -0.3, 0.01)]
    for y, sigma, mean, scale in walks:
        value = normal_lpdf(y[0], mean, scale) + sum(normal_lpdf(b, a, sigma) for a, b in zip(y, y[1:]))
        t.add("gaussian_random_walk", "lpdf", y, [sigma, scale, mean], value)
    series = [([0.3, 0.8, -0.1, 0.4, 1.0], [0.5], 0.7, 0.1, 0.0, 0.7), ([0.3, 0.8, -0.1, 0.4, 1.0], [0.5, -0.25], 0.7, 0.1, 0.2, 2.0),
              ([0.3, 0.8], [0.5, 0.1], 1.5, 9.0, 0.0, 1.5), ([1.0, -1.0, 2.0], [], 2.0, 0.5, 0.0, 2.0),
              ([1e-30, 3e-30, 2e-30], [0.9], 1e-30, 0.0, 0.0, 1e-30), ([5.0, 4.0, 3.5, 3.0, 9.0, 1.0, 0.0], [1.1, -0.5, 0.3], 0.25, -1.0, 5.0, 1.0)]
    for y, phi, sigma, constant, mean, scale in series:
        p = len(phi)
        value = sum(normal_lpdf(v, mean, scale) for v in y[:p])
        for k in range(p, len(y)):
            centre = mpf(constant) + sum(mpf(phi[j]) * mpf(y[k - 1 - j]) for j in range(p))
            value += normal_lpdf(y[k], centre, sigma)
        t.add("ar", "lpdf", y, [phi, sigma, constant, mean, scale], value)
    t.write()


discrete()
multivariate()
