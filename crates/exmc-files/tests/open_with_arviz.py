"""Opens exported files with the programs that they are for, and compares every number with the JSON export.

usage: open_with_arviz.py FOLDER   (holds run.nc, run.zarr, run.parquet, run.json, and optionally csv/*.csv)
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
