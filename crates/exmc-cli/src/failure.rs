//! Errors of all crates -> what the program says on stderr, and its exit code.

use std::fmt;
use std::io;

use exmc::infer::SampleError;
use exmc::model::Diagnostic;
use exmc_draws::RunError;
use exmc_model::ModelError;
use serde_json::{Value, json};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Success = 0,
    /// The model or its data are wrong: running again will not help.
    Model = 1,
    /// The command line is wrong.
    Usage = 2,
    /// It sampled, but the diagnostics are bad (only with `--check`).
    Diagnostics = 3,
    /// A file cannot be read or written, or memory is short.
    Io = 4,
    /// It was interrupted; the draws made so far are kept.
    Interrupted = 5,
    /// A bug of ours.
    Internal = 70,
}

/// The code of a run that the model itself ended.
const ENDED: &str = "ended";

/// Why a command ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    code: &'static str,
    message: String,
    hint: Option<String>,
    diagnostics: Vec<Diagnostic>,
    /// Whether the message says itself that it is an error.
    rendered: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        let code = match exit {
            Exit::Success => "success",
            Exit::Model => "model",
            Exit::Usage => "usage",
            Exit::Diagnostics => "diagnostics",
            Exit::Io => "io",
            Exit::Interrupted => "interrupted",
            Exit::Internal => "internal",
        };
        Self {
            exit,
            code,
            message: message.into(),
            hint: None,
            diagnostics: Vec::new(),
            rendered: false,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, saying in which file the mistake is.
    pub(crate) fn in_file(self, path: &std::path::Path) -> Self {
        self.context(&format!("in `{}`", path.display()))
    }

    /// The same, saying first where it happened.
    pub(crate) fn context(mut self, place: &str) -> Self {
        let gap = if self.rendered { "\n" } else { " " };
        self.message = format!("{place}:{gap}{}", self.message);
        self
    }

    /// Whether the model asked for the run to end.
    pub(crate) fn is_ended(&self) -> bool {
        self.code == ENDED
    }

    /// The same of a run that the model ended, saying where its draws are.
    pub(crate) fn draws_kept(self, directory: &std::path::Path) -> Self {
        let hint = format!("the draws made before this are kept in `{}`", directory.display());
        self.hint(hint)
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(path: &std::path::Path, error: &io::Error) -> Self {
        Self::new(Exit::Io, format!("cannot read `{}`: {error}", path.display()))
    }

    /// A file or directory that cannot be written.
    pub(crate) fn unwritable(path: &std::path::Path, error: &io::Error) -> Self {
        Self::new(Exit::Io, format!("cannot write `{}`: {error}", path.display()))
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The failure as `--json` has it.
    pub(crate) fn to_json(&self) -> Value {
        let diagnostics: Vec<Value> = self
            .diagnostics
            .iter()
            .map(|d| {
                json!({
                    "code": d.code.name(),
                    "node": d.node,
                    "origin": d.origin.as_ref().map(ToString::to_string),
                    "message": d.message,
                    "help": d.help,
                })
            })
            .collect();
        json!({"exmc": crate::report::JSON_VERSION, "error": {
            "code": self.code,
            "exit": self.exit as u8,
            "message": self.message,
            "help": self.hint,
            "diagnostics": diagnostics,
        }})
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rendered {
            f.write_str(&self.message)?;
        } else {
            write!(f, "error: {}", self.message)?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  help: {hint}")?;
        }
        Ok(())
    }
}

impl From<exmc::Error> for Failure {
    fn from(error: exmc::Error) -> Self {
        if let Some(sample) = error.as_sample_error() {
            return sample.clone().into();
        }
        if let Some(run) = error.as_run_error() {
            return run.into();
        }
        let exit = if error.is_internal() {
            Exit::Internal
        } else if error.is_interrupted() {
            Exit::Interrupted
        } else {
            Exit::Model
        };
        let mut failure = Self::new(exit, error.to_string());
        failure.diagnostics = error.diagnostics().to_vec();
        failure.rendered = !failure.diagnostics.is_empty() || error.as_stan_error().is_some();
        if error.is_fatal() {
            failure.code = ENDED;
        }
        failure
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        exmc::Error::from(error).into()
    }
}

impl From<SampleError> for Failure {
    fn from(error: SampleError) -> Self {
        let exit = if error.is_config() {
            Exit::Usage
        } else if error.is_out_of_memory() {
            Exit::Io
        } else if error.is_panic() {
            Exit::Internal
        } else {
            Exit::Model
        };
        let mut failure = Self::new(exit, error.to_string());
        failure.hint = error.hint().map(str::to_owned);
        if error.is_ended() {
            (failure.code, failure.rendered) = (ENDED, true);
        }
        failure
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::from(&error)
    }
}

impl From<&RunError> for Failure {
    fn from(error: &RunError) -> Self {
        let mut failure = Self::new(Exit::Io, error.to_string());
        failure.hint = error.hint().map(str::to_owned);
        failure
    }
}

/// A write to standard output. A reader that went away (`| head`) is no failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(Exit::Success, "");
        }
        Self::new(Exit::Io, format!("cannot write to standard output: {error}"))
    }
}
