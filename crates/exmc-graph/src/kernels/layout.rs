//! Moving elements: broadcast, permute, slice, concatenate, gather and their transposes.

use exmc_fault::{Fault, planted};

use super::{Arg, EvaluateError, around};
use crate::tensor::Shape;

/// Stretches elements of extents `from` to `to`, right-aligned: blocks are written once and then
/// copied.
pub fn broadcast(x: &[f64], from: &[usize], out: &mut [f64], to: &[usize]) {
    if out.is_empty() {
        return;
    }
    if let [value] = x {
        out.fill(*value);
    } else if x.len() == out.len() {
        out.copy_from_slice(x);
    } else {
        let block = out.len() / to[0];
        if from.len() == to.len() && from[0] == to[0] {
            let rows = x.chunks_exact(x.len() / from[0]);
            for (row, target) in rows.zip(out.chunks_exact_mut(block)) {
                broadcast(row, &from[1..], target, &to[1..]);
            }
        } else {
            let inner = if from.len() == to.len() { &from[1..] } else { from };
            let (first, rest) = out.split_at_mut(block);
            broadcast(x, inner, first, &to[1..]);
            for copy in rest.chunks_exact_mut(block) {
                copy.copy_from_slice(first);
            }
        }
    }
}

/// Axis `i` of the result is axis `order[i]` of the argument.
pub(super) fn permute(x: Arg<'_>, order: &[usize], out: &mut [f64]) {
    fn walk(x: Arg<'_>, order: &[usize], base: usize, out: &mut [f64]) {
        let Some((&axis, rest)) = order.split_first() else {
            out[0] = x.values[base];
            return;
        };
        let [_, extent, stride] = around(x.shape, axis);
        let block = out.len() / extent;
        for (k, target) in out.chunks_exact_mut(block).enumerate() {
            walk(x, rest, base + k * stride, target);
        }
    }
    if let (&[1, 0], &[rows, columns]) = (order, x.shape.extents()) {
        for i in 0..rows {
            for j in 0..columns {
                out[j * rows + i] = x.values[i * columns + j];
            }
        }
    } else if !out.is_empty() {
        walk(x, order, 0, out);
    }
}

pub(super) fn slice(
    x: Arg<'_>,
    axis: usize,
    start: usize,
    step: usize,
    shape: &Shape,
    out: &mut [f64],
) {
    let [blocks, extent, inner] = around(x.shape, axis);
    let len = shape.extents()[axis];
    for block in 0..blocks {
        for k in 0..len {
            let from = (block * extent + start + k * step) * inner;
            let to = (block * len + k) * inner;
            out[to..to + inner].copy_from_slice(&x.values[from..from + inner]);
        }
    }
}

pub(super) fn unslice(
    x: Arg<'_>,
    axis: usize,
    start: usize,
    step: usize,
    shape: &Shape,
    out: &mut [f64],
) {
    let [blocks, extent, inner] = around(shape, axis);
    let len = x.shape.extents()[axis];
    out.fill(0.0);
    for block in 0..blocks {
        for k in 0..len {
            let to = (block * extent + start + k * step) * inner;
            let from = (block * len + k) * inner;
            out[to..to + inner].copy_from_slice(&x.values[from..from + inner]);
        }
    }
}

/// Writes the parts one after the other along `axis`; `shape` is the result's.
pub fn concat_into<'a>(
    axis: usize,
    shape: &Shape,
    parts: impl Iterator<Item = Arg<'a>>,
    out: &mut [f64],
) {
    let [blocks, extent, inner] = around(shape, axis);
    let mut start = 0;
    for part in parts {
        let width = part.shape.extents()[axis] * inner;
        for block in 0..blocks {
            let to = block * extent * inner + start;
            out[to..to + width].copy_from_slice(&part.values[block * width..(block + 1) * width]);
        }
        start += width;
    }
}

/// Whether a zero-based index lies inside an extent.
///
/// # Errors
/// When it does not (`index 8 is outside 0..8`).
pub fn check_index(index: f64, extent: usize) -> Result<usize, EvaluateError> {
    // An index is an exact integer, so the cast loses nothing once it is known not to be negative.
    if index >= 0.0 && index < extent as f64 {
        Ok(index as usize)
    } else {
        Err(EvaluateError::new(format!("index {index} is outside 0..{extent}")))
    }
}

pub(super) fn gather(x: Arg<'_>, index: &[f64], out: &mut [f64]) -> Result<(), EvaluateError> {
    let [_, extent, width] = around(x.shape, 0);
    if width == 1 {
        for (target, &k) in out.iter_mut().zip(index) {
            *target = x.values[check_index(k, extent)?];
        }
        return Ok(());
    }
    for (row, &k) in index.iter().enumerate() {
        let from = check_index(k, extent)? * width;
        out[row * width..(row + 1) * width].copy_from_slice(&x.values[from..from + width]);
    }
    Ok(())
}

pub(super) fn scatter_add(
    values: &[f64],
    index: &[f64],
    len: usize,
    out: &mut [f64],
) -> Result<(), EvaluateError> {
    out.fill(0.0);
    let width = out.len().checked_div(len).unwrap_or(0);
    let overwrite = planted(Fault::GradientGatherOverwrites);
    for (row, &k) in index.iter().enumerate() {
        let to = check_index(k, len)? * width;
        let source = &values[row * width..(row + 1) * width];
        for (target, &value) in out[to..to + width].iter_mut().zip(source) {
            *target = if overwrite { value } else { *target + value };
        }
    }
    Ok(())
}
