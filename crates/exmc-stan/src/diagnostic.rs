//! What is wrong with a program, its data or a run of it: a class, a place, a plain sentence, a
//! hint.

use crate::source::Span;

/// Kinds of mistakes; the code that `--json` output carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Class {
    /// The text is no Stan program.
    Syntax,
    /// A program that parses and means nothing: types, scopes, blocks.
    Semantic,
    /// An `#include` that cannot be followed.
    Include,
    /// Data that do not fit the program's declarations.
    Data,
    /// Something that went wrong while transformed data, or a draw's quantities, were computed.
    Runtime,
    /// A limit of the run was reached: loop fuel, memory, nesting.
    Limit,
    /// Correct Stan that this program cannot run (yet); the message says what and since when.
    Unsupported,
}

impl Class {
    /// The class as text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Semantic => "semantic",
            Self::Include => "include",
            Self::Data => "data",
            Self::Runtime => "runtime",
            Self::Limit => "limit",
            Self::Unsupported => "unsupported",
        }
    }
}

/// Whether a program can be run in spite of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can.
    Warning,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind.
    pub class: Class,
    /// Error or warning.
    pub severity: Severity,
    /// Where.
    pub span: Span,
    /// A plain sentence, lower case, without full stop.
    pub message: String,
    /// Other places that matter, each with a few words.
    pub labels: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error.
    pub fn error(class: Class, span: Span, message: impl Into<String>) -> Self {
        let (severity, labels, help) = (Severity::Error, Vec::new(), None);
        Self { class, severity, span, message: message.into(), labels, help }
    }

    /// A warning.
    pub fn warning(class: Class, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(class, span, message) }
    }

    /// The same, with a hint.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, pointing to another place too.
    #[must_use]
    pub fn label(mut self, span: Span, words: impl Into<String>) -> Self {
        self.labels.push((span, words.into()));
        self
    }
}
