#!/usr/bin/env python3
"""Samples one posterior with stanli (Stan without a compiler), 4 chains of 1000 + 1000 draws, and prints one JSON record.

    python stanli_posterior.py MODEL.stan DATA.json SEED

The record: processor and wall seconds of reading the model and sampling (imports and diagnostics are not counted), largest R-hat
and least bulk and tail ESS over the parameters block (ArviZ, rank-normalised), divergences, depth hits, and `warnings`: the kinds
that `exmc` would name by the same thresholds.
"""
import json, re, sys, time, warnings
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")
import arviz as az
import stanli

CHAINS, WARMUP, DRAWS, MAX_DEPTH = 4, 1000, 1000, 10
# Relative deviation of what varies by rounding only.
ROUNDING = 100 * np.finfo(float).eps


def parameters(program):
    """names that the parameters block declares"""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", program, flags=re.S)
    blank = re.sub(r"transformed\s+parameters", lambda m: " " * len(m[0]), text)
    start = re.search(r"\bparameters\s*\{", blank)
    depth, at = 1, start.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    block = re.sub(r"<[^;]*?>(?=\s*[\w\[(])|\[[^\[\]]*\]", " ", text[start.end():at - 1])
    return {re.findall(r"\w+", d)[-1] for d in block.split(";") if d.strip()}


def number(x):
    return float(x) if np.isfinite(x) else str(float(x))


def main():
    stan, data, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    values = json.loads(data.read_text())
    wall, cpu = time.perf_counter(), time.process_time()
    model = stanli.Model(stan_file=str(stan), data=values)
    fit = model.sample(seed=seed, chains=CHAINS, warmup=WARMUP, samples=DRAWS, refresh=0)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    wanted = parameters(stan.read_text())
    stats = np.stack([np.asarray(s)[-DRAWS:] for s in fit.sampler_stats])
    column = lambda name: stats[:, :, stanli.SAMPLER_COLUMNS.index(name)]
    draws = np.asarray(fit.draws())
    if draws.shape[:2] != (CHAINS, DRAWS):
        raise SystemExit(f"draws have the shape {draws.shape}")
    rhat, bulk, tail, worst, finite = -np.inf, np.inf, np.inf, "", True
    for i, name in enumerate(model.constrained_names):
        if re.split(r"[\[.:]", name)[0] not in wanted:
            continue
        x = draws[:, :, i]
        if not np.isfinite(x).all():
            finite, worst = False, name
            continue
        if x.std() <= ROUNDING * abs(x.mean()):
            continue
        own = float(az.ess(x, method="bulk")), float(az.ess(x, method="tail"))
        if min(own) < min(bulk, tail):
            worst = name
        rhat, bulk, tail = max(rhat, float(az.rhat(x))), min(bulk, own[0]), min(tail, own[1])
    energy = column("energy__")
    ebfmi = (np.diff(energy, axis=1) ** 2).mean(axis=1) / energy.var(axis=1)
    divergences, hits = int(column("divergent__").sum()), int((column("treedepth__") >= MAX_DEPTH).sum())
    found = {"non-finite": not finite, "divergences": divergences > 0, "rhat": rhat > 1.01, "ess-bulk": bulk < 100 * CHAINS,
             "ess-tail": tail < 100 * CHAINS, "ebfmi": bool((ebfmi < 0.3).any()), "depth-hits": hits > 0}
    print(json.dumps(dict(system="stanli", seed=seed, cpu=cpu, wall=wall, rhat=number(rhat), ess_bulk=number(bulk),
                          ess_tail=number(tail), worst=worst, divergences=divergences, depth_hits=hits,
                          warnings=[kind for kind, is_so in found.items() if is_so])))


main()
