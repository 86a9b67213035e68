//! The seam between models and samplers (internal, unstable): a position -> log density and
//! gradient.
//!
//! A sampler knows only these traits; whatever compiles models implements them. A [`DensityModel`]
//! is shared by all chains and hands each chain its own [`LogDensity`] instance, which owns the
//! scratch memory that one evaluation needs, so that a gradient allocates nothing. Where several
//! chains cost less together than one after the other, it hands them a [`LaneDensity`] besides.
#![forbid(unsafe_code)]

mod failing;

use std::fmt;

pub use failing::{Failing, FailingInstance, Failure, FailureCount, FailureKind};

/// Why a log density could not be evaluated at a position.
///
/// A value outside the support is *not* an error: it is `Ok(f64::NEG_INFINITY)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvaluationError {
    /// The position is unusable but others may be fine (a failed factorisation, a solver that did
    /// not converge). A sampler rejects it, and counts it apart from divergences.
    Recoverable(String),
    /// No position can be evaluated any more; the chain must stop.
    Fatal(String),
    /// The model asks for the whole run to end (`fatal_error` of a Stan program). The text is
    /// complete, with its place.
    Ended(String),
    /// Somebody asked the thread to end its work; nothing is known of the position.
    Interrupted,
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recoverable(reason) | Self::Fatal(reason) | Self::Ended(reason) => {
                f.write_str(reason)
            }
            Self::Interrupted => f.write_str("somebody asked for the evaluation to end"),
        }
    }
}

impl std::error::Error for EvaluationError {}

/// A log density over an unconstrained real vector, with its gradient.
pub trait LogDensity {
    /// Length of a position.
    fn dim(&self) -> usize;

    /// Returns the log density (nats, up to a constant) at `position` and writes its gradient.
    ///
    /// **Shapes**: both slices have length [`dim`](Self::dim). **Edges**: outside the support the
    /// value is `-inf` and the gradient is unspecified; NaN is allowed and means "unusable here".
    ///
    /// # Errors
    /// [`EvaluationError`] when the density has no value at all at `position`.
    fn logp_grad(&mut self, position: &[f64], gradient: &mut [f64])
    -> Result<f64, EvaluationError>;
}

/// Positions that are evaluated together.
pub const BATCH: usize = 4;

/// A log density that is evaluated at a few positions at once, one in each lane of a vector.
pub trait LaneDensity {
    /// Evaluates at [`BATCH`] positions, of which only those of `active` lanes are asked for; the
    /// others are numbers of any kind. What a lane finds has the bits that
    /// [`LogDensity::logp_grad`] gives, whatever is in the others.
    ///
    /// **Shapes**: `positions` and `gradients` have as many elements as the density dimensions, at
    /// least; element k of lane c is `[k][c]`. **Errors**: the active lanes that failed, with what
    /// [`LogDensity::logp_grad`] would have returned there; the other lanes are as they should be.
    fn logp_grads(
        &mut self,
        positions: &[[f64; BATCH]],
        gradients: &mut [[f64; BATCH]],
        logps: &mut [f64; BATCH],
        active: [bool; BATCH],
    ) -> Vec<(usize, EvaluationError)>;
}

/// A compiled density that many chains evaluate at once.
pub trait DensityModel: Sync {
    /// What one chain evaluates with; owns that chain's scratch memory.
    type Instance: LogDensity + Send;

    /// Length of a position.
    fn dim(&self) -> usize;

    /// A new instance. Cheap: it copies no data.
    fn instance(&self) -> Self::Instance;

    /// A new instance that may evaluate on up to `threads` threads at once, that of its caller
    /// included, where its density is large enough. Log density and gradient have the same bits at
    /// any number.
    fn threaded_instance(&self, threads: usize) -> Self::Instance {
        let _ = threads;
        self.instance()
    }

    /// What evaluates for up to [`BATCH`] chains of one thread together; nothing where that would
    /// not pay.
    fn lane_instance(&self) -> Option<Box<dyn LaneDensity + Send>> {
        None
    }
}
