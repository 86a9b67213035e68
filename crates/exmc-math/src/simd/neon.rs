//! Eight lanes as four 128-bit registers: NEON with `f64`, which every 64-bit ARM processor has.
#![expect(unsafe_code, reason = "intrinsics are unsafe to call; a token vouches for the processor")]

use std::arch::aarch64::*;

use super::lanes::{Simd, sealed::Sealed};
use super::single::NeonSingle;

/// The token of the NEON level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neon(());

impl Neon {
    /// # Safety
    /// The processor must have NEON.
    pub(super) unsafe fn new() -> Self {
        Neon(())
    }

    /// Whether the processor offers this level.
    pub(super) fn is_available() -> bool {
        std::arch::is_aarch64_feature_detected!("neon")
    }
}

impl Sealed for Neon {}

/// Intrinsic calls on registers.
macro_rules! call {
    ($e:expr) => {
        // SAFETY: a token exists (`self`), and its constructor's caller vouched for NEON; no memory
        // is touched.
        unsafe { $e }
    };
}

impl Simd for Neon {
    type Vector = [float64x2_t; 4];
    type Bits = [uint64x2_t; 4];
    type Mask = [uint64x2_t; 4];
    type Single = NeonSingle;

    #[inline(always)]
    fn single(self) -> NeonSingle {
        NeonSingle::new(self)
    }

    #[inline(always)]
    fn load(self, x: &[f64; 8]) -> [float64x2_t; 4] {
        let p = x.as_ptr();
        // SAFETY: `self` vouches for NEON; the four loads of 16 bytes lie in the array and need no
        // alignment.
        unsafe { [vld1q_f64(p), vld1q_f64(p.add(2)), vld1q_f64(p.add(4)), vld1q_f64(p.add(6))] }
    }
    #[inline(always)]
    fn store(self, x: [float64x2_t; 4], out: &mut [f64; 8]) {
        let p = out.as_mut_ptr();
        // SAFETY: `self` vouches for NEON; the four stores of 16 bytes lie in the array and need no
        // alignment.
        unsafe {
            vst1q_f64(p, x[0]);
            vst1q_f64(p.add(2), x[1]);
            vst1q_f64(p.add(4), x[2]);
            vst1q_f64(p.add(6), x[3]);
        }
    }
    #[inline(always)]
    fn any(self, mask: [uint64x2_t; 4]) -> bool {
        let joined = call!(vorrq_u64(vorrq_u64(mask[0], mask[1]), vorrq_u64(mask[2], mask[3])));
        call!(vgetq_lane_u64::<0>(joined) | vgetq_lane_u64::<1>(joined)) != 0
    }
    #[inline(always)]
    fn all(self, mask: [uint64x2_t; 4]) -> bool {
        let joined = call!(vandq_u64(vandq_u64(mask[0], mask[1]), vandq_u64(mask[2], mask[3])));
        call!(vgetq_lane_u64::<0>(joined) & vgetq_lane_u64::<1>(joined)) != 0
    }
    #[inline(always)]
    fn splat(self, x: f64) -> [float64x2_t; 4] {
        [call!(vdupq_n_f64(x)); 4]
    }
    #[inline(always)]
    fn splat_bits(self, x: u64) -> [uint64x2_t; 4] {
        [call!(vdupq_n_u64(x)); 4]
    }
    #[inline(always)]
    fn shift_left<const N: u32>(self, a: [uint64x2_t; 4]) -> [uint64x2_t; 4] {
        // The count is a constant, so the compiler makes it an immediate.
        call!({
            let count = vdupq_n_s64(i64::from(N));
            [
                vshlq_u64(a[0], count),
                vshlq_u64(a[1], count),
                vshlq_u64(a[2], count),
                vshlq_u64(a[3], count),
            ]
        })
    }
    #[inline(always)]
    fn shift_right<const N: u32>(self, a: [uint64x2_t; 4]) -> [uint64x2_t; 4] {
        // A negative count shifts right.
        call!({
            let count = vdupq_n_s64(-i64::from(N));
            [
                vshlq_u64(a[0], count),
                vshlq_u64(a[1], count),
                vshlq_u64(a[2], count),
                vshlq_u64(a[3], count),
            ]
        })
    }
    #[inline(always)]
    fn add(self, a: [float64x2_t; 4], b: [float64x2_t; 4]) -> [float64x2_t; 4] {
        call!([
            vaddq_f64(a[0], b[0]),
            vaddq_f64(a[1], b[1]),
            vaddq_f64(a[2], b[2]),
            vaddq_f64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn sub(self, a: [float64x2_t; 4], b: [float64x2_t; 4]) -> [float64x2_t; 4] {
        call!([
            vsubq_f64(a[0], b[0]),
            vsubq_f64(a[1], b[1]),
            vsubq_f64(a[2], b[2]),
            vsubq_f64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn mul(self, a: [float64x2_t; 4], b: [float64x2_t; 4]) -> [float64x2_t; 4] {
        call!([
            vmulq_f64(a[0], b[0]),
            vmulq_f64(a[1], b[1]),
            vmulq_f64(a[2], b[2]),
            vmulq_f64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn div(self, a: [float64x2_t; 4], b: [float64x2_t; 4]) -> [float64x2_t; 4] {
        call!([
            vdivq_f64(a[0], b[0]),
            vdivq_f64(a[1], b[1]),
            vdivq_f64(a[2], b[2]),
            vdivq_f64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn fma(
        self,
        a: [float64x2_t; 4],
        b: [float64x2_t; 4],
        c: [float64x2_t; 4],
    ) -> [float64x2_t; 4] {
        call!([
            vfmaq_f64(c[0], a[0], b[0]),
            vfmaq_f64(c[1], a[1], b[1]),
            vfmaq_f64(c[2], a[2], b[2]),
            vfmaq_f64(c[3], a[3], b[3])
        ])
    }
    #[inline(always)]
    fn fnma(
        self,
        a: [float64x2_t; 4],
        b: [float64x2_t; 4],
        c: [float64x2_t; 4],
    ) -> [float64x2_t; 4] {
        call!([
            vfmsq_f64(c[0], a[0], b[0]),
            vfmsq_f64(c[1], a[1], b[1]),
            vfmsq_f64(c[2], a[2], b[2]),
            vfmsq_f64(c[3], a[3], b[3])
        ])
    }
    #[inline(always)]
    fn sqrt(self, x: [float64x2_t; 4]) -> [float64x2_t; 4] {
        call!([vsqrtq_f64(x[0]), vsqrtq_f64(x[1]), vsqrtq_f64(x[2]), vsqrtq_f64(x[3])])
    }
    #[inline(always)]
    fn min(self, a: [float64x2_t; 4], b: [float64x2_t; 4]) -> [float64x2_t; 4] {
        call!([
            vbslq_f64(vcltq_f64(a[0], b[0]), a[0], b[0]),
            vbslq_f64(vcltq_f64(a[1], b[1]), a[1], b[1]),
            vbslq_f64(vcltq_f64(a[2], b[2]), a[2], b[2]),
            vbslq_f64(vcltq_f64(a[3], b[3]), a[3], b[3])
        ])
    }
    #[inline(always)]
    fn max(self, a: [float64x2_t; 4], b: [float64x2_t; 4]) -> [float64x2_t; 4] {
        call!([
            vbslq_f64(vcgtq_f64(a[0], b[0]), a[0], b[0]),
            vbslq_f64(vcgtq_f64(a[1], b[1]), a[1], b[1]),
            vbslq_f64(vcgtq_f64(a[2], b[2]), a[2], b[2]),
            vbslq_f64(vcgtq_f64(a[3], b[3]), a[3], b[3])
        ])
    }
    #[inline(always)]
    fn round(self, x: [float64x2_t; 4]) -> [float64x2_t; 4] {
        call!([vrndnq_f64(x[0]), vrndnq_f64(x[1]), vrndnq_f64(x[2]), vrndnq_f64(x[3])])
    }
    #[inline(always)]
    fn lt(self, a: [float64x2_t; 4], b: [float64x2_t; 4]) -> [uint64x2_t; 4] {
        call!([
            vcltq_f64(a[0], b[0]),
            vcltq_f64(a[1], b[1]),
            vcltq_f64(a[2], b[2]),
            vcltq_f64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn le(self, a: [float64x2_t; 4], b: [float64x2_t; 4]) -> [uint64x2_t; 4] {
        call!([
            vcleq_f64(a[0], b[0]),
            vcleq_f64(a[1], b[1]),
            vcleq_f64(a[2], b[2]),
            vcleq_f64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn eq(self, a: [float64x2_t; 4], b: [float64x2_t; 4]) -> [uint64x2_t; 4] {
        call!([
            vceqq_f64(a[0], b[0]),
            vceqq_f64(a[1], b[1]),
            vceqq_f64(a[2], b[2]),
            vceqq_f64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn select(
        self,
        mask: [uint64x2_t; 4],
        a: [float64x2_t; 4],
        b: [float64x2_t; 4],
    ) -> [float64x2_t; 4] {
        call!([
            vbslq_f64(mask[0], a[0], b[0]),
            vbslq_f64(mask[1], a[1], b[1]),
            vbslq_f64(mask[2], a[2], b[2]),
            vbslq_f64(mask[3], a[3], b[3])
        ])
    }
    #[inline(always)]
    fn both(self, a: [uint64x2_t; 4], b: [uint64x2_t; 4]) -> [uint64x2_t; 4] {
        call!([
            vandq_u64(a[0], b[0]),
            vandq_u64(a[1], b[1]),
            vandq_u64(a[2], b[2]),
            vandq_u64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn to_bits(self, x: [float64x2_t; 4]) -> [uint64x2_t; 4] {
        call!([
            vreinterpretq_u64_f64(x[0]),
            vreinterpretq_u64_f64(x[1]),
            vreinterpretq_u64_f64(x[2]),
            vreinterpretq_u64_f64(x[3])
        ])
    }
    #[inline(always)]
    fn with_bits(self, x: [uint64x2_t; 4]) -> [float64x2_t; 4] {
        call!([
            vreinterpretq_f64_u64(x[0]),
            vreinterpretq_f64_u64(x[1]),
            vreinterpretq_f64_u64(x[2]),
            vreinterpretq_f64_u64(x[3])
        ])
    }
    #[inline(always)]
    fn add_bits(self, a: [uint64x2_t; 4], b: [uint64x2_t; 4]) -> [uint64x2_t; 4] {
        call!([
            vaddq_u64(a[0], b[0]),
            vaddq_u64(a[1], b[1]),
            vaddq_u64(a[2], b[2]),
            vaddq_u64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn sub_bits(self, a: [uint64x2_t; 4], b: [uint64x2_t; 4]) -> [uint64x2_t; 4] {
        call!([
            vsubq_u64(a[0], b[0]),
            vsubq_u64(a[1], b[1]),
            vsubq_u64(a[2], b[2]),
            vsubq_u64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn and_bits(self, a: [uint64x2_t; 4], b: [uint64x2_t; 4]) -> [uint64x2_t; 4] {
        call!([
            vandq_u64(a[0], b[0]),
            vandq_u64(a[1], b[1]),
            vandq_u64(a[2], b[2]),
            vandq_u64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn or_bits(self, a: [uint64x2_t; 4], b: [uint64x2_t; 4]) -> [uint64x2_t; 4] {
        call!([
            vorrq_u64(a[0], b[0]),
            vorrq_u64(a[1], b[1]),
            vorrq_u64(a[2], b[2]),
            vorrq_u64(a[3], b[3])
        ])
    }
    #[inline(always)]
    fn xor_bits(self, a: [uint64x2_t; 4], b: [uint64x2_t; 4]) -> [uint64x2_t; 4] {
        call!([
            veorq_u64(a[0], b[0]),
            veorq_u64(a[1], b[1]),
            veorq_u64(a[2], b[2]),
            veorq_u64(a[3], b[3])
        ])
    }
}
