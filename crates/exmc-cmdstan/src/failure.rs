//! Why a run of an executable or a tool ends early: lines for standard error.

use std::fmt;
use std::io;
use std::path::Path;

use exmc::stan::StanError;
use exmc_draws::RunError;

/// A message; the exit code is 1, the only one that CmdStan has.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// A file that cannot be opened, in the words that CmdStan has for it.
    pub(crate) fn unreadable(path: &str, error: &io::Error) -> Self {
        Self(format!("Can't open specified file, \"{path}\": {error}"))
    }

    pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Self {
        Self(format!("Error: cannot write `{}`: {error}", path.display()))
    }

    /// A message that clients find: they look for lines that begin with `Exception`.
    pub(crate) fn exception(message: impl fmt::Display) -> Self {
        Self(format!("Exception: {message}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<exmc::Error> for Failure {
    fn from(error: exmc::Error) -> Self {
        match error.as_stan_error() {
            Some(stan) => Self::from(stan.clone()),
            None => Self::exception(error),
        }
    }
}

impl From<StanError> for Failure {
    fn from(error: StanError) -> Self {
        Self::exception(error)
    }
}

impl From<exmc::advanced::density::EvaluationError> for Failure {
    fn from(error: exmc::advanced::density::EvaluationError) -> Self {
        Self::exception(error)
    }
}

impl From<exmc::infer::SampleError> for Failure {
    fn from(error: exmc::infer::SampleError) -> Self {
        Self::exception(error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::new(format!("Error: {error}"))
    }
}

/// A write to standard output or to a file that failed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(format!("Error: cannot write: {error}"))
    }
}
