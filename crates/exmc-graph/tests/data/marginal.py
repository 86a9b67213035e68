"""Prints the numbers of `large_means_keep_their_digits` in tests/marginal.rs: 50 digits by mpmath."""
import mpmath as m

m.mp.dps = 50
y = [m.mpf(10) ** 8 + m.mpf(d) for d in ("0.25", "-1.5", "0.75", "2", "-0.5")]
wide, n = m.mpf(10) ** 9, 5


def precision(s):
    return 1 / wide**2 + n * m.exp(-2 * s)


def mean(s):
    return sum(y) * m.exp(-2 * s) / precision(s)


def logp(s):
    z = mean(s)
    terms = -(z / wide) ** 2 / 2 - m.log(wide)
    terms += sum(-(((x - z) * m.exp(-s)) ** 2) / 2 - s for x in y)
    return terms + m.log(2 * m.pi / precision(s)) / 2


s = m.mpf("0.5")
for value in (logp(s), m.diff(logp, s), mean(s), 1 / m.sqrt(precision(s))):
    print(m.nstr(value, 20))
