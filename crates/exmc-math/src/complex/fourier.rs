//! Complex vectors -> their discrete Fourier transforms, by the factors of their length.
//!
//! **Reference**: Cooley and Tukey 1965.

use num_complex::Complex64;

use super::{ZERO, get, put};
use crate::elementary::{cos, sin};

/// Numbers of memory that [`fourier`] computes in, for vectors of n elements.
pub fn fourier_scratch(n: usize) -> usize {
    6 * n
}

/// $X_k = \sum_j x_j e^{-2\pi i jk/n}$; with `inverse`, $\tfrac1n\sum_j x_j e^{2\pi i jk/n}$.
/// Element j of x is `x[start + j * stride]`, X takes its place; both are complex.
///
/// **Cost**: n times the sum of n's prime factors. **Edges**: what is not finite spreads.
/// **Panics** if the memory is too short.
pub fn fourier(
    x: &mut [f64],
    (start, stride, n): (usize, usize, usize),
    inverse: bool,
    scratch: &mut [f64],
) {
    if n == 0 {
        return;
    }
    let (roots, rest) = scratch.split_at_mut(2 * n);
    let (out, terms) = rest.split_at_mut(2 * n);
    for k in 0..n {
        // Quarters of the circle are exact.
        let angle = 2.0 * std::f64::consts::PI * k as f64 / n as f64;
        let side = if inverse { 1.0 } else { -1.0 };
        let exact = match (4 * k) % n == 0 {
            true => [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][4 * k / n],
            false => (cos(angle), sin(angle)),
        };
        put(roots, k, Complex64::new(exact.0, side * exact.1));
    }
    transform(x, (start, stride, n), (out, 0), &Roots { roots, n }, terms);
    let scale = if inverse { 1.0 / n as f64 } else { 1.0 };
    for k in 0..n {
        put(x, start + k * stride, get(out, k) * scale);
    }
}

/// The n-th roots of one.
struct Roots<'r> {
    roots: &'r [f64],
    n: usize,
}

fn transform(
    x: &[f64],
    (start, stride, n): (usize, usize, usize),
    (out, first): (&mut [f64], usize),
    table: &Roots<'_>,
    terms: &mut [f64],
) {
    if n == 1 {
        put(out, first, get(x, start));
        return;
    }
    let factor = (2..n).take_while(|p| p * p <= n).find(|p| n % p == 0).unwrap_or(n);
    let part = n / factor;
    for r in 0..factor {
        let from = (start + r * stride, stride * factor, part);
        transform(x, from, (&mut *out, first + r * part), table, terms);
    }
    let step = table.n / n;
    for k in 0..part {
        for r in 0..factor {
            let root = get(table.roots, (r * k) % n * step);
            put(terms, r, get(out, first + r * part + k) * root);
        }
        for q in 0..factor {
            let mut sum = ZERO;
            for r in 0..factor {
                sum += get(terms, r) * get(table.roots, (r * q) % factor * (table.n / factor));
            }
            put(out, first + q * part + k, sum);
        }
    }
}
