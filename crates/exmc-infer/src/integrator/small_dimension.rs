//! Leapfrog steps in up to sixteen dimensions: a gradient -> the next position and momentum, in one
//! kernel.
//!
//! There the two maps of any metric that is not diagonal are cheapest as small matrices, whatever
//! they were made of: a sum of columns waits for no inner product, and everything between two
//! gradients stays in registers.

use exmc_math::simd::{Kernel, Simd};

use crate::linalg::aligned_vector::{AlignedVec, LANES, Row, rows_for};
use crate::linalg::kernels::add_scaled;

/// Rows of lanes of the longest vectors that go through these kernels.
pub(crate) const MAX_ROWS: usize = 2;

/// The maps $L^\top$, $L$ and $LL^\top$ of a metric by their columns, each in whole rows of lanes.
#[derive(Clone, Debug)]
pub(crate) struct SmallMaps {
    /// Numbers of a column, zeros behind its elements included.
    stride: usize,
    pull: AlignedVec,
    push: AlignedVec,
    /// From a force to the change of the velocity, so that it need not wait for that of the
    /// momentum.
    inverse: AlignedVec,
}

impl SmallMaps {
    /// The maps of `dim` dimensions from functions that write column `j` of $L^\top$ and of $L$;
    /// `None` beyond sixteen dimensions.
    pub(crate) fn new(
        dim: usize,
        mut pull: impl FnMut(usize, &mut [f64]),
        mut push: impl FnMut(usize, &mut [f64]),
    ) -> Option<Self> {
        let stride = rows_for(dim) * LANES;
        if !(1..=MAX_ROWS * LANES).contains(&stride) {
            return None;
        }
        let zeros = AlignedVec::zeros(dim * stride);
        let mut maps = Self { stride, pull: zeros.clone(), push: zeros.clone(), inverse: zeros };
        let column = |j: usize| j * stride..j * stride + dim;
        for j in 0..dim {
            pull(j, &mut maps.pull[column(j)]);
            push(j, &mut maps.push[column(j)]);
        }
        for j in 0..dim {
            for k in 0..dim {
                let push_column = &maps.push[column(k)];
                add_scaled(push_column[j], push_column, &mut maps.inverse[column(j)]);
            }
        }
        Some(maps)
    }

    /// Numbers of a column, zeros behind its elements included.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// The columns of $L^\top$.
    pub(crate) fn pull(&self) -> &[f64] {
        self.pull.rows().as_flattened()
    }

    /// The columns of $LL^\top$.
    pub(crate) fn inverse(&self) -> &[f64] {
        self.inverse.rows().as_flattened()
    }
}

/// All that lies between two gradients; see [`Advance`](crate::linalg::kernels::Advance), whose
/// roles these are. `velocity` is $L\,$`half`, which moves on by itself with $LL^\top g$: the next
/// position waits for one product only.
pub(crate) struct AdvanceSmall<'a> {
    pub(crate) dim: usize,
    pub(crate) step_size: f64,
    pub(crate) closing: f64,
    pub(crate) maps: &'a SmallMaps,
    pub(crate) position: &'a [Row],
    pub(crate) gradient: &'a [Row],
    pub(crate) half: &'a mut [Row],
    pub(crate) velocity: &'a mut [Row],
    pub(crate) ahead: &'a mut [Row],
    pub(crate) momentum: &'a mut [Row],
}

impl Kernel for AdvanceSmall<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        if let [_] = self.position {
            self.in_rows::<S, 1>(s)
        } else {
            self.in_rows::<S, MAX_ROWS>(s)
        }
    }
}

impl AdvanceSmall<'_> {
    #[inline(always)]
    fn in_rows<S: Simd, const N: usize>(self, s: S) -> f64 {
        let Self { dim, maps, position, gradient, half, velocity, ahead, momentum, .. } = self;
        let (position, gradient) = (&position[..N], &gradient.as_flattened()[..dim]);
        let (half, velocity) = (&mut half[..N], &mut velocity[..N]);
        let (ahead, momentum) = (&mut ahead[..N], &mut momentum[..N]);
        let (opening, closing) = (s.splat(0.5 * self.step_size), s.splat(self.closing));
        let (step, both) = (s.splat(self.step_size), s.splat(0.5 * self.step_size + self.closing));
        let change = columns::<S, N>(s, maps.inverse.rows(), gradient);
        for i in 0..N {
            let next = s.fma(both, change[i], s.load(&velocity[i]));
            s.store(next, &mut velocity[i]);
            s.store(s.fma(step, next, s.load(&position[i])), &mut ahead[i]);
        }
        let force = columns::<S, N>(s, maps.pull.rows(), gradient);
        let mut lanes = s.splat(0.0);
        for i in 0..N {
            let p = s.fma(closing, force[i], s.load(&half[i]));
            lanes = s.fma(p, p, lanes);
            s.store(p, &mut momentum[i]);
            s.store(s.fma(opening, force[i], p), &mut half[i]);
        }
        let norm2 = s.total(lanes);
        if !norm2.is_finite() {
            // An infinite derivative times the zeros that pad the columns.
            for rows in [half, velocity, ahead, momentum] {
                rows.as_flattened_mut()[dim..].fill(0.0);
            }
        }
        norm2
    }
}

/// The first half step in both directions of time; see [`Depart`](crate::linalg::kernels::Depart),
/// whose roles these are.
pub(crate) struct DepartSmall<'a> {
    pub(crate) dim: usize,
    pub(crate) step_size: f64,
    pub(crate) maps: &'a SmallMaps,
    pub(crate) position: &'a [Row],
    pub(crate) gradient: &'a [Row],
    pub(crate) momentum: &'a [Row],
    /// Backward in time and forward.
    pub(crate) ends: [Departing<'a>; 2],
}

/// What [`DepartSmall`] writes at one end.
pub(crate) struct Departing<'a> {
    pub(crate) half: &'a mut [Row],
    pub(crate) velocity: &'a mut [Row],
    pub(crate) ahead: &'a mut [Row],
}

impl Kernel for DepartSmall<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        if let [_] = self.position {
            self.in_rows::<S, 1>(s);
        } else {
            self.in_rows::<S, MAX_ROWS>(s);
        }
    }
}

impl DepartSmall<'_> {
    #[inline(always)]
    fn in_rows<S: Simd, const N: usize>(self, s: S) {
        let Self { dim, maps, position, gradient, momentum, ends, .. } = self;
        let force = columns::<S, N>(s, maps.pull.rows(), &gradient.as_flattened()[..dim]);
        let mut step = -self.step_size;
        for Departing { half, velocity: velocities, ahead } in ends {
            let opening = s.splat(0.5 * step);
            let mut finite = s.splat(0.0);
            for i in 0..N {
                let p = s.fma(opening, force[i], s.load(&momentum[i]));
                s.store(p, &mut half[i]);
                finite = s.add(finite, s.sub(p, p));
            }
            let velocity = columns::<S, N>(s, maps.push.rows(), &half.as_flattened()[..dim]);
            for i in 0..N {
                s.store(velocity[i], &mut velocities[i]);
                s.store(s.fma(s.splat(step), velocity[i], s.load(&position[i])), &mut ahead[i]);
            }
            if s.total(finite) != 0.0 {
                // An infinite derivative times the zeros that pad the columns.
                for rows in [half, velocities, ahead] {
                    rows.as_flattened_mut()[dim..].fill(0.0);
                }
            }
            step = -step;
        }
    }
}

/// The sum of the columns, each of N rows of lanes, times the numbers of `x`: those at even and at
/// odd places apart.
#[inline(always)]
fn columns<S: Simd, const N: usize>(s: S, columns: &[Row], x: &[f64]) -> [S::Vector; N] {
    let mut even = [s.splat(0.0); N];
    let mut odd = even;
    let (pairs, rest) = x.as_chunks::<2>();
    let (of_pairs, of_rest) = columns.split_at(2 * N * pairs.len());
    for (x, column) in pairs.iter().zip(of_pairs.chunks_exact(2 * N)) {
        let (a, b) = (s.splat(x[0]), s.splat(x[1]));
        for i in 0..N {
            even[i] = s.fma(s.load(&column[i]), a, even[i]);
            odd[i] = s.fma(s.load(&column[N + i]), b, odd[i]);
        }
    }
    for (x, column) in rest.iter().zip(of_rest.chunks_exact(N)) {
        for i in 0..N {
            even[i] = s.fma(s.load(&column[i]), s.splat(*x), even[i]);
        }
    }
    for i in 0..N {
        even[i] = s.add(even[i], odd[i]);
    }
    even
}

#[cfg(test)]
mod tests {
    use exmc_math::simd::Level;

    use super::*;
    use crate::InverseMetric;
    use crate::metric::whitening::Metric;

    fn wave(n: usize, phase: f64) -> AlignedVec {
        (0..n).map(|i| libm::sin(1.0 + phase + i as f64 * 0.7)).collect::<Vec<f64>>().into()
    }

    /// A dense metric and one of low rank for every number of dimensions that goes through the
    /// kernels.
    fn metrics() -> impl Iterator<Item = (usize, Metric)> {
        (1..=MAX_ROWS * LANES).flat_map(|dim| {
            let covariance = (0..dim * dim)
                .map(|index| {
                    let (i, j) = (index / dim, index % dim);
                    libm::cos(i.abs_diff(j) as f64) + if i == j { dim as f64 } else { 0.0 }
                })
                .collect();
            let normal = wave(dim, 1.0);
            let norm2: f64 = normal.iter().map(|x| x * x).sum();
            let entry = |k: usize, i: usize| {
                f64::from(u8::from(i == k)) - 2.0 * normal[k] * normal[i] / norm2
            };
            let rank = dim.div_ceil(3);
            let low_rank = InverseMetric::LowRank {
                scale: (0..dim).map(|i| 0.5 + i as f64 / 7.0).collect(),
                vectors: (0..rank * dim).map(|index| entry(index / dim, index % dim)).collect(),
                values: (0..rank).map(|k| 0.3 + k as f64).collect(),
            };
            [InverseMetric::Dense { dim, covariance }, low_rank]
                .map(|inverse| (dim, Metric::new(inverse).expect("positive definite")))
        })
    }

    fn step(
        level: Level,
        maps: &SmallMaps,
        position: &AlignedVec,
        gradient: &AlignedVec,
        half: &mut AlignedVec,
        velocity: &mut AlignedVec,
    ) -> (f64, [AlignedVec; 2]) {
        let dim = position.len();
        let (mut ahead, mut momentum) = (AlignedVec::zeros(dim), AlignedVec::zeros(dim));
        let norm2 = level.run(AdvanceSmall {
            dim,
            step_size: 0.3,
            closing: 0.1,
            maps,
            position: position.rows(),
            gradient: gradient.rows(),
            half: half.rows_mut(),
            velocity: velocity.rows_mut(),
            ahead: ahead.rows_mut(),
            momentum: momentum.rows_mut(),
        });
        (norm2, [ahead, momentum])
    }

    /// Against the two maps of the metric, at every level.
    #[test]
    fn a_step_is_two_kicks_and_a_drift() {
        for (dim, metric) in metrics() {
            let maps = metric.small_maps().expect("few dimensions");
            let (position, gradient, half) = (wave(dim, 2.0), wave(dim, 3.0), wave(dim, 4.0));
            let (mut force, mut velocity) = (AlignedVec::zeros(dim), AlignedVec::zeros(dim));
            let mut before = AlignedVec::zeros(dim);
            metric.push(&half, &mut before);
            metric.pull(&gradient, &mut force);
            let p: Vec<f64> = (0..dim).map(|i| half[i] + 0.1 * force[i]).collect();
            let next: Vec<f64> = (0..dim).map(|i| p[i] + 0.15 * force[i]).collect();
            metric.push(&AlignedVec::from(&next[..]), &mut velocity);
            let expected: Vec<f64> = (0..dim).map(|i| position[i] + 0.3 * velocity[i]).collect();
            let mut bits = Vec::new();
            for level in Level::available() {
                let (mut half, mut moved) = (half.clone(), before.clone());
                let (norm2, [ahead, momentum]) =
                    step(level, maps, &position, &gradient, &mut half, &mut moved);
                let square: f64 = p.iter().map(|x| x * x).sum();
                assert!((norm2 - square).abs() < 1e-12 * (1.0 + square), "{dim}");
                let velocity = &velocity[..];
                for (found, expected) in
                    [(&momentum, &p[..]), (&half, &next), (&ahead, &expected), (&moved, velocity)]
                {
                    let pairs = found.iter().zip(expected);
                    // Sums of at most 256 products of numbers below twenty.
                    assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-11), "{metric:?}");
                    assert!(found.rows().as_flattened()[dim..].iter().all(|x| *x == 0.0));
                }
                bits.push((ahead, momentum, half, moved));
            }
            assert!(bits.windows(2).all(|pair| pair[0] == pair[1]), "levels differ");
        }
    }

    /// Half a step forward and half a step backward, by the two maps of the metric; an infinite
    /// derivative leaves the padding zero, which would make every later energy NaN.
    #[test]
    fn departures_are_half_a_kick_and_a_drift_each() {
        for (dim, metric) in metrics() {
            for infinite in [false, true] {
                let (position, mut gradient) = (wave(dim, 2.0), wave(dim, 3.0));
                let momentum = wave(dim, 4.0);
                if infinite {
                    gradient[0] = f64::INFINITY;
                }
                let mut halves = [AlignedVec::zeros(dim), AlignedVec::zeros(dim)];
                let (mut positions, mut velocities) = (halves.clone(), halves.clone());
                let places = halves.iter_mut().zip(&mut positions).zip(&mut velocities);
                let ends = places.map(|((half, ahead), velocity)| Departing {
                    half: half.rows_mut(),
                    velocity: velocity.rows_mut(),
                    ahead: ahead.rows_mut(),
                });
                metric.level().run(DepartSmall {
                    dim,
                    step_size: 0.3,
                    maps: metric.small_maps().expect("few dimensions"),
                    position: position.rows(),
                    gradient: gradient.rows(),
                    momentum: momentum.rows(),
                    ends: ends.collect::<Vec<_>>().try_into().ok().expect("two ends"),
                });
                for rows in halves.iter().chain(&positions).chain(&velocities) {
                    assert!(rows.rows().as_flattened()[dim..].iter().all(|x| *x == 0.0));
                }
                if infinite {
                    assert!(halves.iter().all(|half| !half[0].is_finite()));
                    continue;
                }
                let (mut force, mut velocity) = (AlignedVec::zeros(dim), AlignedVec::zeros(dim));
                metric.pull(&gradient, &mut force);
                for (k, step) in [-0.3, 0.3].into_iter().enumerate() {
                    let (half, reached) = (&halves[k], &positions[k]);
                    let expected: Vec<f64> =
                        (0..dim).map(|i| momentum[i] + 0.5 * step * force[i]).collect();
                    metric.push(&AlignedVec::from(&expected[..]), &mut velocity);
                    for i in 0..dim {
                        assert!((half[i] - expected[i]).abs() < 1e-12, "{dim} {i}");
                        let drift = reached[i] - position[i] - step * velocity[i];
                        assert!(drift.abs() < 1e-12, "{dim} {i}");
                        assert!((velocities[k][i] - velocity[i]).abs() < 1e-12, "{dim} {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn infinite_derivatives_leave_the_padding_zero() {
        for (dim, metric) in metrics() {
            let mut gradient = wave(dim, 0.0);
            gradient[dim / 2] = f64::INFINITY;
            let (position, mut half, mut velocity) =
                (wave(dim, 1.0), wave(dim, 2.0), wave(dim, 3.0));
            let maps = metric.small_maps().expect("few dimensions");
            let (norm2, [ahead, momentum]) =
                step(metric.level(), maps, &position, &gradient, &mut half, &mut velocity);
            assert!(!norm2.is_finite());
            for rows in [half.rows(), velocity.rows(), ahead.rows(), momentum.rows()] {
                assert!(rows.as_flattened()[dim..].iter().all(|x| *x == 0.0), "{dim}");
            }
        }
    }

    #[test]
    fn many_dimensions_have_no_small_maps() {
        let covariance =
            |n: usize| (0..n * n).map(move |index| f64::from(u8::from(index % (n + 1) == 0)));
        let dense = |dim| InverseMetric::Dense { dim, covariance: covariance(dim).collect() };
        let has_maps = |inverse| Metric::new(inverse).unwrap().small_maps().is_some();
        assert!(!has_maps(dense(0)) && has_maps(dense(16)) && !has_maps(dense(17)));
        assert!(!has_maps(InverseMetric::identity(4)), "a diagonal has kernels of its own");
    }
}
