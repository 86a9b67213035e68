"""Writes src/incomplete_gamma/temme_coefficients.rs: Taylor coefficients of Temme's c_0, c_1, c_2 in eta.

eta^2 / 2 = mu - log(1 + mu); c_0 = 1/mu - 1/eta, c_k = c_{k-1}'(eta)/eta + (-1)^k g_k/mu, with g_k the
coefficients of Stirling's series for the gamma function (DLMF 8.12.7 to 8.12.10). Exact fractions.
Run: python temme_coefficients.py > ../src/incomplete_gamma/temme_coefficients.rs
"""
from fractions import Fraction as F

N = 30  # powers of eta carried


def times(a, b):
    c = [F(0)] * N
    for i, x in enumerate(a):
        for j in range(N - i):
            c[i + j] += x * b[j]
    return c


def inverse(a):
    """Reciprocal of a series with a[0] = 1."""
    c = [F(1)] + [F(0)] * (N - 1)
    for n in range(1, N):
        c[n] = -sum(a[k] * c[n - k] for k in range(1, n + 1))
    return c


# d(eta^2/2) = mu/(1 + mu) d mu gives mu mu' = eta (1 + mu); with mu = sum m_n eta^n, m_1 = 1.
m = [F(0), F(1)]
for n in range(2, N + 1):
    # Coefficient of eta^n in mu mu': sum over i + j = n + 1 of i m_i m_j; the unknown m_n enters (n + 1) times.
    known = sum(i * m[i] * m[n + 1 - i] for i in range(2, n))
    m.append((m[n - 1] - known) / (n + 1))
one_over_mu = inverse(m[1:])  # eta / mu
g = [F(1), F(1, 12), F(1, 288)]
c = [one_over_mu[1:] + [F(0)]]  # (eta/mu - 1)/eta
for k in (1, 2):
    # ((k-1)' + (-1)^k g_k eta/mu) / eta: the constant terms cancel.
    slope = [(i + 1) * c[-1][i + 1] for i in range(N - 1)] + [F(0)]
    whole = [s + (-1) ** k * g[k] * p for s, p in zip(slope, one_over_mu)]
    assert whole[0] == 0
    c.append(whole[1:] + [F(0)])

assert c[0][:3] == [F(-1, 3), F(1, 12), F(-2, 135)] and c[1][0] == F(-1, 540)
print("//! Taylor coefficients of Temme's functions c_0, c_1, c_2, written by `scripts/temme_coefficients.py`.\n")
for k, n in ((0, 18), (1, 12), (2, 6)):
    print(f"/// Coefficients of `c_{k}` in powers of eta.\n#[rustfmt::skip]\npub(super) const C{k}: [f64; {n}] = [")
    for start in range(0, n, 4):
        print("    " + " ".join(f"{float(x)!r}," for x in c[k][start:min(start + 4, n)]))
    print("];" + ("\n" if k < 2 else ""))
