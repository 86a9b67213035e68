"""Moments of the targets that have no closed form, by quadrature -> the constants in src/targets.

Run with numpy and scipy; prints mean, variance and kurtosis of each scalar.
"""
import numpy as np
from scipy import integrate, stats


def report(name, m):
    m1, m2, m3, m4 = m
    var = m2 - m1**2
    fourth = m4 - 4 * m3 * m1 + 6 * m2 * m1**2 - 3 * m1**4
    print(f"{name}: mean {m1:.10g}, variance {var:.10g}, kurtosis {fourth / var**2:.8g}")


def raw_normal(mean, var):
    return np.array([mean, mean**2 + var, mean**3 + 3 * mean * var,
                     mean**4 + 6 * mean**2 * var + 3 * var**2])


def powers(x):
    return np.array([x, x**2, x**3, x**4])


def gauss(a, b, n=400):
    x, w = np.polynomial.legendre.leggauss(n)
    return 0.5 * (b - a) * x + 0.5 * (b + a), 0.5 * (b - a) * w


def order_statistics():
    """Three ordered standard normals."""
    for k, name in enumerate(["ordered[0]", "ordered[1]", "ordered[2]"]):
        c = [3, 6, 3][k]
        def density(x):
            p = stats.norm.cdf(x)
            return c * p**k * (1 - p) ** (2 - k) * stats.norm.pdf(x)
        m = [integrate.quad(lambda x: x**j * density(x), -12, 12, epsabs=1e-13, limit=400)[0]
             for j in range(1, 5)]
        report(name, m)


def weigh(logp, w):
    p = np.exp(logp - logp.max()) * w
    return p / p.sum()


def eight_schools():
    """mu ~ normal(0, 5), tau ~ half_normal(5), theta integrated out."""
    y = np.array([28, 8, -3, 7, -1, 1, 18, 12.0])
    se = np.array([15, 10, 16, 11, 9, 11, 10, 18.0])
    tau, wt = gauss(0, 45, 800)
    prec = 1 / (se[:, None] ** 2 + tau**2)
    a = 1 / 25 + prec.sum(0)
    b = (prec * y[:, None]).sum(0)
    logp = (-0.5 * tau**2 / 25 + 0.5 * np.log(prec).sum(0)
            - 0.5 * (prec * y[:, None] ** 2).sum(0) + 0.5 * b**2 / a - 0.5 * np.log(a))
    p = weigh(logp, wt)
    report("tau", powers(tau) @ p)
    report("mu", raw_normal(b / a, 1 / a) @ p)
    # theta_0 given (tau, mu) is normal with mean s mu + (1 - s) y_0, so given tau too.
    s = se[0] ** 2 / (se[0] ** 2 + tau**2)
    report("theta[0]", raw_normal(s * b / a + (1 - s) * y[0], tau**2 * s + s**2 / a) @ p)


def simple():
    """mu ~ normal(0, 10), sigma ~ exponential(1), 50 observations."""
    n, mean, ss = 50, 3.136816546, 65.075051432
    s, ws = gauss(0.5, 2.6, 600)
    prec = 1 / 100 + n / s**2
    b = n * mean / s**2
    logp = -s - n * np.log(s) - 0.5 * (ss + n * mean**2) / s**2 + 0.5 * b**2 / prec - 0.5 * np.log(prec)
    p = weigh(logp, ws)
    report("simple mu", raw_normal(b / prec, 1 / prec) @ p)
    report("simple sigma", powers(s) @ p)


def medium():
    """mu_g ~ normal(0, 10), sigma_g ~ exponential(1), alpha, beta ~ normal(mu_g, sigma_g), sigma_obs ~ exponential(2)."""
    na, ya, ssa = 30, 3.933257131, 11.443038595
    nb, yb, ssb = 30, 6.757401056, 11.462142500
    g, wg = gauss(0, 40, 1200)
    o, wo = gauss(0.3, 1.4, 300)
    G, O = np.meshgrid(g, o, indexing="ij")
    W = np.outer(wg, wo)
    # Sample means given mu_g: normal(mu_g, v) with v = sigma_g^2 + sigma_obs^2 / 30.
    va = G**2 + O**2 / na
    prec = 1 / 100 + 2 / va
    b = (ya + yb) / va
    logp = (-G - 2 * O - (na - 1 + nb - 1) * np.log(O) - 0.5 * (ssa + ssb) / O**2
            - np.log(va) - 0.5 * (ya**2 + yb**2) / va + 0.5 * b**2 / prec - 0.5 * np.log(prec))
    p = weigh(logp, W)
    total = lambda m: (m * p).reshape(4, -1).sum(1)
    report("medium mu_global", total(raw_normal(b / prec, 1 / prec)))
    report("medium sigma_global", total(powers(G)))
    report("medium sigma_obs", total(powers(O)))
    s = (O**2 / na) / va
    for name, y in [("alpha", ya), ("beta", yb)]:
        report("medium " + name, total(raw_normal(s * b / prec + (1 - s) * y, G**2 * s + s**2 / prec)))


NILE = [1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958,
        1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020,
        1050, 969, 831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040,
        759, 781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
        744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740]


def nile():
    """One change of mean: last year before it uniform, means ~ normal(919.35, 200), sigma ~ half_normal(200)."""
    y = np.array(NILE, float)
    assert len(y) == 100 and y.mean() == 919.35
    s, ws = gauss(80, 200, 300)
    k = np.arange(1, 100)
    c = np.cumsum(y)[:-1][:, None]
    t = y.sum() - c
    m0, v0 = 919.35, 200.0**2
    p1, p2 = 1 / v0 + k[:, None] / s**2, 1 / v0 + (100 - k[:, None]) / s**2
    b1, b2 = m0 / v0 + c / s**2, m0 / v0 + t / s**2
    logp = (-0.5 * s**2 / 200**2 - 100 * np.log(s) - 0.5 * (y**2).sum() / s**2
            + 0.5 * b1**2 / p1 + 0.5 * b2**2 / p2 - 0.5 * np.log(p1 * p2))
    p = weigh(logp, np.broadcast_to(ws, logp.shape))
    print("P(last year)", {1871 + int(i) - 1: round(float(q), 5) for i, q in zip(k, p.sum(1)) if q > 0.03})
    total = lambda m: (m * p).reshape(4, -1).sum(1)
    report("nile mu1", total(raw_normal(b1 / p1, 1 / p1)))
    report("nile mu2", total(raw_normal(b2 / p2, 1 / p2)))
    report("nile sigma", total(powers(np.broadcast_to(s, p.shape))))


order_statistics()
eight_schools()
simple()
medium()
nile()
