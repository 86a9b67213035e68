//! Sixteen lanes as four 128-bit registers: NEON, which every 64-bit ARM processor has.
#![expect(unsafe_code, reason = "intrinsics are unsafe to call; a token vouches for the processor")]

use std::arch::aarch64::*;

use super::lanes::Single;
use crate::simd::lanes::sealed::Sealed;
use crate::simd::neon::Neon;

/// The token of the NEON level.
#[derive(Clone, Copy, Debug)]
pub(in crate::simd) struct NeonSingle(Neon);

impl NeonSingle {
    pub(in crate::simd) fn new(wide: Neon) -> Self {
        NeonSingle(wide)
    }
}

impl Sealed for NeonSingle {}

/// Intrinsic calls on registers.
macro_rules! call {
    ($e:expr) => {
        // SAFETY: a token exists (`self`), and the constructor of the one in it vouched for NEON;
        // no memory is touched.
        unsafe { $e }
    };
}

/// One intrinsic on each of four registers.
macro_rules! each {
    ($k:ident => $e:expr) => {
        call!([
            { const $k: usize = 0; $e },
            { const $k: usize = 1; $e },
            { const $k: usize = 2; $e },
            { const $k: usize = 3; $e },
        ])
    };
}

macro_rules! binary {
    ($($name:ident: $type:ty, $result:ty, $intrinsic:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, a: [$type; 4], b: [$type; 4]) -> [$result; 4] {
            each!(K => $intrinsic(a[K], b[K]))
        }
    )*};
}

impl Single for NeonSingle {
    type Wide = Neon;
    type Vector = [float32x4_t; 4];
    type Bits = [uint32x4_t; 4];
    type Mask = [uint32x4_t; 4];

    #[inline(always)]
    fn wide(self) -> Neon {
        self.0
    }
    #[inline(always)]
    fn splat(self, x: f32) -> [float32x4_t; 4] {
        [call!(vdupq_n_f32(x)); 4]
    }
    #[inline(always)]
    fn load(self, x: &[f32; 16]) -> [float32x4_t; 4] {
        let p = x.as_ptr();
        // SAFETY: `self` vouches for NEON; the four loads of 16 bytes lie in the array and need no
        // alignment.
        unsafe { [vld1q_f32(p), vld1q_f32(p.add(4)), vld1q_f32(p.add(8)), vld1q_f32(p.add(12))] }
    }
    #[inline(always)]
    fn store(self, x: [float32x4_t; 4], out: &mut [f32; 16]) {
        let p = out.as_mut_ptr();
        // SAFETY: `self` vouches for NEON; the four stores of 16 bytes lie in the array and need no
        // alignment.
        unsafe {
            vst1q_f32(p, x[0]);
            vst1q_f32(p.add(4), x[1]);
            vst1q_f32(p.add(8), x[2]);
            vst1q_f32(p.add(12), x[3]);
        }
    }
    #[inline(always)]
    fn widen(self, x: [float32x4_t; 4]) -> [[float64x2_t; 4]; 2] {
        call!([
            [
                vcvt_f64_f32(vget_low_f32(x[0])),
                vcvt_high_f64_f32(x[0]),
                vcvt_f64_f32(vget_low_f32(x[1])),
                vcvt_high_f64_f32(x[1])
            ],
            [
                vcvt_f64_f32(vget_low_f32(x[2])),
                vcvt_high_f64_f32(x[2]),
                vcvt_f64_f32(vget_low_f32(x[3])),
                vcvt_high_f64_f32(x[3])
            ]
        ])
    }
    #[inline(always)]
    fn narrow(self, x: [[float64x2_t; 4]; 2]) -> [float32x4_t; 4] {
        each!(K => vcvt_high_f32_f64(vcvt_f32_f64(x[K / 2][K % 2 * 2]), x[K / 2][K % 2 * 2 + 1]))
    }
    binary! {
        add: float32x4_t, float32x4_t, vaddq_f32;
        sub: float32x4_t, float32x4_t, vsubq_f32;
        mul: float32x4_t, float32x4_t, vmulq_f32;
        div: float32x4_t, float32x4_t, vdivq_f32;
        lt: float32x4_t, uint32x4_t, vcltq_f32;
        le: float32x4_t, uint32x4_t, vcleq_f32;
        eq: float32x4_t, uint32x4_t, vceqq_f32;
        add_bits: uint32x4_t, uint32x4_t, vaddq_u32;
        sub_bits: uint32x4_t, uint32x4_t, vsubq_u32;
        and_bits: uint32x4_t, uint32x4_t, vandq_u32;
        or_bits: uint32x4_t, uint32x4_t, vorrq_u32;
        xor_bits: uint32x4_t, uint32x4_t, veorq_u32;
    }
    #[inline(always)]
    fn min(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        self.select(self.lt(a, b), a, b)
    }
    #[inline(always)]
    fn max(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        self.select(self.lt(b, a), a, b)
    }
    #[inline(always)]
    fn fma(
        self,
        a: [float32x4_t; 4],
        b: [float32x4_t; 4],
        c: [float32x4_t; 4],
    ) -> [float32x4_t; 4] {
        each!(K => vfmaq_f32(c[K], a[K], b[K]))
    }
    #[inline(always)]
    fn fnma(
        self,
        a: [float32x4_t; 4],
        b: [float32x4_t; 4],
        c: [float32x4_t; 4],
    ) -> [float32x4_t; 4] {
        each!(K => vfmsq_f32(c[K], a[K], b[K]))
    }
    #[inline(always)]
    fn sqrt(self, x: [float32x4_t; 4]) -> [float32x4_t; 4] {
        each!(K => vsqrtq_f32(x[K]))
    }
    #[inline(always)]
    fn select(
        self,
        mask: [uint32x4_t; 4],
        a: [float32x4_t; 4],
        b: [float32x4_t; 4],
    ) -> [float32x4_t; 4] {
        each!(K => vbslq_f32(mask[K], a[K], b[K]))
    }
    #[inline(always)]
    fn all(self, mask: [uint32x4_t; 4]) -> bool {
        let joined = call!(vandq_u32(vandq_u32(mask[0], mask[1]), vandq_u32(mask[2], mask[3])));
        call!(vminvq_u32(joined)) != 0
    }
    #[inline(always)]
    fn to_bits(self, x: [float32x4_t; 4]) -> [uint32x4_t; 4] {
        each!(K => vreinterpretq_u32_f32(x[K]))
    }
    #[inline(always)]
    fn with_bits(self, x: [uint32x4_t; 4]) -> [float32x4_t; 4] {
        each!(K => vreinterpretq_f32_u32(x[K]))
    }
    #[inline(always)]
    fn splat_bits(self, x: u32) -> [uint32x4_t; 4] {
        [call!(vdupq_n_u32(x)); 4]
    }
    #[inline(always)]
    fn shift_left<const N: u32>(self, a: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
        // The count is a constant, so the compiler makes it an immediate.
        let count = call!(vdupq_n_s32(N.cast_signed()));
        each!(K => vshlq_u32(a[K], count))
    }
    #[inline(always)]
    fn shift_right<const N: u32>(self, a: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
        // A negative count shifts right.
        let count = call!(vdupq_n_s32(-N.cast_signed()));
        each!(K => vshlq_u32(a[K], count))
    }
}
