//! Sixteen lanes as two 256-bit registers: AVX2 and FMA.
#![expect(unsafe_code, reason = "intrinsics are unsafe to call; a token vouches for the processor")]

use std::arch::x86_64::*;

use super::lanes::Single;
use crate::simd::avx2::Avx2;
use crate::simd::lanes::sealed::Sealed;

/// The token of the AVX2 level.
#[derive(Clone, Copy, Debug)]
pub(in crate::simd) struct Avx2Single(Avx2);

impl Avx2Single {
    pub(in crate::simd) fn new(wide: Avx2) -> Self {
        Avx2Single(wide)
    }
}

impl Sealed for Avx2Single {}

/// Intrinsic calls on registers.
macro_rules! call {
    ($e:expr) => {
        // SAFETY: a token exists (`self`), and the constructor of the one in it vouched for AVX2
        // and FMA; no memory is touched.
        unsafe { $e }
    };
}

macro_rules! binary {
    ($($name:ident: $type:ty, $intrinsic:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, a: [$type; 2], b: [$type; 2]) -> [$type; 2] {
            call!([$intrinsic(a[0], b[0]), $intrinsic(a[1], b[1])])
        }
    )*};
}

macro_rules! compare {
    ($($name:ident: $predicate:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
            call!([_mm256_cmp_ps::<$predicate>(a[0], b[0]), _mm256_cmp_ps::<$predicate>(a[1], b[1])])
        }
    )*};
}

impl Single for Avx2Single {
    type Wide = Avx2;
    type Vector = [__m256; 2];
    type Bits = [__m256i; 2];
    type Mask = [__m256; 2];

    #[inline(always)]
    fn wide(self) -> Avx2 {
        self.0
    }
    #[inline(always)]
    fn splat(self, x: f32) -> [__m256; 2] {
        [call!(_mm256_set1_ps(x)); 2]
    }
    #[inline(always)]
    fn load(self, x: &[f32; 16]) -> [__m256; 2] {
        // SAFETY: `self` vouches for AVX; both loads of 32 bytes lie in the array and need no
        // alignment.
        unsafe { [_mm256_loadu_ps(x.as_ptr()), _mm256_loadu_ps(x.as_ptr().add(8))] }
    }
    #[inline(always)]
    fn store(self, x: [__m256; 2], out: &mut [f32; 16]) {
        // SAFETY: `self` vouches for AVX; both stores of 32 bytes lie in the array and need no
        // alignment.
        unsafe {
            _mm256_storeu_ps(out.as_mut_ptr(), x[0]);
            _mm256_storeu_ps(out.as_mut_ptr().add(8), x[1]);
        }
    }
    #[inline(always)]
    fn widen(self, x: [__m256; 2]) -> [[__m256d; 2]; 2] {
        // Not by `map`: a closure is a function of its own, compiled without the instructions.
        call!([
            [
                _mm256_cvtps_pd(_mm256_castps256_ps128(x[0])),
                _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x[0]))
            ],
            [
                _mm256_cvtps_pd(_mm256_castps256_ps128(x[1])),
                _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x[1]))
            ]
        ])
    }
    #[inline(always)]
    fn narrow(self, x: [[__m256d; 2]; 2]) -> [__m256; 2] {
        call!([
            _mm256_set_m128(_mm256_cvtpd_ps(x[0][1]), _mm256_cvtpd_ps(x[0][0])),
            _mm256_set_m128(_mm256_cvtpd_ps(x[1][1]), _mm256_cvtpd_ps(x[1][0]))
        ])
    }
    binary! {
        add: __m256, _mm256_add_ps;
        sub: __m256, _mm256_sub_ps;
        mul: __m256, _mm256_mul_ps;
        div: __m256, _mm256_div_ps;
        min: __m256, _mm256_min_ps;
        max: __m256, _mm256_max_ps;
        add_bits: __m256i, _mm256_add_epi32;
        sub_bits: __m256i, _mm256_sub_epi32;
        and_bits: __m256i, _mm256_and_si256;
        or_bits: __m256i, _mm256_or_si256;
        xor_bits: __m256i, _mm256_xor_si256;
    }
    compare! {
        lt: _CMP_LT_OQ;
        le: _CMP_LE_OQ;
        eq: _CMP_EQ_OQ;
    }
    #[inline(always)]
    fn fma(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        call!([_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])])
    }
    #[inline(always)]
    fn fnma(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        call!([_mm256_fnmadd_ps(a[0], b[0], c[0]), _mm256_fnmadd_ps(a[1], b[1], c[1])])
    }
    #[inline(always)]
    fn sqrt(self, x: [__m256; 2]) -> [__m256; 2] {
        call!([_mm256_sqrt_ps(x[0]), _mm256_sqrt_ps(x[1])])
    }
    #[inline(always)]
    fn select(self, mask: [__m256; 2], a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        call!([_mm256_blendv_ps(b[0], a[0], mask[0]), _mm256_blendv_ps(b[1], a[1], mask[1])])
    }
    #[inline(always)]
    fn all(self, mask: [__m256; 2]) -> bool {
        call!(_mm256_movemask_ps(_mm256_and_ps(mask[0], mask[1]))) == 0xff
    }
    #[inline(always)]
    fn to_bits(self, x: [__m256; 2]) -> [__m256i; 2] {
        call!([_mm256_castps_si256(x[0]), _mm256_castps_si256(x[1])])
    }
    #[inline(always)]
    fn with_bits(self, x: [__m256i; 2]) -> [__m256; 2] {
        call!([_mm256_castsi256_ps(x[0]), _mm256_castsi256_ps(x[1])])
    }
    #[inline(always)]
    fn splat_bits(self, x: u32) -> [__m256i; 2] {
        [call!(_mm256_set1_epi32(x.cast_signed())); 2]
    }
    #[inline(always)]
    fn shift_left<const N: u32>(self, a: [__m256i; 2]) -> [__m256i; 2] {
        // The count is a constant, so the compiler makes it an immediate.
        call!({
            let count = _mm_cvtsi32_si128(N.cast_signed());
            [_mm256_sll_epi32(a[0], count), _mm256_sll_epi32(a[1], count)]
        })
    }
    #[inline(always)]
    fn shift_right<const N: u32>(self, a: [__m256i; 2]) -> [__m256i; 2] {
        call!({
            let count = _mm_cvtsi32_si128(N.cast_signed());
            [_mm256_srl_epi32(a[0], count), _mm256_srl_epi32(a[1], count)]
        })
    }
}
