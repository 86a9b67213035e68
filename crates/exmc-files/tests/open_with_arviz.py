"""Opens exported files with the programs that they are for, and compares every number with the JSON export.

usage: open_with_arviz.py FOLDER   (holds run.nc, run.zarr, run.parquet, run.json, and optionally csv/*.csv,
and plain.nc with plain-loo.json, what `exmc loo --json` says of the same run)
"""

import json
import math
import sys
from pathlib import Path

import arviz as az
import numpy as np
import xarray as xr

folder = Path(sys.argv[1])
expected = json.loads((folder / "run.json").read_text())
number = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def plain(value):
    if isinstance(value, list):
        return [plain(v) for v in value]
    return number.get(value, value) if isinstance(value, str) else value


def groups_of(data):
    if hasattr(data, "children"):
        return {name: child.to_dataset() for name, child in data.children.items()}
    return {name: data[name] for name in data.groups()}


def check(data, what):
    groups = groups_of(data)
    assert set(groups) == set(expected), (what, set(groups), set(expected))
    count = 0
    for group, variables in expected.items():
        found = groups[group]
        assert set(found.data_vars) == set(variables), (what, group, set(found.data_vars) ^ set(variables))
        for name, values in variables.items():
            values = np.array(plain(values))
            own = found[name]
            assert own.shape == values.shape, (what, group, name, own.shape, values.shape)
            np.testing.assert_array_equal(own.values, values, err_msg=f"{what} {group}.{name}")
            if "chain" in own.dims:
                assert own.dims[:2] == ("chain", "draw"), (what, name, own.dims)
            for dim in own.dims:
                assert dim in found.coords, (what, name, dim)
            count += values.size
        if group == "sample_stats":
            assert found["diverging"].dtype == bool, found["diverging"].dtype
            for name in ("lp", "acceptance_rate", "step_size", "tree_depth", "n_steps", "energy"):
                assert name in found, name
    print(f"{what}: {len(expected)} groups, {count} numbers equal")


expected_count = sum(np.array(plain(v)).shape[2] for v in expected["log_likelihood"].values())
check(az.from_netcdf(folder / "run.nc"), f"az.from_netcdf {az.__version__}")
check(xr.open_datatree(folder / "run.zarr", engine="zarr", consolidated=True), "xr.open_datatree zarr, consolidated")
check(xr.open_datatree(folder / "run.zarr", engine="zarr", consolidated=False), "xr.open_datatree zarr, not consolidated")
if int(az.__version__.split(".")[0]) >= 1:
    for what, tree in (("netcdf", az.from_netcdf(folder / "run.nc")), ("zarr", az.from_zarr(folder / "run.zarr"))):
        assert isinstance(tree, xr.DataTree), type(tree)
        check(tree, f"az.from_{what} as DataTree")
    loo = az.loo(az.from_netcdf(folder / "run.nc"))
    assert loo.n_data_points == expected_count, (loo.n_data_points, expected_count)
    print(f"az.loo {az.__version__}: elpd {loo.elpd:.2f} of {loo.n_data_points} observations")
print(az.summary(az.from_netcdf(folder / "run.nc")).iloc[:2])

import pandas as pd
import polars as pl

posterior = expected["posterior"]
for name, read in (("pandas", pd.read_parquet), ("polars", pl.read_parquet)):
    table = read(folder / "run.parquet")
    chains, draws = len(posterior[next(iter(posterior))]), len(posterior[next(iter(posterior))][0])
    assert len(table) == chains * draws
    for variable, values in posterior.items():
        values = np.array(plain(values))
        if values.ndim == 2:
            np.testing.assert_array_equal(np.asarray(table[variable]), values.reshape(-1), err_msg=variable)
    print(f"{name}: {len(table)} rows")

csv = sorted((folder / "csv").glob("*.csv")) if (folder / "csv").is_dir() else []
if csv:
    import cmdstanpy

    fit = cmdstanpy.from_csv([str(path) for path in csv])
    for variable, values in posterior.items():
        values = np.array(plain(values))
        found = fit.stan_variable(variable).reshape(values.shape[:0] + (-1,) + values.shape[2:])
        np.testing.assert_array_equal(found, values.reshape((-1,) + values.shape[2:]), err_msg=variable)
    print(f"cmdstanpy {cmdstanpy.__version__}: {len(csv)} files")


def leave_one_out(path, loo):
    """`az.loo` of the log likelihoods of a file against `exmc loo`, one observation after the other: exmc has a relative
    efficiency for each observation, and ArviZ takes one for a call."""
    old = int(az.__version__.split(".")[0]) < 1
    data = az.from_netcdf(path)
    group = data["log_likelihood"] if old else data["log_likelihood"].to_dataset()
    found, expected = [], []
    for name, values in group.data_vars.items():
        own = [other for other in loo["observations"] if other["name"].split("[")[0] == name]
        expected += [(other["elpd"], other["p_loo"], other["pareto_k"]) for other in own]
        values = values.stack(observation=values.dims[2:]) if values.ndim > 3 else values
        axis = values.dims[2]
        # As users call it, with one relative efficiency for all: other numbers of tail draws.
        whole = az.loo(data, var_name=name, pointwise=True)
        whole = whole.elpd_loo if old else whole.elpd
        assert abs(whole - sum(other["elpd"] for other in own)) < 0.01, (name, whole)
        for i in range(values.sizes[axis]):
            row = values.isel({axis: [i]})
            chains = np.exp(row.values[:, :, 0] - row.values.max())
            draws = chains.size
            efficiency = float(np.asarray(az.ess(chains, method="mean"))) / draws
            # exmc and ArviZ 0.23 take as many tail draws as Vehtari and others (2024); ArviZ 1 rounds down.
            tail = math.ceil(min(draws / 5, 3 * math.sqrt(draws / efficiency)))
            if not old:
                efficiency = draws / ((tail + 0.5) / 3) ** 2
                assert draws * efficiency > 225
            one = az.InferenceData(log_likelihood=row.to_dataset(name=name)) if old else xr.DataTree.from_dict(
                {"log_likelihood": row.to_dataset(name=name), "posterior": data["posterior"].to_dataset()}
            )
            made = az.loo(one, pointwise=True, var_name=name, reff=efficiency)
            elpd, p = (made.elpd_loo, made.p_loo) if old else (made.elpd, made.p)
            found.append((elpd, p, float(np.ravel(made.pareto_k)[0])))
    assert len(found) == len(loo["observations"]), (len(found), len(loo["observations"]))
    found, expected = np.array(found), np.array(expected)
    # Smoothed weights: the Pareto fit takes logarithms of differences of nearly equal numbers.
    np.testing.assert_allclose(found[:, :2], expected[:, :2], rtol=1e-8, atol=1e-9, err_msg="pointwise")
    np.testing.assert_allclose(found[:, 2], expected[:, 2], rtol=1e-6, atol=1e-7, err_msg="Pareto k")
    n = len(found)
    # ArviZ divides squares by n for the standard error; R `loo` and exmc divide by n - 1.
    totals = [found[:, 0].sum(), math.sqrt(n * found[:, 0].var(ddof=1)), found[:, 1].sum()]
    np.testing.assert_allclose(totals, [loo["elpd_loo"], loo["se"], loo["p_loo"]], rtol=1e-8, err_msg="totals")
    print(f"az.loo {az.__version__} of computed log likelihoods: {n} observations, elpd {totals[0]:.6f} as `exmc loo`")


if (folder / "plain.nc").exists():
    leave_one_out(folder / "plain.nc", json.loads((folder / "plain-loo.json").read_text()))
