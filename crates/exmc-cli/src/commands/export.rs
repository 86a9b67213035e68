//! `exmc export DIR`: a stored run -> its draws in a form that other programs read.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use exmc::Fit;
use exmc_draws::{Method, StoredRun, export_stan_csv, open_run, read_run};
use exmc_files::{Group, Roles};

use crate::display::{put, say};
use crate::failure::{Exit, Failure};
use crate::outcomes::program_of;

/// Write a stored run's draws in a form that other programs read
///
/// `stan-csv` is the form of CmdStan's output, which CmdStanPy, CmdStanR and ArviZ read: one file a
/// chain, `MODEL_1.csv`, `MODEL_2.csv` and so on. `netcdf` and `zarr` are ArviZ's forms, with
/// groups for draws, statistics of the sampler and data; `json` has the same groups. `parquet` is a
/// table with a row for each draw. Files that exist are never written to.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The form
    #[arg(long, value_name = "F", default_value = "stan-csv")]
    format: Exported,
    /// The file, of `stan-csv` the directory for the files [default: in the run's own, named after
    /// the model]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// A variable of pointwise log likelihoods: the group `log_likelihood` (may be repeated)
    /// [default: `log_lik`, if there is one, else computed from the model]
    #[arg(long, value_name = "NAME")]
    log_likelihood: Vec<String>,
    /// A variable of replicated outcomes: the group `posterior_predictive` (may be repeated)
    #[arg(long, value_name = "NAME")]
    posterior_predictive: Vec<String>,
    /// Data that are outcomes: the group `observed_data`, where other data are `constant_data` (may
    /// be repeated) [default: those that a Stan program's statements are on]
    #[arg(long, value_name = "NAME")]
    observed: Vec<String>,
}

/// Where a run of `laplace` keeps its mode.
pub(crate) const MODE_FILE: &str = "mode.csv";

/// Where a run keeps its data.
const DATA_FILE: &str = "data.json";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Exported {
    /// CmdStan's CSV files
    StanCsv,
    /// A netCDF-4 file for ArviZ
    Netcdf,
    /// A Zarr v3 directory for ArviZ
    Zarr,
    /// A table with a row for each draw
    Parquet,
    /// Groups of nested lists
    Json,
}

impl Exported {
    fn ending(self) -> &'static str {
        match self {
            Self::StanCsv => "csv",
            Self::Netcdf => "nc",
            Self::Zarr => "zarr",
            Self::Parquet => "parquet",
            Self::Json => "draws.json",
        }
    }
}

pub(crate) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let stored = match args.format {
        Exported::StanCsv => open_run(&args.directory)?,
        _ => read_run(&args.directory)?,
    };
    for note in &stored.notes {
        say(&format!("note: {note}"));
    }
    check_names(args, &stored)?;
    let name = format!("{}.{}", stored.record.model, args.format.ending());
    let out = args.out.clone().unwrap_or_else(|| args.directory.join(name));
    let groups = || -> Result<Vec<Group>, Failure> {
        let StoredRun { record, posterior, .. } = &stored;
        let mut observed = args.observed.clone();
        if observed.is_empty() {
            observed = observed_data(&args.directory);
        }
        let roles = Roles {
            log_likelihood: args.log_likelihood.clone(),
            posterior_predictive: args.posterior_predictive.clone(),
            observed,
        };
        let data = data(&args.directory)?;
        let mut groups = exmc_files::inference_data(record, posterior, data.as_ref(), &roles);
        if groups.iter().all(|group| group.name != "log_likelihood")
            && record.method == Method::Sample
        {
            groups.extend(computed(args, &stored));
        }
        Ok(groups)
    };
    match args.format {
        Exported::StanCsv => return stan_csv(args, &stored),
        Exported::Netcdf => exmc_files::write_netcdf(&out, &groups()?)?,
        Exported::Zarr => exmc_files::write_zarr(&out, &groups()?)?,
        Exported::Json => exmc_files::write_json(&out, &groups()?)?,
        Exported::Parquet => exmc_files::write_parquet(&out, &stored.record, &stored.posterior)?,
    }
    put(&format!("{}\n", out.display()))?;
    Ok(Exit::Success)
}

/// The data of which a Stan program's statements say how likely they are, where that can be told.
fn observed_data(directory: &Path) -> Vec<String> {
    program_of(directory).and_then(|program| program.observed_data()).unwrap_or_default()
}

/// Log likelihoods that were not recorded, through the model or from a program's statements on
/// data; nothing where the terms of single observations cannot be told, which a note says.
fn computed(args: &ExportArgs, stored: &StoredRun) -> Option<Group> {
    let found = Fit::load(&args.directory).and_then(|fit| fit.log_likelihood());
    let arrays = match found {
        Ok(arrays) => arrays,
        Err(error) => {
            let message = error.to_string();
            let line = message.lines().next().unwrap_or_default();
            say(&format!("note: there is no group `log_likelihood`: {line}"));
            return None;
        }
    };
    let arrays = arrays.iter().map(|(name, array)| {
        (name.to_owned(), array.element_shape().extents().to_vec(), array.to_vec())
    });
    let StoredRun { record, posterior, .. } = stored;
    Some(exmc_files::log_likelihood_group(record, posterior, arrays.collect()))
}

fn stan_csv(args: &ExportArgs, stored: &StoredRun) -> Result<Exit, Failure> {
    let out = args.out.as_deref().unwrap_or(&args.directory);
    for path in export(stored, &args.directory, out)? {
        put(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Success)
}

/// The run's data, where it keeps some that other programs can read.
fn data(directory: &Path) -> Result<Option<serde_json::Value>, Failure> {
    let path = directory.join(DATA_FILE);
    if !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Failure::new(Exit::Io, format!("cannot read `{}`: {error}", path.display()))
    })?;
    match serde_json::from_str(&text) {
        Ok(data) => Ok(Some(data)),
        Err(error) => {
            say(&format!("note: `{}` was left out: {error}", path.display()));
            Ok(None)
        }
    }
}

/// Whether variables that have a role are there.
fn check_names(args: &ExportArgs, stored: &StoredRun) -> Result<(), Failure> {
    let names = args.log_likelihood.iter().chain(&args.posterior_predictive);
    match names.into_iter().find(|name| stored.posterior.variable(name).is_none()) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<&str> =
                stored.posterior.variables.iter().map(|v| v.name.as_str()).collect();
            let hint = format!("it has {}", known.join(", "));
            Err(Failure::new(Exit::Usage, format!("the run records no `{name}`")).hint(hint))
        }
    }
}

/// Writes the CmdStan CSV files of the run that `directory` holds.
pub(crate) fn export(
    run: &StoredRun,
    directory: &Path,
    out: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let data = directory.join(DATA_FILE).exists().then_some(DATA_FILE);
    // CmdStanPy opens this one.
    let mode = directory.join(MODE_FILE);
    let mode = mode.exists().then(|| mode.display().to_string());
    Ok(export_stan_csv(run, [data, mode.as_deref()], out)?)
}
