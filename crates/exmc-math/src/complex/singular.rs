//! A complex matrix -> its thin singular value decomposition, by rotations of pairs of columns; the
//! Moore-Penrose inverse.
//!
//! **Reference**: Hestenes 1958; Golub and Van Loan 2013, section 8.6.3.

use num_complex::Complex64;

use super::{ONE, ZERO, get, pivot, put, scale_of, to_positive};

/// Sweeps over all pairs; five to ten are usual.
const MAX_SWEEPS: usize = 60;

/// Where the parts of [`singular`]'s result are, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SingularLayout {
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
}

impl SingularLayout {
    /// The number of singular values, which are first.
    pub fn count(self) -> usize {
        self.rows.min(self.columns)
    }

    /// Left vectors, a column each of complex `[rows, count]`, start there.
    pub fn left(self) -> usize {
        self.count()
    }

    /// Right vectors, a column each of complex `[columns, count]`, start there.
    pub fn right(self) -> usize {
        self.left() + 2 * self.rows * self.count()
    }

    /// The row of each left vector's element that is real and positive, `[count]`.
    pub fn pivots(self) -> usize {
        self.right() + 2 * self.columns * self.count()
    }

    /// Numbers in all.
    pub fn len(self) -> usize {
        self.pivots() + self.count()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.count() == 0
    }
}

/// $A = U\operatorname{diag}(s)V^*$ with orthonormal columns of U and V: `out` as
/// [`SingularLayout`] says.
///
/// **Order**: the values descend. **Phase**: the largest element of each left vector (the first of
/// those that are equal up to rounding) is real and positive; V's follow from that, but where a
/// value is zero they are free, as is the basis. **Edges**: vectors of values that are zero up to
/// rounding complete the others to an orthonormal basis; NaN everywhere where an element is not
/// finite. **Panics** if lengths disagree.
pub fn singular(layout: SingularLayout, a: &[f64], out: &mut [f64]) {
    let SingularLayout { rows, columns } = layout;
    assert!(a.len() == 2 * rows * columns && out.len() == layout.len(), "lengths of the layout");
    let Some(factor) = scale_of(a) else {
        out.fill(f64::NAN);
        return;
    };
    let count = layout.count();
    let (values, rest) = out.split_at_mut(layout.left());
    let (left, rest) = rest.split_at_mut(layout.right() - layout.left());
    let (right, pivots) = rest.split_at_mut(layout.pivots() - layout.right());
    // The longer side holds what the rotations make orthogonal: A, or A* of more columns than rows.
    let is_tall = rows >= columns;
    let (long, short, length) = if is_tall { (left, right, rows) } else { (right, left, columns) };
    for i in 0..rows {
        for j in 0..columns {
            let element = get(a, i * columns + j) * factor;
            if is_tall {
                put(long, i * count + j, element);
            } else {
                put(long, j * count + i, element.conj());
            }
        }
    }
    short.fill(0.0);
    (0..count).for_each(|k| put(short, k * count + k, ONE));
    orthogonalise(count, (long, length), short);
    for (k, value) in values.iter_mut().enumerate() {
        *value = norm(long, count, length, k);
    }
    for k in 0..count {
        let rest = values[k..].iter().enumerate();
        let most =
            rest.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0))).map_or(k, |(j, _)| k + j);
        if most != k {
            values.swap(k, most);
            for (matrix, height) in [(&mut *long, length), (&mut *short, count)] {
                for i in 0..height {
                    let (x, y) = (get(matrix, i * count + k), get(matrix, i * count + most));
                    put(matrix, i * count + k, y);
                    put(matrix, i * count + most, x);
                }
            }
        }
    }
    let least = values.first().copied().unwrap_or(0.0) * f64::EPSILON * length as f64;
    for (k, &value) in values.iter().enumerate() {
        if value > least {
            (0..length).for_each(|i| put(long, i * count + k, get(long, i * count + k) / value));
        } else {
            complete(count, (long, length), k);
        }
    }
    let (left, right) = if is_tall { (long, short) } else { (short, long) };
    for k in 0..count {
        let row = pivot(left, k, count, rows);
        let phase = to_positive(get(left, row * count + k));
        (0..rows).for_each(|i| put(left, i * count + k, get(left, i * count + k) * phase));
        (0..columns).for_each(|i| put(right, i * count + k, get(right, i * count + k) * phase));
        left[2 * (row * count + k) + 1] = 0.0;
        pivots[k] = row as f64;
    }
    values.iter_mut().for_each(|x| *x /= factor);
}

fn norm(x: &[f64], count: usize, length: usize, k: usize) -> f64 {
    (0..length).map(|i| get(x, i * count + k).norm_sqr()).sum::<f64>().sqrt()
}

/// $x_p^* x_q$ of two columns.
fn inner(x: &[f64], (count, length): (usize, usize), p: usize, q: usize) -> Complex64 {
    (0..length).map(|i| get(x, i * count + p).conj() * get(x, i * count + q)).sum()
}

/// Turns pairs of columns until all are orthogonal, and those of `short` with them.
fn orthogonalise(count: usize, (long, length): (&mut [f64], usize), short: &mut [f64]) {
    // Inner products of this share are rounding.
    let least = f64::EPSILON * (length as f64).sqrt();
    for _ in 0..MAX_SWEEPS {
        let mut turned = false;
        for p in 0..count {
            for q in p + 1..count {
                let between = inner(long, (count, length), p, q);
                let gamma = between.norm_sqr().sqrt();
                let (alpha, beta) = (norm(long, count, length, p), norm(long, count, length, q));
                if gamma == 0.0 || gamma <= least * alpha * beta {
                    continue;
                }
                turned = true;
                let zeta = (beta - alpha) * (beta + alpha) / (2.0 * gamma);
                let sign = if zeta < 0.0 { -1.0 } else { 1.0 };
                let tangent = sign / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
                let (sine, phase) = (cosine * tangent, between / gamma);
                for (matrix, height) in [(&mut *long, length), (&mut *short, count)] {
                    for i in 0..height {
                        // With q turned to a real product, the rotation is the real one.
                        let x = get(matrix, i * count + p);
                        let y = get(matrix, i * count + q) * phase.conj();
                        put(matrix, i * count + p, x * cosine - y * sine);
                        put(matrix, i * count + q, x * sine + y * cosine);
                    }
                }
            }
        }
        if !turned {
            break;
        }
    }
}

/// Makes column k a unit vector that is orthogonal to those before it.
fn complete(count: usize, (x, length): (&mut [f64], usize), k: usize) {
    // One of the axes keeps at least 1/length of its square when the others' shares are gone.
    for axis in 0..length {
        (0..length).for_each(|i| put(x, i * count + k, if i == axis { ONE } else { ZERO }));
        for _ in 0..2 {
            for j in 0..k {
                let share = inner(x, (count, length), j, k);
                for i in 0..length {
                    let step = get(x, i * count + j) * share;
                    put(x, i * count + k, get(x, i * count + k) - step);
                }
            }
        }
        let left = norm(x, count, length, k);
        if left * left * (2 * length) as f64 >= 1.0 {
            (0..length).for_each(|i| put(x, i * count + k, get(x, i * count + k) / left));
            return;
        }
    }
}

/// Numbers of memory that [`pseudo_inverse`] computes in.
pub fn pseudo_inverse_scratch(layout: SingularLayout) -> usize {
    layout.len() + 2 * layout.rows * layout.columns
}

/// The Moore-Penrose inverse, real `[columns, rows]`, of a real matrix: singular values of less
/// than a rounding error (a share of $2^{-52}\max(\text{rows}, \text{columns})$ of the largest)
/// count as zero.
///
/// **Edges**: NaN everywhere where an element is not finite. **Panics** if lengths disagree.
pub fn pseudo_inverse(layout: SingularLayout, a: &[f64], out: &mut [f64], scratch: &mut [f64]) {
    let SingularLayout { rows, columns } = layout;
    let (lifted, found) = scratch.split_at_mut(2 * rows * columns);
    for (k, x) in a.iter().enumerate() {
        put(lifted, k, Complex64::new(*x, 0.0));
    }
    singular(layout, lifted, found);
    let count = layout.count();
    let (left, right) = (&found[layout.left()..], &found[layout.right()..]);
    let largest = found.first().copied().unwrap_or(0.0);
    let least = largest * f64::EPSILON * rows.max(columns) as f64;
    if largest.is_nan() {
        out.fill(f64::NAN);
        return;
    }
    for i in 0..columns {
        for j in 0..rows {
            let kept = (0..count).filter(|k| found[*k] > least);
            let terms =
                kept.map(|k| right[2 * (i * count + k)] / found[k] * left[2 * (j * count + k)]);
            out[i * rows + j] = terms.sum();
        }
    }
}
