//! What tests of a warmup that looks at itself share: metrics, plain densities, and checkpoints to
//! resume from.

use std::ops::ControlFlow;
use std::sync::Mutex;

use exmc_density::EvaluationError;
use exmc_infer::{Checkpoint, Draw, MetricKind, Observer};

pub const KINDS: [MetricKind; 4] =
    [MetricKind::Diag, MetricKind::Stan, MetricKind::Dense, MetricKind::LowRank];

pub type Plain = fn(&[f64], &mut [f64]) -> Result<f64, EvaluationError>;

/// Keeps the checkpoint after some iterations.
#[derive(Default)]
pub struct Keeper {
    pub iteration: u64,
    pub kept: Mutex<Vec<Checkpoint>>,
}

impl Observer for Keeper {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let checkpoint = draw.checkpoint();
        if checkpoint.iteration == self.iteration {
            self.kept.lock().unwrap().push(checkpoint);
        }
        ControlFlow::Continue(())
    }
}
