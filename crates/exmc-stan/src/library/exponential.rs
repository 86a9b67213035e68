//! The exponential of a matrix: scaling to a small norm, a polynomial, and squarings.
//!
//! $e^A = (e^{A/2^s})^{2^s}$, with s so large that $\|A/2^s\|_1\le\tfrac12$, where fifteen terms of
//! the series are exact to rounding. s depends on the matrix, the number of steps does not: a step
//! behind the s-th leaves its matrix alone. **Reference**: Moler and Van Loan 2003, method 3;
//! Paterson and Stockmeyer 1973.

use std::sync::Arc;

use exmc_graph::{DType, Graph, NodeId, Op, Reduction, Role, ScanBody, Shape, SharedBody, Tensor};

use super::align::reshape;
use super::elementwise::wrong;
use super::products::multiply;
use super::{Answer, Argument, LibraryError, Output};
use crate::typed::Type;

/// Squarings: enough for norms up to eight million, whose exponential has long overflowed, or
/// decayed.
const MAX_SQUARINGS: i32 = 24;

/// The call, if the name is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    Some(match (name, args) {
        ("matrix_exp", [a]) => exponential(g, a),
        ("matrix_exp_multiply", [a, b]) => exponential(g, a).and_then(|e| {
            let e = matrix(e);
            multiply(g, &e, b)
        }),
        ("scale_matrix_exp_multiply", [t, a, b]) => multiply(g, t, a).and_then(|scaled| {
            let e = matrix(exponential(g, &matrix(scaled))?);
            multiply(g, &e, b)
        }),
        _ => return None,
    })
}

fn matrix(output: Output) -> Argument {
    Argument { node: output.node, ty: Type::Matrix, batched: output.batched }
}

fn exponential(g: &mut Graph, a: &Argument) -> Result<Output, LibraryError> {
    let &[n, columns] = a.extents(g) else { return Err(wrong("matrix_exp")) };
    if n != columns {
        return Err(LibraryError::Mistake("`matrix_exp` needs a square matrix".to_owned()));
    }
    if n == 0 {
        return Ok(Output::new(a.node, a.batched));
    }
    let first = usize::from(a.batched);
    let sizes = g.abs(a.node);
    let sizes = g.reduce(Reduction::Sum, sizes, &[first]);
    let norm = g.reduce(Reduction::Max, sizes, &[first]);
    // One number for each halving: whether it is needed, and what it takes from the factor 2^-s.
    let powers = |exponent: fn(i32) -> i32| {
        let values = (0..MAX_SQUARINGS).map(|k| libm::ldexp(1.0, exponent(k))).collect::<Vec<_>>();
        Tensor::real([MAX_SQUARINGS as usize], values).expect("one number for each halving")
    };
    let limits = g.constant(powers(|k| k - 1));
    let taken = g.constant(powers(|k| -k - 1));
    let spread = reshape(g, norm, a.batched, &[1]);
    let halved = g.lt(limits, spread);
    let squarings = g.sum_last(halved);
    let loss = g.mul(halved, taken);
    let loss = g.sum_last(loss);
    let one = g.scalar(1.0);
    let factor = g.sub(one, loss);
    let factor = reshape(g, factor, a.batched, &[1, 1]);
    let small = Argument { node: g.mul(a.node, factor), ..a.clone() };
    let series = series(g, &small, n)?;

    let body = squaring(g.shape(series.node).clone(), g.shape(squarings).clone(), a.batched)?;
    let numbers = (0..MAX_SQUARINGS).map(f64::from).collect::<Vec<_>>();
    let numbers = Tensor::real([MAX_SQUARINGS as usize], numbers).expect("one number a step");
    let numbers = g.constant(numbers);
    let length = MAX_SQUARINGS as usize;
    let op = Op::Scan { length, reverse: false, body: SharedBody(Arc::new(body)) };
    let scan = g.apply(op, &[series.node, numbers, squarings]).expect("shapes fit by construction");
    let found = g.apply(Op::Project(0), &[scan]).expect("the carry");
    let largest = g.scalar(libm::ldexp(1.0, MAX_SQUARINGS - 1));
    let within = g.le(norm, largest);
    let within = reshape(g, within, a.batched, &[1, 1]);
    let nothing = g.scalar(f64::NAN);
    Ok(Output::new(g.select(within, found, nothing), a.batched))
}

/// $\sum_{k<16} A^k/k!$ by powers of $A^4$.
fn series(g: &mut Graph, a: &Argument, n: usize) -> Result<Output, LibraryError> {
    let square = matrix(multiply(g, a, a)?);
    let cube = matrix(multiply(g, &square, a)?);
    let fourth = matrix(multiply(g, &square, &square)?);
    let identity = super::matrix_parts::identity(g, n);
    let mut coefficients = [1.0; 16];
    for k in 1..16 {
        coefficients[k] = coefficients[k - 1] / k as f64;
    }
    let mut sum: Option<NodeId> = None;
    for four in coefficients.chunks(4).rev() {
        let mut block = g.scale(identity, four[0]);
        for (power, coefficient) in [a, &square, &cube].iter().zip(&four[1..]) {
            let term = g.scale(power.node, *coefficient);
            block = g.add(block, term);
        }
        sum = Some(match sum {
            None => block,
            Some(higher) => {
                let higher = Argument { node: higher, ..a.clone() };
                let shifted = multiply(g, &fourth, &higher)?;
                g.add(shifted.node, block)
            }
        });
    }
    Ok(Output::new(sum.expect("there are four blocks"), a.batched))
}

/// A step: the square of the matrix, as long as there are squarings to do.
fn squaring(shape: Shape, counts: Shape, batched: bool) -> Result<ScanBody, LibraryError> {
    let mut graph = Graph::new();
    let g = &mut graph;
    let fresh = "a new graph has no other input of that name";
    let carry = g.input("carry0", Role::Parameter, shape, DType::Real).expect(fresh);
    let step = g.input("x0", Role::Parameter, Shape::scalar(), DType::Real).expect(fresh);
    let count = g.input("fixed0", Role::Parameter, counts, DType::Real).expect(fresh);
    let a = Argument { node: carry, ty: Type::Matrix, batched };
    let squared = multiply(g, &a, &a)?;
    let active = g.lt(step, count);
    let active = reshape(g, active, batched, &[1, 1]);
    let next = g.select(active, squared.node, carry);
    Ok(ScanBody { graph, next: vec![next], stacked: Vec::new(), counts: [1, 1, 1] })
}
