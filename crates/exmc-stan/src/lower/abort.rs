//! Why a walk over statements stops before its end: a mistake to report, or a reason to walk again
//! in another way.

use crate::diagnostic::{Class, Diagnostic};
use crate::source::Span;
use crate::typed::VariableId;

/// See the module.
#[derive(Debug)]
pub(super) enum Abort {
    /// A mistake, or something that cannot be run.
    Mistake(Box<Diagnostic>),
    /// The iterations of the loop at `level` cannot run side by side: one needs what another wrote.
    Carried {
        /// The loop's level.
        level: usize,
        /// What is handed on.
        variable: Option<VariableId>,
        /// Whether a copy for each iteration could help.
        private: bool,
    },
    /// An index depends on parameters.
    Symbolic {
        /// Where.
        span: Span,
    },
    /// A size differs between lanes: one key a lane of the level at which it was noticed.
    Ragged {
        /// The level whose lanes the keys belong to.
        level: usize,
        /// What must be the same in all lanes that run together.
        keys: Vec<i64>,
        /// Where.
        span: Span,
    },
    /// There are more lanes than are walked at once, of all loops around and inside of the one at
    /// `level`, the outermost.
    Crowded {
        /// The loop's level.
        level: usize,
        /// How many lanes there are.
        total: usize,
    },
    /// A loop has to be walked in another way than the last time, and only a loop around it can
    /// begin again.
    Unprepared,
}

/// What walking gives.
pub(super) type LowerResult<T> = Result<T, Abort>;

/// Something valid that cannot be run.
pub(super) fn unsupported(span: Span, message: impl Into<String>) -> Abort {
    Abort::Mistake(Box::new(Diagnostic::error(Class::Unsupported, span, message)))
}

/// Something that goes wrong with these data.
pub(super) fn runtime(span: Span, message: impl Into<String>) -> Abort {
    Abort::Mistake(Box::new(Diagnostic::error(Class::Runtime, span, message)))
}
