//! `exmc sample`: a model and data -> draws in a run directory, and their summary.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use exmc::SamplerConfig;
use exmc::advanced::{
    BoundModel, Coordinate, coordinates, executor_name, learn_coordinates, sample_with, variables,
};
use exmc::infer::ChainOutcome;
use exmc::model::Values;
use exmc::runs::Posterior;
use exmc_draws::{Method, ModelText, RunDirectory, RunRecord, RunStatus, Variable, read_run};

use crate::commands::export::export;
use crate::commands::sample_many::{Many, sample_many};
use crate::display::{count, put, put_json, say, seconds};
use crate::failure::{Exit, Failure};
use crate::progress::{Progress, Style};
use crate::report::Report;
use crate::settings::{
    CentringArgs, CompileArgs, SamplingArgs, StartArgs, check, in_coordinates_of, warm_start,
};
use crate::signals::Stop;
use crate::source::{Front, Source, SourceArgs};
use crate::watch::{Sink, Watch};

/// How many parameters the table after a run shows; `exmc summary` shows all.
pub(crate) const MAX_TABLE_ROWS: usize = 50;

/// What wrote a run.
pub(crate) const PROGRAM: &str = concat!("exmc ", env!("CARGO_PKG_VERSION"));

/// Variables that are named when they are integrated out; of scalars there may be hundreds.
const NAMED: usize = 10;

/// Sample a model's posterior and store the draws
#[derive(Args, Debug)]
pub(crate) struct SampleArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    #[command(flatten)]
    start: StartArgs,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    centring: CentringArgs,
    /// Fit each of the data files that match a pattern, such as 'data/*.json', on all cores: one run
    /// a file in `--out`, named after it, and one table. Files with a completed run are left out
    #[arg(long, value_name = "PATTERN", requires = "out",
          conflicts_with_all = ["data", "init", "warm_start", "format", "save_warmup"])]
    data_many: Option<PathBuf>,
    /// Directory for the run; it must not hold one yet [default: a new `exmc-run-N` here]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// `stan-csv` also writes CmdStan's CSV files, `MODEL_1.csv` and so on, into the run's
    /// directory at the end
    #[arg(long, value_name = "F", default_value = "exmc")]
    format: Format,
    /// Store the warmup draws too
    #[arg(long)]
    save_warmup: bool,
    /// End with exit code 3 when there are warnings
    #[arg(long)]
    check: bool,
    /// Write the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress and no notes on standard error
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Exmc,
    StanCsv,
}

pub(crate) fn run(args: &SampleArgs) -> Result<Exit, Failure> {
    let stop = Stop::on_signals()?;
    let mut source = args.source.read()?;
    source.quiet = args.quiet;
    source.stop = Some(stop.flag());
    let mut options = args.compile.options();
    options.non_centre.clone_from(&args.centring.non_centre);
    options.marginalise = true;
    if let (Some(pattern), Some(out)) = (&args.data_many, &args.out) {
        let (json, quiet, check) = (args.json, args.quiet, args.check);
        let many = Many { pattern, out, json, quiet, check };
        return sample_many(&many, &source, &options, &args.sampling.config(), &stop);
    }
    let compiled = source.compile(&options)?;
    let starts = match &args.start.init {
        Some(path) => compiled.read_points(path)?,
        None => Vec::new(),
    };
    let mut config = args.sampling.config();
    config.keep_draws = false;
    // Wrong settings are told before pilot chains run.
    check(&config, compiled.bound.compiled().dim())?;
    let bound = &match &args.start.warm_start {
        Some(path) => in_coordinates_of(path, &compiled.bound)?,
        None => learn_coordinates(&compiled.bound, &config, &starts, &|| stop.is_asked())?,
    };

    let coordinates = coordinates(bound);
    if let Some(path) = &args.start.warm_start {
        config.warm_start = Some(warm_start(path, bound, &coordinates)?);
    }
    check(&config, bound.compiled().dim())?;
    if let (Some(path), Some(warm)) = (&args.start.warm_start, &config.warm_start)
        && (config.warmup, starts.len(), warm.positions.len()) == (0, 0, 0)
    {
        let path = path.display();
        let message = format!("the run in `{path}` holds no draw to start from without warmup");
        return Err(Failure::new(Exit::Model, message).hint("give `--warmup`, or `--init`"));
    }
    let record = RunRecord {
        program: PROGRAM.to_owned(),
        method: Method::Sample,
        model: args.source.model_name(),
        started: now(),
        status: RunStatus::Running,
        error: None,
        config: config.clone(),
        executor: executor_name(bound),
        without: options.without.clone(),
        save_warmup: args.save_warmup,
        variables: variables(bound),
        coordinates,
        warnings: Vec::new(),
        seconds: 0.0,
        chains: Vec::new(),
    };
    check_size(&record.variables, config.chains)?;
    let (mut directory, writers) = create(args.out.as_deref(), record, &source)?;
    if !args.quiet {
        let name = args.source.model_path().display();
        let time = seconds((compiled.compile_time + compiled.bind_time).as_secs_f64());
        let dim = count(bound.compiled().dim() as u64, "coordinate");
        let path = directory.path().display();
        say(&format!("compiled `{name}` ({dim}) in {time}; draws go to `{path}`"));
        let name_of = |(name, n)| format!("`{name}` ({})", count(n as u64, "coordinate"));
        let mut gone: Vec<String> = bound.integrated_out().take(NAMED).map(name_of).collect();
        let others = bound.integrated_out().count() - gone.len();
        if others > 0 {
            gone.push(format!("and {}", count(others as u64, "other variable")));
        }
        if !gone.is_empty() {
            let gone = gone.join(", ");
            say(&format!(
                "integrated out: {gone}; each draw has them from their normal distribution given the rest"
            ));
        }
        if let Some(changed) = changed(bound.coordinates().unwrap_or_default()) {
            say(&format!("sampled in other coordinates than written: {changed}"));
        }
    }

    let sink = Sink::new(writers);
    let progress = Progress::new(Style::choose(args.quiet), &config, &source.screen);
    let watch = Watch::new(progress, &stop, config.chains);
    let watch = watch.record(bound, config.seed, &sink, args.save_warmup);
    let watch = watch.inspect_err(|_| directory.abandon())?;
    let sampled = sample(bound, &config, &starts, &watch);
    let made = watch.draws_made();
    drop(watch);
    let write_error = sink.finish();
    let posterior = match (sampled, write_error) {
        (Ok(posterior), None) => posterior,
        (Ok(posterior), Some(error)) => {
            // The disk may have no room for this either; what matters is told below.
            let _ =
                directory.finish(RunStatus::Failed, Some(error.message().to_owned()), &posterior);
            return Err(if error.is_ended() { error.draws_kept(directory.path()) } else { error });
        }
        (Err(failure), _) => {
            if made == 0 {
                directory.abandon();
            }
            return Err(failure);
        }
    };
    let notes = bound.quantities().map(|q| q.notes()).unwrap_or_default();
    end(args, &mut directory, &posterior, &stop, notes)
}

/// Says how the run ended: in its directory, on stdout and with the exit code.
fn end(
    args: &SampleArgs,
    directory: &mut RunDirectory,
    posterior: &Posterior,
    stop: &Stop,
    notes: Vec<String>,
) -> Result<Exit, Failure> {
    let mut failed = failures(posterior);
    let interrupted =
        posterior.chains.iter().any(|chain| chain.outcome == ChainOutcome::Interrupted);
    let (status, error) = match (failed.first(), interrupted) {
        (Some((chain, failure)), _) => {
            (RunStatus::Failed, Some(format!("chain {chain}: {}", failure.message())))
        }
        (None, true) => (RunStatus::Interrupted, None),
        (None, false) => (RunStatus::Completed, None),
    };
    directory.finish(status, error, posterior)?;

    let path = directory.path();
    let mut stored = read_run(path)?;
    stored.notes.extend(notes);
    // What chains went through is for those who read; what is missing is for all.
    let of_chains = if args.quiet { stored.posterior.notes() } else { Vec::new() };
    for note in stored.notes.iter().filter(|note| !of_chains.contains(note)) {
        say(&format!("note: {note}"));
    }
    if args.format == Format::StanCsv {
        export(&stored, path, path)?;
    }
    let report = Report::of(stored.posterior, status.name());
    if args.json {
        let mut json = report.to_json();
        json["directory"] = path.display().to_string().into();
        json["notes"] = stored.notes.into();
        put_json(&json)?;
    } else {
        put(&report.to_text(MAX_TABLE_ROWS))?;
        put(&format!("draws are in `{}`\n", path.display()))?;
    }

    let exit = failed.first().map(|(_, failure)| failure.exit);
    if let Some((chain, failure)) = failed.extract_if(.., |(_, failure)| failure.is_ended()).next()
    {
        say(&failure.context(&format!("chain {chain}")).draws_kept(path).to_string());
    }
    for (chain, failure) in failed.iter().filter(|(_, failure)| !failure.is_ended()) {
        say(&format!("chain {chain}: {failure}"));
    }
    if let Some(exit) = exit {
        return Ok(exit);
    }
    if interrupted || stop.is_asked() && status != RunStatus::Completed {
        return Ok(Exit::Interrupted);
    }
    Ok(if args.check && report.has_warnings() { Exit::Diagnostics } else { Exit::Success })
}

/// Seconds since the start of 1970; 0 on a machine whose clock is before that.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Claims a run's directory.
pub(crate) fn create(
    out: Option<&Path>,
    record: RunRecord,
    source: &Source,
) -> Result<(RunDirectory, Vec<exmc_draws::ChainWriter>), Failure> {
    let spliced;
    let model = match &source.front {
        Front::Json { .. } => ModelText::Json(&source.model_text),
        Front::Stan(program) => {
            spliced = program.text();
            ModelText::Stan(&spliced)
        }
    };
    let data = source.data_text.as_deref();
    let created = match out {
        Some(path) => RunDirectory::create(path, record, model, data),
        None => RunDirectory::create_fresh(Path::new(""), record, model, data),
    };
    Ok(created?)
}

/// Refuses a model whose recorded values are more than there is memory for, before anything is
/// written: each chain holds a draw and its record, and the summary a name and a row of the table
/// for every value.
fn check_size(variables: &[Variable], chains: u32) -> Result<(), Failure> {
    /// A name and its summary.
    const OF_SUMMARY: usize = 150;
    let width = variables.iter().map(Variable::len).fold(0, usize::saturating_add);
    let of_chains = (chains as usize).saturating_mul(4 * 8);
    let bytes = width.saturating_mul(of_chains.saturating_add(OF_SUMMARY));
    if Vec::<u8>::new().try_reserve_exact(bytes).is_ok() {
        return Ok(());
    }
    let largest = variables.iter().max_by_key(|v| v.len()).map_or("?", |v| v.name.as_str());
    let message = format!(
        "there is no memory for the recorded values: {width} numbers a draw, most of them of `{largest}`, take {bytes} bytes \
         in {}",
        count(u64::from(chains), "chain")
    );
    Err(Failure::new(Exit::Io, message).hint("record fewer values, or run fewer chains"))
}

fn sample(
    bound: &BoundModel,
    config: &SamplerConfig,
    starts: &[Values],
    watch: &Watch<'_>,
) -> Result<Posterior, Failure> {
    Ok(sample_with(bound, config, starts, watch)?)
}

fn failures(posterior: &Posterior) -> Vec<(u32, Failure)> {
    let chains = posterior.chains.iter();
    chains
        .filter_map(|chain| match &chain.outcome {
            ChainOutcome::Failed(error) => Some((chain.chain, error.clone().into())),
            _ => None,
        })
        .collect()
}

/// What the user should know of coordinates that are not those of the model as it is written.
fn changed(coordinates: &[Coordinate]) -> Option<String> {
    let differs = |own: &&Coordinate| own.shares.iter().any(|share| *share != own.written);
    let all: Vec<String> = coordinates
        .iter()
        .filter(differs)
        .map(|own| format!("`{}` ({}, {})", own.name, count(own.len as u64, "element"), own))
        .collect();
    (!all.is_empty()).then(|| all.join(", "))
}
