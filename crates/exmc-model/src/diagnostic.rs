//! What is wrong with a model or its data: a code, where it was declared, a plain sentence, a hint.

use std::fmt;

/// Where a node was declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A call in Rust source.
    Source {
        /// File, as the compiler names it.
        file: &'static str,
        /// Line.
        line: u32,
    },
    /// A place in a JSON document.
    Json {
        /// As in `nodes[3].params.sigma`; empty for the document itself.
        path: String,
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
    },
}

impl Origin {
    /// The caller of a `#[track_caller]` function.
    #[track_caller]
    pub(crate) fn caller() -> Self {
        let location = std::panic::Location::caller();
        Self::Source { file: location.file(), line: location.line() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source { file, line } => write!(f, "{file}:{line}"),
            Self::Json { path, line, column } if path.is_empty() => {
                write!(f, "line {line}, column {column}")
            }
            Self::Json { path, line, column } => {
                write!(f, "{path} (line {line}, column {column})")
            }
        }
    }
}

/// Kinds of mistakes; the code that `--json` output carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// A name that nothing declares.
    UnknownReference,
    /// A name that is declared twice.
    DuplicateName,
    /// A name that cannot be used.
    InvalidName,
    /// Values that need each other.
    Cycle,
    /// Shapes that do not fit.
    ShapeMismatch,
    /// A value outside of where it must lie.
    OutsideSupport,
    /// A matrix that cannot be inverted.
    SingularMatrix,
    /// A distribution that does not exist.
    UnknownDistribution,
    /// A parameter that the distribution does not have.
    UnknownParameter,
    /// A parameter that was left out.
    MissingParameter,
    /// A function that does not exist.
    UnknownFunction,
    /// Arguments that a function cannot take.
    BadArguments,
    /// A transform that does not fit.
    BadTransform,
    /// An observation that does not fit its target.
    BadObservation,
    /// A free variable that the sampler cannot move.
    DiscreteVariable,
    /// Data that were not given.
    MissingData,
    /// Data that nothing declares.
    UnknownData,
    /// Data that do not fit their declaration.
    BadData,
    /// Text that is not the JSON that was expected.
    BadJson,
    /// A log density that is not finite where it must be.
    NotFinite,
}

impl Code {
    /// The code as text.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownReference => "unknown-reference",
            Self::DuplicateName => "duplicate-name",
            Self::InvalidName => "invalid-name",
            Self::Cycle => "cycle",
            Self::ShapeMismatch => "shape-mismatch",
            Self::OutsideSupport => "outside-support",
            Self::SingularMatrix => "singular-matrix",
            Self::UnknownDistribution => "unknown-distribution",
            Self::UnknownParameter => "unknown-parameter",
            Self::MissingParameter => "missing-parameter",
            Self::UnknownFunction => "unknown-function",
            Self::BadArguments => "bad-arguments",
            Self::BadTransform => "bad-transform",
            Self::BadObservation => "bad-observation",
            Self::DiscreteVariable => "discrete-variable",
            Self::MissingData => "missing-data",
            Self::UnknownData => "unknown-data",
            Self::BadData => "bad-data",
            Self::BadJson => "bad-json",
            Self::NotFinite => "not-finite",
        }
    }
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What kind.
    pub code: Code,
    /// The node that it concerns.
    pub node: Option<String>,
    /// Where that node was declared.
    pub origin: Option<Origin>,
    /// A plain sentence, lower case, without full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A mistake with no location yet.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, node: None, origin: None, message: message.into(), help: None }
    }

    /// The same, with a hint.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, for a node.
    pub fn at(mut self, node: &str, origin: &Origin) -> Self {
        self.node.get_or_insert_with(|| node.to_owned());
        self.origin.get_or_insert_with(|| origin.clone());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]", self.code.name())?;
        if let Some(node) = &self.node {
            write!(f, " in `{node}`")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(origin) = &self.origin {
            write!(f, "\n  --> {origin}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

/// Everything that is wrong with a model or its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    diagnostics: Vec<Diagnostic>,
}

impl ModelError {
    /// All mistakes found, at least one.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Whether one of the mistakes is of that kind.
    pub fn has(&self, code: Code) -> bool {
        self.diagnostics.iter().any(|d| d.code == code)
    }

    /// `Err` with the mistakes, if there are any.
    pub(crate) fn check(diagnostics: Vec<Diagnostic>) -> Result<(), Self> {
        if diagnostics.is_empty() { Ok(()) } else { Err(Self { diagnostics }) }
    }
}

impl From<Diagnostic> for ModelError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic] }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, diagnostic) in self.diagnostics.iter().enumerate() {
            if k > 0 {
                f.write_str("\n")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ModelError {}

/// The declared name that looks most like `name`, if one does.
pub(crate) fn closest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .map(|c| (edit_distance(name, c), c))
        .filter(|(d, c)| *d <= 1 + c.chars().count() / 4)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Levenshtein distance over characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
