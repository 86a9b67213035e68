#!/usr/bin/env python3
"""Writes densities.json: for every benchmark small data, points and log densities with Jacobians, from scipy.

    python densities.py                          # needs numpy and scipy
    python densities.py --stan MODELS            # also compares with the Stan programs MODELS/NAME/model.stan, run by
                                                 # stanli: log densities to 1e-9 up to a constant

The formulas are written from the Stan programs, not from exmc. Points are normal with sd 0.7 on the unconstrained
scale; densities keep all constants, so only differences between points are meant to be compared.
"""
import argparse, json, math
from pathlib import Path
import numpy as np
from scipy import stats as st
from scipy.special import expit, logsumexp

normal = lambda x, m, s: st.norm.logpdf(x, m, s).sum()


def positive(z):
    return np.exp(z), np.sum(z)


def real(z):
    return z, 0.0


def ordered(z):
    x = np.cumsum(np.concatenate([z[:1], np.exp(z[1:])]))
    return x, np.sum(z[1:])


def positive_ordered(z):
    return np.cumsum(np.exp(z)), np.sum(z)


def unit(z):
    x = expit(z)
    return x, np.sum(np.log(x) + np.log1p(-x))


def simplex2(z):  # stick breaking of two: the first is the logistic of z
    x = expit(z[0])
    return np.array([x, 1 - x]), math.log(x) + math.log1p(-x)


def bernoulli_logit(y, eta):
    return float(np.sum(np.where(y == 1, -np.logaddexp(0, -eta), -np.logaddexp(0, eta))))


R = np.random.default_rng(2026)
r6 = lambda x: np.round(x, 6).tolist()
MODELS = {}


def model(name, data, parameters):
    """parameters: name -> (shape, transform); () is a number"""
    def add(f):
        MODELS[name] = (data, parameters, f)
        return f
    return add


SCHOOLS = dict(J=8, y=[28, 8, -3, 7, -1, 1, 18, 12], sigma=[15, 10, 16, 11, 9, 11, 10, 18])


@model("eight_schools", SCHOOLS, dict(mu=((), real), tau=((), positive), theta=((8,), real)))
def _(d, mu, tau, theta):
    return normal(mu, 0, 5) + normal(tau, 0, 5) + normal(theta, mu, tau) + normal(d["y"], theta, d["sigma"])


@model("eight_schools_noncentered", SCHOOLS, dict(theta_trans=((8,), real), mu=((), real), tau=((), positive)))
def _(d, theta_trans, mu, tau):
    return (normal(theta_trans, 0, 1) + normal(d["y"], theta_trans * tau + mu, d["sigma"]) + normal(mu, 0, 5)
            + st.cauchy.logpdf(tau, 0, 5))


@model("simple", dict(N=13, y=r6(3 + R.normal(size=13))), dict(mu=((), real), sigma=((), positive)))
def _(d, mu, sigma):
    return normal(mu, 0, 10) + st.expon.logpdf(sigma) + normal(d["y"], mu, sigma)


@model("medium", dict(N=14, J=2, g=[1] * 6 + [2] * 8, y=r6(4 + R.normal(size=14))),
       dict(mu_global=((), real), sigma_global=((), positive), group=((2,), real), sigma_obs=((), positive)))
def _(d, mu_global, sigma_global, group, sigma_obs):
    g = np.array(d["g"]) - 1
    return (normal(mu_global, 0, 10) + st.expon.logpdf(sigma_global) + normal(group, mu_global, sigma_global)
            + st.expon.logpdf(sigma_obs, scale=1 / 2) + normal(d["y"], group[g], sigma_obs))


@model("stress", dict(N=15, J=3, g=[1, 2, 3] * 5, y=r6(2 + R.normal(size=15))),
       dict(mu_pop=((), real), sigma_pop=((), positive), theta=((3,), real), noise=((3,), positive)))
def _(d, mu_pop, sigma_pop, theta, noise):
    g = np.array(d["g"]) - 1
    return (normal(mu_pop, 0, 10) + st.expon.logpdf(sigma_pop, scale=2) + normal(theta, mu_pop, sigma_pop)
            + st.expon.logpdf(noise).sum() + normal(d["y"], theta[g], noise[g]))


@model("funnel", dict(K=9), dict(y=((), real), x=((9,), real)))
def _(d, y, x):
    return normal(y, 0, 3) + normal(x, 0, math.exp(y / 2))


@model("logistic", dict(N=17, K=20, X=r6(R.normal(size=(17, 20))), y=R.integers(0, 2, 17).tolist()),
       dict(alpha=((), real), beta=((20,), real)))
def _(d, alpha, beta):
    return normal(alpha, 0, 10) + normal(beta, 0, 10) + bernoulli_logit(np.array(d["y"]), alpha + np.array(d["X"]) @ beta)


WELLS = dict(N=19, switched=R.integers(0, 2, 19).tolist(), dist=r6(R.exponential(48, 19)),
             arsenic=r6(0.5 + R.exponential(1.1, 19)))


@model("wells_dist100", WELLS, dict(alpha=((), real), beta=((1,), real)))
def _(d, alpha, beta):
    return bernoulli_logit(np.array(d["switched"]), alpha + beta[0] * np.array(d["dist"]) / 100)


@model("wells_interaction_c", WELLS, dict(alpha=((), real), beta=((3,), real)))
def _(d, alpha, beta):
    x, a = np.array(d["dist"]), np.array(d["arsenic"])
    x, a = (x - x.mean()) / 100, a - a.mean()
    return bernoulli_logit(np.array(d["switched"]), alpha + beta[0] * x + beta[1] * a + beta[2] * x * a)


@model("nes2000", dict(N=23, partyid7=R.integers(1, 8, 23).astype(float).tolist(),
                       real_ideo=R.integers(1, 8, 23).astype(float).tolist(),
                       race_adj=R.integers(0, 2, 23).astype(float).tolist(), age_discrete=R.integers(1, 5, 23).tolist(),
                       educ1=R.integers(1, 5, 23).astype(float).tolist(), gender=R.integers(0, 2, 23).astype(float).tolist(),
                       income=R.integers(1, 6, 23).astype(float).tolist()),
       dict(beta=((9,), real), sigma=((), positive)))
def _(d, beta, sigma):
    a = np.array(d["age_discrete"])
    c = lambda n: np.array(d[n])
    mean = (beta[0] + beta[1] * c("real_ideo") + beta[2] * c("race_adj") + beta[3] * (a == 2) + beta[4] * (a == 3)
            + beta[5] * (a == 4) + beta[6] * c("educ1") + beta[7] * c("gender") + beta[8] * c("income"))
    return normal(c("partyid7"), mean, sigma)


@model("diamonds", dict(N=21, K=6, X=r6(np.column_stack([np.ones(21), R.normal(size=(21, 5)) + 2])),
                        Y=r6(8 + R.normal(size=21)), prior_only=0),
       dict(b=((5,), real), Intercept=((), real), sigma=((), positive)))
def _(d, b, Intercept, sigma):
    x = np.array(d["X"])[:, 1:]
    return (normal(b, 0, 1) + st.t.logpdf(Intercept, 3, 8, 10) + st.t.logpdf(sigma, 3, 0, 10)
            + normal(d["Y"], Intercept + (x - x.mean(0)) @ b, sigma))


RADON = dict(N=20, J=4, county_idx=sorted(R.integers(1, 5, 20).tolist()),
             floor_measure=R.integers(0, 2, 20).astype(float).tolist(), log_radon=r6(1 + R.normal(size=20)))


def radon(d, sigma_y, sigma_alpha, sigma_beta, alpha_raw, beta_raw, mu_alpha, mu_beta):
    c = np.array(d["county_idx"]) - 1
    alpha, beta = mu_alpha + sigma_alpha * alpha_raw, mu_beta + sigma_beta * beta_raw
    return (sum(normal(s, 0, 1) for s in (sigma_y, sigma_alpha, sigma_beta)) + normal(mu_alpha, 0, 10)
            + normal(mu_beta, 0, 10) + normal(alpha_raw, 0, 1) + normal(beta_raw, 0, 1)
            + normal(d["log_radon"], alpha[c] + np.array(d["floor_measure"]) * beta[c], sigma_y))


for name in ("radon_mn", "radon_all"):
    model(name, RADON, dict(sigma_y=((), positive), sigma_alpha=((), positive), sigma_beta=((), positive),
                            alpha_raw=((4,), real), beta_raw=((4,), real), mu_alpha=((), real), mu_beta=((), real)))(radon)


@model("irt_2pl", dict(I=3, J=5, y=R.integers(0, 2, (3, 5)).tolist()),
       dict(sigma_theta=((), positive), theta=((5,), real), sigma_a=((), positive), a=((3,), positive),
            mu_b=((), real), sigma_b=((), positive), b=((3,), real)))
def _(d, sigma_theta, theta, sigma_a, a, mu_b, sigma_b, b):
    cauchy = lambda x: st.cauchy.logpdf(x, 0, 2)
    return (cauchy(sigma_theta) + normal(theta, 0, sigma_theta) + cauchy(sigma_a)
            + st.lognorm.logpdf(a, sigma_a).sum() + normal(mu_b, 0, 5) + cauchy(sigma_b) + normal(b, mu_b, sigma_b)
            + bernoulli_logit(np.array(d["y"]), a[:, None] * (theta[None, :] - b[:, None])))


@model("low_dim_gauss_mix", dict(N=16, y=r6(R.normal(size=16) * 2)),
       dict(mu=((2,), ordered), sigma=((2,), positive), theta=((), unit)))
def _(d, mu, sigma, theta):
    y = np.array(d["y"])
    parts = np.stack([st.norm.logpdf(y, mu[k], sigma[k]) + math.log([theta, 1 - theta][k]) for k in (0, 1)])
    return normal(sigma, 0, 2) + normal(mu, 0, 2) + st.beta.logpdf(theta, 5, 5) + logsumexp(parts, axis=0).sum()


VOLATILITY = dict(T=11, r=r6(R.standard_t(10, 11)))


def volatility(d, sigma, nu, s):
    return (st.expon.logpdf(sigma, scale=1 / 50) + st.expon.logpdf(nu, scale=10) + normal(s[0], 0, sigma)
            + normal(s[1:], s[:-1], sigma) + st.t.logpdf(d["r"], nu, 0, np.exp(s)).sum())


for name in ("sv", "sv_vol"):
    model(name, VOLATILITY, dict(sigma=((), positive), nu=((), positive), s=((11,), real)))(volatility)


@model("gp_regr", dict(N=11, x=[float(2 * i - 10) for i in range(11)], y=r6(R.normal(size=11))),
       dict(rho=((), positive), alpha=((), positive), sigma=((), positive)))
def _(d, rho, alpha, sigma):
    x = np.array(d["x"])
    cov = alpha**2 * np.exp(-0.5 * (x[:, None] - x[None, :])**2 / rho**2) + sigma * np.eye(len(x))
    return (st.gamma.logpdf(rho, 25, scale=1 / 4) + normal(alpha, 0, 2) + normal(sigma, 0, 1)
            + st.multivariate_normal.logpdf(d["y"], np.zeros(len(x)), cov))


@model("arma11", dict(T=13, y=r6(1 + R.normal(size=13))),
       dict(mu=((), real), phi=((), real), theta=((), real), sigma=((), positive)))
def _(d, mu, phi, theta, sigma):
    err, before = [], mu
    for y in d["y"]:
        err.append(y - mu - phi * before - theta * (err[-1] if err else 0.0))
        before = y
    return (normal(mu, 0, 10) + normal(phi, 0, 2) + normal(theta, 0, 2) + st.cauchy.logpdf(sigma, 0, 2.5)
            + normal(err, 0, sigma))


@model("garch11", dict(T=12, y=r6(R.normal(size=12)), sigma1=0.5),
       dict(mu=((), real), alpha0=((), positive), alpha1=((), unit), beta1=((), "below")))
def _(d, mu, alpha0, alpha1, beta1):
    s, y = [d["sigma1"]], d["y"]
    for t in range(1, d["T"]):
        s.append(math.sqrt(alpha0 + alpha1 * (y[t - 1] - mu)**2 + beta1 * s[-1]**2))
    return normal(y, mu, s)


@model("hmm_example", dict(N=10, K=2, y=r6(R.choice([3.0, 9.0], 10) + R.normal(size=10))),
       dict(theta1=((2,), simplex2), theta2=((2,), simplex2), mu=((2,), positive_ordered)))
def _(d, theta1, theta2, mu):
    theta, y = np.log(np.stack([theta1, theta2])), np.array(d["y"])
    gamma = st.norm.logpdf(y[0], mu, 1)
    for t in range(1, d["N"]):
        gamma = logsumexp(gamma[:, None] + theta, axis=0) + st.norm.logpdf(y[t], mu, 1)
    return normal(mu[0], 3, 1) + normal(mu[1], 10, 1) + logsumexp(gamma)


@model("student_groups", dict(N=14, J=3, g=sorted(R.integers(1, 4, 14).tolist()), y=r6(R.standard_t(4, 14))),
       dict(mu=((), real), tau=((), positive), sigma=((), positive), u=((3,), real)))
def _(d, mu, tau, sigma, u):
    g = np.array(d["g"]) - 1
    return (normal(mu, 0, 1) + st.lognorm.logpdf(tau, 1) + st.lognorm.logpdf(sigma, 1) + normal(u, 0, 1)
            + st.t.logpdf(d["y"], 4, mu + tau * u[g], sigma).sum())


@model("regression_1e3", dict(N=12, K=3, X=r6(R.normal(size=(12, 3))), y=r6(R.normal(size=12))),
       dict(alpha=((), real), beta=((3,), real), sigma=((), positive)))
def _(d, alpha, beta, sigma):
    return (normal(alpha, 0, 10) + normal(beta, 0, 10) + st.expon.logpdf(sigma)
            + normal(d["y"], alpha + np.array(d["X"]) @ beta, sigma))


# Dormand and Prince's pair as Boost's odeint steps it, on which Stan's ode_rk45 builds: the last row is the solution.
STAGES = np.array([
    [0, 0, 0, 0, 0, 0, 0], [1 / 5, 0, 0, 0, 0, 0, 0], [3 / 40, 9 / 40, 0, 0, 0, 0, 0], [44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0]])
FOURTH = np.array([5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40])
CONSTANT = np.array([-12793612615 / 11282082432, 0, 88272555100 / 32700410799, -11083301675 / 1880347072,
                     759212249535 / 199316789632, -1648467425 / 822651844, 74144470 / 29380423])
LINEAR = np.array([157015080 / 11282082432, 0, -1570150800 / 32700410799, 785075400 / 1880347072,
                   -114463993320 / 199316789632, 389220480 / 822651844, -8293050 / 29380423])


def rk45(f, x, times, relative, absolute):
    """solution and sensitivities at the times, from time 0 on"""
    t, h, k, out, times = 0.0, 0.1, [f(x)], [], list(times)
    while times:
        if t + h - times[-1] > np.finfo(float).eps:
            h = times[-1] - t
        k = k[:1]
        for row in STAGES[1:]:
            k.append(f(x + h * (row[:len(k)] @ np.array(k))))
        slopes = np.array(k)
        ahead, error = x + h * (STAGES[6] @ slopes), h * ((STAGES[6] - FOURTH) @ slopes)
        size = np.max(np.abs(error) / (absolute + relative * (np.abs(x) + np.abs(h * slopes[0]))))
        if size > 1:
            h *= max(0.9 * size ** (-1 / 3), 0.2)
            continue
        while times and times[0] - (t + h) <= np.finfo(float).eps:
            a = (times.pop(0) - t) / h
            w = a * a * (3 - 2 * a) * STAGES[6] + a * a * (1 - a) ** 2 * (CONSTANT + LINEAR * a)
            w[0] += a * (1 - a) ** 2
            w[6] -= a * a * (1 - a)
            out.append(x + h * (w @ slopes))
        t, x, k = t + h, ahead, [k[6]]
        if size < 0.5:
            h *= 0.9 * max(size, 5.0 ** -5) ** -0.2
    return np.array(out)


PELTS = np.array([[47.2, 6.1], [70.2, 9.8], [77.4, 35.2], [36.3, 59.4], [20.6, 41.7], [18.1, 19.0]])


@model("lotka_volterra", dict(N=6, ts=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], y_init=[30.0, 4.0], y=PELTS.tolist()),
       dict(theta=((4,), positive), z_init=((2,), positive), sigma=((2,), positive)))
def _(d, theta, z_init, sigma):
    alpha, beta, gamma, delta = theta

    def slope(x):  # populations, then their derivatives by first populations and rates
        (u, v), s = x[:2], x[2:].reshape(2, 6)
        jacobian = np.array([[alpha - beta * v, -beta * u], [delta * v, delta * u - gamma]])
        by_rates = np.array([[0, 0, u, -u * v, 0, 0], [0, 0, 0, 0, -v, u * v]])
        return np.concatenate([[(alpha - beta * v) * u, (delta * u - gamma) * v], (jacobian @ s + by_rates).ravel()])

    z = rk45(slope, np.concatenate([z_init, np.eye(2, 6).ravel()]), d["ts"], 1e-5, 1e-3)[:, :2]
    lognormal = lambda y, m, s: (normal(np.log(y), m, s) - np.sum(np.log(y)))
    return (normal(theta[[0, 2]], 1, 0.5) + normal(theta[[1, 3]], 0.05, 0.05) + lognormal(sigma, -1, 1)
            + lognormal(z_init, math.log(10), 1)
            + sum(lognormal(y, np.log(m), s) for y, m, s in
                  zip(np.vstack([d["y_init"], d["y"]]).T, np.vstack([z_init, z]).T, sigma)))


# Enough rows to be merged, and few enough kinds.
@model("logistic_discrete", dict(N=60, X=[[k % 2, 1 + k // 2 % 2] for k in range(60)], age=[1 + k // 4 % 6 for k in range(60)],
                                 y=[int(k * k % 7 < 3) for k in range(60)]),
       dict(alpha=((), real), beta=((2,), real), age=((6,), real)))
def _(d, alpha, beta, age):
    eta = alpha + np.array(d["X"]) @ beta + age[np.array(d["age"]) - 1]
    return normal(alpha, 0, 10) + normal(beta, 0, 10) + normal(age, 0, 1) + bernoulli_logit(np.array(d["y"]), eta)


def point(parameters):
    """one random point: unconstrained as Stan has it, in the order of declaration, constrained by name, log Jacobian"""
    q, values, jacobian = [], {}, 0.0
    for name, (shape, transform) in parameters.items():
        n = int(np.prod(shape)) if shape else 1
        n = 1 if transform is simplex2 else n
        z = np.round(0.7 * R.normal(size=n), 6)
        # Stan 2.37 and later reach a simplex of two from z / sqrt 2, which changes the Jacobian by a constant.
        q += (z / math.sqrt(2) if transform is simplex2 else z).tolist()
        if transform == "below":  # garch11's beta1, between 0 and 1 - alpha1
            limit = 1 - values["alpha1"]
            x, j = limit * expit(z), math.log(limit) + unit(z)[1]
        else:
            x, j = transform(z)
        values[name] = float(x[0]) if shape == () else x
        jacobian += float(j)
    return q, values, jacobian


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--stan")
    a = ap.parse_args()
    out = {}
    for name, (data, parameters, f) in MODELS.items():
        points, unconstrained = [], []
        for _ in range(4):
            q, values, jacobian = point(parameters)
            logp = float(f(data, **values)) + jacobian
            unconstrained.append(q)
            plain = {k: (v.tolist() if isinstance(v, np.ndarray) else v) for k, v in values.items()}
            points.append(dict(values=plain, logp=logp))
        out[name] = dict(data=data, points=points)
        file = Path(a.stan or "") / name / "model.stan"
        if a.stan and file.exists():
            import stanli
            m = stanli.Model(stan_file=str(file), data=data)
            stan = [m.log_prob_grad(np.array(q))[0] for q in unconstrained]
            worst = max(abs((s - stan[0]) - (p["logp"] - points[0]["logp"])) for s, p in zip(stan, points))
            print(f"{name:28} Stan differs by {worst:.1e}", "" if worst < 1e-9 else "  <-- WRONG")
    lines = ",\n".join(f'"{k}": {json.dumps(v)}' for k, v in out.items())
    (Path(__file__).parent / "densities.json").write_text("{\n" + lines + "\n}\n")


main()
