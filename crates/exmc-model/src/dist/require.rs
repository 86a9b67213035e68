//! Where outcomes and arguments must lie: predicates and requirements, as graph nodes.

use exmc_graph::{Graph, NodeId, Shape, Tensor};

use super::{Dist, Requirement};
use crate::support::Support;

impl Dist {
    /// For each outcome, 1 where it lies in the support (limits of wrappers included).
    pub fn holds(&self, g: &mut Graph, y: NodeId) -> NodeId {
        match self {
            Self::Family { family, args } => family.support().holds(g, y, args),
            Self::Mixture { components, .. } => {
                let parts: Vec<_> = components.iter().map(|c| c.holds(g, y)).collect();
                parts.into_iter().reduce(|a, b| g.or(a, b)).expect("a mixture has components")
            }
            Self::Truncated { base, lower, upper } => {
                let mut inside = base.holds(g, y);
                if let Some(limit) = *lower {
                    let above = g.le(limit, y);
                    inside = g.and(inside, above);
                }
                if let Some(limit) = *upper {
                    let below = g.le(y, limit);
                    inside = g.and(inside, below);
                }
                inside
            }
            Self::Censored { base, lower, upper } => {
                let mut inside = base.holds(g, y);
                if let Some(limit) = *lower {
                    let at_limit = g.eq(y, limit);
                    inside = g.or(inside, at_limit);
                    let beyond = g.le(limit, y);
                    inside = g.and(inside, beyond);
                }
                if let Some(limit) = *upper {
                    let at_limit = g.eq(y, limit);
                    inside = g.or(inside, at_limit);
                    let beyond = g.le(y, limit);
                    inside = g.and(inside, beyond);
                }
                inside
            }
            Self::ZeroInflated { base, .. } => {
                let inside = base.holds(g, y);
                let zero = g.scalar(0.0);
                let is_zero = g.eq(y, zero);
                g.or(inside, is_zero)
            }
            Self::Custom(custom) => custom.support.holds(g, y, &[]),
        }
    }

    /// What must hold of the arguments.
    pub fn requirements(&self, g: &mut Graph) -> Vec<Requirement> {
        let mut all = Vec::new();
        match self {
            Self::Family { family, args } => {
                for (parameter, &subject) in family.parameters().iter().zip(args) {
                    let predicate = parameter.support.predicate(g, subject, args);
                    let (name, what) = (parameter.name, parameter.support.describe());
                    let message = format!("parameter `{name}` of {} must be {what}", family.name());
                    all.push(Requirement {
                        subject,
                        support: Some(parameter.support),
                        predicate,
                        message,
                    });
                }
                if let Support::Between { lower: Some(a), upper: Some(b) } = family.support() {
                    let message = format!("the limits of {} must increase", family.name());
                    all.push(increasing(g, args[a], args[b], message));
                }
            }
            Self::Mixture { weights, components } => {
                let support = Support::Simplex;
                let predicate = support.predicate(g, *weights, &[]);
                let message = format!("the weights of a mixture must be {}", support.describe());
                all.push(Requirement {
                    subject: *weights,
                    support: Some(support),
                    predicate,
                    message,
                });
                for component in components {
                    all.extend(component.requirements(g));
                }
            }
            Self::Truncated { base, lower, upper } | Self::Censored { base, lower, upper } => {
                all.extend(base.requirements(g));
                if let (Some(a), Some(b)) = (*lower, *upper) {
                    // One count between equal limits is a certainty; a continuous outcome needs
                    // room.
                    let before = base.just_below(g, a);
                    let last = if base.is_discrete() { g.floor(b) } else { b };
                    let message = format!("the limits of {} must increase", self.name());
                    all.push(increasing(g, before, last, message));
                }
            }
            Self::ZeroInflated { base, probability } => {
                all.extend(base.requirements(g));
                let support = Support::Unit;
                let predicate = support.predicate(g, *probability, &[]);
                let message =
                    format!("the probability of zero inflation must be {}", support.describe());
                all.push(Requirement {
                    subject: *probability,
                    support: Some(support),
                    predicate,
                    message,
                });
            }
            Self::Custom(_) => {}
        }
        all
    }

    /// Whether single outcomes of a continuous distribution have a probability of their own.
    pub(crate) fn has_atoms(&self) -> bool {
        match self {
            Self::Censored { base, .. } => !base.is_discrete(),
            Self::Truncated { base, .. } | Self::ZeroInflated { base, .. } => base.has_atoms(),
            Self::Mixture { components, .. } => components.iter().any(Self::has_atoms),
            Self::Family { .. } | Self::Custom(_) => false,
        }
    }

    /// `y` where `counts` (one flag an outcome) is not 0, elsewhere some outcome inside the
    /// support, of a distribution of vectors or matrices: their densities mix the elements of all
    /// outcomes, so that one NaN would reach every derivative.
    pub(crate) fn settle(&self, g: &mut Graph, y: NodeId, counts: NodeId) -> NodeId {
        let rank = self.event_rank();
        let shape = g.shape(y).clone();
        let (batch, event) = shape.extents().split_at(shape.rank() - rank);
        let counts = g.broadcast_to(counts, &Shape::from(batch));
        let counts = g.reshape(counts, Shape::from(batch).join(&vec![1; rank]));
        let len = event.iter().product::<usize>();
        let n = event.last().copied().unwrap_or(1);
        let filled = |f: &dyn Fn(usize) -> f64| {
            Tensor::real(Shape::from(event), (0..len).map(f).collect::<Vec<_>>())
                .expect("one number an element")
        };
        let inner = match self.support() {
            Support::Simplex => g.constant(filled(&|_| 1.0 / n as f64)),
            Support::Ordered => g.constant(filled(&|k| k as f64)),
            Support::CorrelationCholesky | Support::CholeskyFactor | Support::PositiveDefinite => {
                g.constant(filled(&|k| f64::from(u8::from(k / n == k % n))))
            }
            Support::CountsSummingTo(k) => {
                let trials = self.family_arguments()[k];
                let column = g.shape(trials).join(&[1]);
                let trials = g.reshape(trials, column);
                let first = g.constant(filled(&|k| f64::from(u8::from(k == 0))));
                g.mul(trials, first)
            }
            _ => g.scalar(0.0),
        };
        g.select(counts, y, inner)
    }
}

fn increasing(g: &mut Graph, a: NodeId, b: NodeId, message: String) -> Requirement {
    let ordered = g.lt(a, b);
    let axes: Vec<_> = (0..g.shape(ordered).rank()).collect();
    let predicate = g.reduce(exmc_graph::Reduction::Min, ordered, &axes);
    Requirement { subject: a, support: None, predicate, message }
}
