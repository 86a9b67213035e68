"""Writes oracle.csv: log densities of whole models, written by hand with numpy and scipy.

Run: python oracle.py (needs numpy and scipy). Each function below is one model of `adversarial/oracle.rs`: it
gets the constrained values by name and returns the joint log density of the constrained values and the log
Jacobian of the map to them from the unconstrained vector (in closed form, from the constrained values).

Columns: model, log density, log density with Jacobian, values (name=v v v;name=...; row-major).
"""

import pathlib

import numpy as np
from scipy import stats
from scipy.special import betaln, expit, gammaln, log_softmax, logsumexp

MODELS = {}
log = np.log


def model(draw):
    def register(f):
        MODELS[f.__name__] = (draw, f)
        return f
    return register


norm = lambda y, m, s: stats.norm.logpdf(y, m, s).sum()
half_norm = lambda y, s: stats.halfnorm.logpdf(y, scale=s).sum()
softplus = lambda x: log(-np.expm1(-x))          # log slope of log(1 + e^z) at the value x
interval = lambda x, a, b: log((x - a) * (b - x) / (b - a)).sum()
positive = lambda rng: rng.uniform(0.3, 2.5)


@model(lambda r: dict(mu=r.normal(), tau=positive(r), theta=r.normal(size=8)))
def schools(mu, tau, theta):
    y = [28, 8, -3, 7, -1, 1, 18, 12]
    s = [15, 10, 16, 11, 9, 11, 10, 18]
    logp = norm(mu, 0, 5) + stats.halfcauchy.logpdf(tau, scale=5) + norm(theta, mu, tau) + norm(y, theta, s)
    return logp, log(tau) + 8 * log(tau)


X = np.array([[1, 0.5], [0.2, -1], [-0.7, 0.3], [1.5, 2], [0, 1]])
GROUP = np.array([0, 2, 1, 1, 0])
Y = np.array([0.3, -1.2, 0.8, 2.5, 0.1])


@model(lambda r: dict(alpha=r.normal(size=3), beta=r.normal(size=2), s=positive(r), sigma=positive(r)))
def groups(alpha, beta, s, sigma):
    logp = norm(alpha, 0, s) + stats.t.logpdf(beta, 4, 0, 2.5).sum() + half_norm(s, 1) - sigma
    return logp + norm(Y, alpha[GROUP] + X @ beta, sigma), 3 * log(s) + softplus(s) + log(sigma)


@model(lambda r: dict(b=r.normal(), cut=np.sort(r.normal(size=3))))
def ordered(b, cut):
    edges = np.concatenate([[-np.inf], cut, [np.inf]])
    k = np.array([0, 3, 1, 2, 1])
    eta = b * X[:, 1]
    p = expit(edges[k + 1] - eta) - expit(edges[k] - eta)
    return norm(b, 0, 2) + norm(cut, 0, 3) + log(p).sum(), log(np.diff(cut)).sum()


@model(lambda r: dict(w=r.dirichlet([2, 2, 2]), mu=np.sort(r.normal(size=3)), sigma=positive(r)))
def mixture(w, mu, sigma):
    parts = log(w) + stats.norm.logpdf(Y[:, None], mu, sigma)
    logp = stats.dirichlet.logpdf(w, [2, 3, 4]) + norm(mu, 0, 2) + stats.gamma.logpdf(sigma, 2, scale=1 / 3)
    return logp + logsumexp(parts, axis=1).sum(), log(w).sum() + log(np.diff(mu)).sum() + log(sigma)


@model(lambda r: dict(mu=r.normal(), z=r.uniform(-0.9, 1.9)))
def truncated(mu, z):
    base = lambda y, s: stats.norm.logpdf(y, mu, s)
    y = np.array([0.2, 1.7, 3.0])
    logp = norm(mu, 0, 1) + (base(y, 1.5) - stats.norm.logsf(0, mu, 1.5)).sum()
    top = mu + 4
    mass = stats.norm.cdf(top, mu, 2) - stats.norm.cdf(-1, mu, 2)
    return logp + base(z, 2) - log(mass), interval(z, -1, top)


@model(lambda r: dict(a=positive(r), x=r.uniform(0.1, 3, size=4)))
def missing(a, x):
    x[0], x[2] = 0.7, 1.9
    return -a + stats.gamma.logpdf(x, a, scale=1 / 1.5).sum(), log(a) + log(x[1]) + log(x[3])


@model(lambda r: dict(mu=r.normal(size=3), row=r.normal(size=2), s=positive(r), x=r.normal(size=(2, 3))))
def plates(mu, row, s, x):
    logp = norm(mu, 0, 1) + norm(row, 0, 2) + stats.lognorm.logpdf(s, 0.5) + norm(x, mu, s)
    y = np.array([[0.1, 0.2, 0.3], [1, 2, 3]])
    return logp + norm(y, x + row[:, None], 0.8), log(s) + 6 * log(s)


@model(lambda r: dict(a=positive(r), b=positive(r), c=r.uniform(0.1, 0.9), d=2 + positive(r), e=-positive(r)))
def transforms(a, b, c, d, e):
    logp = half_norm(a, 2) - 2 * b + log(2) + stats.beta.logpdf(c, 2, 3) + norm(d, 1, 2) + norm(e, a, 1)
    return logp, log(a) + softplus(b) + interval(c, 0, 1) + log(d - 2) + log(0.5 - e)


@model(lambda r: dict(a=r.normal(), b=r.normal(size=2), c=r.normal(size=2), d=r.normal(size=2),
                      s=positive(r), t=positive(r)))
def nested(a, b, c, d, s, t):
    logp = norm(a, 0, 1) + norm(b, a, s) + stats.laplace.logpdf(c, b, t).sum() + norm(d, c, s * t)
    logp += half_norm(s, 1) + stats.weibull_min.logpdf(t, 2, scale=1.5) + norm([0.5, -0.5], d, 1)
    return logp, softplus(s) + log(t) + 2 * (log(s) + log(t) + log(s * t))


@model(lambda r: dict(a=r.uniform(-0.9, 0.9), b=r.uniform(1, 4), c=r.uniform(0.1, 0.9)))
def bounds(a, b, c):
    logp = -log(4) - log(5) + stats.beta.logpdf(c, 2, b) + norm(0.5, a * b, c)
    return logp, interval(a, -1, 3) + interval(b, a, a + 5) + interval(c, 0, 1)


@model(lambda r: dict(theta=r.normal(size=3), s=positive(r)))
def indices(theta, s):
    k = np.array([1, 3, 2, 3]) - 1
    return norm(theta, 0, 1) + half_norm(s, 1) + norm([0, 1, 2, 3], theta[k], s), softplus(s)


@model(lambda r: dict(x=r.normal(size=3), s=positive(r)))
def potential(x, s):
    return norm(x, 0, s) - s - 0.3 * (x**2).sum() + np.logaddexp(x[0], s), log(s) + 3 * log(s)


@model(lambda r: dict(b=positive(r), x=r.uniform(0.1, 2, size=2)))
def custom(b, x):
    gompertz = lambda v: (log(b) + v - b * np.expm1(v)).sum()
    return -b + gompertz(x) + gompertz(np.array([0.3, 0.9, 1.4])), log(b) + log(x).sum()


@model(lambda r: dict(b=r.normal(), x=r.uniform(0.5, 2)))
def slope(b, x):
    # y = a x + b with a exponential: a is solved for
    a = (1.7 - b) / x
    logp = (-a if a >= 0 else -np.inf) + norm(b, 0, 1) + stats.t.logpdf(x, 5)
    return logp - log(abs(x)), 0


def factor(r):
    c = np.corrcoef(r.normal(size=(3, 6)))
    return np.linalg.cholesky(c)


@model(lambda r: dict(L=factor(r), mu=r.normal(size=3), scale=r.uniform(0.4, 2, size=3)))
def lkj(L, mu, scale):
    K, eta = 3, 1.5
    c = (K - 1) * gammaln(eta + (K - 1) / 2)
    c -= sum(k / 2 * log(np.pi) + gammaln(eta + (K - 1 - k) / 2) for k in range(1, K))
    logp = c + sum((K - k + 2 * eta - 2) * log(L[k - 1, k - 1]) for k in range(2, K + 1))
    logp += norm(mu, 0, 2) + stats.lognorm.logpdf(scale, 0.5).sum()
    S = scale[:, None] * L
    rows = np.array([[0.1, 0.4, -1], [1, 2, 0], [0.3, 0.1, 0.2], [-1, -1, 1]])
    logp += stats.multivariate_normal.logpdf(rows, mu, S @ S.T).sum()
    jacobian = log(scale).sum()
    for i in range(1, K):
        for j in range(i):
            w = L[i, j] / np.sqrt(1 - (L[i, :j] ** 2).sum())
            jacobian += (1 + (i - 1 - j) / 2) * np.log1p(-w * w)
    return logp, jacobian


@model(lambda r: dict(phi=r.normal(size=2) * 0.4, sigma=positive(r), c=r.normal()))
def autoregression(phi, sigma, c):
    y = np.array([0.3, 0.1, -0.4, 0.9, 1.1, 0.2])
    logp = norm(phi, 0, 0.5) + half_norm(sigma, 1) + norm(c, 0, 1) + norm(y[:2], 0, sigma)
    mean = c + phi[0] * y[1:-1] + phi[1] * y[:-2]
    return logp + norm(y[2:], mean, sigma), softplus(sigma)


@model(lambda r: dict(s=positive(r), x=r.normal(size=5)))
def walk(s, x):
    logp = half_norm(s, 1) + norm(x[0], 0, 1.2) + norm(np.diff(x), 0, s)
    return logp + stats.poisson.logpmf([0, 1, 3, 2, 5], np.exp(x)).sum(), softplus(s)


@model(lambda r: dict(s=positive(r), mu=r.normal()))
def matrix(s, mu):
    A = np.array([[2, 1], [0, 3.0]])
    logp = half_norm(s, 1) + norm(mu, 0, 1)
    x = np.linalg.solve(A, np.array([1, 1.5]) - mu)
    return logp + norm(x, 0, s) - log(6), softplus(s)


@model(lambda r: dict(p=r.uniform(0.1, 0.9), m=positive(r), phi=positive(r)))
def counts(p, m, phi):
    k = np.array([0, 3, 0, 1])
    zip_ = np.where(k == 0, log(p + (1 - p) * np.exp(-m)), np.log1p(-p) + stats.poisson.logpmf(k, m))
    logp = stats.beta.logpdf(p, 1, 2) + stats.gamma.logpdf(m, 2) - phi
    logp += (np.array([1, 0.5, 2, 1]) * zip_).sum()
    nb = gammaln(k + phi) - gammaln(phi) - gammaln(k + 1) + phi * log(phi / (phi + m)) + k * log(m / (m + phi))
    logp += nb[[0, 1, 3]].sum()
    return logp, interval(p, 0, 1) + log(m) + log(phi)


@model(lambda r: dict(k=positive(r), s=positive(r)))
def lifetimes(k, s):
    w = stats.weibull_min(k, scale=s)
    logp = -k - s + w.logpdf(0.5) + w.logsf(1.2) + w.logcdf(0.3) + log(w.cdf(2) - w.cdf(1))
    return logp, log(k) + log(s)


@model(lambda r: dict(B=r.normal(size=(2, 3))))
def softmax(B):
    k = np.array([0, 2, 1, 1, 0])
    return norm(B, 0, 1) + log_softmax(X @ B, axis=1)[np.arange(5), k].sum(), 0


@model(lambda r: dict(t=r.uniform(-3, 3), kappa=positive(r), xi=r.normal(), g=r.normal()))
def directions(t, kappa, xi, g):
    logp = stats.vonmises.logpdf(t, 2, loc=0.5) - kappa + stats.skewnorm.logpdf(xi, 2, 0.5, 1.5)
    logp += stats.gumbel_r.logpdf(g, xi, 2) + stats.vonmises.logpdf([0.1, -2], kappa, loc=t).sum()
    return logp, interval(t, -np.pi, np.pi) + log(kappa)


@model(lambda r: dict(p=r.uniform(0.1, 0.9), a=positive(r), q=r.uniform(1.1, 4), u=r.normal()))
def trials(p, a, q, u):
    n, k = np.array([5, 9]), np.array([2, 9])
    logp = stats.beta.logpdf(p, a, 2) + stats.invgamma.logpdf(a, 3, scale=2)
    logp += stats.binom.logpmf(k, n, p).sum() + stats.pareto.logpdf(q, a)
    logp += stats.logistic.logpdf(u, 0, 1) + stats.bernoulli.logpmf([0, 1, 1], expit(u)).sum()
    return logp, interval(p, 0, 1) + log(a) + log(q - 1)


@model(lambda r: dict(b=r.normal(), c=r.normal()))
def sums(b, c):
    # a + b is observed; a is solved for, because c refers to b
    return norm(1.5 - b, 0, 1) + norm(b, 0, 2) + norm(c, b, 1.3), 0


def main():
    lines = ["model,logp,logp_jacobian,values"]
    for number, (name, (draw, density)) in enumerate(MODELS.items()):
        rng = np.random.default_rng(number)
        found = 0
        while found < 3:
            values = draw(rng)
            logp, jacobian = density(**values)
            if not np.isfinite(logp):
                continue
            found += 1
            text = ";".join(
                f"{k}=" + " ".join(repr(float(x)) for x in np.ravel(v)) for k, v in values.items()
            )
            lines.append(f"{name},{float(logp)!r},{float(logp + jacobian)!r},{text}")
    pathlib.Path(__file__).with_name("oracle.csv").write_text("\n".join(lines) + "\n")


main()
