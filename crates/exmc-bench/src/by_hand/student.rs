//! Groups with Student-t noise of four degrees: outcomes sorted by group -> a gradient, group after
//! group.

use exmc_math::simd::{Kernel, Level, LogProduct, Simd, vector};

use super::{Gradient, eight};
use crate::models::Data;

/// Outcomes in vectors that hold one group each, the last of a group filled up.
struct Packed {
    y: Vec<[f64; 8]>,
    /// Vectors of each group, and lanes of its last one that are outcomes.
    groups: Vec<(usize, [f64; 8])>,
    n: f64,
}

/// For any number of groups, whose outcomes need not be sorted.
pub(super) fn kernel(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let (y, groups) = (data.values("y")?, data.size("J")?);
    let mut by_group = vec![Vec::new(); groups];
    for (&y, group) in y.iter().zip(data.indices("g", groups)?) {
        by_group[group].push(y);
    }
    let mut packed = Packed { y: Vec::new(), groups: Vec::new(), n: y.len() as f64 };
    for group in by_group {
        let vectors = group.len().div_ceil(8).max(1);
        packed.y.extend((0..vectors).map(|v| eight(&group, 8 * v)));
        let left = group.len() + 8 - 8 * vectors;
        packed.groups.push((vectors, std::array::from_fn(|lane| f64::from(lane < left))));
    }
    Ok(Box::new(move |position, gradient| {
        level.run(Student { packed: &packed, position, gradient })
    }))
}

/// mu, log sigma, log tau, u.
struct Student<'a> {
    packed: &'a Packed,
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for Student<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { packed, position, gradient } = self;
        let (mu, log_sigma, log_tau) = (position[0], position[1], position[2]);
        let tau = s.to_array(vector::exp(s, s.splat(log_tau)))[0];
        let inverse = s.to_array(vector::exp(s, s.splat(-log_sigma)))[0];
        // z is half the standardised residual, so that q = z^2 is the square over the degrees.
        let half = s.splat(0.5 * inverse);
        let (zero, one) = (s.splat(0.0), s.splat(1.0));
        let (mut logs, mut of_sigma) = (LogProduct::new(s), zero);
        let (mut of_mu, mut of_tau, mut prior) = (0.0, 0.0, 0.0);
        let mut rest = packed.y.as_slice();
        for (j, (vectors, present)) in packed.groups.iter().enumerate() {
            let (group, others) = rest.split_at(*vectors);
            rest = others;
            let u = position[3 + j];
            let mean = s.splat(mu + tau * u);
            let mut of_mean = zero;
            let Some((last, full_lines)) = group.split_last() else { continue };
            for line in full_lines {
                let z = s.mul(s.sub(s.load(line), mean), half);
                let q = s.mul(z, z);
                let above = s.add(one, q);
                let weight = s.div(one, above);
                logs.multiply(s, above);
                of_mean = s.fma(z, weight, of_mean);
                of_sigma = s.fma(q, weight, of_sigma);
            }
            let present = s.load(present);
            let z = s.mul(s.mul(s.sub(s.load(last), mean), half), present);
            let q = s.mul(z, z);
            let above = s.add(one, q);
            let weight = s.div(one, above);
            logs.multiply(s, above);
            of_mean = s.fma(z, weight, of_mean);
            of_sigma = s.fma(q, weight, of_sigma);
            // (nu + 1) z / (nu (1 + q)) / sigma with z doubled again.
            let of_mean = s.total(of_mean) * 2.5 * inverse;
            of_mu += of_mean;
            of_tau += of_mean * u;
            gradient[3 + j] = of_mean * tau - u;
            prior += u * u;
        }
        gradient[0] = of_mu - mu;
        gradient[1] = 5.0 * s.total(of_sigma) - packed.n - log_sigma;
        gradient[2] = of_tau * tau - log_tau;
        prior += mu * mu + log_tau * log_tau + log_sigma * log_sigma;
        -2.5 * logs.finish(s) - packed.n * log_sigma - 0.5 * prior
    }
}
