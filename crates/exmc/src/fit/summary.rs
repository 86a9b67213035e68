//! Draws -> a table of statistics, one row a number.

use std::fmt;
use std::ops::Index;

use exmc_diagnose::Summary;
use exmc_draws::Posterior;

use crate::text::{decimals, rounded, table};

/// Statistics of every recorded number, by name: `theta[2]` is an element, counted as the model's
/// language does (from 1 in Stan programs, else from 0).
///
/// ```
/// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
/// # let mut model = ModelBuilder::new();
/// # model.rv("theta", normal([0.0, 5.0], 1));
/// let summary = sample(&model.build()?, &SamplerConfig::default())?.summary();
/// for (name, row) in summary.iter() {
///     println!("{name}: {:.2} +- {:.2}", row.mean, row.sd);
/// }
/// assert!((summary["theta[1]"].mean - 5.0).abs() < 0.2);
/// # Ok::<(), exmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FitSummary {
    rows: Vec<(String, Summary)>,
}

impl FitSummary {
    pub(super) fn of(posterior: &Posterior) -> Self {
        Self { rows: posterior.summary() }
    }

    /// The statistics of that name.
    pub fn get(&self, name: &str) -> Option<&Summary> {
        self.rows.iter().find(|(candidate, _)| candidate == name).map(|(_, summary)| summary)
    }

    /// Names with their statistics, in the order in which they were recorded.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Summary)> {
        self.rows.iter().map(|(name, summary)| (name.as_str(), summary))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no draws, or nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Index<&str> for FitSummary {
    type Output = Summary;

    /// # Panics
    /// When there is no such row; see [`FitSummary::get`].
    fn index(&self, name: &str) -> &Summary {
        self.get(name).unwrap_or_else(|| panic!("no number was recorded as `{name}`"))
    }
}

/// Cells of the table's head.
pub const HEAD: [&str; 10] =
    ["parameter", "mean", "sd", "mcse", "q5", "q50", "q95", "ess_bulk", "ess_tail", "rhat"];

/// One number's cells: estimates down to the digit that the standard error of the mean makes
/// uncertain, the error itself with one more.
pub fn cells(name: &str, s: &Summary) -> Vec<String> {
    let places = decimals(s.mcse_mean);
    let plain = |x: f64| rounded(x, places);
    let size = |x: f64| rounded(x, Some(0));
    let error = rounded(s.mcse_mean, places.map(|n| n + 1));
    let mut cells = vec![name.to_owned(), plain(s.mean), plain(s.sd), error];
    cells.extend([s.q5, s.q50, s.q95].map(plain));
    cells.extend([size(s.ess_bulk), size(s.ess_tail), rounded(s.rhat, Some(3))]);
    cells
}

impl fmt::Display for FitSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return f.write_str("no draws\n");
        }
        let rows: Vec<_> = self.iter().map(|(name, summary)| cells(name, summary)).collect();
        f.write_str(&table(&HEAD, &rows))
    }
}
