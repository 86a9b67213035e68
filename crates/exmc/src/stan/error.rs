//! Mistakes in a Stan program or its data -> located text.

use std::fmt;

use exmc_stan::data::DataErrors;
use exmc_stan::diagnostic::Diagnostic;
use exmc_stan::report::render;
use exmc_stan::source::Sources;

/// Mistakes in a Stan program, or in its data, with the texts that they are in.
#[derive(Clone, Debug)]
pub struct StanError {
    /// The texts.
    pub sources: Sources,
    /// At least one error; warnings may be among them.
    pub diagnostics: Vec<Diagnostic>,
}

impl fmt::Display for StanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, diagnostic) in self.diagnostics.iter().enumerate() {
            let gap = if k == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{}", render(diagnostic, &self.sources))?;
        }
        Ok(())
    }
}

impl std::error::Error for StanError {}

impl From<DataErrors> for StanError {
    fn from(errors: DataErrors) -> Self {
        Self { sources: errors.sources, diagnostics: errors.diagnostics }
    }
}
