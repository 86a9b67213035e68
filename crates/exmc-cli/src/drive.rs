//! An open run directory and a bound model -> draws in the directory, and how the run ended.
//!
//! `sample`, `resume` and `extend` end up here, with chains that begin or that go on.

use std::time::{Duration, Instant};

use exmc::SamplerConfig;
use exmc::advanced::{BoundModel, sample_chains};
use exmc::infer::{ChainOutcome, Checkpoint, Start};
use exmc::runs::Posterior;
use exmc_draws::{ChainWriter, Reopened, RunDirectory, RunStatus, open_run};

use crate::commands::export::export;
use crate::display::{count, put, put_json, say};
use crate::failure::{Exit, Failure};
use crate::progress::{Progress, Style};
use crate::report::Report;
use crate::rules::Rules;
use crate::signals::Stop;
use crate::source::Source;
use crate::watch::{Sink, Watch};

/// How many parameters the table after a run shows; `exmc summary` shows all.
pub(crate) const MAX_TABLE_ROWS: usize = 50;

/// A chain to run.
pub(crate) struct Part {
    pub(crate) chain: u32,
    pub(crate) writer: ChainWriter,
    pub(crate) checkpoint: Option<Checkpoint>,
    /// Draws that its file holds already.
    draws: u64,
    /// Seconds of warmup and sampling that were spent on it before.
    seconds: [f64; 2],
}

impl Part {
    /// A chain that begins.
    pub(crate) fn new((chain, writer): (u32, ChainWriter)) -> Self {
        Self { chain, writer, checkpoint: None, draws: 0, seconds: [0.0; 2] }
    }

    /// A chain that goes on.
    pub(crate) fn again(chain: u32, reopened: Reopened) -> Self {
        let Reopened { writer, checkpoint, draws, seconds, note, .. } = reopened;
        if let Some(note) = note {
            say(&format!("note: {note}"));
        }
        Self { chain, writer, checkpoint, draws, seconds }
    }
}

/// What a run is told.
pub(crate) struct Told {
    /// Ends with exit code 3 when there are warnings.
    pub(crate) check: bool,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) progress: Style,
    /// Writes CmdStan's files at the end.
    pub(crate) stan_csv: bool,
    pub(crate) rules: Rules,
    /// Time between checkpoints of a chain.
    pub(crate) checkpoints: Duration,
}

/// Samples the chains to their end, or until something ends them, and reports.
///
/// `first` is where chains begin that do not go on from a checkpoint, one for each of the run's.
pub(crate) fn drive(
    directory: &mut RunDirectory,
    parts: Vec<Part>,
    (bound, source): (&BoundModel, &Source),
    (mut config, first): (SamplerConfig, Vec<Start>),
    told: &Told,
    stop: &Stop,
) -> Result<Exit, Failure> {
    config.keep_draws = false;
    let save_warmup = directory.record().save_warmup;
    let numbers: Vec<u32> = parts.iter().map(|part| part.chain).collect();
    let before: Vec<(u32, u64, [f64; 2])> =
        parts.iter().map(|part| (part.chain, part.draws, part.seconds)).collect();
    let writers = parts.into_iter().map(|mut part| {
        part.writer.wait_between_checkpoints(told.checkpoints);
        (part.chain, part.writer, part.checkpoint)
    });
    let sink = Sink::new(&config, writers.collect());
    let variables = &directory.record().variables;
    let progress = Progress::new(told.progress, &config, &numbers, variables, &source.screen);
    let deadline = told.rules.time.and_then(|time| Instant::now().checked_add(time));
    let watch = Watch::new(progress, stop, config.chains).until(deadline);
    let watch = watch.record(bound, &config, &sink, save_warmup);
    let watch = watch.inspect_err(|_| directory.abandon())?;
    before.iter().for_each(|(chain, draws, _)| watch.made_before(*chain, *draws));

    let run = Rounds { bound, numbers: &numbers, first: &first, sink: &sink, watch: &watch };
    let sampled = run.all(directory, &mut config, told);
    let (made, is_late) = (watch.draws_made(), watch.is_late());
    drop(watch);
    let write_error = sink.finish();
    let (mut posterior, enough) = match sampled {
        Ok(sampled) => sampled,
        Err(failure) => {
            if made == 0 {
                directory.abandon();
            }
            return Err(write_error.unwrap_or(failure));
        }
    };
    for (number, _, [warmup, sampling]) in before {
        for chain in posterior.chains.iter_mut().filter(|chain| chain.chain == number) {
            chain.warmup_seconds += warmup;
            chain.sampling_seconds += sampling;
        }
    }
    if let Some(error) = write_error {
        // The disk may have no room for this either; what matters is told below.
        let _ = directory.finish(RunStatus::Failed, Some(error.message().to_owned()), &posterior);
        return Err(if error.is_ended() {
            error.draws_kept(directory.path())
        } else {
            let path = directory.path().display();
            error.hint(format!(
                "the draws written before are kept and can be read; `exmc resume {path}` goes on with the run"
            ))
        });
    }
    if enough {
        directory.end_at(config.draws);
    }
    let notes = bound.quantities().map(|q| q.notes()).unwrap_or_default();
    end(directory, &posterior, &numbers, told, (stop, is_late && !enough), notes)
}

/// The chains of a run, which make some draws at a time.
struct Rounds<'a> {
    bound: &'a BoundModel,
    numbers: &'a [u32],
    first: &'a [Start],
    sink: &'a Sink,
    watch: &'a Watch<'a>,
}

impl Rounds<'_> {
    /// Draws until the rules hold, or to the end; whether rules held, at as many draws as the
    /// settings then say.
    fn all(
        &self,
        directory: &RunDirectory,
        config: &mut SamplerConfig,
        told: &Told,
    ) -> Result<(Posterior, bool), Failure> {
        let most = config.draws;
        config.draws = told.rules.first(most);
        let mut total: Option<Posterior> = None;
        loop {
            let is_last = config.draws == most;
            self.watch.round(config.draws, is_last);
            let starts: Vec<Start> = (0..config.chains).map(|chain| self.start(chain)).collect();
            let mut made = sample_chains(self.bound, config, self.numbers, &starts, self.watch)?;
            if let Some(before) = total.take() {
                add_times(&mut made, &before);
            }
            let is_complete = made.chains.iter().all(|c| c.outcome == ChainOutcome::Completed);
            if !is_complete && !is_last {
                // The end of a round is not that of the run.
                for chain in &mut made.chains {
                    if chain.outcome == ChainOutcome::Completed {
                        chain.outcome = ChainOutcome::Interrupted;
                    }
                }
            }
            if !is_complete || told.rules.is_empty() {
                return Ok((made, false));
            }
            let look =
                if told.rules.until.is_empty() { None } else { Some(open_run(directory.path())?) };
            let look = match &look {
                Some(run) => told.rules.look(run, config.draws)?,
                None if is_last => return Ok((made, false)),
                None => crate::rules::Look {
                    holds: false,
                    next: 2 * config.draws,
                    worst: String::new(),
                },
            };
            if !told.quiet && !look.worst.is_empty() {
                let draws = count(config.draws, "draw");
                say(&format!("after {draws} of each chain: {}", look.worst));
            }
            if look.holds {
                return Ok((made, true));
            }
            if is_last {
                if !told.rules.until.is_empty() {
                    say(&format!(
                        "note: the run has all its {} and its rule does not hold; `exmc extend {} --draws N` goes on",
                        count(most, "draw"),
                        directory.path().display()
                    ));
                }
                return Ok((made, false));
            }
            config.draws = look.next.min(most);
            total = Some(made);
        }
    }

    fn start(&self, chain: u32) -> Start {
        match self.sink.last_checkpoint(chain) {
            Some(checkpoint) => Start::Resume(Box::new(checkpoint)),
            None => self.first.get(chain as usize).cloned().unwrap_or_default(),
        }
    }
}

/// Adds the time of earlier rounds.
fn add_times(made: &mut Posterior, before: &Posterior) {
    made.seconds += before.seconds;
    for (chain, earlier) in made.chains.iter_mut().zip(&before.chains) {
        chain.warmup_seconds += earlier.warmup_seconds;
        chain.sampling_seconds += earlier.sampling_seconds;
    }
}

/// Says how the run ended: in its directory, on stdout and with the exit code.
fn end(
    directory: &mut RunDirectory,
    posterior: &Posterior,
    numbers: &[u32],
    told: &Told,
    (stop, is_late): (&Stop, bool),
    notes: Vec<String>,
) -> Result<Exit, Failure> {
    let mut failed = failures(posterior);
    let is_cut = posterior.chains.iter().any(|chain| chain.outcome == ChainOutcome::Interrupted);
    let interrupted = is_cut && !is_late;
    let (status, error) = match (failed.first(), is_cut) {
        (Some((chain, failure)), _) => {
            (RunStatus::Failed, Some(format!("chain {chain}: {}", failure.message())))
        }
        (None, true) if is_late => (RunStatus::Stopped, None),
        (None, true) => (RunStatus::Interrupted, None),
        (None, false) => (RunStatus::Completed, None),
    };
    directory.finish(status, error, posterior)?;

    let path = directory.path();
    let mut stored = open_run(path)?;
    stored.posterior.chains.retain(|chain| numbers.contains(&chain.chain));
    stored.notes.extend(notes);
    // What chains went through is for those who read; what is missing is for all.
    let of_chains = if told.quiet { stored.posterior.notes() } else { Vec::new() };
    for note in stored.notes.iter().filter(|note| !of_chains.contains(note)) {
        say(&format!("note: {note}"));
    }
    if told.stan_csv {
        export(&stored, path, path)?;
    }
    let notes = stored.notes.clone();
    let report = Report::of_run(stored, status.name())?;
    if told.json {
        let mut json = report.to_json();
        json["directory"] = path.display().to_string().into();
        json["notes"] = notes.into();
        put_json(&json)?;
    } else {
        put(&report.to_text(MAX_TABLE_ROWS))?;
        put(&format!("draws are in `{}`\n", path.display()))?;
    }
    if is_cut && failed.is_empty() && !told.quiet {
        say(&format!("`exmc resume {}` goes on with the run", path.display()));
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
    Ok(if told.check && report.has_warnings() { Exit::Diagnostics } else { Exit::Success })
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
