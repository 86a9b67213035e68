//! A complex matrix -> its eigenvalues and eigenvectors, from the Schur form; a Hermitian one's are
//! orthonormal.
//!
//! **Reference**: Golub and Van Loan 2013, section 7.6.4.

use num_complex::Complex64;

use super::{ONE, SchurLayout, get, pivot, put, schur, size, to_positive};

/// Where the parts of [`eigen`]'s and [`hermitian`]'s results are, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EigenLayout {
    /// Rows of the matrix.
    pub n: usize,
}

impl EigenLayout {
    /// Values, complex `[n]`, start at 0; vectors, a column each of complex `[n, n]`, there.
    pub fn vectors(self) -> usize {
        2 * self.n
    }

    /// The row of each vector's element that is real and positive, `[n]`.
    pub fn pivots(self) -> usize {
        2 * self.n + 2 * self.n * self.n
    }

    /// Numbers that a caller reads.
    pub fn used(self) -> usize {
        self.pivots() + self.n
    }

    /// Numbers in all: behind those that are used is the memory of the computation.
    pub fn len(self) -> usize {
        self.used() + SchurLayout { n: self.n }.len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.n == 0
    }
}

/// $AV = V\operatorname{diag}(\lambda)$, the columns of V of length one: `out` as [`EigenLayout`]
/// says.
///
/// **Order** and exactness of conjugate pairs: as [`schur`] has them; vectors of a real matrix are
/// exactly real or conjugate too. **Edges**: NaN everywhere where an element is not finite; a
/// matrix that has too few vectors gives (nearly) equal ones. **Panics** if lengths disagree.
pub fn eigen(a: &[f64], out: &mut [f64]) {
    let n = (a.len() / 2).isqrt();
    let Some((values, vectors, pivots, t, u)) = parts(n, a, out) else { return };
    // Smaller differences of eigenvalues would overflow.
    let least = f64::EPSILON * t.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    for k in (0..n).rev() {
        // (T - t_kk) x = 0 with x_k = 1; then U x.
        put(vectors, k * n + k, ONE);
        for i in (0..k).rev() {
            let sum: Complex64 =
                (i + 1..=k).map(|j| get(t, i * n + j) * get(vectors, j * n + k)).sum();
            let gap = get(t, k * n + k) - get(t, i * n + i);
            let gap = if size(gap) < least { Complex64::new(least, 0.0) } else { gap };
            put(vectors, i * n + k, sum / gap);
            // Long vectors are shortened before their squares overflow.
            let longest = size(get(vectors, i * n + k));
            if longest > 1e100 {
                (i..=k).for_each(|j| put(vectors, j * n + k, get(vectors, j * n + k) / longest));
            }
        }
        for i in 0..n {
            let sum: Complex64 = (0..=k).map(|j| get(u, i * n + j) * get(vectors, j * n + k)).sum();
            // Row k of T is not needed any more: the image waits there.
            put(t, k * n + i, sum);
        }
        (0..n).for_each(|i| put(vectors, i * n + k, get(t, k * n + i)));
    }
    let is_real = a.iter().skip(1).step_by(2).all(|im| *im == 0.0);
    for k in 0..n {
        normalise(n, vectors, k, &mut pivots[k]);
        if !is_real {
            continue;
        }
        if values[2 * k + 1] == 0.0 {
            (0..n).for_each(|i| vectors[2 * (i * n + k) + 1] = 0.0);
            normalise(n, vectors, k, &mut pivots[k]);
        } else if values[2 * k + 1] < 0.0 {
            let image = (0..n).find(|j| get(values, *j) == get(values, k).conj());
            let Some(j) = image else { continue };
            (0..n).for_each(|i| put(vectors, i * n + k, get(vectors, i * n + j).conj()));
            pivots[k] = pivots[j];
        }
    }
}

/// The same of a Hermitian matrix: V is unitary, the values are real and ascend.
///
/// **Edges**: what is above the diagonal must be the conjugate of what is below; NaN everywhere
/// where an element is not finite.
pub fn hermitian(a: &[f64], out: &mut [f64]) {
    let n = (a.len() / 2).isqrt();
    let Some((values, vectors, pivots, _, u)) = parts(n, a, out) else { return };
    vectors.copy_from_slice(u);
    for k in 0..n {
        values[2 * k + 1] = 0.0;
        pivots[k] = pivot(vectors, k, n, n) as f64;
    }
}

/// Values, vectors (zeros), pivots, T and U in `out`; nothing where there is no decomposition.
type Parts<'o> = (&'o mut [f64], &'o mut [f64], &'o mut [f64], &'o mut [f64], &'o mut [f64]);

fn parts<'o>(n: usize, a: &[f64], out: &'o mut [f64]) -> Option<Parts<'o>> {
    let (form, layout) = (SchurLayout { n }, EigenLayout { n });
    assert_eq!(out.len(), layout.len(), "the result has the layout's length");
    let (used, work) = out.split_at_mut(layout.used());
    schur(a, work);
    if work.iter().any(|x| x.is_nan()) {
        used.fill(f64::NAN);
        return None;
    }
    let (values, rest) = used.split_at_mut(layout.vectors());
    let (vectors, pivots) = rest.split_at_mut(2 * n * n);
    let (t, rest) = work.split_at_mut(form.unitary());
    let (u, rest) = rest.split_at_mut(form.unitary());
    values.copy_from_slice(&rest[..2 * n]);
    vectors.fill(0.0);
    Some((values, vectors, pivots, t, u))
}

/// Column k of length one, its largest element real and positive.
fn normalise(n: usize, vectors: &mut [f64], k: usize, row: &mut f64) {
    let largest = (0..n).map(|i| size(get(vectors, i * n + k))).fold(0.0, f64::max);
    if largest == 0.0 {
        return;
    }
    (0..n).for_each(|i| put(vectors, i * n + k, get(vectors, i * n + k) / largest));
    let square: f64 = (0..n).map(|i| get(vectors, i * n + k).norm_sqr()).sum();
    let at_row = pivot(vectors, k, n, n);
    let factor = to_positive(get(vectors, at_row * n + k)) / square.sqrt();
    (0..n).for_each(|i| put(vectors, i * n + k, get(vectors, i * n + k) * factor));
    vectors[2 * (at_row * n + k) + 1] = 0.0;
    *row = at_row as f64;
}
