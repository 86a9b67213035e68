//! Sixteen lanes as one 512-bit register: AVX-512F and DQ.
#![expect(unsafe_code, reason = "intrinsics are unsafe to call; a token vouches for the processor")]

use std::arch::x86_64::*;

use super::lanes::Single;
use crate::simd::avx512::Avx512;
use crate::simd::lanes::sealed::Sealed;

/// The token of the AVX-512 level.
#[derive(Clone, Copy, Debug)]
pub(in crate::simd) struct Avx512Single(Avx512);

impl Avx512Single {
    pub(in crate::simd) fn new(wide: Avx512) -> Self {
        Avx512Single(wide)
    }
}

impl Sealed for Avx512Single {}

/// One intrinsic call on registers.
macro_rules! call {
    ($e:expr) => {
        // SAFETY: a token exists (`self`), and the constructor of the one in it vouched for
        // AVX-512F and DQ; no memory is touched.
        unsafe { $e }
    };
}

macro_rules! binary {
    ($($name:ident: $type:ty, $intrinsic:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, a: $type, b: $type) -> $type {
            call!($intrinsic(a, b))
        }
    )*};
}

macro_rules! compare {
    ($($name:ident: $predicate:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, a: __m512, b: __m512) -> __mmask16 {
            call!(_mm512_cmp_ps_mask::<$predicate>(a, b))
        }
    )*};
}

impl Single for Avx512Single {
    type Wide = Avx512;
    type Vector = __m512;
    type Bits = __m512i;
    type Mask = __mmask16;

    #[inline(always)]
    fn wide(self) -> Avx512 {
        self.0
    }
    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        call!(_mm512_set1_ps(x))
    }
    #[inline(always)]
    fn load(self, x: &[f32; 16]) -> __m512 {
        // SAFETY: `self` vouches for AVX-512F; the reference is valid for 64 bytes and the load
        // needs no alignment.
        unsafe { _mm512_loadu_ps(x.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, x: __m512, out: &mut [f32; 16]) {
        // SAFETY: `self` vouches for AVX-512F; the reference is valid for 64 bytes and the store
        // needs no alignment.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr(), x) }
    }
    #[inline(always)]
    fn widen(self, x: __m512) -> [__m512d; 2] {
        call!([
            _mm512_cvtps_pd(_mm512_castps512_ps256(x)),
            _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(x))
        ])
    }
    #[inline(always)]
    fn narrow(self, x: [__m512d; 2]) -> __m512 {
        call!(_mm512_insertf32x8::<1>(
            _mm512_castps256_ps512(_mm512_cvtpd_ps(x[0])),
            _mm512_cvtpd_ps(x[1])
        ))
    }
    binary! {
        add: __m512, _mm512_add_ps;
        sub: __m512, _mm512_sub_ps;
        mul: __m512, _mm512_mul_ps;
        div: __m512, _mm512_div_ps;
        min: __m512, _mm512_min_ps;
        max: __m512, _mm512_max_ps;
        add_bits: __m512i, _mm512_add_epi32;
        sub_bits: __m512i, _mm512_sub_epi32;
        and_bits: __m512i, _mm512_and_si512;
        or_bits: __m512i, _mm512_or_si512;
        xor_bits: __m512i, _mm512_xor_si512;
    }
    compare! {
        lt: _CMP_LT_OQ;
        le: _CMP_LE_OQ;
        eq: _CMP_EQ_OQ;
    }
    #[inline(always)]
    fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        call!(_mm512_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn fnma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        call!(_mm512_fnmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn sqrt(self, x: __m512) -> __m512 {
        call!(_mm512_sqrt_ps(x))
    }
    #[inline(always)]
    fn select(self, mask: __mmask16, a: __m512, b: __m512) -> __m512 {
        call!(_mm512_mask_blend_ps(mask, b, a))
    }
    #[inline(always)]
    fn all(self, mask: __mmask16) -> bool {
        mask == 0xffff
    }
    #[inline(always)]
    fn to_bits(self, x: __m512) -> __m512i {
        call!(_mm512_castps_si512(x))
    }
    #[inline(always)]
    fn with_bits(self, x: __m512i) -> __m512 {
        call!(_mm512_castsi512_ps(x))
    }
    #[inline(always)]
    fn splat_bits(self, x: u32) -> __m512i {
        call!(_mm512_set1_epi32(x.cast_signed()))
    }
    #[inline(always)]
    fn shift_left<const N: u32>(self, a: __m512i) -> __m512i {
        call!(_mm512_slli_epi32::<N>(a))
    }
    #[inline(always)]
    fn shift_right<const N: u32>(self, a: __m512i) -> __m512i {
        call!(_mm512_srli_epi32::<N>(a))
    }
}
