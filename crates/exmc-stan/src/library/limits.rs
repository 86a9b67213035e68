//! Limits that may be infinite: a number and the limits of `lower_bound_constrain` and its like ->
//! Stan's formula for those that are finite.
//!
//! Parameters have the transforms of exmc-model, which hold exponents where a sampler can still
//! turn back. A function is what Stan says: it overflows where Stan's does, and takes a limit that
//! turns out to be infinite as none, whatever it depends on. **Reference**: Stan reference manual,
//! "Constraint transforms"; Stan Math, `lb_constrain`, `ub_constrain`, `lub_constrain`.

use exmc_graph::{Graph, NodeId};

use super::align::known;

/// A limit, zero in place of infinity, and where it is infinite, if it may be.
#[derive(Clone, Copy, Debug)]
struct Limit {
    value: NodeId,
    infinite: Option<NodeId>,
}

impl Limit {
    fn new(g: &mut Graph, value: NodeId, infinity: f64) -> Self {
        if known(g, value).is_some_and(|all| all.iter().all(|v| *v != infinity)) {
            return Self { value, infinite: None };
        }
        let (infinity, zero) = (g.scalar(infinity), g.scalar(0.0));
        let infinite = g.eq(value, infinity);
        Self { value: g.select(infinite, zero, value), infinite: Some(infinite) }
    }
}

/// The limits of one number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    lower: Option<Limit>,
    upper: Option<Limit>,
}

impl Limits {
    pub(super) fn new(g: &mut Graph, lower: Option<NodeId>, upper: Option<NodeId>) -> Self {
        let lower = lower.map(|a| Limit::new(g, a, f64::NEG_INFINITY));
        let upper = upper.map(|b| Limit::new(g, b, f64::INFINITY));
        Self { lower, upper }
    }

    /// The number between the limits.
    pub(super) fn constrain(self, g: &mut Graph, x: NodeId) -> NodeId {
        self.by_case(g, |g, lower, upper| match (lower, upper) {
            (None, None) => x,
            (Some(a), None) => {
                let above = g.exp(x);
                g.add(a, above)
            }
            (None, Some(b)) => {
                let below = g.exp(x);
                g.sub(b, below)
            }
            (Some(a), Some(b)) => {
                let (width, share) = (g.sub(b, a), g.inv_logit(x));
                let above = g.mul(width, share);
                g.add(a, above)
            }
        })
    }

    /// The inverse of [`Self::constrain`].
    pub(super) fn unconstrain(self, g: &mut Graph, y: NodeId) -> NodeId {
        self.by_case(g, |g, lower, upper| {
            let above = lower.map(|a| {
                let above = g.sub(y, a);
                g.log(above)
            });
            let below = upper.map(|b| {
                let below = g.sub(b, y);
                g.log(below)
            });
            match (above, below) {
                (Some(above), Some(below)) => g.sub(above, below),
                (above, below) => above.or(below).unwrap_or(y),
            }
        })
    }

    /// The logarithm of the slope of [`Self::constrain`].
    pub(super) fn log_slope(self, g: &mut Graph, x: NodeId) -> NodeId {
        self.by_case(g, |g, lower, upper| match (lower, upper) {
            (None, None) => g.scalar(0.0),
            (Some(a), Some(b)) => {
                let (width, softplus) = (g.sub(b, a), g.softplus(x));
                let (log_width, twice) = (g.log(width), g.scale(softplus, 2.0));
                let log_slope = g.sub(x, twice);
                g.add(log_width, log_slope)
            }
            _ => x,
        })
    }

    /// A formula with only those limits that are finite, chosen by element where that is not known.
    fn by_case(
        self,
        g: &mut Graph,
        formula: impl Fn(&mut Graph, Option<NodeId>, Option<NodeId>) -> NodeId,
    ) -> NodeId {
        let by_upper = |g: &mut Graph, lower: Option<NodeId>| {
            let with = formula(g, lower, self.upper.map(|limit| limit.value));
            let Some(infinite) = self.upper.and_then(|limit| limit.infinite) else { return with };
            let without = formula(g, lower, None);
            g.select(infinite, without, with)
        };
        let with = by_upper(g, self.lower.map(|limit| limit.value));
        let Some(infinite) = self.lower.and_then(|limit| limit.infinite) else { return with };
        let without = by_upper(g, None);
        g.select(infinite, without, with)
    }
}
