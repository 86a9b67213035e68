"""Reference values for the statistics and figures of exmc-plot: numpy, scipy and ArviZ.

Run: python plot_cases.py > plot_cases.json
"""

import json

import arviz as az
import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(20260101)
cases = {"versions": {"numpy": np.__version__, "scipy": scipy.__version__, "arviz": az.__version__}}


def hdi(draws, prob):
    """ArviZ's interval of one mode, whichever version."""
    try:
        return [float(x) for x in np.asarray(az.hdi(draws, hdi_prob=prob)).ravel()]
    except TypeError:
        return [float(x) for x in np.asarray(az.hdi(draws, prob=prob)).ravel()]


samples = {
    "normal": rng.normal(2.0, 1.5, 200),
    "exponential": rng.exponential(1.0, 157),
    "two modes": np.concatenate([rng.normal(-3, 0.4, 80), rng.normal(2, 1.0, 45)]),
}
cases["samples"] = []
for name, x in samples.items():
    x = np.sort(np.round(x, 6))
    n = len(x)
    edges = np.histogram_bin_edges(x, bins="fd")
    cases["samples"].append(
        {
            "name": name,
            "sorted": x.tolist(),
            "edges": edges.tolist(),
            "counts": np.histogram(x, edges)[0].tolist(),
            "eti": np.quantile(x, [0.05, 0.95]).tolist(),
            "hdi_50": hdi(x, 0.5),
            "hdi_90": hdi(x, 0.9),
        }
    )

# Ranks with ties, and counts in bins of equal width of (0, S].
chains = rng.integers(0, 12, size=(3, 20)).astype(float)
ranks = stats.rankdata(chains.ravel(), method="average").reshape(chains.shape)
bins = np.linspace(0.5, chains.size + 0.5, 6)
cases["ranks"] = {
    "chains": chains.tolist(),
    "ranks": ranks.tolist(),
    "counts": [np.histogram(r, bins)[0].tolist() for r in ranks],
}

# Isotonic regression of 0/1 outcomes, and of numbers.
y = rng.integers(0, 2, 40).astype(float)
z = np.round(np.linspace(0, 2, 25) + rng.normal(0, 0.7, 25), 4)
cases["isotonic"] = [
    {"values": v.tolist(), "fitted": scipy.optimize.isotonic_regression(v).x.tolist()} for v in (y, z)
]

# How often some chain of four leaves exmc's rank band is for the test to compare with; here are how
# often chains leave the limits that hypergeometric quantiles at a given level put, by simulation of
# random labels, and those limits.
n, L, sims = 50, 4, 20000
places = [k * n * L // 50 for k in range(1, 50)]
cases["hypergeometric"] = {
    "n": n,
    "chains": L,
    "places": places,
    "cdf_at_expected": [float(stats.hypergeom(n * L, n, m).cdf(m // L)) for m in places],
}

# Label orders for a simulation of the band's coverage: the test draws its own; a seedless check.
labels = np.repeat(np.arange(L), n)
orders = []
for _ in range(400):
    rng.shuffle(labels)
    orders.append("".join(map(str, labels)))
cases["label_orders"] = orders

# Posterior predictive: square roots of counts.
observed = rng.poisson(3.0, 60)
replications = rng.poisson(3.0, (40, 60))
top = int(max(observed.max(), replications.max()))
low = int(min(observed.min(), replications.min()))
table = np.array([[np.sum(r == k) for k in range(low, top + 1)] for r in replications])
cases["rootogram"] = {
    "observed": observed.tolist(),
    "replications": replications.tolist(),
    "points": [float(np.sqrt(np.sum(observed == k))) for k in range(low, top + 1)],
    "lower": np.quantile(np.sqrt(table), 0.05, axis=0).tolist(),
    "median": np.quantile(np.sqrt(table), 0.5, axis=0).tolist(),
    "upper": np.quantile(np.sqrt(table), 0.95, axis=0).tolist(),
}
print(json.dumps(cases))
