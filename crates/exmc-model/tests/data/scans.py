"""Log densities and gradients of the corpus models `scan_*.json` with 40 digits -> scans.csv.

Written from the models' formulas, one step after the other; derivatives are mpmath's. Needs mpmath.
Rows: model, position (names in order), log density, gradient.
"""
import csv
from mpmath import mp, mpf, exp, log, tanh, diff

mp.dps = 40
y = [mpf(v) for v in ("0.5", "-1.25", "2", "0.75", "-0.5", "1.5")]


def normal(x, scale):
    return -(x / scale) ** 2 / 2 - log(mpf(scale)) - log(2 * mp.pi) / 2


def arma(log_sigma, mu, phi, theta):
    total = normal(mu, 10) + normal(phi, 2) + normal(theta, 2) + normal(log_sigma, 1)
    error = mpf(0)
    for t in range(1, 6):
        error = y[t] - (mu + phi * y[t - 1] + theta * error)
        total -= (error / exp(log_sigma)) ** 2 / 2 + log_sigma
    return total


def garch(log_a0, log_a1, log_b1, mu):
    total = normal(mu, 10) + sum(normal(x, 1) for x in (log_a0, log_a1, log_b1))
    h = mpf("1.5")
    for t in range(1, 6):
        h = exp(log_a0) + exp(log_a1) * (y[t - 1] - mu) ** 2 + exp(log_b1) * h
        total -= (log(h) + (y[t] - mu) ** 2 / h) / 2
    return total


def volatility(mu, phi, *z):
    total = normal(mu, 10) + normal(phi, 1) + sum(normal(x, 1) for x in z)
    h = mu
    for now, shock in zip(y, z):
        h = mu + phi * (h - mu) + mpf("0.3") * shock
        total -= (h + now ** 2 * exp(-h)) / 2
    return total


def hidden_markov(a, b, c, d, m0, m1):
    total = sum(normal(x, 1) for x in (a, b, c, d)) + normal(m0, 2) + normal(m1, 2)
    p = [[exp(a) / (exp(a) + exp(b)), exp(b) / (exp(a) + exp(b))],
         [exp(c) / (exp(c) + exp(d)), exp(d) / (exp(c) + exp(d))]]
    state, mu = [exp(mpf("-0.5")), exp(mpf(-1))], [m0, m1]
    for now in y:
        state = [sum(state[j] * p[j][k] for j in range(2)) * exp(-(now - mu[k]) ** 2 / 2) for k in range(2)]
    return total + log(sum(state))


def backwards(beta, rate):
    total = normal(beta, 1) + normal(rate, 1)
    level, trend, paths = mpf("0.25"), rate, [None] * 6
    for t in reversed(range(6)):
        paths[t] = level * trend
        level, trend = level / 2 + y[t] + beta * trend, tanh(trend + level / 10)
    x, growth = mpf("0.5"), mpf(0)
    for _ in range(4):
        growth += x
        x = exp(rate) * x * (1 - x)
    return total + paths[1] * growth - sum(p ** 2 for p in paths)


MODELS = {
    "scan_arma": (arma, ["0.25", "0.5", "-0.375", "0.75"]),
    "scan_garch": (garch, ["-0.5", "-1.25", "-0.75", "0.125"]),
    "scan_volatility": (volatility, ["0.5", "0.875", "0.25", "-1", "0.75", "1.5", "-0.625", "0.375"]),
    "scan_hidden_markov": (hidden_markov, ["0.5", "-0.25", "-1", "0.75", "-0.5", "1.25"]),
    "scan_backwards": (backwards, ["0.75", "-0.375"]),
}

with open("scans.csv", "w", newline="") as file:
    out = csv.writer(file, lineterminator="\n")
    for name, (f, text) in MODELS.items():
        at = [mpf(v) for v in text]
        order = lambda k: tuple(int(j == k) for j in range(len(at)))
        slopes = [diff(f, tuple(at), order(k)) for k in range(len(at))]
        number = lambda v: mp.nstr(v, 17)
        out.writerow([name, " ".join(text), number(f(*at)), " ".join(map(number, slopes))])
