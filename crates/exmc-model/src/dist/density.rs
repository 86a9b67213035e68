//! Log densities and distribution functions of families and wrappers, as graph nodes.

use exmc_graph::{Graph, GraphError, NodeId, Unary};

use super::{Custom, Dist};
use crate::support::Support;

impl Dist {
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
        let ceiling = g.unary(Unary::Ceil, limit);
        g.shift(ceiling, -1.0)
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
            let argument = self.names.iter().position(|n| n == input).map(|k| self.args[k]);
            Ok::<_, GraphError>(if input == name { Some(value) } else { argument })
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
