//! Whether values satisfy a declared constraint, with Stan's tolerance.

use crate::host::operators::order;
use crate::typed::Constraint;

/// What sums, norms, diagonals and symmetry may be off by. **Reference**: Stan's
/// `CONSTRAINT_TOLERANCE`.
pub const TOLERANCE: f64 = 1e-8;

/// Whether one vector or matrix (row-major, `rows` x `columns`; a vector has one column) satisfies
/// a structural constraint (not bounds).
///
/// # Errors
/// What is wrong with it, to be read after its name: "is not a simplex: …".
pub fn check_structure(
    constraint: &Constraint,
    values: &[f64],
    (rows, columns): (usize, usize),
) -> Result<(), String> {
    let element = |row: usize, column: usize| values[row * columns + column];
    match constraint {
        Constraint::Simplex => simplex(values.iter().copied()).map_err(|e| not("a simplex", &e)),
        Constraint::Ordered => increasing(values).map_err(|e| not("ordered", &e)),
        Constraint::PositiveOrdered => {
            let first = values.first().is_none_or(|x| *x >= 0.0);
            let checked = if first {
                increasing(values)
            } else {
                Err(format!("its first element is {}", values[0]))
            };
            checked.map_err(|e| not("positive and ordered", &e))
        }
        Constraint::UnitVector => {
            let square: f64 = values.iter().map(|x| x * x).sum();
            within(square, 1.0)
                .map_err(|()| not("a unit vector", &format!("its squared length is {square}")))
        }
        Constraint::SumToZero => sum_to_zero(values, (rows, columns)),
        Constraint::CholeskyFactorCov => triangular(&element, rows, columns)
            .map_err(|e| not("a Cholesky factor of a covariance matrix", &e)),
        Constraint::CholeskyFactorCorr => triangular(&element, rows, columns)
            .and_then(|()| {
                (0..rows).try_for_each(|row| {
                    let square: f64 =
                        values[row * columns..(row + 1) * columns].iter().map(|x| x * x).sum();
                    within(square, 1.0)
                        .map_err(|()| format!("row {} has squared length {square}", row + 1))
                })
            })
            .map_err(|e| not("a Cholesky factor of a correlation matrix", &e)),
        Constraint::CorrMatrix => symmetric(&element, rows)
            .and_then(|()| {
                (0..rows).try_for_each(|k| {
                    within(element(k, k), 1.0).map_err(|()| {
                        format!("its diagonal element {} is {}", k + 1, element(k, k))
                    })
                })
            })
            .and_then(|()| positive_definite(values, rows))
            .map_err(|e| not("a correlation matrix", &e)),
        Constraint::CovMatrix => symmetric(&element, rows)
            .and_then(|()| positive_definite(values, rows))
            .map_err(|e| not("a covariance matrix", &e)),
        Constraint::ColumnStochastic => (0..columns).try_for_each(|column| {
            simplex((0..rows).map(|row| element(row, column)))
                .map_err(|e| not("column stochastic", &format!("in column {}, {e}", column + 1)))
        }),
        Constraint::RowStochastic => (0..rows).try_for_each(|row| {
            simplex((0..columns).map(|column| element(row, column)))
                .map_err(|e| not("row stochastic", &format!("in row {}, {e}", row + 1)))
        }),
        Constraint::None
        | Constraint::Lower(_)
        | Constraint::Upper(_)
        | Constraint::LowerUpper(..)
        | Constraint::OffsetMultiplier(..) => Ok(()),
    }
}

fn not(what: &str, why: &str) -> String {
    format!("is not {what}: {why}")
}

fn within(found: f64, wanted: f64) -> Result<(), ()> {
    if (found - wanted).abs() <= TOLERANCE { Ok(()) } else { Err(()) }
}

fn simplex(values: impl Iterator<Item = f64>) -> Result<(), String> {
    let mut sum = 0.0;
    for (k, x) in values.enumerate() {
        // Written so that NaN fails.
        if !(x >= 0.0) {
            return Err(format!("element {} is {x}", k + 1));
        }
        sum += x;
    }
    within(sum, 1.0).map_err(|()| format!("its sum is {sum}, but must be 1"))
}

fn increasing(values: &[f64]) -> Result<(), String> {
    let wrong = values.windows(2).position(|pair| !(pair[0] < pair[1]));
    match wrong {
        Some(k) => {
            Err(format!("element {} is {}, which is not above {}", k + 2, values[k + 1], values[k]))
        }
        None => Ok(()),
    }
}

fn sum_to_zero(values: &[f64], (rows, columns): (usize, usize)) -> Result<(), String> {
    let check = |sum: f64, summands: String| {
        within(sum, 0.0)
            .map_err(|()| not("zero in sum", &format!("the sum of {summands} is {sum}")))
    };
    if columns == 1 {
        return check(values.iter().sum(), "its elements".to_owned());
    }
    for row in 0..rows {
        let sum = values[row * columns..(row + 1) * columns].iter().sum();
        check(sum, format!("row {}", row + 1))?;
    }
    for column in 0..columns {
        let sum = (0..rows).map(|row| values[row * columns + column]).sum();
        check(sum, format!("column {}", column + 1))?;
    }
    Ok(())
}

fn triangular(
    element: &dyn Fn(usize, usize) -> f64,
    rows: usize,
    columns: usize,
) -> Result<(), String> {
    if rows < columns {
        return Err(format!("it has {rows} rows and {columns} columns"));
    }
    for row in 0..rows {
        for column in row + 1..columns {
            if element(row, column) != 0.0 {
                let (value, row, column) = (element(row, column), row + 1, column + 1);
                return Err(format!("its element [{row}, {column}] is {value}, but must be 0"));
            }
        }
        if row < columns && !(element(row, row) > 0.0) {
            return Err(format!("its diagonal element {} is {}", row + 1, element(row, row)));
        }
    }
    Ok(())
}

fn symmetric(element: &dyn Fn(usize, usize) -> f64, size: usize) -> Result<(), String> {
    for row in 0..size {
        for column in 0..row {
            let (below, above) = (element(row, column), element(column, row));
            if !((below - above).abs() <= TOLERANCE) {
                let (row, column) = (row + 1, column + 1);
                return Err(format!(
                    "its element [{row}, {column}] is {below}, but [{column}, {row}] is {above}"
                ));
            }
        }
    }
    Ok(())
}

fn positive_definite(values: &[f64], size: usize) -> Result<(), String> {
    if values.iter().any(|x| order(*x, *x).is_ne() || x.is_nan()) {
        return Err("it has an element that is not a number".to_owned());
    }
    let mut factor = vec![0.0; values.len()];
    exmc_math::linear::cholesky_lower(size, values, &mut factor)
        .map_err(|_| "it is not positive definite".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(constraint: &Constraint, values: &[f64], shape: (usize, usize)) -> String {
        check_structure(constraint, values, shape).unwrap_err()
    }

    #[test]
    fn simplexes_are_checked_to_the_tolerance() {
        let check =
            |values: &[f64]| check_structure(&Constraint::Simplex, values, (values.len(), 1));
        assert!(check(&[0.25, 0.75 + 9e-9]).is_ok());
        assert!(check(&[0.25, 0.75 + 2e-8]).is_err());
        assert_eq!(check(&[1.5, -0.5]).unwrap_err(), "is not a simplex: element 2 is -0.5");
        assert!(check(&[f64::NAN, 1.0]).is_err());
    }

    #[test]
    fn matrices_say_which_element_is_wrong() {
        let lower = fails(&Constraint::CholeskyFactorCov, &[1.0, 0.5, 0.0, 1.0], (2, 2));
        assert!(lower.ends_with("its element [1, 2] is 0.5, but must be 0"), "{lower}");
        let corr = fails(&Constraint::CorrMatrix, &[1.0, 0.5, 0.5, 2.0], (2, 2));
        assert!(corr.ends_with("its diagonal element 2 is 2"), "{corr}");
        let cov = fails(&Constraint::CovMatrix, &[1.0, 2.0, 2.0, 1.0], (2, 2));
        assert!(cov.ends_with("it is not positive definite"), "{cov}");
        let rows = fails(&Constraint::RowStochastic, &[0.5, 0.5, 0.5, 0.6], (2, 2));
        assert_eq!(rows, "is not row stochastic: in row 2, its sum is 1.1, but must be 1");
    }
}
