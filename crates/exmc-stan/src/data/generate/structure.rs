//! Structural constraints -> a vector or matrix that satisfies them, row-major, made of uniform
//! numbers.

use crate::typed::Constraint;

/// Makes one vector or matrix of `rows` x `columns` (a vector has one column) from numbers in [0,
/// 1).
pub(super) type Make = fn((usize, usize), &mut dyn FnMut() -> f64) -> Vec<f64>;

/// What makes values of a constraint; nothing, for constraints without structure. Where values are
/// `positive`, square matrices without constraint are covariance matrices: programs check in other
/// ways than by declaration that they are.
pub(super) fn wanted(
    constraint: &Constraint,
    (rows, columns): (usize, usize),
    positive: bool,
) -> Option<Make> {
    Some(match constraint {
        Constraint::Simplex => |shape, uniform| simplex(shape.0 * shape.1, uniform),
        Constraint::Ordered => |(rows, _), uniform| increasing(-1.0, rows, uniform),
        Constraint::PositiveOrdered => |(rows, _), uniform| increasing(0.0, rows, uniform),
        Constraint::UnitVector => |(rows, _), uniform| unit(rows, uniform),
        Constraint::SumToZero => sum_to_zero,
        Constraint::CholeskyFactorCov => cholesky,
        Constraint::CholeskyFactorCorr => correlation_cholesky,
        Constraint::CorrMatrix => {
            |shape, uniform| square(shape.0, &correlation_cholesky(shape, uniform))
        }
        Constraint::CovMatrix => covariance,
        Constraint::None if positive && rows == columns && rows > 1 => covariance,
        Constraint::RowStochastic => {
            |(rows, columns), uniform| (0..rows).flat_map(|_| simplex(columns, uniform)).collect()
        }
        Constraint::ColumnStochastic => |(rows, columns), uniform| {
            let all: Vec<f64> = (0..columns).flat_map(|_| simplex(rows, uniform)).collect();
            let element = |k: usize| all[(k % columns) * rows + k / columns];
            (0..rows * columns).map(element).collect()
        },
        Constraint::None
        | Constraint::Lower(_)
        | Constraint::Upper(_)
        | Constraint::LowerUpper(..)
        | Constraint::OffsetMultiplier(..) => return None,
    })
}

fn simplex(count: usize, uniform: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let parts: Vec<f64> = (0..count).map(|_| 0.1 + uniform()).collect();
    let total: f64 = parts.iter().sum();
    parts.iter().map(|part| part / total).collect()
}

fn increasing(start: f64, count: usize, uniform: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let mut last = start;
    (0..count)
        .map(|_| {
            last += 0.1 + uniform();
            last
        })
        .collect()
}

/// A vector of length one, whose last element is positive, so that no vector of one element is
/// zero.
fn unit(count: usize, uniform: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = (0..count).map(|_| 2.0 * uniform() - 1.0).collect();
    if let Some(last) = values.last_mut() {
        *last = last.abs() + 0.5;
    }
    let length = values.iter().map(|x| x * x).sum::<f64>().sqrt();
    values.iter().map(|x| x / length).collect()
}

fn sum_to_zero((rows, columns): (usize, usize), uniform: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = (0..rows * columns).map(|_| 2.0 * uniform() - 1.0).collect();
    let mut centre = |indices: &dyn Fn(usize) -> usize, count: usize| {
        let mean = (0..count).map(|k| values[indices(k)]).sum::<f64>() / count as f64;
        (0..count).for_each(|k| values[indices(k)] -= mean);
    };
    for column in 0..columns {
        centre(&|k| k * columns + column, rows);
    }
    if columns > 1 {
        for row in 0..rows {
            centre(&|k| row * columns + k, columns);
        }
    }
    values
}

fn cholesky((rows, columns): (usize, usize), uniform: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let mut values = vec![0.0; rows * columns];
    for row in 0..rows {
        for column in 0..columns.min(row + 1) {
            let u = uniform();
            values[row * columns + column] = if row == column { 0.5 + u } else { u - 0.5 };
        }
    }
    values
}

fn correlation_cholesky(
    (rows, columns): (usize, usize),
    uniform: &mut dyn FnMut() -> f64,
) -> Vec<f64> {
    let mut values = cholesky((rows, columns), uniform);
    for row in values.chunks_mut(columns.max(1)) {
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter_mut().for_each(|x| *x /= length);
    }
    values
}

fn covariance(shape: (usize, usize), uniform: &mut dyn FnMut() -> f64) -> Vec<f64> {
    square(shape.0, &cholesky(shape, uniform))
}

/// $L L^T$
fn square(size: usize, factor: &[f64]) -> Vec<f64> {
    let row = |k: usize| &factor[k * size..(k + 1) * size];
    let product = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
    (0..size * size).map(|k| product(k / size, k % size)).collect()
}
