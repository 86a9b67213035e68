//! Orders: sorting, ranks, reversal.

use std::cmp::Ordering;

use super::Call;
use crate::host::error::Fault;
use crate::host::expression::read_value;
use crate::host::index::{self, Choice};
use crate::host::operators::order;
use crate::value::{Numbers, Value};

type Plain = fn(&Call<'_>) -> Result<Value, Fault>;

/// Names and functions.
pub(crate) const FUNCTIONS: &[(&str, Plain)] = &[
    ("sort_asc", |c| sorted(c, false)),
    ("sort_desc", |c| sorted(c, true)),
    ("sort_indices_asc", |c| indices(c, false)),
    ("sort_indices_desc", |c| indices(c, true)),
    ("rank", rank),
    ("reverse", reverse),
];

/// Positions in order; equal elements stay in theirs.
fn permutation(c: &Call<'_>, descending: bool) -> Result<Vec<usize>, Fault> {
    let x = c.reals(0)?;
    if let Some(k) = x.iter().position(|x| x.is_nan()) {
        return Err(c.domain(format!("element {} is not a number", k + 1)));
    }
    let mut places: Vec<usize> = (0..x.len()).collect();
    places.sort_by(|a, b| {
        let ascending = order(x[*a], x[*b]);
        if descending { ascending.reverse() } else { ascending }
    });
    Ok(places)
}

fn sorted(c: &Call<'_>, descending: bool) -> Result<Value, Fault> {
    let places = permutation(c, descending)?;
    read_value(c.arg(0)?, &[Choice::Many(places)])
}

fn indices(c: &Call<'_>, descending: bool) -> Result<Value, Fault> {
    let places = permutation(c, descending)?;
    Ok(Value::ints(places.into_iter().map(|k| k as i64 + 1).collect()))
}

/// The number of elements that are less than one of them.
fn rank(c: &Call<'_>) -> Result<Value, Fault> {
    let x = c.reals(0)?;
    let position = index::position(c.int(1)?, x.len())?;
    Ok(Value::Int(x.iter().filter(|y| order(**y, x[position]) == Ordering::Less).count() as i64))
}

fn reverse(c: &Call<'_>) -> Result<Value, Fault> {
    let value = c.arg(0)?;
    let Some(extent) = value.shape().first() else {
        return Ok(Value::Reals(Numbers::new([0], vec![])));
    };
    read_value(value, &[Choice::Many((0..*extent).rev().collect())])
}
