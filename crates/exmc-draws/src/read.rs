//! A run directory -> its record and the draws of all chains.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

use exmc_diagnose::Warning;
use exmc_fault::{Fault, planted};
use exmc_infer::{ChainOutcome, RunPhase, SampleError};

use crate::directory::{FORMAT_VERSION, RUN_FILE, chain_file};
use crate::error::RunError;
use crate::parallel::in_parallel;
use crate::posterior::{ChainDraws, Posterior};
use crate::record::{HEADER_SIZE, Header, columns_hash, decode, record_size};
use crate::run_file::{RunRecord, StoredOutcome, Unreadable};

/// A run as it is on disk.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// What `run.json` says.
    pub record: RunRecord,
    /// The draws, bit for bit. A chain that failed counts as interrupted here; its error is in the
    /// record.
    pub posterior: Posterior,
    /// What had to be left out or does not add up, and what single chains went through
    /// ([`Posterior::notes`]), as sentences.
    pub notes: Vec<String>,
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
    RunRecord::from_json(&text).map_err(|unreadable| match unreadable {
        Unreadable::Malformed(what) => RunError::malformed(&file, what),
        Unreadable::Version(found) => RunError::version(&file, found),
    })
}

/// Reads a run, also one that is unfinished or whose process was killed: every whole draw that
/// its files hold.
///
/// # Errors
/// As [`read_record`]; when there are fewer files than chains; or when a chain's file belongs to
/// another model.
pub fn read_run(path: &Path) -> Result<StoredRun, RunError> {
    let record = read_record(path)?;
    let mut notes = check_chains(path, &record)?;
    let read = in_parallel(record.config.chains as usize, |chain| {
        let mut notes = Vec::new();
        read_chain(path, chain as u32, &record, &mut notes).map(|draws| (draws, notes))
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
    Ok(StoredRun { record, posterior, notes })
}

/// Compares the number of chains with the files that there are, before anything is made for each
/// chain; a note where files are left out.
fn check_chains(path: &Path, record: &RunRecord) -> Result<Vec<String>, RunError> {
    let entries = fs::read_dir(path).map_err(|e| RunError::read(path, e))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let number = |name: String| {
        let chain: u32 = name.strip_prefix("chain-")?.strip_suffix(".draws")?.parse().ok()?;
        (name == chain_file(chain)).then_some(chain)
    };
    let said = record.config.chains;
    let (of_run, others): (Vec<u32>, Vec<u32>) =
        names.filter_map(number).partition(|chain| *chain < said);
    if of_run.len() < said as usize {
        let files = of_run.len() + others.len();
        let what = format!("it is of {said} chains, but there are files of {files}");
        return Err(RunError::malformed(&path.join(RUN_FILE), what));
    }
    let left_out = |n: usize| {
        format!("`{RUN_FILE}` is of {said} chains; the files of {n} others were left out")
    };
    Ok(if others.is_empty() { Vec::new() } else { vec![left_out(others.len())] })
}

fn read_chain(
    directory: &Path,
    chain: u32,
    record: &RunRecord,
    notes: &mut Vec<String>,
) -> Result<ChainDraws, RunError> {
    let name = chain_file(chain);
    let path = directory.join(&name);
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
    let file = File::open(&path).map_err(|e| RunError::read(&path, e))?;
    let mut file = BufReader::with_capacity(1 << 16, file);
    let width = record.variables.iter().map(|v| v.len()).sum();
    check_header(&path, &mut file, chain, record, width)?;

    let mut bytes = vec![0; record_size(width)];
    let mut values = Vec::with_capacity(width);
    loop {
        let n = read_full(&mut file, &mut bytes).map_err(|e| RunError::read(&path, e))?;
        if n == 0 {
            break;
        }
        if n < bytes.len() {
            notes.push(format!("`{name}` ends in the middle of a draw, which was left out"));
            break;
        }
        values.clear();
        let place = draws.infos.len() + draws.warmup_infos.len();
        let Some(read) = decode(&bytes, &mut values) else {
            notes.push(format!(
                "`{name}` is damaged at record {place}; it and all after it were left out"
            ));
            break;
        };
        let (infos, kept) = match read.phase {
            RunPhase::Warmup => (&mut draws.warmup_infos, &mut draws.warmup_values),
            RunPhase::Sampling => (&mut draws.infos, &mut draws.values),
        };
        if read.index != infos.len() as u64 {
            let (found, expected) = (read.index, infos.len());
            notes.push(format!("`{name}` goes on with draw {found} where {expected} was expected; it and all after it were left out"));
            break;
        }
        infos.push(read.info);
        kept.extend_from_slice(&values);
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

fn check_header(
    path: &Path,
    file: &mut impl Read,
    chain: u32,
    record: &RunRecord,
    width: usize,
) -> Result<(), RunError> {
    let mut bytes = [0; HEADER_SIZE];
    let n = read_full(file, &mut bytes).map_err(|e| RunError::read(path, e))?;
    let Some(header) = Header::decode(&bytes[..n]) else {
        return Err(RunError::malformed(path, "it has no header of exmc's draws"));
    };
    if u64::from(header.version) != FORMAT_VERSION {
        return Err(RunError::version(path, header.version.into()));
    }
    let columns = columns_hash(&record.variables);
    if header.chain != chain || header.width != width as u64 || header.columns != columns {
        return Err(RunError::malformed(path, "it belongs to another run"));
    }
    Ok(())
}

/// Reads until the buffer is full or the file ends; returns how much there was.
fn read_full(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
