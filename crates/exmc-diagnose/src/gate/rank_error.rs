//! Ranks -> why they cannot be tested, if they cannot.

use std::fmt;

/// Why ranks cannot be tested.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RankError {
    /// There are no ranks.
    Empty,
    /// A rank lies above the largest possible one.
    OutOfRange {
        /// The rank that was found.
        rank: u32,
        /// The largest possible rank.
        max_rank: u32,
    },
    /// Bins are fewer than 2 or more than there are possible ranks.
    Bins {
        /// The number of bins asked for.
        n_bins: usize,
    },
    /// A band made for another number of ranks.
    Count {
        /// The number of ranks that the band is for.
        expected: usize,
        /// The number of ranks given.
        found: usize,
    },
    /// A false-alarm rate outside `(0, 1)`.
    Alpha,
}

impl fmt::Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankError::Empty => write!(f, "there are no ranks"),
            RankError::OutOfRange { rank, max_rank } => {
                write!(f, "rank {rank} is above the largest possible rank {max_rank}")
            }
            RankError::Bins { n_bins } => {
                write!(f, "{n_bins} bins: give at least 2 and at most one for each possible rank")
            }
            RankError::Count { expected, found } => {
                write!(f, "the band is for {expected} ranks, not for {found}")
            }
            RankError::Alpha => write!(f, "the false-alarm rate must lie between 0 and 1"),
        }
    }
}

impl std::error::Error for RankError {}

pub(super) fn check_ranks(ranks: &[u32], max_rank: u32) -> Result<(), RankError> {
    if ranks.is_empty() {
        return Err(RankError::Empty);
    }
    match ranks.iter().find(|&&rank| rank > max_rank) {
        Some(&rank) => Err(RankError::OutOfRange { rank, max_rank }),
        None => Ok(()),
    }
}
