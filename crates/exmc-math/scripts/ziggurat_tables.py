"""Writes src/random/ziggurat_tables.rs: layer edges of the two 256-layer ziggurats.

A ziggurat covers an unnormalised decreasing density f on [0, inf) with 255 rectangles and one base
strip with a tail, all of equal area v. The right edge r of the base strip is the root at which the
last rectangle closes exactly at f = f(0) = 1 (Marsaglia and Tsang 2000; Doornik 2005).
Run: python ziggurat_tables.py > ../src/random/ziggurat_tables.rs. Needs mpmath.
"""
from mpmath import mp, mpf, exp, sqrt, log, erfc, pi, findroot

mp.dps = 50
LAYERS = 256


def edges(r, f, f_inverse, tail):
    """Edges x[0] > x[1] = r > ... > x[255], and how much height is left above the last layer."""
    v = r * f(r) + tail(r)
    x = [v / f(r), r]
    for _ in range(LAYERS - 2):
        height = v / x[-1] + f(x[-1])
        if height >= 1:  # r too small: the layers overshoot before the last one
            return None, mpf(1) - height
        x.append(f_inverse(height))
    return x, mpf(1) - (v / x[-1] + f(x[-1]))


def solve(f, f_inverse, tail, low, high):
    """Bisection on r: a larger r makes every layer thinner, so the gap at the top grows with r."""
    low, high = mpf(low), mpf(high)
    for _ in range(200):
        middle = (low + high) / 2
        _, gap = edges(middle, f, f_inverse, tail)
        low, high = (low, middle) if gap > 0 else (middle, high)
    x, gap = edges(high, f, f_inverse, tail)
    assert abs(gap) < mpf(10) ** -40, gap
    return x + [mpf(0)]


def emit(name, doc, values):
    print(f"/// {doc}")
    print(f"#[rustfmt::skip]\npub(super) const {name}: [f64; {LAYERS + 1}] = [")
    for start in range(0, len(values), 4):
        print("    " + " ".join(f"{float(value)!r}," for value in values[start : start + 4]))
    print("];\n")


normal = (lambda x: exp(-x * x / 2), lambda y: sqrt(-2 * log(y)), lambda x: sqrt(pi / 2) * erfc(x / sqrt(2)))
exponential = (lambda x: exp(-x), lambda y: -log(y), lambda x: exp(-x))
print("//! Layer edges and heights of the two ziggurats (frozen), written by `scripts/ziggurat_tables.py`.\n")
for name, (f, f_inverse, tail), low, high in [("NORMAL", normal, 3, 4), ("EXPONENTIAL", exponential, 7, 8)]:
    x = solve(f, f_inverse, tail, low, high)
    emit(f"{name}_X", "Right edges of the layers; entry 0 is the base strip's area over its height, entry 1 the tail's start.", x)
    emit(f"{name}_F", "Unnormalised density at the edges; one at the last, which is the mode.", [f(e) for e in x])
