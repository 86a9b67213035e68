//! Expressions of constants -> their values.

use std::collections::BTreeMap;

use exmc_graph::NodeId;

use crate::diagnostic::ModelError;
use crate::model::Model;

/// Replaces every expression that depends on no data and no variable by its value, and drops what
/// is no longer used. What depends on data alone is computed once when data are bound
/// (`exmc-exec`).
pub(super) fn fold_constants(model: &Model) -> Result<Model, ModelError> {
    let mut roots: Vec<NodeId> = Vec::new();
    model.map_expressions(&mut |id| {
        roots.push(id);
        id
    });
    roots.sort_unstable();
    roots.dedup();
    let (graph, folded) = exmc_graph::fold_constants(&model.graph, &roots);
    let new: BTreeMap<NodeId, NodeId> = roots.into_iter().zip(folded).collect();
    let mut rewritten = model.map_expressions(&mut |id| new[&id]);
    rewritten.graph = graph;
    Ok(rewritten)
}
