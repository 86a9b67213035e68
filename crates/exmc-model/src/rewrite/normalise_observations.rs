//! Observations as declared -> observations whose parts all say something.

use crate::diagnostic::ModelError;
use crate::model::{Kind, Model};

/// Points observations of renamed variables at the variable itself and drops parts without effect:
/// weights of one, masks that leave out nothing, censoring codes of zero. A mask that leaves out
/// everything makes the likelihood empty.
pub(super) fn normalise_observations(model: &Model) -> Result<Model, ModelError> {
    let mut rewritten = model.clone();
    let graph = &model.graph;
    for node in rewritten.nodes.values_mut() {
        let Kind::Obs(obs) = &mut node.kind else { continue };
        obs.target = model.resolve_alias(&obs.target).to_owned();
        if obs.weight.and_then(|w| graph.as_uniform(w)) == Some(1.0) {
            obs.weight = None;
        }
        match obs.mask.and_then(|m| graph.as_uniform(m)) {
            // Missing elements are free variables, whose density counts all the same.
            Some(0.0) if obs.missing.is_empty() => obs.likelihood = false,
            Some(0.0) => {}
            Some(value) if !value.is_nan() => obs.mask = None,
            _ => {}
        }
        if obs.censoring.and_then(|c| graph.as_uniform(c.code)) == Some(0.0) {
            obs.censoring = None;
        }
    }
    Ok(rewritten)
}
