//! Free variables without a transform -> the same with their distribution's transform attached.

use crate::build::{check_limits, check_value_order};
use crate::diagnostic::{Code, Diagnostic, ModelError};
use crate::model::{Kind, Model};

/// Attaches to every free variable the transform that its distribution prefers.
pub(super) fn attach_default_transforms(model: &Model) -> Result<Model, ModelError> {
    let mut rewritten = model.clone();
    for name in model.free_variables() {
        let node = rewritten.nodes.get_mut(name).expect("free variables are nodes");
        let Kind::Rv(rv) = &mut node.kind else { continue };
        if rv.transform.is_some() {
            continue;
        }
        let transform = rv.dist.default_transform(&mut rewritten.graph);
        if let Err(message) = transform.unconstrained_shape(&rv.shape) {
            return Err(Diagnostic::new(Code::BadTransform, message).at(name, &node.origin).into());
        }
        check_limits(&rewritten.graph, &transform).map_err(|m| m.at(name, &node.origin))?;
        rv.transform = Some(transform);
    }
    // A default limit may wait for a value that was solved for from an observed image.
    check_value_order(&rewritten)?;
    Ok(rewritten)
}
