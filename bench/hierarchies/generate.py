#!/usr/bin/env python3
"""Writes NAME/data.json and NAME/truth.json of the hierarchies beside this file.

    python generate.py              # all data, and the truth where it is exact; needs numpy
    python generate.py --long       # also the long runs; needs stanli
    python generate.py --only NAME  # of one hierarchy

Data are functions of the seeds here. Truth is exact where outcomes are normal: given the scales, all else is jointly normal, so that its
mean, variance and marginal density are closed forms, and one to four scales are left to a trapezoid rule over their logarithms, which
converges exponentially (each rule is compared with one of half as many points). Where outcomes are yes or no it is a long run of another
system on the non-centred program, with the standard error of each number.

truth.json: `how`, and for each variable `mean` and `sd` of its elements, with `mean_error` and `sd_error` where they are estimates. An `sd`
that is null is not to be judged.
"""
import argparse
import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
LONG_DRAWS, LONG_CHAINS = 25_000, 4


def with_moments(rng, n, mean, squares):
    """n values with exactly this mean and sum of squared deviations"""
    z = rng.standard_normal(n)
    z -= z.mean()
    return mean + z * np.sqrt(squares / (z @ z))


def grouped(seed, each, moments):
    rng = np.random.default_rng(seed)
    y = [with_moments(rng, each, mean, squares) for mean, squares in moments]
    g = np.repeat(np.arange(len(moments)) + 1, each)
    return dict(N=len(g), J=len(moments), g=g.tolist(), y=np.concatenate(y).tolist())


# ------------------------------------------------------------------------------------------------ exact integrals
def half_normal(scale):
    return lambda x: -0.5 * (x / scale) ** 2


def exponential(rate):
    return lambda x: -rate * x


def moments(log_weight, quantities):
    """mean and sd of each quantity, given its mean and variance at every point of a grid"""
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    edge = [weight.take([0, -1], axis=axis).sum() for axis in range(weight.ndim)]
    assert max(edge) < 1e-9, f"the grid is too short: {edge}"
    found = {}
    for name, elements in quantities.items():
        mean = [float((weight * m).sum()) for m, _ in elements]
        square = [float((weight * (v + (m - c) ** 2)).sum()) for (m, v), c in zip(elements, mean)]
        found[name] = dict(mean=mean, sd=np.sqrt(square).tolist())
    return found


def agree(rule):
    """The rule's result with all its points. Half of them in each direction must give the same to 1e-4 sd; the error of a trapezoid rule
    over a smooth peak falls with the square of the exponential of the number of points, so that of all of them is below 1e-8 sd."""
    full, half = rule(1), rule(2)
    for name in full:
        for key in ("mean", "sd"):
            a, b = np.array(full[name][key]), np.array(half[name][key])
            off = np.abs(a - b) / np.array(full[name]["sd"])
            assert off.max() < 1e-4, f"{name}: {a} and {b}"
    return full


def of_groups(mean, variance, spread, prior):
    """Group means seen with variances, under a population: log density of what was seen, and (mean, variance) of the population's
    mean and of each group's; `spread` is the population's sd, `prior` that of its mean around 0."""
    precisions = [1 / (spread**2 + v) for v in variance]
    total = 1 / prior**2 + sum(precisions)
    centre = sum(w * m for w, m in zip(precisions, mean)) / total
    apart = sum(w * (m - centre) ** 2 for w, m in zip(precisions, mean)) + (centre / prior) ** 2
    logp = 0.5 * sum(np.log(w) for w in precisions) - 0.5 * np.log(total) - 0.5 * apart
    groups = []
    for w, m, v in zip(precisions, mean, variance):
        own = spread**2 * w
        groups.append((own * m + (1 - own) * centre, own * v + (1 - own) ** 2 / total))
    return logp, (centre, 1 / total), groups


def known(scale):
    return [(scale, 0.0)]


def medium(data):
    y, g = np.array(data["y"]), np.array(data["g"])
    mean = [y[g == j].mean() for j in (1, 2)]
    squares, n = [((y[g == j] - m) ** 2).sum() for j, m in zip((1, 2), mean)], len(y) // 2

    def rule(step):
        spread = np.exp(np.arange(-6, 5.5, 0.04))[::step, None]
        noise = np.exp(np.arange(-1.6, 0.8, 0.02))[None, ::step]
        logp, mu, groups = of_groups(mean, [noise**2 / n] * 2, spread, 10.0)
        logp = logp - 2 * (n - 1) * np.log(noise) - sum(squares) / (2 * noise**2)
        logp = logp + exponential(1)(spread) + np.log(spread) + exponential(2)(noise) + np.log(noise)
        return moments(logp, dict(mu_global=[mu], sigma_global=known(spread), group=groups, sigma_obs=known(noise)))

    return agree(rule)


def stress(data):
    y, g = np.array(data["y"]), np.array(data["g"])
    own = [y[g == j] for j in (1, 2, 3)]
    mean = [x.mean() for x in own]
    squares, n = [((x - x.mean()) ** 2).sum() for x in own], len(own[0])

    def rule(step):
        axes = [np.exp(np.arange(-2, 5, 0.09))]
        axes += [np.sqrt(s / n) * np.exp(np.arange(-0.72, 1.05, 0.06)) for s in squares]
        spread, *noise = np.meshgrid(*(a[::step] for a in axes), indexing="ij", sparse=True)
        logp, mu, groups = of_groups(mean, [s**2 / n for s in noise], spread, 10.0)
        logp = logp + exponential(0.5)(spread) + np.log(spread)
        for s, square in zip(noise, squares):
            logp = logp - (n - 1) * np.log(s) - square / (2 * s**2) + exponential(1)(s) + np.log(s)
        noises = [(s, 0.0) for s in noise]
        return moments(logp, dict(mu_pop=[mu], sigma_pop=known(spread), theta=groups, noise=noises))

    return agree(rule)


def one_group(data):
    y = np.array(data["y"])

    def rule(step):
        spread = np.exp(np.arange(-25, 4, 0.02))[::step]
        logp, mu, groups = of_groups([y.mean()], [data["noise"] ** 2 / len(y)], spread, 10.0)
        logp = logp + half_normal(5)(spread) + np.log(spread)
        return moments(logp, dict(mu_group=[mu], sigma_group=known(spread), alpha=groups))

    return agree(rule)


def eight_schools(data):
    def rule(step):
        tau = np.exp(np.arange(-25, 4, 0.02))[::step]
        logp, mu, groups = of_groups(data["y"], [s**2 for s in data["sigma"]], tau, 5.0)
        logp = logp + half_normal(5)(tau) + np.log(tau)
        return moments(logp, dict(mu=[mu], tau=known(tau), theta=groups))

    return agree(rule)


def funnel(data):
    wide = float(np.exp(2.25))
    # The fourth moment of x is 3 exp(18): no run of any length here estimates its sd.
    return dict(y=dict(mean=[0.0], sd=[3.0]), x=dict(mean=[0.0] * data["K"], sd=[None] * data["K"], scale=wide))


def regression(y, design, precisions, noise):
    """Normal outcomes of known noise, coefficients of known precisions around 0: log density of the outcomes, means and variances of the
    coefficients, at each row of `precisions` and number of `noise`."""
    gram, cross, square = design.T @ design, design.T @ y, y @ y
    logp, means, variances = [], [], []
    for first in range(0, len(noise), 2000):
        d, s = precisions[first:first + 2000], noise[first:first + 2000, None]
        whole = gram / s[:, :, None] ** 2 + d[:, :, None] * np.eye(d.shape[1])
        inverse = np.linalg.inv(whole)
        mean = np.einsum("kij,j->ki", inverse, cross) / s**2
        fit = (square - mean @ cross) / s[:, 0] ** 2
        determinants = np.log(d).sum(axis=1) - np.linalg.slogdet(whole)[1]
        logp.append(0.5 * determinants - len(y) * np.log(s[:, 0]) - 0.5 * fit)
        means.append(mean)
        variances.append(np.einsum("kii->ki", inverse))
    return np.concatenate(logp), np.concatenate(means), np.concatenate(variances)


def grid_of(rule, at, width):
    """moves and scales a grid of logarithms of scales to where the density is, twice"""
    at, width = np.array(at), np.array(width)
    for _ in range(2):
        axes = [a + w * np.linspace(-6, 6, 13) for a, w in zip(at, width)]
        points = np.stack([x.ravel() for x in np.meshgrid(*axes, indexing="ij")], axis=1)
        weight = rule(points)[0]
        weight = np.exp(weight - weight.max())
        weight /= weight.sum()
        at = weight @ points
        width = np.sqrt(weight @ (points - at) ** 2)
    return at, width


def over_scales(density, at, width, names):
    """`density` takes rows of logarithms of scales and gives log density with Jacobian, means and variances by name"""
    at, width = grid_of(density, at, width)

    def rule(step):
        # Skew: the lower tail of a logarithm of a scale is the longer one.
        axes = [a + w * np.arange(-11, 9.1, 0.5)[::step] for a, w in zip(at, width)]
        grid = np.meshgrid(*axes, indexing="ij")
        logp, quantities = density(np.stack([x.ravel() for x in grid], axis=1))
        shape = grid[0].shape
        shaped = {name: [(m.reshape(shape), v.reshape(shape)) for m, v in all] for name, all in quantities.items()}
        shaped.update({name: known(np.exp(x)) for name, x in zip(names, grid)})
        return moments(logp.reshape(shape), shaped)

    return agree(rule)


def columns(means, variances, places):
    return [(means[:, k], variances[:, k]) for k in places]


def radon(data):
    county, soil = np.array(data["county"]) - 1, np.array(data["soil"])
    by_county = np.eye(data["J"])[county]
    # Counties apart from what their soil says: coefficients around 0.
    design = np.column_stack([np.ones(data["N"]), soil[county], data["floor_measured"], by_county])
    y = np.array(data["y"])

    def density(points):
        spread, noise = np.exp(points).T
        fixed = np.tile([1 / 25, 1 / 4, 1 / 4], (len(points), 1))
        precisions = np.hstack([fixed, np.tile(spread[:, None] ** -2.0, data["J"])])
        # The intercepts themselves are sums of coefficients: their moments come from another basis.
        logp, means, variances = regression(y, design, precisions, noise)
        logp = logp + half_normal(1)(spread) + half_normal(2)(noise) + points.sum(axis=1)
        alphas = intercepts(y, design, precisions, noise, soil)
        return logp, dict(level=columns(means, variances, [0]), by_soil=columns(means, variances, [1]),
                          by_floor=columns(means, variances, [2]), alpha=alphas)

    return over_scales(density, np.log([0.3, 0.75]), [0.15, 0.03], ["sigma_county", "sigma"])


def intercepts(y, design, precisions, noise, soil):
    """(mean, variance) of level + by_soil * soil + deviation, county by county"""
    gram, cross = design.T @ design, design.T @ y
    rows = np.column_stack([np.ones_like(soil), soil, np.zeros_like(soil), np.eye(len(soil))])
    means, variances = np.empty((2, len(noise), len(soil)))
    for k, (d, s) in enumerate(zip(precisions, noise)):
        inverse = np.linalg.inv(gram / s**2 + np.diag(d))
        means[k] = rows @ (inverse @ cross) / s**2
        variances[k] = np.einsum("ij,jk,ik->i", rows, inverse, rows)
    return columns(means, variances, range(len(soil)))


def crossed(data):
    s, t = np.eye(data["J"])[np.array(data["subject"]) - 1], np.eye(data["I"])[np.array(data["item"]) - 1]
    design = np.column_stack([np.ones(data["N"]), data["x"], s, t])
    y = np.array(data["y"])

    def density(points):
        by_subject, by_item, noise = np.exp(points).T
        fixed = np.tile([1 / 4, 1 / 4], (len(points), 1))
        effects = [np.tile(spread[:, None] ** -2.0, n) for spread, n in ((by_subject, data["J"]), (by_item, data["I"]))]
        logp, means, variances = regression(y, design, np.hstack([fixed, *effects]), noise)
        logp = logp + half_normal(1)(by_subject) + half_normal(1)(by_item) + half_normal(2)(noise) + points.sum(axis=1)
        places = dict(level=[0], by_x=[1], s=range(2, 2 + data["J"]), t=range(2 + data["J"], 2 + data["J"] + data["I"]))
        return logp, {name: columns(means, variances, own) for name, own in places.items()}

    return over_scales(density, np.log([0.5, 0.7, 1.0]), [0.15, 0.2, 0.03], ["sigma_subject", "sigma_item", "sigma"])


# ------------------------------------------------------------------------------------------------ data
def radon_data():
    rng = np.random.default_rng(85)
    # Sizes as uneven as those of Minnesota's counties.
    sizes = 1 + rng.multinomial(919 - 85, rng.dirichlet(np.full(85, 0.7)))
    county = np.repeat(np.arange(85), sizes)
    soil = np.round(rng.normal(0, 0.4, 85), 3)
    floor = (rng.random(919) < 0.17).astype(float)
    alpha = 1.5 + 0.7 * soil + rng.normal(0, 0.2, 85)
    y = np.round(alpha[county] - 0.65 * floor + rng.normal(0, 0.75, 919), 3)
    return dict(N=919, J=85, county=(county + 1).tolist(), floor_measured=floor.tolist(), soil=soil.tolist(), y=y.tolist())


def crossing(n_rows, n_columns, names):
    rows, items = np.repeat(np.arange(n_rows), n_columns), np.tile(np.arange(n_columns), n_rows)
    sizes = dict(N=n_rows * n_columns, J=n_rows, I=n_columns)
    return rows, items, {**sizes, names[0]: (rows + 1).tolist(), names[1]: (items + 1).tolist()}


def yes_or_no(rng, eta):
    return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(int).tolist()


def rasch_data():
    rng = np.random.default_rng(11)
    person, item, data = crossing(60, 12, ("person", "item"))
    eta = rng.normal(0, 1.2, 60)[person] - rng.normal(-0.3, 0.8, 12)[item]
    return dict(**data, y=yes_or_no(rng, eta))


def item_response_data():
    rng = np.random.default_rng(22)
    person, item, data = crossing(80, 12, ("person", "item"))
    theta, a, b = rng.normal(0, 1, 80), np.exp(rng.normal(0, 0.4, 12)), rng.normal(0.2, 0.9, 12)
    return dict(**data, y=yes_or_no(rng, a[item] * (theta[person] - b[item])))


def crossed_data():
    rng = np.random.default_rng(33)
    subject, item, data = crossing(30, 16, ("subject", "item"))
    x = (rng.random(len(item)) < 0.5) - 0.5
    mean = 0.8 + 0.4 * x + rng.normal(0, 0.5, 30)[subject] + rng.normal(0, 0.7, 16)[item]
    return dict(**data, x=x.tolist(), y=np.round(mean + rng.normal(0, 1.0, len(x)), 3).tolist())


def crossed_logistic_data():
    rng = np.random.default_rng(44)
    subject, item, data = crossing(40, 15, ("subject", "item"))
    x = (rng.random(len(item)) < 0.5) - 0.5
    eta = 0.6 + 0.5 * x + rng.normal(0, 0.8, 40)[subject] + rng.normal(0, 0.6, 15)[item]
    return dict(**data, x=x.tolist(), y=yes_or_no(rng, eta))


# ------------------------------------------------------------------------------------------------ long runs
def standard_error(draws):
    """of the mean of chains (rows), by Geyer's initial positive sequence of the mean autocovariance"""
    chains, n = draws.shape
    apart = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(apart, 2 * n)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2)[:, :n].mean(axis=0) / n
    pairs = covariance[0:n - 1:2] + covariance[1:n:2]
    end = np.argmax(pairs <= 0) if (pairs <= 0).any() else len(pairs)
    within = (2 * pairs[:end].sum() - covariance[0]) / (chains * n)
    return float(np.sqrt(within))


def long_run(name, data, wanted):
    import stanli

    model = stanli.Model(stan_file=str(HERE / name / "noncentred.stan"), data=data)
    fit = model.sample(seed=20, chains=LONG_CHAINS, warmup=2000, samples=LONG_DRAWS, delta=0.95, refresh=0)
    print(name, "divergences", fit.divergences() if callable(fit.divergences) else fit.divergences, flush=True)
    names, draws = list(fit.names), np.asarray(fit.draws())
    truth = {}
    for variable in wanted:
        own = [k for k, column in enumerate(names) if column.split("[")[0] == variable]
        assert own, f"{name} has no {variable}"
        found = dict(mean=[], sd=[], mean_error=[], sd_error=[])
        for k in own:
            x = draws[:, :, k]
            mean, sd = float(x.mean()), float(x.std())
            between = float(x.mean(axis=1).std(ddof=1) / np.sqrt(LONG_CHAINS))
            error = standard_error(x)
            assert between < 4 * error, f"{name} {names[k]}: chains are {between} apart, expected {error}"
            found["mean"].append(mean)
            found["sd"].append(sd)
            found["mean_error"].append(error)
            found["sd_error"].append(standard_error((x - mean) ** 2) / (2 * sd))
        truth[variable] = found
    how = (f"stanli {stanli.__version__}, noncentred.stan, {LONG_CHAINS} chains of {LONG_DRAWS} draws after 2000, "
           "target acceptance 0.95, seed 20")
    return truth, how


NOTEBOOK = dict(N=5, y=[4.1, 3.8, 4.5, 4.2, 3.9], noise=0.5)
SCHOOLS = dict(J=8, y=[28, 8, -3, 7, -1, 1, 18, 12], sigma=[15, 10, 16, 11, 9, 11, 10, 18])
MEDIUM = [(3.933257131, 11.443038595), (6.757401056, 11.462142500)]
STRESS = [(0.486283922, 41.397497109), (3.019936924, 37.544386194), (5.533162833, 36.247017644)]
EXACT = {
    "medium": (lambda: grouped(2, 30, MEDIUM), medium, "trapezoid rule over two scales"),
    "stress": (lambda: grouped(4, 40, STRESS), stress, "trapezoid rule over four scales"),
    "one-group": (lambda: NOTEBOOK, one_group, "trapezoid rule over the scale"),
    "funnel": (lambda: dict(K=9), funnel, "closed form"),
    "eight-schools": (lambda: SCHOOLS, eight_schools, "trapezoid rule over the scale"),
    "radon": (radon_data, radon, "trapezoid rule over two scales"),
    "crossed": (crossed_data, crossed, "trapezoid rule over three scales"),
}
LONG = {
    "rasch": (rasch_data, ["mu_b", "sigma_theta", "sigma_b", "theta", "b"]),
    "item-response": (item_response_data, ["mu_b", "sigma_a", "sigma_b", "theta", "a", "b"]),
    "crossed-logistic": (crossed_logistic_data, ["level", "by_x", "sigma_subject", "sigma_item", "s", "t"]),
}


def rounded(value):
    if isinstance(value, list):
        return [rounded(x) for x in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def write(name, file, content):
    (HERE / name / file).write_text(json.dumps(content) + "\n")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--long", action="store_true")
    options.add_argument("--only")
    options = options.parse_args()
    for name, (make, truth, how) in EXACT.items():
        if options.only in (None, name):
            data = make()
            found = {variable: {k: rounded(v) for k, v in own.items()} for variable, own in truth(data).items()}
            print(name, {k: (v["mean"][:3], v["sd"][:3]) for k, v in found.items()}, flush=True)
            write(name, "data.json", data)
            write(name, "truth.json", dict(how=how, quantities=found))
    for name, (make, wanted) in LONG.items():
        if options.only in (None, name):
            data = make()
            write(name, "data.json", data)
            if options.long:
                truth, how = long_run(name, data, wanted)
                found = {variable: {k: rounded(v) for k, v in own.items()} for variable, own in truth.items()}
                write(name, "truth.json", dict(how=how, quantities=found))


if __name__ == "__main__":
    main()
