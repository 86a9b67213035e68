"""Coefficients of the f32 functions in src/simd/single/functions.rs: near-minimax series at Chebyshev points."""
import numpy as np
from mpmath import atanh, e, mp, mpf, sqrt
from numpy.polynomial import chebyshev

mp.dps = 40


def series(function, low, high, terms):
    x = np.cos(np.pi * (np.arange(400) + 0.5) / 400)
    middle, half = (low + high) / 2, (high - low) / 2
    t = middle + half * x
    y = np.array([float(function(mpf(float(v)))) for v in t])
    total = np.poly1d([0.0])
    for k, c in enumerate(chebyshev.cheb2poly(chebyshev.chebfit(x, y, terms - 1))):
        total = total + c * np.poly1d([1 / half, -middle / half]) ** k
    return [np.float32(c) for c in total.coeffs[::-1]], max(abs(total(t) - y))


print("EXP", *series(lambda r: (e**r - 1 - r) / r**2, -0.3467, 0.3467, 5))
print("LOG", *series(lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, 0, 0.0401, 3))
