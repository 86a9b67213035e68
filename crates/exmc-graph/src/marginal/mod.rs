//! Integrating: a log density and one of its inputs -> the log density of all others, and the
//! input's distribution given them, where that is normal with independent elements.
//!
//! The log density must be a polynomial of the second degree in each element of the input, with
//! coefficients that are expressions of everything else ([`form`]): $\log p(z, \phi) = c + \sum_j
//! b_j z_j - \tfrac12 a_j z_j^2$. Then $z_j$ given $\phi$ is normal with mean $\hat z_j = b_j/a_j$
//! and variance $1/a_j$, and $\log p(\phi) = \log p(\hat z, \phi) + \sum_j \tfrac12
//! \log(2\pi/a_j)$.
//!
//! The first term is the log density as it was written, at the best value of z: no difference of
//! large squares, so it has the digits of the original; an error of $\hat z$ counts squared. Where
//! the density speaks of $z - m$ (a hierarchy's location), the polynomial is in that difference.
//!
//! The slope by z is zero at $\hat z$, so derivatives need not follow $\hat z$ (the envelope
//! theorem). They do: as a number that slope is rounding, $\epsilon y/s^2$ for outcomes y of scale
//! s, and the slope by a location has it as a part. Followed through $\hat z(\phi)$ it comes back
//! with the opposite sign, but for the share $s^2/(s^2+\tau^2)$ that the effects' scale leaves, so
//! that slopes keep their digits however small s is.
//!
//! **Reference**: Gelman et al. 2013, Bayesian Data Analysis, §5.4.

mod blocks;
mod form;

use exmc_fault::{Fault, planted};

use crate::graph::{Dependence, Graph, Node, NodeId};
use crate::op::{Binary, Op, Reduction, Unary};
use crate::signs::is_positive;
use crate::simplify::fold_constants;

/// $\tfrac12 \log 2\pi$.
const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;

pub use blocks::{Block, is_read_by_elements, join_scalars};

/// What is left when an input is integrated out.
#[derive(Clone, Debug)]
pub struct Marginal {
    /// Expressions of the other inputs.
    pub graph: Graph,
    /// Their log density.
    pub logp: NodeId,
    /// The input's mean given them, element by element.
    pub mean: NodeId,
    /// The input's standard deviation given them.
    pub deviation: NodeId,
}

/// Integrates an input out of a log density; nothing where its elements given all other inputs are
/// not plainly independent and normal, or might have no proper distribution.
pub fn integrate_normal(graph: &Graph, logp: NodeId, input: NodeId) -> Option<Marginal> {
    if !form::may_be_read(graph, logp, input) {
        return None;
    }
    let mut g = graph.clone();
    let location = location(&g, logp, input);
    let [linear, square] = form::coefficients(&mut g, logp, input, location)?;
    let precision = square.map(|square| scaled(&mut g, square, -2.0, NESTED))?;
    // Priors that a factorisation has put together have a precision that is known as a number only.
    let is_known_positive = || {
        let (folded, roots) = fold_constants(&g, &[precision]);
        is_positive(&folded, roots[0])
    };
    if !is_positive(&g, precision) && !is_known_positive() {
        return None;
    }
    let shape = g.shape(input).clone();
    let mut new = Graph::new();
    let [precision, linear, location_copy] =
        copies(&mut new, &g, [Some(precision), linear, location]);
    let precision = precision?;
    let variance = new.reciprocal(precision);
    let is_lost = linear.is_none() && planted(Fault::LostLocation);
    let shift = match linear {
        Some(linear) => new.mul(linear, variance),
        None => new.filled(&shape, 0.0),
    };
    let around = |new: &mut Graph, shift| location_copy.map_or(shift, |m| new.add(m, shift));
    let mut value = around(&mut new, shift);
    if planted(Fault::LostSlope) {
        value = new.must(Op::Hold, &[value]);
    }
    let mut replaced = vec![(input, value)];
    if let Some(location) = location {
        for id in graph.ids() {
            let Op::Binary(Binary::Sub) = graph.node(id).op else { continue };
            let args = &graph.node(id).args[..];
            if args == [input, location] {
                replaced.push((id, shift));
            } else if args == [location, input] {
                let opposite = new.neg(shift);
                replaced.push((id, opposite));
            }
        }
    }
    let best = copy(&mut new, graph, logp, &replaced);
    // Half of log(2 pi / a) for each element.
    let logs = new.log(precision);
    let logs = new.sum(logs);
    let logs = new.scale(logs, if planted(Fault::MarginalDeterminant) { 0.0 } else { -0.5 });
    let logp = new.add(best, logs);
    let logp = new.shift(logp, HALF_LOG_TAU * shape.len() as f64);
    let mean = if is_lost { shift } else { around(&mut new, shift) };
    let deviation = new.sqrt(variance);
    Some(Marginal { graph: new, logp, mean, deviation })
}

/// Sums and products inside each other in which a factor is looked for.
const NESTED: usize = 8;

/// An expression times a number, which known factors of its terms take in.
fn scaled(g: &mut Graph, x: NodeId, by: f64, depth: usize) -> NodeId {
    if let Some(value) = g.as_uniform(x) {
        let shape = g.shape(x).clone();
        return g.filled(&shape, value * by);
    }
    let Node { op, args, .. } = g.node(x).clone();
    let inner = |g: &mut Graph, k: usize| scaled(g, args[k], by, depth - 1);
    match op {
        _ if depth == 0 => g.scale(x, by),
        Op::Unary(Unary::Neg) => scaled(g, args[0], -by, depth - 1),
        Op::Binary(Binary::Add) => {
            let (a, b) = (inner(g, 0), inner(g, 1));
            g.add(a, b)
        }
        Op::Binary(Binary::Mul) => {
            let known = (0..2).find(|&k| g.as_uniform(args[k]).is_some());
            let Some(known) = known else { return g.scale(x, by) };
            let factor = inner(g, known);
            g.mul(factor, args[1 - known])
        }
        Op::Broadcast(_) | Op::Reshape(_) | Op::ScatterAdd { .. } | Op::Gather => {
            let first = inner(g, 0);
            let args: Vec<NodeId> = [&[first], &args[1..]].concat();
            g.must(op, &args)
        }
        Op::Reduce(Reduction::Sum, _) => {
            let first = inner(g, 0);
            g.must(op, &[first])
        }
        _ => g.scale(x, by),
    }
}

/// An expression of other parameters that the input's difference to is taken.
fn location(g: &Graph, logp: NodeId, input: NodeId) -> Option<NodeId> {
    let live = g.reachable(&[logp]);
    let other = |id: NodeId| {
        let node = g.node(id);
        let (Op::Binary(Binary::Sub), true) = (&node.op, live[id.index()]) else { return None };
        let other = match node.args[..] {
            [a, b] if a == input => b,
            [a, b] if b == input => a,
            _ => return None,
        };
        let varies = g.dependence(other) == Dependence::Parameter;
        (varies && !g.reachable(&[other])[input.index()]).then_some(other)
    };
    g.ids().find_map(other)
}

/// Expressions in another graph, each in its own place: one that is left out takes no other's.
fn copies<const N: usize>(
    new: &mut Graph,
    old: &Graph,
    roots: [Option<NodeId>; N],
) -> [Option<NodeId>; N] {
    let present: Vec<NodeId> = roots.into_iter().flatten().collect();
    let same = |_: &mut Graph, _, _: &str| Ok::<_, crate::GraphError>(None);
    let copied = new.import(old, &present, same).expect("copies fit as originals do");
    let copy_of = |root: NodeId| {
        present.iter().position(|&candidate| candidate == root).map(|place| copied[place])
    };
    roots.map(|root| root.and_then(copy_of))
}

/// Copies an expression into another graph, with nodes of that in the place of some of its own.
fn copy(new: &mut Graph, old: &Graph, root: NodeId, replaced: &[(NodeId, NodeId)]) -> NodeId {
    let live = old.reachable(&[root]);
    let mut copies: Vec<Option<NodeId>> = vec![None; old.len()];
    for id in old.ids().filter(|id| live[id.index()]) {
        let node = old.node(id);
        let found = replaced.iter().find(|(from, _)| *from == id);
        copies[id.index()] = Some(match (&node.op, found) {
            (_, Some(&(_, to))) => to,
            (Op::Input { name, role }, None) => new
                .input(name, *role, node.shape.clone(), node.dtype)
                .expect("an input of one graph fits another that was made from it"),
            (op, None) => {
                let copy_of = |arg: &NodeId| copies[arg.index()].expect("arguments precede users");
                let args: Vec<NodeId> = node.args.iter().map(copy_of).collect();
                new.must(op.clone(), &args)
            }
        });
    }
    copies[root.index()].expect("a root is reachable from itself")
}
