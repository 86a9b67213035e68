//! `exmc sample`: a model and data -> draws in a run directory, and their summary.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use exmc::SamplerConfig;
use exmc::advanced::{
    BoundModel, Coordinate, coordinates, executor_name, learn_coordinates, variables,
};
use exmc::infer::Start;
use exmc::model::Values;
use exmc_draws::{
    Centring, Method, Origin, RunDirectory, RunRecord, RunStatus, RunTexts, Variable, sha256,
};
use exmc_math::simd::Level;

use crate::commands::pathfinder;
use crate::commands::sample_many::{Many, sample_many};
use crate::display::{count, say, seconds};
use crate::drive::{Part, Told, drive};
use crate::failure::{Exit, Failure};
use crate::points::points_text;
use crate::progress::ProgressArgs;
use crate::rules::MOST_DRAWS;
use crate::settings::{
    CentringArgs, CheckpointArgs, CompileArgs, RuleArgs, SamplingArgs, StartArgs, check,
    in_coordinates_of, warm_start,
};
use crate::signals::Stop;
use crate::source::{Source, SourceArgs, read_text};

/// What wrote a run.
pub(crate) const PROGRAM: &str = concat!("exmc ", env!("CARGO_PKG_VERSION"));

/// What `--init` takes besides a file.
const PATHFINDER: &str = "pathfinder";

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
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
    /// Run one chain only, by its number from 0, as a task that may be repeated: it goes on where
    /// it was cut off. Its draws are those that it has among all `--chains`. Tasks may share
    /// `--out`, or each has its own, which `exmc merge` puts together
    #[arg(long, value_name = "K")]
    chain: Option<u32>,
    /// Fit each of the data files that match a pattern, such as 'data/*.json', on all cores: one
    /// run a file in `--out`, named after it, and one table. Files with a completed run are left
    /// out
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
    #[command(flatten)]
    progress: ProgressArgs,
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
    let progress = args.progress.style(args.quiet);
    let mut source = args.source.read()?;
    source.quiet = args.quiet;
    source.stop = Some(stop.flag());
    let mut options = args.compile.options();
    options.non_centre.clone_from(&args.centring.non_centre);
    options.marginalise = Some(true);
    if let (Some(pattern), Some(out)) = (&args.data_many, &args.out) {
        let (json, quiet, check) = (args.json, args.quiet, args.check);
        let many = Many { pattern, out, json, quiet, check };
        return sample_many(&many, &source, &options, &args.sampling.config(), &stop);
    }
    let compiled = source.compile(&options)?;
    let mut config = args.sampling.config();
    config.keep_draws = false;
    // Wrong settings are told before pilot chains run.
    check(&config, compiled.bound.compiled().dim())?;
    let starts = match &args.start.init {
        Some(path) if path.as_os_str() == PATHFINDER => {
            pathfinder::starts(&compiled.bound, config.chains, config.seed)?
        }
        Some(path) => compiled.read_points(path)?,
        None => Vec::new(),
    };
    let bound = &match &args.start.warm_start {
        Some(path) => in_coordinates_of(path, &compiled.bound)?,
        None => learn_coordinates(&compiled.bound, &config, &starts, &|| stop.is_asked())?,
    };
    // Pilot chains that were cut short may have found other coordinates.
    if stop.is_asked() {
        let message = "interrupted before the first draw; nothing was stored";
        return Err(Failure::new(Exit::Interrupted, message));
    }

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
    let rules = args.rules.rules()?;
    if args.sampling.draws.is_none() && !rules.is_empty() {
        config.draws = MOST_DRAWS;
    }
    // What Pathfinder found is kept as if it had been given: a run that goes on needs it.
    let init = match args.start.init.as_deref() {
        Some(path) if path.as_os_str() == PATHFINDER => Some(points_text(&starts)),
        path => path.map(read_text).transpose()?,
    };
    let mut origin = Origin::here(Level::detect().name());
    origin.model_sha256 = sha256(&source.stored_model());
    origin.data_sha256 = source.data_text.as_deref().map(sha256);
    origin.init_sha256 = init.as_deref().map(sha256);
    args.compile.executor().clone_into(&mut origin.executor);
    origin.precision = options.precision.name().to_owned();
    origin.non_centre.clone_from(&options.non_centre);
    let shares = bound.coordinates().unwrap_or_default().iter();
    origin.centring = shares
        .map(|coordinate| Centring {
            name: coordinate.name.clone(),
            shares: coordinate.shares.clone(),
        })
        .collect();
    origin.integrated_out = bound.integrated_out().map(|(name, _)| name.to_owned()).collect();
    origin.tasks = args.chain.is_some();
    origin.until = rules.until.iter().map(|rule| rule.text().to_owned()).collect();
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
        origin: Some(origin),
    };
    let first = first_starts(bound, &config, &starts)?;
    check_size(&record.variables, config.chains)?;
    rules.check(&record.variables)?;
    let (mut directory, parts) = match args.chain {
        None => {
            let created = create(args.out.as_deref(), record, &source, init.as_deref())?;
            let (directory, writers) = created;
            (directory, (0..).zip(writers).map(Part::new).collect())
        }
        Some(chain) => task(args, chain, record, &source, init.as_deref())?,
    };
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

    let told = Told {
        check: args.check,
        json: args.json,
        quiet: args.quiet,
        progress,
        stan_csv: args.format == Format::StanCsv,
        rules,
        checkpoints: args.checkpoints.wait()?,
    };
    drive(&mut directory, parts, (bound, &source), (config, first), &told, &stop)
}

/// The chain of a task, in a directory that other tasks may write to.
fn task(
    args: &SampleArgs,
    chain: u32,
    record: RunRecord,
    source: &Source,
    init: Option<&str>,
) -> Result<(RunDirectory, Vec<Part>), Failure> {
    let usage = |message: &str, hint: &str| Failure::new(Exit::Usage, message).hint(hint);
    let Some(out) = &args.out else {
        let hint = "tasks of a run may share a directory, or each has its own for `exmc merge`";
        return Err(usage("`--chain` needs `--out DIR`", hint));
    };
    if chain >= record.config.chains {
        let chains = record.config.chains;
        let message =
            format!("invalid value for `--chain`: expected a number below {chains}, found {chain}");
        return Err(usage(
            &message,
            "chains are numbered from 0; `--chains` says how many there are",
        ));
    }
    if !args.rules.until.is_empty() {
        let hint = "run all chains together, or give `--draws`";
        return Err(usage("`--until` looks at all chains, and `--chain` runs one", hint));
    }
    let model = source.stored_model();
    let texts =
        RunTexts { model: source.model_as(&model), data: source.data_text.as_deref(), init };
    let mut directory = RunDirectory::join(out, record, &texts, chain)?;
    let record = directory.record().clone();
    let reopened = directory.go_on(record)?;
    Ok((directory, reopened.into_iter().map(|one| Part::again(chain, one)).collect()))
}

/// Where chains begin that do not go on from a checkpoint.
pub(crate) fn first_starts(
    bound: &BoundModel,
    config: &SamplerConfig,
    given: &[Values],
) -> Result<Vec<Start>, Failure> {
    let given: Vec<Start> = given
        .iter()
        .map(|values| bound.unconstrain(values).map(Start::At))
        .collect::<Result<_, _>>()?;
    let chains = config.chains as usize;
    let ends = config.warm_start.as_ref().map_or(&[][..], |warm| &warm.positions[..]);
    let all = match (&given[..], ends) {
        ([], []) => vec![Start::Random; chains],
        ([], ends) => (0..chains).map(|k| Start::At(ends[k % ends.len()].clone())).collect(),
        ([one], _) => vec![one.clone(); chains],
        (many, _) if many.len() == chains => many.to_vec(),
        (many, _) => {
            let n = many.len();
            let message = format!(
                "invalid value for `--init`: expected none, one or one per chain ({chains}), found {n}"
            );
            return Err(Failure::new(Exit::Usage, message));
        }
    };
    Ok(all)
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
    init: Option<&str>,
) -> Result<(RunDirectory, Vec<exmc_draws::ChainWriter>), Failure> {
    let model = source.stored_model();
    let texts =
        RunTexts { model: source.model_as(&model), data: source.data_text.as_deref(), init };
    let created = match out {
        Some(path) => RunDirectory::create(path, record, &texts),
        None => RunDirectory::create_fresh(Path::new(""), record, &texts),
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

/// What the user should know of coordinates that are not those of the model as it is written.
fn changed(coordinates: &[Coordinate]) -> Option<String> {
    let differs = |coordinate: &&Coordinate| {
        coordinate.shares.iter().any(|share| *share != coordinate.written)
    };
    let all: Vec<String> = coordinates
        .iter()
        .filter(differs)
        .map(|coordinate| {
            format!(
                "`{}` ({}, {})",
                coordinate.name,
                count(coordinate.len as u64, "element"),
                coordinate
            )
        })
        .collect();
    (!all.is_empty()).then(|| all.join(", "))
}
