"""Values and slopes of special functions and distribution functions by mpmath: writes golden_special.txt beside this file.

One row a call: name | arguments | value | slope by each real argument (all elements in order). Slopes are differences at 40
digits. Run with mpmath: python golden_special.py
"""
import pathlib

import mpmath as mp

mp.mp.dps = 40
ROWS = []
H = mp.mpf(10) ** -13


def fmt(x):
    return repr(float(x))


def row(name, args, function, order=None):
    """args: a float (real), int, or list of floats (vector)."""
    kinds, flat = [], []
    for a in args:
        if isinstance(a, int):
            kinds.append(f"int[] {float(a)}")
        elif isinstance(a, list):
            kinds.append(f"vector[{len(a)}] " + " ".join(fmt(x) for x in a))
        else:
            kinds.append("real[] " + fmt(a))

    def call(changes):
        values, k = [], 0
        for a in args:
            if isinstance(a, int):
                values.append(a)
            elif isinstance(a, list):
                values.append([mp.mpf(x) + changes.get(k + i, 0) for i, x in enumerate(a)])
                k += len(a)
            else:
                values.append(mp.mpf(a) + changes.get(k, 0))
                k += 1
        return mp.re(function(*values))

    numbers = [x for a in args if not isinstance(a, int) for x in (a if isinstance(a, list) else [a])]
    steps = [H * (min(1, abs(x)) or 1) for x in numbers]
    count = sum(0 if isinstance(a, int) else len(a) if isinstance(a, list) else 1 for a in args)
    value = call({})
    slopes = [(call({k: h}) - call({k: -h})) / (2 * h) for k, h in zip(range(count), steps)]
    ROWS.append(" | ".join([name, "; ".join(kinds), "value[] " + fmt(value), " ".join(fmt(s) for s in slopes)]))


def von_mises(y, mu, kappa, upper=False):
    f = lambda t: mp.exp(kappa * (mp.cos(t - mu) - 1))
    lo, hi = (y, mp.pi) if upper else (-mp.pi, y)
    near = mp.mpf(mu) - 2 * mp.pi * mp.nint(mu / (2 * mp.pi))
    width = 1 / mp.sqrt(1 + kappa)
    cuts = [lo, hi] + [near + k * width + turn * 2 * mp.pi for k in (-12, -6, -3, -1, 0, 1, 3, 6, 12) for turn in (-1, 0, 1)]
    cuts = sorted(c for c in cuts if lo <= c <= hi)
    total = mp.quad(f, cuts)
    return mp.log(total) - mp.log(2 * mp.pi * mp.besseli(0, kappa) * mp.exp(-kappa))


def wiener_density(t, a, w, v):
    """Reaching the upper boundary at time t from w * a with drift v: the series in images, or the one of sines."""
    w = 1 - w
    u = t / a**2
    if u < mp.mpf("0.5"):
        s = mp.fsum((w + 2 * k) * mp.exp(-((w + 2 * k) ** 2) / (2 * u)) for k in range(-12, 13)) / mp.sqrt(2 * mp.pi * u**3)
    else:
        s = mp.pi * mp.fsum(k * mp.exp(-(k * mp.pi) ** 2 * u / 2) * mp.sin(k * mp.pi * w) for k in range(1, 25))
    return s / a**2 * mp.exp(v * a * w - v**2 * t / 2)


def wiener_tail(y, a, t0, w, v, upper=False):
    # Of the whole mass in closed form: e^(va(1-w)) sinh(vaw) / sinh(va), from w a to the upper boundary.
    end = y - t0
    f = lambda t: wiener_density(t, a, w, v)
    if upper:
        half = a**2 / 2
        cuts = [end, end + half / 8] + [end + k * half for k in (1, 2, 4, 8, 16, 32, 64)]
        cuts = sorted(set(cuts) | {c for c in [half] if c > end})
        return mp.log(mp.quad(f, cuts))
    cuts = [end * mp.mpf(s) for s in ("1e-6", "0.01", "0.05", "0.1", "0.2", "0.4", "0.6", "0.8", "0.9", "0.95", "0.99", "1")]
    half = a**2 / 2
    return mp.log(mp.quad(f, sorted(cuts + ([half] if half < end else []))))


def lkj_cov(flat, mu, sigma, eta):
    a, b, c, d = flat
    sds = [mp.sqrt(a), mp.sqrt(d)]
    # Only the lower triangle decides.
    r = c / (sds[0] * sds[1])
    logs = sum(-mp.log(s) - mp.log(sg) - mp.log(2 * mp.pi) / 2 - (mp.log(s) - m) ** 2 / (2 * sg**2) for s, m, sg in zip(sds, mu, sigma))
    constant = mp.log(mp.gamma(eta + mp.mpf(1) / 2)) - mp.log(mp.pi) / 2 - mp.log(mp.gamma(eta))
    return logs + constant + (eta - 1) * mp.log(1 - r**2)


def main():
    global H
    for x in (-0.36, -0.1, 1e-12, 0.3, 2.5, 3.5, 1e5, 1e300):
        row("lambert_w0", [x], lambda x: mp.lambertw(x))
    for x in (-0.36, -0.3, -0.1, -1e-5, -1e-300):
        row("lambert_wm1", [x], lambda x: mp.lambertw(x, -1))
    for n in (-3, 0, 1, 2, 7):
        for x in (1e-3, 0.7, 5.0, 60.5):
            row("bessel_first_kind", [n, x], mp.besselj)
            row("bessel_second_kind", [n, x], mp.bessely)
        row("bessel_first_kind", [n, -2.3], mp.besselj)
    inverse = lambda a, b, p, start: mp.findroot(lambda x: mp.betainc(a, b, 0, x, regularized=True) / p - 1, (start, start * (1 - mp.mpf(10) ** -9)))
    for a, b, p, start in ((2.0, 3.0, 0.4, 0.329), (0.5, 0.7, 0.9, 0.95), (30.0, 2.0, 1e-6, 0.6), (1.0, 1.0, 0.3, 0.3)):
        row("inv_inc_beta", [a, b, p], lambda a, b, p, s=mp.mpf(start): inverse(a, b, p, s))

    def student(p, nu, mu, sigma, start):
        def cdf(t):
            tail = mp.betainc(nu / 2, mp.mpf(1) / 2, 0, nu / (nu + t * t), regularized=True) / 2
            return tail if t < 0 else 1 - tail
        return mu + sigma * mp.findroot(lambda t: cdf(t) - p, (start, start * (1 - mp.mpf(10) ** -6)))

    for p, nu, start in ((0.1, 3.0, -1.6377), (0.975, 4.0, 2.776445), (0.001, 1.3, -90.0), (0.6, 50.0, 0.2547)):
        row("student_t_qf", [p, nu, 0.4, 1.7], lambda p, nu, mu, sigma, s=mp.mpf(start): student(p, nu, mu, sigma, s))
    for a, z in ((1.5, 0.4), (-2.0, -0.9), (0.3, 0.99), (2.0, 0.0)):
        row("hypergeometric_1F0", [a, z], lambda a, z: (1 - z) ** -a)
    for a, b, c, z in ((1.1, 0.7, 2.3, 0.4), (3.0, -1.5, 1.2, -0.8), (0.5, 0.5, 1.5, 0.95), (-3.2, 2.0, 0.7, 0.3), (1.0, 2.0, 3.5, -0.99), (0.2, 0.1, 1.0, 0.0)):
        row("hypergeometric_2F1", [a, b, c, z], mp.hyp2f1)
    for a, b, z in (([1.1, 0.7, 0.3], [2.3, 1.9], 0.4), ([1.0, 1.0, 1.0], [2.0, 2.0], -0.9), ([2.5, 0.5, -1.5], [1.5, 3.5], 0.9)):
        row("hypergeometric_3F2", [a, b, z], lambda a, b, z: mp.hyper(a, b, z))
    for a, b, z in (([1.1], [2.3], 4.5), ([1.1, 0.4], [2.3, 0.9], -1.5), ([0.7, 1.2, 0.4], [1.5, 2.5], 0.5), ([1.5], [0.4, 2.0], 30.0)):
        row("hypergeometric_pFq", [a, b, z], lambda a, b, z: mp.hyper(a, b, z))
    for name, upper in (("von_mises_lcdf", False), ("von_mises_lccdf", True)):
        for y, mu, kappa in ((0.5, 0.3, 1.2), (-1.0, 2.5, 0.4), (-3.0, -2.0, 3.0), (-2.9, 0.2, 40.0), (1.1, 1.0, 900.0), (0.2, 7.0, 5.0), (3.1, -3.0, 2.0), (-3.1415, 0.0, 1.0), (2.0, 0.0, 1e-8)):
            row(name, [y, mu, kappa], lambda y, mu, kappa, up=upper: von_mises(y, mu, kappa, up))
    mp.mp.dps = 22
    H = mp.mpf(10) ** -8
    for name, upper in (("wiener_lcdf_unnorm", False), ("wiener_lccdf_unnorm", True)):
        for y, a, t0, w, v in ((1.3, 1.5, 0.2, 0.4, 0.7), (0.35, 2.0, 0.3, 0.5, -1.0), (6.0, 1.0, 0.1, 0.7, 0.3)):
            row(name, [y, a, t0, w, v], lambda y, a, t0, w, v, up=upper: wiener_tail(y, a, t0, w, v, up))
    mp.mp.dps = 40
    for name, inside in (("beta_binomial_lcdf", True), ("beta_binomial_lccdf", False)):
        for k, n, a, b in ((3, 10, 1.2, 2.3), (0, 5, 0.4, 0.7), (9, 10, 20.0, 0.3)):
            mass = lambda j, n, a, b: mp.binomial(n, j) * mp.beta(j + a, n - j + b) / mp.beta(a, b)
            terms = (lambda k, n: range(0, k + 1)) if inside else (lambda k, n: range(k + 1, n + 1))
            row(name, [k, n, a, b], lambda k, n, a, b, t=terms: mp.log(mp.fsum(mass(j, n, a, b) for j in t(k, n))))
    text = "\n".join(ROWS) + "\n"
    pathlib.Path(__file__).with_name("golden_special.txt").write_text(text)


main()
