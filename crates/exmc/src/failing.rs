//! A bound model -> the same, whose density fails where a test wants it to.

use exmc_density::Failure;

use crate::compile::BoundModel;

impl BoundModel {
    /// The same model, whose density fails on purpose in every chain: for tests of what surrounds a
    /// run.
    ///
    /// ```
    /// use exmc::distributions::normal;
    /// use exmc::advanced::{CompileOptions, Failure, FailureKind, compile, sample};
    /// use exmc::model::Values;
    /// use exmc::{ModelBuilder, SamplerConfig};
    ///
    /// let mut model = ModelBuilder::new();
    /// model.rv("x", normal(0.0, 1.0));
    /// let bound = compile(&model.build()?, &CompileOptions::default())?.bind(&Values::new())?;
    /// let config = SamplerConfig::default();
    /// // From evaluation 500 on every hundredth has no result: the run goes on, and says so.
    /// let failure = Failure::new(FailureKind::Recoverable).after(500).every(100);
    /// let posterior = sample(&bound.clone().with_failure(failure), &config)?;
    /// assert!(posterior.diagnostics().recovered > 0 && posterior.failures().next().is_none());
    /// // A density that breaks down before there are draws is an error of the run.
    /// let failure = Failure::new(FailureKind::Fatal).after(100);
    /// assert!(sample(&bound.with_failure(failure), &config).unwrap_err().is_sampling());
    /// # Ok::<(), exmc::Error>(())
    /// ```
    #[must_use]
    pub fn with_failure(mut self, failure: Failure) -> Self {
        self.failure = Some(failure);
        self
    }
}
