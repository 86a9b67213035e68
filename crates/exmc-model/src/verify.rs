//! A model -> whether it is well formed; a failure is always a bug of ours, never of the user's.

use exmc_graph::Op;

use crate::model::{Kind, Model};

/// Checks that every expression belongs to the graph, that references resolve, that observations
/// fit their targets and that values do not need each other.
///
/// # Errors
/// A sentence about the first thing that is wrong.
pub fn verify(model: &Model) -> Result<(), String> {
    exmc_graph::verify(&model.graph)?;
    let mut roots = Vec::new();
    model.map_expressions(&mut |id| {
        roots.push(id);
        id
    });
    if let Some(stray) = roots.iter().find(|id| id.index() >= model.graph.len()) {
        return Err(format!("{stray} is not in the graph"));
    }
    for node in model.graph.nodes() {
        let Op::Input { name, .. } = &node.op else { continue };
        match model.shape_of(name) {
            None => return Err(format!("`{name}` is referred to but has no value")),
            Some(shape) if *shape != node.shape => {
                return Err(format!(
                    "`{name}` has shape {shape} but is used with shape {}",
                    node.shape
                ));
            }
            Some(_) => {}
        }
    }
    for (name, node) in &model.nodes {
        match &node.kind {
            Kind::Obs(obs) => {
                let Some(shape) = model.shape_of(&obs.target) else {
                    return Err(format!("`{name}` observes `{}`, which has no value", obs.target));
                };
                if shape != model.graph.shape(obs.value) {
                    let found = model.graph.shape(obs.value);
                    return Err(format!(
                        "`{name}` has a value of shape {found} for a target of shape {shape}"
                    ));
                }
            }
            Kind::Rv(rv) => {
                if let Some(transform) = &rv.transform {
                    transform.unconstrained_shape(&rv.shape)?;
                }
            }
            Kind::Det(_) | Kind::Data(_) | Kind::Potential(_) => {}
        }
    }
    if model.declared.len() != model.nodes.len() {
        return Err("the list of declared names does not match the nodes".to_owned());
    }
    model
        .value_order()
        .map(drop)
        .map_err(|members| format!("the values of {members:?} need each other"))
}
