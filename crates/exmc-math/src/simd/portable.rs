//! Eight lanes as an array, for processors without a level of their own; also the reference of the
//! others.
//!
//! `mul_add` is exactly rounded everywhere, by a library routine where the processor lacks it.

use super::lanes::{Simd, sealed::Sealed};
use super::single::PortableSingle;

/// The token of the portable level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable(());

impl Portable {
    pub(super) fn new() -> Self {
        Portable(())
    }
}

impl Sealed for Portable {}

/// The array of one expression for k = 0 to 7.
macro_rules! each {
    ($k:ident => $e:expr) => {
        [
            each!(@ $k 0 $e), each!(@ $k 1 $e), each!(@ $k 2 $e), each!(@ $k 3 $e),
            each!(@ $k 4 $e), each!(@ $k 5 $e), each!(@ $k 6 $e), each!(@ $k 7 $e),
        ]
    };
    (@ $k:ident $value:literal $e:expr) => {{
        let $k = $value;
        $e
    }};
}

impl Simd for Portable {
    type Vector = [f64; 8];
    type Bits = [u64; 8];
    type Mask = [bool; 8];
    type Single = PortableSingle;

    #[inline(always)]
    fn single(self) -> PortableSingle {
        PortableSingle::new(self)
    }

    #[inline(always)]
    fn splat(self, x: f64) -> [f64; 8] {
        [x; 8]
    }
    #[inline(always)]
    fn load(self, x: &[f64; 8]) -> [f64; 8] {
        *x
    }
    #[inline(always)]
    fn store(self, x: [f64; 8], out: &mut [f64; 8]) {
        *out = x;
    }
    #[inline(always)]
    fn add(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        each!(k => a[k] + b[k])
    }
    #[inline(always)]
    fn sub(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        each!(k => a[k] - b[k])
    }
    #[inline(always)]
    fn mul(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        each!(k => a[k] * b[k])
    }
    #[inline(always)]
    fn div(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        each!(k => a[k] / b[k])
    }
    #[inline(always)]
    fn fma(self, a: [f64; 8], b: [f64; 8], c: [f64; 8]) -> [f64; 8] {
        each!(k => a[k].mul_add(b[k], c[k]))
    }
    #[inline(always)]
    fn fnma(self, a: [f64; 8], b: [f64; 8], c: [f64; 8]) -> [f64; 8] {
        each!(k => (-a[k]).mul_add(b[k], c[k]))
    }
    #[inline(always)]
    fn sqrt(self, x: [f64; 8]) -> [f64; 8] {
        each!(k => x[k].sqrt())
    }
    #[inline(always)]
    fn min(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        each!(k => if a[k] < b[k] { a[k] } else { b[k] })
    }
    #[inline(always)]
    fn max(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        each!(k => if a[k] > b[k] { a[k] } else { b[k] })
    }
    #[inline(always)]
    fn round(self, x: [f64; 8]) -> [f64; 8] {
        each!(k => x[k].round_ties_even())
    }
    #[inline(always)]
    fn lt(self, a: [f64; 8], b: [f64; 8]) -> [bool; 8] {
        each!(k => a[k] < b[k])
    }
    #[inline(always)]
    fn le(self, a: [f64; 8], b: [f64; 8]) -> [bool; 8] {
        each!(k => a[k] <= b[k])
    }
    #[inline(always)]
    fn eq(self, a: [f64; 8], b: [f64; 8]) -> [bool; 8] {
        each!(k => a[k] == b[k])
    }
    #[inline(always)]
    fn select(self, mask: [bool; 8], a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        each!(k => if mask[k] { a[k] } else { b[k] })
    }
    #[inline(always)]
    fn both(self, a: [bool; 8], b: [bool; 8]) -> [bool; 8] {
        each!(k => a[k] && b[k])
    }
    #[inline(always)]
    fn any(self, mask: [bool; 8]) -> bool {
        mask != [false; 8]
    }
    #[inline(always)]
    fn all(self, mask: [bool; 8]) -> bool {
        mask == [true; 8]
    }
    #[inline(always)]
    fn to_bits(self, x: [f64; 8]) -> [u64; 8] {
        each!(k => x[k].to_bits())
    }
    #[inline(always)]
    fn with_bits(self, x: [u64; 8]) -> [f64; 8] {
        each!(k => f64::from_bits(x[k]))
    }
    #[inline(always)]
    fn splat_bits(self, x: u64) -> [u64; 8] {
        [x; 8]
    }
    #[inline(always)]
    fn add_bits(self, a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
        each!(k => a[k].wrapping_add(b[k]))
    }
    #[inline(always)]
    fn sub_bits(self, a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
        each!(k => a[k].wrapping_sub(b[k]))
    }
    #[inline(always)]
    fn and_bits(self, a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
        each!(k => a[k] & b[k])
    }
    #[inline(always)]
    fn or_bits(self, a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
        each!(k => a[k] | b[k])
    }
    #[inline(always)]
    fn xor_bits(self, a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
        each!(k => a[k] ^ b[k])
    }
    #[inline(always)]
    fn shift_left<const N: u32>(self, a: [u64; 8]) -> [u64; 8] {
        each!(k => a[k] << N)
    }
    #[inline(always)]
    fn shift_right<const N: u32>(self, a: [u64; 8]) -> [u64; 8] {
        each!(k => a[k] >> N)
    }
}
