//! Adding up: reductions over axes and running sums, in one fixed order.

use exmc_math::{exp, log1p};

use super::{Arg, around};
use crate::op::Reduction;
use crate::tensor::Shape;

/// A sum of many numbers in eight interleaved partial sums, so that its order, and with it every
/// bit, is the same for any vector width: number k goes to lane k mod 8, and the lanes are added as
/// `((0+4)+(2+6)) + ((1+5)+(3+7))`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lanes([f64; 8]);

impl Lanes {
    /// Adds number `k` of the sequence.
    #[inline(always)]
    pub fn add(&mut self, k: usize, value: f64) {
        self.0[k % 8] += value;
    }

    /// The sum so far.
    #[inline(always)]
    pub fn total(&self) -> f64 {
        let l = &self.0;
        ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
    }

    /// The sum of a slice.
    pub fn sum(x: &[f64]) -> f64 {
        let mut lanes = Self::default();
        let (chunks, tail) = x.as_chunks::<8>();
        for chunk in chunks {
            for (lane, value) in lanes.0.iter_mut().zip(chunk) {
                *lane += value;
            }
        }
        for (lane, value) in lanes.0.iter_mut().zip(tail) {
            *lane += value;
        }
        lanes.total()
    }

    /// The dot product of two slices of one length.
    pub fn dot(a: &[f64], b: &[f64]) -> f64 {
        let mut lanes = Self::default();
        let (a, a_tail) = a.as_chunks::<8>();
        let (b, b_tail) = b.as_chunks::<8>();
        for (a, b) in a.iter().zip(b) {
            for k in 0..8 {
                lanes.0[k] += a[k] * b[k];
            }
        }
        for (lane, (a, b)) in lanes.0.iter_mut().zip(a_tail.iter().zip(b_tail)) {
            *lane += a * b;
        }
        lanes.total()
    }
}

/// Reduces `axes` (ascending). An element's terms are taken in row-major order.
pub(super) fn reduce(op: Reduction, x: Arg<'_>, axes: &[usize], out: &mut [f64]) {
    let extents = x.shape.extents();
    let consecutive = axes.windows(2).all(|pair| pair[1] == pair[0] + 1);
    match (axes.first(), axes.last()) {
        (Some(&first), Some(&last)) if consecutive => {
            let n: usize = extents[first..=last].iter().product();
            let inner: usize = extents[last + 1..].iter().product();
            for (k, target) in out.iter_mut().enumerate() {
                let base = (k / inner) * n * inner + k % inner;
                *target = if inner == 1 {
                    reduce_row(op, &x.values[base..base + n])
                } else {
                    reduce_terms(op, |term| {
                        for i in 0..n {
                            term(x.values[base + i * inner]);
                        }
                    })
                };
            }
        }
        (None, _) => {
            // One term an element.
            for (target, value) in out.iter_mut().zip(x.values) {
                *target = reduce_row(op, std::slice::from_ref(value));
            }
        }
        _ => {
            let mut k = 0;
            visit(x.shape, axes, false, 0, 0, &mut |base| {
                out[k] = reduce_terms(op, |term| {
                    visit(x.shape, axes, true, 0, base, &mut |offset| term(x.values[offset]));
                });
                k += 1;
            });
        }
    }
}

/// Calls `f` with the offset of every index of the axes that are in `axes` (or are not).
fn visit(
    shape: &Shape,
    axes: &[usize],
    inside: bool,
    axis: usize,
    base: usize,
    f: &mut dyn FnMut(usize),
) {
    if axis == shape.rank() {
        f(base);
    } else if axes.contains(&axis) == inside {
        let [_, extent, stride] = around(shape, axis);
        for k in 0..extent {
            visit(shape, axes, inside, axis + 1, base + k * stride, f);
        }
    } else {
        visit(shape, axes, inside, axis + 1, base, f);
    }
}

fn reduce_row(op: Reduction, x: &[f64]) -> f64 {
    match op {
        Reduction::Sum => Lanes::sum(x),
        Reduction::LogSumExp => reduce_terms(op, |term| x.iter().for_each(|&v| term(v))),
        Reduction::Max => x.iter().copied().fold(f64::NEG_INFINITY, larger),
        Reduction::Min => x.iter().copied().fold(f64::INFINITY, smaller),
    }
}

/// The same for terms that are not neighbours; `each` calls its argument with every term in order.
fn reduce_terms(op: Reduction, each: impl Fn(&mut dyn FnMut(f64))) -> f64 {
    let fold = |start: f64, f: fn(f64, f64) -> f64| {
        let mut result = start;
        each(&mut |v| result = f(result, v));
        result
    };
    match op {
        Reduction::Sum => {
            let (mut lanes, mut k) = (Lanes::default(), 0);
            each(&mut |v| {
                lanes.add(k, v);
                k += 1;
            });
            lanes.total()
        }
        Reduction::LogSumExp => {
            let largest = fold(f64::NEG_INFINITY, larger);
            if !largest.is_finite() {
                return largest;
            }
            // The largest term is one exactly; log1p adds it, so that small other terms count.
            let (mut lanes, mut k, mut left_out) = (Lanes::default(), 0, false);
            each(&mut |v| {
                if v == largest && !left_out {
                    left_out = true;
                } else {
                    lanes.add(k, exp(v - largest));
                }
                k += 1;
            });
            largest + log1p(lanes.total())
        }
        Reduction::Max => fold(f64::NEG_INFINITY, larger),
        Reduction::Min => fold(f64::INFINITY, smaller),
    }
}

/// The larger of both; NaN if either is; the first on ties.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}

/// The smaller of both; NaN if either is; the first on ties.
pub(super) fn smaller(a: f64, b: f64) -> f64 {
    if a <= b || a.is_nan() { a } else { b }
}

pub(super) fn cumulative_sum(x: Arg<'_>, axis: usize, reverse: bool, out: &mut [f64]) {
    let [blocks, n, inner] = around(x.shape, axis);
    for block in 0..blocks {
        for i in 0..inner {
            let mut sum = 0.0;
            for k in 0..n {
                let position = if reverse { n - 1 - k } else { k };
                let offset = (block * n + position) * inner + i;
                sum += x.values[offset];
                out[offset] = sum;
            }
        }
    }
}
