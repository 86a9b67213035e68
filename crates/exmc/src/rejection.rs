//! Positions where a density is not finite -> whether the whole run must end there, and with which
//! words.
//!
//! A compiled density knows only minus infinity. Where the statements of a program tell more kinds
//! of failure apart (`fatal_error` and indices out of range end a run, `reject` says that the
//! position has no density, an overflow says neither), they are run once more on values.

use std::fmt::Debug;

use exmc_density::{BATCH, EvaluationError, FailureCount, LaneDensity, LogDensity};
use exmc_exec::DensityInstance;

use crate::recorded_values::TraceInstance;
use crate::stan::{Interpreted, InterpretedInstance};
use crate::witness::Seeing;

/// Which statements count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Those that compute recorded values.
    Values,
    /// Those of the density too.
    Density,
}

/// What the statements say of a position without a density.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The run must end; complete and located text.
    Ended(String),
    /// They reject it, for this reason.
    Rejected(String),
    /// They ran to their end.
    Silent,
}

/// Looks at the recorded values of a model.
pub(crate) trait RejectionCheck: Debug + Send + Sync {
    /// What the statements say.
    fn verdict(&self, trace: &[f64], extent: Extent) -> Verdict;

    /// Whether the statements can end a run at all.
    fn may_end(&self) -> bool;

    /// Why the run must end; nothing where a position is merely rejected.
    fn end(&self, trace: &[f64], extent: Extent) -> Option<String> {
        if !self.may_end() {
            return None;
        }
        match self.verdict(trace, extent) {
            Verdict::Ended(reason) => Some(reason),
            Verdict::Rejected(_) | Verdict::Silent => None,
        }
    }
}

/// What one chain evaluates a [`BoundModel`](crate::advanced::BoundModel) with.
#[derive(Debug)]
pub struct ModelInstance {
    pub(crate) density: DensityInstance,
    pub(crate) checker: Option<Box<PointChecker>>,
    pub(crate) failure: Option<FailureCount>,
    pub(crate) witness: Option<Seeing>,
    /// What evaluates instead of the compiled density, for a program that is interpreted.
    pub(crate) interpreted: Option<Box<InterpretedInstance>>,
    /// What evaluates where the compiled density is not finite, for a program with loops that it
    /// does not follow to their end.
    pub(crate) beyond: Option<Box<Beyond>>,
}

/// An interpreter that is made when it is first asked.
#[derive(Debug)]
pub(crate) struct Beyond {
    program: std::sync::Arc<Interpreted>,
    instance: Option<InterpretedInstance>,
}

impl Beyond {
    pub(crate) fn new(program: std::sync::Arc<Interpreted>) -> Self {
        Self { program, instance: None }
    }

    /// The density with its gradient, all loops followed to their end.
    fn logp_grad(
        &mut self,
        position: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, EvaluationError> {
        let instance = self.instance.get_or_insert_with(|| self.program.instance());
        instance.logp_grad(position, gradient)
    }
}

impl ModelInstance {
    /// Threads that evaluate a gradient, that of the caller included.
    pub fn threads(&self) -> usize {
        self.density.threads()
    }
}

/// What is needed to look at a position.
#[derive(Debug)]
pub(crate) struct PointChecker {
    pub(crate) rejection_check: std::sync::Arc<dyn RejectionCheck>,
    pub(crate) trace: TraceInstance,
    pub(crate) row: Vec<f64>,
}

impl PointChecker {
    /// The error that a position without a density is, if the statements say so.
    fn check(&mut self, position: &[f64]) -> Result<(), EvaluationError> {
        self.trace.evaluate(position, &mut self.row)?;
        match self.rejection_check.verdict(&self.row, Extent::Density) {
            Verdict::Ended(reason) => Err(EvaluationError::Ended(reason)),
            Verdict::Rejected(reason) => Err(EvaluationError::Recoverable(reason)),
            Verdict::Silent => Ok(()),
        }
    }
}

impl LogDensity for ModelInstance {
    fn dim(&self) -> usize {
        self.density.dim()
    }

    fn logp_grad(
        &mut self,
        position: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, EvaluationError> {
        // A result that is looked at once more costs small densities a tenth of their time.
        if self.witness.is_none() {
            return self.evaluate(position, gradient);
        }
        self.evaluate_witnessed(position, gradient)
    }
}

impl ModelInstance {
    #[cold]
    #[inline(never)]
    fn evaluate_witnessed(
        &mut self,
        position: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, EvaluationError> {
        let found = self.evaluate(position, gradient);
        if let Some(witness) = &mut self.witness
            && !matches!(found, Err(EvaluationError::Fatal(_) | EvaluationError::Ended(_)))
        {
            witness.see(position, found.as_ref().is_ok_and(|logp| logp.is_finite()));
        }
        found
    }

    #[inline]
    fn evaluate(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64, EvaluationError> {
        if let Some(failed) = self.failure.as_mut().and_then(FailureCount::count) {
            return failed;
        }
        if let Some(interpreted) = &mut self.interpreted {
            return interpreted.logp_grad(position, gradient);
        }
        let mut logp = self.density.logp_grad(position, gradient)?;
        if !logp.is_finite()
            && let Some(beyond) = &mut self.beyond
        {
            logp = beyond.logp_grad(position, gradient)?;
        }
        if !logp.is_finite()
            && let Some(checker) = &mut self.checker
        {
            checker.check(position)?;
        }
        Ok(logp)
    }
}

/// What a few chains evaluate a [`BoundModel`](crate::advanced::BoundModel) with whose density is
/// overseen.
pub(crate) struct CheckedBatch {
    pub(crate) lanes: Box<dyn LaneDensity + Send>,
    pub(crate) checker: Option<Box<PointChecker>>,
    pub(crate) beyond: Option<Box<Beyond>>,
    /// A lane's, where it is looked at; as long as the density has dimensions.
    pub(crate) position: Vec<f64>,
}

impl LaneDensity for CheckedBatch {
    fn logp_grads(
        &mut self,
        positions: &[[f64; BATCH]],
        gradients: &mut [[f64; BATCH]],
        logps: &mut [f64; BATCH],
        active: [bool; BATCH],
    ) -> Vec<(usize, EvaluationError)> {
        let mut errors = self.lanes.logp_grads(positions, gradients, logps, active);
        for lane in 0..BATCH {
            if !active[lane] || logps[lane].is_finite() {
                continue;
            }
            if errors.iter().any(|(failed, _)| *failed == lane) {
                continue;
            }
            self.position.iter_mut().zip(positions).for_each(|(to, from)| *to = from[lane]);
            if let Some(beyond) = &mut self.beyond {
                let mut gradient = vec![0.0; self.position.len()];
                match beyond.logp_grad(&self.position, &mut gradient) {
                    Ok(logp) => logps[lane] = logp,
                    Err(error) => {
                        errors.push((lane, error));
                        continue;
                    }
                }
                gradients.iter_mut().zip(gradient).for_each(|(to, from)| to[lane] = from);
                if logps[lane].is_finite() {
                    continue;
                }
            }
            if let Some(checker) = &mut self.checker
                && let Err(error) = checker.check(&self.position)
            {
                errors.push((lane, error));
            }
        }
        errors
    }
}
