//! Functions without a vector kernel: a block of arguments -> a block of results, one element after
//! the other.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

use exmc_graph::kernels::{Arg, evaluate_into};
use exmc_graph::{Op, Shape};

use super::{Block, Detail, Operand, Step};
use crate::native::program::LANES;

/// A function without a vector kernel.
pub(super) fn one_by_one<const SINGLE: bool>(block: Block<'_, SINGLE>, i: &Step) {
    let Some(Detail::Lane { op, shapes }) = i.detail.as_deref() else {
        unreachable!("lowered with its function")
    };
    let scalar = i.out.step == 0;
    let count = if scalar { 1 } else { block.len() };
    let shape: &Shape = if block.len() == block.0.size { &shapes[0] } else { &shapes[1] };
    let arg = |operand: Operand| {
        let (first, step) = block.read(operand);
        let len = if step == 0 { 1 } else { count };
        // SAFETY: memory that `read` has; registers of operands are not the result's (`registers`).
        Arg { shape, values: unsafe { std::slice::from_raw_parts(first, len) } }
    };
    // SAFETY: memory that `write` has, and that no operand overlaps.
    let out = unsafe { std::slice::from_raw_parts_mut(block.write(i.out), count) };
    let outcome = match op {
        Op::Unary(_) => evaluate_into(op, &[arg(i.a)], shape, out),
        Op::Binary(_) => evaluate_into(op, &[arg(i.a), arg(i.b)], shape, out),
        _ => evaluate_into(op, &[arg(i.a), arg(i.b), arg(i.c)], shape, out),
    };
    debug_assert_eq!(outcome, Ok(()), "elementwise functions do not fail");
    if scalar {
        let value = out[0];
        // SAFETY: a scalar has a line.
        unsafe { std::slice::from_raw_parts_mut(block.write(i.out), LANES) }.fill(value);
    }
}
