//! Small dense kernels on row-major slices: dot products, Cholesky factors and triangular solves,
//! without allocation.
//!
//! Every sum has one fixed order (8 lanes, then a fixed tree), so results do not depend on vector
//! width or compiler. Matrices are `[rows, columns]` row-major. A triangular matrix is stored in a
//! full square; the other triangle is not read. Costs are the textbook ones: $n^3/3$
//! multiplications for the factor, $n^2/2$ per solve. For large `n` a blocked library is faster.
//! **Reference**: Golub and Van Loan 2013, chapters 3 and 4; Higham 2002, chapter 10 (errors).

use crate::simd::LANES;

/// Dot product in 8 lanes: lane `i` sums the products `i, i + 8, ...`, then lanes are added as a
/// tree.
///
/// **Panics** if the lengths differ. **Numerics**: error at most `n/8 + 3` roundings of the sum of
/// sizes.
///
/// ```
/// assert_eq!(exmc_math::linear::dot(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 32.0);
/// ```
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "dot needs two vectors of one length");
    let mut lanes = [0.0; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for i in 0..LANES {
            lanes[i] += x[i] * y[i];
        }
    }
    for (lane, (x, y)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane += x * y;
    }
    add_lanes(lanes)
}

/// Sum in 8 lanes, in the same order as [`dot`].
///
/// ```
/// assert_eq!(exmc_math::linear::sum(&[1.0; 20]), 20.0);
/// ```
#[inline]
pub fn sum(a: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (blocks, rest) = a.as_chunks::<LANES>();
    for x in blocks {
        for i in 0..LANES {
            lanes[i] += x[i];
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane += x;
    }
    add_lanes(lanes)
}

#[inline(always)]
fn add_lanes(l: [f64; LANES]) -> f64 {
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

/// `y += scale * x`, elementwise. **Panics** if the lengths differ.
///
/// ```
/// let mut y = [1.0, 1.0];
/// exmc_math::linear::add_scaled(&mut y, 2.0, &[1.0, 3.0]);
/// assert_eq!(y, [3.0, 7.0]);
/// ```
#[inline]
pub fn add_scaled(y: &mut [f64], scale: f64, x: &[f64]) {
    assert_eq!(y.len(), x.len(), "add_scaled needs two vectors of one length");
    for (y, x) in y.iter_mut().zip(x) {
        *y += scale * x;
    }
}

/// Why a matrix has no Cholesky factor: the pivot of this row is not a positive finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPositiveDefinite {
    /// The first row (from 0) whose pivot failed.
    pub row: usize,
}

impl std::fmt::Display for NotPositiveDefinite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "matrix is not positive definite: the pivot of row {} is not positive", self.row)
    }
}

impl std::error::Error for NotPositiveDefinite {}

/// Lower Cholesky factor: $A = LL^\top$ with the diagonal of `L` positive.
///
/// **Shapes**: `a` and `out` are `[n, n]`; only the lower triangle of `a` is read, the upper
/// triangle of `out` is set to zero. **Errors**: the first pivot that is not positive and finite
/// (NaN included); `out` is then unspecified. **Panics** if a length is not `n * n`.
///
/// ```
/// let mut factor = [0.0; 4];
/// exmc_math::linear::cholesky_lower(2, &[4.0, 2.0, 2.0, 5.0], &mut factor).unwrap();
/// assert_eq!(factor, [2.0, 0.0, 1.0, 2.0]);
/// ```
pub fn cholesky_lower(n: usize, a: &[f64], out: &mut [f64]) -> Result<(), NotPositiveDefinite> {
    assert!(
        a.len() == n * n && out.len() == n * n,
        "a Cholesky factor needs square matrices of size n"
    );
    for i in 0..n {
        let (done, rest) = out.split_at_mut(i * n);
        let row = &mut rest[..n];
        for j in 0..i {
            let above = &done[j * n..j * n + j + 1];
            row[j] = (a[i * n + j] - dot(&row[..j], &above[..j])) / above[j];
        }
        let pivot = a[i * n + i] - dot(&row[..i], &row[..i]);
        if !(pivot > 0.0 && pivot < f64::INFINITY) {
            return Err(NotPositiveDefinite { row: i });
        }
        row[i] = pivot.sqrt();
        row[i + 1..].fill(0.0);
    }
    Ok(())
}

/// Solves $Lx=b$ in place, `l` lower triangular `[n, n]`, `x` holding `b` on entry.
///
/// **Edges**: a zero on the diagonal gives infinities or NaN. **Panics** if the lengths disagree.
///
/// ```
/// let mut x = [4.0, 8.0];
/// exmc_math::linear::solve_lower(&[2.0, 0.0, 1.0, 2.0], &mut x);
/// assert_eq!(x, [2.0, 3.0]);
/// ```
pub fn solve_lower(l: &[f64], x: &mut [f64]) {
    let n = x.len();
    assert_eq!(l.len(), n * n, "a triangular solve needs a square matrix of the vector's size");
    for i in 0..n {
        let (known, rest) = x.split_at_mut(i);
        let row = &l[i * n..i * n + i + 1];
        rest[0] = (rest[0] - dot(&row[..i], known)) / row[i];
    }
}

/// Solves $L^\top x=b$ in place, `l` lower triangular; edges and panics as [`solve_lower`].
///
/// Runs over the rows of `l` (columns of its transpose), so memory is read in order.
///
/// ```
/// let mut x = [7.0, 6.0];
/// exmc_math::linear::solve_lower_transposed(&[2.0, 0.0, 1.0, 2.0], &mut x);
/// assert_eq!(x, [2.0, 3.0]);
/// ```
pub fn solve_lower_transposed(l: &[f64], x: &mut [f64]) {
    let n = x.len();
    assert_eq!(l.len(), n * n, "a triangular solve needs a square matrix of the vector's size");
    for i in (0..n).rev() {
        let row = &l[i * n..i * n + i + 1];
        let (rest, solved) = x.split_at_mut(i);
        solved[0] /= row[i];
        add_scaled(rest, -solved[0], &row[..i]);
    }
}

/// Solves $Ux=b$ in place, `u` upper triangular `[n, n]`; edges and panics as [`solve_lower`].
///
/// ```
/// let mut x = [7.0, 6.0];
/// exmc_math::linear::solve_upper(&[2.0, 1.0, 0.0, 2.0], &mut x);
/// assert_eq!(x, [2.0, 3.0]);
/// ```
pub fn solve_upper(u: &[f64], x: &mut [f64]) {
    let n = x.len();
    assert_eq!(u.len(), n * n, "a triangular solve needs a square matrix of the vector's size");
    for i in (0..n).rev() {
        let (rest, known) = x.split_at_mut(i + 1);
        let row = &u[i * n + i..(i + 1) * n];
        rest[i] = (rest[i] - dot(&row[1..], known)) / row[0];
    }
}

/// Solves $U^\top x=b$ in place, `u` upper triangular; edges and panics as [`solve_lower`].
///
/// ```
/// let mut x = [4.0, 8.0];
/// exmc_math::linear::solve_upper_transposed(&[2.0, 1.0, 0.0, 2.0], &mut x);
/// assert_eq!(x, [2.0, 3.0]);
/// ```
pub fn solve_upper_transposed(u: &[f64], x: &mut [f64]) {
    let n = x.len();
    assert_eq!(u.len(), n * n, "a triangular solve needs a square matrix of the vector's size");
    for i in 0..n {
        let row = &u[i * n + i..(i + 1) * n];
        let (solved, rest) = x[i..].split_at_mut(1);
        solved[0] /= row[0];
        add_scaled(rest, -solved[0], &row[1..]);
    }
}

/// Solves $LX=B$ in place for a matrix `x` of shape `[n, columns]`; edges and panics as
/// [`solve_lower`].
///
/// ```
/// let mut x = [4.0, 2.0, 8.0, 1.0];
/// exmc_math::linear::solve_lower_matrix(2, 2, &[2.0, 0.0, 1.0, 2.0], &mut x);
/// assert_eq!(x, [2.0, 1.0, 3.0, 0.0]);
/// ```
pub fn solve_lower_matrix(n: usize, columns: usize, l: &[f64], x: &mut [f64]) {
    assert!(l.len() == n * n && x.len() == n * columns, "a triangular solve needs matching shapes");
    for i in 0..n {
        let (known, rest) = x.split_at_mut(i * columns);
        let row = &mut rest[..columns];
        for j in 0..i {
            add_scaled(row, -l[i * n + j], &known[j * columns..(j + 1) * columns]);
        }
        let pivot = l[i * n + i];
        row.iter_mut().for_each(|x| *x /= pivot);
    }
}

/// Solves $L^\top X=B$ in place for a matrix `x` of shape `[n, columns]`; edges and panics as
/// [`solve_lower`].
///
/// ```
/// let mut x = [7.0, 2.0, 6.0, 0.0];
/// exmc_math::linear::solve_lower_transposed_matrix(2, 2, &[2.0, 0.0, 1.0, 2.0], &mut x);
/// assert_eq!(x, [2.0, 1.0, 3.0, 0.0]);
/// ```
pub fn solve_lower_transposed_matrix(n: usize, columns: usize, l: &[f64], x: &mut [f64]) {
    assert!(l.len() == n * n && x.len() == n * columns, "a triangular solve needs matching shapes");
    for i in (0..n).rev() {
        let (rest, solved) = x.split_at_mut(i * columns);
        let pivot = l[i * n + i];
        let row = &mut solved[..columns];
        row.iter_mut().for_each(|x| *x /= pivot);
        for j in 0..i {
            add_scaled(&mut rest[j * columns..(j + 1) * columns], -l[i * n + j], row);
        }
    }
}

/// `out = L x` for a lower triangular `l`, as in colouring a standard normal vector. **Panics** if
/// the lengths disagree.
///
/// ```
/// let mut out = [0.0; 2];
/// exmc_math::linear::multiply_lower(&[2.0, 0.0, 1.0, 2.0], &[2.0, 3.0], &mut out);
/// assert_eq!(out, [4.0, 8.0]);
/// ```
pub fn multiply_lower(l: &[f64], x: &[f64], out: &mut [f64]) {
    let n = x.len();
    assert!(l.len() == n * n && out.len() == n, "a triangular product needs matching shapes");
    for (i, out) in out.iter_mut().enumerate() {
        *out = dot(&l[i * n..i * n + i + 1], &x[..i + 1]);
    }
}

/// $\log\det LL^\top = 2\sum_i\log L_{ii}$ for a Cholesky factor `[n, n]`.
///
/// ```
/// let want = exmc_math::log(16.0);
/// assert!((exmc_math::linear::log_det_cholesky(2, &[2.0, 0.0, 1.0, 2.0]) - want).abs() < 1e-15);
/// ```
pub fn log_det_cholesky(n: usize, l: &[f64]) -> f64 {
    assert_eq!(l.len(), n * n, "a determinant needs a square matrix");
    2.0 * (0..n).map(|i| libm::log(l[i * n + i])).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{ChainRng, Phase};

    /// A random factor with a strong diagonal, so that errors stay near the unit roundoff.
    fn random_lower(n: usize) -> Vec<f64> {
        let mut rng = ChainRng::new(n as u64, 0, Phase::Initial);
        let mut l = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..i {
                l[i * n + j] = rng.standard_normal() / n as f64;
            }
            l[i * n + i] = 1.0 + rng.uniform();
        }
        l
    }

    fn transposed(n: usize, columns: usize, a: &[f64]) -> Vec<f64> {
        (0..n * columns).map(|k| a[(k % n) * columns + k / n]).collect()
    }

    fn close(got: &[f64], want: &[f64]) {
        for (g, w) in got.iter().zip(want) {
            // Backward stable on well-conditioned matrices of size at most 33: a few hundred
            // roundings.
            assert!((g - w).abs() < 1e-13, "{got:?} {want:?}");
        }
    }

    #[test]
    fn factor_recovers_its_matrix() {
        for n in [0, 1, 2, 7, 8, 9, 33] {
            let l = random_lower(n);
            let a: Vec<f64> = (0..n * n)
                .map(|k| (0..n).map(|m| l[(k / n) * n + m] * l[(k % n) * n + m]).sum())
                .collect();
            let mut factor = vec![f64::NAN; n * n];
            cholesky_lower(n, &a, &mut factor).unwrap();
            close(&factor, &l);
        }
    }

    #[test]
    fn solves_undo_products() {
        for n in [1, 2, 7, 8, 9, 33] {
            let (l, columns) = (random_lower(n), 3);
            let upper = transposed(n, n, &l);
            let want: Vec<f64> =
                (0..n * columns).map(|i| (i as f64 * 0.7 - 2.0) / n as f64).collect();
            let times = |a: &[f64]| -> Vec<f64> {
                (0..n * columns)
                    .map(|k| {
                        (0..n)
                            .map(|m| a[(k / columns) * n + m] * want[m * columns + k % columns])
                            .sum()
                    })
                    .collect()
            };
            let column = |x: &[f64]| -> Vec<f64> { x.iter().step_by(columns).copied().collect() };

            let mut x = times(&l);
            solve_lower_matrix(n, columns, &l, &mut x);
            close(&x, &want);
            let mut x = times(&upper);
            solve_lower_transposed_matrix(n, columns, &l, &mut x);
            close(&x, &want);
            for (a, f) in [(&l, solve_lower as fn(&[f64], &mut [f64])), (&upper, solve_upper)] {
                let mut x = column(&times(a));
                f(a, &mut x);
                close(&x, &column(&want));
            }
            for (a, b, f) in [
                (&l, &upper, solve_lower_transposed as fn(&[f64], &mut [f64])),
                (&upper, &l, solve_upper_transposed),
            ] {
                let mut x = column(&times(b));
                f(a, &mut x);
                close(&x, &column(&want));
            }
            let mut product = vec![0.0; n];
            multiply_lower(&l, &column(&want), &mut product);
            close(&product, &column(&times(&l)));
        }
    }

    #[test]
    fn indefinite_matrices_name_the_row() {
        let mut out = [0.0; 9];
        let a = [1.0, 0.0, 0.0, 0.0, 4.0, 6.0, 0.0, 6.0, 9.0];
        assert_eq!(cholesky_lower(3, &a, &mut out), Err(NotPositiveDefinite { row: 2 }));
        assert_eq!(
            cholesky_lower(1, &[f64::NAN], &mut out[..1]),
            Err(NotPositiveDefinite { row: 0 })
        );
        assert_eq!(
            cholesky_lower(1, &[f64::INFINITY], &mut out[..1]),
            Err(NotPositiveDefinite { row: 0 })
        );
    }

    #[test]
    fn dot_adds_in_its_stated_order() {
        // 2^53 swallows a lone one; only the lane order says which ones survive.
        let big = 9_007_199_254_740_992.0;
        let mut a = vec![0.0; 17];
        (a[0], a[8], a[4], a[16]) = (big, 1.0, 1.0, -big);
        assert_eq!(dot(&a, &[1.0; 17]), 1.0);
        assert_eq!(sum(&a), 1.0);
    }
}
