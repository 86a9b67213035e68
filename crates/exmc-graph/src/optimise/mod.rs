//! Optimising: the log density's graph -> one with the same value to rounding that costs less.
//!
//! Passes run before differentiation, so that the gradient costs less with the value. What they
//! compute from data alone becomes part of the prelude, which runs when data are bound. A value may
//! differ in the last digits, and where numbers overflow on the way. The passes are named, run in
//! the order of [`OPTIMISATIONS`], and can each be left out.

mod affine;
mod affine_rows;
mod cancel_inverses;
mod collapse_gaussian;
mod collapse_linear;
mod collect_terms;
mod cost;
mod count_gathers;
mod drop_clamps;
mod duplicate_rows;
mod group_alike;
mod hoist_gathers;
mod hoist_pair_work;
mod hoist_selects;
mod is_finite;
mod join_logs;
mod merge_rows;
mod rewrite_carry;
mod sums;
mod terms;

pub use cost::cost;
pub use drop_clamps::{Limits, drop_clamps};
pub use join_logs::join_logs;

use crate::graph::{Dependence, Graph, Node, NodeId};
use crate::op::Op;
use crate::simplify::{fold_constants, rebuild};

/// How an optimisation works.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Given the graph that is being built and a node's copied arguments: the node that takes its
    /// place, or nothing.
    Node(fn(&mut Graph, &Op, &[NodeId]) -> Option<NodeId>),
    /// The same, undone where the whole costs no less: what a place no longer needs others may.
    Paying(fn(&mut Graph, &Op, &[NodeId]) -> Option<NodeId>),
    /// Given the whole expression: another one, or nothing.
    Whole(fn(&mut Graph, NodeId) -> Option<NodeId>),
    /// The same, undone where it costs no less.
    PayingWhole(fn(&mut Graph, NodeId) -> Option<NodeId>),
    /// What [`drop_clamps`] and [`join_logs`] do for executors that have a second program for
    /// positions elsewhere; not part of [`optimise`].
    Inside,
}

/// A named optimisation.
#[derive(Clone, Copy, Debug)]
pub struct Optimisation {
    /// Its name, for `--without-pass` and dumps.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub what: &'static str,
    work: Work,
}

/// Every optimisation, in order.
pub const OPTIMISATIONS: &[Optimisation] = &[
    Optimisation {
        name: "group-alike",
        what: "sums of alike terms of scalars become sums over vectors",
        work: Work::PayingWhole(group_alike::group),
    },
    Optimisation {
        name: "hoist-gathers",
        what: "computes functions of gathered elements once for each element of the table",
        work: Work::Node(hoist_gathers::rule),
    },
    Optimisation {
        name: "hoist-selects",
        what: "asks once for all rows what is the same in each",
        work: Work::Node(hoist_selects::rule),
    },
    Optimisation {
        name: "cancel-inverses",
        what: "log of exp is its argument, from step to step of a loop, too; logs of probabilities become softplus, those of a softmax's differences",
        work: Work::Node(cancel_inverses::rule),
    },
    Optimisation {
        name: "count-gathers",
        what: "sums over rows that are the same or gathered become products with counts",
        work: Work::Node(count_gathers::rule),
    },
    Optimisation {
        name: "collapse-gaussian",
        what: "sums of squares of what is affine in parameters become those of a triangular factor",
        work: Work::Node(collapse_gaussian::rule),
    },
    Optimisation {
        name: "collapse-linear",
        what: "sums of data times what is affine in parameters become products with sums of data",
        work: Work::Node(collapse_linear::rule),
    },
    Optimisation {
        name: "merge-rows",
        what: "sums over rows of known numbers that repeat become products of the distinct rows with counts",
        work: Work::Paying(merge_rows::rule),
    },
    Optimisation {
        name: "collect-terms",
        what: "adds up what is known, equal terms and short sums of the whole log density",
        work: Work::Whole(collect_terms::collect),
    },
    Optimisation {
        name: drop_clamps::NAME,
        what: "a second program without the clamps of transforms, for positions inside of them",
        work: Work::Inside,
    },
    Optimisation {
        name: join_logs::NAME,
        what: "a second program with one logarithm of a product for several, where no factor is extreme",
        work: Work::Inside,
    },
];

/// Where a pass changed the graph, and what that saves.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The pass.
    pub pass: &'static str,
    /// Names of the data that the places depend on, in order; none for parameters alone.
    pub data: Vec<String>,
    /// Number of places.
    pub places: usize,
    /// The estimated [`cost`] of the whole density before the pass.
    pub before: f64,
    /// The estimated cost after it.
    pub after: f64,
}

/// Optimises the expression `root`, leaving out the passes named in `without`: the new graph, the
/// expression in it, and what was done.
pub fn optimise(graph: &Graph, root: NodeId, without: &[String]) -> (Graph, NodeId, Vec<Applied>) {
    let (mut graph, mut root) = single(fold_constants(graph, &[root]));
    let mut applied = Vec::new();
    let mut before = cost(&graph, &[root]);
    // Most rules find no place, which is seen without building a graph anew for each.
    let mut scratch: Option<Graph> = None;
    for pass in OPTIMISATIONS.iter().filter(|pass| !without.iter().any(|name| name == pass.name)) {
        let mut places = Vec::new();
        let next = match pass.work {
            Work::Node(rule) | Work::Paying(rule) => {
                let is_parameter = |id: &NodeId| graph.dependence(*id) == Dependence::Parameter;
                let scratch = scratch.get_or_insert_with(|| graph.clone());
                let finds = |id: NodeId| {
                    let Node { op, args, .. } = graph.node(id);
                    rule(scratch, op, args).is_some()
                };
                if !graph.ids().filter(is_parameter).any(finds) {
                    continue;
                }
                rebuild(&graph, &[root], |new, id, args| {
                    let op = &graph.node(id).op;
                    if let Some(found) = is_parameter(&id).then(|| rule(new, op, args)).flatten() {
                        places.push(id);
                        return found;
                    }
                    new.must(op.clone(), args)
                })
            }
            Work::Whole(rewrite) | Work::PayingWhole(rewrite) => {
                let mut copy = graph.clone();
                let Some(found) = rewrite(&mut copy, root) else { continue };
                places.push(root);
                rebuild(&copy, &[found], |new, id, args| new.must(copy.node(id).op.clone(), args))
            }
            Work::Inside => continue,
        };
        if places.is_empty() {
            continue;
        }
        let (next, next_root) = single(next);
        let after = cost(&next, &[next_root]);
        let must_pay = matches!(pass.work, Work::Paying(_) | Work::PayingWhole(_));
        if must_pay && after >= before {
            continue;
        }
        let data = match pass.work {
            Work::Node(_) | Work::Paying(_) => data_names(&graph, &places),
            _ => Vec::new(),
        };
        let places = places.len();
        (graph, root) = (next, next_root);
        scratch = None;
        applied.push(Applied { pass: pass.name, data, places, before, after });
        before = after;
    }
    (graph, root, applied)
}

/// How often each node is read on the way to `root`.
fn uses(g: &Graph, root: NodeId) -> Vec<usize> {
    let live = g.reachable(&[root]);
    let mut uses = vec![0; g.len()];
    for id in g.ids().filter(|id| live[id.index()]) {
        g.node(id).args.iter().for_each(|arg| uses[arg.index()] += 1);
    }
    uses
}

fn single((graph, roots): (Graph, Vec<NodeId>)) -> (Graph, NodeId) {
    (graph, roots[0])
}

/// Names of the data inputs that nodes depend on, in order.
fn data_names(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    let live = graph.reachable(nodes);
    let known =
        graph.ids().filter(|id| live[id.index()] && graph.dependence(*id) < Dependence::Parameter);
    let names = known.filter_map(|id| match &graph.node(id).op {
        Op::Input { name, .. } => Some(name.to_string()),
        _ => None,
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}
