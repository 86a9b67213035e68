//! Views of values as numbers of one kind: integers as reals, reals as complex numbers.

use std::borrow::Cow;
use std::sync::Arc;

use crate::host::error::Fault;
use crate::value::{Complex, Numbers, Value};

/// The elements as reals, integers widened; a scalar is one element.
///
/// # Errors
/// Complex numbers and tuples; the checker keeps them away.
pub fn real_slice(value: &Value) -> Result<Cow<'_, [f64]>, Fault> {
    Ok(match value {
        Value::Int(i) => Cow::Owned(vec![*i as f64]),
        Value::Real(x) => Cow::Borrowed(std::slice::from_ref(x)),
        Value::Ints(n) => Cow::Owned(n.values.iter().map(|i| *i as f64).collect()),
        Value::Reals(n) => Cow::Borrowed(&n.values),
        _ => return Err(wrong("real numbers", value)),
    })
}

/// The numbers as reals with their extents, shared where they already are reals.
///
/// # Errors
/// Complex numbers and tuples.
pub fn to_reals(value: &Value) -> Result<Numbers<f64>, Fault> {
    match value {
        Value::Reals(n) => Ok(n.clone()),
        _ => Ok(Numbers {
            shape: value.shape().to_vec(),
            values: Arc::new(real_slice(value)?.into_owned()),
        }),
    }
}

/// The numbers as complex ones with their extents.
///
/// # Errors
/// Tuples.
pub fn to_complexes(value: &Value) -> Result<Numbers<Complex>, Fault> {
    match value {
        Value::Complexes(n) => Ok(n.clone()),
        Value::Complex(z) => Ok(Numbers::new([], vec![*z])),
        _ => {
            let values = real_slice(value)?.iter().map(|x| [*x, 0.0]).collect();
            Ok(Numbers::new(value.shape(), values))
        }
    }
}

/// The elements as integers; a scalar is one element.
///
/// # Errors
/// Anything else than integers.
pub fn int_slice(value: &Value) -> Result<&[i64], Fault> {
    match value {
        Value::Int(i) => Ok(std::slice::from_ref(i)),
        Value::Ints(n) => Ok(&n.values),
        _ => Err(wrong("integers", value)),
    }
}

/// One integer.
///
/// # Errors
/// Anything else.
pub fn int(value: &Value) -> Result<i64, Fault> {
    value.as_int().ok_or_else(|| wrong("an integer", value))
}

/// One real number; an integer is widened.
///
/// # Errors
/// Anything else.
pub fn real(value: &Value) -> Result<f64, Fault> {
    value.as_real().ok_or_else(|| wrong("a real number", value))
}

/// One complex number; reals are widened.
///
/// # Errors
/// Anything else.
pub fn complex(value: &Value) -> Result<Complex, Fault> {
    match value {
        Value::Complex(z) => Ok(*z),
        _ => value.as_real().map(|x| [x, 0.0]).ok_or_else(|| wrong("a complex number", value)),
    }
}

/// Reals with extents as a value; no extents make a scalar.
pub fn from_reals(numbers: Numbers<f64>) -> Value {
    if numbers.shape.is_empty() { Value::Real(numbers.values[0]) } else { Value::Reals(numbers) }
}

/// Integers with extents as a value; no extents make a scalar.
pub fn from_ints(numbers: Numbers<i64>) -> Value {
    if numbers.shape.is_empty() { Value::Int(numbers.values[0]) } else { Value::Ints(numbers) }
}

/// Complex numbers with extents as a value; no extents make a scalar.
pub fn from_complexes(numbers: Numbers<Complex>) -> Value {
    if numbers.shape.is_empty() {
        Value::Complex(numbers.values[0])
    } else {
        Value::Complexes(numbers)
    }
}

/// A message that only a fault of the checker brings about.
#[cold]
fn wrong(wanted: &str, found: &Value) -> Fault {
    let found = match found {
        Value::Int(_) => "an integer",
        Value::Real(_) => "a real number",
        Value::Complex(_) => "a complex number",
        Value::Ints(_) => "integers",
        Value::Reals(_) => "real numbers",
        Value::Complexes(_) => "complex numbers",
        Value::Tuple(_) => "a tuple",
        Value::Tuples(_) => "an array of tuples",
    };
    Fault::unsupported(format!("expected {wanted}, found {found} (a fault of exmc)"))
}
