//! Gamma draws and what is made of them: chi-square, Student's t, beta and Dirichlet.
//!
//! Draws of shape below one are formed on the log scale, where even a shape of 1e-10 has no
//! underflow; beta and Dirichlet stay there until the end. **Reference**: Marsaglia and Tsang 2000.

use crate::elementary::{exp, log};
use crate::logistic::inv_logit;
use crate::random::ChainRng;

/// A draw from the gamma distribution with this shape and rate one.
///
/// **Edges**: shape 0 gives 0; +∞ gives +∞; NaN for a negative shape. Shapes below about 0.001 give
/// draws that underflow to zero; [`log_gamma`] keeps them.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// assert!(draws::gamma(&mut ChainRng::new(1, 0, Phase::Predictive), 2.5) > 0.0);
/// ```
pub fn gamma(rng: &mut ChainRng, shape: f64) -> f64 {
    if (1.0..f64::INFINITY).contains(&shape) {
        unit_or_more(rng, shape)
    } else {
        exp(log_gamma(rng, shape))
    }
}

/// The logarithm of a draw from the gamma distribution with this shape and rate one.
///
/// **Numerics**: below one, $\log G_{a+1} - E/a$ with `E` standard exponential (the boost by a
/// power of a uniform, on the log scale). **Edges**: -∞ at shape 0, +∞ at +∞, NaN below.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// assert!(draws::log_gamma(&mut ChainRng::new(1, 0, Phase::Predictive), 1e-10).is_finite());
/// ```
pub fn log_gamma(rng: &mut ChainRng, shape: f64) -> f64 {
    if shape == f64::INFINITY {
        f64::INFINITY
    } else if shape >= 1.0 {
        log(unit_or_more(rng, shape))
    } else if shape > 0.0 {
        log(unit_or_more(rng, shape + 1.0)) - rng.standard_exponential() / shape
    } else if shape == 0.0 {
        f64::NEG_INFINITY
    } else {
        f64::NAN
    }
}

/// Marsaglia and Tsang's rejection for a finite shape of at least one.
fn unit_or_more(rng: &mut ChainRng, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = rng.standard_normal();
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let u = rng.uniform_open();
        let square = x * x;
        if u < 1.0 - 0.0331 * square * square || log(u) < 0.5 * square + d * (1.0 - v + log(v)) {
            return d * v;
        }
    }
}

/// A draw from the chi-square distribution with `nu` degrees of freedom; edges as [`gamma`].
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// assert!(draws::chi_square(&mut ChainRng::new(1, 0, Phase::Predictive), 3.0) > 0.0);
/// ```
pub fn chi_square(rng: &mut ChainRng, nu: f64) -> f64 {
    2.0 * gamma(rng, 0.5 * nu)
}

/// A draw from Student's t with `nu` degrees of freedom, location zero and scale one.
///
/// **Edges**: `nu` = +∞ is the standard normal; NaN unless `nu > 0`. For tiny `nu` a draw may
/// overflow to ±∞.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// assert!(draws::student_t(&mut ChainRng::new(1, 0, Phase::Predictive), 4.0).is_finite());
/// ```
pub fn student_t(rng: &mut ChainRng, nu: f64) -> f64 {
    if nu == f64::INFINITY {
        return rng.standard_normal();
    }
    if nu.is_nan() || nu <= 0.0 {
        return f64::NAN;
    }
    let z = rng.standard_normal();
    z * exp(0.5 * (log(0.5 * nu) - log_gamma(rng, 0.5 * nu)))
}

/// A draw from the beta distribution: $G_a/(G_a+G_b)$ as the inverse logit of the difference of log
/// gamma draws.
///
/// **Edges**: NaN unless both shapes are positive and finite. Draws closer to one than 1e-16 round
/// to one.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// let x = draws::beta(&mut ChainRng::new(1, 0, Phase::Predictive), 2.0, 3.0);
/// assert!(0.0 < x && x < 1.0);
/// ```
pub fn beta(rng: &mut ChainRng, a: f64, b: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite()) {
        return f64::NAN;
    }
    inv_logit(log_gamma(rng, a) - log_gamma(rng, b))
}

/// A draw from the Dirichlet distribution into `out`, of the same length as `alpha`.
///
/// **Edges**: all NaN unless every `alpha` is positive and finite. **Panics** if the lengths
/// differ. **Numerics**: log gamma draws, normalised by their largest, so tiny `alpha` never gives
/// 0/0.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// let mut out = [0.0; 3];
/// draws::dirichlet(&mut ChainRng::new(1, 0, Phase::Predictive), &[1.0, 2.0, 0.5], &mut out);
/// assert!((out.iter().sum::<f64>() - 1.0).abs() < 1e-15);
/// ```
pub fn dirichlet(rng: &mut ChainRng, alpha: &[f64], out: &mut [f64]) {
    assert_eq!(alpha.len(), out.len(), "a Dirichlet draw needs one place per alpha");
    if !alpha.iter().all(|&a| a > 0.0 && a.is_finite()) {
        out.fill(f64::NAN);
        return;
    }
    for (out, &a) in out.iter_mut().zip(alpha) {
        *out = log_gamma(rng, a);
    }
    let largest = out.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(x));
    let mut total = 0.0;
    for x in out.iter_mut() {
        *x = exp(*x - largest);
        total += *x;
    }
    out.iter_mut().for_each(|x| *x /= total);
}
