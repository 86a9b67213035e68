//! What can go wrong while the host computes: a kind, a sentence and, once it is known, a place.

use crate::diagnostic::{Class, Diagnostic};
use crate::source::Span;

/// Kinds of failures of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// `reject(…)` was reached.
    Rejected,
    /// `fatal_error(…)` was reached.
    Fatal,
    /// A declared constraint does not hold, or a function's argument lies where it must not.
    Domain,
    /// An index is out of range.
    Index,
    /// Sizes do not fit together.
    Size,
    /// A limit of the run was reached.
    Limit,
    /// Correct Stan that the host cannot compute.
    Unsupported,
    /// Somebody asked for the run to stop ([`Settings::stop`](crate::host::Settings::stop)).
    Interrupted,
}

/// A failure without a place: what functions on values return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind.
    pub kind: FaultKind,
    /// A plain sentence, lower case, without full stop.
    pub message: String,
}

impl Fault {
    /// A failure.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// An argument that lies where it must not.
    pub fn domain(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Domain, message)
    }

    /// Sizes that do not fit together.
    pub fn size(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Size, message)
    }

    /// An index that is out of range.
    pub fn index(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Index, message)
    }

    /// Something that the host cannot compute.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Unsupported, message)
    }

    /// The same at a place.
    pub fn at(self, span: Span) -> Box<RuntimeError> {
        Box::new(RuntimeError { kind: self.kind, span, message: self.message, calls: Vec::new() })
    }
}

/// A failure of a run, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeError {
    /// What kind.
    pub kind: FaultKind,
    /// Where.
    pub span: Span,
    /// A plain sentence, lower case, without full stop.
    pub message: String,
    /// The calls of user functions that led there, innermost first (at most a few).
    pub calls: Vec<Span>,
}

impl RuntimeError {
    /// Whether a failure of generated quantities only rejects the draw's quantities, as it does in
    /// Stan, which goes on after a `std::domain_error` and no other exception: `reject`, a
    /// constraint that does not hold, an argument where a function is not defined. All others end
    /// the run.
    pub fn rejects_a_draw(&self) -> bool {
        matches!(self.kind, FaultKind::Rejected | FaultKind::Domain)
    }

    /// Whether it says something of the position and not of the host: all but `fatal_error`, limits
    /// and what is not there.
    pub fn is_recoverable(&self) -> bool {
        use FaultKind::{Domain, Index, Rejected, Size};
        matches!(self.kind, Rejected | Domain | Index | Size)
    }

    /// Whether a failure of parameters or the density ends the run, as it does in Stan:
    /// `fatal_error`, an index that is out of range, sizes that do not fit; and a limit that was
    /// reached. All others reject the position.
    pub fn ends_a_run(&self) -> bool {
        use FaultKind::{Fatal, Index, Limit, Size};
        matches!(self.kind, Fatal | Index | Limit | Size)
    }

    /// The failure as a diagnostic.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let class = match self.kind {
            FaultKind::Limit => Class::Limit,
            FaultKind::Unsupported => Class::Unsupported,
            _ => Class::Runtime,
        };
        let start = Diagnostic::error(class, self.span, self.message.clone());
        self.calls.iter().fold(start, |d, call| d.label(*call, "called from here"))
    }
}

impl From<Box<RuntimeError>> for Diagnostic {
    fn from(error: Box<RuntimeError>) -> Self {
        error.to_diagnostic()
    }
}

/// What the host returns.
pub type Outcome<T> = Result<T, Box<RuntimeError>>;
