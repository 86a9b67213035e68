//! Truncated standard normal draws: bounds to a draw between them, exact in the far tails too.
//! **Reference**: Robert 1995, "Simulation of truncated normal variables".

use crate::elementary::{exp, hypot};
use crate::random::ChainRng;

/// A draw from N(0, 1) conditioned on lying in `[low, high]`; either bound may be infinite.
///
/// **Edges**: `low` if the bounds are equal; NaN if `low > high`, if a bound is NaN, or if both are
/// the same infinity. **Numerics**: rejection from the normal, from a uniform, or (beyond the mode)
/// from a shifted exponential, whichever accepts most; at worst about half of the proposals are
/// lost. Squares enter as $(x-a)(x+a)$, so bounds of 1e6 lose nothing.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// let x = draws::truncated_normal(&mut ChainRng::new(1, 0, Phase::Predictive), 1e6, f64::INFINITY);
/// assert!(x >= 1e6 && x < 1e6 + 1e-4);
/// ```
pub fn truncated_normal(rng: &mut ChainRng, low: f64, high: f64) -> f64 {
    if low.is_nan()
        || high.is_nan()
        || low > high
        || low == f64::INFINITY
        || high == f64::NEG_INFINITY
    {
        f64::NAN
    } else if low == high {
        low
    } else if low > 0.0 {
        tail(rng, low, high)
    } else if high < 0.0 {
        -tail(rng, -high, -low)
    } else if high - low > 2.506_628_274_631_000_5 {
        // Wider than sqrt(2 pi): the normal itself is the better envelope.
        loop {
            let x = rng.standard_normal();
            if low <= x && x <= high {
                return x;
            }
        }
    } else {
        loop {
            let x = low + (high - low) * rng.uniform();
            if rng.uniform() < exp(-0.5 * x * x) {
                return x;
            }
        }
    }
}

/// A draw for `0 < low < high`.
fn tail(rng: &mut ChainRng, low: f64, high: f64) -> f64 {
    // Robert's best exponential rate, and the width from which on it beats a uniform envelope.
    let root = hypot(low, 2.0);
    let rate = 0.5 * (low + root);
    let switch = exp(0.5 - low / (low + root)) / rate;
    let width = high - low;
    if width > switch {
        loop {
            let excess = rng.standard_exponential() / rate;
            let miss = low + excess - rate;
            if excess <= width && rng.uniform() < exp(-0.5 * miss * miss) {
                return low + excess;
            }
        }
    }
    loop {
        let excess = width * rng.uniform();
        if rng.uniform() < exp(-0.5 * excess * (2.0 * low + excess)) {
            return low + excess;
        }
    }
}
