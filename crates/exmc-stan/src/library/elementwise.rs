//! Elementwise calls: a name and aligned arguments -> one number for each element.
//!
//! Functions are rows of [`scalar_functions`](crate::scalar_functions); operators and constants are
//! here.

use std::f64::consts::{LN_2, LN_10, PI};

use exmc_graph::{Binary, Graph, Tensor};

use super::align::{align, elementwise, known};
use super::{Answer, Argument, LibraryError, Output};
use crate::scalar_functions::{self, GraphForm, One, Two};
use crate::typed::Type;

/// The call, if the name is that of an elementwise function of so many arguments.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    if let "divide" | "modulus" = name
        && args.len() == 2
        && args.iter().all(|arg| arg.ty == Type::Int)
    {
        return Some(whole_division(g, name, args));
    }
    let form = scalar_functions::find(name).map(|row| row.graph);
    match args.len() {
        1 => {
            let f = if let Some(GraphForm::One(f)) = form { f } else { operator_of_one(name)? };
            Some(elementwise(g, args, |g, x| f(g, x[0])))
        }
        2 => {
            let f = if let Some(GraphForm::Two(f)) = form { f } else { operator_of_two(name)? };
            Some(elementwise(g, args, |g, x| f(g, x[0], x[1])))
        }
        3 if name == "if_else" => Some(elementwise(g, args, |g, x| g.select(x[0], x[1], x[2]))),
        3 => {
            let Some(GraphForm::Three(f)) = form else { return None };
            Some(elementwise(g, args, |g, x| f(g, x[0], x[1], x[2])))
        }
        0 => constant(name).map(|value| {
            let node = g.scalar(value);
            Ok(Output::new(node, false))
        }),
        _ => None,
    }
}

/// Quotients of whole numbers towards zero, or what they leave.
fn whole_division(g: &mut Graph, name: &str, args: &[Argument]) -> Result<Output, LibraryError> {
    let aligned = align(g, args, &[0, 0])?;
    let mut values = Vec::with_capacity(2);
    for (k, node) in aligned.nodes.iter().enumerate() {
        let node = g.broadcast_to(*node, &aligned.shape);
        values.push(known(g, node).ok_or(LibraryError::Unknown(k))?);
    }
    let mut results = Vec::with_capacity(values[0].len());
    for (a, b) in values[0].iter().zip(&values[1]) {
        if *b == 0.0 {
            return Err(LibraryError::Mistake("a whole number is divided by zero".to_owned()));
        }
        // Not minus zero.
        results.push(0.0 + if name == "divide" { (a / b).trunc() } else { a % b });
    }
    let results = Tensor::int(aligned.shape, results);
    let results = results.ok_or_else(|| wrong(name))?;
    Ok(Output::new(g.constant(results), aligned.batched))
}

fn constant(name: &str) -> Option<f64> {
    Some(match name {
        "pi" => PI,
        "e" => std::f64::consts::E,
        "sqrt2" => std::f64::consts::SQRT_2,
        "log2" => LN_2,
        "log10" => LN_10,
        "not_a_number" => f64::NAN,
        "positive_infinity" => f64::INFINITY,
        "negative_infinity" => f64::NEG_INFINITY,
        "machine_precision" => f64::EPSILON,
        _ => return None,
    })
}

/// The operators of one number, by the names that they have as functions.
fn operator_of_one(name: &str) -> Option<One> {
    Some(match name {
        "minus" => Graph::neg,
        "plus" => |_, x| x,
        "logical_negation" => Graph::not,
        _ => return None,
    })
}

/// The operators of two numbers, by the names that they have as functions.
fn operator_of_two(name: &str) -> Option<Two> {
    Some(match name {
        "add" | "elt_add" => Graph::add,
        "subtract" => Graph::sub,
        "elt_multiply" => Graph::mul,
        "elt_divide" => Graph::div,
        "logical_lt" => Graph::lt,
        "logical_lte" => Graph::le,
        "logical_gt" => |g, a, b| g.lt(b, a),
        "logical_gte" => |g, a, b| g.le(b, a),
        "logical_eq" => Graph::eq,
        "logical_neq" => |g, a, b| g.binary(Binary::Ne, a, b),
        "logical_and" => Graph::and,
        "logical_or" => Graph::or,
        _ => return None,
    })
}

/// A call of a function that exists for other arguments only.
pub(super) fn wrong(name: &str) -> LibraryError {
    LibraryError::Unsupported(format!("`{name}` with these arguments"))
}
