//! Free variables without a transform -> the same with their distribution's transform attached.

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
        rv.transform = Some(transform);
    }
    Ok(rewritten)
}
