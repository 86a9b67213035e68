//! Directories of chains that ran apart -> one run directory.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::directory::{RUN_FILE, chain_file, checkpoint_file};
use crate::disk::Disk;
use crate::error::RunError;
use crate::read::{open_chain, read_record};
use crate::record::{HEADER_SIZE, record_size};
use crate::run_file::{RunRecord, RunStatus, StoredChain, StoredOutcome};

/// A chain in one of the directories.
struct Found<'a> {
    directory: &'a Path,
    /// Bytes of its whole draws, header included.
    size: u64,
    draws: u64,
    told: Option<StoredChain>,
}

/// Makes one run of the chains in several directories, whose order does not matter, and returns
/// what is worth knowing of it. A chain that is in more than one of them is taken from where it has
/// the most draws.
///
/// # Errors
/// When the runs differ in anything that draws follow from, or a chain has other draws in another
/// directory ([`RunError::is_mismatch`]); when a chain is nowhere; when a file cannot be read or
/// written, or `out` is there already. Nothing is left of `out` then.
pub fn merge_runs(directories: &[PathBuf], out: &Path) -> Result<Vec<String>, RunError> {
    let mut sorted: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
    sorted.sort();
    sorted.dedup();
    let mut records = Vec::new();
    for path in &sorted {
        records.push((*path, read_record(path)?));
    }
    let Some((first, record)) = records.first() else { return Ok(Vec::new()) };
    if record.origin.is_none() {
        return Err(RunError::mismatch(first, "it was made by a version that stored no hashes"));
    }
    for (path, other) in &records[1..] {
        let mut differences = record.differences(other);
        if record.config.draws != other.config.draws {
            let (a, b) = (record.config.draws, other.config.draws);
            differences.push(format!("setting `draws`: {a} and {b}"));
        }
        if record.save_warmup != other.save_warmup {
            differences.push("whether warmup draws are stored".to_owned());
        }
        if !differences.is_empty() {
            let (first, differences) = (first.display(), differences.join("; "));
            let what = format!("it is another run than `{first}`: {differences}");
            return Err(RunError::mismatch(path, what));
        }
    }
    let mut chains = Vec::new();
    let mut missing = Vec::new();
    for chain in 0..record.config.chains {
        match longest(chain, &records)? {
            Some(found) => chains.push((chain, found)),
            None => missing.push(chain.to_string()),
        }
    }
    if !missing.is_empty() {
        let (missing, chain_count) = (missing.join(", "), record.config.chains);
        let what =
            format!("of the run's {chain_count} chains these are in no directory: {missing}");
        return Err(RunError::incomplete(out, what));
    }
    if out.symlink_metadata().is_ok() {
        return Err(RunError::exists(out));
    }
    let mut temporary = out.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let written = fs::create_dir_all(&temporary)
        .map_err(|e| RunError::write(&temporary, 0, e))
        .and_then(|()| write(&temporary, (first, record), &records, &chains))
        .and_then(|()| fs::rename(&temporary, out).map_err(|e| RunError::write(out, 0, e)));
    if let Err(error) = written {
        let _ = fs::remove_dir_all(&temporary);
        return Err(error);
    }
    let short = chains.iter().filter(|(_, found)| found.draws < record.config.draws);
    let short: Vec<String> =
        short.map(|(chain, found)| format!("chain {chain} has {} draws", found.draws)).collect();
    let draw_count = record.config.draws;
    let note = || {
        let (short, out) = (short.join(", "), out.display());
        format!(
            "not all chains have {draw_count} draws: {short}; `exmc resume {out}` makes the others"
        )
    };
    Ok(if short.is_empty() { Vec::new() } else { vec![note()] })
}

/// Where a chain has the most draws; all other places must hold the beginning of these.
fn longest<'a>(
    chain: u32,
    records: &'a [(&'a Path, RunRecord)],
) -> Result<Option<Found<'a>>, RunError> {
    let mut best: Option<Found<'a>> = None;
    for (directory, record) in records {
        if !directory.join(chain_file(chain)).exists() {
            continue;
        }
        let mut draws = open_chain(directory, chain, record)?;
        while draws.next()?.is_ok() {}
        let (warmup, draws) = draws.counts();
        let width: usize = record.variables.iter().map(|v| v.len()).sum();
        let size = HEADER_SIZE as u64 + (warmup + draws) * record_size(width) as u64;
        let told = record.chains.iter().find(|told| told.chain == chain).cloned();
        let found = Found { directory, size, draws, told };
        if let Some(other) = &best {
            check_same(chain, other, &found)?;
        }
        let is_better = |other: &Found<'_>| {
            (other.size, other.told.is_some()) < (found.size, found.told.is_some())
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some(found);
        }
    }
    Ok(best)
}

/// That two files begin with the same draws.
fn check_same(chain: u32, a: &Found<'_>, b: &Found<'_>) -> Result<(), RunError> {
    let open = |found: &Found<'_>| {
        let path = found.directory.join(chain_file(chain));
        let file = File::open(&path).map_err(|e| RunError::read(&path, e))?;
        Ok((path, BufReader::new(file).take(a.size.min(b.size))))
    };
    let ((path_a, file_a), (path_b, file_b)) = (open(a)?, open(b)?);
    for (x, y) in file_a.bytes().zip(file_b.bytes()) {
        let x = x.map_err(|e| RunError::read(&path_a, e))?;
        let y = y.map_err(|e| RunError::read(&path_b, e))?;
        if x != y {
            let what = format!("it has other draws than `{}`", path_a.display());
            return Err(RunError::mismatch(&path_b, what));
        }
    }
    Ok(())
}

fn write(
    out: &Path,
    (first, record): (&Path, &RunRecord),
    records: &[(&Path, RunRecord)],
    chains: &[(u32, Found<'_>)],
) -> Result<(), RunError> {
    let disk = Disk::default();
    for name in ["model.json", "model.stan", "data.json", "init.json"] {
        let path = first.join(name);
        match fs::read(&path) {
            Ok(bytes) => drop(disk.replace(&out.join(name), &bytes, true)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(RunError::read(&path, error)),
        }
    }
    for (chain, found) in chains {
        let (from, to) = (found.directory.join(chain_file(*chain)), out.join(chain_file(*chain)));
        let file = File::open(&from).map_err(|e| RunError::read(&from, e))?;
        let mut copy = disk.create_new(&to).map_err(|e| RunError::write(&to, 0, e))?;
        let copied = io::copy(&mut file.take(found.size), &mut copy);
        copied.and_then(|_| disk.sync(&copy)).map_err(|e| RunError::write(&to, 0, e))?;
        let name = checkpoint_file(*chain);
        if let Ok(bytes) = fs::read(found.directory.join(&name)) {
            disk.replace(&out.join(name), &bytes, true)?;
        }
    }
    let mut merged = record.clone();
    merged.started = records.iter().map(|(_, record)| record.started).min().unwrap_or(0);
    merged.chains = chains.iter().filter_map(|(_, found)| found.told.clone()).collect();
    let seconds = |c: &StoredChain| c.warmup_seconds + c.sampling_seconds;
    merged.seconds = merged.chains.iter().map(seconds).fold(0.0, f64::max);
    let is_whole = |(_, found): &(u32, Found<'_>)| {
        found.draws == record.config.draws
            && found.told.as_ref().is_some_and(|told| told.outcome == StoredOutcome::Completed)
    };
    let all = chains.iter().all(is_whole);
    merged.status = if all { RunStatus::Completed } else { RunStatus::Interrupted };
    if let Some(origin) = &mut merged.origin {
        origin.tasks = false;
    }
    disk.replace(&out.join(RUN_FILE), merged.to_json().as_bytes(), true).map(drop)
}
