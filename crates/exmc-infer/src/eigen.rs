//! Symmetric eigenproblems: a dense symmetric matrix -> its eigenvalues and eigenvectors.
//!
//! Householder reduction to a tridiagonal matrix, then QL with implicit shifts (Golub & Van Loan 2013,
//! sections 8.3.1 and 8.3.3). Own code in a fixed order of operations, because library eigensolvers
//! choose their kernels by machine and would change the bits of a run. Cost about $5n^3$ flops; every
//! inner loop runs along a row.

use crate::vector::{add_scaled, dot};

/// Eigenvalues (unordered) and, row by row, their orthonormal eigenvectors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Eigen {
    pub(crate) values: Vec<f64>,
    /// Row `k` is the eigenvector of `values[k]`; row-major `n * n`.
    pub(crate) vectors: Vec<f64>,
}

/// Decomposes a symmetric row-major matrix; `None` when an entry is not finite or QL does not
/// converge (not seen for finite input).
pub(crate) fn eigen_symmetric(n: usize, matrix: &[f64]) -> Option<Eigen> {
    if matrix.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let (mut diagonal, mut off, mut rows) = tridiagonalise(n, matrix);
    ql_implicit(n, &mut diagonal, &mut off, &mut rows)?;
    Some(Eigen { values: diagonal, vectors: rows })
}

/// $T = Q^\top A Q$: the diagonal of $T$, its subdiagonal, and $Q^\top$ row by row.
fn tridiagonalise(n: usize, matrix: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut rows = vec![0.0; n * n];
    for i in 0..n {
        rows[i * n + i] = 1.0;
    }
    let mut reflections: Vec<(f64, Vec<f64>)> = Vec::new();
    for k in 0..n.saturating_sub(2) {
        // Reflect row k (= column k) right of the diagonal onto its first entry.
        let mut v = a[k * n + k + 1..(k + 1) * n].to_vec();
        let norm = dot(&v, &v).sqrt();
        if dot(&v[1..], &v[1..]) == 0.0 {
            reflections.push((0.0, v));
            continue;
        }
        let alpha = if v[0] > 0.0 { -norm } else { norm };
        v[0] -= alpha;
        let beta = 2.0 / dot(&v, &v);
        // The trailing block becomes A - v w' - w v'.
        let m = v.len();
        let mut w: Vec<f64> =
            (0..m).map(|i| beta * dot(&a[(k + 1 + i) * n + k + 1..(k + 2 + i) * n], &v)).collect();
        let shift = 0.5 * beta * dot(&v, &w);
        add_scaled(-shift, &v, &mut w);
        for i in 0..m {
            let row = &mut a[(k + 1 + i) * n + k + 1..(k + 2 + i) * n];
            add_scaled(-v[i], &w, row);
            add_scaled(-w[i], &v, row);
        }
        a[k * n + k + 1] = alpha;
        a[(k + 1) * n + k] = alpha;
        reflections.push((beta, v));
    }
    // Q' = H_last ... H_0. Applied from the right to the identity, last factor first, each
    // reflection touches only the trailing block.
    for (k, (beta, v)) in reflections.iter().enumerate().rev() {
        if *beta == 0.0 {
            continue;
        }
        for i in k + 1..n {
            let row = &mut rows[i * n + k + 1..(i + 1) * n];
            let along = dot(row, v);
            add_scaled(-beta * along, v, row);
        }
    }
    let diagonal = (0..n).map(|i| a[i * n + i]).collect();
    let off = (0..n).map(|i| if i + 1 < n { a[i * n + i + 1] } else { 0.0 }).collect();
    (diagonal, off, rows)
}

/// Diagonalises the tridiagonal matrix in place, rotating `rows` along.
fn ql_implicit(n: usize, d: &mut [f64], e: &mut [f64], rows: &mut [f64]) -> Option<()> {
    const MOST_SWEEPS: usize = 60;
    for l in 0..n {
        for sweep in 0.. {
            let m = (l..n.saturating_sub(1))
                .find(|&m| e[m].abs() <= f64::EPSILON * (d[m].abs() + d[m + 1].abs()))
                .unwrap_or(n - 1);
            if m == l {
                break;
            }
            if sweep == MOST_SWEEPS {
                return None;
            }
            // Wilkinson's shift.
            let slope = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let root = libm::hypot(slope, 1.0);
            let mut g = d[m] - d[l] + e[l] / (slope + root.copysign(slope));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut split = false;
            for i in (l..m).rev() {
                let f = s * e[i];
                let b = c * e[i];
                let r = libm::hypot(f, g);
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
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(n: usize, a: &[f64]) -> Eigen {
        let eigen = eigen_symmetric(n, a).expect("a finite matrix");
        let scale = 1.0 + a.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        for k in 0..n {
            let v = &eigen.vectors[k * n..(k + 1) * n];
            for i in 0..n {
                let residual = dot(&a[i * n..(i + 1) * n], v) - eigen.values[k] * v[i];
                assert!(residual.abs() < 1e-12 * scale * n as f64, "n {n}, residual {residual}");
            }
            for j in 0..=k {
                let inner = dot(v, &eigen.vectors[j * n..(j + 1) * n]);
                assert!((inner - f64::from(j == k)).abs() < 1e-12 * n as f64);
            }
        }
        eigen
    }

    #[test]
    fn vectors_are_orthonormal_and_satisfy_the_equation() {
        for n in [1, 2, 3, 5, 17, 40] {
            let mut a = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..=i {
                    let x = libm::sin((i * 7 + j * 3 + 1) as f64) * 3.0;
                    a[i * n + j] = x;
                    a[j * n + i] = x;
                }
            }
            check(n, &a);
        }
        // Diagonal, repeated, rank one and zero matrices take the early exits.
        check(3, &[2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, -1.0]);
        check(3, &[1.0; 9]);
        check(4, &[0.0; 16]);
    }

    /// The second-difference matrix has eigenvalues $2-2\cos(k\pi/(n+1))$.
    #[test]
    fn second_differences_have_the_closed_form_spectrum() {
        let n = 12;
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            a[i * n + i] = 2.0;
            if i + 1 < n {
                a[i * n + i + 1] = -1.0;
                a[(i + 1) * n + i] = -1.0;
            }
        }
        let mut values = check(n, &a).values;
        values.sort_by(f64::total_cmp);
        for (k, value) in values.iter().enumerate() {
            let angle = (k + 1) as f64 * std::f64::consts::PI / (n + 1) as f64;
            assert!((value - (2.0 - 2.0 * libm::cos(angle))).abs() < 1e-13);
        }
    }

    #[test]
    fn non_finite_input_has_no_decomposition() {
        assert!(eigen_symmetric(2, &[1.0, f64::NAN, f64::NAN, 1.0]).is_none());
    }
}
