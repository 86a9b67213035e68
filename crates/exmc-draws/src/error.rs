//! What can go wrong with a run directory: the file, how far it got, and why.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error of reading or writing a run directory.
#[derive(Debug)]
pub struct RunError {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Read(io::Error),
    Write { written: u64, error: io::Error },
    Occupied,
    Exists,
    NotARun,
    Malformed(String),
    Version { found: u64 },
    Locked { process: Option<u32> },
    Mismatch(String),
    Incomplete(String),
}

impl RunError {
    pub(crate) fn read(path: &Path, error: io::Error) -> Self {
        Self { path: path.to_owned(), kind: Kind::Read(error) }
    }

    pub(crate) fn write(path: &Path, written: u64, error: io::Error) -> Self {
        Self { path: path.to_owned(), kind: Kind::Write { written, error } }
    }

    pub(crate) fn occupied(path: &Path) -> Self {
        Self { path: path.to_owned(), kind: Kind::Occupied }
    }

    pub(crate) fn exists(path: &Path) -> Self {
        Self { path: path.to_owned(), kind: Kind::Exists }
    }

    pub(crate) fn not_a_run(path: &Path) -> Self {
        Self { path: path.to_owned(), kind: Kind::NotARun }
    }

    pub(crate) fn malformed(path: &Path, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: Kind::Malformed(what.into()) }
    }

    pub(crate) fn version(path: &Path, found: u64) -> Self {
        Self { path: path.to_owned(), kind: Kind::Version { found } }
    }

    pub(crate) fn locked(path: &Path, process: Option<u32>) -> Self {
        Self { path: path.to_owned(), kind: Kind::Locked { process } }
    }

    pub(crate) fn mismatch(path: &Path, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: Kind::Mismatch(what.into()) }
    }

    pub(crate) fn incomplete(path: &Path, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: Kind::Incomplete(what.into()) }
    }

    /// Whether another process writes the run.
    pub fn is_locked(&self) -> bool {
        matches!(self.kind, Kind::Locked { .. })
    }

    /// Whether runs are of different models, data or settings.
    pub fn is_mismatch(&self) -> bool {
        matches!(self.kind, Kind::Mismatch(_))
    }

    /// The file or directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the directory already holds a run.
    pub fn is_occupied(&self) -> bool {
        matches!(self.kind, Kind::Occupied)
    }

    /// Whether the operating system refused to read or write.
    pub fn is_io(&self) -> bool {
        matches!(self.kind, Kind::Read(_) | Kind::Write { .. })
    }

    /// Bytes of the file that were written before a write failed.
    pub fn bytes_written(&self) -> Option<u64> {
        match self.kind {
            Kind::Write { written, .. } => Some(written),
            _ => None,
        }
    }

    /// What may help, when we know it.
    pub fn hint(&self) -> Option<&'static str> {
        match &self.kind {
            Kind::Occupied => Some("choose another directory: draws are never overwritten"),
            Kind::Exists => Some("choose another directory: files are never overwritten"),
            Kind::NotARun => Some("give the directory that a run was written to"),
            Kind::Write { written, .. } if *written > 0 => {
                Some("the draws written before are kept and can be read")
            }
            Kind::Version { .. } => Some("read it with the version of exmc that wrote it"),
            Kind::Incomplete(_) => {
                Some("run them with `exmc sample --chain K`, or give their directories")
            }
            Kind::Locked { .. } => {
                Some("wait until it has ended, or end it; a process that is gone locks nothing")
            }
            _ => None,
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            Kind::Read(error) => write!(f, "cannot read `{path}`: {error}"),
            Kind::Write { written: 0, error } => write!(f, "cannot write `{path}`: {error}"),
            Kind::Write { written, error } => {
                write!(f, "cannot write `{path}` after {written} bytes: {error}")
            }
            Kind::Occupied => write!(f, "`{path}` already holds a run"),
            Kind::Exists => write!(f, "`{path}` exists already"),
            Kind::NotARun => write!(f, "`{path}` holds no run"),
            Kind::Malformed(what) => write!(f, "`{path}` is damaged: {what}"),
            Kind::Locked { process } => {
                let folder = self.path.parent().unwrap_or(&self.path).display();
                match process {
                    Some(process) => write!(f, "process {process} writes the run in `{folder}`"),
                    None => write!(f, "another process writes the run in `{folder}`"),
                }
            }
            Kind::Incomplete(what) => write!(f, "cannot make `{path}`: {what}"),
            Kind::Mismatch(what) => write!(f, "`{path}`: {what}"),
            Kind::Version { found } => {
                write!(f, "`{path}` has format version {found}, expected {}", crate::FORMAT_VERSION)
            }
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Read(error) | Kind::Write { error, .. } => Some(error),
            _ => None,
        }
    }
}
