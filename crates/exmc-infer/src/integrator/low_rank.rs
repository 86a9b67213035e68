//! Leapfrog steps with a metric of few directions: a gradient -> the next position and momentum, in
//! one kernel.
//!
//! For more than sixteen dimensions; fewer have
//! [`small_dimension`](crate::integrator::small_dimension).

use exmc_math::simd::{Kernel, Simd};

use crate::linalg::aligned_vector::Row;
use crate::metric::matrix_kernels::add_low_rank;

/// All that lies between two gradients with $L = D(I + V^\top \mathrm{diag}(s) V)$; see
/// [`Advance`](crate::linalg::kernels::Advance), whose roles these are. `force` is room for $L^\top
/// g$ and then for the velocity.
pub(crate) struct AdvanceLowRank<'a> {
    pub(crate) dim: usize,
    pub(crate) step_size: f64,
    pub(crate) closing: f64,
    pub(crate) scale: &'a [Row],
    pub(crate) vectors: &'a [Row],
    pub(crate) shift: &'a [f64],
    pub(crate) position: &'a [Row],
    pub(crate) gradient: &'a [Row],
    pub(crate) half: &'a mut [Row],
    pub(crate) ahead: &'a mut [Row],
    pub(crate) momentum: &'a mut [Row],
    pub(crate) force: &'a mut [Row],
}

impl Kernel for AdvanceLowRank<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) -> f64 {
        let norm2 = self.step(s);
        if !norm2.is_finite() {
            // An infinite derivative times the zeros that pad the vectors.
            for rows in [self.half, self.ahead, self.momentum, self.force] {
                rows.as_flattened_mut()[self.dim..].fill(0.0);
            }
        }
        norm2
    }
}

impl AdvanceLowRank<'_> {
    #[inline(always)]
    fn step<S: Simd>(&mut self, s: S) -> f64 {
        let n = self.scale.len();
        let (position, gradient) = (&self.position[..n], &self.gradient[..n]);
        let (half, ahead) = (&mut self.half[..n], &mut self.ahead[..n]);
        let (momentum, force) = (&mut self.momentum[..n], &mut self.force[..n]);
        let (opening, closing) = (s.splat(0.5 * self.step_size), s.splat(self.closing));
        let step = s.splat(self.step_size);
        for i in 0..n {
            s.store(s.mul(s.load(&self.scale[i]), s.load(&gradient[i])), &mut force[i]);
        }
        add_low_rank(s, self.shift, self.vectors, force);
        let mut lanes = s.splat(0.0);
        for i in 0..n {
            let pull = s.load(&force[i]);
            let p = s.fma(closing, pull, s.load(&half[i]));
            let next = s.fma(opening, pull, p);
            lanes = s.fma(p, p, lanes);
            s.store(p, &mut momentum[i]);
            s.store(next, &mut half[i]);
            s.store(next, &mut force[i]);
        }
        add_low_rank(s, self.shift, self.vectors, force);
        for i in 0..n {
            let velocity = s.mul(s.load(&self.scale[i]), s.load(&force[i]));
            s.store(s.fma(step, velocity, s.load(&position[i])), &mut ahead[i]);
        }
        s.total(lanes)
    }
}

#[cfg(test)]
mod tests {
    use exmc_math::simd::Level;

    use super::*;
    use crate::InverseMetric;
    use crate::linalg::aligned_vector::AlignedVec;
    use crate::metric::whitening::Metric;

    fn wave(n: usize, phase: f64) -> AlignedVec {
        (0..n).map(|i| libm::sin(1.0 + phase + i as f64 * 0.7)).collect::<Vec<f64>>().into()
    }

    /// A step against the two maps of the metric, at every level.
    #[test]
    fn a_step_is_two_kicks_and_a_drift() {
        for (dim, rank) in [(1, 1), (8, 0), (10, 3), (17, 5), (24, 6), (40, 11)] {
            let normal = wave(dim, 1.0);
            let norm2: f64 = normal.iter().map(|x| x * x).sum();
            let entry = |k: usize, i: usize| {
                f64::from(u8::from(i == k)) - 2.0 * normal[k] * normal[i] / norm2
            };
            let vectors: Vec<f64> =
                (0..rank * dim).map(|index| entry(index / dim, index % dim)).collect();
            let values: Vec<f64> = (0..rank).map(|k| 0.3 + k as f64).collect();
            let scale: Vec<f64> = (0..dim).map(|i| 0.5 + i as f64 / 7.0).collect();
            let inverse = InverseMetric::LowRank { scale, vectors, values };
            let metric = Metric::new(inverse).unwrap();
            let (scale, vectors, shift) = metric.low_rank_parts().unwrap();
            let (position, gradient, half) = (wave(dim, 2.0), wave(dim, 3.0), wave(dim, 4.0));
            let (closing, step_size) = (0.1, 0.3);
            let (mut force, mut velocity) = (AlignedVec::zeros(dim), AlignedVec::zeros(dim));
            metric.pull(&gradient, &mut force);
            let p: Vec<f64> = (0..dim).map(|i| half[i] + closing * force[i]).collect();
            let next: Vec<f64> = (0..dim).map(|i| p[i] + 0.5 * step_size * force[i]).collect();
            metric.push(&AlignedVec::from(&next[..]), &mut velocity);
            let ahead: Vec<f64> = (0..dim).map(|i| position[i] + step_size * velocity[i]).collect();
            let mut bits = Vec::new();
            for level in Level::available() {
                let (mut half, mut found) = (half.clone(), AlignedVec::zeros(dim));
                let (mut momentum, mut force) = (AlignedVec::zeros(dim), AlignedVec::zeros(dim));
                let norm2 = level.run(AdvanceLowRank {
                    dim,
                    step_size,
                    closing,
                    scale: scale.rows(),
                    vectors: vectors.rows(),
                    shift,
                    position: position.rows(),
                    gradient: gradient.rows(),
                    half: half.rows_mut(),
                    ahead: found.rows_mut(),
                    momentum: momentum.rows_mut(),
                    force: force.rows_mut(),
                });
                let expected: f64 = p.iter().map(|x| x * x).sum();
                assert!((norm2 - expected).abs() < 1e-12 * (1.0 + expected), "{dim} {rank}");
                // Sums of at most 40 products of numbers below ten.
                for (found, expected) in [(&momentum, &p), (&half, &next), (&found, &ahead)] {
                    let pairs = found.iter().zip(expected);
                    assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-11), "{dim} {rank}");
                }
                bits.push(found);
            }
            assert!(bits.windows(2).all(|pair| pair[0] == pair[1]), "levels differ");
        }
    }

    /// Padding that is not zero would make every later energy NaN.
    #[test]
    fn infinite_derivatives_leave_the_padding_zero() {
        for dim in [3, 11, 19] {
            let inverse = InverseMetric::LowRank {
                scale: vec![1.0; dim],
                vectors: (0..dim).map(|i| f64::from(u8::from(i == 1))).collect(),
                values: vec![5.0],
            };
            let metric = Metric::new(inverse).unwrap();
            let (scale, vectors, shift) = metric.low_rank_parts().unwrap();
            let mut gradient = wave(dim, 0.0);
            gradient[1] = f64::INFINITY;
            let (position, mut half) = (wave(dim, 1.0), wave(dim, 2.0));
            let (mut ahead, mut momentum) = (AlignedVec::zeros(dim), AlignedVec::zeros(dim));
            let mut force = AlignedVec::zeros(dim);
            let norm2 = metric.level().run(AdvanceLowRank {
                dim,
                step_size: 0.1,
                closing: 0.05,
                scale: scale.rows(),
                vectors: vectors.rows(),
                shift,
                position: position.rows(),
                gradient: gradient.rows(),
                half: half.rows_mut(),
                ahead: ahead.rows_mut(),
                momentum: momentum.rows_mut(),
                force: force.rows_mut(),
            });
            assert!(!norm2.is_finite());
            for rows in [half.rows(), ahead.rows(), momentum.rows(), force.rows()] {
                assert!(rows.as_flattened()[dim..].iter().all(|x| *x == 0.0), "{dim}");
            }
        }
    }
}
