//! Running sums, and arrays joined along an axis.

use exmc_math::simd::Simd;

use super::{Algorithm, Arguments, Kernel};

/// The sum of all elements up to each along an axis, from the end if `reverse`.
pub(super) struct CumSum;

impl Algorithm for CumSum {
    #[inline(always)]
    fn run<S: Simd>(_: S, kernel: &Kernel, args: &Arguments<'_>, out: &mut [f64], _: &mut [f64]) {
        let &Kernel::CumSum { around: [_, n, inner], reverse } = kernel else {
            unreachable!("a running sum")
        };
        if n * inner == 0 {
            return;
        }
        out.copy_from_slice(args.get(0));
        for block in out.chunks_exact_mut(n * inner) {
            for step in 1..n {
                let (row, before) =
                    if reverse { (n - 1 - step, n - step) } else { (step, step - 1) };
                let (low, high) = block.split_at_mut(row.max(before) * inner);
                let low = &mut low[row.min(before) * inner..][..inner];
                let high = &mut high[..inner];
                if reverse { add(low, high) } else { add(high, low) }
            }
        }
    }
}

#[inline(always)]
fn add(target: &mut [f64], source: &[f64]) {
    for (target, &value) in target.iter_mut().zip(source) {
        *target += value;
    }
}

/// Pieces one after the other along an axis.
pub(super) struct Concat;

impl Algorithm for Concat {
    #[inline(always)]
    fn run<S: Simd>(_: S, kernel: &Kernel, args: &Arguments<'_>, out: &mut [f64], _: &mut [f64]) {
        let Kernel::Concat { blocks, widths } = kernel else { unreachable!("joined pieces") };
        let mut start = 0;
        for block in 0..*blocks {
            for (k, &width) in widths.iter().enumerate() {
                let piece = &args.get(k)[block * width..(block + 1) * width];
                out[start..start + width].copy_from_slice(piece);
                start += width;
            }
        }
    }
}
