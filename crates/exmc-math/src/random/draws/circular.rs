//! Von Mises draws: a concentration to an angle, by wrapped Cauchy rejection.
//! **Reference**: Best and Fisher 1979.

use std::f64::consts::PI;

use crate::elementary::{acos, cos, log};
use crate::random::ChainRng;

/// A draw from the von Mises distribution with mean direction zero, an angle in `[-π, π]`.
///
/// **Edges**: `kappa` = 0 is uniform; NaN if negative or infinite. **Numerics**: below 1e-8
/// uniform, above 1e6 a normal with variance `1 / kappa`; both are off by less than 1e-6 in
/// relative variance.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// assert!(draws::von_mises(&mut ChainRng::new(1, 0, Phase::Predictive), 2.0).abs() <= std::f64::consts::PI);
/// ```
pub fn von_mises(rng: &mut ChainRng, kappa: f64) -> f64 {
    if !(0.0..f64::INFINITY).contains(&kappa) {
        return f64::NAN;
    }
    if kappa < 1e-8 {
        return PI * (2.0 * rng.uniform_open() - 1.0);
    }
    if kappa > 1e6 {
        return rng.standard_normal() / kappa.sqrt();
    }
    let r = if kappa < 1e-5 {
        // The leading terms; the closed form below would cancel.
        1.0 / kappa + kappa
    } else {
        let tau = 1.0 + (1.0 + 4.0 * kappa * kappa).sqrt();
        let rho = (tau - (2.0 * tau).sqrt()) / (2.0 * kappa);
        (1.0 + rho * rho) / (2.0 * rho)
    };
    loop {
        let z = cos(PI * rng.uniform_open());
        let f = ((1.0 + r * z) / (r + z)).clamp(-1.0, 1.0);
        let c = kappa * (r - f);
        let v = rng.uniform_open();
        if c * (2.0 - c) > v || log(c / v) + 1.0 - c >= 0.0 {
            let angle = acos(f);
            return if rng.next_u64() & 1 == 0 { angle } else { -angle };
        }
    }
}
