//! Leapfrog steps with a metric of few directions: a gradient -> the next position and momentum, in one kernel.
//!
//! Up to sixteen dimensions everything stays in registers: there a step is a chain of short sums, and every
//! vector that goes through memory in between adds its latency to it.

use exmc_math::simd::{Kernel, Simd};

use crate::maps::stretch;
use crate::padded::Row;

/// All that lies between two gradients with $L = D(I + V^\top \mathrm{diag}(s) V)$; see
/// [`Advance`](crate::vector::Advance), whose roles these are. `force` is room for $L^\top g$ and then for the
/// velocity.
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
        let norm2 = match self.scale.len() {
            1 => self.in_registers::<S, 1>(s),
            2 => self.in_registers::<S, 2>(s),
            _ => self.in_memory(s),
        };
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
    fn in_registers<S: Simd, const N: usize>(&mut self, s: S) -> f64 {
        let zero = s.splat(0.0);
        let (opening, closing) = (s.splat(0.5 * self.step_size), s.splat(self.closing));
        let step = s.splat(self.step_size);
        let mut x = [zero; N];
        for (i, x) in x.iter_mut().enumerate() {
            *x = s.mul(s.load(&self.scale[i]), s.load(&self.gradient[i]));
        }
        stretch_in_registers(s, self.shift, self.vectors, &mut x);
        let mut lanes = zero;
        for (i, x) in x.iter_mut().enumerate() {
            let p = s.fma(closing, *x, s.load(&self.half[i]));
            *x = s.fma(opening, *x, p);
            lanes = s.fma(p, p, lanes);
            s.store(p, &mut self.momentum[i]);
            s.store(*x, &mut self.half[i]);
        }
        stretch_in_registers(s, self.shift, self.vectors, &mut x);
        for (i, x) in x.into_iter().enumerate() {
            let velocity = s.mul(s.load(&self.scale[i]), x);
            s.store(s.fma(step, velocity, s.load(&self.position[i])), &mut self.ahead[i]);
        }
        s.total(lanes)
    }

    #[inline(always)]
    fn in_memory<S: Simd>(&mut self, s: S) -> f64 {
        let n = self.scale.len();
        let (position, gradient) = (&self.position[..n], &self.gradient[..n]);
        let (half, ahead) = (&mut self.half[..n], &mut self.ahead[..n]);
        let (momentum, force) = (&mut self.momentum[..n], &mut self.force[..n]);
        let (opening, closing) = (s.splat(0.5 * self.step_size), s.splat(self.closing));
        let step = s.splat(self.step_size);
        for i in 0..n {
            s.store(s.mul(s.load(&self.scale[i]), s.load(&gradient[i])), &mut force[i]);
        }
        stretch(s, self.shift, self.vectors, force);
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
        stretch(s, self.shift, self.vectors, force);
        for i in 0..n {
            let velocity = s.mul(s.load(&self.scale[i]), s.load(&force[i]));
            s.store(s.fma(step, velocity, s.load(&position[i])), &mut ahead[i]);
        }
        s.total(lanes)
    }
}

/// The first half step in both directions of time, for vectors that fit in registers; see
/// [`Depart`](crate::vector::Depart), whose roles these are.
pub(crate) struct DepartLowRank<'a> {
    pub(crate) dim: usize,
    pub(crate) step_size: f64,
    pub(crate) scale: &'a [Row],
    pub(crate) vectors: &'a [Row],
    pub(crate) shift: &'a [f64],
    pub(crate) position: &'a [Row],
    pub(crate) gradient: &'a [Row],
    pub(crate) momentum: &'a [Row],
    /// `half` and `ahead`, backward in time and forward.
    pub(crate) ends: [(&'a mut [Row], &'a mut [Row]); 2],
}

/// Rows of lanes that [`DepartLowRank`] takes.
pub(crate) const MOST_ROWS_IN_REGISTERS: usize = 2;

impl Kernel for DepartLowRank<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.scale.len() {
            1 => self.in_registers::<S, 1>(s),
            _ => self.in_registers::<S, MOST_ROWS_IN_REGISTERS>(s),
        }
    }
}

impl DepartLowRank<'_> {
    #[inline(always)]
    fn in_registers<S: Simd, const N: usize>(self, s: S) {
        let mut force = [s.splat(0.0); N];
        for (i, x) in force.iter_mut().enumerate() {
            *x = s.mul(s.load(&self.scale[i]), s.load(&self.gradient[i]));
        }
        stretch_in_registers(s, self.shift, self.vectors, &mut force);
        let mut finite = s.splat(0.0);
        let mut step = -self.step_size;
        for (half, ahead) in self.ends {
            let opening = s.splat(0.5 * step);
            let mut x = force;
            for (i, x) in x.iter_mut().enumerate() {
                *x = s.fma(opening, *x, s.load(&self.momentum[i]));
                s.store(*x, &mut half[i]);
            }
            stretch_in_registers(s, self.shift, self.vectors, &mut x);
            for (i, x) in x.into_iter().enumerate() {
                let velocity = s.mul(s.load(&self.scale[i]), x);
                s.store(s.fma(s.splat(step), velocity, s.load(&self.position[i])), &mut ahead[i]);
                finite = s.add(finite, s.sub(x, x));
            }
            if s.total(finite) != 0.0 {
                // An infinite derivative times the zeros that pad the vectors.
                for rows in [half, ahead] {
                    rows.as_flattened_mut()[self.dim..].fill(0.0);
                }
            }
            step = -step;
        }
    }
}

/// [`stretch`](crate::maps::stretch) of a vector of N rows of lanes.
#[inline(always)]
fn stretch_in_registers<S: Simd, const N: usize>(
    s: S,
    shift: &[f64],
    vectors: &[Row],
    x: &mut [S::Vector; N],
) {
    let (twos, rest) = shift.as_chunks::<2>();
    let (of_twos, of_rest) = vectors.split_at(2 * twos.len() * N);
    for (shift, v) in twos.iter().zip(of_twos.chunks_exact(2 * N)) {
        along::<S, N, 2>(s, shift, v, x);
    }
    for (shift, v) in rest.iter().zip(of_rest.chunks_exact(N)) {
        along::<S, N, 1>(s, &[*shift], v, x);
    }
}

/// Adds to `x` its components along K orthonormal vectors, each times its shift.
#[inline(always)]
fn along<S: Simd, const N: usize, const K: usize>(
    s: S,
    shift: &[f64; K],
    vectors: &[Row],
    x: &mut [S::Vector; N],
) {
    let mut sums = [s.splat(0.0); K];
    for (sum, v) in sums.iter_mut().zip(vectors.chunks_exact(N)) {
        for (v, x) in v.iter().zip(&*x) {
            *sum = s.fma(s.load(v), *x, *sum);
        }
    }
    for ((sum, shift), v) in sums.into_iter().zip(shift).zip(vectors.chunks_exact(N)) {
        let c = s.splat(shift * s.total(sum));
        for (v, x) in v.iter().zip(&mut *x) {
            *x = s.fma(c, s.load(v), *x);
        }
    }
}

#[cfg(test)]
mod tests {
    use exmc_math::simd::Level;

    use super::*;
    use crate::InverseMetric;
    use crate::padded::Padded;
    use crate::whitening::Metric;

    fn wave(n: usize, phase: f64) -> Padded {
        (0..n).map(|i| libm::sin(1.0 + phase + i as f64 * 0.7)).collect::<Vec<f64>>().into()
    }

    /// A step in registers and one in memory against the two maps of the metric, at every level.
    #[test]
    fn a_step_is_two_kicks_and_a_drift() {
        for (dim, rank) in [(1, 1), (5, 2), (8, 0), (10, 3), (16, 5), (17, 5), (40, 11)] {
            let normal = wave(dim, 1.0);
            let norm2: f64 = normal.iter().map(|x| x * x).sum();
            let entry = |k: usize, i: usize| {
                f64::from(u8::from(i == k)) - 2.0 * normal[k] * normal[i] / norm2
            };
            let vectors: Vec<f64> = (0..rank * dim).map(|at| entry(at / dim, at % dim)).collect();
            let values: Vec<f64> = (0..rank).map(|k| 0.3 + k as f64).collect();
            let scale: Vec<f64> = (0..dim).map(|i| 0.5 + i as f64 / 7.0).collect();
            let inverse = InverseMetric::LowRank { scale, vectors, values };
            let metric = Metric::new(inverse).unwrap();
            let (scale, vectors, shift) = metric.low_rank_parts().unwrap();
            let (position, gradient, half) = (wave(dim, 2.0), wave(dim, 3.0), wave(dim, 4.0));
            let (closing, step_size) = (0.1, 0.3);
            let (mut force, mut velocity) = (Padded::zeros(dim), Padded::zeros(dim));
            metric.pull(&gradient, &mut force);
            let p: Vec<f64> = (0..dim).map(|i| half[i] + closing * force[i]).collect();
            let next: Vec<f64> = (0..dim).map(|i| p[i] + 0.5 * step_size * force[i]).collect();
            metric.push(&Padded::from(&next[..]), &mut velocity);
            let ahead: Vec<f64> = (0..dim).map(|i| position[i] + step_size * velocity[i]).collect();
            let mut bits = Vec::new();
            for level in Level::available() {
                let (mut half, mut found) = (half.clone(), Padded::zeros(dim));
                let (mut momentum, mut force) = (Padded::zeros(dim), Padded::zeros(dim));
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

    /// Half a step forward and half a step backward, by the two maps of the metric.
    #[test]
    fn departures_are_half_a_kick_and_a_drift_each() {
        for (dim, rank, infinite) in
            [(1, 1, false), (5, 2, false), (10, 1, false), (16, 3, false), (11, 2, true)]
        {
            let unit = |k: usize, i: usize| f64::from(u8::from(i == (3 * k) % dim));
            let inverse = InverseMetric::LowRank {
                scale: (0..dim).map(|i| 0.5 + i as f64 / 7.0).collect(),
                vectors: (0..rank * dim).map(|at| unit(at / dim, at % dim)).collect(),
                values: (0..rank).map(|k| 0.3 + k as f64).collect(),
            };
            let metric = Metric::new(inverse).unwrap();
            let (scale, vectors, shift) = metric.low_rank_parts().unwrap();
            let (position, mut gradient, momentum) =
                (wave(dim, 2.0), wave(dim, 3.0), wave(dim, 4.0));
            if infinite {
                gradient[0] = f64::INFINITY;
            }
            let step_size = 0.3;
            let mut halves = [Padded::zeros(dim), Padded::zeros(dim)];
            let mut positions = halves.clone();
            let [backward, forward] = &mut halves;
            let [behind, ahead] = &mut positions;
            metric.level().run(DepartLowRank {
                dim,
                step_size,
                scale: scale.rows(),
                vectors: vectors.rows(),
                shift,
                position: position.rows(),
                gradient: gradient.rows(),
                momentum: momentum.rows(),
                ends: [
                    (backward.rows_mut(), behind.rows_mut()),
                    (forward.rows_mut(), ahead.rows_mut()),
                ],
            });
            for rows in halves.iter().chain(&positions) {
                assert!(rows.rows().as_flattened()[dim..].iter().all(|x| *x == 0.0));
            }
            if infinite {
                continue;
            }
            let (mut force, mut velocity) = (Padded::zeros(dim), Padded::zeros(dim));
            metric.pull(&gradient, &mut force);
            for (step, (half, at)) in
                [-step_size, step_size].iter().zip(halves.iter().zip(&positions))
            {
                let expected: Vec<f64> =
                    (0..dim).map(|i| momentum[i] + 0.5 * step * force[i]).collect();
                metric.push(&Padded::from(&expected[..]), &mut velocity);
                for i in 0..dim {
                    assert!((half[i] - expected[i]).abs() < 1e-13, "{dim} {rank} {i}");
                    assert!(
                        (at[i] - position[i] - step * velocity[i]).abs() < 1e-13,
                        "{dim} {rank} {i}"
                    );
                }
            }
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
            let (mut ahead, mut momentum) = (Padded::zeros(dim), Padded::zeros(dim));
            let mut force = Padded::zeros(dim);
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
