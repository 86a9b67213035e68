//! `exmc resume DIR`: a run that was killed, interrupted or stopped -> the run that it would have
//! been.

use std::path::{Path, PathBuf};

use clap::Args;
use exmc::SamplerConfig;
use exmc::advanced::{BoundModel, coordinates, variables};
use exmc::model::Values;
use exmc_draws::{Method, Origin, RunDirectory, RunRecord, sha256};
use exmc_math::simd::Level;

use crate::commands::sample::{PROGRAM, first_starts};
use crate::display::{count, say};
use crate::drive::{Part, Told, drive};
use crate::failure::{Exit, Failure};
use crate::progress::ProgressArgs;
use crate::rules::{Rules, rule};
use crate::settings::{CheckpointArgs, CompileArgs};
use crate::signals::Stop;
use crate::source::{Source, SourceArgs, read_text};

/// Go on with a run that was killed, interrupted or stopped
///
/// The draws are those that the run would have had without that, to the bit. Everything that it
/// takes is in the directory.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Threads to run chains on; the draws do not depend on it [default: as before]
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// What is reported in the end.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReportArgs {
    /// End with exit code 3 when there are warnings
    #[arg(long)]
    check: bool,
    /// Write the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
    /// No progress and no notes on standard error
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(args: &ResumeArgs) -> Result<Exit, Failure> {
    go_on(&args.directory, None, (args.threads, &args.checkpoints), &args.report)
}

/// Goes on with a run, with another number of draws where there is one.
pub(crate) fn go_on(
    path: &Path,
    draws: Option<u64>,
    (threads, checkpoints): (Option<u32>, &CheckpointArgs),
    report: &ReportArgs,
) -> Result<Exit, Failure> {
    let stop = Stop::on_signals()?;
    let progress = report.progress.style(report.quiet);
    let mut directory = RunDirectory::reopen(path)?;
    let mut record = directory.record().clone();
    let origin = checked(path, &record)?;
    if let Some(draws) = draws {
        let before = record.config.draws;
        if draws < before {
            let message = format!(
                "invalid value for `--draws`: the run in `{}` is one of {}",
                path.display(),
                count(before, "draw")
            );
            let hint = "give the number of draws that each chain is to have in all";
            return Err(Failure::new(Exit::Usage, message).hint(hint));
        }
        record.config.draws = draws;
        if let Some(origin) = &mut record.origin {
            origin.until.clear();
        }
    }
    if let Some(threads) = threads {
        record.config.threads = threads;
    }

    let mut source = SourceArgs::of_run(path).read()?;
    source.quiet = report.quiet;
    source.stop = Some(stop.flag());
    let init = path.join("init.json");
    let init_text = if init.exists() { Some(read_text(&init)?) } else { None };
    let texts = [
        ("model", Some(&origin.model_sha256), Some(sha256(&source.model_text))),
        ("data", origin.data_sha256.as_ref(), source.data_text.as_deref().map(sha256)),
        ("initial values", origin.init_sha256.as_ref(), init_text.as_deref().map(sha256)),
    ];
    for (what, expected, found) in texts {
        if expected != found.as_ref() {
            let message =
                format!("the {what} in `{}` are not those that the run began with", path.display());
            let hint = "put the file back as it was, or begin another run";
            return Err(Failure::new(Exit::Model, message).hint(hint));
        }
    }
    let (bound, starts) = bind(&source, &record, &origin, init_text.is_some().then_some(&init))?;
    let config: SamplerConfig = record.config.clone();
    let first = first_starts(&bound, &config, &starts)?;
    let until = record.origin.as_ref().map_or(&[][..], |origin| &origin.until);
    let until = until.iter().map(|text| rule(text)).collect::<Result<_, _>>();
    let until = until.map_err(|error| Failure::new(Exit::Io, error).in_file(path))?;
    let reopened = directory.go_on(record)?;
    let parts: Vec<Part> =
        (0..).zip(reopened).map(|(chain, one)| Part::again(chain, one)).collect();
    if !report.quiet {
        let on = |part: &Part| part.checkpoint.as_ref().map(|c| c.iteration);
        let iterations: Vec<u64> = parts.iter().map(|part| on(part).unwrap_or(0)).collect();
        let least = iterations.iter().copied().min().unwrap_or(0);
        let most = iterations.iter().copied().max().unwrap_or(0);
        let total = count(config.warmup + config.draws, "draw");
        say(&format!("chains go on after {least} to {most} of {total}, warmup included"));
    }
    let told = Told {
        check: report.check,
        json: report.json,
        quiet: report.quiet,
        progress,
        stan_csv: false,
        rules: Rules { until, time: None },
        checkpoints: checkpoints.wait()?,
    };
    drive(&mut directory, parts, (&bound, &source), (config, first), &told, &stop)
}

/// What the run was made from, if it is one that can go on here.
fn checked(path: &Path, record: &RunRecord) -> Result<Origin, Failure> {
    let shown = path.display();
    if record.method != Method::Sample {
        let message = format!("`{shown}` holds a run of `{}`", record.method.name());
        return Err(Failure::new(Exit::Model, message).hint("only runs of `sample` go on"));
    }
    let Some(origin) = &record.origin else {
        let message = format!("`{shown}` holds a run that nobody can go on with");
        let hint = "it is of an older version; `exmc sample --warm-start` begins where it ended";
        return Err(Failure::new(Exit::Model, message).hint(hint));
    };
    if record.program != PROGRAM {
        let message = format!("`{shown}` holds a run of {}, and this is {PROGRAM}", record.program);
        let hint = format!(
            "go on with that version, or begin another run where it ended with `exmc sample --warm-start {shown}`"
        );
        return Err(Failure::new(Exit::Model, message).hint(hint));
    }
    let here = Origin::here(Level::detect().name());
    if here.target != origin.target {
        say(&format!(
            "note: the run began on {}, and this is {}; draws should be the same, but for bugs",
            origin.target, here.target
        ));
    }
    Ok(origin.clone())
}

/// The model as the run has it, and given starts.
fn bind(
    source: &Source,
    record: &RunRecord,
    origin: &Origin,
    init: Option<&PathBuf>,
) -> Result<(BoundModel, Vec<Values>), Failure> {
    let mut options = CompileArgs::of_run(origin, &record.without).options();
    options.non_centre.clone_from(&origin.non_centre);
    options.marginalise = Some(true);
    let compiled = source.compile(&options)?;
    let starts = init.map(|path| compiled.read_points(path)).transpose()?.unwrap_or_default();
    let mut bound = compiled.bound;
    if !bound.is_interpreted() {
        let mut chosen = bound.written_coordinates();
        for coordinate in &mut chosen {
            if let Some(before) = origin.centring.iter().find(|other| other.name == coordinate.name)
            {
                coordinate.shares.clone_from(&before.shares);
            }
        }
        bound = bound.in_coordinates(&chosen)?;
    }
    let same = coordinates(&bound) == record.coordinates && variables(&bound) == record.variables;
    if !same {
        let message = "the model has other variables or coordinates than when the run began";
        return Err(Failure::new(Exit::Internal, message));
    }
    Ok((bound, starts))
}
