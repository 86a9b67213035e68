//! A run -> CmdStan CSV files, one a chain; a mode -> one file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use exmc_infer::{Info, InverseMetric, RunPhase, WarmStart};

use super::arguments::{
    OptimizeArguments, Provenance, metric_name, optimize_arguments, run_arguments,
};
use super::columns::{file_names, file_order};
use crate::error::RunError;
use crate::posterior::{ChainDraws, Posterior, Variable};
use crate::read::StoredRun;
use crate::run_file::{Method, RunRecord};

const STATISTICS: &str =
    "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__";

/// A number as CmdStan spells it, with as many digits as it takes to read the same bits back.
pub(super) fn number(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    let mut text = format!("{x:?}");
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    text
}

/// Writes `NAME_1.csv`, `NAME_2.csv`, ... for the chains of a run, where `NAME` is the model's,
/// into a directory (made if it does not exist), and returns their paths. Files that exist are
/// never written to. `data` and `mode` name the files that the run was made from, where there are
/// any.
///
/// # Errors
/// When a file or the directory cannot be written; files of this call are removed again.
pub fn export_stan_csv(
    run: &StoredRun,
    [data, mode]: [Option<&str>; 2],
    directory: &Path,
) -> Result<Vec<PathBuf>, RunError> {
    export((&run.record, &run.posterior), [data, mode], directory, |provenance, chain, out| {
        // Row by row from the chain's file.
        let rows = |phase, take: TakeRow<'_>| {
            let n = match phase {
                RunPhase::Warmup => chain.warmup_infos.len(),
                RunPhase::Sampling => chain.infos.len(),
            };
            let mut written = Ok(());
            let read = run.rows(chain.chain, phase, n, |row| {
                if written.is_ok() {
                    written = take(row);
                }
            });
            read.map_err(io::Error::other).and(written)
        };
        write_chain(provenance, &run.record, chain, rows, out)
    })
}

/// The same of draws in memory.
///
/// # Errors
/// As [`export_stan_csv`].
pub fn export_posterior_csv(
    record: &RunRecord,
    posterior: &Posterior,
    directory: &Path,
) -> Result<Vec<PathBuf>, RunError> {
    export((record, posterior), [None, None], directory, |provenance, chain, out| {
        write_chain_csv(provenance, record, chain, out)
    })
}

fn export(
    (record, posterior): (&RunRecord, &Posterior),
    [data, mode]: [Option<&str>; 2],
    directory: &Path,
    write: impl Fn(&Provenance<'_>, &ChainDraws, &mut BufWriter<File>) -> io::Result<()>,
) -> Result<Vec<PathBuf>, RunError> {
    fs::create_dir_all(directory).map_err(|e| RunError::write(directory, 0, e))?;
    let mut made = Vec::new();
    let infos = posterior.chains.iter().flat_map(|c| c.infos.iter().chain(&c.warmup_infos));
    let recovered = infos.into_iter().any(|info| info.recovered);
    for chain in &posterior.chains {
        let id = chain.chain + 1;
        let path = directory.join(format!("{}_{id}.csv", record.model));
        let provenance = Provenance {
            program: &record.program,
            model: &record.model,
            started: record.started,
            id,
            data,
            mode,
            seed: record.config.seed,
            recovered,
        };
        let written = create(&path).and_then(|file| {
            made.push(path.clone());
            let mut out = BufWriter::new(file);
            write(&provenance, chain, &mut out)?;
            out.flush()
        });
        if let Err(error) = written {
            for path in made {
                let _ = fs::remove_file(path);
            }
            return Err(RunError::write(&path, 0, error));
        }
    }
    Ok(made)
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Writes the file of one chain.
///
/// Draws of NUTS have the sampler's seven columns first (and `recovered__` where
/// [`Provenance::recovered`] says so), warmup draws (if they were stored) before the lines on
/// adaptation. A chain that ended before it had a metric has no such lines.
///
/// # Errors
/// Those of `out`.
pub fn write_chain_csv(
    provenance: &Provenance<'_>,
    record: &RunRecord,
    chain: &ChainDraws,
    out: &mut impl Write,
) -> io::Result<()> {
    let width: usize = record.variables.iter().map(Variable::len).sum();
    let rows = |phase, take: TakeRow<'_>| {
        let (n, values) = match phase {
            RunPhase::Warmup => (chain.warmup_infos.len(), &chain.warmup_values),
            RunPhase::Sampling => (chain.infos.len(), &chain.values),
        };
        (0..n).try_for_each(|k| take(&values[k * width..(k + 1) * width]))
    };
    write_chain(provenance, record, chain, rows, out)
}

/// What is done with the recorded values of one draw.
type TakeRow<'a> = &'a mut dyn FnMut(&[f64]) -> io::Result<()>;

/// The same with recorded values from wherever they are: `rows` hands over those of a phase, one
/// draw after the other.
fn write_chain(
    provenance: &Provenance<'_>,
    record: &RunRecord,
    chain: &ChainDraws,
    rows: impl Fn(RunPhase, TakeRow<'_>) -> io::Result<()>,
    out: &mut impl Write,
) -> io::Result<()> {
    let (draws, warmup) = (chain.infos.len(), chain.warmup_infos.len());
    out.write_all(run_arguments(provenance, record, draws, warmup).as_bytes())?;
    let order = file_order(&record.variables);
    let is_sampled = record.method == Method::Sample;
    let mut names = file_names(&record.variables);
    if is_sampled {
        let recovered = if provenance.recovered { ",recovered__" } else { "" };
        names.insert(0, format!("{STATISTICS}{recovered}"));
    }
    writeln!(out, "{}", names.join(","))?;
    let write_rows = |phase, infos: &[Info], out: &mut dyn Write| {
        let mut infos = infos.iter();
        rows(phase, &mut |row| {
            let Some(info) = infos.next() else { return Ok(()) };
            let mut cells = if is_sampled { statistics(info) } else { Vec::new() };
            if is_sampled && provenance.recovered {
                cells.push(u8::from(info.recovered).to_string());
            }
            cells.extend(order.iter().map(|place| number(row[*place])));
            writeln!(out, "{}", cells.join(","))
        })
    };
    write_rows(RunPhase::Warmup, &chain.warmup_infos, out)?;
    if is_sampled && let Some(tuned) = &chain.tuned {
        adaptation(record, tuned, out)?;
    }
    write_rows(RunPhase::Sampling, &chain.infos, out)?;
    if is_sampled {
        let (warmup, sampling) = (chain.warmup_seconds, chain.sampling_seconds);
        writeln!(out, "# ")?;
        writeln!(out, "#  Elapsed Time: {warmup:.6} seconds (Warm-up)")?;
        writeln!(out, "#                {sampling:.6} seconds (Sampling)")?;
        writeln!(out, "#                {:.6} seconds (Total)", warmup + sampling)?;
        writeln!(out, "# ")?;
    }
    Ok(())
}

/// What the sampler says of a draw. Stan's depth leaves out a last doubling that was discarded.
fn statistics(info: &Info) -> Vec<String> {
    let depth = info.tree_depth - u32::from(info.last_discarded && info.tree_depth > 0);
    vec![
        number(info.logp),
        number(info.accept_stat),
        number(info.step_size),
        depth.to_string(),
        info.n_steps.to_string(),
        u8::from(info.divergent).to_string(),
        number(info.energy),
    ]
}

/// The step size and the metric, whose coordinates stand in the order of the recorded variables, as
/// Stan has them.
fn adaptation(record: &RunRecord, tuned: &WarmStart, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# Adaptation terminated")?;
    writeln!(out, "# Step size = {}", number(tuned.step_size))?;
    let order = coordinate_order(record);
    let list =
        |values: &mut dyn Iterator<Item = f64>| values.map(number).collect::<Vec<_>>().join(", ");
    if order.is_empty() {
        return writeln!(out, "# No free parameters for {} metric", metric_name(record));
    }
    let diagonal = tuned.inverse_metric.diagonal();
    if metric_name(record) == "diag_e" {
        writeln!(out, "# Diagonal elements of inverse mass matrix:")?;
        return writeln!(out, "# {}", list(&mut order.iter().map(|i| diagonal[*i])));
    }
    writeln!(out, "# Elements of inverse mass matrix:")?;
    for &i in &order {
        let element = |j: usize| match &tuned.inverse_metric {
            InverseMetric::Dense { dim, covariance } => covariance[i * dim + j],
            _ if i == j => diagonal[i],
            _ => 0.0,
        };
        writeln!(out, "# {}", list(&mut order.iter().map(|j| element(*j))))?;
    }
    Ok(())
}

/// The unconstrained coordinates, those of variables recorded earlier first.
fn coordinate_order(record: &RunRecord) -> Vec<usize> {
    // Behind a blank stands how a coordinate differs from its variable.
    let base = |name: &str| name.split(' ').next().map(str::to_owned);
    let place =
        |name: &str| record.variables.iter().position(|v| base(name).as_ref() == Some(&v.name));
    let mut parts = Vec::new();
    let mut offset = 0;
    for part in &record.coordinates {
        parts.push((place(&part.name).unwrap_or(usize::MAX), offset..offset + part.length));
        offset += part.length;
    }
    parts.sort_by_key(|(place, _)| *place);
    parts.into_iter().flat_map(|(_, range)| range).collect()
}

/// Writes the file of a mode: its log density as `lp__`, then the values of `variables`.
///
/// # Errors
/// Those of `out`.
pub fn write_mode_csv(
    provenance: &Provenance<'_>,
    arguments: &OptimizeArguments,
    variables: &[Variable],
    (logp, values): (f64, &[f64]),
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(optimize_arguments(provenance, arguments).as_bytes())?;
    let mut names = file_names(variables);
    names.insert(0, "lp__".to_owned());
    writeln!(out, "{}", names.join(","))?;
    let order = file_order(variables);
    let mut cells = vec![number(logp)];
    cells.extend(order.iter().map(|place| number(values[*place])));
    writeln!(out, "{}", cells.join(","))
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_spelled_as_cmdstan_spells_them() {
        let spelled = [1.0, -0.5, 1e-9, 1.5e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0];
        let texts: Vec<_> = spelled.into_iter().map(number).collect();
        assert_eq!(texts, ["1", "-0.5", "1e-9", "1.5e300", "nan", "inf", "-inf", "0"]);
        for x in [0.1 + 0.2, f64::MIN_POSITIVE / 3.0, 1.0 / 3.0] {
            assert_eq!(number(x).parse::<f64>(), Ok(x));
        }
    }
}
