//! Shapes of outcomes and the transforms that free outcomes use unless told otherwise.

use exmc_graph::{Binary, Graph, NodeId, Shape, Tensor};

use super::Dist;
use crate::support::Support;
use crate::transform::Transform;

impl Dist {
    /// The shape of the outcome.
    ///
    /// # Errors
    /// A sentence when parameters and declared shape do not fit together.
    pub fn outcome_shape(&self, g: &Graph, declared: Option<&Shape>) -> Result<Shape, String> {
        match self {
            Self::Family { family, args } => {
                let shapes: Vec<&Shape> = args.iter().map(|&a| g.shape(a)).collect();
                family.outcome_shape(&shapes, declared)
            }
            Self::Mixture { weights, components } => {
                let weights = g.shape(*weights).extents();
                if weights.last() != Some(&components.len()) {
                    let (n, found) = (components.len(), Shape::from(weights));
                    return Err(format!(
                        "its {n} components need weights whose last extent is {n}, found {found}"
                    ));
                }
                let rank = self.event_rank();
                let common = match declared {
                    Some(declared) => declared.clone(),
                    None => {
                        let mut batch = Shape::from(&weights[..weights.len() - 1]);
                        let mut event = Vec::new();
                        for component in components {
                            let shape = component.outcome_shape(g, None)?;
                            let (outer, inner) = shape.extents().split_at(shape.rank() - rank);
                            let message = || {
                                format!(
                                    "its components and weights have batches {batch} and {}, which do not broadcast",
                                    Shape::from(outer)
                                )
                            };
                            batch = batch.broadcast(&Shape::from(outer)).ok_or_else(message)?;
                            event = inner.to_vec();
                        }
                        batch.join(&event)
                    }
                };
                for component in components {
                    component.outcome_shape(g, Some(&common))?;
                }
                let batch = Shape::from(&common.extents()[..common.rank().saturating_sub(rank)]);
                if !Shape::from(&weights[..weights.len() - 1]).broadcasts_to(&batch) {
                    return Err(format!(
                        "its weights have shape {weights:?}, which does not fit outcomes {common}"
                    ));
                }
                Ok(common)
            }
            Self::Truncated { base, lower, upper } | Self::Censored { base, lower, upper } => {
                let limits: Vec<_> = [*lower, *upper].into_iter().flatten().collect();
                let outcome = base.outcome_shape(g, declared)?;
                broadcast_onto(g, "limits", &limits, outcome, declared)
            }
            Self::ZeroInflated { base, probability } => {
                let outcome = base.outcome_shape(g, declared)?;
                broadcast_onto(g, "probability", &[*probability], outcome, declared)
            }
            Self::Custom(custom) => {
                let shapes: Vec<&Shape> = custom.args.iter().map(|&a| g.shape(a)).collect();
                crate::distribution::univariate_shape(&shapes, declared)
            }
        }
    }

    /// The transform that a free variable of this distribution uses unless told otherwise.
    pub fn default_transform(&self, g: &mut Graph) -> Transform {
        match self {
            Self::Family { family, args } => family.default_transform(args),
            Self::Truncated { base, lower, upper } => {
                // The base's own limits still hold: a gamma truncated at -1 starts at 0.
                let (floor, ceiling) = match base.default_transform(g) {
                    Transform::Log | Transform::Softplus => (Some(g.scalar(0.0)), None),
                    Transform::Logit => (Some(g.scalar(0.0)), Some(g.scalar(1.0))),
                    Transform::Lower(a) => (Some(a), None),
                    Transform::Upper(b) => (None, Some(b)),
                    Transform::Interval(a, b) => (Some(a), Some(b)),
                    _ => (None, None),
                };
                let lower = tighter(g, Binary::Max, *lower, floor);
                let upper = tighter(g, Binary::Min, *upper, ceiling);
                match (lower, upper) {
                    (Some(a), Some(b)) => Transform::Interval(a, b),
                    (Some(a), None) => Transform::Lower(a),
                    (None, Some(b)) => Transform::Upper(b),
                    (None, None) => base.default_transform(g),
                }
            }
            Self::Censored { base, .. } => base.default_transform(g),
            Self::Mixture { components, .. } => {
                let transforms: Vec<_> =
                    components.iter().map(|c| c.default_transform(g)).collect();
                match transforms.split_first() {
                    Some((first, rest)) if rest.iter().all(|t| t == first) => *first,
                    // Limits that differ by component: each is impossible outside of its own.
                    _ if matches!(self.support(), Support::Between { .. }) => Transform::Identity,
                    _ => crate::distribution::default_transform(
                        self.support(),
                        self.family_arguments(),
                    ),
                }
            }
            _ => crate::distribution::default_transform(self.support(), self.family_arguments()),
        }
    }
}

fn broadcast_onto(
    g: &Graph,
    what: &str,
    nodes: &[NodeId],
    outcome: Shape,
    declared: Option<&Shape>,
) -> Result<Shape, String> {
    let mut common = outcome;
    for node in nodes {
        let shape = g.shape(*node);
        let message =
            || format!("its {what} of shape {shape} does not broadcast with outcomes {common}");
        common = common.broadcast(shape).ok_or_else(message)?;
    }
    match declared {
        Some(declared) if *declared != common => {
            Err(format!("its declared shape is {declared}, but its parameters have shape {common}"))
        }
        _ => Ok(common),
    }
}

/// The limit that excludes more, of those that are there.
fn tighter(g: &mut Graph, op: Binary, a: Option<NodeId>, b: Option<NodeId>) -> Option<NodeId> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
    let pick = |x: f64, y: f64| if op == Binary::Max { x.max(y) } else { x.min(y) };
    match (g.as_uniform(b), g.as_constant(a).cloned()) {
        // Known numbers stay numbers, so that the transform says which case it is.
        (Some(b), Some(a)) => {
            let values: Vec<f64> = a.values().iter().map(|x| pick(*x, b)).collect();
            Some(g.constant(Tensor::real(a.shape().clone(), values).expect("the same shape")))
        }
        _ => Some(g.binary(op, a, b)),
    }
}
