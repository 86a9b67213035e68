"""Seconds from a Stan program to a fit: exmc in CmdStan's place, under CmdStanPy, and Stan's own engine.

Usage: time_to_fit.py CMDSTAN PEERS NAME..., with the interpreter of an environment that has cmdstanpy and
httpstan. CMDSTAN is a directory of `exmc cmdstan install`; PEERS is the folder of peers whose
`stan/build.py` compiles `models/NAME/model.stan` by Stan's headers (it needs g++).

exmc: from `CmdStanModel(stan_file=...)`, nothing compiled before, to the fit object of `sample`, four chains
of 1000 draws after 1000 of warmup. Stan: the same steps without a client, which would add to them: stanc, g++
with CmdStan's flags (its precompiled header and its main object are there already and do not count), the
linker, four chains of as many draws, two at a time, and their draws as an array. Each is timed by the clock
and in seconds of the processor, since other work may share the machine.
"""

import json
import logging
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

CHAINS, DRAWS = 4, 1000


class Timer:
    """Wall and processor seconds of this process and its children since it was made."""

    def __init__(self):
        self.wall, self.processor = time.perf_counter(), self.used()

    @staticmethod
    def used():
        kinds = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(kind.ru_utime + kind.ru_stime for kind in kinds)

    def __call__(self):
        return np.array([time.perf_counter() - self.wall, self.used() - self.processor])


def exmc(folder, program, data):
    """Seconds of the model and of its chains, and the fit's worst R-hat."""
    import cmdstanpy

    shutil.copy(program, os.path.join(folder, "model.stan"))
    timer = Timer()
    model = cmdstanpy.CmdStanModel(stan_file=os.path.join(folder, "model.stan"))
    compiled = timer()
    fit = model.sample(data=data, chains=CHAINS, parallel_chains=2, seed=1, show_progress=False)
    fit.draws()
    done = timer()
    return compiled, done - compiled, fit.summary()["R_hat"].max()


def stan(folder, peers, name, data):
    """The same of Stan's engine."""
    timer = Timer()
    subprocess.run([sys.executable, os.path.join(peers, "stan", "build.py"), name], check=True,
                   stdout=subprocess.DEVNULL)
    compiled = timer()
    program = os.path.join(peers, "stan", "build", "O3", name, "model")
    # delta and the largest depth are Stan's defaults.
    start = lambda chain: subprocess.Popen(
        [program, "sample", data, str(chain), str(DRAWS), str(DRAWS), "0.8", "10", os.path.join(folder, str(chain))],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for first in range(1, CHAINS + 1, 2):
        for chain in [start(first), start(first + 1)]:
            if chain.wait() != 0:
                raise SystemExit(f"a chain of {name} failed")
    draws = []
    for chain in range(1, CHAINS + 1):
        files = [file for file in os.listdir(folder) if file.startswith(f"{chain}.") and file.endswith(".rows.f64")]
        draws += [np.fromfile(os.path.join(folder, file)) for file in files]
    assert sum(part.size for part in draws) >= CHAINS * DRAWS
    done = timer()
    return compiled, done - compiled


def main():
    cmdstan, peers, *names = sys.argv[1:]
    os.environ["CMDSTAN"] = os.path.abspath(cmdstan)
    logging.getLogger("cmdstanpy").disabled = True
    print("| model | system | program to executable | chains | in all | processor, in all | worst R-hat |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name in names:
        place = os.path.join(peers, "models", name)
        program, data = os.path.join(place, "model.stan"), os.path.join(place, "data.json")
        with tempfile.TemporaryDirectory() as folder:
            ours = exmc(folder, program, data)
        with tempfile.TemporaryDirectory() as folder:
            theirs = stan(folder, peers, name, data)
        for system, (compiled, sampled, *rhat) in [("exmc, CmdStanPy", ours), ("Stan's engine", theirs)]:
            total = compiled + sampled
            cells = [f"{seconds:.2f} s" for seconds in (compiled[0], sampled[0], total[0], total[1])]
            print(f"| {name} | {system} | {' | '.join(cells)} | {f'{rhat[0]:.3f}' if rhat else ''} |", flush=True)
        ratio = (theirs[0] + theirs[1]) / (ours[0] + ours[1])
        print(json.dumps({"model": name, "times_as_long": {"wall": round(ratio[0], 1), "processor": round(ratio[1], 1)}}),
              file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
