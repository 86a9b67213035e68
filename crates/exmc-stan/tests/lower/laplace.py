"""Laplace approximations of small models by mpmath: prints values and slopes for laplace.rs. Run: python laplace.py"""
import mpmath as mp

mp.mp.dps = 40
X = [mp.mpf(x) for x in ("0.1", "0.7", "1.6")]
OFFSET = [mp.mpf(x) for x in ("0.2", "-0.3", "0.5")]


def kernel(a, r):
    return mp.matrix(3, 3) + mp.matrix([[a**2 * mp.exp(-((x - y) ** 2) / (2 * r**2)) + (mp.mpf("1e-6") if i == j else 0) for j, y in enumerate(X)] for i, x in enumerate(X)])


def approximation(ll, slope, curvature, K):
    """ll(theta), its gradient and minus the diagonal of its Hessian."""
    theta = mp.matrix(3, 1)
    for _ in range(60):
        W = mp.diag(curvature(theta))
        b = W * theta + mp.matrix(slope(theta))
        theta = mp.lu_solve(mp.eye(3) + K * W, K * b)
    W = mp.diag(curvature(theta))
    return ll(theta) - (theta.T * mp.inverse(K) * theta)[0] / 2 - mp.log(mp.det(mp.eye(3) + K * W)) / 2


def poisson(a, r):
    y = [3, 0, 40]
    eta = lambda t: [t[i] + OFFSET[i] for i in range(3)]
    ll = lambda t: mp.fsum(y[i] * e - mp.exp(e) - mp.loggamma(y[i] + 1) for i, e in enumerate(eta(t)))
    return approximation(ll, lambda t: [y[i] - mp.exp(e) for i, e in enumerate(eta(t))], lambda t: [mp.exp(e) for e in eta(t)], kernel(a, r))


def bernoulli(a, r):
    y, index = [1, 0, 1, 1, 1], [0, 0, 1, 2, 2]
    p = lambda t, i: 1 / (1 + mp.exp(-t[i] - OFFSET[i]))
    ll = lambda t: mp.fsum(mp.log(p(t, i) if k else 1 - p(t, i)) for k, i in zip(y, index))
    slope = lambda t: [mp.fsum(k - p(t, j) for k, i in zip(y, index) if i == j) for j in range(3)]
    curvature = lambda t: [mp.fsum(p(t, j) * (1 - p(t, j)) for i in index if i == j) for j in range(3)]
    return approximation(ll, slope, curvature, kernel(a, r))


def negative_binomial(a, r):
    """Dispersions 2, a and 1.5."""
    y, phi = [3, 0, 12], [mp.mpf(2), a, mp.mpf("1.5")]
    eta = lambda t: [t[i] + OFFSET[i] for i in range(3)]
    one = lambda y, e, f: mp.loggamma(y + f) - mp.loggamma(y + 1) - mp.loggamma(f) + y * (e - mp.log(f + mp.exp(e))) + f * (mp.log(f) - mp.log(f + mp.exp(e)))
    ll = lambda t: mp.fsum(one(y[i], e, phi[i]) for i, e in enumerate(eta(t)))
    slope = lambda t: [y[i] - (y[i] + phi[i]) * mp.exp(e) / (phi[i] + mp.exp(e)) for i, e in enumerate(eta(t))]
    curvature = lambda t: [(y[i] + phi[i]) * phi[i] * mp.exp(e) / (phi[i] + mp.exp(e)) ** 2 for i, e in enumerate(eta(t))]
    return approximation(ll, slope, curvature, kernel(a, r))


def normal(a, r):
    """y = A theta + r times noise: the approximation is exact, and this is the closed form."""
    A = mp.matrix([[1, mp.mpf("0.5"), 0], [0, 1, -1], [mp.mpf("0.3"), 0, 2]])
    y = mp.matrix([mp.mpf("0.4"), mp.mpf("-1.1"), mp.mpf("0.9")])
    S = A * kernel(a, r) * A.T + r**2 * mp.eye(3)
    mean = kernel(a, r) * A.T * mp.lu_solve(S, y)
    print("# latent mean", [float(m) for m in mean])
    K = kernel(a, r)
    factor = mp.cholesky(K - K * A.T * mp.inverse(S) * A * K)
    print("# latent factor", [float(factor[i, j]) for i in range(3) for j in range(3)])
    return -(y.T * mp.inverse(S) * y)[0] / 2 - mp.log(mp.det(S)) / 2 - 3 * mp.log(2 * mp.pi) / 2


H = mp.mpf(10) ** -12
for f in (poisson, bernoulli, negative_binomial, normal):
    for a, r in ((mp.mpf("1.3"), mp.mpf("0.8")), (mp.mpf("3.0"), mp.mpf("0.4"))):
        slopes = [(f(a + H, r) - f(a - H, r)) / (2 * H), (f(a, r + H) - f(a, r - H)) / (2 * H)]
        value = f(a, r)
        print(f.__name__, [float(a), float(r)], [float(value)] + [float(s) for s in slopes])
