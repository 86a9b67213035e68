//! A value with its numbers' places on the tape, as a value of the same form.
//!
//! Places are whole numbers that a float holds exactly, so whatever moves elements (an index, an
//! assignment, a reshape) moves their places by the same code. Integers have no place; where a form
//! has them, they are 0.

use crate::value::{Numbers, Value};

use super::record::Id;

/// A value and the places of its numbers; none where all are constant.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    pub(super) value: Value,
    pub(super) ids: Option<Value>,
}

impl Traced {
    /// A constant.
    pub(super) fn known(value: Value) -> Self {
        Self { value, ids: None }
    }

    /// A number.
    pub(super) fn number(x: f64, id: Id) -> Self {
        Self { value: Value::Real(x), ids: (id != 0).then_some(Value::Real(f64::from(id))) }
    }

    /// A container of numbers that follow each other on the tape.
    pub(super) fn following(value: Value, first: Id) -> Self {
        let mut next = f64::from(first) - 1.0;
        let ids = in_form(&value, &mut || {
            next += 1.0;
            next
        });
        Self { value, ids: Some(ids) }
    }

    /// A value with the places of its numbers, row by row.
    pub(super) fn with(value: Value, ids: &[f64]) -> Self {
        if ids.iter().all(|id| *id == 0.0) {
            return Self::known(value);
        }
        let mut rest = ids.iter();
        let ids = in_form(&value, &mut || rest.next().copied().unwrap_or(0.0));
        Self { value, ids: Some(ids) }
    }

    /// The places, also where all are 0.
    pub(super) fn places(&self) -> Value {
        self.ids.clone().unwrap_or_else(|| in_form(&self.value, &mut || 0.0))
    }

    /// The places of all numbers, row by row.
    pub(super) fn flat_places(&self) -> Vec<f64> {
        let mut out = Vec::new();
        match &self.ids {
            Some(ids) => flatten(ids, &mut out),
            None => {
                flatten(&self.value, &mut out);
                out.fill(0.0);
            }
        }
        out
    }

    /// All numbers, row by row.
    pub(super) fn flat(&self) -> Vec<f64> {
        let mut out = Vec::new();
        flatten(&self.value, &mut out);
        out
    }

    /// A number and its place, of a scalar.
    pub(super) fn as_number(&self) -> Option<(f64, Id)> {
        let id = self.ids.as_ref().and_then(Value::as_real).unwrap_or(0.0);
        Some((self.value.as_real()?, id as Id))
    }
}

/// Real numbers of a value, row by row; both parts of complex ones, the slots of tuples one after
/// the other.
pub(super) fn flatten(value: &Value, out: &mut Vec<f64>) {
    match value {
        Value::Int(_) | Value::Ints(_) => {}
        Value::Real(x) => out.push(*x),
        Value::Reals(n) => out.extend_from_slice(&n.values),
        Value::Complex(z) => out.extend_from_slice(z),
        Value::Complexes(n) => out.extend(n.values.iter().flatten()),
        Value::Tuple(slots) => slots.iter().for_each(|slot| flatten(slot, out)),
        Value::Tuples(n) => n.values.iter().for_each(|tuple| flatten(tuple, out)),
    }
}

/// A value of that form with other numbers.
pub(super) fn in_form(form: &Value, next: &mut dyn FnMut() -> f64) -> Value {
    match form {
        Value::Int(_) => Value::Int(0),
        Value::Ints(n) => Value::Ints(Numbers::filled(n.shape.clone(), 0)),
        Value::Real(_) => Value::Real(next()),
        Value::Reals(n) => {
            let values = n.values.iter().map(|_| next()).collect();
            Value::Reals(Numbers::new(n.shape.clone(), values))
        }
        Value::Complex(_) => Value::Complex([next(), next()]),
        Value::Complexes(n) => {
            let values = n.values.iter().map(|_| [next(), next()]).collect();
            Value::Complexes(Numbers::new(n.shape.clone(), values))
        }
        Value::Tuple(slots) => Value::Tuple(slots.iter().map(|slot| in_form(slot, next)).collect()),
        Value::Tuples(n) => {
            let values = n.values.iter().map(|tuple| in_form(tuple, next)).collect();
            Value::Tuples(Numbers::new(n.shape.clone(), values))
        }
    }
}
