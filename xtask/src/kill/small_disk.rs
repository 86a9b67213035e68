//! Runs on a file system that is too small for them -> whether each ends with exit code 4, keeps
//! what it wrote, and goes on to the bits of a run that had room, once there is some.
//!
//! The file system is a `tmpfs` of this program's own, of at most one megabyte, so it takes Linux
//! and the right to mount; elsewhere the record says that this part was left out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Random, Trial};

/// Runs of each setting.
const RUNS: usize = 5;
/// Bytes of the file system at most.
const MOST: u64 = 1 << 20;
const PAGE: u64 = 4096;

/// What happened to the runs of one setting.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) runs: usize,
    /// Disks that had no room for the run's first files.
    pub(super) not_begun: usize,
    /// Runs whose disk went away while they ran.
    pub(super) vanished: usize,
}

/// A mounted file system, which is gone with this.
struct Small(PathBuf);

impl Small {
    fn mount(place: PathBuf, bytes: u64) -> Result<Self, String> {
        fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        let options = format!("size={bytes},mode=700");
        mount(&["-t", "tmpfs", "-o", &options, "exmc-kill"], &place)?;
        Ok(Self(place))
    }

    fn grow(&self) -> Result<(), String> {
        mount(&["-o", "remount,size=1g"], &self.0)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).stderr(Stdio::null()).status();
    }
}

fn mount(args: &[&str], place: &Path) -> Result<(), String> {
    let done = Command::new("mount").args(args).arg(place).stderr(Stdio::null()).status();
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("mount ended with {status}")),
        Err(error) => Err(format!("mount: {error}")),
    }
}

/// Whether this process may mount a file system in a folder.
pub(super) fn is_possible(folder: &Path) -> bool {
    Small::mount(folder.join("try"), PAGE).is_ok()
}

/// Runs of one setting on disks of random sizes that are too small.
pub(super) fn small_disks(trial: &Trial<'_>, random: &mut Random) -> Result<Seen, String> {
    let mut seen = Seen::default();
    let total_bytes: u64 = trial.uncut.iter().map(|draws| draws.len() as u64).sum();
    let place = trial.folder.join("run");
    let out = "run/run".to_owned();
    let args = trial.sample(&out);
    for _ in 0..RUNS {
        let _ = fs::remove_dir_all(&place);
        let disk =
            Small::mount(place.clone(), PAGE * (1 + random.below(total_bytes.min(MOST) / PAGE)))?;
        seen.runs += 1;
        refused(trial, &args, &place)?;
        trial.check(&out)?;
        disk.grow()?;
        if place.join("run/run.json").exists() {
            let resume = ["resume", &out, "-q", "--checkpoint-every", "0.02"].map(str::to_owned);
            trial.complete(&resume)?;
        } else {
            seen.not_begun += 1;
            trial.complete(&args)?;
        }
        if trial.draws(&out)? != trial.uncut {
            return Err(format!("{}: other draws than `whole`", place.join("run").display()));
        }
        trial.complete(&["summary".to_owned(), out.clone()])?;
    }
    let _ = fs::remove_dir_all(&place);
    vanish(trial, &args, &place)?;
    seen.vanished += 1;
    Ok(seen)
}

/// A run that the disk ends: exit code 4, and a message with the file.
fn refused(trial: &Trial<'_>, args: &[String], place: &Path) -> Result<(), String> {
    let output = trial.command(args).stderr(Stdio::piped()).output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    let is_told = said.contains("cannot write `run/run");
    if output.status.code() != Some(4) || !is_told {
        let (place, status) = (place.display(), output.status);
        return Err(format!("{place}: on a full disk it ended with {status}: {said}"));
    }
    Ok(())
}

/// A run whose directory is removed while it writes: it ends, and not by a panic.
fn vanish(trial: &Trial<'_>, args: &[String], place: &Path) -> Result<(), String> {
    fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
    let child = trial.command(args).stderr(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
    std::thread::sleep(trial.time / 2);
    let _ = fs::remove_dir_all(place);
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    // It was quicker, or the files were gone before it could say how it ended.
    let is_sound = matches!(output.status.code(), Some(0 | 4)) && !said.contains("panicked");
    if is_sound { Ok(()) } else { Err(format!("a vanished directory: {}: {said}", output.status)) }
}
