//! Somebody who is told of positions without a density.

use std::fmt;
use std::sync::Arc;

/// Called with a position, and whether the chain had found one with a density before.
type See = dyn Fn(&[f64], bool) + Send + Sync;

/// Who is told.
#[derive(Clone)]
pub(crate) struct Witness(Arc<See>);

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Witness")
    }
}

/// A witness of one chain.
#[derive(Clone, Debug)]
pub(crate) struct Seeing {
    witness: Witness,
    /// Whether a position had a density.
    has_started: bool,
}

impl Seeing {
    /// Tells of an evaluation.
    pub(crate) fn see(&mut self, position: &[f64], has_density: bool) {
        if !has_density {
            (self.witness.0)(position, self.has_started);
        }
        self.has_started |= has_density;
    }
}

impl Witness {
    /// For one chain.
    pub(crate) fn seeing(&self) -> Seeing {
        Seeing { witness: self.clone(), has_started: false }
    }

    /// See [`BoundModel::witnessed`](crate::advanced::BoundModel::witnessed).
    pub(crate) fn new(see: impl Fn(&[f64], bool) + Send + Sync + 'static) -> Self {
        Self(Arc::new(see))
    }
}
