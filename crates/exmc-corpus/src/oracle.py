"""Log densities and gradients by stanli, which runs Stan's own mathematics: JSON lines in, JSON lines out.

A line in: {"stan": path, "data": path or null, "points": [[unconstrained, in Stan's order], ...]}.
A line out: {"dim": n, "lp": [...], "gradient": [[...], ...]} or {"error": text}.
"""
import json
import math
import sys

import stanli


def number(x):
    return x if math.isfinite(x) else str(x)


for line in sys.stdin:
    request = json.loads(line)
    try:
        data = json.load(open(request["data"])) if request["data"] else {}
        model = stanli.Model(stan_file=request["stan"], data=data)
        answer = {"dim": int(model.n_unconstrained), "lp": [], "gradient": []}
        for point in request["points"]:
            try:
                if len(point) != answer["dim"]:
                    break
                lp, gradient = model.log_prob_grad(point)
            except Exception as error:
                lp, gradient = math.nan, [math.nan] * len(point)
            answer["lp"].append(number(float(lp)))
            answer["gradient"].append([number(float(g)) for g in gradient])
    except Exception as error:
        answer = {"error": str(error)[:300]}
    print(json.dumps(answer), flush=True)
