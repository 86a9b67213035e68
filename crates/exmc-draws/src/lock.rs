//! A run directory -> the right to write it, which one process has at a time.
//!
//! The locks are the operating system's, on open files, and end with the process: what is left of
//! a process that was killed is a file that nobody holds. A run of all chains holds `run.lock`
//! alone; a chain that runs as a task shares it with other tasks, and holds `chain-K.lock` alone.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::RunError;

/// The right to write all chains of a run, or one of them; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    /// The files that are held, each with whether nobody else may hold it.
    held: Vec<(PathBuf, File, bool)>,
}

impl Lock {
    /// Takes the lock of all chains, or of one.
    ///
    /// # Errors
    /// When another process holds it ([`RunError::is_locked`]), or a lock's file cannot be opened.
    pub(crate) fn take(directory: &Path, chain: Option<u32>) -> Result<Self, RunError> {
        let of_run = directory.join("run.lock");
        let mut lock = Self { held: Vec::new() };
        match chain {
            None => lock.hold(of_run, true)?,
            Some(chain) => {
                lock.hold(of_run, false)?;
                lock.hold(directory.join(format!("chain-{chain}.lock")), true)?;
            }
        }
        Ok(lock)
    }

    fn hold(&mut self, path: PathBuf, alone: bool) -> Result<(), RunError> {
        loop {
            let opened = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(|e| RunError::write(&path, 0, e))?;
            let mut file = opened;
            match if alone { file.try_lock() } else { file.try_lock_shared() } {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut holder = String::new();
                    let _ = file.read_to_string(&mut holder);
                    return Err(RunError::locked(&path, holder.trim().parse().ok()));
                }
                Err(TryLockError::Error(error)) => return Err(RunError::write(&path, 0, error)),
            }
            // Who held it before may have removed the file when it was already open here.
            if !is_same(&path, &file) {
                continue;
            }
            if alone {
                // The number is for messages; what counts is the lock.
                let _ = file.set_len(0).and_then(|()| file.rewind());
                let _ = write!(file, "{}", std::process::id());
            }
            self.held.push((path, file, alone));
            return Ok(());
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        for (path, file, alone) in self.held.drain(..).rev() {
            // Removed while it is held, so that whoever opened it before sees that it is gone.
            if alone && cfg!(unix) {
                let _ = fs::remove_file(path);
            }
            drop(file);
        }
    }
}

/// Whether the file at `path` is the open one.
#[cfg(unix)]
fn is_same(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |data: io::Result<fs::Metadata>| data.map(|data| (data.dev(), data.ino())).ok();
    let identity = number(file.metadata());
    identity.is_some() && identity == number(fs::metadata(path))
}

/// Elsewhere a lock's file is never removed.
#[cfg(not(unix))]
fn is_same(_: &Path, _: &File) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_at_a_time() {
        let folder = std::env::temp_dir().join(format!("exmc-locks-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let all = Lock::take(&folder, None).unwrap();
        let process = std::process::id();
        for chain in [None, Some(1)] {
            let error = Lock::take(&folder, chain).unwrap_err();
            assert!(error.is_locked(), "{error}");
            assert!(error.to_string().contains(&format!("process {process}")), "{error}");
        }
        drop(all);
        let one = Lock::take(&folder, Some(1)).unwrap();
        assert!(Lock::take(&folder, Some(1)).unwrap_err().is_locked());
        let other = Lock::take(&folder, Some(2)).unwrap();
        assert!(Lock::take(&folder, None).unwrap_err().is_locked());
        drop((one, other));
        // What a killed process leaves behind is held by nobody.
        fs::write(folder.join("run.lock"), "1").unwrap();
        drop(Lock::take(&folder, None).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(&folder).unwrap();
    }
}
