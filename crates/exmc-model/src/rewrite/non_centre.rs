//! `x ~ family(location, scale)` -> `x = location + scale * z`, `z ~ family(0, 1)`.
//!
//! A centred hierarchy has a funnel: where the scale is small the child must be close to its
//! parent, and no step size suits both ends. The standardised child is independent of the scale a
//! priori. With much data per element the centred form is better; `centred()` keeps it. Reference:
//! Papaspiliopoulos, Roberts and Sköld 2007; Betancourt and Girolami 2015.

use exmc_graph::Dependence;

use crate::diagnostic::{Code, Diagnostic, ModelError};
use crate::model::{Kind, Model, Node, Standardised};
use crate::spec::Centring;
use crate::transform::Transform;

/// Non-centres free location-scale variables: on request, or by default when the scale depends on a
/// variable. Pure scale families (on the positive numbers) are rescaled on request, or by default
/// when their transform is softplus and their scale is known.
pub(super) fn non_centre(model: &Model) -> Result<Model, ModelError> {
    let mut rewritten = model.clone();
    let is_lifted =
        |node: &Node| matches!(&node.kind, Kind::Obs(obs) if obs.log_jacobian.is_some());
    let lifted = model.nodes.values().any(is_lifted);
    let observed = model.observations();
    for name in model.free_variables() {
        let node = rewritten.nodes.get_mut(name).expect("free variables are nodes");
        let origin = node.origin.clone();
        let Kind::Rv(rv) = &mut node.kind else { continue };
        let partly_observed = observed.contains_key(name);
        if rv.standardised.is_some() || rv.centring == Centring::Centred {
            continue;
        }
        let asked = rv.centring == Centring::NonCentred;
        let refuse = |why: &str| {
            let message = format!("`{name}` cannot be non-centred: {why}");
            let help = "only location-scale families without a constraint of their own can";
            Err(Diagnostic::new(Code::BadTransform, message).help(help).at(name, &origin).into())
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
        // Softplus bends at one: in units of the scale, so that the geometry does not depend on
        // units.
        let in_units = location.is_none()
            && rv.transform == Some(Transform::Softplus)
            && rewritten.graph.dependence(scale) < Dependence::Parameter
            && rewritten.graph.as_uniform(scale) != Some(1.0);
        if asked || funnel || in_units {
            let standard = rv
                .dist
                .standardised(&mut rewritten.graph)
                .expect("a location-scale family was found");
            let before = std::mem::replace(&mut rv.dist, standard);
            rv.standardised = Some(Standardised { location, scale });
            // An observed value that was solved for may wait for this one.
            if lifted && rewritten.value_order().is_err() {
                if asked {
                    return refuse("its location or scale is solved for from an observed image");
                }
                let node = rewritten.nodes.get_mut(name).expect("free variables are nodes");
                let Kind::Rv(rv) = &mut node.kind else { continue };
                rv.dist = before;
                rv.standardised = None;
            }
        }
    }
    Ok(rewritten)
}
