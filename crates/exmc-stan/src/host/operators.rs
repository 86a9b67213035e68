//! Operators on values, by the operands' types.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::check::types::is_complex;
use crate::host::complex;
use crate::host::error::Fault;
use crate::host::index::show_shape;
use crate::host::library::density::function_once;
use crate::host::library::{Call, linear};
use crate::host::numeric::{from_complexes, from_ints, from_reals, to_complexes, to_reals};
use crate::typed::{BinaryOp, Type, UnaryOp};
use crate::value::{Complex, Numbers, UNSET_INT, Value};

/// Largest and smallest integer of Stan.
const INT_RANGE: std::ops::RangeInclusive<i64> = i32::MIN as i64..=i32::MAX as i64;

/// An operator between integers whose result is an integer.
///
/// # Errors
/// Division by zero, and results that a 32-bit integer cannot hold (Stan's C++ leaves those
/// undefined).
#[inline]
pub fn int_binary(op: BinaryOp, a: i64, b: i64) -> Result<i64, Fault> {
    let result = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply | BinaryOp::ElementMultiply => a.checked_mul(b),
        BinaryOp::Divide | BinaryOp::IntDivide | BinaryOp::ElementDivide => {
            if b == 0 {
                return Err(without_result(op, a));
            }
            a.checked_div(b)
        }
        BinaryOp::Modulo => {
            if b == 0 {
                return Err(without_result(op, a));
            }
            a.checked_rem(b)
        }
        BinaryOp::Or => Some(i64::from(a != 0 || b != 0)),
        BinaryOp::And => Some(i64::from(a != 0 && b != 0)),
        BinaryOp::Equal => Some(i64::from(a == b)),
        BinaryOp::NotEqual => Some(i64::from(a != b)),
        BinaryOp::Less => Some(i64::from(a < b)),
        BinaryOp::LessEqual => Some(i64::from(a <= b)),
        BinaryOp::Greater => Some(i64::from(a > b)),
        BinaryOp::GreaterEqual => Some(i64::from(a >= b)),
        BinaryOp::LeftDivide | BinaryOp::Power | BinaryOp::ElementPower => {
            return Err(without_result(op, a));
        }
    };
    match result {
        Some(value) if INT_RANGE.contains(&value) => Ok(value),
        _ => Err(overflow(op, a, b)),
    }
}

/// Why an operator has no result for an integer and zero, or for integers at all.
#[cold]
fn without_result(op: BinaryOp, a: i64) -> Fault {
    match op {
        BinaryOp::Modulo => Fault::domain(format!("remainder of {a} divided by zero")),
        BinaryOp::LeftDivide | BinaryOp::Power | BinaryOp::ElementPower => {
            Fault::unsupported(format!("`{}` between integers", op.symbol()))
        }
        _ => Fault::domain(format!("division of the integer {a} by zero")),
    }
}

#[cold]
fn overflow(op: BinaryOp, a: i64, b: i64) -> Fault {
    if a == UNSET_INT || b == UNSET_INT {
        let message =
            "an integer is used that was never assigned, or that is the smallest there is";
        return Fault::domain(message);
    }
    Fault::domain(format!("integer overflow: {a} {} {b} is beyond 32 bits", op.symbol()))
}

/// A comparison or logical operator between reals: 0 or 1.
#[inline]
pub fn real_compare(op: BinaryOp, a: f64, b: f64) -> Option<bool> {
    Some(match op {
        BinaryOp::Equal => a == b,
        BinaryOp::NotEqual => a != b,
        BinaryOp::Less => a < b,
        BinaryOp::LessEqual => a <= b,
        BinaryOp::Greater => a > b,
        BinaryOp::GreaterEqual => a >= b,
        BinaryOp::Or => a != 0.0 || b != 0.0,
        BinaryOp::And => a != 0.0 && b != 0.0,
        _ => return None,
    })
}

/// An arithmetic operator between reals.
#[inline]
pub fn real_binary(op: BinaryOp, a: f64, b: f64) -> Option<f64> {
    Some(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply | BinaryOp::ElementMultiply => a * b,
        BinaryOp::Divide | BinaryOp::ElementDivide => a / b,
        BinaryOp::LeftDivide => b / a,
        BinaryOp::Power | BinaryOp::ElementPower => exmc_math::pow(a, b),
        _ => return None,
    })
}

fn complex_binary(op: BinaryOp, a: Complex, b: Complex) -> Option<Complex> {
    Some(match op {
        BinaryOp::Add => complex::add(a, b),
        BinaryOp::Subtract => complex::sub(a, b),
        BinaryOp::Multiply | BinaryOp::ElementMultiply => complex::mul(a, b),
        BinaryOp::Divide | BinaryOp::ElementDivide => complex::div(a, b),
        BinaryOp::Power | BinaryOp::ElementPower => complex::pow(a, b),
        _ => return None,
    })
}

fn is_scalar(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::Real | Type::Complex)
}

/// `a op b`.
///
/// # Errors
/// Sizes that do not fit, integer division by zero or overflow, a singular matrix to divide by.
pub fn binary(
    op: BinaryOp,
    (a, a_type): (&Value, &Type),
    (b, b_type): (&Value, &Type),
) -> Result<Value, Fault> {
    if is_complex(a_type) || is_complex(b_type) {
        return complex_operation(op, (a, a_type), (b, b_type));
    }
    if let (Value::Int(a), Value::Int(b)) = (a, b) {
        if matches!(op, BinaryOp::Power | BinaryOp::ElementPower) {
            return Ok(Value::Real(exmc_math::pow(*a as f64, *b as f64)));
        }
        return int_binary(op, *a, *b).map(Value::Int);
    }
    if is_scalar(a_type) && is_scalar(b_type) {
        let (a, b) = (crate::host::numeric::real(a)?, crate::host::numeric::real(b)?);
        return if let Some(truth) = real_compare(op, a, b) {
            Ok(Value::Int(i64::from(truth)))
        } else {
            real_binary(op, a, b).map(Value::Real).ok_or_else(|| unknown(op))
        };
    }
    match op {
        BinaryOp::Multiply if !is_scalar(a_type) && !is_scalar(b_type) => {
            let (a, b) = (to_reals(a)?, to_reals(b)?);
            multiply(&a, a_type, &b, b_type).map(from_reals)
        }
        BinaryOp::Divide if !is_scalar(b_type) && *b_type == Type::Matrix && !is_scalar(a_type) => {
            linear::divide_right(&to_reals(a)?, &to_reals(b)?).map(from_reals)
        }
        BinaryOp::LeftDivide => linear::divide_left(&to_reals(a)?, &to_reals(b)?).map(from_reals),
        BinaryOp::Modulo | BinaryOp::IntDivide => elementwise_ints(op, a, b),
        _ => {
            let (a, b) = (to_reals(a)?, to_reals(b)?);
            elementwise(op.symbol(), &a, &b, |x, y| real_binary(op, x, y).unwrap_or(f64::NAN))
                .map(from_reals)
        }
    }
}

fn elementwise_ints(op: BinaryOp, a: &Value, b: &Value) -> Result<Value, Fault> {
    let (x, y) = (crate::host::numeric::int_slice(a)?, crate::host::numeric::int_slice(b)?);
    let shape = if a.shape().is_empty() { b.shape() } else { a.shape() };
    let len = shape.iter().product();
    let pick = |v: &[i64], k: usize| if v.len() == 1 { v[0] } else { v[k] };
    let values: Result<Vec<i64>, Fault> =
        (0..len).map(|k| int_binary(op, pick(x, k), pick(y, k))).collect();
    Ok(from_ints(Numbers::new(shape, values?)))
}

fn unknown(op: BinaryOp) -> Fault {
    Fault::unsupported(format!("`{}` between these types (a fault of exmc)", op.symbol()))
}

fn complex_operation(
    op: BinaryOp,
    (a, a_type): (&Value, &Type),
    (b, b_type): (&Value, &Type),
) -> Result<Value, Fault> {
    let (a, b) = (to_complexes(a)?, to_complexes(b)?);
    match op {
        BinaryOp::Equal => return Ok(Value::Int(i64::from(a.values == b.values))),
        BinaryOp::NotEqual => return Ok(Value::Int(i64::from(a.values != b.values))),
        BinaryOp::Multiply if !is_scalar(a_type) && !is_scalar(b_type) => {
            return multiply(&a, a_type, &b, b_type).map(from_complexes);
        }
        BinaryOp::Divide if !is_scalar(a_type) && !is_scalar(b_type) => {
            let (args, types) = ([from_complexes(a), from_complexes(b)], [a_type, b_type]);
            let call = Call { name: "mdivide_right", args: &args, types: &types, returns: a_type };
            return function_once(&call);
        }
        _ => {}
    }
    if complex_binary(op, [1.0, 0.0], [1.0, 0.0]).is_none() {
        return Err(unknown(op));
    }
    elementwise(op.symbol(), &a, &b, |x, y| complex_binary(op, x, y).unwrap_or([f64::NAN; 2]))
        .map(from_complexes)
}

/// A function of two numbers at all elements; a scalar stretches.
///
/// # Errors
/// Two containers of different extents.
pub fn elementwise<T: Copy, U: Clone>(
    what: &str,
    a: &Numbers<T>,
    b: &Numbers<T>,
    f: impl Fn(T, T) -> U,
) -> Result<Numbers<U>, Fault> {
    let values = if a.shape == b.shape {
        a.values.iter().zip(b.values.iter()).map(|(x, y)| f(*x, *y)).collect()
    } else if b.shape.is_empty() {
        let y = b.values[0];
        a.values.iter().map(|x| f(*x, y)).collect()
    } else if a.shape.is_empty() {
        let x = a.values[0];
        b.values.iter().map(|y| f(x, *y)).collect()
    } else {
        let (left, right) = (show_shape(&a.shape), show_shape(&b.shape));
        return Err(Fault::size(format!(
            "sizes do not match: the left side of `{what}` has {left}, the right side has {right}"
        )));
    };
    let shape = if a.shape.is_empty() { &b.shape } else { &a.shape };
    Ok(Numbers { shape: shape.clone(), values: Arc::new(values) })
}

/// Numbers that matrices are made of.
pub(crate) trait Scalar: Copy {
    /// Zero.
    const ZERO: Self;
    /// `self + a * b`
    fn add_product(self, a: Self, b: Self) -> Self;
}

impl Scalar for f64 {
    const ZERO: Self = 0.0;
    fn add_product(self, a: Self, b: Self) -> Self {
        self + a * b
    }
}

impl Scalar for Complex {
    const ZERO: Self = [0.0; 2];
    fn add_product(self, a: Self, b: Self) -> Self {
        complex::add(self, complex::mul(a, b))
    }
}

/// The product of two containers as matrices: a column vector has one column, a row vector one row.
fn multiply<T: Scalar>(
    a: &Numbers<T>,
    a_type: &Type,
    b: &Numbers<T>,
    b_type: &Type,
) -> Result<Numbers<T>, Fault> {
    let row = |ty: &Type| matches!(ty, Type::RowVector | Type::ComplexRowVector);
    let extents = |n: &Numbers<T>, ty: &Type| match (n.shape.as_slice(), row(ty)) {
        ([k], true) => (1, *k),
        ([k], false) => (*k, 1),
        (shape, _) => (shape[0], shape[1]),
    };
    let ((rows, inner), (inner_b, columns)) = (extents(a, a_type), extents(b, b_type));
    if inner != inner_b {
        return Err(Fault::size(format!(
            "sizes do not match: the left side of `*` has {inner} columns, the right side has \
             {inner_b} rows"
        )));
    }
    let values = matrix_product(&a.values, &b.values, (rows, inner, columns));
    let shape = match (a.shape.len(), b.shape.len()) {
        (1, 1) if row(a_type) => vec![],
        (1, 1) => vec![rows, columns],
        (2, 1) => vec![rows],
        (1, 2) => vec![columns],
        _ => vec![rows, columns],
    };
    Ok(Numbers::new(shape, values))
}

/// The product of row-major matrices of `rows x inner` and `inner x columns`.
pub(crate) fn matrix_product<T: Scalar>(
    a: &[T],
    b: &[T],
    (rows, inner, columns): (usize, usize, usize),
) -> Vec<T> {
    let mut out = vec![T::ZERO; rows * columns];
    if columns == 0 {
        return out;
    }
    for (i, line) in out.chunks_exact_mut(columns).enumerate() {
        for k in 0..inner {
            let x = a[i * inner + k];
            for (sum, y) in line.iter_mut().zip(&b[k * columns..(k + 1) * columns]) {
                *sum = sum.add_product(x, *y);
            }
        }
    }
    out
}

/// `op a`.
///
/// # Errors
/// The negative of the smallest integer.
pub fn unary(op: UnaryOp, a: &Value) -> Result<Value, Fault> {
    match op {
        UnaryOp::Plus => Ok(a.clone()),
        UnaryOp::Not => Ok(Value::Int(i64::from(crate::host::numeric::real(a)? == 0.0))),
        UnaryOp::Minus => match a {
            Value::Int(i) => int_binary(BinaryOp::Subtract, 0, *i).map(Value::Int),
            Value::Ints(n) => {
                let negated: Result<Vec<i64>, Fault> =
                    n.values.iter().map(|i| int_binary(BinaryOp::Subtract, 0, *i)).collect();
                Ok(Value::Ints(Numbers::new(n.shape.clone(), negated?)))
            }
            Value::Complex(_) | Value::Complexes(_) => {
                let n = to_complexes(a)?;
                let values = n.values.iter().map(|z| complex::neg(*z)).collect();
                Ok(from_complexes(Numbers::new(n.shape, values)))
            }
            _ => {
                let n = to_reals(a)?;
                let values = n.values.iter().map(|x| -x).collect();
                Ok(from_reals(Numbers::new(n.shape, values)))
            }
        },
    }
}

/// `a'`
///
/// # Errors
/// Not for numbers.
pub fn transpose(a: &Value) -> Result<Value, Fault> {
    match a {
        Value::Reals(n) => Ok(Value::Reals(transposed(n))),
        Value::Complexes(n) => {
            // `'` transposes without conjugation.
            Ok(Value::Complexes(transposed(n)))
        }
        other => Ok(other.clone()),
    }
}

/// A matrix with rows and columns swapped; a vector as it is.
pub(crate) fn transposed<T: Clone>(n: &Numbers<T>) -> Numbers<T> {
    let &[rows, columns] = n.shape.as_slice() else { return n.clone() };
    let mut values = Vec::with_capacity(n.len());
    for column in 0..columns {
        values.extend((0..rows).map(|row| n.values[row * columns + column].clone()));
    }
    Numbers::new([columns, rows], values)
}

/// The order of two reals, NaN last.
pub(crate) fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
