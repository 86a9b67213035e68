//! Several positions at once: a bound density -> log densities and gradients of the positions of a
//! few chains.
//!
//! Each position has the bits that an instance of its own finds.

use exmc_density::{EvaluationError, LaneDensity, LogDensity};

use crate::density::DensityInstance;
use crate::native::{BATCH, BatchProgram};

/// What a few chains of one thread evaluate a [`BoundDensity`](crate::BoundDensity) with.
#[derive(Debug)]
pub struct LaneInstance {
    lanes: BatchProgram,
    /// Of a density with limits.
    alone: Option<Alone>,
}

/// What evaluates at positions outside of limits, one after the other.
#[derive(Debug)]
struct Alone {
    instance: DensityInstance,
    position: Vec<f64>,
    gradient: Vec<f64>,
}

impl LaneInstance {
    /// `single` is there where the density has limits.
    pub(crate) fn new(lanes: BatchProgram, single: Option<DensityInstance>) -> Self {
        let alone = single.map(|instance| {
            let [position, gradient] = [(); 2].map(|()| vec![0.0; instance.dim()]);
            Alone { instance, position, gradient }
        });
        Self { lanes, alone }
    }

    /// Instructions of one evaluation.
    pub fn instructions(&self) -> usize {
        self.lanes.instructions()
    }
}

impl LaneDensity for LaneInstance {
    #[inline]
    fn logp_grads(
        &mut self,
        positions: &[[f64; BATCH]],
        gradients: &mut [[f64; BATCH]],
        logps: &mut [f64; BATCH],
        active: [bool; BATCH],
    ) -> Vec<(usize, EvaluationError)> {
        *logps = self.lanes.run(positions, gradients);
        let mut errors = Vec::new();
        if let Some(alone) = &mut self.alone {
            let mut known = alone.instance.are_inside(positions);
            if logps.iter().any(|logp| logp.is_nan()) && alone.instance.may_miss() {
                known.iter_mut().zip(&*logps).for_each(|(known, logp)| *known &= !logp.is_nan());
            }
            for lane in (0..BATCH).filter(|&lane| active[lane] && !known[lane]) {
                match alone.evaluate(positions, gradients, lane) {
                    Ok(logp) => logps[lane] = logp,
                    Err(error) => errors.push((lane, error)),
                }
            }
        }
        errors
    }
}

impl Alone {
    /// Evaluates at the position of one lane, and writes its gradient.
    #[cold]
    fn evaluate(
        &mut self,
        positions: &[[f64; BATCH]],
        gradients: &mut [[f64; BATCH]],
        lane: usize,
    ) -> Result<f64, EvaluationError> {
        self.position.iter_mut().zip(positions).for_each(|(to, from)| *to = from[lane]);
        let logp = self.instance.logp_grad(&self.position, &mut self.gradient)?;
        gradients.iter_mut().zip(&self.gradient).for_each(|(to, from)| to[lane] = *from);
        Ok(logp)
    }
}
