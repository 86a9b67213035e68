//! `exmc laplace`: a model, data and its mode -> draws from the normal approximation there.

use std::path::{Path, PathBuf};

use clap::Args;
use exmc::SamplerConfig;
use exmc::advanced::density::{DensityModel, EvaluationError, LogDensity};
use exmc::advanced::{
    BoundModel, DrawNumber, Recording, coordinates, executor_name, laplace, variables,
};
use exmc::infer::{Info, RunPhase, SampleError};
use exmc::model::Values;
use exmc_draws::{Method, RunRecord, RunStatus, StanCsv, Variable, read_run, read_stan_csv};
use exmc_math::random::{ChainRng, Phase};
use exmc_model::read_data;

use crate::commands::approximation::with_densities;
use crate::commands::export::MODE_FILE;
use crate::commands::optimize::{
    Mode, SearchArgs, leave_declared, no_mode, recorded_at, refuse_existing,
};
use crate::commands::sample::{PROGRAM, create, now};
use crate::display::{put, put_json, say, significant};
use crate::drive::MAX_TABLE_ROWS;
use crate::failure::{Exit, Failure};
use crate::points::free_values;
use crate::report::Report;
use crate::settings::{CentringArgs, CompileArgs, whole_number};
use crate::signals::Stop;
use crate::source::{SourceArgs, read_text};

/// Draw from the normal approximation of a model's density at its mode
///
/// The approximation is that of the unconstrained vector, with log Jacobians. The mode is found as
/// `optimize --jacobian` does, or given with `--mode`. Draws are stored as those of `sample` are,
/// with their log density `log_p__` and that of the approximation, `log_q__` (0 at the mode).
#[derive(Args, Debug)]
pub(crate) struct LaplaceArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The mode: JSON (an object name -> value), or what `optimize --jacobian --out` or CmdStan
    /// wrote
    #[arg(long, value_name = "FILE")]
    mode: Option<PathBuf>,
    /// Number of draws
    #[arg(long, value_name = "N", default_value_t = 1000,
          allow_negative_numbers = true, value_parser = whole_number)]
    draws: u64,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    centring: CentringArgs,
    /// Directory for the run; it must not hold one yet [default: a new `exmc-run-N` here]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A mode's gradient above this, in units of the coordinates' own widths, is told: the point is no
/// mode.
const STEEP: f64 = 1e-3;

pub(crate) fn run(args: &LaplaceArgs) -> Result<Exit, Failure> {
    let stop = Stop::on_signals()?;
    if let Some(out) = &args.out {
        refuse_existing(&out.join(MODE_FILE))?;
    }
    let started = now();
    let mut source = args.source.read()?;
    source.stop = Some(stop.flag());
    let mut options = args.compile.options_in_f64()?;
    leave_declared(&mut options.without);
    options.non_centre.clone_from(&args.centring.non_centre);
    let compiled = source.compile(&options)?;
    let bound = &compiled.bound;
    let mode = match &args.mode {
        Some(path) => bound
            .unconstrain(&read_mode(path, bound)?)
            .map_err(|error| Failure::from(error).in_file(path))?,
        None => {
            let mut config = args.search.config();
            // The curvature is taken at the mode, not near it.
            config.objective_change = 0.0;
            config.relative_objective_change = config.relative_objective_change.min(1.0);
            config.relative_gradient = config.relative_gradient.min(1e2);
            let optimum = args.search.run(&compiled, &config, &stop)?;
            if let Some(failure) = no_mode(bound, &optimum) {
                return Err(failure);
            }
            optimum.position
        }
    };
    if let Some(k) = mode.iter().position(|z| !z.is_finite()) {
        let layout = bound.compiled().lowered().layout.iter();
        let entry = layout.rev().find(|e| e.offset <= k).map_or("?", |e| e.name.as_str());
        let message = format!("the mode has no value for `{entry}`, or one that is not finite");
        return Err(Failure::new(Exit::Model, message));
    }
    let approximation = laplace(bound, &mode)?;
    tell_steepness(bound, &mode, &approximation.covariance());

    check_size(args.draws, &variables(bound))?;
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws) = (1, 0, args.draws);
    config.seed = args.search.seed;
    let record = RunRecord {
        program: PROGRAM.to_owned(),
        method: Method::Laplace,
        model: args.source.model_name(),
        started,
        status: RunStatus::Running,
        error: None,
        config: config.clone(),
        executor: executor_name(bound),
        without: options.without.clone(),
        save_warmup: false,
        variables: with_densities(["log_p__", "log_q__"], variables(bound)),
        coordinates: coordinates(bound),
        warnings: Vec::new(),
        seconds: 0.0,
        chains: Vec::new(),
        origin: None,
    };
    let row = recorded_at(bound, config.seed, &mode)?;
    let logp = bound.logp_grad(&mode).map_or(f64::NAN, |(logp, _)| logp);
    let (mut directory, mut writers) = create(args.out.as_deref(), record, &source, None)?;
    Mode { bound, config: &args.search.config(), jacobian: true }.write(
        &directory.path().join(MODE_FILE),
        (&args.source.model_name(), started),
        (logp, &row),
    )?;
    let Some(writer) = writers.first_mut() else {
        return Err(Failure::new(Exit::Internal, "a run of one chain has no writer"));
    };
    let mut recording = Recording::new(bound, config.seed);
    let mut density = bound.instance();
    let mut rng = ChainRng::new(config.seed, 0, Phase::Approximation);
    let mut position = vec![0.0; mode.len()];
    let mut gradient = vec![0.0; mode.len()];
    let mut row = vec![0.0; recording.width() + 2];
    let (mut made, mut fatal) = (0, None);
    for index in 0..args.draws {
        if stop.is_asked() {
            break;
        }
        let log_q = approximation.draw(&mut rng, &mut position);
        let log_p = match density.logp_grad(&position, &mut gradient) {
            Ok(log_p) => log_p,
            Err(EvaluationError::Ended(reason)) => {
                fatal = Some(Failure::from(SampleError::ended(reason)));
                break;
            }
            Err(_) => f64::NAN,
        };
        let number = DrawNumber { chain: 0, phase: RunPhase::Sampling, index };
        match recording.draw(number, &position, &mut row[2..]) {
            Ok(()) => {}
            Err(error) if error.is_interrupted() => break,
            Err(error) if error.is_fatal() => {
                fatal = Some(Failure::from(error));
                break;
            }
            Err(_) => row[2..].fill(f64::NAN),
        }
        (row[0], row[1]) = (log_p, log_q);
        let mut info = Info::still(log_p, 0.0);
        info.energy = f64::NAN;
        writer.append(RunPhase::Sampling, index, &info, &row)?;
        made += 1;
    }
    writer.finish()?;
    let path = directory.path().to_owned();
    let posterior = read_run(&path)?.posterior;
    if let Some(failure) = fatal {
        directory.finish(RunStatus::Failed, Some(failure.message().to_owned()), &posterior)?;
        return Err(failure.draws_kept(&path));
    }
    let status = if made == args.draws { RunStatus::Completed } else { RunStatus::Interrupted };
    directory.finish(status, None, &posterior)?;
    let report = Report::of(posterior, status.name()).without_statistics("independent draw");
    if args.json {
        let mut json = report.to_json();
        json["directory"] = path.display().to_string().into();
        json["notes"] = serde_json::json!([]);
        put_json(&json)?;
    } else {
        put(&report.to_text(MAX_TABLE_ROWS))?;
        put(&format!("draws are in `{}`\n", path.display()))?;
    }
    Ok(if made == args.draws { Exit::Success } else { Exit::Interrupted })
}

/// Refuses more draws than the summary at the end has memory for, before any is made.
fn check_size(draws: u64, variables: &[Variable]) -> Result<(), Failure> {
    let width: usize = variables.iter().map(Variable::len).sum();
    let bytes = (draws as u128) * (8 * (width as u128 + 2) + size_of::<Info>() as u128);
    let fits = usize::try_from(bytes).is_ok_and(|n| Vec::<u8>::new().try_reserve_exact(n).is_ok());
    if fits {
        return Ok(());
    }
    let message =
        format!("invalid value for `--draws`: {draws} draws take {bytes} bytes of memory");
    Err(Failure::new(Exit::Usage, message).hint("ask for fewer draws"))
}

/// The values of a mode's file: JSON, or the one line of a CSV file.
fn read_mode(path: &Path, bound: &BoundModel) -> Result<Values, Failure> {
    let text = read_text(path)?;
    if text.trim_start().starts_with('{') {
        let values = read_data(&text).map_err(|e| Failure::from(e).in_file(path))?;
        return Ok(values.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect());
    }
    let StanCsv { posterior, .. } = read_stan_csv(&[path])?;
    let chain = &posterior.chains[0];
    let width = posterior.width();
    let n = chain.infos.len();
    if n == 0 {
        let message = format!("in `{}`: there is no line with the mode", path.display());
        return Err(Failure::new(Exit::Model, message));
    }
    // Where the iterations were saved, the mode is the last.
    let row = &chain.values[(n - 1) * width..];
    free_values(&posterior, row, bound).map_err(|failure| failure.in_file(path))
}

/// Says so when the density still rises at the given mode.
fn tell_steepness(bound: &BoundModel, mode: &[f64], covariance: &[f64]) {
    let Ok((_, gradient)) = bound.logp_grad(mode) else { return };
    let dim = mode.len();
    let along = |i: usize| gradient[i].abs() * covariance[i * dim + i].sqrt();
    let worst = (0..dim).map(along).fold(0.0, f64::max);
    if worst > STEEP {
        let rise = significant(worst, 3);
        say(&format!(
            "note: the given point is no mode: the log density rises by {rise} within one standard deviation of it; a mode \
             for `laplace` counts log Jacobians (`optimize --jacobian`)"
        ));
    }
}
