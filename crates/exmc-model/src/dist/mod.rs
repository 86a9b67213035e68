//! A distribution with its arguments: families and the wrappers around them -> densities in a
//! graph.
//!
//! Arguments are nodes of whichever graph the `Dist` belongs to; [`Dist::map_arguments`] moves it
//! to another. Wrappers take any distribution inside, wrappers included.

mod density;
mod require;
mod shape;

use std::sync::Arc;

use exmc_graph::{Graph, NodeId};

use crate::distribution::{Distribution, LocationScale};
use crate::support::Support;

/// A distribution with its arguments.
#[derive(Clone, Debug)]
pub enum Dist {
    /// A family.
    Family {
        /// Which.
        family: &'static dyn Distribution,
        /// One node a parameter.
        args: Vec<NodeId>,
    },
    /// $\log\sum_k w_k p_k(y)$.
    Mixture {
        /// Probabilities of the components along the last axis.
        weights: NodeId,
        /// At least one; all discrete or all continuous, of one event rank.
        components: Vec<Dist>,
    },
    /// The base given that the outcome lies in `[lower, upper]`.
    Truncated {
        /// What is truncated; univariate with a distribution function.
        base: Box<Dist>,
        /// Lower limit.
        lower: Option<NodeId>,
        /// Upper limit.
        upper: Option<NodeId>,
    },
    /// The base with outcomes beyond a limit recorded as the limit.
    Censored {
        /// What is censored; univariate with a distribution function.
        base: Box<Dist>,
        /// Lower limit.
        lower: Option<NodeId>,
        /// Upper limit.
        upper: Option<NodeId>,
    },
    /// Counts that are zero with an extra probability.
    ZeroInflated {
        /// A distribution of counts.
        base: Box<Dist>,
        /// Probability of the extra zero.
        probability: NodeId,
    },
    /// A density given as an expression.
    Custom(Custom),
}

/// A density given as an expression over its parameters' names and `value`, in graphs of its own.
#[derive(Clone, Debug)]
pub struct Custom {
    /// Names of the parameters.
    pub names: Vec<String>,
    /// Their values.
    pub args: Vec<NodeId>,
    /// Where `value` lies.
    pub support: Support,
    /// The log density; its inputs are the parameters' names and `value`.
    pub logp: Arc<(Graph, NodeId)>,
    /// The quantile function, for draws; its inputs are the parameters' names and `u`.
    pub quantile: Option<Arc<(Graph, NodeId)>>,
}

/// Something that must hold for a density to make sense.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The value in question.
    pub subject: NodeId,
    /// Where it must lie, when that is a support.
    pub support: Option<Support>,
    /// Scalar node that is 1 when it holds.
    pub predicate: NodeId,
    /// In words: "parameter `sigma` of normal must be positive".
    pub message: String,
}

impl Dist {
    /// All argument nodes, components' included.
    pub fn arguments(&self) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        let copied = self.map_arguments(&mut |id| {
            nodes.push(id);
            id
        });
        drop(copied);
        nodes
    }

    /// The same distribution over other argument nodes.
    #[must_use]
    pub fn map_arguments(&self, f: &mut dyn FnMut(NodeId) -> NodeId) -> Self {
        match self {
            Self::Family { family, args } => {
                Self::Family { family: *family, args: args.iter().map(|&a| f(a)).collect() }
            }
            Self::Mixture { weights, components } => Self::Mixture {
                weights: f(*weights),
                components: components.iter().map(|c| c.map_arguments(f)).collect(),
            },
            Self::Truncated { base, lower, upper } => Self::Truncated {
                base: Box::new(base.map_arguments(f)),
                lower: lower.map(&mut *f),
                upper: upper.map(&mut *f),
            },
            Self::Censored { base, lower, upper } => Self::Censored {
                base: Box::new(base.map_arguments(f)),
                lower: lower.map(&mut *f),
                upper: upper.map(&mut *f),
            },
            Self::ZeroInflated { base, probability } => Self::ZeroInflated {
                base: Box::new(base.map_arguments(f)),
                probability: f(*probability),
            },
            Self::Custom(custom) => Self::Custom(Custom {
                args: custom.args.iter().map(|&a| f(a)).collect(),
                ..custom.clone()
            }),
        }
    }

    /// A name for messages and printing.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Family { family, .. } => family.name(),
            Self::Mixture { .. } => "mixture",
            Self::Truncated { .. } => "truncated",
            Self::Censored { .. } => "censored",
            Self::ZeroInflated { .. } => "zero_inflated",
            Self::Custom(_) => "custom",
        }
    }

    /// Axes that one outcome uses up.
    pub fn event_rank(&self) -> usize {
        match self {
            Self::Family { family, .. } => family.event_rank(),
            Self::Mixture { components, .. } => components.first().map_or(0, Self::event_rank),
            _ => 0,
        }
    }

    /// Where outcomes lie, if a static support says it; limits that are arguments are not included
    /// for wrappers. A mixture has the widest of its components' supports.
    pub fn support(&self) -> Support {
        match self {
            Self::Family { family, .. } => family.support(),
            Self::Mixture { components, .. } => {
                let mut supports = components.iter().map(Self::support);
                let first = supports.next().unwrap_or(Support::Real);
                supports.fold(first, widest)
            }
            Self::Truncated { base, .. }
            | Self::Censored { base, .. }
            | Self::ZeroInflated { base, .. } => base.support(),
            Self::Custom(custom) => custom.support,
        }
    }

    /// Whether outcomes are integers.
    pub fn is_discrete(&self) -> bool {
        self.support().is_discrete()
    }

    /// The family's arguments, which limits of its support refer to.
    pub(crate) fn family_arguments(&self) -> &[NodeId] {
        match self {
            Self::Family { args, .. } => args,
            Self::Truncated { base, .. }
            | Self::Censored { base, .. }
            | Self::ZeroInflated { base, .. } => base.family_arguments(),
            Self::Mixture { components, .. } => {
                components.first().map_or(&[], Self::family_arguments)
            }
            Self::Custom(_) => &[],
        }
    }

    /// Location and scale arguments, for families that have them: `(location, scale)`.
    pub fn location_scale(&self) -> Option<(Option<NodeId>, NodeId)> {
        let Self::Family { family, args } = self else { return None };
        let LocationScale { location, scale } = family.location_scale()?;
        Some((location.map(|k| args[k]), args[scale]))
    }

    /// The same family with location 0 and scale 1.
    pub(crate) fn standardised(&self, g: &mut Graph) -> Option<Self> {
        let Self::Family { family, args } = self else { return None };
        let LocationScale { location, scale } = family.location_scale()?;
        let mut args = args.clone();
        if let Some(k) = location {
            args[k] = g.scalar(0.0);
        }
        args[scale] = g.scalar(1.0);
        Some(Self::Family { family: *family, args })
    }
}

/// The support that holds all values of both.
fn widest(a: Support, b: Support) -> Support {
    if b.implies(a) {
        a
    } else if a.implies(b) {
        b
    } else if a.is_discrete() && b.is_discrete() {
        Support::Count
    } else {
        Support::Real
    }
}
