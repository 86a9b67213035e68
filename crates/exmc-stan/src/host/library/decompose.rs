//! Eigenvalues of symmetric matrices, QR. Other decompositions are those of the library on graphs.

use exmc_math::eigen::symmetric_eigen;

use super::linear::identity;
use super::reduce::dot;
use super::{Call, Matrix, matrix_value};
use crate::host::error::Fault;
use crate::value::Value;

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
            if !((a.element(row, column) - a.element(column, row)).abs() <= 1e-8) {
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
