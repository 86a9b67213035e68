//! Values of a Stan program -> flat numbers and the columns that CmdStan names, and back.

use std::sync::Arc;

use exmc_fault::{Fault, planted};
use exmc_stan::value::Value;

use crate::compile::Values;

/// Gives a value the next numbers, as many as it holds.
pub(super) fn fill(value: &mut Value, rest: &mut &[f64]) {
    let mut next = |n: usize| {
        let (taken, others) = rest.split_at(n);
        *rest = others;
        taken
    };
    match value {
        Value::Tuple(slots) => slots.iter_mut().for_each(|slot| fill(slot, rest)),
        Value::Tuples(n) => n.make_mut().iter_mut().for_each(|tuple| fill(tuple, rest)),
        Value::Complex(z) => z.copy_from_slice(next(2)),
        Value::Complexes(n) => {
            let places = first_index_fastest(&n.shape);
            let values = n.make_mut();
            places.iter().for_each(|(place, _)| values[*place].copy_from_slice(next(2)));
        }
        Value::Real(x) => *x = next(1)[0],
        Value::Reals(n) => {
            let values = Arc::make_mut(&mut n.values);
            let len = values.len();
            let given = next(len);
            if let ([rows, columns], true) = (&*n.shape, planted(Fault::QuantitiesTransposed)) {
                let transposed = |k: usize| given[k % columns * rows + k / columns];
                values.iter_mut().enumerate().for_each(|(k, x)| *x = transposed(k));
                return;
            }
            values.copy_from_slice(given);
        }
        // Parameters are no integers.
        Value::Int(_) | Value::Ints(_) => {}
    }
}

/// The same for a value that may hold integers.
pub(super) fn fill_whole(value: &mut Value, rest: &mut &[f64]) {
    let mut next = |n: usize| {
        let (taken, others) = rest.split_at(n);
        *rest = others;
        taken
    };
    match value {
        Value::Int(i) => *i = next(1)[0] as i64,
        Value::Ints(n) => {
            let values = n.make_mut();
            let given = next(values.len());
            values.iter_mut().zip(given).for_each(|(to, from)| *to = *from as i64);
        }
        Value::Tuple(slots) => slots.iter_mut().for_each(|slot| fill_whole(slot, rest)),
        Value::Tuples(n) => n.make_mut().iter_mut().for_each(|tuple| fill_whole(tuple, rest)),
        real => fill(real, rest),
    }
}

/// A parameter's value by name, that of a tuple (or of an array of them) slot by slot; complex
/// numbers with one more extent for their parts.
pub(crate) fn leaves(name: &str, value: &Value, given: &mut Values) {
    let slots = match value {
        Value::Tuple(slots) => slots.clone(),
        Value::Tuples(tuples) => exmc_stan::value::slots_of(tuples),
        _ => {
            let mut shape = value.shape().to_vec();
            shape.extend(matches!(value, Value::Complex(_) | Value::Complexes(_)).then_some(2));
            let tensor = real_elements(value).and_then(|all| exmc_graph::Tensor::real(shape, all));
            if let Some(tensor) = tensor {
                given.insert(name.to_owned(), tensor);
            }
            return;
        }
    };
    for (k, slot) in slots.iter().enumerate() {
        leaves(&format!("{name}:{}", k + 1), slot, given);
    }
}

/// The numbers of a value that is no tuple, real and imaginary part of complex ones.
fn real_elements(value: &Value) -> Option<Vec<f64>> {
    Some(match value {
        Value::Int(i) => vec![*i as f64],
        Value::Real(x) => vec![*x],
        Value::Ints(n) => n.values.iter().map(|i| *i as f64).collect(),
        Value::Reals(n) => n.values.to_vec(),
        Value::Complex(z) => z.to_vec(),
        Value::Complexes(n) => n.values.concat(),
        Value::Tuple(_) | Value::Tuples(_) => return None,
    })
}

/// Takes a column's name, shape and numbers.
type Column<'a> = dyn FnMut(&str, &[usize], &[f64]) + 'a;

/// The columns of a value, as CmdStan names them: a tuple's slots `name:1`, a complex number's
/// parts `name.real` and `name.imag`, behind the indices where these are elements of arrays
/// (`name.2.1:1`, `name.2.real`; complex numbers with the first index fastest). Integers that were
/// never assigned are NaN.
pub(super) fn columns(name: &str, value: &Value, column: &mut Column<'_>) {
    let shape = value.shape();
    match value {
        Value::Int(i) => column(name, shape, &[whole_number(i)]),
        Value::Real(x) => column(name, shape, &[*x]),
        Value::Ints(n) => {
            column(name, shape, &n.values.iter().map(whole_number).collect::<Vec<_>>())
        }
        Value::Reals(n) => column(name, shape, &n.values),
        Value::Complex([re, im]) => {
            column(&format!("{name}.real"), shape, &[*re]);
            column(&format!("{name}.imag"), shape, &[*im]);
        }
        Value::Complexes(n) => {
            for (place, index) in first_index_fastest(shape) {
                columns(&indexed(name, &index), &Value::Complex(n.values[place]), column);
            }
        }
        Value::Tuple(slots) => {
            for (k, slot) in slots.iter().enumerate() {
                columns(&format!("{name}:{}", k + 1), slot, column);
            }
        }
        Value::Tuples(n) => {
            for (k, tuple) in n.values.iter().enumerate() {
                columns(&indexed(name, &index_of(k, shape)), tuple, column);
            }
        }
    }
}

/// An integer as it is recorded.
pub(super) fn whole_number(i: &i64) -> f64 {
    if *i == exmc_stan::value::UNSET_INT { f64::NAN } else { *i as f64 }
}

/// The places, row by row, of an array's elements with their indices, the first index fastest.
fn first_index_fastest(shape: &[usize]) -> Vec<(usize, Vec<usize>)> {
    let count = shape.iter().product();
    let mut places: Vec<_> = (0..count).map(|k| (k, index_of(k, shape))).collect();
    places.sort_by(|(_, a), (_, b)| a.iter().rev().cmp(b.iter().rev()));
    places
}

/// The index, from 1, of the element at a row-major place.
fn index_of(place: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = place;
    let mut index = vec![0; shape.len()];
    for (i, extent) in index.iter_mut().zip(shape).rev() {
        *i = rest % extent + 1;
        rest /= extent;
    }
    index
}

/// `name.2.1`
fn indexed(name: &str, index: &[usize]) -> String {
    index.iter().fold(name.to_owned(), |name, i| format!("{name}.{i}"))
}
