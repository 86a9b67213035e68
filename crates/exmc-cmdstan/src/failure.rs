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

    /// A message that clients find: they look for lines that begin with `Exception`, and show
    /// nothing else, so that its place stands in this line too.
    pub(crate) fn exception(message: impl fmt::Display) -> Self {
        let message = message.to_string();
        let place = message.lines().find_map(place_in_words);
        let (first, rest) = match message.split_once('\n') {
            Some((first, rest)) => (first, format!("\n{rest}")),
            None => (message.as_str(), String::new()),
        };
        Self(format!("Exception: {first}{}{rest}", place.unwrap_or_default()))
    }
}

/// The line ` --> FILE:3:15` of a located message in Stan's words.
fn place_in_words(line: &str) -> Option<String> {
    let (before, column) = line.trim_start().strip_prefix("--> ")?.rsplit_once(':')?;
    let (file, line) = before.rsplit_once(':')?;
    let (line, column): (u32, u32) = (line.parse().ok()?, column.parse().ok()?);
    Some(format!(" (in '{file}', line {line}, column {column})"))
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

#[cfg(test)]
mod tests {
    use super::Failure;

    #[test]
    fn the_first_line_of_an_exception_has_the_place() {
        let located = "error[data]: `y[3]` is 2\n --> d.json:3:15\n  |\n3 |   [0, 1, 2]";
        let told = Failure::exception(located).to_string();
        let first = "Exception: error[data]: `y[3]` is 2 (in 'd.json', line 3, column 15)\n --> ";
        assert!(told.starts_with(first), "{told}");
        assert_eq!(Failure::exception("x\n --> nowhere").to_string(), "Exception: x\n --> nowhere");
        assert_eq!(Failure::exception("x").to_string(), "Exception: x");
    }
}
