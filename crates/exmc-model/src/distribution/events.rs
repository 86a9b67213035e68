//! Shapes of vector-valued outcomes: parameters' shapes and a declared shape -> the outcome's
//! shape.

use exmc_graph::{Graph, NodeId, Shape};

use super::Parameter;

/// The shape of outcomes whose last axes are `event` and whose leading axes (the batch) are those
/// that the parameters' batches broadcast to, or the declared ones.
///
/// # Errors
/// A sentence when a parameter has too few axes, the batches do not broadcast, or the declared
/// shape has another event or does not hold the batch.
pub(super) fn event_shape(
    parameters: &[Parameter],
    args: &[&Shape],
    event: &[usize],
    declared: Option<&Shape>,
) -> Result<Shape, String> {
    let mut batch = Shape::scalar();
    for (parameter, shape) in parameters.iter().zip(args) {
        let (outer, _) = split(parameter, shape)?;
        let outer = Shape::from(outer);
        batch = batch.broadcast(&outer).ok_or_else(|| {
            format!("its parameters come in batches {batch} and {outer}, which do not broadcast")
        })?;
    }
    let natural = batch.join(event);
    let Some(declared) = declared else { return Ok(natural) };
    let fits = declared.rank() >= event.len() && {
        let (outer, inner) = declared.extents().split_at(declared.rank() - event.len());
        inner == event && batch.broadcasts_to(&Shape::from(outer))
    };
    if fits {
        Ok(declared.clone())
    } else {
        Err(format!("its declared shape is {declared}, but its parameters make outcomes {natural}"))
    }
}

/// The outcome's shape for a family whose event is as long as its parameter number `which`.
pub(super) fn shape_of_parameter(
    parameters: &[Parameter],
    args: &[&Shape],
    which: usize,
    declared: Option<&Shape>,
) -> Result<Shape, String> {
    let (_, event) = split(&parameters[which], args[which])?;
    event_shape(parameters, args, event, declared)
}

/// The outcome's shape for a family whose event is a vector of declared length.
pub(super) fn series_shape(
    parameters: &[Parameter],
    args: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape, String> {
    let length = declared.and_then(|d| d.extents().last().copied());
    match length {
        Some(0) => Err("a series needs at least one value".into()),
        Some(length) => event_shape(parameters, args, &[length], declared),
        None => Err("the length of the series is not known: declare a shape such as [100]".into()),
    }
}

/// The axes of a batch and of one event's argument.
pub(super) fn split<'a>(
    parameter: &Parameter,
    shape: &'a Shape,
) -> Result<(&'a [usize], &'a [usize]), String> {
    let extents = shape.extents();
    match extents.len().checked_sub(parameter.rank) {
        Some(outer) => Ok(extents.split_at(outer)),
        None => {
            let kind = if parameter.rank == 1 { "vector" } else { "matrix" };
            Err(format!("its parameter {} must be a {kind}, found shape {shape}", parameter.name))
        }
    }
}

/// The same batch of numbers with an axis of extent one at the end, to meet a batch of vectors.
pub(super) fn as_column(g: &mut Graph, x: NodeId) -> NodeId {
    if g.shape(x).is_scalar() {
        return x;
    }
    let shape = g.shape(x).join(&[1]);
    g.reshape(x, shape)
}

/// Element `k` of the last axis, which is dropped.
pub(super) fn element(g: &mut Graph, x: NodeId, k: usize) -> NodeId {
    let last = g.shape(x).rank() - 1;
    let outer = Shape::from(&g.shape(x).extents()[..last]);
    let part = g.slice(x, last, k, k + 1);
    g.reshape(part, outer)
}

/// Elements `start..stop` of the last axis.
pub(super) fn elements(g: &mut Graph, x: NodeId, start: usize, stop: usize) -> NodeId {
    let last = g.shape(x).rank() - 1;
    g.slice(x, last, start, stop)
}

/// Extent of the last axis.
pub(super) fn last_extent(g: &Graph, x: NodeId) -> usize {
    g.shape(x).extents().last().copied().expect("arguments of vector rank were checked before")
}
