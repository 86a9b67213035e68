//! Initial points: given, partly given or no values -> a state where the density is usable.

use exmc_density::LogDensity;
use exmc_math::random::ChainRng;

use crate::config::SamplerConfig;
use crate::error::SampleError;
use crate::linalg::aligned_vector::AlignedVec;
use crate::state::State;

/// Finds an initial state. Coordinates of `given` that are NaN (or all, when it is `None`) are
/// drawn uniformly on `(-radius, radius)`, again and again until log density and gradient are
/// finite.
///
/// # Errors
/// An initial-point error with the last position tried when none is usable (a fully given point is
/// tried once); a fatal error when the density fails fatally.
pub(crate) fn initial_state(
    density: &mut impl LogDensity,
    given: Option<&[f64]>,
    config: &SamplerConfig,
    rng: &mut ChainRng,
) -> Result<State, SampleError> {
    let dim = density.dim();
    let complete = dim == 0 || given.is_some_and(|g| g.iter().all(|x| !x.is_nan()));
    let attempts = if complete { 1 } else { config.initial_attempts };
    let zeros = || AlignedVec::zeros(dim);
    let mut state = State { position: zeros(), logp: f64::NAN, gradient: zeros() };
    let mut reason = None;
    for _ in 0..attempts {
        for (i, x) in state.position.iter_mut().enumerate() {
            let value = given.map_or(f64::NAN, |g| g[i]);
            *x = if value.is_nan() {
                config.initial_radius * (2.0 * rng.uniform_open() - 1.0)
            } else {
                value
            };
        }
        reason = None;
        match density.logp_grad(&state.position, &mut state.gradient) {
            Ok(logp) => state.logp = logp,
            Err(error) => {
                state.logp = f64::NAN;
                reason = Some(error.to_string());
                if let Some(error) = SampleError::from_evaluation(error) {
                    return Err(error);
                }
            }
        }
        if state.is_usable() {
            return Ok(state);
        }
    }
    Err(SampleError::initial_point(state.position.to_vec(), state.logp, attempts, reason))
}
