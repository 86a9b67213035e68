"""Writes posteriors/NAME.json: draws of a few variables from real runs, and log likelihoods where noted.

Run: pip install numpy scipy && python posteriors.py EXMC MODELS
EXMC is the program, MODELS a folder of posteriordb programs, each NAME/model.stan with NAME/data.json.
Draws are rounded to 8 significant digits so that the files stay small.
Short warmup and a low target acceptance are on purpose: some of these runs must be bad.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from scipy import stats

EXMC, MODELS = sys.argv[1], pathlib.Path(sys.argv[2])
OUT = pathlib.Path(__file__).with_name("posteriors")
DRAWS = 250
OBSERVATIONS = 24


def normal(y, mu, sigma):
    return stats.norm.logpdf(np.asarray(y, float), mu, sigma)


def kilpisjarvi(d, v):
    return normal(d["y"], v["alpha"][:, None] + v["beta"][:, None] * np.array(d["x"]), v["sigma"][:, None])


def mesquite(d, v):
    a = {k: np.array(x, float) for k, x in d.items() if k != "N"}
    columns = [
        np.ones(d["N"]), np.log(a["diam1"] * a["diam2"] * a["canopy_height"]), np.log(a["diam1"] * a["diam2"]),
        np.log(a["diam1"] / a["diam2"]), np.log(a["total_height"]), np.log(a["density"]), a["group"],
    ]
    mu = sum(v[f"beta.{k + 1}"][:, None] * x for k, x in enumerate(columns))
    return normal(np.log(a["weight"]), mu, v["sigma"][:, None])


def mesquite_volume(d, v):
    a = {k: np.array(x, float) for k, x in d.items() if k != "N"}
    volume = np.log(a["diam1"] * a["diam2"] * a["canopy_height"])
    mu = v["beta.1"][:, None] + v["beta.2"][:, None] * volume
    return normal(np.log(a["weight"]), mu, v["sigma"][:, None])


def dugongs(d, v):
    mu = v["alpha"][:, None] - v["beta"][:, None] * v["lambda"][:, None] ** np.array(d["x"])
    return normal(d["Y"], mu, v["tau"][:, None] ** -0.5)


def schools(d, v):
    return normal(d["y"], np.stack([v[f"theta.{k + 1}"] for k in range(8)], 1), np.array(d["sigma"]))


def poisson(d, v):
    mu = np.stack([v[f"log_lambda.{k + 1}"] for k in range(d["n"])], 1)
    return stats.poisson.logpmf(np.array(d["C"]), np.exp(mu))


def seeds(d, v):
    x1, x2 = np.array(d["x1"]), np.array(d["x2"])
    b = np.stack([v[f"b.{k + 1}"] for k in range(d["I"])], 1)
    eta = v["alpha0"][:, None] + v["alpha1"][:, None] * x1 + v["alpha2"][:, None] * x2
    eta = eta + v["alpha12"][:, None] * x1 * x2 + b
    return stats.binom.logpmf(np.array(d["n"]), np.array(d["N"]), 1 / (1 + np.exp(-eta)))


# name: (model, variables as in the CSV header, options, log likelihood or None)
CASES = {
    "schools_centred": ("eight_schools-eight_schools_centered", ["mu", "tau", "theta.1"], ["--warmup", "60", "--target-accept", "0.5", "--metric", "diag"], schools),
    "schools_non_centred": ("eight_schools-eight_schools_noncentered", ["mu", "tau", "theta.1"], [], schools),
    "kilpisjarvi": ("kilpisjarvi_mod-kilpisjarvi", ["alpha", "beta", "sigma"], [], kilpisjarvi),
    "mesquite": ("mesquite-logmesquite_logvas", ["beta.1", "beta.7", "sigma"], [], mesquite),
    "mesquite_volume": ("mesquite-logmesquite_logvolume", ["beta.1", "beta.2", "sigma"], [], mesquite_volume),
    "dugongs": ("dugongs_data-dugongs_model", ["alpha", "lambda", "tau"], [], dugongs),
    "poisson": ("GLM_Poisson_Data-GLM_Poisson_model", ["alpha", "beta2"], [], poisson),
    "seeds": ("seeds_data-seeds_model", ["alpha0", "tau", "b.1"], ["--warmup", "200"], seeds),
    "autoregression": ("arK-arK", ["alpha", "beta.1", "sigma"], [], None),
    "garch": ("garch-garch11", ["alpha1", "beta1", "mu"], [], None),
    "kidscore": ("kidiq-kidscore_momiq", ["beta.1", "beta.2", "sigma"], ["--metric", "diag"], None),
    "height": ("earnings-earn_height", ["beta.1", "sigma"], ["--metric", "diag"], None),
    "two_normals": ("normal_2-normal_mixture", ["theta", "mu.1"], [], None),
    "five_normals": ("normal_5-normal_mixture_k", ["theta.1", "mu.1", "sigma.1"], [], None),
    "collapsed_mixture": ("low_dim_gauss_mix_collapse-low_dim_gauss_mix_collapse", ["mu.1", "theta"], [], None),
    "mixture": ("low_dim_gauss_mix-low_dim_gauss_mix", ["mu.1", "mu.2", "theta"], [], None),
    "drive": ("bball_drive_event_0-hmm_drive_0", ["phi.1", "theta1.1"], ["--warmup", "100"], None),
    "capture": ("Mh_data-Mh_model", ["mean_p", "sigma"], ["--warmup", "100"], None),
    "rats": ("rats_data-rats_model", ["mu_alpha", "sigma_beta", "alpha.1"], [], None),
    "surgical": ("surgical_data-surgical_model", ["mu", "sigmasq"], [], None),
    "rate": ("Rate_3_data-Rate_3_model", ["theta"], [], None),
    "lynx_hare": ("hudson_lynx_hare-lotka_volterra", ["theta.1", "z_init.1"], ["--warmup", "150"], None),
    "topics": ("three_men1-ldaK2", ["theta.1.1", "phi.1.1"], ["--warmup", "100"], None),
    "process": ("gp_pois_regr-gp_regr", ["rho", "alpha", "sigma"], [], None),
    "grades": ("lsat_data-lsat_model", ["beta", "alpha.1"], ["--warmup", "60"], None),
}


def read(folder):
    chains = []
    for path in sorted(pathlib.Path(folder).glob("*_*.csv"), key=lambda p: int(p.stem.rsplit("_", 1)[1])):
        rows = list(csv.reader(line for line in path.open() if not line.startswith("#") and line.strip()))
        chains.append({name: [float(row[i]) for row in rows[1:]] for i, name in enumerate(rows[0])})
    return chains


def short(x):
    return [float(f"{value:.8g}") for value in x]


wanted = sys.argv[3:] or CASES
for seed, (name, (model, variables, options, log_lik)) in enumerate(CASES.items()):
    if name not in wanted:
        continue
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        command = [EXMC, "sample", MODELS / model / "model.stan", "--data", MODELS / model / "data.json"]
        command += ["--seed", str(seed + 1), "--draws", str(DRAWS), "--out", run, "--format", "stan-csv", "--quiet"]
        command += options if "--warmup" in options else [*options, "--warmup", "500"]
        ended = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        if ended.returncode:
            sys.exit(f"{name}: {ended.stderr}")
        chains = read(run)
    missing = [v for v in variables if v not in chains[0]]
    if missing:
        sys.exit(f"{name} has no {missing}, but {list(chains[0])[:40]}")
    document = {
        "model": model,
        "divergences": int(sum(sum(c["divergent__"]) for c in chains)),
        "variables": {v: [short(c[v]) for c in chains] for v in variables},
        "energy": [short(c["energy__"]) for c in chains],
        "lp": [short(c["lp__"]) for c in chains],
    }
    if log_lik:
        data = json.loads((MODELS / model / "data.json").read_text())
        pooled = {k: np.concatenate([c[k] for c in chains]) for k in chains[0]}
        document["log_lik"] = [short(column) for column in log_lik(data, pooled).T[:OBSERVATIONS]]
    text = json.dumps(document).replace(", \"", ",\n\"")
    (OUT / f"{name}.json").write_text(text + "\n")
    print(name, document["divergences"], len(text))
