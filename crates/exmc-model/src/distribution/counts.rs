//! What the families of counts share: log choose, a safe `count * log p`, both tails from one.

use exmc_graph::{Graph, NodeId, Ternary};

/// The largest count that stands for itself: all integers up to here are exact.
pub(super) const MAX_COUNT: f64 = 9_007_199_254_740_992.0;

/// $k \log p$, which is 0 where $k = 0$ also when $\log p = -\infty$: an outcome that did not
/// happen costs nothing, however improbable it is.
pub(super) fn times_log(g: &mut Graph, count: NodeId, log_p: NodeId) -> NodeId {
    let product = g.mul(count, log_p);
    let never_zero = g.as_constant(count).is_some_and(|c| c.values().iter().all(|v| *v != 0.0));
    if never_zero {
        return product;
    }
    let zero = g.scalar(0.0);
    g.select(count, product, zero)
}

/// $\log\binom{n}{k} = -\log(n+1) - \log B(k+1, n-k+1)$.
///
/// **Numerics**: through the beta function, because three log gammas of large counts cancel.
pub(super) fn log_choose(g: &mut Graph, n: NodeId, k: NodeId) -> NodeId {
    let left = g.sub(n, k);
    let left = g.shift(left, 1.0);
    let k = g.shift(k, 1.0);
    let log_beta = g.lbeta(k, left);
    let log_n = g.log1p(n);
    let sum = g.add(log_n, log_beta);
    g.neg(sum)
}

/// $\log p$ for a distribution function $p = 1 - q$ of which `direct` is the log by its own formula
/// and `other` is $\log q$: where $q < 0.9$ it is $\log(1 - e^{\log q})$, which keeps the digits of
/// a tiny q, elsewhere `direct`, which keeps those of a tiny p.
pub(super) fn better_tail(g: &mut Graph, direct: NodeId, other: NodeId) -> NodeId {
    /// $\log 0.9$
    const SWITCH: f64 = -0.105_360_515_657_826_3;
    let limit = g.scalar(SWITCH);
    let small = g.lt(other, limit);
    // The limit keeps the branch that is not taken (and its derivative) finite.
    let bounded = g.min(other, limit);
    let complement = g.log1m_exp(bounded);
    g.select(small, complement, direct)
}

/// `value` where `first <= y < last`, `below` where y is smaller and `above` where it is not
/// smaller.
pub(super) fn between(
    g: &mut Graph,
    y: NodeId,
    [first, last]: [NodeId; 2],
    [below, value, above]: [NodeId; 3],
) -> NodeId {
    let is_below = g.lt(y, first);
    let is_above = g.le(last, y);
    let upper = g.select(is_above, above, value);
    g.select(is_below, below, upper)
}

/// Log distribution function (`upper` false) or log survival function of a count that takes the
/// values 0 and 1 only, from the logs of their probabilities.
pub(super) fn binary_tail(
    g: &mut Graph,
    y: NodeId,
    [log_zero, log_one]: [NodeId; 2],
    upper: bool,
) -> NodeId {
    let ends = [g.scalar(0.0), g.scalar(1.0)];
    let (certain, impossible) = (g.scalar(0.0), g.scalar(f64::NEG_INFINITY));
    let values =
        if upper { [certain, log_one, impossible] } else { [impossible, log_zero, certain] };
    between(g, y, ends, values)
}

/// Log distribution function (`upper` false) or log survival function of a binomial count, from the
/// probability of success and of failure.
pub(super) fn binomial_tail(
    g: &mut Graph,
    [y, n]: [NodeId; 2],
    [success, failure]: [NodeId; 2],
    upper: bool,
) -> NodeId {
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    // Inside the table, 0 <= k <= n - 1, both arguments of the beta function are at least one.
    let floor = g.floor(y);
    let last = g.sub(n, one);
    let k = g.min(floor, last);
    let k = g.max(k, zero);
    let a = g.shift(k, 1.0);
    let b = g.sub(n, k);
    let b = g.max(b, one);
    let above = g.ternary(Ternary::LogBetaInc, a, b, success);
    let below = g.ternary(Ternary::LogBetaInc, b, a, failure);
    let (certain, impossible) = (zero, g.scalar(f64::NEG_INFINITY));
    let values = if upper {
        [certain, better_tail(g, above, below), impossible]
    } else {
        [impossible, better_tail(g, below, above), certain]
    };
    between(g, y, [zero, n], values)
}

/// Log distribution function (`upper` false) or log survival function of a Poisson count.
pub(super) fn poisson_tail(g: &mut Graph, y: NodeId, rate: NodeId, upper: bool) -> NodeId {
    let (zero, infinity) = (g.scalar(0.0), g.scalar(f64::INFINITY));
    let largest = g.scalar(MAX_COUNT);
    let floor = g.floor(y);
    let k = g.min(floor, largest);
    let k = g.max(k, zero);
    let a = g.shift(k, 1.0);
    let (certain, impossible) = (zero, g.scalar(f64::NEG_INFINITY));
    let values = if upper {
        [certain, g.log_gamma_p(a, rate), impossible]
    } else {
        [impossible, g.log_gamma_q(a, rate), certain]
    };
    between(g, y, [zero, infinity], values)
}
