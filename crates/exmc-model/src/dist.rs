//! A distribution with its arguments: families and the wrappers around them -> densities in a graph.
//!
//! Arguments are nodes of whichever graph the `Dist` belongs to; [`Dist::map_arguments`] moves it to
//! another. Wrappers take any distribution inside, wrappers included.

use std::sync::Arc;

use exmc_graph::{Binary, Graph, GraphError, NodeId, Shape, Tensor, Unary};

use crate::distribution::{Distribution, LocationScale};
use crate::support::Support;
use crate::transform::Transform;

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

    /// Where outcomes lie, if a static support says it; limits that are arguments are not included for
    /// wrappers. A mixture has the widest of its components' supports.
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

    /// Log density of `y`, one number an outcome. Right for values inside the support only.
    pub fn lpdf(&self, g: &mut Graph, y: NodeId) -> NodeId {
        match self {
            Self::Family { family, args } => family.lpdf(g, y, args),
            Self::Mixture { weights, components } => {
                let densities = components.iter().map(|c| {
                    let density = c.lpdf(g, y);
                    c.guard(g, y, density)
                });
                let densities = densities.collect();
                mix(g, *weights, densities)
            }
            Self::Truncated { base, lower, upper } => {
                let density = base.lpdf(g, y);
                let Some(mass) = base.log_mass_between(g, *lower, *upper) else { return density };
                let density = g.sub(density, mass);
                outside_is_impossible(g, y, *lower, *upper, density)
            }
            Self::Censored { base, lower, upper } => {
                let mut density = base.lpdf(g, y);
                density = base.guard(g, y, density);
                if let Some(limit) = *lower {
                    let below =
                        base.lcdf(g, limit).expect("censored bases have a distribution function");
                    let at_limit = g.le(y, limit);
                    density = g.select(at_limit, below, density);
                }
                if let Some(limit) = *upper {
                    let before = base.just_below(g, limit);
                    let above =
                        base.lccdf(g, before).expect("censored bases have a distribution function");
                    let at_limit = g.le(limit, y);
                    density = g.select(at_limit, above, density);
                }
                density
            }
            Self::ZeroInflated { base, probability } => {
                let density = base.lpdf(g, y);
                let (log_extra, minus) = (g.log(*probability), g.neg(*probability));
                let log_rest = g.log1p(minus);
                let rest = g.add(log_rest, density);
                let both = g.log_add_exp(log_extra, rest);
                let zero = g.scalar(0.0);
                let is_zero = g.eq(y, zero);
                g.select(is_zero, both, rest)
            }
            Self::Custom(custom) => custom
                .evaluate(g, &custom.logp, "value", y)
                .expect("our bug: shapes were checked when it was built"),
        }
    }

    /// $\log P(Y \le y)$, where there is a formula.
    pub fn lcdf(&self, g: &mut Graph, y: NodeId) -> Option<NodeId> {
        match self {
            Self::Family { family, args } => family.lcdf(g, y, args),
            Self::Mixture { weights, components } => {
                let terms = components.iter().map(|c| c.lcdf(g, y)).collect::<Option<Vec<_>>>()?;
                Some(mix(g, *weights, terms))
            }
            Self::ZeroInflated { base, probability } => {
                let base = base.lcdf(g, y)?;
                let (log_extra, minus) = (g.log(*probability), g.neg(*probability));
                let log_rest = g.log1p(minus);
                let rest = g.add(log_rest, base);
                let both = g.log_add_exp(log_extra, rest);
                let zero = g.scalar(0.0);
                let not_negative = g.le(zero, y);
                Some(g.select(not_negative, both, rest))
            }
            Self::Truncated { base, lower, upper } => {
                let before = lower.map(|a| base.just_below(g, a));
                let (part, all) =
                    (base.log_mass(g, before, Some(y))?, base.log_mass(g, before, *upper)?);
                let inside = g.sub(part, all);
                let ends = [f64::NEG_INFINITY, 0.0];
                Some(within_limits(g, y, [before, *upper], ends, inside))
            }
            Self::Censored { .. } | Self::Custom(_) => None,
        }
    }

    /// $\log P(Y > y)$, where there is a formula.
    pub fn lccdf(&self, g: &mut Graph, y: NodeId) -> Option<NodeId> {
        match self {
            Self::Family { family, args } => family.lccdf(g, y, args),
            Self::Mixture { weights, components } => {
                let terms = components.iter().map(|c| c.lccdf(g, y)).collect::<Option<Vec<_>>>()?;
                Some(mix(g, *weights, terms))
            }
            Self::ZeroInflated { base, probability } => {
                let above = base.lccdf(g, y)?;
                let minus = g.neg(*probability);
                let log_rest = g.log1p(minus);
                let above = g.add(log_rest, above);
                let (zero, certain) = (g.scalar(0.0), g.scalar(0.0));
                let negative = g.lt(y, zero);
                Some(g.select(negative, certain, above))
            }
            Self::Truncated { base, lower, upper } => {
                let before = lower.map(|a| base.just_below(g, a));
                let (part, all) =
                    (base.log_mass(g, Some(y), *upper)?, base.log_mass(g, before, *upper)?);
                let inside = g.sub(part, all);
                let ends = [0.0, f64::NEG_INFINITY];
                Some(within_limits(g, y, [before, *upper], ends, inside))
            }
            Self::Censored { .. } | Self::Custom(_) => None,
        }
    }

    /// Whether the distribution function has a formula.
    pub fn has_distribution_function(&self) -> bool {
        let mut scratch = Graph::new();
        let mut copies = std::collections::BTreeMap::new();
        // Only the structure matters: stand-in scalars will do for the arguments.
        let copy =
            self.map_arguments(&mut |id| *copies.entry(id).or_insert_with(|| scratch.scalar(0.5)));
        let y = scratch.scalar(0.5);
        self.event_rank() == 0
            && copy.lcdf(&mut scratch, y).is_some()
            && copy.lccdf(&mut scratch, y).is_some()
    }

    /// $\log P(a \le Y \le b)$; `None` when neither limit is given.
    ///
    /// **Numerics**: taken in whichever tail the interval lies, so that it stays accurate far out.
    pub fn log_mass_between(
        &self,
        g: &mut Graph,
        lower: Option<NodeId>,
        upper: Option<NodeId>,
    ) -> Option<NodeId> {
        if lower.is_none() && upper.is_none() {
            return None;
        }
        let before = lower.map(|a| self.just_below(g, a));
        let needs = "our bug: truncated bases were checked to have a distribution function";
        Some(self.log_mass(g, before, upper).expect(needs))
    }

    /// $\log P(a < Y \le b)$, where there is a formula.
    fn log_mass(&self, g: &mut Graph, a: Option<NodeId>, b: Option<NodeId>) -> Option<NodeId> {
        match (a, b) {
            (None, None) => Some(g.scalar(0.0)),
            (Some(a), None) => self.lccdf(g, a),
            (None, Some(b)) => self.lcdf(g, b),
            (Some(a), Some(b)) => {
                let (below_a, below_b) = (self.lcdf(g, a)?, self.lcdf(g, b)?);
                let (above_a, above_b) = (self.lccdf(g, a)?, self.lccdf(g, b)?);
                let half = g.scalar(-std::f64::consts::LN_2);
                let in_right_tail = g.lt(half, below_a);
                let larger = g.select(in_right_tail, above_a, below_b);
                let smaller = g.select(in_right_tail, above_b, below_a);
                Some(g.log_diff_exp(larger, smaller))
            }
        }
    }

    /// The point up to which everything lies below `limit`: itself, for counts the one before the
    /// next whole number.
    pub(crate) fn just_below(&self, g: &mut Graph, limit: NodeId) -> NodeId {
        if !self.is_discrete() {
            return limit;
        }
        let whole = g.unary(Unary::Ceil, limit);
        g.shift(whole, -1.0)
    }

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
                    // One count between equal limits is a certainty; a continuous outcome needs room.
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

    /// Whether single outcomes of a continuous distribution have a probability of their own.
    pub(crate) fn has_atoms(&self) -> bool {
        match self {
            Self::Censored { base, .. } => !base.is_discrete(),
            Self::Truncated { base, .. } | Self::ZeroInflated { base, .. } => base.has_atoms(),
            Self::Mixture { components, .. } => components.iter().any(Self::has_atoms),
            Self::Family { .. } | Self::Custom(_) => false,
        }
    }

    /// `y` where `counts` (one flag an outcome) is not 0, elsewhere some outcome inside the support, of a
    /// distribution of vectors or matrices: their densities mix the elements of all outcomes, so that
    /// one NaN would reach every derivative.
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

    /// `density` where `y` lies in the support, minus infinity elsewhere.
    pub(crate) fn guard(&self, g: &mut Graph, y: NodeId, density: NodeId) -> NodeId {
        if self.support() == Support::Real {
            return density;
        }
        let (inside, never) = (self.holds(g, y), g.scalar(f64::NEG_INFINITY));
        g.select(inside, density, never)
    }
}

impl Custom {
    /// One of its expressions with its parameters and `name` given.
    pub(crate) fn evaluate(
        &self,
        g: &mut Graph,
        body: &(Graph, NodeId),
        name: &str,
        value: NodeId,
    ) -> Result<NodeId, GraphError> {
        let found = g.import(&body.0, &[body.1], |_, _, input| {
            let own = self.names.iter().position(|n| n == input).map(|k| self.args[k]);
            Ok::<_, GraphError>(if input == name { Some(value) } else { own })
        })?;
        Ok(found[0])
    }
}

/// $\log\sum_k w_k e^{t_k}$ along a new last axis.
fn mix(g: &mut Graph, weights: NodeId, terms: Vec<NodeId>) -> NodeId {
    let terms =
        g.broadcast_together(&terms).expect("our bug: components were checked to broadcast");
    let last = g.shape(terms[0]).rank();
    let columns: Vec<_> = terms
        .into_iter()
        .map(|t| {
            let mut extents = g.shape(t).extents().to_vec();
            extents.push(1);
            g.reshape(t, extents)
        })
        .collect();
    let table = g.concat(&columns, last);
    let log_weights = g.log(weights);
    let joint = g.add(log_weights, table);
    let last = g.shape(joint).rank() - 1;
    g.log_sum_exp(joint, last)
}

fn outside_is_impossible(
    g: &mut Graph,
    y: NodeId,
    lower: Option<NodeId>,
    upper: Option<NodeId>,
    density: NodeId,
) -> NodeId {
    let never = g.scalar(f64::NEG_INFINITY);
    let mut density = density;
    if let Some(limit) = lower {
        let below = g.lt(y, limit);
        density = g.select(below, never, density);
    }
    if let Some(limit) = upper {
        let above = g.lt(limit, y);
        density = g.select(above, never, density);
    }
    density
}

/// The formula between the limits (the first excluded), the ends' values outside of them.
fn within_limits(
    g: &mut Graph,
    y: NodeId,
    [before, upper]: [Option<NodeId>; 2],
    ends: [f64; 2],
    inside: NodeId,
) -> NodeId {
    let [below, above] = ends.map(|value| g.scalar(value));
    let mut value = inside;
    if let Some(limit) = upper {
        let is_above = g.le(limit, y);
        value = g.select(is_above, above, value);
    }
    if let Some(limit) = before {
        let is_below = g.le(y, limit);
        value = g.select(is_below, below, value);
    }
    value
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

fn increasing(g: &mut Graph, a: NodeId, b: NodeId, message: String) -> Requirement {
    let ordered = g.lt(a, b);
    let axes: Vec<_> = (0..g.shape(ordered).rank()).collect();
    let predicate = g.reduce(exmc_graph::Reduction::Min, ordered, &axes);
    Requirement { subject: a, support: None, predicate, message }
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
