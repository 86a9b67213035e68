//! Matrix products: two arrays -> rows times columns, as sums of scaled rows or as dot products.

use exmc_math::simd::Simd;

use super::{Algorithm, Arguments, Kernel, small};
use crate::native::program::LANES;

pub(super) struct MatMul;

impl Algorithm for MatMul {
    #[inline(always)]
    fn run<S: Simd>(s: S, kernel: &Kernel, args: &Arguments<'_>, out: &mut [f64], _: &mut [f64]) {
        let &Kernel::MatMul([_, inner, columns]) = kernel else { unreachable!("a product") };
        let (a, b) = (args.get(0), args.get(1));
        if inner == 0 || columns == 0 {
            out.fill(0.0);
        } else if columns == 1 {
            for (row, target) in a.chunks_exact(inner).zip(out) {
                *target = dot(s, row, b);
            }
        } else if columns >= LANES {
            small::product(s, a, b, out, [inner, columns]);
        } else {
            for (row, target) in a.chunks_exact(inner).zip(out.chunks_exact_mut(columns)) {
                target.fill(0.0);
                for (&factor, source) in row.iter().zip(b.chunks_exact(columns)) {
                    add_scaled(target, factor, source);
                }
            }
        }
    }
}

/// `target += factor source`, each element rounded once.
#[inline(always)]
pub(super) fn add_scaled(target: &mut [f64], factor: f64, source: &[f64]) {
    for (target, &value) in target.iter_mut().zip(source) {
        *target = factor.mul_add(value, *target);
    }
}

/// A dot product in eight lanes, what is left over one after the other.
#[inline(always)]
pub(super) fn dot<S: Simd>(s: S, a: &[f64], b: &[f64]) -> f64 {
    let (a_lines, a_rest) = a.as_chunks::<8>();
    let (b_lines, b_rest) = b.as_chunks::<8>();
    let mut rest = 0.0;
    for (&a, &b) in a_rest.iter().zip(b_rest) {
        rest = a.mul_add(b, rest);
    }
    if a_lines.is_empty() {
        return rest;
    }
    let mut sum = s.splat(0.0);
    for (a, b) in a_lines.iter().zip(b_lines) {
        sum = s.fma(s.load(a), s.load(b), sum);
    }
    s.total(sum) + rest
}
