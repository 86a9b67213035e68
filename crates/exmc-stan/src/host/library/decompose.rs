//! Eigenvalues of symmetric matrices, singular values, QR.

use exmc_math::eigen::symmetric_eigen;

use super::linear::identity;
use super::reduce::dot;
use super::{Call, Matrix, matrix_value};
use crate::host::error::Fault;
use crate::host::operators::{matrix_product, transposed};
use crate::value::{Numbers, Value};

type Plain = fn(&Call<'_>) -> Result<Value, Fault>;

/// Names and functions.
pub(crate) const FUNCTIONS: &[(&str, Plain)] = &[
    ("eigenvalues_sym", |c| Ok(Value::reals(symmetric(c)?.values))),
    ("eigenvectors_sym", |c| Ok(symmetric(c)?.vectors())),
    ("eigendecompose_sym", |c| {
        let found = symmetric(c)?;
        let vectors = found.vectors();
        Ok(Value::Tuple(vec![vectors, Value::reals(found.values)]))
    }),
    ("singular_values", |c| Ok(Value::reals(Svd::new(&c.matrix(0)?).values))),
    ("svd_U", |c| Ok(Svd::new(&c.matrix(0)?).left())),
    ("svd_V", |c| Ok(Svd::new(&c.matrix(0)?).right())),
    ("svd", |c| {
        let found = Svd::new(&c.matrix(0)?);
        let (left, right) = (found.left(), found.right());
        Ok(Value::Tuple(vec![left, Value::reals(found.values), right]))
    }),
    ("qr_Q", |c| Ok(qr(&c.matrix(0)?, false).0)),
    ("qr_R", |c| Ok(qr(&c.matrix(0)?, false).1)),
    ("qr", |c| {
        let (q, r) = qr(&c.matrix(0)?, false);
        Ok(Value::Tuple(vec![q, r]))
    }),
    ("qr_thin_Q", |c| Ok(qr(&c.matrix(0)?, true).0)),
    ("qr_thin_R", |c| Ok(qr(&c.matrix(0)?, true).1)),
    ("qr_thin", |c| {
        let (q, r) = qr(&c.matrix(0)?, true);
        Ok(Value::Tuple(vec![q, r]))
    }),
    ("generalized_inverse", |c| Ok(pseudo_inverse(&c.matrix(0)?))),
];

/// Eigenvalues, ascending, and the matrix whose column k belongs to value k.
struct Eigen {
    values: Vec<f64>,
    vectors: Vec<f64>,
}

impl Eigen {
    fn vectors(&self) -> Value {
        let n = self.values.len();
        matrix_value(n, n, self.vectors.clone())
    }
}

/// The decomposition of a symmetric argument, the same as that of the graph's operation.
fn symmetric(c: &Call<'_>) -> Result<Eigen, Fault> {
    let a = c.square(0)?;
    let n = a.rows;
    for row in 0..n {
        for column in 0..row {
            if !((a.at(row, column) - a.at(column, row)).abs() <= 1e-8) {
                return Err(c.domain("the matrix is not symmetric"));
            }
        }
    }
    let mut rows = a.values.into_owned();
    let (mut values, mut scratch) = (vec![0.0; n], vec![0.0; n]);
    symmetric_eigen(&mut rows, &mut values, &mut scratch).map_err(|error| c.domain(error))?;
    let vectors = (0..n * n).map(|k| rows[k % n * n + k / n]).collect();
    Ok(Eigen { values, vectors })
}

/// A thin singular value decomposition, values descending; rows of `u` and `v` are the vectors.
struct Svd {
    values: Vec<f64>,
    u: Vec<Vec<f64>>,
    v: Vec<Vec<f64>>,
    rows: usize,
    columns: usize,
}

impl Svd {
    /// One-sided Jacobi: columns are rotated in pairs until all are orthogonal.
    /// **Reference**: Golub and Van Loan 2013, section 8.6.
    fn new(a: &Matrix<'_>) -> Self {
        let (rows, columns) = (a.rows, a.columns);
        let wide = columns > rows;
        // The shorter side's vectors, each of the longer side's length.
        let (count, length) = if wide { (rows, columns) } else { (columns, rows) };
        let element = |k: usize, i: usize| if wide { a.at(k, i) } else { a.at(i, k) };
        let mut b: Vec<Vec<f64>> =
            (0..count).map(|k| (0..length).map(|i| element(k, i)).collect()).collect();
        let mut w: Vec<Vec<f64>> =
            (0..count).map(|k| (0..count).map(|i| f64::from(u8::from(i == k))).collect()).collect();
        for _ in 0..60 {
            let mut rotated = false;
            for p in 0..count {
                for q in p + 1..count {
                    let (alpha, beta, gamma) =
                        (dot(&b[p], &b[p]), dot(&b[q], &b[q]), dot(&b[p], &b[q]));
                    if gamma == 0.0 || gamma.abs() <= 1e-16 * (alpha * beta).sqrt() {
                        continue;
                    }
                    rotated = true;
                    let zeta = (beta - alpha) / (2.0 * gamma);
                    let sign = if zeta < 0.0 { -1.0 } else { 1.0 };
                    let t = sign / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                    let cosine = 1.0 / (1.0 + t * t).sqrt();
                    turn(&mut b, (p, q), cosine, cosine * t);
                    turn(&mut w, (p, q), cosine, cosine * t);
                }
            }
            if !rotated {
                break;
            }
        }
        let sizes: Vec<f64> = b.iter().map(|x| dot(x, x).sqrt()).collect();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|i, j| sizes[*j].total_cmp(&sizes[*i]));
        let values: Vec<f64> = order.iter().map(|k| sizes[*k]).collect();
        let long: Vec<Vec<f64>> = order
            .iter()
            .map(|k| {
                b[*k].iter().map(|x| if sizes[*k] > 0.0 { x / sizes[*k] } else { 0.0 }).collect()
            })
            .collect();
        let short: Vec<Vec<f64>> = order.iter().map(|k| w[*k].clone()).collect();
        let (mut u, mut v) = if wide { (short, long) } else { (long, short) };
        // The largest element of each left vector is positive, as in the density.
        for (left, right) in u.iter_mut().zip(&mut v) {
            let largest = left.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
            if largest.is_some_and(|x| x < 0.0) {
                left.iter_mut().chain(right).for_each(|x| *x = -*x);
            }
        }
        Self { values, u, v, rows, columns }
    }

    fn left(&self) -> Value {
        as_columns(&self.u, self.rows)
    }

    fn right(&self) -> Value {
        as_columns(&self.v, self.columns)
    }
}

fn as_columns(vectors: &[Vec<f64>], length: usize) -> Value {
    let flat = vectors.iter().flatten().copied().collect();
    Value::Reals(transposed(&Numbers::new([vectors.len(), length], flat)))
}

fn turn(rows: &mut [Vec<f64>], (p, q): (usize, usize), cosine: f64, sine: f64) {
    let (before, after) = rows.split_at_mut(q);
    for (x, y) in before[p].iter_mut().zip(after[0].iter_mut()) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

/// Householder QR; the diagonal of R is not negative, as Stan has it.
fn qr(a: &Matrix<'_>, thin: bool) -> (Value, Value) {
    let (rows, columns) = (a.rows, a.columns);
    let mut r = a.values.to_vec();
    let mut q = identity(rows);
    for k in 0..columns.min(rows) {
        let norm = (k..rows).map(|i| r[i * columns + k] * r[i * columns + k]).sum::<f64>().sqrt();
        if norm == 0.0 {
            continue;
        }
        let first = r[k * columns + k];
        let mut w: Vec<f64> = (k..rows).map(|i| r[i * columns + k]).collect();
        w[0] += if first < 0.0 { -norm } else { norm };
        let square = dot(&w, &w);
        for j in 0..columns {
            let t: f64 = w.iter().enumerate().map(|(i, w)| w * r[(k + i) * columns + j]).sum();
            for (i, w) in w.iter().enumerate() {
                r[(k + i) * columns + j] -= 2.0 * w * t / square;
            }
        }
        for i in 0..rows {
            let t: f64 = w.iter().enumerate().map(|(j, w)| w * q[i * rows + k + j]).sum();
            for (j, w) in w.iter().enumerate() {
                q[i * rows + k + j] -= 2.0 * w * t / square;
            }
        }
    }
    for k in 0..columns.min(rows) {
        for below in k + 1..rows {
            r[below * columns + k] = 0.0;
        }
        if r[k * columns + k] < 0.0 {
            r[k * columns..(k + 1) * columns].iter_mut().for_each(|x| *x = -*x);
            (0..rows).for_each(|i| q[i * rows + k] = -q[i * rows + k]);
        }
    }
    let kept = if thin { rows.min(columns) } else { rows };
    let q = (0..rows).flat_map(|i| q[i * rows..i * rows + kept].to_vec()).collect();
    (matrix_value(rows, kept, q), matrix_value(kept, columns, r[..kept * columns].to_vec()))
}

/// The Moore-Penrose inverse, singular values below the rounding error taken as zero.
fn pseudo_inverse(a: &Matrix<'_>) -> Value {
    let found = Svd::new(a);
    let count = found.values.len();
    let least =
        found.values.first().copied().unwrap_or(0.0) * f64::EPSILON * a.rows.max(a.columns) as f64;
    let scaled: Vec<f64> = (0..a.columns)
        .flat_map(|i| (0..count).map(move |k| (i, k)).collect::<Vec<_>>())
        .map(|(i, k)| if found.values[k] > least { found.v[k][i] / found.values[k] } else { 0.0 })
        .collect();
    let u: Vec<f64> = found.u.iter().flatten().copied().collect();
    let values = matrix_product(&scaled, &u, (a.columns, count, a.rows));
    matrix_value(a.columns, a.rows, values)
}
