//! Distributions that only Stan has (or has under other parameters): formulas as graph operations.
//!
//! Their draws are the host's; what exmc-model has is not repeated here but used. A formula is
//! written for outcomes inside the support, the callers check or guard the rest.

use exmc_graph::{Graph, NodeId};
use exmc_model::Support;
use exmc_model::distribution::{Distribution, Parameter, find_family};

mod continuous;
mod counts;
mod quadrature;
pub(super) mod von_mises;
mod wiener;

pub(super) use wiener::{form as wiener_form, tail_form as wiener_tail_form};

/// Which function of a distribution a formula is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// $\log P(Y \le y)$
    Lower,
    /// $\log P(Y > y)$
    Upper,
}

/// A log density of an outcome and parameters that broadcast.
type Density = fn(&mut Graph, NodeId, &[NodeId]) -> NodeId;
/// A log distribution function of them.
type Distributed = fn(&mut Graph, NodeId, &[NodeId], Tail) -> NodeId;

/// A distribution by its formulas.
#[derive(Debug)]
pub(super) struct Formula {
    /// Stan's name.
    pub(super) name: &'static str,
    /// Parameters, in Stan's order.
    pub(super) parameters: &'static [Parameter],
    /// Where outcomes lie.
    pub(super) support: Support,
    /// Axes that one outcome uses up.
    pub(super) event_rank: usize,
    /// Log density.
    pub(super) lpdf: Density,
    /// Log distribution functions, where they have a formula here.
    pub(super) tails: Option<Distributed>,
}

/// The formulas of a name.
pub(super) fn find(name: &str) -> Option<&'static Formula> {
    let all = continuous::FORMULAS.iter().chain(counts::FORMULAS).chain(wiener::FORMULAS);
    all.into_iter().find(|f| f.name == name)
}

/// Whether the log distribution function of a formula can be written for these arguments: those
/// that are sums need to know over how many outcomes.
pub(super) fn has_tails(g: &Graph, formula: &Formula, y: NodeId, args: &[NodeId]) -> bool {
    let last = match formula.name {
        "beta_binomial" => args[0],
        "beta_neg_binomial" => y,
        _ => return formula.tails.is_some(),
    };
    counts::terms(g, last).is_some()
}

/// A family of exmc-model's.
fn family(name: &str) -> &'static dyn Distribution {
    find_family(name).expect("exmc-model has the family")
}

/// The log distribution function of a family of exmc-model's that has one.
fn tail_of(g: &mut Graph, name: &str, y: NodeId, args: &[NodeId], tail: Tail) -> NodeId {
    let family = family(name);
    let found = match tail {
        Tail::Lower => family.lcdf(g, y, args),
        Tail::Upper => family.lccdf(g, y, args),
    };
    found.expect("the family has distribution functions")
}

/// Outside of a lower limit nothing lies below and everything above: `inside` for `y > limit`.
fn above(
    g: &mut Graph,
    y: NodeId,
    limit: NodeId,
    tail: Tail,
    inside: impl FnOnce(&mut Graph, NodeId) -> NodeId,
) -> NodeId {
    let outside = g.le(y, limit);
    // The formula sees a point inside, so that no derivative of it is 0 times infinity.
    let next = g.shift(limit, 1.0);
    let safe = g.select(outside, next, y);
    let value = inside(g, safe);
    let end = g.scalar(if tail == Tail::Lower { f64::NEG_INFINITY } else { 0.0 });
    g.select(outside, end, value)
}
