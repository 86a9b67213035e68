//! `exmc generate`: a model and draws of its variables -> the quantities that follow from each
//! draw.

use std::path::PathBuf;

use clap::Args;
use exmc::SamplerConfig;
use exmc::advanced::{Generator, coordinates, executor_name, generated_variables};
use exmc::infer::{Info, RunPhase};
use exmc::runs::Posterior;
use exmc_draws::{Method, RunRecord, RunStatus, read_run, read_stan_csv};

use crate::commands::optimize::leave_declared;
use crate::commands::sample::{MAX_TABLE_ROWS, PROGRAM, create, now};
use crate::display::{count, put, put_json, say};
use crate::failure::{Exit, Failure};
use crate::report::Report;
use crate::settings::{CompileArgs, whole_number};
use crate::signals::Stop;
use crate::source::SourceArgs;

/// Compute the quantities that follow from existing draws
///
/// For each draw of another run, also one of CmdStan: the generated quantities of a Stan program,
/// or the deterministic values of a JSON model. The draws must hold every free variable of the
/// model; the model and its data may otherwise differ.
#[derive(Args, Debug)]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The draws: a run's directory, or CmdStan's CSV files of its chains
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    draws: Vec<PathBuf>,
    /// Seed of the quantities' random numbers
    #[arg(long, value_name = "S", default_value_t = 0,
          allow_negative_numbers = true, value_parser = whole_number)]
    seed: u64,
    #[command(flatten)]
    compile: CompileArgs,
    /// Directory for the quantities; it must not hold a run yet [default: a new `exmc-run-N` here]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Draws of a run's directory or of CSV files.
fn read_draws(paths: &[PathBuf]) -> Result<(Posterior, Vec<String>), Failure> {
    if let [path] = paths
        && path.is_dir()
    {
        let stored = read_run(path)?;
        return Ok((stored.posterior, stored.notes));
    }
    let read = read_stan_csv(paths)?;
    Ok((read.posterior, read.notes))
}

pub(crate) fn run(args: &GenerateArgs) -> Result<Exit, Failure> {
    let stop = Stop::on_signals()?;
    let started = now();
    let mut source = args.source.read()?;
    source.stop = Some(stop.flag());
    let mut options = args.compile.options();
    leave_declared(&mut options.without);
    let bound = &source.compile(&options)?.bound;
    let (posterior, mut notes) = read_draws(&args.draws)?;

    let made = generated_variables(bound);
    let width: usize = made.iter().map(|v| v.len()).sum();
    if width == 0 {
        let message = "the model has no generated quantities or deterministic values";
        return Err(Failure::new(Exit::Model, message));
    }
    let mut generator = Generator::new(bound, &posterior.variables, args.seed)?;
    let mut config = SamplerConfig::default();
    config.chains = posterior.chains.len() as u32;
    config.warmup = 0;
    config.draws = posterior.chains.iter().map(|c| c.infos.len()).max().unwrap_or(0) as u64;
    config.seed = args.seed;
    let record = RunRecord {
        program: PROGRAM.to_owned(),
        method: Method::Generate,
        model: args.source.model_name(),
        started,
        status: RunStatus::Running,
        error: None,
        config,
        executor: executor_name(bound),
        without: options.without.clone(),
        save_warmup: false,
        variables: made,
        coordinates: coordinates(bound),
        warnings: Vec::new(),
        seconds: 0.0,
        chains: Vec::new(),
    };
    let (mut directory, mut writers) = create(args.out.as_deref(), record, &source)?;
    let (mut failed, mut first) = (0_u64, None);
    let mut row = vec![0.0; width];
    let mut fatal = None;
    for (chain, writer) in posterior.chains.iter().zip(&mut writers) {
        let draws = chain.values.chunks_exact(posterior.width().max(1));
        for ((index, draw), info) in draws.enumerate().zip(&chain.infos) {
            if stop.is_asked() || fatal.is_some() {
                break;
            }
            let index = index as u64;
            if let Err(error) = generator.generate((chain.chain, index), draw, &mut row) {
                if error.is_interrupted() {
                    break;
                }
                if error.is_fatal() {
                    fatal = Some(Failure::from(error));
                    break;
                }
                row.fill(f64::NAN);
                failed += 1;
                first.get_or_insert_with(|| {
                    format!("draw {index} of chain {}: {error}", chain.chain)
                });
            }
            let mut still = Info::still(info.logp, 0.0);
            still.energy = f64::NAN;
            writer.append(RunPhase::Sampling, index, &still, &row)?;
        }
        writer.finish()?;
    }
    if let Some(first) = first {
        let draws = count(failed, "draw");
        notes.push(format!("{draws} could not be used and has NaN quantities; the first: {first}"));
    }
    notes.extend(bound.quantities().map(|q| q.notes()).unwrap_or_default());
    for note in &notes {
        say(&format!("note: {note}"));
    }

    let path = directory.path().to_owned();
    let stored = read_run(&path)?.posterior;
    if let Some(failure) = fatal {
        directory.finish(RunStatus::Failed, Some(failure.message().to_owned()), &stored)?;
        return Err(failure.draws_kept(&path));
    }
    let status = if stop.is_asked() { RunStatus::Interrupted } else { RunStatus::Completed };
    directory.finish(status, None, &stored)?;
    let report = Report::of(stored, status.name()).without_statistics("draw");
    if args.json {
        let mut json = report.to_json();
        json["directory"] = path.display().to_string().into();
        json["notes"] = notes.into();
        put_json(&json)?;
    } else {
        put(&report.to_text(MAX_TABLE_ROWS))?;
        put(&format!("quantities are in `{}`\n", path.display()))?;
    }
    Ok(if stop.is_asked() { Exit::Interrupted } else { Exit::Success })
}
