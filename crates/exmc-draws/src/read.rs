//! A run directory -> its record and the draws of all chains.
//!
//! [`read_run`] has all draws in memory; of a run that [`open_run`] opens, recorded values stay in
//! their files and are read when they are asked for.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use exmc_diagnose::Warning;
use exmc_fault::{Fault, planted};
use exmc_infer::{ChainOutcome, RunPhase, SampleError};

use crate::directory::{FORMAT_VERSION, RUN_FILE, chain_file, task_file};
use crate::error::RunError;
use crate::parallel::in_parallel;
use crate::posterior::{ChainDraws, Posterior};
use crate::record::{Header, columns_hash};
use crate::records::{Records, Stopped};
use crate::run_file::{RunRecord, RunStatus, StoredChain, StoredOutcome, Unreadable};
use crate::stored::BLOCK_BYTES;

/// Tasks that a run may have: somebody looks for a file of each.
const MAX_TASKS: u32 = 1 << 16;

/// A run as it is on disk.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// What `run.json` says, and the files of chains that ran as tasks.
    pub record: RunRecord,
    /// The draws, bit for bit; without recorded values where they are too many ([`open_run`]).
    pub posterior: Posterior,
    /// What had to be left out or does not add up, and what single chains went through
    /// ([`Posterior::notes`]), as sentences.
    pub notes: Vec<String>,
    /// Chains whose files are not here, of a run whose chains are tasks.
    pub missing: Vec<u32>,
    pub(crate) path: PathBuf,
    /// Whether recorded values are in memory.
    pub(crate) has_values: bool,
    /// Bytes of them that may be, where they are not.
    pub(crate) block_bytes: usize,
}

impl StoredRun {
    /// A run whose draws are in memory only, and in no file.
    pub fn in_memory(record: RunRecord, posterior: Posterior, notes: Vec<String>) -> Self {
        Self {
            record,
            posterior,
            notes,
            missing: Vec::new(),
            path: PathBuf::new(),
            has_values: true,
            block_bytes: BLOCK_BYTES,
        }
    }
}

/// Reads what `run.json` says, without the draws.
///
/// # Errors
/// When there is no run, or the file cannot be read or is damaged.
pub fn read_record(path: &Path) -> Result<RunRecord, RunError> {
    let file = path.join(RUN_FILE);
    let text = fs::read_to_string(&file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if path.is_dir() => RunError::not_a_run(path),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if path.is_file() => {
            RunError::not_a_run(path)
        }
        io::ErrorKind::InvalidData => RunError::malformed(&file, "it is not UTF-8"),
        io::ErrorKind::NotFound => RunError::read(path, error),
        _ => RunError::read(&file, error),
    })?;
    let mut record = RunRecord::from_json(&text).map_err(|unreadable| match unreadable {
        Unreadable::Malformed(what) => RunError::malformed(&file, what),
        Unreadable::Version(found) => RunError::version(&file, found),
    })?;
    if record.origin.as_ref().is_some_and(|origin| origin.tasks) {
        if record.config.chains > MAX_TASKS {
            let what = format!("it is of {} tasks", record.config.chains);
            return Err(RunError::malformed(&file, what));
        }
        add_tasks(path, &mut record);
    }
    Ok(record)
}

/// What tasks say of their chains. The run is completed when all are; it has ended otherwise when
/// all have ended.
fn add_tasks(path: &Path, record: &mut RunRecord) {
    let mut is_told = false;
    for chain in 0..record.config.chains {
        let text = fs::read_to_string(path.join(task_file(chain)));
        let told = text.ok().and_then(|text| StoredChain::from_json(&text));
        let told = told.filter(|told| told.chain == chain);
        if let Some(told) = told {
            record.chains.retain(|stored| stored.chain != chain);
            record.chains.push(told);
            is_told = true;
        }
    }
    if !is_told {
        return;
    }
    let has_outcome = |outcome: &StoredOutcome| record.chains.iter().any(|c| c.outcome == *outcome);
    let all_told = record.chains.len() == record.config.chains as usize;
    if record.chains.iter().any(|c| matches!(c.outcome, StoredOutcome::Failed(_))) {
        record.status = RunStatus::Failed;
    } else if !all_told || has_outcome(&StoredOutcome::Unknown) {
        record.status = RunStatus::Running;
    } else if has_outcome(&StoredOutcome::Interrupted) {
        record.status = RunStatus::Interrupted;
    } else if has_outcome(&StoredOutcome::Stopped) {
        record.status = RunStatus::Stopped;
    } else {
        record.status = RunStatus::Completed;
    }
}

/// Reads a run, also one that is unfinished or whose process was killed: every whole draw that
/// its files hold.
///
/// # Errors
/// As [`read_record`]; when there are fewer files than chains; or when a chain's file belongs to
/// another model.
pub fn read_run(path: &Path) -> Result<StoredRun, RunError> {
    read(path, true)
}

/// Opens a run to summarise it: recorded values are in memory where they have at most 64 MB, else
/// they stay in their files. What the sampler says of each draw is read in any case, about a
/// hundred bytes of it.
///
/// # Errors
/// As [`read_run`].
pub fn open_run(path: &Path) -> Result<StoredRun, RunError> {
    open_run_within(path, BLOCK_BYTES)
}

/// The same with another number of bytes of recorded values that are in memory at most, of one
/// column at least.
///
/// # Errors
/// As [`read_run`].
pub fn open_run_within(path: &Path, bytes: usize) -> Result<StoredRun, RunError> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let draws = entries.filter(|e| e.path().extension().is_some_and(|ending| ending == "draws"));
    let total: u64 = draws.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
    let mut run = read(path, total <= bytes as u64)?;
    run.block_bytes = bytes;
    Ok(run)
}

fn read(path: &Path, with_values: bool) -> Result<StoredRun, RunError> {
    let record = read_record(path)?;
    let (missing, mut notes) = check_chains(path, &record)?;
    let read = in_parallel(record.config.chains as usize, |chain| {
        let mut notes = Vec::new();
        read_chain(path, chain as u32, (&record, with_values), &mut notes)
            .map(|draws| (draws, notes))
    });
    let mut chains = Vec::new();
    for chain in read {
        let (draws, of_chain) = chain?;
        chains.push(draws);
        notes.extend(of_chain);
    }
    let posterior = Posterior {
        variables: record.variables.clone(),
        chains,
        seconds: record.seconds,
        max_depth: record.config.max_depth,
        warnings: record.warnings.iter().cloned().map(Warning::precision).collect(),
    };
    notes.extend(posterior.notes());
    Ok(StoredRun {
        record,
        posterior,
        notes,
        missing,
        path: path.to_owned(),
        has_values: with_values,
        block_bytes: BLOCK_BYTES,
    })
}

/// Compares the number of chains with the files that there are, before anything is made for each
/// chain; a note where files are left out.
fn check_chains(path: &Path, record: &RunRecord) -> Result<(Vec<u32>, Vec<String>), RunError> {
    let entries = fs::read_dir(path).map_err(|e| RunError::read(path, e))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let number = |name: String| {
        let chain: u32 = name.strip_prefix("chain-")?.strip_suffix(".draws")?.parse().ok()?;
        (name == chain_file(chain)).then_some(chain)
    };
    let said = record.config.chains;
    let (of_run, others): (Vec<u32>, Vec<u32>) =
        names.filter_map(number).partition(|chain| *chain < said);
    if of_run.len() < said as usize && record.origin.as_ref().is_some_and(|origin| origin.tasks) {
        let missing = (0..said).filter(|chain| !of_run.contains(chain)).collect();
        return Ok((missing, Vec::new()));
    }
    if of_run.len() < said as usize {
        let files = of_run.len() + others.len();
        let what = format!("it is of {said} chains, but there are files of {files}");
        return Err(RunError::malformed(&path.join(RUN_FILE), what));
    }
    let left_out = |n: usize| {
        format!("`{RUN_FILE}` is of {said} chains; the files of {n} others were left out")
    };
    let notes = if others.is_empty() { Vec::new() } else { vec![left_out(others.len())] };
    Ok((Vec::new(), notes))
}

fn read_chain(
    directory: &Path,
    chain: u32,
    (record, with_values): (&RunRecord, bool),
    notes: &mut Vec<String>,
) -> Result<ChainDraws, RunError> {
    let name = chain_file(chain);
    let stored = record.chains.iter().find(|c| c.chain == chain);
    let mut draws = ChainDraws {
        chain,
        values: Vec::new(),
        infos: Vec::new(),
        warmup_values: Vec::new(),
        warmup_infos: Vec::new(),
        leapfrogs: 0,
        warmup_seconds: stored.map_or(0.0, |c| c.warmup_seconds),
        sampling_seconds: stored.map_or(0.0, |c| c.sampling_seconds),
        raised_target: stored.and_then(|c| c.raised_target),
        restarts: stored.map_or_else(Vec::new, |c| c.restarts.clone()),
        tuned: stored.and_then(|c| c.tuned.clone()),
        outcome: ChainOutcome::Interrupted,
    };
    let tasks = record.origin.as_ref().is_some_and(|origin| origin.tasks);
    if tasks && !directory.join(&name).exists() {
        return Ok(draws);
    }
    let width: usize = record.variables.iter().map(|v| v.len()).sum();
    let mut records = open_chain(directory, chain, record)?;
    let stopped = loop {
        let (read, values) = match records.next()? {
            Ok(next) => next,
            Err(stopped) => break stopped,
        };
        let (infos, kept) = match read.phase {
            RunPhase::Warmup => (&mut draws.warmup_infos, &mut draws.warmup_values),
            RunPhase::Sampling => (&mut draws.infos, &mut draws.values),
        };
        infos.push(read.info);
        if with_values {
            kept.extend_from_slice(values);
        }
    };
    let place = draws.infos.len() + draws.warmup_infos.len();
    match stopped {
        Stopped::End => {}
        Stopped::Cut => {
            notes.push(format!("`{name}` ends in the middle of a draw, which was left out"));
        }
        Stopped::Damaged => notes.push(format!(
            "`{name}` is damaged at record {place}; it and all after it were left out"
        )),
        Stopped::Other { found, expected } => notes.push(format!("`{name}` goes on with draw {found} where {expected} was expected; it and all after it were left out")),
    }

    if planted(Fault::LastDrawLost) && draws.infos.pop().is_some() {
        draws.values.truncate(draws.infos.len() * width);
    }
    let made: u64 =
        draws.infos.iter().chain(&draws.warmup_infos).map(|i| u64::from(i.n_steps)).sum();
    draws.leapfrogs = stored.map_or(made, |c| c.leapfrogs);
    let all = draws.infos.len() as u64 == record.config.draws;
    if all {
        draws.outcome = ChainOutcome::Completed;
    } else if stored.is_some_and(|c| c.outcome == StoredOutcome::Completed) {
        let (found, expected) = (draws.infos.len(), record.config.draws);
        notes.push(format!("`{name}` holds {found} draws, but the run made {expected}"));
    } else if let Some(StoredOutcome::Failed(error)) = stored.map(|c| &c.outcome) {
        draws.outcome = ChainOutcome::Failed(SampleError::stored(error.clone()));
    }
    Ok(draws)
}

/// The draws of a chain's file, to be read one by one.
pub(crate) fn open_chain(
    directory: &Path,
    chain: u32,
    record: &RunRecord,
) -> Result<Records<BufReader<File>>, RunError> {
    let path = directory.join(chain_file(chain));
    let file = File::open(&path).map_err(|e| RunError::read(&path, e))?;
    let file = BufReader::with_capacity(1 << 16, file);
    let width = record.variables.iter().map(|v| v.len() as u64).sum();
    let columns = columns_hash(&record.variables);
    let header = Header { version: FORMAT_VERSION as u32, chain, width, columns };
    let records = Records::of(file, &path, &header)?;
    records.map_err(|_| RunError::malformed(&path, "it has no header of exmc's draws"))
}
