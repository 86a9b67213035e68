//! Eight lanes as two 256-bit registers, or as one where all lanes are equal: AVX2 and FMA.
#![expect(unsafe_code, reason = "intrinsics are unsafe to call; a token vouches for the processor")]

use std::arch::x86_64::*;

use super::lanes::{Simd, sealed::Sealed};
use super::single::Avx2Single;

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

/// The token of the same level for vectors whose lanes are all equal, of which one register is
/// enough. What is loaded must be such a vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2Uniform(());

impl Avx2Uniform {
    /// # Safety
    /// The processor must have AVX2 and FMA.
    pub(super) unsafe fn new() -> Self {
        Avx2Uniform(())
    }
}

impl Sealed for Avx2 {}
impl Sealed for Avx2Uniform {}

/// Intrinsic calls on registers.
macro_rules! call {
    ($e:expr) => {
        // SAFETY: a token exists (`self`), and its constructor's caller vouched for AVX2 and FMA;
        // no memory is touched.
        unsafe { $e }
    };
}

/// The interface with so many registers, `$k` being their numbers.
macro_rules! with_registers {
    ($token:ty, $count:literal: $($k:literal)*) => {
        impl Simd for $token {
            type Vector = [__m256d; $count];
            type Bits = [__m256i; $count];
            type Mask = [__m256d; $count];
            type Single = Avx2Single;

            #[inline(always)]
            fn single(self) -> Avx2Single {
                Avx2Single::new(Avx2(()))
            }

            #[inline(always)]
            fn load(self, x: &[f64; 8]) -> [__m256d; $count] {
                // SAFETY: `self` vouches for AVX; all loads of 32 bytes lie in the array and need
                // no alignment.
                unsafe { [$(_mm256_loadu_pd(x.as_ptr().add(4 * $k))),*] }
            }
            #[inline(always)]
            fn store(self, x: [__m256d; $count], out: &mut [f64; 8]) {
                // SAFETY: `self` vouches for AVX; both stores of 32 bytes lie in the array and need
                // no alignment.
                unsafe {
                    _mm256_storeu_pd(out.as_mut_ptr(), x[0]);
                    _mm256_storeu_pd(out.as_mut_ptr().add(4), x[$count - 1]);
                }
            }
            #[inline(always)]
            fn prefetch(self, address: *const f64) {
                // SAFETY: the instruction is a hint, which reads nothing and takes any address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
            }
            #[inline(always)]
            fn twice(self, x: &[f64; 4]) -> Self::Vector {
                // SAFETY: the array has as many elements as are loaded; the token stands for the
                // instructions.
                [unsafe { _mm256_loadu_pd(x.as_ptr()) }; $count]
            }
            #[inline(always)]
            fn add_halves(self, x: Self::Vector) -> Self::Vector {
                [call!(_mm256_add_pd(x[0], x[$count - 1])); $count]
            }
            #[inline(always)]
            fn any(self, mask: [__m256d; $count]) -> bool {
                call!(_mm256_movemask_pd(_mm256_or_pd(mask[0], mask[$count - 1]))) != 0
            }
            #[inline(always)]
            fn all(self, mask: [__m256d; $count]) -> bool {
                call!(_mm256_movemask_pd(_mm256_and_pd(mask[0], mask[$count - 1]))) == 0xf
            }
            #[inline(always)]
            fn splat(self, x: f64) -> [__m256d; $count] {
                [call!(_mm256_set1_pd(x)); $count]
            }
            #[inline(always)]
            fn splat_bits(self, x: u64) -> [__m256i; $count] {
                [call!(_mm256_set1_epi64x(x.cast_signed())); $count]
            }
            #[inline(always)]
            fn shift_left<const N: u32>(self, a: [__m256i; $count]) -> [__m256i; $count] {
                // The count is a constant, so the compiler makes it an immediate.
                call!({
                    let count = _mm_cvtsi32_si128(N.cast_signed());
                    [$(_mm256_sll_epi64(a[$k], count)),*]
                })
            }
            #[inline(always)]
            fn shift_right<const N: u32>(self, a: [__m256i; $count]) -> [__m256i; $count] {
                call!({
                    let count = _mm_cvtsi32_si128(N.cast_signed());
                    [$(_mm256_srl_epi64(a[$k], count)),*]
                })
            }
            #[inline(always)]
            fn add(self, a: [__m256d; $count], b: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_add_pd(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn sub(self, a: [__m256d; $count], b: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_sub_pd(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn mul(self, a: [__m256d; $count], b: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_mul_pd(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn div(self, a: [__m256d; $count], b: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_div_pd(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn fma(self, a: [__m256d; $count], b: [__m256d; $count], c: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_fmadd_pd(a[$k], b[$k], c[$k])),*])
            }
            #[inline(always)]
            fn fnma(self, a: [__m256d; $count], b: [__m256d; $count], c: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_fnmadd_pd(a[$k], b[$k], c[$k])),*])
            }
            #[inline(always)]
            fn sqrt(self, x: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_sqrt_pd(x[$k])),*])
            }
            #[inline(always)]
            fn min(self, a: [__m256d; $count], b: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_min_pd(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn max(self, a: [__m256d; $count], b: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_max_pd(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn round(self, x: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x[$k])),*])
            }
            #[inline(always)]
            fn lt(self, a: [__m256d; $count], b: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_cmp_pd::<_CMP_LT_OQ>(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn le(self, a: [__m256d; $count], b: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_cmp_pd::<_CMP_LE_OQ>(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn eq(self, a: [__m256d; $count], b: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_cmp_pd::<_CMP_EQ_OQ>(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn select(self, mask: [__m256d; $count], a: [__m256d; $count], b: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_blendv_pd(b[$k], a[$k], mask[$k])),*])
            }
            #[inline(always)]
            fn both(self, a: [__m256d; $count], b: [__m256d; $count]) -> [__m256d; $count] {
                call!([$(_mm256_and_pd(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn to_bits(self, x: [__m256d; $count]) -> [__m256i; $count] {
                call!([$(_mm256_castpd_si256(x[$k])),*])
            }
            #[inline(always)]
            fn with_bits(self, x: [__m256i; $count]) -> [__m256d; $count] {
                call!([$(_mm256_castsi256_pd(x[$k])),*])
            }
            #[inline(always)]
            fn add_bits(self, a: [__m256i; $count], b: [__m256i; $count]) -> [__m256i; $count] {
                call!([$(_mm256_add_epi64(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn sub_bits(self, a: [__m256i; $count], b: [__m256i; $count]) -> [__m256i; $count] {
                call!([$(_mm256_sub_epi64(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn and_bits(self, a: [__m256i; $count], b: [__m256i; $count]) -> [__m256i; $count] {
                call!([$(_mm256_and_si256(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn or_bits(self, a: [__m256i; $count], b: [__m256i; $count]) -> [__m256i; $count] {
                call!([$(_mm256_or_si256(a[$k], b[$k])),*])
            }
            #[inline(always)]
            fn xor_bits(self, a: [__m256i; $count], b: [__m256i; $count]) -> [__m256i; $count] {
                call!([$(_mm256_xor_si256(a[$k], b[$k])),*])
            }
        }
    };
}

with_registers!(Avx2, 2: 0 1);
with_registers!(Avx2Uniform, 1: 0);
