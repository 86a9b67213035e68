"""Log densities and distribution functions by SciPy: writes golden_densities.txt beside this file.

Rows as in golden.py. Run with NumPy and SciPy: python golden_densities.py
"""
import pathlib

import numpy as np
from scipy import integrate, linalg, special, stats

from golden import Arg, i, ia, m, r, ra, rv, text, v, va  # noqa: F401

ROWS = []


def row(name, args, value):
    ROWS.append(" | ".join([name, "; ".join(text(a.kind, a.value) for a in args), text("value", value)]))


def continuous(name, ys, parameters, dist, tails=True, strict=True):
    """Scalar, vectorised outcome, vectorised first parameter."""
    ys = np.asarray(ys, dtype=float)
    args = [r(p) for p in parameters]
    row(f"{name}_lpdf", [v(ys), *args], dist.logpdf(ys).sum())
    for y in ys[:2]:
        row(f"{name}_lpdf", [r(y), *args], dist.logpdf(y))
    if tails:
        y = ys[0]
        row(f"{name}_lcdf", [r(y), *args], dist.logcdf(y))
        row(f"{name}_lccdf", [r(y), *args], dist.logsf(y))
        row(f"{name}_cdf", [v(ys), *args], dist.cdf(ys).prod())


def counts(name, ys, args, dist, tails=True):
    ys = np.asarray(ys)
    row(f"{name}_lpmf", [ia(ys), *args], dist.logpmf(ys).sum())
    row(f"{name}_lpmf", [i(ys[0]), *args], dist.logpmf(ys[0]))
    if tails:
        row(f"{name}_lcdf", [i(ys[0]), *args], dist.logcdf(ys[0]))
        row(f"{name}_lccdf", [i(ys[0]), *args], dist.logsf(ys[0]))
        row(f"{name}_cdf", [i(ys[0]), *args], dist.cdf(ys[0]))


continuous("normal", [0.4, -1.3], [0.2, 1.4], stats.norm(0.2, 1.4))
row("std_normal_lpdf", [v([0.4, -1.3])], stats.norm.logpdf([0.4, -1.3]).sum())
row("std_normal_lcdf", [v([0.4, -1.3])], stats.norm.logcdf([0.4, -1.3]).sum())
continuous("student_t", [0.4, -1.3], [4.2, 0.2, 1.4], stats.t(4.2, 0.2, 1.4))
continuous("cauchy", [0.4, -1.3], [0.2, 1.4], stats.cauchy(0.2, 1.4))
continuous("double_exponential", [0.4, -1.3], [0.2, 1.4], stats.laplace(0.2, 1.4))
continuous("logistic", [0.4, -1.3], [0.2, 1.4], stats.logistic(0.2, 1.4))
continuous("gumbel", [0.4, -1.3], [0.2, 1.4], stats.gumbel_r(0.2, 1.4))
continuous("lognormal", [0.4, 3.3], [0.2, 1.4], stats.lognorm(1.4, scale=np.exp(0.2)))
continuous("chi_square", [0.4, 3.3], [2.7], stats.chi2(2.7))
continuous("inv_chi_square", [0.4, 3.3], [2.7], stats.invgamma(1.35, scale=0.5))
continuous("scaled_inv_chi_square", [0.4, 3.3], [2.7, 1.3], stats.invgamma(1.35, scale=1.35 * 1.69))
continuous("exponential", [0.4, 3.3], [0.7], stats.expon(scale=1 / 0.7))
continuous("gamma", [0.4, 3.3], [2.1, 0.7], stats.gamma(2.1, scale=1 / 0.7))
continuous("inv_gamma", [0.4, 3.3], [2.1, 0.7], stats.invgamma(2.1, scale=0.7))
continuous("weibull", [0.4, 3.3], [1.6, 0.7], stats.weibull_min(1.6, scale=0.7))
continuous("frechet", [0.4, 3.3], [1.6, 0.7], stats.invweibull(1.6, scale=0.7))
continuous("rayleigh", [0.4, 3.3], [1.3], stats.rayleigh(scale=1.3))
continuous("loglogistic", [0.4, 3.3], [1.3, 2.2], stats.fisk(2.2, scale=1.3))
continuous("pareto", [1.4, 3.3], [0.9, 2.2], stats.pareto(2.2, scale=0.9))
continuous("pareto_type_2", [1.4, 3.3], [0.3, 1.7, 2.2], stats.lomax(2.2, loc=0.3, scale=1.7))
continuous("beta", [0.3, 0.85], [1.7, 2.4], stats.beta(1.7, 2.4))
continuous("beta_proportion", [0.3, 0.85], [0.4, 3.1], stats.beta(0.4 * 3.1, 0.6 * 3.1))
continuous("uniform", [0.3, 0.85], [-0.5, 2.0], stats.uniform(-0.5, 2.5))
continuous("von_mises", [0.3, -2.5], [0.4, 1.9], stats.vonmises(1.9, loc=0.4), tails=False)
continuous("skew_normal", [0.3, -0.9], [0.2, 1.4, 1.8], stats.skewnorm(1.8, 0.2, 1.4))
continuous("exp_mod_normal", [0.3, -0.9], [0.2, 1.4, 0.8], stats.exponnorm(1 / (1.4 * 0.8), 0.2, 1.4))


class SkewLaplace:
    """Stan's skew_double_exponential(mu, sigma, tau)."""
    mu, sigma, tau = 0.2, 1.4, 0.35

    def logpdf(self, y):
        below, above = np.maximum(self.mu - y, 0), np.maximum(y - self.mu, 0)
        cost = 2 / self.sigma * ((1 - self.tau) * below + self.tau * above)
        return np.log(2 * self.tau * (1 - self.tau) / self.sigma) - cost

    def cdf(self, y):
        below = self.tau * np.exp(-2 / self.sigma * (1 - self.tau) * np.maximum(self.mu - y, 0))
        above = 1 - (1 - self.tau) * np.exp(-2 / self.sigma * self.tau * np.maximum(y - self.mu, 0))
        return np.where(y < self.mu, below, above)

    def logcdf(self, y): return np.log(self.cdf(y))
    def logsf(self, y): return np.log1p(-self.cdf(y))


continuous("skew_double_exponential", [0.9, -0.9], [0.2, 1.4, 0.35], SkewLaplace())
row("normal_lpdf", [v([0.4, -1.3]), v([0.1, 0.2]), v([0.8, 1.9])],
    stats.norm.logpdf([0.4, -1.3], [0.1, 0.2], [0.8, 1.9]).sum())

counts("bernoulli", [1, 0, 1], [r(0.3)], stats.bernoulli(0.3), tails=False)
row("bernoulli_lcdf", [i(0), r(0.3)], np.log(0.7))
counts("bernoulli_logit", [1, 0, 1], [r(-0.4)], stats.bernoulli(special.expit(-0.4)), tails=False)
row("bernoulli_logit_lpmf", [ia([1, 0]), v([-0.4, 0.9])],
    special.log_expit(-0.4) + special.log_expit(-0.9))
counts("binomial", [3, 0], [i(7), r(0.3)], stats.binom(7, 0.3))
counts("binomial_logit", [3, 0], [i(7), r(-0.4)], stats.binom(7, special.expit(-0.4)), tails=False)
counts("beta_binomial", [3, 0], [i(7), r(1.3), r(2.2)], stats.betabinom(7, 1.3, 2.2))
counts("poisson", [3, 0], [r(2.3)], stats.poisson(2.3))
counts("poisson_log", [3, 0], [r(0.8)], stats.poisson(np.exp(0.8)), tails=False)
counts("neg_binomial", [3, 0], [r(2.3), r(1.4)], stats.nbinom(2.3, 1.4 / 2.4))
counts("neg_binomial_2", [3, 0], [r(3.1), r(1.4)], stats.nbinom(1.4, 1.4 / 4.5))
counts("neg_binomial_2_log", [3, 0], [r(0.8), r(1.4)], stats.nbinom(1.4, 1.4 / (1.4 + np.exp(0.8))), tails=False)


class BetaNegativeBinomial:
    """A negative binomial of which the probability is beta(1.4, 1.9) distributed, by quadrature."""
    def logpmf(self, ys):
        mass = lambda y: integrate.quad(
            lambda p: stats.nbinom.pmf(y, 2.3, p) * stats.beta.pdf(p, 1.4, 1.9), 0, 1, epsabs=0, epsrel=1e-13)[0]
        return np.log(np.vectorize(mass)(ys))

    def cdf(self, y): return np.exp(self.logpmf(np.arange(y + 1))).sum()
    def logcdf(self, y): return np.log(self.cdf(y))
    def logsf(self, y): return np.log1p(-self.cdf(y))


counts("beta_neg_binomial", [3, 0], [r(2.3), r(1.4), r(1.9)], BetaNegativeBinomial())
counts("yule_simon", [3, 1], [r(2.3)], stats.yulesimon(2.3))
counts("hypergeometric", [2, 1], [i(5), i(6), i(9)], stats.hypergeom(15, 6, 5), tails=False)
counts("discrete_range", [3, 5], [i(2), i(8)], stats.randint(2, 9))
theta = np.array([0.2, 0.5, 0.3])
beta = np.array([0.4, -1.1, 0.9])
row("categorical_lpmf", [i(2), v(theta)], np.log(0.5))
row("categorical_lpmf", [ia([3, 1]), v(theta)], np.log(0.3 * 0.2))
row("categorical_logit_lpmf", [ia([3, 1]), v(beta)], special.log_softmax(beta)[[2, 0]].sum())
cuts = np.array([-0.8, 0.3, 1.9])


def ordered(cdf, y, eta):
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    return np.log(cdf(ends[y] - eta) - cdf(ends[y - 1] - eta))


for y in (1, 2, 4):
    row("ordered_logistic_lpmf", [i(y), r(0.6), v(cuts)], ordered(special.expit, y, 0.6))
    row("ordered_probit_lpmf", [i(y), r(0.6), v(cuts)], ordered(special.ndtr, y, 0.6))
row("ordered_logistic_lpmf", [ia([1, 3]), v([0.6, -0.4]), v(cuts)],
    ordered(special.expit, 1, 0.6) + ordered(special.expit, 3, -0.4))
y3 = np.array([2, 0, 3])
row("multinomial_lpmf", [ia(y3), v(theta)], stats.multinomial(5, theta).logpmf(y3))
row("multinomial_logit_lpmf", [ia(y3), v(beta)], stats.multinomial(5, special.softmax(beta)).logpmf(y3))
row("dirichlet_multinomial_lpmf", [ia(y3), v([1.2, 0.4, 2.2])],
    stats.dirichlet_multinomial([1.2, 0.4, 2.2], 5).logpmf(y3))
row("dirichlet_lpdf", [v(theta), v([1.2, 0.4, 2.2])],
    (np.array([0.2, -0.6, 1.2]) * np.log(theta)).sum() + special.gammaln(3.8) - special.gammaln([1.2, 0.4, 2.2]).sum())

X = np.array([[1.2, -0.4], [0.5, 2.0], [-0.7, 0.9]])
b = np.array([0.6, -0.3])
eta = 0.2 + X @ b
row("normal_id_glm_lpdf", [v([0.4, -1.3, 0.8]), m(X), r(0.2), v(b), r(1.4)],
    stats.norm.logpdf([0.4, -1.3, 0.8], eta, 1.4).sum())
row("normal_id_glm_lpdf", [v([0.4, -1.3, 0.8]), m(X), v([0.2, 0.1, -0.5]), v(b), r(1.4)],
    stats.norm.logpdf([0.4, -1.3, 0.8], X @ b + [0.2, 0.1, -0.5], 1.4).sum())
row("bernoulli_logit_glm_lpmf", [ia([1, 0, 1]), m(X), r(0.2), v(b)],
    stats.bernoulli.logpmf([1, 0, 1], special.expit(eta)).sum())
row("bernoulli_logit_glm_lpmf", [ia([1, 0, 1]), rv(X[0]), r(0.2), v(b)],
    stats.bernoulli.logpmf([1, 0, 1], special.expit(eta[0])).sum())
row("poisson_log_glm_lpmf", [ia([1, 0, 4]), m(X), r(0.2), v(b)], stats.poisson.logpmf([1, 0, 4], np.exp(eta)).sum())
row("neg_binomial_2_log_glm_lpmf", [ia([1, 0, 4]), m(X), r(0.2), v(b), r(1.4)],
    stats.nbinom.logpmf([1, 0, 4], 1.4, 1.4 / (1.4 + np.exp(eta))).sum())
row("binomial_logit_glm_lpmf", [ia([1, 0, 4]), ia([3, 2, 6]), m(X), r(0.2), v(b)],
    stats.binom.logpmf([1, 0, 4], [3, 2, 6], special.expit(eta)).sum())
B = np.array([[0.6, -0.3, 0.1], [0.2, 0.9, -0.8]])
logits = beta + X @ B
row("categorical_logit_glm_lpmf", [ia([1, 3, 2]), m(X), v(beta), m(B)],
    special.log_softmax(logits, axis=1)[[0, 1, 2], [0, 2, 1]].sum())
row("ordered_logistic_glm_lpmf", [ia([1, 3, 2]), m(X), v(b), v(cuts)],
    sum(ordered(special.expit, y, e) for y, e in zip([1, 3, 2], X @ b)))

S = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.4], [0.1, -0.4, 1.1]])
L = linalg.cholesky(S, lower=True)
y, mu = np.array([0.4, -1.3, 0.8]), np.array([0.1, 0.2, -0.5])
Y = np.stack([y, y[::-1] + 0.3])
mvn = stats.multivariate_normal(mu, S)
row("multi_normal_lpdf", [v(y), v(mu), m(S)], mvn.logpdf(y))
row("multi_normal_lpdf", [va(Y), v(mu), m(S)], mvn.logpdf(Y).sum())
row("multi_normal_cholesky_lpdf", [v(y), v(mu), m(L)], mvn.logpdf(y))
row("multi_normal_cholesky_lpdf", [va(Y), va(Y[::-1] * 0.3), m(L)],
    sum(stats.multivariate_normal(q, S).logpdf(p) for p, q in zip(Y, Y[::-1] * 0.3)))
row("multi_normal_prec_lpdf", [v(y), v(mu), m(S)], stats.multivariate_normal(mu, linalg.inv(S)).logpdf(y))
row("multi_normal_prec_lpdf", [va(Y), v(mu), m(S)], stats.multivariate_normal(mu, linalg.inv(S)).logpdf(Y).sum())
mvt = stats.multivariate_t(mu, S, df=4.3)
row("multi_student_t_lpdf", [v(y), r(4.3), v(mu), m(S)], mvt.logpdf(y))
row("multi_student_t_lpdf", [va(Y), r(4.3), v(mu), m(S)], mvt.logpdf(Y).sum())
row("multi_student_t_cholesky_lpdf", [v(y), r(4.3), v(mu), m(L)], mvt.logpdf(y))
w = np.array([0.7, 1.9])
gp = sum(stats.multivariate_normal(np.zeros(3), S / k).logpdf(p) for p, k in zip(Y, w))
row("multi_gp_lpdf", [m(Y), m(S), v(w)], gp)
row("multi_gp_cholesky_lpdf", [m(Y), m(L), v(w)], gp)
W = np.array([[1.4, -0.2, 0.3], [-0.2, 2.1, 0.5], [0.3, 0.5, 0.9]])
row("wishart_lpdf", [m(W), r(5.5), m(S)], stats.wishart(5.5, S).logpdf(W))
row("inv_wishart_lpdf", [m(W), r(5.5), m(S)], stats.invwishart(5.5, S).logpdf(W))
LW = linalg.cholesky(W, lower=True)
slope = 3 * np.log(2) + (np.array([3, 2, 1]) * np.log(np.diag(LW))).sum()
row("wishart_cholesky_lpdf", [m(LW), r(5.5), m(L)], stats.wishart(5.5, S).logpdf(W) + slope)
row("inv_wishart_cholesky_lpdf", [m(LW), r(5.5), m(L)], stats.invwishart(5.5, S).logpdf(W) + slope)
C = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.45], [-0.2, 0.45, 1.0]])


def lkj_constant(n, shape):
    # As a product of beta functions, one a partial correlation (Lewandowski, Kurowicka and Joe 2009, equation 16).
    total = 0.0
    for k in range(1, n):
        total -= (n - k) * ((2 * shape - 2 + n - k) * np.log(2) + special.betaln(
            shape + 0.5 * (n - k - 1), shape + 0.5 * (n - k - 1)))
    return total


LC = linalg.cholesky(C, lower=True)
row("lkj_corr_lpdf", [m(C), r(1.7)], lkj_constant(3, 1.7) + 0.7 * np.log(linalg.det(C)))
row("lkj_corr_cholesky_lpdf", [m(LC), r(1.7)], lkj_constant(3, 1.7) + 0.7 * np.log(linalg.det(C))
    + np.log(LC[1, 1]))
D = np.array([[1.3, 0.2], [0.2, 0.8]])
MU = np.outer([0.1, -0.4, 0.2], [1.0, -1.0])
row("matrix_normal_prec_lpdf", [m(Y.T), m(MU), m(S), m(D)],
    stats.matrix_normal(MU, linalg.inv(S), linalg.inv(D)).logpdf(Y.T))

# The dynamic linear model as one large normal vector.
F, G = np.array([[1.0, 0.4], [0.2, -0.7], [0.5, 0.1]]), np.array([[0.8, 0.1, 0.0], [0.0, 0.6, 0.3], [-0.2, 0.0, 0.9]])
V, m0 = D, np.array([0.3, -0.2, 0.1])
T = 4
obs = np.array([[0.4, -1.3, 0.8, 0.1], [0.2, 0.9, -0.5, 1.1]])


def dynamic(noise):
    means, state, power = [], m0, []
    cov = np.zeros((T * 3, T * 3))
    spread = W
    marginal = []
    for t in range(T):
        state, spread = G @ state, G @ spread @ G.T + S
        means.append(F.T @ state)
        marginal.append(spread)
    for t in range(T):
        block = marginal[t]
        for later in range(t, T):
            cov[later * 3:later * 3 + 3, t * 3:t * 3 + 3] = block
            cov[t * 3:t * 3 + 3, later * 3:later * 3 + 3] = block.T
            block = G @ block
    design = np.kron(np.eye(T), F)
    whole = design.T @ cov @ design + np.kron(np.eye(T), noise)
    return stats.multivariate_normal(np.concatenate(means), whole).logpdf(obs.T.ravel())


row("gaussian_dlm_obs_lpdf", [m(obs), m(F), m(G), m(V), m(S), v(m0), m(W)], dynamic(V))
row("gaussian_dlm_obs_lpdf", [m(obs), m(F), m(G), v([1.3, 0.8]), m(S), v(m0), m(W)], dynamic(np.diag([1.3, 0.8])))

def first_passage(y, alpha, tau, beta, delta, deviation=0.0):
    """The upper boundary's density by the series for small times with all terms that a double can hold."""
    t, w = y - tau, 1 - beta
    if t <= 0:
        return 0.0
    d, growth = alpha * w, 1 + deviation**2 * t
    tilt = (deviation**2 * d**2 + 2 * delta * d - delta**2 * t) / (2 * growth)
    u, k = t / alpha**2, np.arange(-60, 61)
    series = ((w + 2 * k) * np.exp(-((w + 2 * k) ** 2) / (2 * u))).sum() / np.sqrt(2 * np.pi * u**3)
    return float(np.exp(tilt) / np.sqrt(growth) / alpha**2 * series)


def averaged(y, alpha, tau, beta, delta, deviation, spread, width):
    inside = lambda b, t: first_passage(y, alpha, t, b, delta, deviation)  # noqa: E731
    last = min(tau + width, y)
    total = integrate.dblquad(inside, tau, last, beta - spread / 2, beta + spread / 2, epsabs=1e-13, epsrel=1e-12)[0]
    return total / (spread * width)


for y in [0.28, 0.6, 1.4, 3.3]:
    p = [1.3, 0.2, 0.4, 0.7]
    row("wiener_lpdf", [r(y), *map(r, p)], np.log(first_passage(y, *p)))
    row("wiener_lpdf", [r(y), *map(r, p), r(0.5)], np.log(first_passage(y, *p, 0.5)))
    if y != 1.4:
        row("wiener_lpdf", [r(y), *map(r, p), r(0.5), r(0.3), r(0.1)], np.log(averaged(y, *p, 0.5, 0.3, 0.1)))
ys = [0.9, 1.7]
row("wiener_lpdf", [v(ys), r(1.3), r(0.2), v([0.4, 0.6]), r(-0.7)],
    sum(np.log(first_passage(y, 1.3, 0.2, b, -0.7)) for y, b in zip(ys, [0.4, 0.6])))

pathlib.Path(__file__).with_name("golden_densities.txt").write_text("\n".join(ROWS) + "\n")
print(len(ROWS), "rows")
