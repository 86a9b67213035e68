//! Arithmetic of explicit steps on eight lanes at a time: slopes and weights -> stages, errors and
//! step lengths.
//!
//! Vectors are padded with zeros to whole blocks of eight lanes. Every lane has its sums in the
//! order of the stages, multiplications and additions rounded one by one, so the bits are those of
//! the formulas at any level.

use super::OdeControl;
use crate::simd::{Simd, vector};

pub(super) use crate::simd::LANES;
/// Memory of a vector in whole blocks.
pub(super) type Row = Vec<f64>;

#[inline(always)]
fn blocks(row: &[f64]) -> &[[f64; LANES]] {
    row.as_chunks().0
}

/// `out = x + h * (weights . slopes)`, or without `x` when there is none; slopes without weight are
/// not read.
#[inline(always)]
pub(super) fn combine<S: Simd>(
    s: S,
    out: &mut [f64],
    x: Option<&[f64]>,
    h: f64,
    (weights, slopes): (&[f64], &[Row]),
) {
    /// So many terms.
    #[inline(always)]
    fn terms<S: Simd, const N: usize>(
        s: S,
        out: &mut [f64],
        x: Option<&[f64]>,
        terms: &[(f64, &[[f64; LANES]])],
    ) {
        let out = out.as_chunks_mut().0;
        let n = out.len();
        let mut rows = [&terms[0].1[..n]; N];
        let mut scales = [s.splat(terms[0].0); N];
        for k in 1..N {
            (rows[k], scales[k]) = (&terms[k].1[..n], s.splat(terms[k].0));
        }
        for (k, out) in out.iter_mut().enumerate() {
            let mut sum = match x {
                Some(x) => s.load(&blocks(x)[k]),
                None => s.splat(0.0),
            };
            for term in 0..N {
                sum = s.add(sum, s.mul(scales[term], s.load(&rows[term][k])));
            }
            s.store(sum, out);
        }
    }
    let mut known: [(f64, &[[f64; LANES]]); 7] = [(0.0, &[]); 7];
    let mut count = 0;
    for (weight, slope) in weights.iter().zip(slopes).filter(|(weight, _)| **weight != 0.0) {
        known[count] = (h * weight, blocks(slope));
        count += 1;
    }
    match count {
        1 => terms::<S, 1>(s, out, x, &known),
        2 => terms::<S, 2>(s, out, x, &known),
        3 => terms::<S, 3>(s, out, x, &known),
        4 => terms::<S, 4>(s, out, x, &known),
        5 => terms::<S, 5>(s, out, x, &known),
        6 => terms::<S, 6>(s, out, x, &known),
        _ => terms::<S, 7>(s, out, x, &known),
    }
}

/// The same with weights that are known when this is compiled: nothing is left of those that are
/// zero.
#[inline(always)]
pub(super) fn combine_known<S: Simd, const N: usize>(
    s: S,
    out: &mut [f64],
    x: Option<&[f64]>,
    h: f64,
    (weights, slopes): (&[f64; N], &[Row; N]),
) {
    // Loops rather than functions of functions: only what is inlined has the level's instructions.
    let out = out.as_chunks_mut().0;
    let n = out.len();
    let mut rows: [&[[f64; LANES]]; N] = [&[]; N];
    let mut scales = [s.splat(0.0); N];
    for k in 0..N {
        (rows[k], scales[k]) = (&blocks(&slopes[k])[..n], s.splat(h * weights[k]));
    }
    for (k, out) in out.iter_mut().enumerate() {
        let mut sum = match x {
            Some(x) => s.load(&blocks(x)[k]),
            None => s.splat(0.0),
        };
        for term in 0..N {
            if weights[term] != 0.0 {
                sum = s.add(sum, s.mul(scales[term], s.load(&rows[term][k])));
            }
        }
        s.store(sum, out);
    }
}

/// The largest ratio of an error to what is allowed; NaN when one of them or of the solution is not
/// finite.
#[inline(always)]
pub(super) fn largest_ratio<S: Simd>(
    s: S,
    control: &OdeControl,
    h: f64,
    [error, x, slope, next]: [&[f64]; 4],
) -> f64 {
    let (absolute, relative, h) =
        (s.splat(control.absolute), s.splat(control.relative), s.splat(h));
    let infinity = s.splat(f64::INFINITY);
    let mut largest = s.splat(0.0);
    let mut lost = false;
    for (((error, x), slope), next) in
        blocks(error).iter().zip(blocks(x)).zip(blocks(slope)).zip(blocks(next))
    {
        let (error, x, slope, next) = (s.load(error), s.load(x), s.load(slope), s.load(next));
        let scale = s.add(s.abs(x), s.abs(s.mul(h, slope)));
        let ratio = s.div(s.abs(error), s.add(absolute, s.mul(relative, scale)));
        let finite = s.both(s.lt(ratio, infinity), s.lt(s.abs(next), infinity));
        lost |= !s.all(finite);
        largest = s.max(ratio, largest);
    }
    let largest = s.to_array(largest).into_iter().fold(0.0, f64::max);
    if lost { f64::NAN } else { largest }
}

/// A positive number to a power between -1 and 0, within a few ulp: every step waits for it.
#[inline(always)]
pub(super) fn power<S: Simd>(s: S, x: f64, exponent: f64) -> f64 {
    let log = vector::log(s, s.splat(x));
    let power = vector::exp(s, s.mul(log, s.splat(exponent)));
    s.to_array(power)[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementary::{log, pow};
    use crate::simd::{Kernel, Level};

    struct Powers;

    impl Kernel for Powers {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            for k in 0..1000 {
                // From the smallest error that counts to one of 1e172.
                let x = 0.00032 * pow(1.5, f64::from(k));
                for exponent in [-0.2, -1.0 / 3.0] {
                    let (found, exact) = (power(s, x, exponent), pow(x, exponent));
                    // The logarithm's rounding counts by its size, of at most 800.
                    let allowed = 1e-15 + 2e-16 * log(x).abs();
                    assert!((found / exact - 1.0).abs() < allowed, "{x}: {found}, not {exact}");
                }
            }
        }
    }

    #[test]
    fn powers_are_exact_to_rounding_at_every_level() {
        Level::available().into_iter().for_each(|level| level.run(Powers));
    }
}
