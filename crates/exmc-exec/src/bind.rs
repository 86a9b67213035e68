//! Binding: named data -> the shared values that a compiled graph reads, computed once and checked.

use std::sync::Arc;

use exmc_graph::kernels::check_index;
use exmc_graph::{Dependence, Graph, NodeId, Op, Tensor, evaluate};
use exmc_math::simd::Level;

use crate::backend::{Backend, Bound};
use crate::compiled::Compiled;
use crate::error::BindError;
use crate::native;

/// Looks data up by name.
pub(crate) type Data<'a> = &'a dyn Fn(&str) -> Option<Tensor>;

/// Computes everything that does not depend on parameters.
///
/// # Errors
/// When a data variable is missing or is not as declared, or an index leaves its extent.
pub(crate) fn bind(compiled: &Compiled, data: Data<'_>) -> Result<Bound, BindError> {
    let graph = &compiled.graph;
    let live = graph.reachable(&compiled.roots);
    check_declarations(graph, &live, data)?;
    check_indices(graph, &live, data)?;
    let early = compiled.early();
    let values = evaluate(graph, &early, data).map_err(|error| BindError::new(error.message()))?;
    Ok(match &compiled.backend {
        Backend::Reference(program) => {
            let values = early.iter().zip(values);
            let values = values.map(|(id, value)| program.rounded(*id, value)).collect();
            Bound::Reference(Arc::clone(program), values)
        }
        Backend::Native(program) => {
            let level = Level::for_length(program.longest());
            let packed = Arc::new(native::pack(program, &values)?);
            Bound::Native(Arc::clone(program), packed, level)
        }
    })
}

/// Whether every data variable that is needed is there with its declared shape and kind.
pub(crate) fn check_declarations(
    graph: &Graph,
    live: &[bool],
    data: Data<'_>,
) -> Result<(), BindError> {
    for (id, name) in data_inputs(graph, live) {
        let node = graph.node(id);
        let (dtype, shape) = (node.dtype, &node.shape);
        let expected = format!("data variable `{name}`: expected {dtype}{shape}");
        let Some(value) = data(name) else {
            return Err(BindError::new(format!("{expected}, found nothing")));
        };
        if value.shape() != shape || value.dtype() != dtype {
            let (found, kind) = (value.shape(), value.dtype());
            return Err(BindError::new(format!("{expected}, found {kind}{found}")));
        }
    }
    Ok(())
}

/// Whether every index that is known now lies inside its extent.
fn check_indices(graph: &Graph, live: &[bool], data: Data<'_>) -> Result<(), BindError> {
    let mut indices = Vec::new();
    for id in graph.ids().filter(|id| live[id.index()]) {
        let Some((index, extent)) = index_of(graph, id) else { continue };
        // An integer that a loop computes beside parameters is checked when it runs.
        if graph.dependence(index) < Dependence::Parameter {
            indices.push((index, extent));
        }
    }
    indices.sort_unstable();
    indices.dedup();
    let nodes: Vec<NodeId> = indices.iter().map(|(id, _)| *id).collect();
    let values = evaluate(graph, &nodes, data).map_err(|error| BindError::new(error.message()))?;
    for ((index, extent), values) in indices.into_iter().zip(values) {
        // Counted, since that needs no branch for each.
        let inside = |index: &&f64| **index >= 0.0 && **index < extent as f64;
        if values.values().iter().filter(inside).count() == values.values().len() {
            continue;
        }
        for &value in values.values() {
            check_index(value, extent).map_err(|error| {
                let sources = graph.reachable(&[index]);
                let names: Vec<_> =
                    data_inputs(graph, &sources).map(|(_, name)| format!("`{name}`")).collect();
                let place = if names.is_empty() { "a constant".into() } else { names.join(", ") };
                BindError::new(format!("{place}: {error}"))
            })?;
        }
    }
    Ok(())
}

/// Whether binding a program of these expressions cannot fail, whatever the data: they need no
/// data, and every index is a constant inside of its extent, in the bodies of loops too.
pub fn always_binds(graph: &Graph, roots: &[NodeId]) -> bool {
    let live = graph.reachable(roots);
    data_inputs(graph, &live).next().is_none() && has_sure_indices(graph, &live)
}

/// Whether every live index is a constant inside of its extent, and loops and solvers run with
/// parameters only.
fn has_sure_indices(graph: &Graph, live: &[bool]) -> bool {
    let is_sure = |id: NodeId| match &graph.node(id).op {
        Op::Scan { body, .. } => {
            let body = &*body.0;
            let outputs: Vec<NodeId> = body.next.iter().chain(&body.stacked).copied().collect();
            graph.dependence(id) == Dependence::Parameter
                && has_sure_indices(&body.graph, &body.graph.reachable(&outputs))
        }
        Op::Ode(_) => graph.dependence(id) == Dependence::Parameter,
        _ => index_of(graph, id).is_none_or(|(index, extent)| {
            let inside = |value: &&f64| **value >= 0.0 && **value < extent as f64;
            graph.as_constant(index).is_some_and(|known| {
                known.values().iter().filter(inside).count() == known.values().len()
            })
        }),
    };
    graph.ids().filter(|id| live[id.index()]).all(is_sure)
}

/// The index that a node reads, with the extent that it must lie in.
fn index_of(graph: &Graph, id: NodeId) -> Option<(NodeId, usize)> {
    let node = graph.node(id);
    match &node.op {
        Op::Gather => Some((node.args[1], graph.shape(node.args[0]).extents()[0])),
        Op::ScatterAdd { len } => Some((node.args[1], *len)),
        Op::LeastSquares { groups, .. } => Some((node.args[2], *groups)),
        _ => None,
    }
}

/// The live data inputs with their names.
pub(crate) fn data_inputs<'g>(
    graph: &'g Graph,
    live: &'g [bool],
) -> impl Iterator<Item = (NodeId, &'g str)> {
    graph.ids().filter(|id| live[id.index()]).filter_map(|id| match &graph.node(id).op {
        Op::Input { name, .. } if graph.dependence(id) < Dependence::Parameter => {
            Some((id, &**name))
        }
        _ => None,
    })
}
