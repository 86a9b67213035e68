//! `x ~ family(location, scale)` -> `x = location + scale * z`, `z ~ family(0, 1)`.
//!
//! A centred hierarchy has a funnel: where the scale is small the child must be close to its parent, and no
//! step size suits both ends. The standardised child is independent of the scale a priori. With much
//! data per element the centred form is better; `centred()` keeps it.
//! Reference: Papaspiliopoulos, Roberts and Sköld 2007; Betancourt and Girolami 2015.

use exmc_graph::Dependence;

use crate::diagnostic::{Code, Diagnostic, ModelError};
use crate::model::{Kind, Model, Standardised};
use crate::spec::Centring;
use crate::transform::Transform;

/// Non-centres free location-scale variables: on request, or by default when the scale depends on a
/// variable. Pure scale families (on the positive numbers) are rescaled only on request.
pub(super) fn non_centre(model: &Model) -> Result<Model, ModelError> {
    let mut rewritten = model.clone();
    for name in model.free_variables() {
        let node = rewritten.nodes.get_mut(name).expect("free variables are nodes");
        let Kind::Rv(rv) = &mut node.kind else { continue };
        let partly_observed = model.observation_of(name).is_some();
        if rv.standardised.is_some() || rv.centring == Centring::Centred {
            continue;
        }
        let asked = rv.centring == Centring::NonCentred;
        let refuse = |why: &str| {
            let message = format!("`{name}` cannot be non-centred: {why}");
            let help = "only location-scale families without a constraint of their own can";
            Err(Diagnostic::new(Code::BadTransform, message)
                .help(help)
                .at(name, &node.origin)
                .into())
        };
        let Some((location, scale)) = rv.dist.location_scale() else {
            if asked {
                return refuse(&format!("{} is not a location-scale family", rv.dist.name()));
            }
            continue;
        };
        let unconstrained = matches!(rv.transform, None | Some(Transform::Identity));
        let keeps_support = unconstrained
            || (location.is_none()
                && matches!(rv.transform, Some(Transform::Log | Transform::Softplus)));
        if !keeps_support || partly_observed {
            if asked {
                return refuse(if partly_observed {
                    "it is partly observed"
                } else {
                    "it has a transform"
                });
            }
            continue;
        }
        let funnel =
            location.is_some() && rewritten.graph.dependence(scale) == Dependence::Parameter;
        if asked || funnel {
            rv.dist = rv
                .dist
                .standardised(&mut rewritten.graph)
                .expect("a location-scale family was found");
            rv.standardised = Some(Standardised { location, scale });
        }
    }
    Ok(rewritten)
}
