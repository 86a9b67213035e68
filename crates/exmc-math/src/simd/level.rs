//! Which instructions the processor offers, and running a kernel compiled for them.
#![allow(
    unsafe_code,
    reason = "functions compiled for instructions that the processor may lack are unsafe to call"
)]

#[cfg(target_arch = "x86_64")]
use super::avx2::{Avx2, Avx2Uniform};
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

/// Code written once for all levels that is called by its address, as an interpreter calls its
/// instructions.
pub trait Routine {
    /// What all calls in a row share.
    type Context;
    /// What one call works on.
    type Step;
    /// Runs the routine with the instructions that `s` stands for.
    ///
    /// Mark the implementation `#[inline(always)]`, and everything generic that it calls.
    ///
    /// # Safety
    /// A step may hold addresses: they must be of live memory, as large as the routine says, to
    /// which nothing else refers while it writes there. A routine whose step holds none asks for
    /// nothing.
    unsafe fn run<S: Simd>(s: S, context: &Self::Context, step: &Self::Step);
}

/// The address of a [`Routine`] compiled for a level; only a [`Level`] makes it, so the processor
/// has its instructions.
pub struct Address<Context, Step>(unsafe fn(&Context, &Step));

impl<Context, Step> Address<Context, Step> {
    /// Calls the routine.
    ///
    /// # Safety
    /// As for the routine's [`Routine::run`].
    #[inline(always)]
    pub unsafe fn call(self, context: &Context, step: &Step) {
        // SAFETY: an address is made only by `Level::address`, for a level that the processor has;
        // the caller vouches for the addresses of the step.
        unsafe { (self.0)(context, step) }
    }
}

impl<Context, Step> Clone for Address<Context, Step> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Context, Step> Copy for Address<Context, Step> {}

impl<Context, Step> std::fmt::Debug for Address<Context, Step> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Address")
    }
}

/// Elements up to which arrays are short.
#[cfg(target_arch = "x86_64")]
const SHORT: usize = 32;

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

    /// The best level for work on arrays of at most so many elements. Some processors run slower
    /// for a while after instructions on 512 bits, which a few vectors do not make up for: short
    /// arrays have AVX2 where the best level is AVX-512.
    ///
    /// ```
    /// # use exmc_math::simd::Level;
    /// assert_eq!(Level::for_length(100_000).name(), Level::detect().name());
    /// assert_ne!(Level::for_length(10).name(), "avx512");
    /// ```
    pub fn for_length(longest: usize) -> Level {
        let best = Level::detect();
        #[cfg(target_arch = "x86_64")]
        if longest <= SHORT && matches!(best.0, Kind::Avx512) {
            return Level(Kind::Avx2);
        }
        best
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

    /// The address of a routine, compiled for this level.
    ///
    /// ```
    /// use std::cell::Cell;
    /// use exmc_math::simd::{Level, Routine, Simd};
    ///
    /// /// Replaces eight numbers by their multiples.
    /// struct Scale;
    /// impl Routine for Scale {
    ///     type Context = f64;
    ///     type Step = Cell<[f64; 8]>;
    ///     #[inline(always)]
    ///     unsafe fn run<S: Simd>(s: S, factor: &f64, x: &Cell<[f64; 8]>) {
    ///         let product = s.mul(s.load(&x.get()), s.splat(*factor));
    ///         x.set(s.to_array(product));
    ///     }
    /// }
    /// let x = Cell::new([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    /// // SAFETY: this step holds no addresses.
    /// unsafe { Level::detect().address::<Scale>().call(&0.5, &x) };
    /// assert_eq!(x.get(), [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]);
    /// ```
    pub fn address<R: Routine>(self) -> Address<R::Context, R::Step> {
        Address(match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => routine_avx512::<R>,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => routine_avx2::<R>,
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => routine_neon::<R>,
            Kind::Portable => routine_portable::<R>,
        })
    }

    /// As [`Level::address`], for a routine that only loads vectors whose lanes are all equal:
    /// where a vector is several registers, one is enough. The bits are the same.
    pub fn uniform_address<R: Routine>(self) -> Address<R::Context, R::Step> {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => Address(routine_avx2_uniform::<R>),
            _ => self.address::<R>(),
        }
    }
}

/// # Safety
/// As for [`run_avx512`] and [`Routine::run`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn routine_avx512<R: Routine>(context: &R::Context, step: &R::Step) {
    // SAFETY: the caller vouches for the instructions and for the step.
    unsafe { R::run(Avx512::new(), context, step) };
}

/// # Safety
/// As for [`run_avx2`] and [`Routine::run`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn routine_avx2<R: Routine>(context: &R::Context, step: &R::Step) {
    // SAFETY: the caller vouches for the instructions and for the step.
    unsafe { R::run(Avx2::new(), context, step) };
}

/// # Safety
/// As for [`run_avx2`] and [`Routine::run`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn routine_avx2_uniform<R: Routine>(context: &R::Context, step: &R::Step) {
    // SAFETY: the caller vouches for the instructions and for the step.
    unsafe { R::run(Avx2Uniform::new(), context, step) };
}

/// # Safety
/// As for [`run_neon`] and [`Routine::run`].
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
unsafe fn routine_neon<R: Routine>(context: &R::Context, step: &R::Step) {
    // SAFETY: the caller vouches for the instructions and for the step.
    unsafe { R::run(Neon::new(), context, step) };
}

/// # Safety
/// As for [`Routine::run`].
unsafe fn routine_portable<R: Routine>(context: &R::Context, step: &R::Step) {
    // SAFETY: the caller vouches for the step.
    unsafe { R::run(Portable::new(), context, step) };
}

/// # Safety
/// The processor must have AVX-512F and AVX-512DQ, and AVX2 and FMA.
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
