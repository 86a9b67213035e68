"""Golden values of a hierarchy's marginal density where the outcomes' scale is far below the groups': prints Rust rows.

    python3 marginal_small_scales.py > marginal_small_scales.txt

y[i] ~ normal(z[g[i]] + b x[i], s), z[j] ~ normal(mu, tau): with z integrated out, by the covariance's closed form in 80 digits.
The position is (mu, b, log s, log tau), with the log Jacobians of s and tau; slopes are symbolic derivatives of the closed form.
"""
from mpmath import exp, log, mp, mpf, pi

mp.dps = 80
EFFECT = [2.5, -0.75, 0.375, 1.25, -2.0, 0.5, 3.0, -1.5]


def data(kind):
    """Outcomes, covariates and groups, as doubles."""
    y, x, g = [], [], []
    for j, effect in enumerate(EFFECT):
        for k in range(1 if kind == "one" else 3):
            apart = 0.1 * (k - 1) * (1 + j % 3) if kind == "three" else 0.0
            y.append(effect + apart)
            x.append(0.0 if kind == "equal" else 0.3 * ((5 * j + 7 * k) % 11) - 1.5)
            g.append(j + 1)
    return y, x, g


def density(kind, position):
    mu, b, log_s, log_tau = [mpf(p) for p in position]
    s2, t2 = exp(2 * log_s), exp(2 * log_tau)
    y, x, g = data(kind)
    logp, slope = log_s + log_tau, [mpf(0), mpf(0), mpf(1), mpf(1)]
    for j in range(len(EFFECT)):
        rows = [k for k in range(len(y)) if g[k] == j + 1]
        n = len(rows)
        r = [mpf(y[k]) - b * mpf(x[k]) for k in rows]
        mean, mean_x = sum(r) / n, sum(mpf(x[k]) for k in rows) / n
        within = sum((e - mean) ** 2 for e in r)
        cross = sum((e - mean) * (mpf(x[k]) - mean_x) for e, k in zip(r, rows))
        v, d = s2 + n * t2, mean - mu
        logp += -(n - 1) * log_s - log(v) / 2 - n * log(2 * pi) / 2 - within / s2 / 2 - n * d * d / v / 2
        slope[0] += n * d / v
        slope[1] += cross / s2 + n * d * mean_x / v
        slope[2] += -(n - 1) - s2 / v + within / s2 + n * d * d * s2 / v**2
        slope[3] += -n * t2 / v + n * n * d * d * t2 / v**2
    return [logp, *slope]


def main():
    print("# kind, mu, b, log s, log tau, log density, slopes by the same: marginal_small_scales.py")
    for kind in ["one", "equal", "three"]:
        for s in [1.0, 1e-3, 1e-5, 1e-7, 1e-9]:
            for tau in [1.5, 1e-4]:
                position = [0.625, 0.25 if kind != "equal" else 0.0, float(log(mpf(s))), float(log(mpf(tau)))]
                found = density(kind, position)
                print(kind, *[repr(p) for p in position], *[mp.nstr(f, 20) for f in found])


main()
