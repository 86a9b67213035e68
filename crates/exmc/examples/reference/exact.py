"""Posterior means and standard deviations that the examples assert, by quadrature.

Independent of exmc: numpy and scipy only. Run `python exact.py`; it prints one block an example, each
number from two grids that differ in step and reach, so that agreeing digits can be trusted.

Method: the trapezoid rule over unconstrained coordinates, in axes that the posterior's own covariance
makes round (found by a first pass around the mode). For smooth densities that vanish at the grid's
edge its error falls faster than any power of the step.
"""

import itertools
import re
from pathlib import Path

import numpy as np
from scipy import integrate, optimize, special, stats

HERE = Path(__file__).parent


def numbers(file, name):
    """The Rust array `name` in a file beside the examples: data are written down once."""
    body = re.search(rf"{name}: \[[^\]]*\] =\s*\[(.*?)\];", (HERE.parent / file).read_text(), re.S)
    return np.array([float(x) for x in re.findall(r"-?\d+\.?\d*(?!\d)", body.group(1))])


def normal(y, mu, sigma):
    return -0.5 * ((y - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)


def half_normal_on_log(log_x, scale):
    """log density of log x when x is half-normal: the Jacobian is log x."""
    return np.log(2) + normal(np.exp(log_x), 0.0, scale) + log_x


def grid_pass(logp, centre, factor, step, reach, values):
    """Means and covariance of `values(theta)` over a grid of spacing `step` and half-width `reach`."""
    ticks = np.arange(-reach, reach + step / 2, step)
    dim = len(centre)
    inner = np.array(list(itertools.product(ticks, repeat=dim - 1))).reshape(-1, dim - 1)
    peak, total, first, second = -np.inf, 0.0, 0.0, 0.0
    for tick in ticks:
        z = np.column_stack([np.full(len(inner), tick), inner])
        theta = centre + z @ factor.T
        lp = logp(theta.T)
        new_peak = max(peak, lp.max())
        shrink, w = np.exp(peak - new_peak), np.exp(lp - new_peak)
        v = values(theta.T)
        total = total * shrink + w.sum()
        first = first * shrink + v @ w
        second = second * shrink + (v * w) @ v.T
        peak = new_peak
    mean = first / total
    log_z = peak + np.log(total) + dim * np.log(step) + np.linalg.slogdet(factor)[1]
    return mean, second / total - np.outer(mean, mean), log_z


def report(title, logp, start, values, names, steps=((0.5, 7.0), (0.4, 8.0))):
    """Prints moments of `values` under exp(logp)."""
    f = lambda t: -logp(t[:, None])[0]
    centre = optimize.minimize(f, start, method="Nelder-Mead",
                               options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 10**5}).x
    h, eye = 1e-3, np.eye(len(start))
    second = lambda a, b: (f(centre + a + b) - f(centre + a - b) - f(centre - a + b)
                           + f(centre - a - b)) / (4 * h * h)
    cov = np.linalg.inv([[second(h * a, h * b) for b in eye] for a in eye])
    for _ in range(2):
        centre, cov, _ = grid_pass(logp, centre, np.linalg.cholesky(cov), 0.8, 6.0, lambda t: t)
    print(title)
    for step, reach in steps:
        mean, v, log_z = grid_pass(logp, centre, np.linalg.cholesky(cov), step, reach, values)
        cells = (f"{n} {m:.7g} ({s:.6g})" for n, m, s in zip(names, mean, np.sqrt(np.diag(v))))
        print("  " + ", ".join(cells), f"log Z {log_z:.6f}")


def conjugate():
    y = numbers("conjugate.rs", "Y")
    logp = lambda t: (normal(t[0], 0, 10) + half_normal_on_log(t[1], 2)
                      + sum(normal(v, t[0], np.exp(t[1])) for v in y))
    report("conjugate", logp, [2.3, -0.7], lambda t: np.stack([t[0], np.exp(t[1])]), ["mu", "sigma"],
           ((0.1, 14.0), (0.08, 18.0)))


def hierarchical_normal():
    y = numbers("hierarchical_normal.rs", "Y")
    # alpha and mu_group are normal given sigma_group: integrate them, then sigma_group alone.
    def given(scale):
        precision = np.array([[len(y) / 0.25 + scale**-2, -scale**-2], [-scale**-2, scale**-2 + 0.01]])
        cov = np.linalg.inv(precision)
        mean = cov @ [y.sum() / 0.25, 0.0]
        # evidence of the sufficient mean: y_bar ~ N(0, .25/n + scale^2 + 100)
        return normal(y.mean(), 0, np.sqrt(0.25 / len(y) + scale**2 + 100)), mean, cov
    density = lambda s: np.exp(given(s)[0]) * np.exp(-0.5 * (s / 5) ** 2)
    integral = lambda f: integrate.quad(lambda s: f(s) * density(s), 1e-9, 60, epsabs=0, epsrel=1e-11,
                                        limit=500)[0]
    z = integral(lambda s: 1.0)
    for k, name in enumerate(["alpha", "mu_group"]):
        m = integral(lambda s: given(s)[1][k]) / z
        v = integral(lambda s: given(s)[1][k] ** 2 + given(s)[2][k, k]) / z - m * m
        print(f"hierarchical_normal  {name} {m:.7g} ({v**.5:.6g})")
    m = integral(lambda s: s) / z
    print(f"  sigma_group {m:.7g} ({(integral(lambda s: s * s) / z - m * m) ** .5:.6g})")


def kilpisjarvi():
    y = numbers("kilpisjarvi.rs", "TEMPERATURE")
    x = np.arange(len(y)) - (len(y) - 1) / 2
    fit = stats.linregress(x, y)
    rss = ((y - fit.intercept - fit.slope * x) ** 2).sum()
    print("kilpisjarvi OLS", fit.intercept, fit.slope, fit.stderr, (rss / (len(y) - 2)) ** 0.5)
    def logp(t):
        residual = rss + len(y) * (fit.intercept - t[0]) ** 2 + (x @ x) * (fit.slope - t[1]) ** 2
        return (normal(t[0], 10, 5) + normal(t[1], 0, 0.1) + half_normal_on_log(t[2], 2)
                - len(y) * (t[2] + 0.5 * np.log(2 * np.pi)) - 0.5 * residual * np.exp(-2 * t[2]))
    def values(t):  # given the rest the slope is normal, which makes its sign's probability smooth
        precision = (x @ x) * np.exp(-2 * t[2]) + 100.0
        mean = fit.slope * (x @ x) * np.exp(-2 * t[2]) / precision
        return np.stack([t[0], t[1], np.exp(t[2]), special.ndtr(mean * np.sqrt(precision))])
    report("  Bayes", logp, [9.3, 0.02, 0.1], values, ["alpha", "beta", "sigma", "P(beta>0)"])


def nile_change_point():
    y = numbers("nile/mod.rs", "FLOW")
    n = len(y)
    def values(k):  # the first k years before the change
        a, b = y[:k], y[k:]
        def given(sigma):  # both means integrated
            log_z, moments = 0.0, []
            for part in (a, b):
                precision = len(part) / sigma**2 + 200.0**-2
                mean = (part.sum() / sigma**2 + 919.35 / 200**2) / precision
                log_z += (normal(part, 919.35, sigma).sum() + 0.5 * np.log(200.0**-2 / precision)
                          + 0.5 * precision * (mean - 919.35) ** 2)
                moments += [mean, mean**2 + 1 / precision]
            return log_z + normal(sigma, 0, 200), moments
        return given
    sigmas = np.linspace(80, 220, 1401)
    table = {k: [values(k)(s) for s in sigmas] for k in range(1, n)}
    logs = np.array([[c[0] for c in table[k]] for k in table])
    w = np.exp(logs - logs.max())
    w /= w.sum()
    years = 1870 + np.array(list(table))
    for year in (1896, 1897, 1898, 1899):
        print("nile_change_point", year, f"{w[years == year].sum():.6f}")
    moments = np.array([[c[1] for c in table[k]] for k in table])
    for name, i in (("mu1", 0), ("mu2", 2)):
        m, s = (w * moments[:, :, i]).sum(), (w * moments[:, :, i + 1]).sum()
        print(f"  {name} {m:.7g} ({(s - m * m) ** .5:.6g})")
    m = (w * sigmas).sum()
    year = (w.sum(1) * years).sum()
    print(f"  sigma {m:.7g} ({((w * sigmas**2).sum() - m * m) ** .5:.6g}), mean year {year:.6f}")


def kalman(y, observation, level, mean, variance):
    """Log likelihood, smoothed means and variances of a local level; NaN is missing."""
    n = len(y)
    log_z, filtered, predicted = 0.0, [], []
    for v in y:
        predicted.append((mean, variance))
        if not np.isnan(v):
            f = variance + observation
            log_z += normal(v, mean, np.sqrt(f))
            mean, variance = mean + variance / f * (v - mean), variance * observation / f
        filtered.append((mean, variance))
        variance = variance + level
    smooth = [filtered[-1]]
    for t in range(n - 2, -1, -1):
        (m, p), (mp, pp), (ms, vs) = filtered[t], predicted[t + 1], smooth[-1]
        gain = p / pp
        smooth.append((m + gain * (ms - mp), p + gain**2 * (vs - pp)))
    return log_z, np.array(smooth[::-1])


def nile_local_level():
    y = numbers("nile/mod.rs", "FLOW")
    log_z, s = kalman(y, 15098.5, 1469.1, 1000.0, 500.0**2)
    print("nile_local_level", log_z, *(f"{s[t, 0]:.6f} ({s[t, 1]**.5:.6f})" for t in (0, 27, 99)))
    # Unknown scales: the level integrated by the filter, the two scales on a grid.
    def logp(t):
        out = np.empty(t.shape[1])
        for i, (a, b) in enumerate(t.T):
            out[i] = kalman(y, np.exp(2 * a), np.exp(2 * b), 1000.0, 500.0**2)[0]
        return out + half_normal_on_log(t[0], 200) + half_normal_on_log(t[1], 100)
    report("  unknown", logp, [np.log(122), np.log(40)], lambda t: np.exp(t),
           ["noise", "step"], ((0.4, 6.0), (0.3, 8.0)))


def robust_regression():
    y = numbers("robust_regression.rs", "CALLS")
    x = np.arange(len(y)) - 11.5
    def logp(t, nu):
        scale = np.exp(t[2])
        lp = normal(t[0], 50, 50) + normal(t[1], 0, 10) + half_normal_on_log(t[2], 50)
        for a, b in zip(x, y):
            mu = t[0] + t[1] * a
            lp = lp + (normal(b, mu, scale) if nu is None else stats.t.logpdf(b, nu, mu, scale))
        return lp
    values = lambda t: np.stack([t[0], t[1], np.exp(t[2])])
    for nu, start in ((None, [50, 5, 4]), (1, [15, 1.1, 0.4])):
        report(f"robust_regression nu {nu}", lambda t: logp(t, nu), start, values,
               ["alpha", "beta", "sigma"], ((0.25, 12.0), (0.2, 15.0)))


def mixture():
    counts = numbers("mixture.rs", "COUNT")
    minutes = 43.0 + np.arange(len(counts))
    seen = counts > 0
    def logp(t):
        m1, gap, l1, l2, a = t
        m2 = m1 + np.exp(gap)
        s1, s2 = np.exp(l1), np.exp(l2)
        log_w, log_1w = -np.logaddexp(0, -a), -np.logaddexp(0, a)
        # dirichlet(2, 2) is beta(2, 2); logit's Jacobian makes the powers 2 and 2.
        lp = (normal(m1, 70, 20) + normal(m2, 70, 20) + gap + half_normal_on_log(l1, 20)
              + half_normal_on_log(l2, 20) + 2 * log_w + 2 * log_1w)
        for v, c in zip(minutes[seen], counts[seen]):
            lp = lp + c * np.logaddexp(log_w + normal(v, m1, s1), log_1w + normal(v, m2, s2))
        return lp
    values = lambda t: np.stack([t[0], t[0] + np.exp(t[1]), np.exp(t[2]), np.exp(t[3]),
                                 special.expit(t[4])])
    report("mixture", logp, [54.6, np.log(25.5), np.log(5.9), np.log(5.9), -0.6], values,
           ["mu0", "mu1", "sigma0", "sigma1", "weight0"], ((0.9, 6.0), (0.75, 6.0)))


def logistic_regression():
    admitted, applied = (numbers("logistic_regression.rs", n) for n in ("ADMITTED", "APPLIED"))
    men = 1.0 - np.arange(12) % 2
    binomial = lambda k, n, eta: k * eta - n * np.logaddexp(0, eta) + special.gammaln(n + 1) \
        - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    pooled = lambda t: (normal(t[0], 0, 2) + normal(t[1], 0, 2)
                        + sum(binomial(k, n, t[0] + t[1] * m) for k, n, m in zip(admitted, applied, men)))
    report("logistic_regression pooled", pooled, [-0.8, 0.6], lambda t: t, ["alpha", "beta"])
    # By department: given beta the six intercepts are independent, one integral each.
    ticks = np.linspace(-8, 8, 6401)
    def inner(beta):
        log_z, means = normal(beta, 0, 2), []
        for d in range(6):
            lp = normal(ticks, 0, 2)
            for r in (2 * d, 2 * d + 1):
                lp = lp + binomial(admitted[r], applied[r], ticks + beta * men[r])
            w = np.exp(lp - lp.max())
            log_z += lp.max() + np.log(w.sum() * (ticks[1] - ticks[0]))
            means.append([(ticks * w).sum() / w.sum(), (ticks**2 * w).sum() / w.sum()])
        return log_z, np.array(means)
    betas = np.linspace(-0.9, 0.7, 321)
    inners = [inner(b) for b in betas]
    w = np.exp([i[0] for i in inners] - max(i[0] for i in inners))
    w /= w.sum()
    m = w @ betas
    print(f"  by department beta {m:.7g} ({(w @ betas**2 - m * m) ** .5:.6g})")
    for d in range(6):
        a, b = (sum(v * i[1][d, j] for v, i in zip(w, inners)) for j in (0, 1))
        print(f"    alpha{d} {a:.7g} ({(b - a * a) ** .5:.6g})")


def censored_weibull():
    t6, c6, t0 = (numbers("censored_weibull.rs", n) for n in ("TREATED", "CENSORED", "CONTROL"))
    def logp(t, use_codes):
        shape = np.exp(t[0])
        lp = normal(t[0], 0, 1) + normal(t[1], 2, 2) + normal(t[2], 0, 2)
        for weeks, code, treated in [(w, c, 1) for w, c in zip(t6, c6)] + [(w, 0, 0) for w in t0]:
            log_ratio = np.log(weeks) - (t[1] + t[2] * treated)
            lp = lp - np.exp(shape * log_ratio)
            if not (use_codes and code):
                lp = lp + t[0] + (shape - 1) * log_ratio - (t[1] + t[2] * treated)
        return lp
    values = lambda t: np.stack([np.exp(t[0]), t[1], t[2]])
    for use in (True, False):
        report(f"censored_weibull, censoring {'kept' if use else 'ignored'}", lambda t: logp(t, use),
               [0.3, 2.2, 1.2], values, ["shape", "alpha", "beta"], ((0.2, 8.0), (0.15, 9.0)))
    fit = optimize.minimize(lambda t: -(logp(t[:, None], True)[0] - normal(t[0], 0, 1)
                                        - normal(t[1], 2, 2) - normal(t[2], 0, 2)), [0.3, 2.2, 1.2])
    print("  maximum likelihood: shape, alpha, beta", np.exp(fit.x[0]), *fit.x[1:])


def imputation():
    text = (HERE.parent / "imputation.rs").read_text()
    def column(name):
        body = re.search(rf"{name}: \[[^\]]*\] =\s*\[(.*?)\];", text, re.S).group(1)
        return np.array([float(m.group(1) or "nan") for m in re.finditer(r"NA|Some\(([\d.]+)\)", body)])
    bmi, chl = column("BMI"), column("CHOLESTEROL")
    pairs = [(b - 26.5, c) for b, c in zip(bmi, chl)]
    def logp(t):
        m, ls, a, b, lt = t
        s, tau = np.exp(ls), np.exp(lt)
        lp = (normal(m, 0, 10) + half_normal_on_log(ls, 10) + normal(a, 200, 50) + normal(b, 0, 10)
              + half_normal_on_log(lt, 50))
        for x, y in pairs:
            if not np.isnan(x):
                lp = lp + normal(x, m, s)
                if not np.isnan(y):
                    lp = lp + normal(y, a + b * x, tau)
            elif not np.isnan(y):
                lp = lp + normal(y, a + b * m, np.sqrt(tau**2 + b**2 * s**2))
        return lp
    def values(t):
        m, s, a, b, tau = t[0], np.exp(t[1]), t[2], t[3], np.exp(t[4])
        x3 = m + b * s**2 / (tau**2 + b**2 * s**2) * (187 - a - b * m)  # third person: cholesterol 187
        y15 = a + b * (29.6 - 26.5)  # fifteenth person: body mass 29.6
        return np.stack([m + 26.5, s, a, b, tau, x3 + 26.5, y15])
    report("imputation", logp, [0, 1.4, 190, 3, 3.6], values,
           ["mean", "sd", "alpha", "beta", "noise", "E bmi[2]", "E chl[14]"], ((0.8, 7.0), (0.7, 7.7)))


if __name__ == "__main__":
    for example in (conjugate, hierarchical_normal, kilpisjarvi, nile_change_point, nile_local_level,
                    robust_regression, logistic_regression, censored_weibull, imputation, mixture):
        example()
