"""Writes arviz_cases.json: small chains and ArviZ 0.23.4's diagnostics of them.

Run: pip install arviz==0.23.4 scipy && python arviz_cases.py
Draws are rounded to 10 decimals so that the file stays small (the specification's two arrays are not);
NaN is written as null.
For one chain ArviZ refuses R-hat, so its own building blocks are called without the guard.
"""

import json
import pathlib

import arviz as az
import numpy as np
from arviz.stats import diagnostics as d

rng = np.random.default_rng(20240611)


def ar1(chains, draws, phi):
    x = np.empty((chains, draws))
    x[:, 0] = rng.normal(size=chains) / np.sqrt(1 - phi**2)
    for t in range(1, draws):
        x[:, t] = phi * x[:, t - 1] + rng.normal(size=chains)
    return x


def rhats(x):
    split = d._split_chains(x)
    plain = d._rhat(split)
    bulk = d._rhat(d._z_scale(split))
    folded = d._rhat(d._z_scale(abs(split - np.median(split))))
    return {"split_rhat": plain, "folded_rhat": folded, "rank_rhat": max(bulk, folded)}


def statistics(x):
    s = rhats(x)
    if len(x) > 1:
        assert s["rank_rhat"] == az.rhat(x, method="rank")
    for kind in ["bulk", "tail", "mean", "sd"]:
        s["ess_" + kind] = az.ess(x, method=kind)
    for p in [0.1, 0.5, 0.9]:
        s[f"ess_quantile_{p}"] = az.ess(x, method="quantile", prob=p)
        s[f"mcse_quantile_{p}"] = az.mcse(x, method="quantile", prob=p)
    s["mcse_mean"] = az.mcse(x, method="mean")
    s["mcse_sd"] = az.mcse(x, method="sd")
    s["mean"] = x.mean()
    s["sd"] = x.std(ddof=1)
    for p in [0.05, 0.5, 0.95]:
        s[f"quantile_{p}"] = np.quantile(x, p)
    for chain, bfmi in enumerate(az.bfmi(x)):
        s[f"bfmi_{chain}"] = bfmi
    for lag, rho in enumerate(az.autocorr(x[0])[:6]):
        s[f"autocorrelation_{lag}"] = rho
    return {k: None if np.isnan(v) else float(v) for k, v in s.items()}


cases = {
    "four draws": rng.normal(size=(2, 4)),
    "five draws": rng.normal(size=(3, 5)),
    "six draws": rng.normal(size=(4, 6)),
    "nine draws, one chain": rng.normal(size=(1, 9)),
    "odd length": ar1(3, 51, 0.4),
    "one chain": ar1(1, 120, 0.6),
    "one odd chain": ar1(1, 75, -0.3),
    "two chains, slow": ar1(2, 200, 0.97),
    "antithetic": ar1(4, 100, -0.7),
    "heavy tails": rng.standard_cauchy(size=(4, 80)),
    "ties": rng.poisson(1.5, size=(4, 60)).astype(float),
    "many ties": rng.binomial(1, 0.03, size=(4, 60)).astype(float),
    "two values": rng.choice([-1.0, 1.0], size=(3, 40)),
    "shifted chain": rng.normal(size=(4, 50)) + np.array([[0], [0], [0], [1.5]]),
    "wider chain": rng.normal(size=(4, 50)) * np.array([[1], [1], [1], [4]]),
    "stuck chain": np.vstack([rng.normal(size=(3, 40)), np.full((1, 40), 0.25)]),
    "trend": np.linspace(0, 3, 60) + rng.normal(size=(3, 60)),
    "far from zero": 1e6 + rng.normal(size=(2, 60)),
    "long memory": ar1(2, 401, 0.995),
}
c, t = np.arange(4)[:, None], np.arange(100)
exact = {
    "specification": np.sin(0.37 * t * (1 + c)) + 0.05 * c + 0.2 * np.cos(t**2),
    "specification, slow": 0.5 * c + np.sin(0.05 * t + c),
}
out = []
for name, x in [(k, np.round(v, 10)) for k, v in cases.items()] + list(exact.items()):
    out.append({"name": name, "chains": x.tolist(), "expected": statistics(x)})
path = pathlib.Path(__file__).with_name("arviz_cases.json")
path.write_text("[\n" + ",\n".join(json.dumps(c) for c in out) + "\n]\n")
