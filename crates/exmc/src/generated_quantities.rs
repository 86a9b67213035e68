//! What is computed from each draw beside the density: generated quantities of a Stan program.

use std::fmt::Debug;

use exmc_graph::Shape;
use exmc_infer::RunPhase;

use crate::error::Error;

/// Which draw of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawNumber {
    /// Number of the chain.
    pub chain: u32,
    /// Whether the draw belongs to warmup.
    pub phase: RunPhase,
    /// Number of the draw within its phase, from 0.
    pub index: u64,
}

/// Quantities that follow the recorded values of a model. Their random numbers depend on the seed
/// and the draw's number alone, so that any order of evaluation, and a resumed run, gives the same.
pub trait Quantities: Debug + Send + Sync {
    /// Names and shapes, in the order of [`QuantitiesInstance::evaluate`]'s output.
    fn variables(&self) -> &[(String, Shape)];

    /// Something that evaluates them, for one thread.
    fn instance(&self, seed: u64) -> Box<dyn QuantitiesInstance>;

    /// Names of the variables that compiled code computes, while the others are interpreted.
    fn compiled(&self) -> Vec<String> {
        Vec::new()
    }

    /// What users should know after a run: how many draws have no quantities, and why.
    fn notes(&self) -> Vec<String>;
}

/// See [`Quantities`].
pub trait QuantitiesInstance: Send {
    /// Writes the quantities of one draw, whose recorded values are `trace`, one variable after the
    /// other; NaN everywhere when they cannot be computed (which [`Quantities::notes`] then tells).
    ///
    /// # Errors
    /// When the model asks for the run to end ([`Error::is_fatal`]), or somebody else does
    /// ([`Error::is_interrupted`]).
    fn evaluate(&mut self, draw: DrawNumber, trace: &[f64], out: &mut [f64]) -> Result<(), Error>;
}
