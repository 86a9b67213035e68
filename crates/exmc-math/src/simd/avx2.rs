//! Eight lanes as two 256-bit registers: AVX2 and FMA.
#![expect(unsafe_code, reason = "intrinsics are unsafe to call; a token vouches for the processor")]

use std::arch::x86_64::*;

use super::lanes::{Simd, sealed::Sealed};

/// The token of the AVX2 level: it exists only where the processor has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    /// # Safety
    /// The processor must have AVX2 and FMA.
    pub(super) unsafe fn new() -> Self {
        Avx2(())
    }

    /// Whether the processor (and the operating system) offers this level.
    pub(super) fn is_available() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }
}

impl Sealed for Avx2 {}

/// Intrinsic calls on registers.
macro_rules! call {
    ($e:expr) => {
        // SAFETY: a token exists (`self`), and its constructor's caller vouched for AVX2 and FMA; no memory is touched.
        unsafe { $e }
    };
}

impl Simd for Avx2 {
    type Vector = [__m256d; 2];
    type Bits = [__m256i; 2];
    type Mask = [__m256d; 2];

    #[inline(always)]
    fn load(self, x: &[f64; 8]) -> [__m256d; 2] {
        // SAFETY: `self` vouches for AVX; both loads of 32 bytes lie in the array and need no alignment.
        unsafe { [_mm256_loadu_pd(x.as_ptr()), _mm256_loadu_pd(x.as_ptr().add(4))] }
    }
    #[inline(always)]
    fn store(self, x: [__m256d; 2], out: &mut [f64; 8]) {
        // SAFETY: `self` vouches for AVX; both stores of 32 bytes lie in the array and need no alignment.
        unsafe {
            _mm256_storeu_pd(out.as_mut_ptr(), x[0]);
            _mm256_storeu_pd(out.as_mut_ptr().add(4), x[1]);
        }
    }
    #[inline(always)]
    fn any(self, mask: [__m256d; 2]) -> bool {
        call!(_mm256_movemask_pd(_mm256_or_pd(mask[0], mask[1]))) != 0
    }
    #[inline(always)]
    fn all(self, mask: [__m256d; 2]) -> bool {
        call!(_mm256_movemask_pd(_mm256_and_pd(mask[0], mask[1]))) == 0xf
    }
    #[inline(always)]
    fn splat(self, x: f64) -> [__m256d; 2] {
        [call!(_mm256_set1_pd(x)); 2]
    }
    #[inline(always)]
    fn splat_bits(self, x: u64) -> [__m256i; 2] {
        [call!(_mm256_set1_epi64x(x.cast_signed())); 2]
    }
    #[inline(always)]
    fn shift_left<const N: u32>(self, a: [__m256i; 2]) -> [__m256i; 2] {
        // The count is a constant, so the compiler makes it an immediate.
        call!({
            let count = _mm_cvtsi32_si128(N.cast_signed());
            [_mm256_sll_epi64(a[0], count), _mm256_sll_epi64(a[1], count)]
        })
    }
    #[inline(always)]
    fn shift_right<const N: u32>(self, a: [__m256i; 2]) -> [__m256i; 2] {
        call!({
            let count = _mm_cvtsi32_si128(N.cast_signed());
            [_mm256_srl_epi64(a[0], count), _mm256_srl_epi64(a[1], count)]
        })
    }
    #[inline(always)]
    fn add(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_add_pd(a[0], b[0]), _mm256_add_pd(a[1], b[1])])
    }
    #[inline(always)]
    fn sub(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_sub_pd(a[0], b[0]), _mm256_sub_pd(a[1], b[1])])
    }
    #[inline(always)]
    fn mul(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_mul_pd(a[0], b[0]), _mm256_mul_pd(a[1], b[1])])
    }
    #[inline(always)]
    fn div(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_div_pd(a[0], b[0]), _mm256_div_pd(a[1], b[1])])
    }
    #[inline(always)]
    fn fma(self, a: [__m256d; 2], b: [__m256d; 2], c: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_fmadd_pd(a[0], b[0], c[0]), _mm256_fmadd_pd(a[1], b[1], c[1])])
    }
    #[inline(always)]
    fn fnma(self, a: [__m256d; 2], b: [__m256d; 2], c: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_fnmadd_pd(a[0], b[0], c[0]), _mm256_fnmadd_pd(a[1], b[1], c[1])])
    }
    #[inline(always)]
    fn sqrt(self, x: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_sqrt_pd(x[0]), _mm256_sqrt_pd(x[1])])
    }
    #[inline(always)]
    fn min(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_min_pd(a[0], b[0]), _mm256_min_pd(a[1], b[1])])
    }
    #[inline(always)]
    fn max(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_max_pd(a[0], b[0]), _mm256_max_pd(a[1], b[1])])
    }
    #[inline(always)]
    fn round(self, x: [__m256d; 2]) -> [__m256d; 2] {
        call!([
            _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x[0]),
            _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x[1])
        ])
    }
    #[inline(always)]
    fn lt(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_cmp_pd::<_CMP_LT_OQ>(a[0], b[0]), _mm256_cmp_pd::<_CMP_LT_OQ>(a[1], b[1])])
    }
    #[inline(always)]
    fn le(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_cmp_pd::<_CMP_LE_OQ>(a[0], b[0]), _mm256_cmp_pd::<_CMP_LE_OQ>(a[1], b[1])])
    }
    #[inline(always)]
    fn eq(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_cmp_pd::<_CMP_EQ_OQ>(a[0], b[0]), _mm256_cmp_pd::<_CMP_EQ_OQ>(a[1], b[1])])
    }
    #[inline(always)]
    fn select(self, mask: [__m256d; 2], a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_blendv_pd(b[0], a[0], mask[0]), _mm256_blendv_pd(b[1], a[1], mask[1])])
    }
    #[inline(always)]
    fn both(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        call!([_mm256_and_pd(a[0], b[0]), _mm256_and_pd(a[1], b[1])])
    }
    #[inline(always)]
    fn to_bits(self, x: [__m256d; 2]) -> [__m256i; 2] {
        call!([_mm256_castpd_si256(x[0]), _mm256_castpd_si256(x[1])])
    }
    #[inline(always)]
    fn with_bits(self, x: [__m256i; 2]) -> [__m256d; 2] {
        call!([_mm256_castsi256_pd(x[0]), _mm256_castsi256_pd(x[1])])
    }
    #[inline(always)]
    fn add_bits(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        call!([_mm256_add_epi64(a[0], b[0]), _mm256_add_epi64(a[1], b[1])])
    }
    #[inline(always)]
    fn sub_bits(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        call!([_mm256_sub_epi64(a[0], b[0]), _mm256_sub_epi64(a[1], b[1])])
    }
    #[inline(always)]
    fn and_bits(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        call!([_mm256_and_si256(a[0], b[0]), _mm256_and_si256(a[1], b[1])])
    }
    #[inline(always)]
    fn or_bits(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        call!([_mm256_or_si256(a[0], b[0]), _mm256_or_si256(a[1], b[1])])
    }
    #[inline(always)]
    fn xor_bits(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        call!([_mm256_xor_si256(a[0], b[0]), _mm256_xor_si256(a[1], b[1])])
    }
}
