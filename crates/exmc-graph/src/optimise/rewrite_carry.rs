//! A loop that carries `sqrt(e)` and reads only its square -> one that carries `e`.
//!
//! Scales are written as square roots of variances, and the next variance is made of the last one:
//! GARCH is the case. What carries the variance is linear in it, has no root to wait for in every
//! step, and takes the roots of all steps at once afterwards. The same with logarithms of what is
//! carried as an exponential. A variance that is negative would make every scale after it NaN,
//! which is lost when the variance itself is carried; so it must plainly not be.

use std::sync::Arc;

use crate::graph::{Graph, NodeId};
use crate::op::{Op, ScanBody, SharedBody, Unary};
use crate::signs::is_not_negative;

/// The function that a state's next value is, and the one that every reader of the state takes
/// first.
const PAIRS: [(Unary, Unary); 2] = [(Unary::Sqrt, Unary::Square), (Unary::Exp, Unary::Log)];

/// An output of a loop whose state can be changed.
pub(super) fn change_states(g: &mut Graph, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (&Op::Project(output), &[scan]) = (op, args) else { return None };
    let node = g.node(scan).clone();
    let Op::Scan { length, reverse, body } = &node.op else { return None };
    let (state, (outer, inner)) = (0..body.0.counts[0]).find_map(|state| {
        let pair = pair_of(&body.0, state)?;
        let allowed = pair.0 != Unary::Sqrt || stays_positive(g, &body.0, &node.args, state);
        allowed.then_some((state, pair))
    })?;
    let (new_body, changed) = changed_body(&body.0, state, inner)?;
    let mut scan_args = node.args.clone();
    scan_args[state] = g.unary(inner, scan_args[state]);
    let body = SharedBody(Arc::new(new_body));
    let new_op = Op::Scan { length: *length, reverse: *reverse, body };
    let scan = g.apply(new_op, &scan_args).ok()?;
    let value = g.apply(Op::Project(output), &[scan]).ok()?;
    // Another state may be changed, too.
    let value = change_states(g, &Op::Project(output), &[scan]).unwrap_or(value);
    Some(if changed.contains(&output) { g.unary(outer, value) } else { value })
}

/// The pair of functions by which a state can be changed.
fn pair_of(body: &ScanBody, state: usize) -> Option<(Unary, Unary)> {
    let graph = &body.graph;
    let input = graph.find_input(&format!("carry{state}"))?;
    let next = body.next[state];
    let Op::Unary(outer) = graph.node(next).op else { return None };
    let &(_, inner) = PAIRS.iter().find(|(f, _)| *f == outer)?;
    let roots: Vec<NodeId> = body.next.iter().chain(&body.stacked).copied().collect();
    let needed = graph.reachable(&roots);
    let mut readers =
        graph.ids().filter(|id| needed[id.index()] && graph.node(*id).args.contains(&input));
    let only = readers.all(|id| graph.node(id).op == Op::Unary(inner));
    (only && !roots.contains(&input)).then_some((outer, inner))
}

/// Whether what is under the root is never below zero: an induction over steps.
fn stays_positive(g: &Graph, body: &ScanBody, args: &[NodeId], state: usize) -> bool {
    let [carries, sequences, _] = body.counts;
    let input = |name: &str| {
        let number = |kind: &str| name.strip_prefix(kind)?.parse::<usize>().ok();
        // The square of the state is never below zero, and nothing else is read of it.
        let other = number("x").map(|k| carries + k);
        let other = other.or_else(|| number("fixed").map(|k| carries + sequences + k));
        other.is_some_and(|k| is_not_negative(g, args[k], &|_| false))
    };
    is_not_negative(&body.graph, body.graph.node(body.next[state]).args[0], &input)
}

/// The body that carries what is under the outer function, and the scan's outputs that are that
/// now.
fn changed_body(body: &ScanBody, state: usize, inner: Unary) -> Option<(ScanBody, Vec<usize>)> {
    let old = &body.graph;
    let (input, next) = (old.find_input(&format!("carry{state}"))?, body.next[state]);
    let carries = body.next.len();
    let under = |id: NodeId| if id == next { old.node(next).args[0] } else { id };
    let mut roots = body.next.clone();
    roots[state] = under(next);
    roots.extend(body.stacked.iter().map(|&id| under(id)));
    let changed = body.stacked.iter().enumerate().filter(|(_, id)| **id == next);
    let changed = std::iter::once(state).chain(changed.map(|(k, _)| carries + k)).collect();
    let needed = old.reachable(&roots);
    let mut graph = Graph::new();
    let mut copies: Vec<Option<NodeId>> = vec![None; old.len()];
    for id in old.ids().filter(|id| needed[id.index()]) {
        let node = old.node(id);
        let args: Vec<NodeId> =
            node.args.iter().map(|a| copies[a.index()]).collect::<Option<_>>()?;
        copies[id.index()] = Some(match &node.op {
            Op::Unary(f) if *f == inner && node.args[0] == input => args[0],
            Op::Input { name, role } => {
                graph.input(name, *role, node.shape.clone(), node.dtype).ok()?
            }
            op => graph.apply(op.clone(), &args).ok()?,
        });
    }
    let roots: Vec<NodeId> = roots.iter().map(|id| copies[id.index()]).collect::<Option<_>>()?;
    let (next, stacked) = roots.split_at(carries);
    let (next, stacked) = (next.to_vec(), stacked.to_vec());
    Some((ScanBody { graph, next, stacked, counts: body.counts }, changed))
}
