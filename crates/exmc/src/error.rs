//! What can go wrong for a user of the library, in one type.

use std::fmt;

use exmc_exec::{BindError, CompileError, CompileErrorKind};
use exmc_infer::SampleError;
use exmc_model::{Code, Diagnostic, ModelError};

use crate::stan::StanError;

/// An error of the library.
#[derive(Clone, Debug)]
pub struct Error {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Model(ModelError),
    Sample(SampleError),
    Stan(Box<StanError>),
    Fatal(Box<StanError>),
    Interrupted(Box<StanError>),
    Internal(String),
}

impl Error {
    /// Whether the model or its data are wrong.
    pub fn is_model(&self) -> bool {
        matches!(self.kind, Kind::Model(_) | Kind::Stan(_) | Kind::Fatal(_))
    }

    /// Whether sampling could not start or settings are wrong.
    pub fn is_sampling(&self) -> bool {
        matches!(self.kind, Kind::Sample(_))
    }

    /// Whether the model asked for the run to end (`fatal_error` in a Stan program).
    pub fn is_fatal(&self) -> bool {
        let is_ended = self.as_sample_error().is_some_and(SampleError::is_ended);
        is_ended || matches!(self.kind, Kind::Fatal(_))
    }

    /// Whether somebody asked for the computation to stop
    /// ([`StanOptions::stop`](crate::stan::StanOptions::stop)); the text says where it was.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.kind, Kind::Interrupted(_))
    }

    /// Whether it is a bug of exmc's.
    pub fn is_internal(&self) -> bool {
        matches!(self.kind, Kind::Internal(_))
    }

    /// The located mistakes in the model or data; empty for other errors.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match &self.kind {
            Kind::Model(error) => error.diagnostics(),
            _ => &[],
        }
    }

    /// The sampler's error, if it is one.
    pub fn as_sample_error(&self) -> Option<&SampleError> {
        match &self.kind {
            Kind::Sample(error) => Some(error),
            _ => None,
        }
    }

    /// Mistakes of a Stan program or its data, if it is that.
    pub fn as_stan_error(&self) -> Option<&StanError> {
        match &self.kind {
            Kind::Stan(error) | Kind::Fatal(error) | Kind::Interrupted(error) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn fatal(error: StanError) -> Self {
        Self { kind: Kind::Fatal(Box::new(error)) }
    }

    pub(crate) fn interrupted(error: StanError) -> Self {
        Self { kind: Kind::Interrupted(Box::new(error)) }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { kind: Kind::Internal(message.into()) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Model(error) => error.fmt(f),
            Kind::Sample(error) if error.is_ended() => error.fmt(f),
            Kind::Sample(error) => write!(f, "error: {error}"),
            Kind::Stan(error) | Kind::Fatal(error) | Kind::Interrupted(error) => error.fmt(f),
            Kind::Internal(message) => write!(f, "internal error (a bug of exmc): {message}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        Self { kind: Kind::Model(error) }
    }
}

impl From<StanError> for Error {
    fn from(error: StanError) -> Self {
        Self { kind: Kind::Stan(Box::new(error)) }
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        ModelError::from(diagnostic).into()
    }
}

impl From<SampleError> for Error {
    fn from(error: SampleError) -> Self {
        Self { kind: Kind::Sample(error) }
    }
}

impl From<CompileError> for Error {
    fn from(error: CompileError) -> Self {
        let help = match error.kind() {
            // A log density that a distribution of ours cannot differentiate is the model's
            // problem.
            CompileErrorKind::NoDerivative => {
                "this function has no derivative: keep it out of the log density"
            }
            CompileErrorKind::TooLarge => "use fewer or smaller arrays, or split the data",
            _ => return Self::internal(error.message()),
        };
        Diagnostic::new(Code::BadArguments, error.message()).help(help).into()
    }
}

impl From<BindError> for Error {
    fn from(error: BindError) -> Self {
        Diagnostic::new(Code::BadData, error.message()).into()
    }
}
