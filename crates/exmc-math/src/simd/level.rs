//! Which instructions the processor offers, and running a kernel compiled for them.
#![allow(
    unsafe_code,
    reason = "functions compiled for instructions that the processor may lack are unsafe to call"
)]

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
use super::lanes::Simd;
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::portable::Portable;

/// A level of vector instructions that this processor has; it cannot be made for one that it lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Portable,
}

/// Code written once for all levels, with its inputs and outputs as fields.
pub trait Kernel {
    /// What the kernel returns.
    type Output;
    /// Runs the kernel with the instructions that `s` stands for.
    ///
    /// Mark the implementation `#[inline(always)]`, and everything generic that it calls.
    fn run<S: Simd>(self, s: S) -> Self::Output;
}

impl Level {
    /// The best level of this processor. Ask once and keep it: every level gives the same bits.
    pub fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        if Avx512::is_available() {
            return Level(Kind::Avx512);
        } else if Avx2::is_available() {
            return Level(Kind::Avx2);
        }
        #[cfg(target_arch = "aarch64")]
        if Neon::is_available() {
            return Level(Kind::Neon);
        }
        Level::portable()
    }

    /// The level that every processor has.
    pub const fn portable() -> Level {
        Level(Kind::Portable)
    }

    /// All levels of this processor, the best first, for tests and benchmarks.
    pub fn available() -> Vec<Level> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if Avx512::is_available() {
                levels.push(Level(Kind::Avx512));
            }
            if Avx2::is_available() {
                levels.push(Level(Kind::Avx2));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if Neon::is_available() {
            levels.push(Level(Kind::Neon));
        }
        levels.push(Level::portable());
        levels
    }

    /// `avx512`, `avx2`, `neon` or `portable`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "neon",
            Kind::Portable => "portable",
        }
    }

    /// Runs a kernel, compiled for this level.
    ///
    /// ```
    /// use exmc_math::simd::{Kernel, Level, Simd};
    ///
    /// /// The largest value of x - x^2 over some numbers.
    /// struct Peak<'a>(&'a [[f64; 8]]);
    /// impl Kernel for Peak<'_> {
    ///     type Output = f64;
    ///     #[inline(always)]
    ///     fn run<S: Simd>(self, s: S) -> f64 {
    ///         let mut best = s.splat(f64::NEG_INFINITY);
    ///         for x in self.0 {
    ///             let x = s.load(x);
    ///             best = s.max(s.fnma(x, x, x), best);
    ///         }
    ///         s.to_array(best).into_iter().fold(f64::NEG_INFINITY, f64::max)
    ///     }
    /// }
    /// assert_eq!(Level::detect().run(Peak(&[[0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0]])), 0.25);
    /// ```
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            // SAFETY: a `Level` of this kind is made only where `Avx512::is_available`.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { run_avx512(kernel) },
            // SAFETY: a `Level` of this kind is made only where `Avx2::is_available`.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { run_avx2(kernel) },
            // SAFETY: a `Level` of this kind is made only where `Neon::is_available`.
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => unsafe { run_neon(kernel) },
            Kind::Portable => kernel.run(Portable::new()),
        }
    }
}

/// # Safety
/// The processor must have AVX-512F and AVX-512DQ (and AVX2 and FMA, which come with them).
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller vouches for the instructions.
    kernel.run(unsafe { Avx512::new() })
}

/// # Safety
/// The processor must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller vouches for the instructions.
    kernel.run(unsafe { Avx2::new() })
}

/// # Safety
/// The processor must have NEON.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
unsafe fn run_neon<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller vouches for the instructions.
    kernel.run(unsafe { Neon::new() })
}
