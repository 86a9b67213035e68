//! Failures on purpose: a density -> the same, which fails where a test wants it to.

use crate::{DensityModel, EvaluationError, LogDensity};

/// In which way an evaluation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// [`EvaluationError::Recoverable`]: the position is rejected, and counted apart from divergences.
    Recoverable,
    /// [`EvaluationError::Fatal`]: the chain ends, and keeps its draws.
    Fatal,
    /// [`EvaluationError::Ended`]: the chain ends, and the model asks for the whole run to end.
    Ended,
    /// The log density is NaN, which is a divergence.
    NotANumber,
    /// The log density is minus infinity, as outside of the support.
    OutsideSupport,
    /// A panic, as of a bug in a density of one's own.
    Panic,
}

/// Which evaluations of each instance (that is, of each chain) fail, and how. Evaluations count
/// from 0, those of the search for a start included.
///
/// ```
/// use exmc_density::{Failure, FailureKind};
/// // Number 1000 alone, and from number 100 on every tenth.
/// let once = Failure::new(FailureKind::Panic).after(1000);
/// let often = Failure::new(FailureKind::Recoverable).after(100).every(10);
/// assert!(once.strikes(1000) && !once.strikes(1001));
/// assert!(often.strikes(110) && !often.strikes(90));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    kind: FailureKind,
    first: u64,
    every: Option<u64>,
}

impl Failure {
    /// The first evaluation fails in this way, and no other.
    pub fn new(kind: FailureKind) -> Self {
        Self { kind, first: 0, every: None }
    }

    /// Evaluation number `n` is the first that fails.
    #[must_use]
    pub fn after(self, n: u64) -> Self {
        Self { first: n, ..self }
    }

    /// From then on every `n`th one fails; none, not even the first, for 0.
    #[must_use]
    pub fn every(self, n: u64) -> Self {
        Self { every: Some(n), ..self }
    }

    /// Whether evaluation number `n` fails.
    pub fn strikes(&self, n: u64) -> bool {
        match (n.checked_sub(self.first), self.every) {
            (None, _) | (_, Some(0)) => false,
            (Some(since), None) => since == 0,
            (Some(since), Some(every)) => since % every == 0,
        }
    }
}

/// The evaluations of one instance, counted.
#[derive(Clone, Debug)]
pub struct FailureCount {
    failure: Failure,
    made: u64,
}

impl FailureCount {
    /// Before the first evaluation.
    pub fn new(failure: Failure) -> Self {
        Self { failure, made: 0 }
    }

    /// Counts an evaluation: what it gives if it is one that fails.
    ///
    /// # Panics
    /// When it fails by [`FailureKind::Panic`].
    pub fn count(&mut self) -> Option<Result<f64, EvaluationError>> {
        let n = self.made;
        self.made += 1;
        if !self.failure.strikes(n) {
            return None;
        }
        let reason = format!("injected failure of evaluation {n}");
        Some(match self.failure.kind {
            FailureKind::Recoverable => Err(EvaluationError::Recoverable(reason)),
            FailureKind::Fatal => Err(EvaluationError::Fatal(reason)),
            FailureKind::Ended => Err(EvaluationError::Ended(reason)),
            FailureKind::NotANumber => Ok(f64::NAN),
            FailureKind::OutsideSupport => Ok(f64::NEG_INFINITY),
            FailureKind::Panic => panic!("{reason}"),
        })
    }
}

/// A model whose instances fail on purpose, to test what a program of one's own makes of it: an
/// observer, a service around a run, a report.
#[derive(Clone, Copy, Debug)]
pub struct Failing<M> {
    model: M,
    failure: Failure,
}

impl<M: DensityModel> Failing<M> {
    /// The model with failures.
    pub fn new(model: M, failure: Failure) -> Self {
        Self { model, failure }
    }
}

impl<M: DensityModel> DensityModel for Failing<M> {
    type Instance = FailingInstance<M::Instance>;

    fn dim(&self) -> usize {
        self.model.dim()
    }

    fn instance(&self) -> Self::Instance {
        self.threaded_instance(1)
    }

    fn threaded_instance(&self, threads: usize) -> Self::Instance {
        let density = self.model.threaded_instance(threads);
        FailingInstance { density, count: FailureCount::new(self.failure) }
    }
}

/// An instance of [`Failing`].
#[derive(Clone, Debug)]
pub struct FailingInstance<L> {
    density: L,
    count: FailureCount,
}

impl<L: LogDensity> LogDensity for FailingInstance<L> {
    fn dim(&self) -> usize {
        self.density.dim()
    }

    fn logp_grad(
        &mut self,
        position: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, EvaluationError> {
        match self.count.count() {
            Some(failed) => failed,
            None => self.density.logp_grad(position, gradient),
        }
    }
}
