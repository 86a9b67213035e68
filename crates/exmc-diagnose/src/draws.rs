//! A borrowed view of chains of equal length: slices -> one parameter's draws.

use std::fmt;

/// The draws of one scalar: `n_chains` chains of `n_draws` values each, borrowed from the caller.
///
/// The chains may hold one scalar ([`Draws::new`]) or be row-major tables of which one column is
/// viewed ([`Draws::column`]).
#[derive(Clone, Copy, Debug)]
pub struct Draws<'a> {
    chains: &'a [&'a [f64]],
    n_draws: usize,
    n_columns: usize,
    column: usize,
}

/// Why slices do not form [`Draws`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DrawsError {
    /// There is no chain at all.
    NoChains,
    /// The chains hold no draws.
    NoDraws,
    /// The chains differ in length.
    Ragged {
        /// The first chain whose length differs from chain 0's.
        chain: usize,
        /// The length of chain 0.
        expected: usize,
        /// The length of that chain.
        found: usize,
    },
    /// The column asked for is not below the number of columns, or a chain's length is not a whole
    /// number of rows.
    Columns {
        /// The number of values in a row.
        n_columns: usize,
        /// The column asked for.
        column: usize,
    },
}

impl fmt::Display for DrawsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DrawsError::NoChains => write!(f, "there are no chains"),
            DrawsError::NoDraws => write!(f, "the chains hold no draws"),
            DrawsError::Ragged { chain, expected, found } => write!(
                f,
                "chains differ in length: chain 0 holds {expected} values, chain {chain} holds \
                 {found}; cut all chains to the shortest"
            ),
            DrawsError::Columns { n_columns, column } => {
                write!(f, "column {column} of rows of {n_columns} values does not fit the chains")
            }
        }
    }
}

impl std::error::Error for DrawsError {}

impl<'a> Draws<'a> {
    /// Chains that each hold the draws of one scalar.
    ///
    /// **Shapes**: `chains[c][t]` is draw `t` of chain `c`. **Errors**: no chains, no draws, ragged
    /// chains.
    ///
    /// ```
    /// use exmc_diagnose::{Draws, rank_rhat};
    /// let (a, b) = ([0.3, -1.0, 0.8, 0.1], [0.4, -0.7, 1.1, -0.2]);
    /// let chains: [&[f64]; 2] = [&a, &b];
    /// assert!(rank_rhat(&Draws::new(&chains)?) < 2.0);
    /// # Ok::<(), exmc_diagnose::DrawsError>(())
    /// ```
    pub fn new(chains: &'a [&'a [f64]]) -> Result<Self, DrawsError> {
        Self::column(chains, 1, 0)
    }

    /// Column `column` of chains that are row-major tables with `n_columns` values a draw.
    ///
    /// **Shapes**: `chains[c][t * n_columns + column]` is draw `t` of chain `c`.
    /// **Errors**: as [`Draws::new`]; also a column outside the row, or an incomplete last row.
    pub fn column(
        chains: &'a [&'a [f64]],
        n_columns: usize,
        column: usize,
    ) -> Result<Self, DrawsError> {
        let first = chains.first().ok_or(DrawsError::NoChains)?;
        if let Some((chain, found)) =
            chains.iter().map(|c| c.len()).enumerate().find(|&(_, len)| len != first.len())
        {
            return Err(DrawsError::Ragged { chain, expected: first.len(), found });
        }
        if column >= n_columns || !first.len().is_multiple_of(n_columns) {
            return Err(DrawsError::Columns { n_columns, column });
        }
        if first.is_empty() {
            return Err(DrawsError::NoDraws);
        }
        Ok(Draws { chains, n_draws: first.len() / n_columns, n_columns, column })
    }

    /// How many chains there are, at least one.
    pub fn n_chains(&self) -> usize {
        self.chains.len()
    }

    /// How many draws each chain holds, at least one.
    pub fn n_draws(&self) -> usize {
        self.n_draws
    }

    /// The draws of all chains, chain after chain.
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.chains
            .iter()
            .flat_map(|chain| chain[self.column..].iter().step_by(self.n_columns).copied())
    }

    /// Appends what [`iter`](Self::iter) yields.
    pub(crate) fn append_to(&self, values: &mut Vec<f64>) {
        values.reserve(self.chains.len() * self.n_draws);
        for chain in self.chains {
            values.extend(chain[self.column..].iter().step_by(self.n_columns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_shapes_are_values() {
        let (long, short): (&[f64], &[f64]) = (&[1.0, 2.0, 3.0], &[1.0, 2.0]);
        assert_eq!(Draws::new(&[]).unwrap_err(), DrawsError::NoChains);
        assert_eq!(Draws::new(&[&[], &[]]).unwrap_err(), DrawsError::NoDraws);
        let ragged = DrawsError::Ragged { chain: 1, expected: 3, found: 2 };
        assert_eq!(Draws::new(&[long, short]).unwrap_err(), ragged);
        let columns = DrawsError::Columns { n_columns: 2, column: 0 };
        assert_eq!(Draws::column(&[long], 2, 0).unwrap_err(), columns);
        assert!(Draws::column(&[short], 2, 2).is_err());
        assert!(Draws::column(&[short], 0, 0).is_err());
    }

    #[test]
    fn a_column_is_viewed_in_place() {
        let table: &[f64] = &[1.0, 10.0, 2.0, 20.0, 3.0, 30.0];
        let chains = [table, table];
        let draws = Draws::column(&chains, 2, 1).unwrap();
        assert_eq!((draws.n_chains(), draws.n_draws()), (2, 3));
        assert_eq!(draws.iter().collect::<Vec<_>>(), [10.0, 20.0, 30.0, 10.0, 20.0, 30.0]);
        let mut values = vec![0.0];
        draws.append_to(&mut values);
        assert_eq!(values, [0.0, 10.0, 20.0, 30.0, 10.0, 20.0, 30.0]);
    }
}
