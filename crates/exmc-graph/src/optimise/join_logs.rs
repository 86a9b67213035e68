//! `-log(x)/2 - log(y)` of a log density -> `-1/2` times the logarithm of the product of x and y
//! squared.
//!
//! Every logarithm costs some thirty operations that wait for each other, a factor one. Logarithms
//! of single numbers and of short arrays that are summed are joined where their coefficients in the
//! log density are small multiples of one. The product may overflow where the logarithms would not,
//! so this is for executors that check its factors and take another program where one is extreme.

use exmc_fault::{Fault, planted};
use rustc_hash::FxHashSet;

use super::uses;
use crate::graph::{Dependence, Graph, NodeId};
use crate::op::{Binary, MAX_FACTORS, Op, Reduction, Unary};
use crate::simplify::rebuild;

/// The name of this optimisation.
pub(super) const NAME: &str = "join-logs";
/// Sums inside of each other that are looked through.
const MAX_DEPTH: usize = 200;

/// The expression with its logarithms joined; nothing where there are not two.
pub fn join_logs(graph: &Graph, root: NodeId) -> Option<(Graph, NodeId)> {
    let mut sum = Sum::of(graph, root);
    sum.look(graph, root, 1.0, 0);
    let mut left = std::mem::take(&mut sum.logs);
    let mut g = graph.clone();
    let mut joined = Vec::new();
    while let Some((unit, taken)) = largest_group(&mut left) {
        let mut args = Vec::with_capacity(taken.len());
        let mut powers = Vec::with_capacity(taken.len());
        for log in taken {
            args.push(if log.plus_one { g.shift(log.argument, 1.0) } else { log.argument });
            powers.push((log.coefficient / unit) as usize);
            sum.taken.insert(log.node);
        }
        let log = g.apply(Op::LogProduct(powers), &args).ok()?;
        let sign = if planted(Fault::JoinedLogSign) { -1.0 } else { 1.0 };
        joined.push(g.scale(log, sign * unit));
    }
    let mut total = match sum.rest(&mut g, root) {
        _ if joined.is_empty() => return None,
        Some(rest) => rest,
        None => joined.pop()?,
    };
    for term in joined {
        total = g.add(total, term);
    }
    let (graph, roots) =
        rebuild(&g, &[total], |new, id, args| new.must(g.node(id).op.clone(), args));
    Some((graph, roots[0]))
}

/// A logarithm in a sum.
#[derive(Clone, Copy, Debug)]
struct Log {
    node: NodeId,
    argument: NodeId,
    /// Whether it is that of one more than the argument.
    plus_one: bool,
    /// Elements, whose logarithms are all summed.
    len: usize,
    coefficient: f64,
}

/// Takes the logarithms of which one product has the most elements, and what their coefficients are
/// multiples of.
fn largest_group(left: &mut Vec<Log>) -> Option<(f64, Vec<Log>)> {
    let power = |log: &Log, unit: f64| {
        let power = log.coefficient / unit;
        (power >= 1.0 && power.fract() == 0.0).then_some(power)
    };
    let group = |unit: f64| {
        let mut factors = 0.0;
        let fits = |log: &&Log| {
            let log_factors =
                power(log, unit).map_or(f64::INFINITY, |power| power * log.len as f64);
            let fits = factors + log_factors <= MAX_FACTORS as f64;
            factors += if fits { log_factors } else { 0.0 };
            fits
        };
        let group: Vec<Log> = left.iter().filter(fits).copied().collect();
        (group.iter().map(|log| log.len).sum::<usize>(), unit, group)
    };
    let groups = left.iter().map(|log| group(log.coefficient));
    // The first of those with the most.
    let best = groups.reduce(|best, candidate| if candidate.0 > best.0 { candidate } else { best });
    let (_, unit, group) = best.filter(|(elements, ..)| *elements > 1)?;
    left.retain(|log| group.iter().all(|member| member.node != log.node));
    Some((unit, group))
}

/// The sum that a log density is.
struct Sum {
    uses: Vec<usize>,
    logs: Vec<Log>,
    /// Logarithms that are joined elsewhere.
    taken: FxHashSet<NodeId>,
}

impl Sum {
    fn of(g: &Graph, root: NodeId) -> Self {
        Self { uses: uses(g, root), logs: Vec::new(), taken: FxHashSet::default() }
    }

    /// The terms of a node that nobody else reads, each with its sign or factor; nothing where it
    /// is no sum.
    fn terms(&self, g: &Graph, id: NodeId, depth: usize) -> Option<Vec<(NodeId, f64)>> {
        let node = g.node(id);
        let is_open = self.uses[id.index()] <= 1 && node.dependence == Dependence::Parameter;
        if !is_open || depth > MAX_DEPTH {
            return None;
        }
        let arg = |k: usize| node.args[k];
        match &node.op {
            Op::Binary(Binary::Add) => Some(vec![(arg(0), 1.0), (arg(1), 1.0)]),
            Op::Binary(Binary::Sub) => Some(vec![(arg(0), 1.0), (arg(1), -1.0)]),
            Op::Unary(Unary::Neg) => Some(vec![(arg(0), -1.0)]),
            Op::Binary(Binary::Mul) => {
                (0..2).find_map(|k| Some(vec![(arg(1 - k), g.as_uniform(arg(k))?)]))
            }
            Op::Reduce(Reduction::Sum, axes) => {
                let summed = g.shape(arg(0));
                let is_full_sum = axes.len() == summed.rank() && summed.len() <= MAX_FACTORS;
                is_full_sum.then(|| vec![(arg(0), 1.0)])
            }
            _ => None,
        }
    }

    /// Finds the logarithms in `coefficient` times a node.
    fn look(&mut self, g: &Graph, id: NodeId, coefficient: f64, depth: usize) {
        if let Some(terms) = self.terms(g, id, depth) {
            for (term, factor) in terms {
                self.look(g, term, coefficient * factor, depth + 1);
            }
            return;
        }
        let node = g.node(id);
        let plus_one = match node.op {
            Op::Unary(Unary::Log) => false,
            Op::Unary(Unary::Log1p) => true,
            _ => return,
        };
        let varies = node.dependence == Dependence::Parameter;
        if varies && self.uses[id.index()] == 1 && coefficient.is_normal() {
            let (argument, len) = (node.args[0], node.shape.len());
            self.logs.push(Log { node: id, argument, plus_one, len, coefficient });
        }
    }

    /// A node without the logarithms that are taken; nothing where nothing is left of it.
    fn rest(&self, g: &mut Graph, id: NodeId) -> Option<NodeId> {
        self.rest_at(g, id, 0)
    }

    fn rest_at(&self, g: &mut Graph, id: NodeId, depth: usize) -> Option<NodeId> {
        if self.taken.contains(&id) {
            return None;
        }
        let Some(terms) = self.terms(g, id, depth) else { return Some(id) };
        let op = g.node(id).op.clone();
        let rests: Vec<Option<NodeId>> =
            terms.iter().map(|&(term, _)| self.rest_at(g, term, depth + 1)).collect();
        let args = g.node(id).args.clone();
        match (&op, &rests[..]) {
            (_, [None] | [None, None]) => None,
            (Op::Binary(Binary::Add), [Some(only), None] | [None, Some(only)]) => Some(*only),
            (Op::Binary(Binary::Sub), [Some(only), None]) => Some(*only),
            (Op::Binary(Binary::Sub), [None, Some(only)]) => Some(g.neg(*only)),
            (Op::Binary(Binary::Mul), [Some(rest)]) => {
                let with_rest = |arg: NodeId| if arg == terms[0].0 { *rest } else { arg };
                Some(g.must(op, &[with_rest(args[0]), with_rest(args[1])]))
            }
            (_, rests) => {
                let rests: Vec<NodeId> = rests.iter().flatten().copied().collect();
                Some(g.must(op, &rests))
            }
        }
    }
}
