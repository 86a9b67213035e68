#!/usr/bin/env python3
"""Runs stanli (Stan without a compiler) on one model and prints one JSON record with the fields of run_peer.py.

    python run_stanli.py MODELS/NAME [--seeds 1,2,3] [--grad] [--at '{"mu": 0.5}'] [--warmup 1000 --draws 1000 --delta 0.8]

Each seed is one chain on one thread; ESS is ArviZ's bulk ESS, least over the parameters block.
"""
import argparse, json, re, time
from pathlib import Path

import numpy as np


def parameters(program):
    """names that the parameters block declares"""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", program, flags=re.S)
    start = re.search(r"\bparameters\s*\{", re.sub(r"transformed\s+parameters", lambda m: " " * len(m[0]), text))
    depth, at = 1, start.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return [re.findall(r"\w+", d)[-1] for d in text[start.end():at - 1].split(";") if d.strip()]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("folder", type=Path)
    ap.add_argument("--seeds", default="1", type=lambda s: [int(v) for v in s.split(",")])
    ap.add_argument("--warmup", type=int, default=1000)
    ap.add_argument("--draws", type=int, default=1000)
    ap.add_argument("--delta", type=float, default=0.8)
    ap.add_argument("--grad", action="store_true")
    ap.add_argument("--at", default={}, type=json.loads, help="constrained values by name, for the gradient")
    ap.add_argument("--ttfd", action="store_true", help="few draws and no diagnostics")
    a = ap.parse_args()
    import stanli
    t, c = time.perf_counter(), time.process_time()
    data = json.loads((a.folder / "data.json").read_text())
    model = stanli.Model(stan_file=str(a.folder / "model.stan"), data=data)
    rec = dict(system="stanli", model=a.folder.name, d=model.n_unconstrained, load_s=time.perf_counter() - t,
               load_cpu_s=time.process_time() - c, runs=[])
    if a.ttfd:
        model.sample(seed=1, chains=1, warmup=10, samples=1, refresh=0)
        return
    import warnings
    warnings.simplefilter("ignore")
    import arviz as az
    wanted = set(parameters((a.folder / "model.stan").read_text()))
    columns = [i for i, n in enumerate(model.constrained_names) if re.split(r"[\[.]", n)[0] in wanted]
    for seed in a.seeds:
        t, c = time.perf_counter(), time.process_time()
        fit = model.sample(seed=seed, chains=1, warmup=a.warmup, samples=a.draws, delta=a.delta, refresh=0,
                           save_warmup=True)
        wall, cpu = time.perf_counter() - t, time.process_time() - c
        stats = fit.sampler_stats[0]
        steps = stats[:, stanli.SAMPLER_COLUMNS.index("n_leapfrog__")]
        divergent = stats[-a.draws:, stanli.SAMPLER_COLUMNS.index("divergent__")]
        draws = np.asarray(fit.draws())[:, -a.draws:, :]
        ess = []
        for i in columns:
            x = draws[:, :, i]
            e = float(az.ess(x, method="bulk")) if np.ptp(x) > 0 else 0.0
            ess.append((e if np.isfinite(e) else 0.0, model.constrained_names[i]))
        least, who = min(ess)
        run = dict(seed=seed, sample_s=wall, sample_cpu_s=cpu, min_ess=least, min_ess_param=who,
                   divergences=int(divergent.sum()), ess_per_cpu_s=least / cpu,
                   leapfrogs_warmup=int(steps[:-a.draws].sum()), leapfrogs_draws=int(steps[-a.draws:].sum()),
                   us_per_leapfrog=1e6 * cpu / max(1, int(steps.sum())))
        rec["runs"].append(run)
    for k in rec["runs"][0]:
        if k not in ("seed", "min_ess_param"):
            rec[k] = float(np.median([r[k] for r in rec["runs"]]))
    rec["means"] = {model.constrained_names[i]: float(draws[:, :, i].mean()) for i in columns[:12]}
    if a.grad:
        import ctypes
        from stanli import _lib
        q = model.unconstrain(a.at) if a.at else np.random.default_rng(0).normal(size=rec["d"]) * 0.1
        q = np.ascontiguousarray(q, dtype=float)
        g, lp = np.empty(rec["d"]), ctypes.c_double()
        pointer = ctypes.POINTER(ctypes.c_double)
        args = (model._m, q.ctypes.data_as(pointer), ctypes.byref(lp), g.ctypes.data_as(pointer))
        def block(k):
            c = time.process_time()
            for _ in range(k):
                _lib.stanli_grad(*args)
            return (time.process_time() - c) / k
        block(3)
        k = max(10, int(0.03 / max(block(20), 1e-7)))
        rec["grad_s"] = float(np.median([block(k) for _ in range(9)]))
    print(json.dumps(rec))


main()
