//! Eight schools: effects and standard errors -> gradients with everything in one vector.

use exmc_math::simd::{Kernel, Level, Simd, vector};

use super::{Gradient, eight};
use crate::models::Data;

struct Schools {
    effect: [f64; 8],
    /// Reciprocal standard errors.
    precision: [f64; 8],
}

fn schools(data: &Data<'_>) -> Result<Schools, String> {
    if data.size("J")? != 8 {
        return Err("the kernel is written for 8 schools".to_owned());
    }
    let precision = eight(&data.values("sigma")?, 0).map(|sigma| 1.0 / sigma);
    Ok(Schools { effect: eight(&data.values("y")?, 0), precision })
}

pub(super) fn centred(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let schools = schools(data)?;
    Ok(Box::new(move |position, gradient| {
        level.run(Centred { schools: &schools, position, gradient })
    }))
}

pub(super) fn non_centred(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let schools = schools(data)?;
    Ok(Box::new(move |position, gradient| {
        level.run(NonCentred { schools: &schools, position, gradient })
    }))
}

/// mu, log tau, theta; tau half-normal.
struct Centred<'a> {
    schools: &'a Schools,
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for Centred<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { schools, position, gradient } = self;
        let (Some((&[mu, log_tau], theta)), Some((of_scalars, of_theta))) =
            (position.split_first_chunk::<2>(), gradient.split_first_chunk_mut::<2>())
        else {
            return f64::NAN;
        };
        let (Some(theta), Some(of_theta)) = (theta.first_chunk(), of_theta.first_chunk_mut())
        else {
            return f64::NAN;
        };
        // e^(-2 log tau) in all lanes; its square root is not needed, its reciprocal is tau^2.
        let weight = vector::exp(s, s.splat(-2.0 * log_tau));
        let inverse = s.to_array(s.div(s.splat(1.0), weight))[0];
        let theta = s.load(theta);
        let precision = s.load(&schools.precision);
        let z = s.mul(s.sub(s.load(&schools.effect), theta), precision);
        let residual = s.sub(theta, s.splat(mu));
        let pull = s.mul(residual, weight);
        let prior = s.mul(residual, pull);
        s.store(s.fma(z, precision, s.neg(pull)), of_theta);
        let of_tau = s.total(prior);
        of_scalars[0] = s.total(pull) - mu * 0.04;
        of_scalars[1] = of_tau - 7.0 - inverse * 0.04;
        let squares = s.total(s.mul(z, z)) + of_tau + (mu * mu + inverse) * 0.04;
        -0.5 * squares - 7.0 * log_tau
    }
}

/// mu, log tau, standardised effects; tau half-Cauchy.
struct NonCentred<'a> {
    schools: &'a Schools,
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for NonCentred<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { schools, position, gradient } = self;
        let (Some((&[mu, log_tau], raw)), Some((of_scalars, of_raw))) =
            (position.split_first_chunk::<2>(), gradient.split_first_chunk_mut::<2>())
        else {
            return f64::NAN;
        };
        let (Some(raw), Some(of_raw)) = (raw.first_chunk(), of_raw.first_chunk_mut()) else {
            return f64::NAN;
        };
        let tau = vector::exp(s, s.splat(log_tau));
        let raw = s.load(raw);
        let theta = s.fma(tau, raw, s.splat(mu));
        let precision = s.load(&schools.precision);
        let z = s.mul(s.sub(s.load(&schools.effect), theta), precision);
        let of_theta = s.mul(z, precision);
        let quadratic = s.fma(z, z, s.mul(raw, raw));
        s.store(s.fma(of_theta, tau, s.neg(raw)), of_raw);
        // log(1 + tau^2/25), and its slope by log tau.
        let square = s.mul(s.mul(tau, tau), s.splat(0.04));
        let above = s.add(s.splat(1.0), square);
        let cauchy = s.to_array(vector::log(s, above))[0];
        let slope = s.to_array(s.div(square, above))[0];
        of_scalars[0] = s.total(of_theta) - mu * 0.04;
        of_scalars[1] = s.total(s.mul(of_theta, raw)) * s.to_array(tau)[0] + 1.0 - 2.0 * slope;
        -0.5 * (s.total(quadratic) + mu * mu * 0.04) + log_tau - cauchy
    }
}
