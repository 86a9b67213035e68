//! Reductions over neighbouring axes: an array -> sums, extremes or logs of sums of exponentials.

use exmc_graph::Reduction;
use exmc_math::simd::{Simd, vector};

use super::{Algorithm, Arguments, Kernel};

pub(super) struct Reduce;

impl Algorithm for Reduce {
    #[inline(always)]
    fn run<S: Simd>(
        s: S,
        kernel: &Kernel,
        args: &Arguments<'_>,
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        let &Kernel::Reduce(reduction, [_, n, inner]) = kernel else { unreachable!("a reduction") };
        let x = args.get(0);
        if n * inner == 0 {
            let nothing = match reduction {
                Reduction::Sum => 0.0,
                Reduction::Max | Reduction::LogSumExp => f64::NEG_INFINITY,
                Reduction::Min => f64::INFINITY,
            };
            out.fill(nothing);
        } else if inner == 1 {
            for (row, target) in x.chunks_exact(n).zip(out) {
                *target = match reduction {
                    Reduction::Sum => sum(s, row),
                    Reduction::Max => largest(s, row),
                    Reduction::Min => extreme::<S, false>(s, row),
                    Reduction::LogSumExp => log_sum_exp(s, row),
                };
            }
        } else {
            for (rows, target) in x.chunks_exact(n * inner).zip(out.chunks_exact_mut(inner)) {
                match reduction {
                    Reduction::Sum => sums(rows, target),
                    Reduction::Max => extremes::<true>(rows, target),
                    Reduction::Min => extremes::<false>(rows, target),
                    Reduction::LogSumExp => logs_of_sums(s, rows, target, scratch),
                }
            }
        }
    }
}

/// Eight lanes, what is left over one after the other.
#[inline(always)]
fn sum<S: Simd>(s: S, row: &[f64]) -> f64 {
    let (lines, rest) = row.as_chunks::<8>();
    let mut total = s.splat(0.0);
    for line in lines {
        total = s.add(total, s.load(line));
    }
    let mut sum = s.total(total);
    for &value in rest {
        sum += value;
    }
    sum
}

/// The largest; NaN if any is.
#[inline(always)]
fn largest<S: Simd>(s: S, row: &[f64]) -> f64 {
    extreme::<S, true>(s, row)
}

/// The largest, or the smallest; NaN if any is.
#[inline(always)]
fn extreme<S: Simd, const LARGEST: bool>(s: S, row: &[f64]) -> f64 {
    let (lines, rest) = row.as_chunks::<8>();
    let worst = if LARGEST { f64::NEG_INFINITY } else { f64::INFINITY };
    let mut best = s.splat(worst);
    let mut ordinary = s.le(best, best);
    for line in lines {
        let x = s.load(line);
        ordinary = s.both(ordinary, s.eq(x, x));
        best = if LARGEST { s.max(best, x) } else { s.min(best, x) };
    }
    if !s.all(ordinary) {
        return f64::NAN;
    }
    let mut result = worst;
    for &value in s.to_array(best).iter().chain(rest) {
        result = if LARGEST { larger(result, value) } else { smaller(result, value) };
    }
    result
}

/// The larger of both; NaN if either is; the first on ties.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}

/// The smaller of both; NaN if either is; the first on ties.
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a <= b || a.is_nan() { a } else { b }
}

/// The largest and the log of the sum of the others' exponentials relative to it; the largest
/// itself where it is not finite.
#[inline(always)]
fn log_sum_exp<S: Simd>(s: S, row: &[f64]) -> f64 {
    let largest = largest(s, row);
    if !largest.is_finite() {
        return largest;
    }
    let offset = s.splat(largest);
    let (lines, rest) = row.as_chunks::<8>();
    let mut total = s.splat(0.0);
    for line in lines {
        total = s.add(total, vector::exp(s, s.sub(s.load(line), offset)));
    }
    // What is missing in the last line adds nothing.
    let mut last = [f64::NEG_INFINITY; 8];
    last[..rest.len()].copy_from_slice(rest);
    total = s.add(total, vector::exp(s, s.sub(s.load(&last), offset)));
    largest + exmc_math::log(s.total(total))
}

#[inline(always)]
fn sums(rows: &[f64], target: &mut [f64]) {
    target.fill(0.0);
    for row in rows.chunks_exact(target.len()) {
        for (sum, &value) in target.iter_mut().zip(row) {
            *sum += value;
        }
    }
}

#[inline(always)]
fn extremes<const MAX: bool>(rows: &[f64], target: &mut [f64]) {
    target.fill(if MAX { f64::NEG_INFINITY } else { f64::INFINITY });
    for row in rows.chunks_exact(target.len()) {
        for (extreme, &value) in target.iter_mut().zip(row) {
            *extreme = if MAX { larger(*extreme, value) } else { smaller(*extreme, value) };
        }
    }
}

/// [`log_sum_exp`] of columns side by side.
#[inline(always)]
fn logs_of_sums<S: Simd>(s: S, rows: &[f64], target: &mut [f64], totals: &mut [f64]) {
    extremes::<true>(rows, target);
    totals.fill(0.0);
    let width = target.len();
    for row in rows.chunks_exact(width) {
        let mut start = 0;
        while start < width {
            let end = width.min(start + 8);
            let (mut x, mut offset) = ([f64::NEG_INFINITY; 8], [0.0; 8]);
            x[..end - start].copy_from_slice(&row[start..end]);
            offset[..end - start].copy_from_slice(&target[start..end]);
            let terms = s.to_array(vector::exp(s, s.sub(s.load(&x), s.load(&offset))));
            for (total, &term) in totals[start..end].iter_mut().zip(&terms) {
                *total += term;
            }
            start = end;
        }
    }
    for (target, &total) in target.iter_mut().zip(&*totals) {
        if target.is_finite() {
            *target += exmc_math::log(total);
        }
    }
}
