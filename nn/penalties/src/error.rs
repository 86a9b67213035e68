//! What can be wrong with a penalty, a recipe or what they are applied to -> one plain sentence.

use std::fmt;

/// Why a penalty or a recipe cannot be evaluated or applied.
///
/// Each message names the setting, the line or the tensor, what was found and what is allowed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Two tensors that must have one shape have different ones.
    Shapes {
        /// What compares them.
        what: &'static str,
        /// Shape of the first.
        left: Vec<usize>,
        /// Shape of the second.
        right: Vec<usize>,
    },
    /// A setting outside of its range.
    Setting {
        /// The setting's name.
        name: &'static str,
        /// What it was.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// A penalty that a tensor of this shape does not have, such as groups along axis 2 of a
    /// matrix.
    Shape {
        /// The penalty's name.
        penalty: String,
        /// The tensor's shape.
        dims: Vec<usize>,
        /// What is needed.
        expected: String,
    },
    /// A line whose parameter group matches nothing in the model.
    Unmatched {
        /// The line.
        line: String,
        /// What the group asks for.
        wanted: Vec<String>,
        /// The paths of the model that look most like it.
        near: Vec<String>,
    },
    /// A line about an output that was not given.
    Output {
        /// The line.
        line: String,
        /// The missing key.
        key: String,
        /// Keys that were given, nearest first.
        known: Vec<String>,
    },
    /// A custom penalty that was not registered.
    Custom {
        /// Its name.
        name: String,
        /// Names that are registered, nearest first.
        known: Vec<String>,
    },
    /// A penalty that cannot act in this way.
    Act {
        /// The line; empty outside of a recipe.
        line: String,
        /// The penalty's name.
        penalty: String,
        /// The way that was asked for.
        act: &'static str,
        /// The ways that it has.
        allowed: String,
    },
    /// Two lines of one name.
    Duplicate {
        /// The name.
        line: String,
    },
    /// A value that is not a number, or infinite.
    NotFinite {
        /// The line.
        line: String,
        /// `NaN` or `infinite`.
        what: &'static str,
    },
    /// An error inside a line.
    Line {
        /// The line.
        line: String,
        /// What was wrong.
        error: Box<Error>,
    },
    /// Values could not be read from the device.
    Read(String),
}

impl Error {
    pub(crate) fn in_line(self, line: &str) -> Self {
        match self {
            Self::Act { penalty, act, allowed, .. } => {
                Self::Act { line: line.to_owned(), penalty, act, allowed }
            }
            Self::Line { .. } | Self::Unmatched { .. } | Self::Output { .. } => self,
            error => Self::Line { line: line.to_owned(), error: Box::new(error) },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shapes { what, left, right } => {
                write!(f, "{what} of tensors of different shapes: {left:?} and {right:?}")
            }
            Self::Setting { name, value, expected } => {
                write!(f, "{name} is {value}, expected {expected}")
            }
            Self::Shape { penalty, dims, expected } => {
                write!(f, "{penalty} of a tensor of shape {dims:?}: expected {expected}")
            }
            Self::Unmatched { line, wanted, near } => {
                write!(f, "line `{line}` matches no parameter")?;
                if !wanted.is_empty() {
                    write!(f, ": nothing like {}", quoted(wanted))?;
                }
                hint(f, near)
            }
            Self::Output { line, key, known } => {
                write!(f, "line `{line}` needs an output `{key}`, which was not given")?;
                hint(f, known)
            }
            Self::Custom { name, known } => {
                write!(f, "custom penalty `{name}` is not registered")?;
                hint(f, known)
            }
            Self::Act { line, penalty, act, allowed } if line.is_empty() => {
                write!(f, "{penalty} cannot act as {act}, only as {allowed}")
            }
            Self::Act { line, penalty, act, allowed } => {
                write!(f, "line `{line}`: {penalty} cannot act as {act}, only as {allowed}")
            }
            Self::Duplicate { line } => write!(f, "two lines are named `{line}`"),
            Self::NotFinite { line, what } => write!(f, "line `{line}` is {what}"),
            Self::Line { line, error } => write!(f, "line `{line}`: {error}"),
            Self::Read(error) => write!(f, "values could not be read from the device: {error}"),
        }
    }
}

impl std::error::Error for Error {}

fn quoted(names: &[String]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

fn hint(f: &mut fmt::Formatter<'_>, near: &[String]) -> fmt::Result {
    if near.is_empty() { Ok(()) } else { write!(f, " (there are {})", quoted(near)) }
}

/// The names most like `wanted`, nearest first, at most `count`.
pub(crate) fn nearest(wanted: &[String], names: &[String], count: usize) -> Vec<String> {
    let mut ranked: Vec<(usize, &String)> = names
        .iter()
        .map(|name| {
            let distance = wanted.iter().map(|w| edit_distance(w, name)).min();
            (distance.unwrap_or_default(), name)
        })
        .collect();
    ranked.sort();
    ranked.into_iter().take(count).map(|(_, name)| name.clone()).collect()
}

/// Levenshtein distance of two names.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
