//! Draws as they are made -> effective sample sizes so far, of the log density and of a few
//! columns.
//!
//! A display cannot afford every number of a draw: at most [`MOST_COLUMNS`] are looked at, and at
//! most [`MOST_ROWS`] draws of them are kept. Beyond that every second draw is dropped, so that
//! what is said is at most what there is.

use exmc_diagnose::{Draws, ess_bulk};
use exmc_draws::Variable;

/// Columns that are looked at, besides the log density.
const MOST_COLUMNS: usize = 14;
/// Draws that are kept of each chain.
const MOST_ROWS: usize = 4096;
/// Draws of a chain below which nothing is said.
const LEAST_ROWS: usize = 20;

/// The columns that are looked at, with their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Columns(Vec<(usize, String)>);

impl Columns {
    /// The first column of each variable (of as many, evenly spaced, where there are more), then
    /// evenly spaced ones.
    pub(crate) fn choose(variables: &[Variable]) -> Self {
        let filled: Vec<&Variable> = variables.iter().filter(|v| !v.is_empty()).collect();
        let width: usize = filled.iter().map(|v| v.len()).sum();
        let spaced = |n: usize| (0..n.min(MOST_COLUMNS)).map(move |k| k * n / n.min(MOST_COLUMNS));
        let firsts = spaced(filled.len()).map(|k| filled[k].offset);
        let mut chosen: Vec<usize> = firsts.collect();
        for column in spaced(width) {
            if chosen.len() < MOST_COLUMNS && !chosen.contains(&column) {
                chosen.push(column);
            }
        }
        chosen.sort_unstable();
        let name = |column: usize| {
            let variable = filled.iter().rfind(|v| v.offset <= column);
            (column, variable.map_or(String::new(), |v| v.column_name(column - v.offset)))
        };
        Self(chosen.into_iter().map(name).collect())
    }

    /// Those of a row.
    pub(crate) fn of(&self, row: &[f64]) -> Vec<f64> {
        self.0.iter().map(|(column, _)| *row.get(*column).unwrap_or(&f64::NAN)).collect()
    }

    fn name(&self, k: usize) -> &str {
        &self.0[k].1
    }
}

/// What is kept of one chain's draws: rows of the log density and the columns.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    rows: Vec<f64>,
    width: usize,
    /// Every so-manieth draw is kept.
    every: u64,
    seen: u64,
}

impl Series {
    pub(crate) fn new(columns: &Columns) -> Self {
        Self { rows: Vec::new(), width: 1 + columns.0.len(), every: 1, seen: 0 }
    }

    /// Takes in the next draw, of which these are the columns' values.
    pub(crate) fn push_columns(&mut self, logp: f64, values: &[f64]) {
        if self.is_next_kept() {
            self.keep(logp, values.iter().copied());
        }
    }

    /// Takes in the next draw.
    pub(crate) fn push(&mut self, logp: f64, row: &[f64], columns: &Columns) {
        if self.is_next_kept() {
            let chosen = columns.0.iter();
            self.keep(logp, chosen.map(|(column, _)| *row.get(*column).unwrap_or(&f64::NAN)));
        }
    }

    fn is_next_kept(&mut self) -> bool {
        let is_kept = self.seen.is_multiple_of(self.every);
        self.seen += 1;
        is_kept
    }

    fn keep(&mut self, logp: f64, values: impl Iterator<Item = f64>) {
        self.rows.push(logp);
        self.rows.extend(values);
        if self.rows.len() / self.width >= MOST_ROWS {
            let mut row = 0;
            let width = self.width;
            self.rows.retain(|_| {
                row += 1;
                ((row - 1) / width).is_multiple_of(2)
            });
            self.every *= 2;
        }
    }
}

/// Effective sample sizes so far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EssSoFar {
    /// Of the log density.
    pub(crate) logp: f64,
    /// The smallest of the columns that were looked at, and of the log density.
    pub(crate) least: f64,
    /// Of which column; `lp` is the log density.
    pub(crate) least_of: String,
}

/// Bulk effective sample size of chains together, over the draws that all have.
pub(crate) fn ess_so_far(chains: &[Series], columns: &Columns) -> Option<EssSoFar> {
    let every = chains.iter().map(|series| series.every).max()?;
    let width = chains.first()?.width;
    // Chains that were thinned less are thinned as much as the others.
    let thinned: Vec<Vec<f64>> = chains
        .iter()
        .map(|series| {
            let step = (every / series.every) as usize;
            series.rows.chunks_exact(width).step_by(step).flatten().copied().collect()
        })
        .collect();
    let n = thinned.iter().map(|rows| rows.len() / width).min()?;
    if n < LEAST_ROWS {
        return None;
    }
    let rows: Vec<&[f64]> = thinned.iter().map(|rows| &rows[..n * width]).collect();
    let ess = |k: usize| Draws::column(&rows, width, k).ok().map(|draws| ess_bulk(&draws));
    let logp = ess(0).filter(|ess| ess.is_finite())?;
    let mut least = (logp, "lp");
    for k in 1..width {
        if let Some(ess) = ess(k).filter(|ess| *ess < least.0) {
            least = (ess, columns.name(k - 1));
        }
    }
    Some(EssSoFar { logp, least: least.0, least_of: least.1.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, shape: &[usize], offset: usize) -> Variable {
        let (name, shape) = (name.to_owned(), shape.to_vec());
        Variable { name, shape, dims: Vec::new(), offset, first_index: 0 }
    }

    #[test]
    fn every_variable_is_looked_at_and_not_too_many_columns() {
        let few = [variable("mu", &[], 0), variable("theta", &[2], 1), variable("none", &[0], 3)];
        let names = |columns: &Columns| -> Vec<String> {
            columns.0.iter().map(|(_, name)| name.clone()).collect()
        };
        assert_eq!(names(&Columns::choose(&few)), ["mu", "theta[0]", "theta[1]"]);
        let many = [variable("theta", &[10_000], 0), variable("tau", &[], 10_000)];
        let chosen = Columns::choose(&many);
        assert_eq!(chosen.0.len(), MOST_COLUMNS);
        assert!(names(&chosen).contains(&"tau".to_owned()));
        let scalars: Vec<Variable> = (0..100).map(|k| variable(&format!("x{k}"), &[], k)).collect();
        assert_eq!(Columns::choose(&scalars).0.len(), MOST_COLUMNS);
        assert_eq!(Columns::choose(&[]).0.len(), 0);
    }

    /// A walk that keeps a share `rho` of where it was has (1 - rho) / (1 + rho) effective draws
    /// a draw: here 1/3 for the column, all for the log density.
    #[test]
    fn the_sticky_column_is_the_worst_and_rows_stay_few() {
        let columns = Columns::choose(&[variable("a", &[], 0), variable("b", &[], 1)]);
        let mut chains = vec![Series::new(&columns); 2];
        for (k, series) in chains.iter_mut().enumerate() {
            let mut rng =
                exmc_math::random::ChainRng::new(7, k as u32, exmc_math::random::Phase::Sampling);
            let mut b = 0.0;
            for _ in 0..3000 {
                b = 0.5 * b + rng.standard_normal();
                series.push(rng.standard_normal(), &[rng.standard_normal(), b], &columns);
            }
        }
        let ess = ess_so_far(&chains, &columns).unwrap();
        assert_eq!(ess.least_of, "b");
        assert!((ess.least / 2000.0 - 1.0).abs() < 0.25, "{ess:?}");
        assert!((ess.logp / 6000.0 - 1.0).abs() < 0.25, "{ess:?}");
        for _ in 0..100_000 {
            chains[0].push(0.0, &[0.0, 0.0], &columns);
        }
        assert!(chains[0].rows.len() < 3 * MOST_ROWS && chains[0].every == 32);
        assert!(ess_so_far(&chains[..0], &columns).is_none());
    }
}
