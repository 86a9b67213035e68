//! What goes wrong -> a sentence, a hint and an exit code, the same codes as of the program `exmc`.

use std::fmt;
use std::path::Path;

/// The kind of a failure; its number is the program's exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// Data, a checkpoint or a game are wrong: running again will not help.
    Data = 1,
    /// A setting or the command line is wrong.
    Usage = 2,
    /// A file cannot be read or written.
    Io = 4,
    /// A mistake of ours.
    Internal = 70,
}

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

impl Error {
    /// Data, a checkpoint or a game that are wrong.
    pub fn data(message: impl Into<String>) -> Self {
        Self { kind: Kind::Data, message: message.into(), hint: None }
    }

    /// A setting that is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, message: message.into(), hint: None }
    }

    /// What cannot happen unless we made a mistake.
    pub fn internal(message: impl Into<String>) -> Self {
        Self { kind: Kind::Internal, message: message.into(), hint: None }
    }

    /// A file that cannot be read.
    #[must_use]
    pub fn unreadable(path: &Path, error: &dyn fmt::Display) -> Self {
        let message = format!("cannot read `{}`: {error}", path.display());
        Self { kind: Kind::Io, message, hint: None }
    }

    /// A file or folder that cannot be written.
    #[must_use]
    pub fn unwritable(path: &Path, error: &dyn fmt::Display) -> Self {
        let message = format!("cannot write `{}`: {error}", path.display());
        Self { kind: Kind::Io, message, hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, saying first where it happened.
    #[must_use]
    pub fn context(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The program's exit code.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.kind as u8
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  help: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<penalties::Error> for Error {
    fn from(error: penalties::Error) -> Self {
        Self::usage(format!("penalties: {error}"))
    }
}

impl From<features::DataError> for Error {
    fn from(error: features::DataError) -> Self {
        Self::data(error.to_string())
    }
}

impl From<features::SchemaError> for Error {
    fn from(error: features::SchemaError) -> Self {
        Self::data(error.to_string())
    }
}

impl From<plain::policy::CheckpointError> for Error {
    fn from(error: plain::policy::CheckpointError) -> Self {
        Self::data(error.to_string())
    }
}

impl From<environment::EnvironmentError> for Error {
    fn from(error: environment::EnvironmentError) -> Self {
        Self::data(error.to_string())
    }
}
