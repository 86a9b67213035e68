//! What can go wrong for a user of the library, in one type.

use std::fmt;
use std::sync::Arc;

use exmc_draws::RunError;
use exmc_exec::{BindError, CompileError, CompileErrorKind};
use exmc_infer::SampleError;
use exmc_model::{Code, Diagnostic, ModelError};
use exmc_stan::diagnostic::{Class, Severity};

use crate::stan::StanError;

/// An error of the library.
///
/// It prints as a report: what is wrong, where it was declared, what may help. `{:?}` prints the
/// same, so that a program whose `main` returns it says what a user can act on.
///
/// ```
/// use exmc::{ErrorKind, ModelBuilder, distributions::normal};
/// let mut model = ModelBuilder::new();
/// model.rv("x", normal("mu", 1));
/// let error = exmc::Error::from(model.build().unwrap_err());
/// assert_eq!(error.kind(), ErrorKind::Model);
/// assert!(error.to_string().contains("nothing is called `mu`"));
/// assert_eq!(format!("{error:?}"), error.to_string());
/// ```
#[derive(Clone)]
pub struct Error {
    kind: Kind,
}

/// What kind of error it is: what a program decides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The model or the Stan program is wrong.
    Model,
    /// Data, or draws that a model is given, do not fit it.
    Data,
    /// A setting is wrong.
    Settings,
    /// No point was found where sampling can start.
    InitialPoint,
    /// The log density broke down while sampling.
    Density,
    /// The model asked for the run to end (`fatal_error` in a Stan program).
    Ended,
    /// Somebody asked for the computation to stop.
    Interrupted,
    /// There is no memory for the draws.
    OutOfMemory,
    /// A run's directory or a file of draws cannot be read or written.
    Files,
    /// A bug of exmc's.
    Internal,
}

#[derive(Clone)]
enum Kind {
    Files(Arc<RunError>),
    Model(ModelError),
    Sample(SampleError),
    Stan(Box<StanError>),
    Fatal(Box<StanError>),
    Interrupted(Box<StanError>),
    Internal(String),
}

impl Error {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match &self.kind {
            Kind::Files(_) => ErrorKind::Files,
            Kind::Model(error) => of_diagnostics(error.diagnostics()),
            Kind::Stan(error) => {
                let mut errors = error.diagnostics.iter().filter(|d| d.severity == Severity::Error);
                let of_data = errors.all(|d| d.class == Class::Data);
                if of_data { ErrorKind::Data } else { ErrorKind::Model }
            }
            Kind::Fatal(_) => ErrorKind::Ended,
            Kind::Interrupted(_) => ErrorKind::Interrupted,
            Kind::Internal(_) => ErrorKind::Internal,
            Kind::Sample(error) if error.is_config() => ErrorKind::Settings,
            Kind::Sample(error) if error.is_initial_point() => ErrorKind::InitialPoint,
            Kind::Sample(error) if error.is_ended() => ErrorKind::Ended,
            Kind::Sample(error) if error.is_interrupted() => ErrorKind::Interrupted,
            Kind::Sample(error) if error.is_out_of_memory() => ErrorKind::OutOfMemory,
            Kind::Sample(_) => ErrorKind::Density,
        }
    }

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
        let of_sampler = self.as_sample_error().is_some_and(SampleError::is_interrupted);
        of_sampler || matches!(self.kind, Kind::Interrupted(_))
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

    /// The error of a run's files, if it is one.
    pub fn as_run_error(&self) -> Option<&RunError> {
        match &self.kind {
            Kind::Files(error) => Some(error),
            _ => None,
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

fn of_diagnostics(diagnostics: &[Diagnostic]) -> ErrorKind {
    let of_data =
        |d: &Diagnostic| matches!(d.code, Code::MissingData | Code::UnknownData | Code::BadData);
    match diagnostics {
        all if all.iter().any(|d| d.code == Code::NotFinite) => ErrorKind::InitialPoint,
        all if !all.is_empty() && all.iter().all(of_data) => ErrorKind::Data,
        _ => ErrorKind::Model,
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Model(error) => error.fmt(f),
            Kind::Sample(error) if error.is_ended() => error.fmt(f),
            Kind::Sample(error) => write!(f, "error: {error}"),
            Kind::Stan(error) | Kind::Fatal(error) | Kind::Interrupted(error) => error.fmt(f),
            Kind::Files(error) => {
                write!(f, "error: {error}")?;
                error.hint().map_or(Ok(()), |hint| write!(f, "\n  help: {hint}"))
            }
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

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        Self { kind: Kind::Files(Arc::new(error)) }
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
