"""nutpie on exmc in BridgeStan's place: eight schools, not centred; estimates beside posteriordb's.

The environment variable BRIDGESTAN names the directory of `exmc bridgestan install`; the interpreter has
nutpie. `cargo xtask clients --bridgestan` runs this.
"""

import os
import time

import bridgestan
import nutpie

PROGRAM = """
data { int<lower=0> J; vector[J] y; vector<lower=0>[J] sigma; }
parameters { real mu; real<lower=0> tau; vector[J] z; }
transformed parameters { vector[J] theta = mu + tau * z; }
model { mu ~ normal(0, 5); tau ~ cauchy(0, 5); z ~ std_normal(); y ~ normal(theta, sigma); }
generated quantities { array[J] real y_rep = normal_rng(theta, sigma); }
"""
DATA = {"J": 8, "y": [28, 8, -3, 7, -1, 1, 18, 12], "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}

bridgestan.set_bridgestan_path(os.environ["BRIDGESTAN"])
started = time.perf_counter()
compiled = nutpie.compile_stan_model(code=PROGRAM).with_data(**DATA)
ready = time.perf_counter()
trace = nutpie.sample(compiled, draws=1000, tune=500, chains=4, seed=1, progress_bar=False)
done = time.perf_counter()
means = {name: float(trace.posterior[name].mean()) for name in ("mu", "tau")}
print(
    f"nutpie {nutpie.__version__}: program to model {ready - started:.2f} s, 4 chains {done - ready:.2f} s, "
    f"mean of mu {means['mu']:.2f}, of tau {means['tau']:.2f}"
)
assert trace.posterior["y_rep"].shape == (4, 1000, 8)
# 4.4 and 3.6, with Monte Carlo errors of about 0.1: the reference draws of posteriordb.
assert abs(means["mu"] - 4.4) < 0.5 and abs(means["tau"] - 3.6) < 0.6
