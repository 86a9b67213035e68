//! Mean, variance and standard deviation of draws, in one fixed order of addition.

use exmc_math::simd::{Kernel, Level, Simd};

use crate::draws::Draws;

/// Mean of all draws of all chains.
///
/// **Numerics**: two passes, so that equal draws give that value exactly. **Edges**: NaN or
/// infinite draws, or a sum beyond 1.8e308, give a non-finite mean.
pub fn mean(draws: &Draws) -> f64 {
    mean_of(&draws.iter().collect::<Vec<_>>())
}

/// Sample variance $\frac{1}{S-1}\sum (x-\bar x)^2$ of all $S$ draws of all chains.
///
/// **Edges**: one draw gives NaN; equal draws give exactly 0.
pub fn variance(draws: &Draws) -> f64 {
    let values: Vec<f64> = draws.iter().collect();
    variance_of(&values, mean_of(&values))
}

/// Sample standard deviation: the square root of [`variance`].
pub fn sd(draws: &Draws) -> f64 {
    variance(draws).sqrt()
}

/// Mean in two passes: the second adds the mean of the deviations from the first.
pub(crate) fn mean_of(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let rough = lane_sum(values, |x| x) / n;
    rough + lane_sum(values, |x| x - rough) / n
}

/// Sum of squared deviations from `mean`, over `n - 1`.
pub(crate) fn variance_of(values: &[f64], mean: f64) -> f64 {
    lane_sum(values, |x| (x - mean) * (x - mean)) / (values.len() as f64 - 1.0)
}

/// $\sum_i f(x_i)$ with eight running sums, added up in a fixed order: vectorises, and is more
/// accurate than one sum.
pub(crate) fn lane_sum(values: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    Level::detect().run(LaneSum { values, f })
}

/// $\sum_i a_i b_i$ over the shorter length, with the same fixed order as [`lane_sum`].
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    Level::detect().run(Dot { a: &a[..n], b: &b[..n] })
}

/// Plain code, which the compiler turns into the level's instructions: the same bits at every
/// level.
struct LaneSum<'a, F> {
    values: &'a [f64],
    f: F,
}

impl<F: Fn(f64) -> f64> Kernel for LaneSum<'_, F> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> f64 {
        let mut lanes = [0.0; 8];
        let (blocks, tail) = self.values.as_chunks::<8>();
        for block in blocks {
            for (lane, &x) in lanes.iter_mut().zip(block) {
                *lane += (self.f)(x);
            }
        }
        for (lane, &x) in lanes.iter_mut().zip(tail) {
            *lane += (self.f)(x);
        }
        fold_lanes(lanes)
    }
}

/// Likewise.
struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl Kernel for Dot<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> f64 {
        let mut lanes = [0.0; 8];
        let ((a, a_tail), (b, b_tail)) = (self.a.as_chunks::<8>(), self.b.as_chunks::<8>());
        for (x, y) in a.iter().zip(b) {
            for i in 0..8 {
                lanes[i] += x[i] * y[i];
            }
        }
        for (lane, (x, y)) in lanes.iter_mut().zip(a_tail.iter().zip(b_tail)) {
            *lane += x * y;
        }
        fold_lanes(lanes)
    }
}

fn fold_lanes(l: [f64; 8]) -> f64 {
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_draws_have_variance_exactly_zero() {
        for value in [0.1, 1e-300, 1e17 + 3.0, -7.3] {
            for n in [4, 5, 77, 1000] {
                let values = vec![value; n];
                assert_eq!(mean_of(&values), value);
                assert_eq!(variance_of(&values, mean_of(&values)), 0.0);
            }
        }
    }

    #[test]
    fn small_moments_by_hand() {
        let chains: [&[f64]; 2] = [&[1.0, 2.0], &[3.0, 10.0]];
        let draws = Draws::new(&chains).unwrap();
        assert_eq!(mean(&draws), 4.0);
        assert_eq!(variance(&draws), 50.0 / 3.0);
        assert_eq!(sd(&draws), (50.0f64 / 3.0).sqrt());
    }

    #[test]
    fn dot_takes_every_length() {
        for n in 0..40 {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let exact = (0..n).map(|i| i * i).sum::<i32>();
            assert_eq!(dot(&a, &a), f64::from(exact));
        }
    }
}
