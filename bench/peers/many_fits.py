"""Many small fits -> fits a second of one exmc command and of a loop over stanli.

Usage: many_fits.py EXMC FITS PEER_FITS, with the interpreter of an environment that has stanli. Data
sets are eight schools with other outcomes each; the program is the non-centred one; each fit has 4
chains of 1000 + 1000 draws. `PEER_FITS` of the data sets are fitted by stanli, whose model is compiled
once for each data set, since it takes data when it compiles. Wall and processor time, of one run each.
"""

import glob
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

import stanli

PROGRAM = """data { int<lower=0> J; vector[J] y; vector<lower=0>[J] sigma; }
parameters { real mu; real<lower=0> tau; vector[J] z; }
transformed parameters { vector[J] theta = mu + tau * z; }
model { mu ~ normal(0, 5); tau ~ cauchy(0, 5); z ~ std_normal(); y ~ normal(theta, sigma); }
"""
SIGMA = [15, 10, 16, 11, 9, 11, 10, 18]


def used(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def main():
    exmc, fits, peer_fits = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "schools.stan")
        with open(program, "w") as file:
            file.write(PROGRAM)
        os.mkdir(os.path.join(folder, "data"))
        for k in range(fits):
            draw = random.Random(k)
            tau = abs(draw.gauss(0, 8))
            y = [draw.gauss(draw.gauss(4, tau), s) for s in SIGMA]
            with open(os.path.join(folder, "data", f"{k:06}.json"), "w") as file:
                json.dump({"J": 8, "y": y, "sigma": SIGMA}, file)
        began, before = time.perf_counter(), used(resource.RUSAGE_CHILDREN)
        made = subprocess.run(
            [exmc, "sample", program, "--data-many", os.path.join(folder, "data", "*.json"),
             "--out", os.path.join(folder, "runs")], capture_output=True, text=True)
        if made.returncode not in (0, 1):
            sys.exit(made.stderr)
        wall, processor = time.perf_counter() - began, used(resource.RUSAGE_CHILDREN) - before
        print(f"exmc: {fits} fits in {wall:.1f} s, {processor:.1f} processor s: "
              f"{fits / wall:.1f} fits/s, {fits / processor:.1f} a processor second", flush=True)
        began, before = time.perf_counter(), used(resource.RUSAGE_SELF)
        for path in sorted(glob.glob(os.path.join(folder, "data", "*.json")))[:peer_fits]:
            with open(path) as file:
                model = stanli.Model(stan_file=program, data=json.load(file))
            model.sample(seed=1, chains=4, warmup=1000, samples=1000, refresh=0).draws()
        wall, processor = time.perf_counter() - began, used(resource.RUSAGE_SELF) - before
        print(f"stanli {stanli.__version__}: {peer_fits} fits in {wall:.1f} s, {processor:.1f} processor s: "
              f"{peer_fits / wall:.1f} fits/s, {peer_fits / processor:.1f} a processor second")


main()
