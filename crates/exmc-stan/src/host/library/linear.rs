//! Linear systems: LU and Cholesky factors, and what is solved with them.

use exmc_math::linear as kernel;

use super::{Call, Matrix, matrix_value};
use crate::host::error::Fault;
use crate::host::operators::{matrix_product, transposed};
use crate::typed::Type;
use crate::value::{Numbers, Value};

type Plain = fn(&Call<'_>) -> Result<Value, Fault>;

/// Names and functions.
pub(crate) const FUNCTIONS: &[(&str, Plain)] = &[
    ("determinant", |c| {
        let a = c.square(0)?;
        Ok(Value::Real(Lu::new(&a.values, a.rows).determinant()))
    }),
    ("log_determinant", |c| {
        let a = c.square(0)?;
        Ok(Value::Real(Lu::new(&a.values, a.rows).log_abs_determinant()))
    }),
    ("log_determinant_spd", |c| {
        let (n, l) = cholesky(c, 0)?;
        Ok(Value::Real(kernel::log_det_cholesky(n, &l)))
    }),
    ("inverse", |c| {
        let a = c.square(0)?;
        let inverse = Lu::new(&a.values, a.rows).solve(&identity(a.rows), a.rows);
        Ok(matrix_value(a.rows, a.rows, inverse))
    }),
    ("inverse_spd", |c| {
        let (n, l) = cholesky(c, 0)?;
        Ok(matrix_value(n, n, inverse_of_cholesky(n, &l)))
    }),
    ("chol2inv", |c| {
        let l = c.square(0)?;
        Ok(matrix_value(l.rows, l.rows, inverse_of_cholesky(l.rows, &l.values)))
    }),
    ("cholesky_decompose", |c| {
        let (n, l) = cholesky(c, 0)?;
        Ok(matrix_value(n, n, l))
    }),
    ("mdivide_left", |c| {
        solve_left(c, |a, b, columns| Lu::new(&a.values, a.rows).solve(b, columns))
    }),
    ("mdivide_left_spd", |c| {
        let (n, l) = cholesky(c, 0)?;
        solve_left(c, |_, b, columns| {
            let mut x = b.to_vec();
            kernel::solve_lower_matrix(n, columns, &l, &mut x);
            kernel::solve_lower_transposed_matrix(n, columns, &l, &mut x);
            x
        })
    }),
    ("mdivide_left_tri_low", |c| {
        solve_left(c, |a, b, columns| {
            let mut x = b.to_vec();
            kernel::solve_lower_matrix(a.rows, columns, &a.values, &mut x);
            x
        })
    }),
    ("mdivide_right", |c| {
        let (b, a) = (c.matrix(0)?, c.square(1)?);
        c.same_length(b.columns, a.rows)?;
        let b = Numbers::new([b.rows, b.columns], b.values.to_vec());
        let a = Numbers::new([a.rows, a.columns], a.values.to_vec());
        Ok(shaped_like(c, 0, divide_right(&b, &a)?))
    }),
    ("mdivide_right_spd", |c| {
        // x A = b is A x' = b', A symmetric.
        let (n, l) = cholesky(c, 1)?;
        let b = c.matrix(0)?;
        c.same_length(b.columns, n)?;
        let mut x =
            transposed(&Numbers::new([b.rows, b.columns], b.values.to_vec())).values.to_vec();
        kernel::solve_lower_matrix(n, b.rows, &l, &mut x);
        kernel::solve_lower_transposed_matrix(n, b.rows, &l, &mut x);
        Ok(shaped_like(c, 0, transposed(&Numbers::new([n, b.rows], x))))
    }),
    ("mdivide_right_tri_low", |c| {
        // x L = b is L' x' = b'.
        let (b, l) = (c.matrix(0)?, c.square(1)?);
        c.same_length(b.columns, l.rows)?;
        let mut x =
            transposed(&Numbers::new([b.rows, b.columns], b.values.to_vec())).values.to_vec();
        kernel::solve_lower_transposed_matrix(l.rows, b.rows, &l.values, &mut x);
        Ok(shaped_like(c, 0, transposed(&Numbers::new([l.rows, b.rows], x))))
    }),
];

/// The lower Cholesky factor of a symmetric argument, and its order.
pub(crate) fn cholesky(c: &Call<'_>, k: usize) -> Result<(usize, Vec<f64>), Fault> {
    let a = c.square(k)?;
    for row in 0..a.rows {
        for column in 0..row {
            let (below, above) = (a.element(row, column), a.element(column, row));
            if !((below - above).abs() <= 1e-8) {
                let (row, column) = (row + 1, column + 1);
                return Err(c.domain(format!(
                    "the matrix is not symmetric: [{row}, {column}] is {below}, [{column}, {row}] is {above}"
                )));
            }
        }
    }
    let mut l = vec![0.0; a.values.len()];
    match kernel::cholesky_lower(a.rows, &a.values, &mut l) {
        Ok(()) => Ok((a.rows, l)),
        Err(_) => Err(c.domain("the matrix is not positive definite")),
    }
}

fn inverse_of_cholesky(n: usize, l: &[f64]) -> Vec<f64> {
    let mut inverse = identity(n);
    kernel::solve_lower_matrix(n, n, l, &mut inverse);
    kernel::solve_lower_transposed_matrix(n, n, l, &mut inverse);
    inverse
}

pub(crate) fn identity(n: usize) -> Vec<f64> {
    let mut values = vec![0.0; n * n];
    for k in 0..n {
        values[k * n + k] = 1.0;
    }
    values
}

/// `A \ b` with b a vector or matrix.
fn solve_left(
    c: &Call<'_>,
    solve: impl Fn(&Matrix<'_>, &[f64], usize) -> Vec<f64>,
) -> Result<Value, Fault> {
    let (a, b) = (c.square(0)?, c.matrix(1)?);
    c.same_length(a.rows, b.rows)?;
    let x = solve(&a, &b.values, b.columns);
    Ok(shaped_like(c, 1, Numbers::new([b.rows, b.columns], x)))
}

/// A matrix as a vector where argument k is one.
fn shaped_like(c: &Call<'_>, k: usize, numbers: Numbers<f64>) -> Value {
    match c.types[k] {
        Type::Vector | Type::RowVector => {
            Value::Reals(Numbers { shape: vec![numbers.len()], values: numbers.values })
        }
        _ => Value::Reals(numbers),
    }
}

/// `a \ b`
pub(crate) fn divide_left(a: &Numbers<f64>, b: &Numbers<f64>) -> Result<Numbers<f64>, Fault> {
    let &[rows, columns] = a.shape.as_slice() else {
        return Err(Fault::unsupported("division by what is no matrix"));
    };
    if rows != columns || b.shape.first() != Some(&rows) {
        return Err(Fault::size(format!(
            "sizes do not match: a matrix of {rows} rows and {columns} columns under {} rows",
            b.shape.first().copied().unwrap_or(0)
        )));
    }
    let width = if b.shape.len() == 2 { b.shape[1] } else { 1 };
    Ok(Numbers::new(b.shape.clone(), Lu::new(&a.values, rows).solve(&b.values, width)))
}

/// `b / a`: the solution of `x a = b`, b a row vector or matrix.
pub(crate) fn divide_right(b: &Numbers<f64>, a: &Numbers<f64>) -> Result<Numbers<f64>, Fault> {
    let turned_a = transposed(a);
    let columns = b.shape.last().copied().unwrap_or(0);
    let rows = b.len().checked_div(columns).unwrap_or(0);
    let turned_b = transposed(&Numbers { shape: vec![rows, columns], values: b.values.clone() });
    let x = divide_left(&turned_a, &turned_b)?;
    Ok(Numbers { shape: b.shape.clone(), values: transposed(&x).values })
}

/// LU factors with partial pivoting, packed; `rows[k]` is the row that was swapped into place k.
pub(crate) struct Lu {
    n: usize,
    factors: Vec<f64>,
    rows: Vec<usize>,
}

impl Lu {
    pub(crate) fn new(a: &[f64], n: usize) -> Self {
        let mut factors = a.to_vec();
        let mut rows = Vec::with_capacity(n);
        for k in 0..n {
            let size = |row: &usize| factors[row * n + k].abs();
            let pivot = (k..n).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(k);
            rows.push(pivot);
            if pivot != k {
                for column in 0..n {
                    factors.swap(k * n + column, pivot * n + column);
                }
            }
            let diagonal = factors[k * n + k];
            for row in k + 1..n {
                let factor = factors[row * n + k] / diagonal;
                // A zero pivot leaves a column of zeros: the matrix is singular and stays so.
                let factor = if diagonal == 0.0 { 0.0 } else { factor };
                factors[row * n + k] = factor;
                for column in k + 1..n {
                    factors[row * n + column] -= factor * factors[k * n + column];
                }
            }
        }
        Self { n, factors, rows }
    }

    fn determinant(&self) -> f64 {
        let swaps = self.rows.iter().enumerate().filter(|(k, row)| *k != **row).count();
        let sign = if swaps % 2 == 0 { 1.0 } else { -1.0 };
        (0..self.n).fold(sign, |product, k| product * self.factors[k * self.n + k])
    }

    fn log_abs_determinant(&self) -> f64 {
        (0..self.n).map(|k| exmc_math::log(self.factors[k * self.n + k].abs())).sum()
    }

    /// The solution of `A x = b`, b with `columns` columns.
    pub(crate) fn solve(&self, b: &[f64], columns: usize) -> Vec<f64> {
        let n = self.n;
        let mut x = b.to_vec();
        for (k, row) in self.rows.iter().enumerate() {
            if k != *row {
                for column in 0..columns {
                    x.swap(k * columns + column, row * columns + column);
                }
            }
        }
        for row in 0..n {
            for k in 0..row {
                let factor = self.factors[row * n + k];
                for column in 0..columns {
                    x[row * columns + column] -= factor * x[k * columns + column];
                }
            }
        }
        for row in (0..n).rev() {
            for k in row + 1..n {
                let factor = self.factors[row * n + k];
                for column in 0..columns {
                    x[row * columns + column] -= factor * x[k * columns + column];
                }
            }
            let diagonal = self.factors[row * n + row];
            for value in &mut x[row * columns..(row + 1) * columns] {
                *value /= diagonal;
            }
        }
        x
    }
}

/// The product of row-major square matrices.
pub(crate) fn product(n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    matrix_product(a, b, (n, n, n))
}
