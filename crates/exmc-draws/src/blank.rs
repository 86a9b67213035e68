//! Nothing -> sample statistics to fill in when records are read back.

use exmc_density::{DensityModel, EvaluationError, LogDensity};
use exmc_infer::{Info, SamplerConfig, Silent, sample};

/// The statistics of a transition that did nothing.
///
/// The sampler alone makes an [`Info`]; a chain without coordinates makes one that is blank.
pub(crate) fn blank_info() -> Info {
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws, config.threads) = (1, 0, 1, 1);
    let run = sample(&Nothing, &[], &config, &Silent).expect("these settings are valid");
    run.chains[0].infos[0]
}

/// The density of no variables.
#[derive(Clone, Copy, Debug)]
struct Nothing;

impl LogDensity for Nothing {
    fn dim(&self) -> usize {
        0
    }

    fn logp_grad(&mut self, _: &[f64], _: &mut [f64]) -> Result<f64, EvaluationError> {
        Ok(0.0)
    }
}

impl DensityModel for Nothing {
    type Instance = Self;

    fn dim(&self) -> usize {
        0
    }

    fn instance(&self) -> Self {
        *self
    }
}
