//! Eight lanes as one 512-bit register: AVX-512F and DQ.
#![expect(unsafe_code, reason = "intrinsics are unsafe to call; a token vouches for the processor")]

use std::arch::x86_64::*;

use super::avx2::Avx2;
use super::lanes::{POWER_SHIFT, Simd, sealed::Sealed};
use super::single::Avx512Single;

/// The token of the AVX-512 level: it exists only where the processor has AVX-512F and AVX-512DQ,
/// and AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

impl Avx512 {
    /// # Safety
    /// The processor must have AVX-512F and AVX-512DQ, and AVX2 and FMA.
    pub(super) unsafe fn new() -> Self {
        Avx512(())
    }

    /// Whether the processor (and the operating system) offers this level.
    ///
    /// Every processor with AVX-512 has AVX2 and FMA, which the compiler and generated code take
    /// for granted at this level; a virtual machine may hide them.
    pub(super) fn is_available() -> bool {
        Avx2::is_available()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
    }
}

impl Sealed for Avx512 {}

/// One intrinsic call on registers.
macro_rules! call {
    ($e:expr) => {
        // SAFETY: a token exists (`self`), and its constructor's caller vouched for AVX-512F and
        // DQ; no memory is touched.
        unsafe { $e }
    };
}

impl Simd for Avx512 {
    type Vector = __m512d;
    type Bits = __m512i;
    type Mask = __mmask8;
    type Single = Avx512Single;

    #[inline(always)]
    fn single(self) -> Avx512Single {
        Avx512Single::new(self)
    }

    #[inline(always)]
    fn load(self, x: &[f64; 8]) -> __m512d {
        // SAFETY: `self` vouches for AVX-512F; the reference is valid for 64 bytes and the load
        // needs no alignment.
        unsafe { _mm512_loadu_pd(x.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, x: __m512d, out: &mut [f64; 8]) {
        // SAFETY: `self` vouches for AVX-512F; the reference is valid for 64 bytes and the store
        // needs no alignment.
        unsafe { _mm512_storeu_pd(out.as_mut_ptr(), x) }
    }
    #[inline(always)]
    fn splat(self, x: f64) -> __m512d {
        call!(_mm512_set1_pd(x))
    }
    #[inline(always)]
    fn add(self, a: __m512d, b: __m512d) -> __m512d {
        call!(_mm512_add_pd(a, b))
    }
    #[inline(always)]
    fn sub(self, a: __m512d, b: __m512d) -> __m512d {
        call!(_mm512_sub_pd(a, b))
    }
    #[inline(always)]
    fn mul(self, a: __m512d, b: __m512d) -> __m512d {
        call!(_mm512_mul_pd(a, b))
    }
    #[inline(always)]
    fn div(self, a: __m512d, b: __m512d) -> __m512d {
        call!(_mm512_div_pd(a, b))
    }
    #[inline(always)]
    fn fma(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        call!(_mm512_fmadd_pd(a, b, c))
    }
    #[inline(always)]
    fn fnma(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        call!(_mm512_fnmadd_pd(a, b, c))
    }
    #[inline(always)]
    fn sqrt(self, x: __m512d) -> __m512d {
        call!(_mm512_sqrt_pd(x))
    }
    #[inline(always)]
    fn min(self, a: __m512d, b: __m512d) -> __m512d {
        call!(_mm512_min_pd(a, b))
    }
    #[inline(always)]
    fn max(self, a: __m512d, b: __m512d) -> __m512d {
        call!(_mm512_max_pd(a, b))
    }
    #[inline(always)]
    fn round(self, x: __m512d) -> __m512d {
        call!(_mm512_roundscale_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x))
    }
    #[inline(always)]
    fn lt(self, a: __m512d, b: __m512d) -> __mmask8 {
        call!(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b))
    }
    #[inline(always)]
    fn le(self, a: __m512d, b: __m512d) -> __mmask8 {
        call!(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(a, b))
    }
    #[inline(always)]
    fn eq(self, a: __m512d, b: __m512d) -> __mmask8 {
        call!(_mm512_cmp_pd_mask::<_CMP_EQ_OQ>(a, b))
    }
    #[inline(always)]
    fn select(self, mask: __mmask8, a: __m512d, b: __m512d) -> __m512d {
        call!(_mm512_mask_blend_pd(mask, b, a))
    }
    #[inline(always)]
    fn both(self, a: __mmask8, b: __mmask8) -> __mmask8 {
        a & b
    }
    #[inline(always)]
    fn prefetch(self, address: *const f64) {
        // SAFETY: the instruction is a hint, which reads nothing and takes any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[inline(always)]
    fn twice(self, x: &[f64; 4]) -> __m512d {
        // SAFETY: the array has as many elements as are loaded; the token stands for the
        // instructions.
        unsafe { _mm512_broadcast_f64x4(_mm256_loadu_pd(x.as_ptr())) }
    }
    #[inline(always)]
    fn add_halves(self, x: __m512d) -> __m512d {
        // SAFETY: registers only; the token stands for the instructions.
        unsafe { _mm512_add_pd(x, _mm512_shuffle_f64x2::<0x4e>(x, x)) }
    }
    #[inline(always)]
    fn lanes_of(self, mask: __mmask8) -> u8 {
        mask
    }
    #[inline(always)]
    fn any(self, mask: __mmask8) -> bool {
        mask != 0
    }
    #[inline(always)]
    fn all(self, mask: __mmask8) -> bool {
        mask == 0xff
    }
    #[inline(always)]
    fn to_bits(self, x: __m512d) -> __m512i {
        call!(_mm512_castpd_si512(x))
    }
    #[inline(always)]
    fn with_bits(self, x: __m512i) -> __m512d {
        call!(_mm512_castsi512_pd(x))
    }
    #[inline(always)]
    fn splat_bits(self, x: u64) -> __m512i {
        call!(_mm512_set1_epi64(x.cast_signed()))
    }
    #[inline(always)]
    fn add_bits(self, a: __m512i, b: __m512i) -> __m512i {
        call!(_mm512_add_epi64(a, b))
    }
    #[inline(always)]
    fn sub_bits(self, a: __m512i, b: __m512i) -> __m512i {
        call!(_mm512_sub_epi64(a, b))
    }
    #[inline(always)]
    fn and_bits(self, a: __m512i, b: __m512i) -> __m512i {
        call!(_mm512_and_si512(a, b))
    }
    #[inline(always)]
    fn or_bits(self, a: __m512i, b: __m512i) -> __m512i {
        call!(_mm512_or_si512(a, b))
    }
    #[inline(always)]
    fn xor_bits(self, a: __m512i, b: __m512i) -> __m512i {
        call!(_mm512_xor_si512(a, b))
    }
    #[inline(always)]
    fn shift_left<const N: u32>(self, a: __m512i) -> __m512i {
        call!(_mm512_slli_epi64::<N>(a))
    }
    #[inline(always)]
    fn shift_right<const N: u32>(self, a: __m512i) -> __m512i {
        call!(_mm512_srli_epi64::<N>(a))
    }
    #[inline(always)]
    fn scale(self, x: __m512d, shifted: __m512d) -> __m512d {
        call!(_mm512_scalef_pd(x, _mm512_sub_pd(shifted, _mm512_set1_pd(POWER_SHIFT))))
    }
}
