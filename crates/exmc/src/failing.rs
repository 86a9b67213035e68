//! A bound model -> the same, whose density fails where a test wants it to, or tells where it does.

use exmc_density::Failure;

use crate::compile::BoundModel;
use crate::witness::Witness;

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

    /// The same model, which tells `see` of each position that a sampler rejects because its
    /// density is not finite or cannot be evaluated, and whether the chain had found one with a
    /// density before: what is wrong there is the business of who asks. Draws are the same.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use std::sync::Arc;
    /// use exmc::advanced::{CompileOptions, compile};
    /// use exmc::advanced::density::{DensityModel, LogDensity};
    /// use exmc::model::Values;
    /// use exmc::ModelBuilder;
    ///
    /// let mut model = ModelBuilder::new();
    /// model.rv("x", exmc::distributions::normal(0.0, 1.0));
    /// let bound = compile(&model.build()?, &CompileOptions::default())?.bind(&Values::new())?;
    /// let seen = Arc::new(AtomicU32::new(0));
    /// let own = seen.clone();
    /// let told = bound.witnessed(move |_, has_started| {
    ///     own.fetch_add(1 + u32::from(has_started), Relaxed);
    /// });
    /// let (mut instance, mut gradient) = (told.instance(), [0.0]);
    /// for x in [f64::NAN, 0.5, f64::INFINITY] {
    ///     let _ = instance.logp_grad(&[x], &mut gradient);
    /// }
    /// // One before there was a start, one after it.
    /// assert_eq!(seen.load(Relaxed), 3);
    /// # Ok::<(), exmc::Error>(())
    /// ```
    #[must_use]
    pub fn witnessed(mut self, see: impl Fn(&[f64], bool) + Send + Sync + 'static) -> Self {
        self.witness = Some(Witness::new(see));
        self
    }
}
