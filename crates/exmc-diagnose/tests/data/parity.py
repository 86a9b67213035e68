"""Writes parity.json: what ArviZ says of the draws in posteriors/.

Run: pip install --no-deps --ignore-requires-python arviz-stats==1.3.3 arviz-base==1.3.1
     pip install xarray-einstats scipy && python parity.py
(ArviZ 1.3 asks for a newer Python than it needs here.) Where ArviZ 1.3 has no such statistic, or has
another rule than the paper, the reference is stated beside it: numpy with the paper's formula, scipy, or
ArviZ 0.23 run from another environment (`python parity.py --old`, which only writes parity_old.json).
"""

import json
import math
import pathlib
import sys

import numpy as np
from scipy import optimize, stats

HERE = pathlib.Path(__file__).parent
CASES = sorted((HERE / "posteriors").glob("*.json"))
PROBS = [0.05, 0.25, 0.5, 0.9]


def plain(x):
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)) or np.ndim(x) > 0:
        return [plain(v) for v in x]
    x = float(x)
    return x if math.isfinite(x) else None


def of_scalar(x):
    from arviz_stats.base import array_stats as a

    s = {}
    for kind in ["rank", "split", "folded", "z_scale", "identity"]:
        s[f"rhat {kind}"] = a.rhat(x, method=kind)
    for kind in ["bulk", "tail", "mean", "sd", "median", "mad", "z_scale", "folded", "identity"]:
        s[f"ess {kind}"] = a.ess(x, method=kind, prob=(0.05, 0.95) if kind == "tail" else None)
    for p in PROBS:
        s[f"ess quantile {p}"] = a.ess(x, method="quantile", prob=p)
        s[f"mcse quantile {p}"] = a.mcse(x, method="quantile", prob=p)
        s[f"quantile {p}"] = np.quantile(x, p)
    for low, high in [(0.1, 0.2), (0.45, 0.55), (0.0, 0.3)]:
        s[f"ess local {low} {high}"] = a.ess(x, method="local", prob=(low, high))
    for kind in ["mean", "sd", "median"]:
        s[f"mcse {kind}"] = a.mcse(x, method=kind)
    for k in [50, 100, 150, 200, 250]:
        s[f"ess evolution {k}"] = a.ess(x[:, :k], method="bulk")
    s["nested rhat"] = a.rhat_nested(x, superchain_ids=np.array([0, 0, 1, 1]), method="rank")
    rho = a.autocorr(x[0])
    for lag in [1, 2, 5, 20, 100]:
        s[f"autocorrelation {lag}"] = rho[lag]
    for p in [0.5, 0.8, 0.94]:
        s[f"hdi {p}"] = a.hdi(x.ravel(), p, axis=0)
        s[f"eti {p}"] = a.eti(x.ravel(), p, axis=0)
    modes = a.hdi(x.ravel(), 0.9, axis=0, method="multimodal", max_modes=40)
    s["hdi modes 0.9"] = modes[np.isfinite(modes[:, 0])].ravel()
    grid, density, bandwidth = a.kde(x.ravel())
    s["kde bandwidth"], s["kde density"] = bandwidth, density[[0, 1, 60, 255, 300, 511]]
    s["kde grid"] = grid[[0, 255, 511]]
    s["mad"], s["iqr"] = a.mad(x.ravel()), a.iqr(x.ravel())
    s["mean"], s["sd"] = x.mean(), x.std(ddof=1)
    s["pareto khat"] = a.pareto_khat(x)
    s["pareto min ss"] = a.pareto_min_ss(x)
    return s


def of_log_lik(log_lik, chains):
    """Pointwise and total, with ArviZ's number of tail draws and the relative efficiency of 1."""
    from arviz_stats.base import array_stats as a

    n, draws = log_lik.shape
    s = {}
    for efficiency in [1.0, 0.4]:
        rows = [a.loo(row.reshape(chains, -1), r_eff=efficiency) for row in log_lik]
        elpd, k, p = (np.array(column, float) for column in zip(*rows))
        tag = f"arviz tail {efficiency}"
        s[f"{tag} elpd"], s[f"{tag} k"], s[f"{tag} p"] = elpd, k, p
        weights = np.array([a.psislw(-row, r_eff=efficiency)[0] for row in -log_lik])
        # Sorted: which of several equal ratios gets which smoothed weight is left open.
        s[f"{tag} weights"] = np.sort(weights)[:, :: draws // 20]
    total, se, p_loo, _ = a.loo_summary(elpd, p)
    s["total"], s["se"], s["p_loo"] = total, se, p_loo
    # The rows' own formula for the Monte Carlo error (R loo, log-normal): numpy, on ArviZ's weights.
    w = np.array([a.psislw(row, r_eff=1.0)[0] for row in log_lik])
    w = np.exp(w - np.logaddexp.reduce(w, axis=1, keepdims=True))
    mean = np.sum(w * np.exp(log_lik), axis=1)
    var = np.sum(w**2 * (np.exp(log_lik) - mean[:, None]) ** 2, axis=1)
    s["mcse"], s["n_eff"] = np.sqrt(np.log1p(var / mean**2)), 1 / np.sum(w**2, axis=1)
    likelihood = np.exp(log_lik).reshape(n, chains, -1)
    s["relative efficiency"] = [a.ess(x, method="mean") / draws for x in likelihood]
    # WAIC with sample variances: numpy.
    lppd = np.logaddexp.reduce(log_lik, axis=1) - np.log(draws)
    penalty = log_lik.var(axis=1, ddof=1)
    s["waic"] = [np.sum(lppd - penalty), np.sqrt(n * np.var(lppd - penalty, ddof=1)), penalty.sum()]
    return s


def of_predictions(log_lik, y, rng):
    """Statistics of predictions weighted by leave-one-out, of one observation after the other."""
    from arviz_stats.base import array_stats as a

    weights = np.array([a.psislw(row, r_eff=1.0)[0] for row in log_lik])
    predictions = np.round(rng.normal(size=log_lik.shape) * 2 + np.arange(len(y))[:, None], 3)
    counts = np.round(predictions)
    s = {"observed": y, "predictions": predictions}
    chains = [(p.reshape(4, -1), w.reshape(4, -1)) for p, w in zip(predictions, weights)]
    # The public function draws ties at random, this one takes the middle.
    s["pit"] = [a._loo_pit(p, v, w) for p, v, w in zip(predictions, y, weights)]
    s["pit of counts"] = [a._loo_pit(p, v, w) for p, v, w in zip(counts, np.round(y), weights)]
    for kind in ["mean", "var", "sd"]:
        s[kind] = [a.loo_expectation(p, w, kind=kind) for p, w in chains]
    for p in [0.1, 0.5]:
        s[f"quantile {p}"] = [a.loo_quantile(v, w, p) for v, w in chains]
    for kind in ["crps", "scrps"]:
        s[kind] = [a.loo_score(p, v, w, kind=kind) for (p, w), v in zip(chains, y)]
    return s


def of_components(variables, prior, likelihood):
    from arviz_stats.base import array_stats as a

    s = {}
    for name, component in [("prior", prior), ("likelihood", likelihood)]:
        weights = []
        for alpha in [0.99, 1.01]:
            log_weights = a.power_scale_lw(component.ravel(), alpha=alpha)
            weights.append(np.exp(log_weights) / np.exp(log_weights).sum())
            s[f"{name} weights {alpha}"] = np.sort(log_weights)[::50]
        for variable, x in variables.items():
            s[f"{name} {variable}"] = a.power_scale_sense(
                x, weights[0].reshape(x.shape), weights[1].reshape(x.shape), lower_alpha=0.99, upper_alpha=1.01
            )
    return s


def stacking(elpd):
    """The maximum by scipy, from several starts, to more digits than ArviZ asks for."""
    p = np.exp(elpd - elpd.max(axis=0)).T
    score = lambda w: -np.mean(np.log(p @ w))
    slope = lambda w: -np.mean(p / (p @ w)[:, None], axis=0)
    best = None
    for start in [np.full(len(elpd), 1 / len(elpd)), *(np.eye(len(elpd)) * 0.9 + 0.1 / len(elpd))]:
        found = optimize.minimize(
            score, start / start.sum(), jac=slope, method="SLSQP", bounds=[(0, 1)] * len(elpd),
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(len(elpd))},
            options={"ftol": 1e-16, "maxiter": 1000},
        )
        best = found if best is None or found.fun < best.fun else best
    return best.x


def old():
    import arviz as az

    out = {}
    for path in CASES:
        case = json.loads(path.read_text())
        if "log_lik" in case:
            log_lik = np.array(case["log_lik"])
            out[path.stem] = {}
            for efficiency in [1.0, 0.4]:
                weights, k = az.psislw(-log_lik, reff=efficiency)
                out[path.stem][f"k {efficiency}"] = k
                out[path.stem][f"elpd {efficiency}"] = np.logaddexp.reduce(weights + log_lik, axis=1)
    (HERE / "parity_old.json").write_text(json.dumps(plain(out)).replace("}, ", "},\n") + "\n")


def main():
    from arviz_stats.base import array_stats as a

    rng = np.random.default_rng(7)
    out, elpds = {}, {}
    for path in CASES:
        case = json.loads(path.read_text())
        variables = {k: np.array(v) for k, v in case["variables"].items()}
        entry = {"variables": {k: of_scalar(x) for k, x in variables.items()}}
        entry["variables"]["lp"] = of_scalar(np.array(case["lp"]))
        entry["bfmi"] = a.bfmi(np.array(case["energy"]))
        if "log_lik" in case:
            log_lik = np.array(case["log_lik"])
            entry["loo"] = of_log_lik(log_lik, 4)
            elpds[path.stem] = entry["loo"]["arviz tail 1.0 elpd"]
            likelihood = log_lik.sum(axis=0).reshape(4, -1)
            entry["components"] = of_components(variables, np.array(case["lp"]) - likelihood, likelihood)
            if path.stem in ["schools_non_centred", "schools_centred"]:
                y = np.round(rng.normal(size=8) * 2 + np.arange(8), 3)
                entry["predictions"] = of_predictions(log_lik[:8], y, rng)
        out[path.stem] = plain(entry)
    models = ["mesquite", "mesquite_volume", "kilpisjarvi"]
    elpd = np.array([elpds[m] for m in models])
    rows = [(e - elpd[0]) for e in elpd]
    n = elpd.shape[1]
    out["compare"] = plain({
        "stacking": stacking(elpd),
        "pseudo-bma": np.exp(elpd.sum(1) - elpd.sum(1).max()) / np.exp(elpd.sum(1) - elpd.sum(1).max()).sum(),
        "elpd": elpd.sum(1),
        # ArviZ has the divisor n here, R loo n - 1: numpy.
        "se_diff": [np.sqrt(n * np.var(r, ddof=1)) for r in rows],
        "elpd_diff": [r.sum() for r in rows],
        "p_worse": [stats.norm.cdf(0, r.sum(), np.sqrt(n * np.var(r, ddof=1)) + 1e-300) for r in rows],
    })
    out["compare"]["models"] = models
    mu = np.array([[0.3, 1.2, 2.2, 2.9], [0.1, 1.0, 2.4, 3.3]])
    y = np.array([0.5, 0.7, 2.6, 3.1])
    out["r2"] = plain({"mu": mu, "y": y, "bayesian": a.bayesian_r2(mu, np.array([0.4, 0.6])), "residual": a.residual_r2(y, mu)})
    text = json.dumps(out, indent=None)
    (HERE / "parity.json").write_text(text.replace('}, "', '},\n"') + "\n")


old() if "--old" in sys.argv else main()
