//! Symmetric eigenproblems: a dense symmetric matrix -> its eigenvalues and eigenvectors, in place.
//!
//! Householder reduction to a tridiagonal matrix, then QL with implicit shifts, in a fixed order of
//! operations, so that the bits do not depend on the machine. Cost about $5n^3$ flops; every inner
//! loop runs along a row, in plain code that the compiler turns into the level's instructions.
//! **Reference**: Golub and Van Loan 2013, sections 8.3.1 and 8.3.3.

use crate::elementary::hypot;
use crate::linear::{add_scaled, dot};
use crate::simd::{Kernel, Level, Simd};

/// Most implicit steps for one eigenvalue; two or three are usual.
const MAX_SWEEPS: usize = 60;

/// $2^{900}$.
const TWO_TO_900: f64 = f64::from_bits((1023 + 900) << 52);

/// Why a matrix has no decomposition: an element is not finite (or, never seen, QL does not
/// converge).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoEigenvalues;

impl std::fmt::Display for NoEigenvalues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the matrix has an element that is not finite")
    }
}

impl std::error::Error for NoEigenvalues {}

/// Eigenvalues, ascending, and orthonormal eigenvectors: $A = W^\top \mathrm{diag}(\lambda)\, W$.
///
/// **Shapes**: `vectors` is `[n, n]` and holds A on entry (only its lower triangle is read) and W
/// on return: row `k` belongs to `values[k]`. `scratch` has `n` elements of any value. The largest
/// element of each vector is positive. **Numerics**: errors of a few roundings of the largest
/// eigenvalue's size. **Errors**: elements that are not finite; all arrays are then unspecified.
/// **Panics** if lengths disagree.
///
/// ```
/// let mut vectors = [2.0, 0.0, 1.0, 2.0];
/// let (mut values, mut scratch) = ([0.0; 2], [0.0; 2]);
/// exmc_math::eigen::symmetric_eigen(&mut vectors, &mut values, &mut scratch).unwrap();
/// assert!((values[0] - 1.0).abs() < 1e-15 && (values[1] - 3.0).abs() < 1e-15);
/// assert!((vectors[2] - 0.5f64.sqrt()).abs() < 1e-15);
/// ```
///
/// # Errors
/// When an element is not finite.
pub fn symmetric_eigen(
    vectors: &mut [f64],
    values: &mut [f64],
    scratch: &mut [f64],
) -> Result<(), NoEigenvalues> {
    let n = values.len();
    assert!(vectors.len() == n * n && scratch.len() == n, "an eigenproblem is of a square matrix");
    for i in 0..n {
        for j in 0..=i {
            vectors[j * n + i] = vectors[i * n + j];
        }
    }
    if vectors.iter().any(|x| !x.is_finite()) {
        return Err(NoEigenvalues);
    }
    // Squares of the elements must stay in range: a power of two changes no bit of a normal number.
    let largest = vectors.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let factor = match largest {
        x if x > 1e100 => TWO_TO_900.recip(),
        x if x > 0.0 && x < 1e-100 => TWO_TO_900,
        _ => 1.0,
    };
    vectors.iter_mut().for_each(|x| *x *= factor);
    Level::for_length(n).run(Decompose { vectors, values, scratch })?;
    values.iter_mut().for_each(|x| *x /= factor);
    // Selection of the smallest left moves every row once.
    for k in 0..n {
        let rest = values[k..].iter().enumerate();
        let least = rest.min_by(|a, b| a.1.total_cmp(b.1)).map_or(k, |(offset, _)| k + offset);
        if least != k {
            values.swap(k, least);
            let (above, below) = vectors.split_at_mut(least * n);
            above[k * n..(k + 1) * n].swap_with_slice(&mut below[..n]);
        }
        let row = &mut vectors[k * n..(k + 1) * n];
        let largest = row.iter().fold(0.0f64, |m, x| if x.abs() > m.abs() { *x } else { m });
        if largest < 0.0 {
            row.iter_mut().for_each(|x| *x = -*x);
        }
    }
    Ok(())
}

/// All of it but the order and the signs.
struct Decompose<'a> {
    vectors: &'a mut [f64],
    values: &'a mut [f64],
    scratch: &'a mut [f64],
}

impl Kernel for Decompose<'_> {
    type Output = Result<(), NoEigenvalues>;
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Self::Output {
        let n = self.values.len();
        tridiagonalise(n, self.vectors, self.values, self.scratch);
        ql_implicit(n, self.values, self.scratch, self.vectors)
    }
}

/// $\sqrt{x^2+y^2}$, by its definition where the squares are far from the ends of the range.
#[inline(always)]
fn length(x: f64, y: f64) -> f64 {
    let square = x * x + y * y;
    if (1e-280..1e280).contains(&square) { square.sqrt() } else { hypot(x, y) }
}

/// $T = Q^\top A Q$: `a` becomes $Q^\top$, `diagonal` and `off` those of T (`off[k]` below element
/// k).
///
/// The reflection that clears row k keeps its vector in that row, right of the diagonal, until Q is
/// made.
#[inline(always)]
fn tridiagonalise(n: usize, a: &mut [f64], diagonal: &mut [f64], off: &mut [f64]) {
    for k in 0..n.saturating_sub(2) {
        let (above, below) = a.split_at_mut((k + 1) * n);
        let v = &mut above[k * n + k + 1..];
        let first = v[0];
        if dot(&v[1..], &v[1..]) == 0.0 {
            off[k] = first;
            v.fill(0.0);
            continue;
        }
        let norm = dot(v, v).sqrt();
        off[k] = if first > 0.0 { -norm } else { norm };
        v[0] -= off[k];
        let beta = 2.0 / dot(v, v);
        // The trailing block becomes A - v w' - w v'.
        let w = &mut diagonal[..v.len()];
        for (w, row) in w.iter_mut().zip(below.chunks_exact(n)) {
            *w = beta * dot(&row[k + 1..], v);
        }
        let shift = 0.5 * beta * dot(v, w);
        add_scaled(w, -shift, v);
        for (i, row) in below.chunks_exact_mut(n).enumerate() {
            let row = &mut row[k + 1..];
            add_scaled(row, -v[i], w);
            add_scaled(row, -w[i], v);
        }
    }
    for (k, target) in diagonal.iter_mut().enumerate() {
        *target = a[k * n + k];
    }
    if n > 1 {
        off[n - 2] = a[(n - 1) * n + n - 2];
    }
    if let Some(last) = off.last_mut() {
        *last = 0.0;
    }
    // Q' = H_last ... H_0: applied from the right, last factor first, each reflection touches only
    // the trailing block.
    for k in (0..n).rev() {
        let (above, below) = a.split_at_mut((k + 1) * n);
        let (head, v) = above[k * n..].split_at_mut(k + 1);
        let square = dot(v, v);
        if k + 2 < n && square > 0.0 {
            for row in below.chunks_exact_mut(n) {
                let row = &mut row[k + 1..];
                let along = dot(row, v);
                add_scaled(row, -(2.0 / square) * along, v);
            }
        }
        v.fill(0.0);
        head[k] = 1.0;
        below.chunks_exact_mut(n).for_each(|row| row[k] = 0.0);
    }
}

/// Diagonalises the tridiagonal matrix in place, turning `rows` along.
#[inline(always)]
fn ql_implicit(
    n: usize,
    d: &mut [f64],
    e: &mut [f64],
    rows: &mut [f64],
) -> Result<(), NoEigenvalues> {
    for l in 0..n {
        for sweep in 0.. {
            let m = (l..n.saturating_sub(1))
                .find(|&m| e[m].abs() <= f64::EPSILON * (d[m].abs() + d[m + 1].abs()))
                .unwrap_or(n - 1);
            if m == l {
                break;
            }
            if sweep == MAX_SWEEPS {
                return Err(NoEigenvalues);
            }
            // Wilkinson's shift.
            let slope = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let root = length(slope, 1.0);
            let mut g = d[m] - d[l] + e[l] / (slope + root.copysign(slope));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut split = false;
            for i in (l..m).rev() {
                let f = s * e[i];
                let b = c * e[i];
                let r = length(f, g);
                e[i + 1] = r;
                if r == 0.0 {
                    d[i + 1] -= p;
                    e[m] = 0.0;
                    split = true;
                    break;
                }
                s = f / r;
                c = g / r;
                g = d[i + 1] - p;
                let t = (d[i] - g) * s + 2.0 * c * b;
                p = s * t;
                d[i + 1] = g + p;
                g = c * t - b;
                let (upper, lower) = rows[i * n..(i + 2) * n].split_at_mut(n);
                for (x, y) in upper.iter_mut().zip(lower) {
                    let (old_x, old_y) = (*x, *y);
                    *y = s * old_x + c * old_y;
                    *x = c * old_x - s * old_y;
                }
            }
            if split {
                continue;
            }
            d[l] -= p;
            e[l] = g;
            e[m] = 0.0;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(n: usize, a: &[f64]) -> Vec<f64> {
        let (mut rows, mut values, mut scratch) = (a.to_vec(), vec![0.0; n], vec![f64::NAN; n]);
        symmetric_eigen(&mut rows, &mut values, &mut scratch).expect("a finite matrix");
        let scale = 1.0 + a.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let element = |i: usize, j: usize| a[i.max(j) * n + i.min(j)];
        for k in 0..n {
            let v = &rows[k * n..(k + 1) * n];
            for i in 0..n {
                let product: f64 = (0..n).map(|j| element(i, j) * v[j]).sum();
                let residual = product - values[k] * v[i];
                assert!(residual.abs() < 1e-14 * scale * n as f64, "n {n}, residual {residual}");
            }
            for j in 0..=k {
                let inner = dot(v, &rows[j * n..(j + 1) * n]);
                assert!((inner - f64::from(j == k)).abs() < 2e-15 * n as f64);
            }
        }
        assert!(values.is_sorted());
        values
    }

    #[test]
    fn vectors_are_orthonormal_and_satisfy_the_equation() {
        for n in [0, 1, 2, 3, 5, 17, 40] {
            let mut a = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..=i {
                    a[i * n + j] = libm::sin((i * 7 + j * 3 + 1) as f64) * 3.0;
                }
                // What is above the diagonal is not read.
                a[i * n + i + 1..(i + 1) * n].fill(f64::NAN);
            }
            check(n, &a);
        }
        // Diagonal, repeated, rank one and zero matrices take the early exits.
        check(3, &[2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, -1.0]);
        check(3, &[1.0; 9]);
        check(4, &[0.0; 16]);
    }

    /// Squares of the elements leave the range of doubles.
    #[test]
    fn extreme_elements_keep_vectors_orthonormal() {
        for scale in [1e-200, 1e200, 1e-300] {
            let a: Vec<f64> =
                (0..36).map(|index| scale * libm::cos((index / 6 + index % 6) as f64)).collect();
            let (mut rows, mut values, mut scratch) = (a, [0.0; 6], [0.0; 6]);
            symmetric_eigen(&mut rows, &mut values, &mut scratch).expect("a finite matrix");
            for k in 0..6 {
                for j in 0..=k {
                    let inner = dot(&rows[k * 6..(k + 1) * 6], &rows[j * 6..(j + 1) * 6]);
                    assert!((inner - f64::from(j == k)).abs() < 2e-14, "{scale} {k} {j}: {inner}");
                }
            }
        }
    }

    /// The second-difference matrix has eigenvalues $2-2\cos(k\pi/(n+1))$.
    #[test]
    fn second_differences_have_the_closed_form_spectrum() {
        let n = 12;
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            a[i * n + i] = 2.0;
            if i > 0 {
                a[i * n + i - 1] = -1.0;
            }
        }
        for (k, value) in check(n, &a).into_iter().enumerate() {
            let angle = (k + 1) as f64 * std::f64::consts::PI / (n + 1) as f64;
            assert!((value - (2.0 - 2.0 * libm::cos(angle))).abs() < 1e-14);
        }
    }

    #[test]
    fn what_is_not_finite_has_no_decomposition() {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut rows = [1.0, 0.0, bad, 1.0];
            let failed = symmetric_eigen(&mut rows, &mut [0.0; 2], &mut [0.0; 2]);
            assert_eq!(failed, Err(NoEigenvalues));
        }
    }
}
