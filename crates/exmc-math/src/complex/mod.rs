//! Complex matrices, as pairs of numbers -> Schur forms, eigenvectors, singular vectors, Fourier
//! transforms, adjoints.
//!
//! Arrays hold real and imaginary parts side by side, row by row. Every kernel writes into memory
//! of the caller's and allocates nothing; operations have one fixed order, so that the bits do not
//! depend on the machine. What mathematics leaves free is fixed here: eigenvalues are in the order
//! of [`schur`], the phase of a vector is that at which its largest element (the first of those
//! that are equal up to rounding) is real and positive. Adjoints are those of the real and
//! imaginary parts: that of z is $\partial L/\partial\Re z + i\,\partial L/\partial\Im z$.

mod adjoints;
mod eigen;
mod fourier;
mod schur;
mod singular;

use num_complex::Complex64;

pub use adjoints::{eigen_adjoint, hermitian_adjoint, schur_adjoint, singular_adjoint};
pub use eigen::{EigenLayout, eigen, hermitian};
pub use fourier::{fourier, fourier_scratch};
pub use schur::{SchurLayout, schur};
pub use singular::{SingularLayout, pseudo_inverse, pseudo_inverse_scratch, singular};

const ZERO: Complex64 = Complex64::new(0.0, 0.0);
const ONE: Complex64 = Complex64::new(1.0, 0.0);

/// Elements whose sizes agree to this share are equally large.
const EQUALLY_LARGE: f64 = 1.0 - 1e-8;

#[inline]
fn get(x: &[f64], k: usize) -> Complex64 {
    Complex64::new(x[2 * k], x[2 * k + 1])
}

#[inline]
fn put(x: &mut [f64], k: usize, z: Complex64) {
    x[2 * k] = z.re;
    x[2 * k + 1] = z.im;
}

/// $|z|$ where squares stay in range, which the callers' scaling sees to.
#[inline]
fn size(z: Complex64) -> f64 {
    z.norm_sqr().sqrt()
}

/// The power of two that brings the largest element near one; nothing if an element is not finite.
fn scale_of(x: &[f64]) -> Option<f64> {
    if x.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let largest = x.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    /// $2^{900}$.
    const TWO_TO_900: f64 = f64::from_bits((1023 + 900) << 52);
    Some(match largest {
        x if x > 1e100 => TWO_TO_900.recip(),
        x if x > 0.0 && x < 1e-100 => TWO_TO_900,
        _ => 1.0,
    })
}

/// The first of the largest elements among `count` with this stride.
fn pivot(x: &[f64], start: usize, stride: usize, count: usize) -> usize {
    let norm = |k: usize| get(x, start + k * stride).norm_sqr();
    let largest = (0..count).map(norm).fold(0.0, f64::max);
    (0..count).find(|k| norm(*k) >= EQUALLY_LARGE * largest).unwrap_or(0)
}

/// The factor of size one that makes z real and positive; one for zero.
fn to_positive(z: Complex64) -> Complex64 {
    let length = size(z);
    if length > 0.0 { z.conj() / length } else { ONE }
}
