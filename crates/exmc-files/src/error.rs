//! What can go wrong with a file: its path and why.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error of writing or reading a file of another program's.
#[derive(Debug)]
pub struct FileError {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Read(io::Error),
    Write(io::Error),
    Exists,
    Malformed(String),
}

impl FileError {
    pub(crate) fn read(path: &Path, error: io::Error) -> Self {
        Self { path: path.to_owned(), kind: Kind::Read(error) }
    }

    pub(crate) fn write(path: &Path, error: io::Error) -> Self {
        Self { path: path.to_owned(), kind: Kind::Write(error) }
    }

    pub(crate) fn exists(path: &Path) -> Self {
        Self { path: path.to_owned(), kind: Kind::Exists }
    }

    pub(crate) fn malformed(path: &Path, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: Kind::Malformed(what.into()) }
    }

    /// The file or directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the operating system refused to read or write.
    pub fn is_io(&self) -> bool {
        matches!(self.kind, Kind::Read(_) | Kind::Write(_))
    }

    /// What may help, when we know it.
    pub fn hint(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Exists => Some("choose another name: files are never overwritten"),
            _ => None,
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            Kind::Read(error) => write!(f, "cannot read `{path}`: {error}"),
            Kind::Write(error) => write!(f, "cannot write `{path}`: {error}"),
            Kind::Exists => write!(f, "`{path}` exists already"),
            Kind::Malformed(what) => write!(f, "`{path}`: {what}"),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Read(error) | Kind::Write(error) => Some(error),
            _ => None,
        }
    }
}
