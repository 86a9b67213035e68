//! Splitting chains: chain-major values -> the first and last half of every chain, or the chains.

use exmc_fault::{Fault, planted};

/// The two halves of each chain of a chain-major table, in place; the middle draw of an odd chain
/// is left out. Or the chains as they are, for the statistics without splitting.
#[derive(Clone, Copy)]
pub(crate) struct Halves<'a> {
    values: &'a [f64],
    n_draws: usize,
    /// Two halves of a chain, or one whole.
    parts: usize,
}

impl<'a> Halves<'a> {
    /// `values` holds whole chains of `n_draws >= 2` values.
    pub(crate) fn new(values: &'a [f64], n_draws: usize) -> Self {
        debug_assert!(n_draws >= 2 && values.len().is_multiple_of(n_draws));
        let parts = if planted(Fault::ChainsNotSplit) { 1 } else { 2 };
        Halves { values, n_draws, parts }
    }

    /// The chains themselves, unsplit.
    pub(crate) fn unsplit(values: &'a [f64], n_draws: usize) -> Self {
        debug_assert!(n_draws >= 2 && values.len().is_multiple_of(n_draws));
        Halves { values, n_draws, parts: 1 }
    }

    /// Length of each half.
    pub(crate) fn len(&self) -> usize {
        self.n_draws / self.parts
    }

    /// Number of halves: twice the number of chains.
    pub(crate) fn count(&self) -> usize {
        self.parts * (self.values.len() / self.n_draws)
    }

    /// The halves in order: first and last half of chain 0, then of chain 1, and so on.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a [f64]> {
        let half = self.len();
        self.values
            .chunks_exact(self.n_draws)
            .flat_map(move |chain| [&chain[..half], &chain[chain.len() - half..]])
            .step_by(3 - self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_chain_loses_its_middle_draw() {
        let values: Vec<f64> = (0..10).map(f64::from).collect();
        let halves = Halves::new(&values, 5);
        assert_eq!((halves.len(), halves.count()), (2, 4));
        let parts: Vec<&[f64]> = halves.iter().collect();
        assert_eq!(parts, [&[0.0, 1.0], &[3.0, 4.0], &[5.0, 6.0], &[8.0, 9.0]]);
    }
}
