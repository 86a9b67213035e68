"""Random Stan programs -> how many of them stanli, which shares no code with exmc, gives the same
log density and gradient.

Usage: judge_programs.py GATES EXMC COUNT FIRST_SEED [STAN], with the interpreter of an environment
that has stanli. `GATES stan-program SEED` writes a program, `EXMC logp` evaluates it. Log densities are
compared as differences from the first point, since stanli leaves out constants; gradients element by
element. Where both differ, Stan's own headers decide, if STAN names the folder of peers whose
`stan/build.py` compiles `models/NAME/model.stan` (it needs httpstan and g++): log densities at all points,
from the first one, and lengths of gradients. Exits with 1 if exmc differs from Stan, or from stanli where Stan was not asked.
"""

import collections
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import stanli

POINTS = 6
# Sums run in another order; sizes as in the gate of random programs.
VALUE_TOLERANCE = 1e-8
GRADIENT_TOLERANCE = 1e-7
SIZES = {"x": (), "y": (), "v": (4,), "w": (4,), "M": (4, 4)}
DATA = {
    "k": [3, 1, 4, 2],
    "d": [0.5, -1.2, 0.3, -0.7],
    "c": 0.8,
    "perm": [2, 4, 1, 3],
    "idx": [1, 4, 2, 2, 3, 1, 1, 4, 3, 2, 4, 4, 1, 3, 2, 3, 2, 1, 4, 3, 1, 2, 4, 3],
    "w24": [0.3, -0.4, 0.9, -1.1, 0.2, 0.6, -0.8, -0.2, 1.3, 0.1, -0.5, 0.7, -0.9, 0.4, 0.8, -0.3,
            0.5, -0.6, 1.1, -1.2, 0.25, 0.35, -0.45, 0.55],
}


def run(*words):
    return subprocess.run(words, capture_output=True, text=True)


def points(seed):
    rng = random.Random(seed)
    for _ in range(POINTS):
        yield {name: np.array([rng.uniform(-1.5, 1.5) for _ in range(int(np.prod(shape)))]).reshape(shape)
               for name, shape in SIZES.items()}


def flat(point):
    """Stan's order: matrices by columns."""
    return np.concatenate([np.ravel(value, order="F") for value in point.values()])


def stanlis(path, places):
    """stanli's log densities and gradients; a text where it refuses the program."""
    try:
        model = stanli.Model(stan_file=path, data=DATA)
    except Exception as error:  # whatever the peer says
        return str(error).splitlines()[-1][:120]
    made = []
    for point in places:
        try:
            made.append(model.log_prob_grad(flat(point)))
        except RuntimeError:
            made.append((-np.inf, None))
    return made


class Peer:
    """stanli in a process of its own, since some programs end it."""

    def __init__(self):
        self.pool = concurrent.futures.ProcessPoolExecutor(1)

    def __call__(self, path, places):
        try:
            return self.pool.submit(stanlis, path, places).result()
        except concurrent.futures.process.BrokenProcessPool:
            self.pool = concurrent.futures.ProcessPoolExecutor(1)
            return None


def judge(folder, gates, exmc, seed, peer):
    """What became of one program, and where."""
    program = run(gates, "stan-program", str(seed)).stdout
    path = os.path.join(folder, "program.stan")
    with open(path, "w") as file:
        file.write(program)
    places = list(points(seed))
    found = peer(path, places)
    if found is None:
        return "stanli ends with a signal", f"seed {seed}"
    if isinstance(found, str):
        return "stanli refuses it", found
    listed = [{name: value.tolist() for name, value in point.items()} for point in places]
    with open(os.path.join(folder, "points.json"), "w") as file:
        json.dump(listed, file)
    made = run(exmc, "logp", path, "--data", os.path.join(folder, "data.json"), "--points",
               os.path.join(folder, "points.json"), "--json")
    if made.returncode not in (0, 1) or not made.stdout:
        return "exmc fails", made.stderr[-200:]
    ours = json.loads(made.stdout)["points"]
    base = None
    compared = 0
    for own, (theirs, slopes) in zip(ours, found):
        value = own["lp"]
        value = -np.inf if value is None or isinstance(value, str) else value
        if not np.isfinite(theirs) or not np.isfinite(value):
            if np.isfinite(theirs) != np.isfinite(value):
                return "differs", f"log density {value}, stanli {theirs}"
            continue
        if base is None:
            base = (value, theirs)
        size = max(1.0, abs(value), abs(base[0]))
        if abs((value - base[0]) - (theirs - base[1])) > VALUE_TOLERANCE * size:
            return "differs", f"log density {value - base[0]}, stanli {theirs - base[1]} from the first point"
        gradient = flat({name: np.array(own["gradient"][name], dtype=float) for name in SIZES})
        largest = max(1.0, abs(value), np.max(np.abs(slopes)))
        if np.max(np.abs(gradient - slopes)) > GRADIENT_TOLERANCE * largest:
            return "differs", f"gradient by {np.max(np.abs(gradient - slopes))}"
        compared += 1
    return ("agrees" if compared > 1 else "nothing to compare"), ""


def stan_decides(stan, folder, gates, exmc, seed):
    """Whether exmc's log densities are Stan's, and how far they are apart."""
    name = f"random_{seed}"
    place = os.path.join(stan, "models", name)
    os.makedirs(place, exist_ok=True)
    program = os.path.join(place, "model.stan")
    with open(program, "w") as file:
        file.write(run(gates, "stan-program", str(seed)).stdout)
    data = os.path.join(place, "data.json")
    with open(data, "w") as file:
        json.dump(DATA, file)
    built = run(sys.executable, os.path.join(stan, "stan", "build.py"), name, "--variant", "O0")
    program_built = os.path.join(stan, "stan", "build", "O0", name, "model")
    if not os.path.exists(program_built):
        return None, built.stdout + built.stderr
    places = list(points(seed))
    path = os.path.join(place, "points.f64")
    np.concatenate([flat(point) for point in places]).tofile(path)
    made = run(program_built, "grad", data, path, str(len(places)), "0")
    said = json.loads(made.stdout)
    theirs, norms = (np.array(said[name], dtype=float) for name in ("lp", "gnorm"))
    listed = os.path.join(place, "points.json")
    with open(listed, "w") as file:
        json.dump([{name: value.tolist() for name, value in point.items()} for point in places], file)
    said = run(exmc, "logp", program, "--data", data, "--points", listed, "--json")
    ours = json.loads(said.stdout)["points"]
    values = np.array([own["lp"] for own in ours], dtype=float)
    size = np.maximum(1.0, np.abs(theirs))
    apart = np.max(np.abs((values - values[0]) - (theirs - theirs[0])) / size)
    lengths = np.array([np.linalg.norm(flat({name: np.array(own["gradient"][name], dtype=float) for name in SIZES}))
                        for own in ours])
    slopes_apart = np.max(np.abs(lengths - norms) / np.maximum(size, norms))
    is_stans = bool(apart < VALUE_TOLERANCE and slopes_apart < GRADIENT_TOLERANCE)
    return is_stans, f"exmc and Stan {apart:.1e} apart, lengths of gradients {slopes_apart:.1e}"


def main():
    gates, exmc, count, first = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    stan = sys.argv[5] if len(sys.argv) > 5 else None
    outcomes = collections.Counter()
    reasons = collections.Counter()
    peer = Peer()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "data.json"), "w") as file:
            json.dump(DATA, file)
        for seed in range(first, first + count):
            outcome, why = judge(folder, gates, exmc, seed, peer)
            outcomes[outcome] += 1
            if outcome == "differs":
                print(f"seed {seed}: {why}", flush=True)
                if stan:
                    is_stans, why = stan_decides(stan, folder, gates, exmc, seed)
                    if is_stans is not None:
                        outcomes[outcome] -= 1
                        outcome = "agrees with Stan, stanli does not" if is_stans else "differs"
                        outcomes[outcome] += 1
                    print(f"seed {seed}: {outcome}: {why}", flush=True)
            elif why:
                reasons[f"{outcome}: {why}"] += 1
    print(f"{count} random Stan programs from seed {first} against stanli {stanli.__version__}: "
          + ", ".join(f"{n} {name}" for name, n in sorted(outcomes.items())))
    for why, n in reasons.most_common(30):
        print(f"{n} x {why}")
    sys.exit(1 if outcomes["differs"] or outcomes["exmc fails"] else 0)


main()
