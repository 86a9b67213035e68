//! Settings of a run, each with its meaning, unit, default and where the default comes from.

use crate::error::SampleError;
use crate::metric::{InverseMetric, Metric, MetricKind};
use crate::nuts::TreeLimits;

/// Settings of a run. Start from [`SamplerConfig::default`] and change what should differ: by the
/// method of a field's name, or the field itself.
///
/// ```
/// use exmc_infer::SamplerConfig;
/// let settings = SamplerConfig::default().seed(1).chains(2).draws(500);
/// assert_eq!((settings.seed, settings.chains, settings.warmup), (1, 2, 1000));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SamplerConfig {
    /// Number of chains. Default 4: the fewest for which rank R-hat is recommended (Vehtari et al.
    /// 2021).
    pub chains: u32,
    /// Warmup draws per chain. Default 1000 (Stan).
    pub warmup: u64,
    /// Draws per chain after warmup. Default 1000 (Stan).
    pub draws: u64,
    /// Seed of every random stream of the run. Default 0.
    pub seed: u64,
    /// Acceptance statistic that the step size is adapted to, in `(0, 1)`. Default 0.8 (Stan;
    /// Hoffman & Gelman 2014 find 0.6 to 0.9 about equally good).
    pub target_accept: f64,
    /// Whether a chain raises that target during warmup, to 0.9, 0.95 or 0.975 (from 0.8), where
    /// transitions with about the step size of the draws diverge
    /// ([`target`](mod@crate::warmup::target_acceptance)). Default true.
    pub raise_target_accept: bool,
    /// Largest number of doublings of a trajectory, 1 to 30. Default 10, that is 1023 leapfrog
    /// steps (Stan).
    pub max_depth: u32,
    /// How the metric is estimated. Default [`MetricKind::LowRank`]: correlated posteriors take a
    /// fraction of the steps, and others as many as with [`MetricKind::Diag`].
    pub metric: MetricKind,
    /// Relative half-width of a uniform jitter of the step size after warmup, in `[0, 1)`. Default
    /// 0 (Stan).
    pub step_jitter: f64,
    /// Random initial coordinates are uniform on `(-radius, radius)`, unconstrained scale. Default
    /// 2 (Stan).
    pub initial_radius: f64,
    /// How many random initial points are tried. Default 100 (Stan).
    pub initial_attempts: u32,
    /// Energy error (nats) above which a leaf is a divergence. Default 1000 (Stan).
    pub max_energy_error: f64,
    /// Threads to run chains on; 0 takes as many as the machine offers. The draws do not depend on
    /// it.
    pub threads: u32,
    /// Threads that share the work of one chain, where its density is large enough to be worth it;
    /// 0, the default, shares [`threads`](Self::threads) evenly among the chains that run at once.
    /// The draws do not depend on it.
    pub threads_per_chain: u32,
    /// Whether a result keeps the draws in memory; an observer sees them in any case. Default true.
    pub keep_draws: bool,
    /// Whether a result keeps the warmup draws too. Default false (Stan).
    pub save_warmup: bool,
    /// Where an earlier run ended, and its metric and step size, to start from. Default none.
    pub warm_start: Option<WarmStart>,
}

/// Where an earlier run ended, with its metric and step size.
///
/// A run that is given one needs no search for a step size. Its metric stays as it is and warmup
/// only tunes the step size (zero warmup draws are allowed), unless `adapt_metric` asks for the
/// configured adaptation from there.
#[derive(Clone, Debug, PartialEq)]
pub struct WarmStart {
    /// Step size to start from.
    pub step_size: f64,
    /// Inverse metric to start from.
    pub inverse_metric: InverseMetric,
    /// Whether warmup goes on adapting the metric.
    pub adapt_metric: bool,
    /// Positions on the unconstrained scale where chains ended. Chain k of a run that is given no
    /// initial values starts at number k of them (modulo their number), at a random point when
    /// there are none. A run of no warmup draws needs them: its first draws are draws from the
    /// posterior only when its starts are.
    pub positions: Vec<Vec<f64>>,
}

impl Default for SamplerConfig {
    fn default() -> Self {
        Self {
            chains: 4,
            warmup: 1000,
            draws: 1000,
            seed: 0,
            target_accept: 0.8,
            raise_target_accept: true,
            max_depth: 10,
            metric: MetricKind::default(),
            step_jitter: 0.0,
            initial_radius: 2.0,
            initial_attempts: 100,
            max_energy_error: 1000.0,
            threads: 0,
            threads_per_chain: 0,
            keep_draws: true,
            save_warmup: false,
            warm_start: None,
        }
    }
}

macro_rules! setters {
    ($($field:ident: $type:ty),* $(,)?) => {
        impl SamplerConfig {
            $(
                #[doc = concat!("The same with another [`", stringify!($field), "`](field@Self::", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, value: $type) -> Self {
                    self.$field = value;
                    self
                }
            )*
        }
    };
}

setters!(
    chains: u32,
    warmup: u64,
    draws: u64,
    seed: u64,
    target_accept: f64,
    raise_target_accept: bool,
    max_depth: u32,
    metric: MetricKind,
    step_jitter: f64,
    initial_radius: f64,
    initial_attempts: u32,
    max_energy_error: f64,
    threads: u32,
    threads_per_chain: u32,
    keep_draws: bool,
    save_warmup: bool,
);

impl SamplerConfig {
    /// The same, starting where an earlier run ended, with its metric and step size.
    #[must_use]
    pub fn warm_start(mut self, start: WarmStart) -> Self {
        self.warm_start = Some(start);
        self
    }

    /// Checks every field against its domain and against the dimension of the density.
    ///
    /// # Errors
    /// A config error ([`SampleError::is_config`]) that names the first bad field.
    pub fn validate(&self, dim: usize) -> Result<(), SampleError> {
        let expect = |ok: bool, field, expected: &str, found: &dyn std::fmt::Display| {
            if ok {
                Ok(())
            } else {
                Err(SampleError::config(field, format!("expected {expected}, found {found}")))
            }
        };
        let in_open_unit = self.target_accept > 0.0 && self.target_accept < 1.0;
        expect(self.chains >= 1, "chains", "at least 1", &self.chains)?;
        expect(in_open_unit, "target_accept", "a number in (0, 1)", &self.target_accept)?;
        expect((1..=30).contains(&self.max_depth), "max_depth", "1 to 30", &self.max_depth)?;
        expect(
            (0.0..1.0).contains(&self.step_jitter),
            "step_jitter",
            "a number in [0, 1)",
            &self.step_jitter,
        )?;
        expect(
            self.initial_radius >= 0.0 && self.initial_radius.is_finite(),
            "initial_radius",
            "a finite number that is not negative",
            &self.initial_radius,
        )?;
        expect(
            self.initial_attempts >= 1,
            "initial_attempts",
            "at least 1",
            &self.initial_attempts,
        )?;
        expect(
            self.max_energy_error > 0.0,
            "max_energy_error",
            "a positive number",
            &self.max_energy_error,
        )?;
        expect(
            self.warmup.checked_add(self.draws).is_some(),
            "draws",
            "warmup + draws below 2^64",
            &self.draws,
        )?;
        if let Some(warm) = &self.warm_start {
            expect(
                warm.step_size > 0.0 && warm.step_size.is_finite(),
                "warm_start.step_size",
                "a positive finite number",
                &warm.step_size,
            )?;
            let length = warm.inverse_metric.dim();
            let expected = format!("a metric of dimension {dim}");
            expect(length == dim, "warm_start.inverse_metric", &expected, &length)?;
            Metric::new(warm.inverse_metric.clone())?;
            for position in &warm.positions {
                let wrong = position.len() != dim || position.iter().any(|x| !x.is_finite());
                let (expected, found) = (format!("{dim} finite numbers each"), position.len());
                expect(!wrong, "warm_start.positions", &expected, &format!("{found} numbers"))?;
            }
        }
        Ok(())
    }

    /// How many of so many chains run at once, and on how many threads each, on a machine that
    /// offers `cores`.
    pub(crate) fn threads_at_once(&self, chains: u32, cores: u32) -> (u32, u32) {
        let threads = if self.threads == 0 { cores } else { self.threads };
        let chains = threads.min(chains).max(1);
        let of_each = match self.threads_per_chain {
            0 => threads / chains,
            n => n,
        };
        (chains, of_each.max(1))
    }

    pub(crate) fn tree_limits(&self) -> TreeLimits {
        TreeLimits { max_depth: self.max_depth, max_energy_error: self.max_energy_error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_shared_among_the_chains_that_run_at_once() {
        let at_once = |chains, threads, threads_per_chain, cores| {
            let config =
                SamplerConfig { chains, threads, threads_per_chain, ..SamplerConfig::default() };
            config.threads_at_once(chains, cores)
        };
        assert_eq!(at_once(4, 0, 0, 16), (4, 4));
        assert_eq!(at_once(4, 0, 0, 2), (2, 1));
        assert_eq!(at_once(4, 0, 0, 6), (4, 1));
        assert_eq!(at_once(1, 0, 0, 6), (1, 6));
        // Who asks for fewer threads than the machine has gets fewer.
        assert_eq!(at_once(4, 1, 0, 16), (1, 1));
        assert_eq!(at_once(4, 8, 0, 16), (4, 2));
        assert_eq!(at_once(4, 0, 3, 2), (2, 3));
    }

    #[test]
    fn each_bad_field_is_named() {
        let check = |change: fn(&mut SamplerConfig), field: &str| {
            let mut config = SamplerConfig::default();
            change(&mut config);
            let error = config.validate(2).unwrap_err();
            assert!(error.is_config() && error.to_string().contains(field), "{error}");
        };
        check(|c| c.chains = 0, "chains");
        check(|c| c.target_accept = 1.0, "target_accept");
        check(|c| c.target_accept = f64::NAN, "target_accept");
        check(|c| c.max_depth = 0, "max_depth");
        check(|c| c.step_jitter = 1.0, "step_jitter");
        check(|c| c.initial_radius = f64::INFINITY, "initial_radius");
        check(|c| c.initial_attempts = 0, "initial_attempts");
        check(|c| c.max_energy_error = f64::NAN, "max_energy_error");
        check(|c| c.draws = u64::MAX, "draws");
        let warm = |step_size, dim| {
            Some(WarmStart {
                step_size,
                inverse_metric: InverseMetric::identity(dim),
                adapt_metric: false,
                positions: Vec::new(),
            })
        };
        let mut elsewhere = warm(0.1, 2);
        if let Some(warm) = &mut elsewhere {
            warm.positions = vec![vec![0.0; 2], vec![0.0, f64::NAN]];
        }
        for warm_start in [warm(0.0, 2), warm(0.1, 3), elsewhere] {
            let config = SamplerConfig { warm_start, ..SamplerConfig::default() };
            assert!(config.validate(2).unwrap_err().to_string().contains("warm_start"));
        }
        assert!(SamplerConfig::default().validate(2).is_ok());
    }
}
