//! Mixtures, simplexes and running sums: vectors -> vectors, or log densities of what is hidden.

use std::sync::Arc;

use exmc_graph::{DType, Graph, NodeId, Op, Reduction, Role, ScanBody, Shape, SharedBody};

use super::align::{align, reshape};
use super::elementwise::wrong;
use super::matrix_parts::transpose;
use super::{Answer, Argument, LibraryError, Output};
use crate::scalar_functions::exponentials::log1m;

/// The call, if the name is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    Some(match (name, args) {
        ("softmax" | "log_softmax", [x]) => {
            let last = g.shape(x.node).rank() - 1;
            let total = g.log_sum_exp(x.node, last);
            let column = g.shape(total).join(&[1]);
            let total = g.reshape(total, column);
            let log = g.sub(x.node, total);
            let node = if name == "softmax" { g.exp(log) } else { log };
            Ok(Output::new(node, x.batched))
        }
        ("cumulative_sum", [x]) => {
            let axis = usize::from(x.batched);
            Ok(Output::new(g.cumulative_sum(x.node, axis), x.batched))
        }
        ("log_mix", [theta, a, b]) if theta.extents(g).is_empty() => {
            two_components(g, [theta, a, b])
        }
        ("log_mix", [theta, densities]) => components(g, theta, densities),
        ("hmm_marginal", [emissions, transitions, start]) => {
            hmm_marginal(g, emissions, transitions, start)
        }
        _ => return None,
    })
}

/// $\log(\theta e^a + (1-\theta)e^b)$
fn two_components(g: &mut Graph, args: [&Argument; 3]) -> Result<Output, LibraryError> {
    let args = args.map(Argument::clone);
    super::align::elementwise(g, &args, |g, x| {
        let (log_first, log_second) = (g.log(x[0]), log1m(g, x[0]));
        let (first, second) = (g.add(log_first, x[1]), g.add(log_second, x[2]));
        g.log_add_exp(first, second)
    })
}

/// $\log\sum_k \theta_k e^{t_k}$, summed over the outcomes if there are several.
fn components(
    g: &mut Graph,
    theta: &Argument,
    densities: &Argument,
) -> Result<Output, LibraryError> {
    let batched = theta.batched || densities.batched;
    let logs = Argument { node: g.log(theta.node), ..theta.clone() };
    let aligned = align(g, &[logs, densities.clone()], &[1, 1])?;
    let [log_theta, terms] = [aligned.nodes[0], aligned.nodes[1]];
    let (k, n) = (theta.extents(g).last().copied(), densities.extents(g).last().copied());
    if k != n {
        return Err(LibraryError::Mistake("`log_mix` needs one density a component".to_owned()));
    }
    let joint = g.add(log_theta, terms);
    let last = g.shape(joint).rank() - 1;
    let node = g.reduce(Reduction::LogSumExp, joint, &[last]);
    Ok(Output::new(node, batched).total(g))
}

/// $\log p(y)$ of a hidden Markov chain by the forward algorithm: log emission densities `[K, N]`,
/// transition probabilities from row to column `[K, K]`, probabilities of the first state `[K]`.
fn hmm_marginal(
    g: &mut Graph,
    emissions: &Argument,
    transitions: &Argument,
    start: &Argument,
) -> Result<Output, LibraryError> {
    if emissions.batched || transitions.batched || start.batched {
        return Err(LibraryError::Unbatchable);
    }
    let size = emissions.extents(g).to_vec();
    let &[states, steps] = size.as_slice() else { return Err(wrong("hmm_marginal")) };
    if steps == 0 || transitions.extents(g) != [states, states] || start.extents(g) != [states] {
        let message = "`hmm_marginal` needs K by N densities, K by K transitions and K starts";
        return Err(LibraryError::Mistake(message.to_owned()));
    }
    let by_time = transpose(g, emissions.node, false);
    let first = g.slice(by_time, 0, 0, 1);
    let first = reshape(g, first, false, &[states]);
    let log_start = g.log(start.node);
    let mut forward = g.add(log_start, first);
    if steps > 1 {
        let rest = g.slice(by_time, 0, 1, steps);
        let logs = g.log(transitions.node);
        forward = forward_steps(g, forward, rest, logs, [states, steps - 1]);
    }
    Ok(Output::new(g.log_sum_exp(forward, 0), false))
}

fn forward_steps(
    g: &mut Graph,
    first: NodeId,
    emissions: NodeId,
    log_transitions: NodeId,
    [states, length]: [usize; 2],
) -> NodeId {
    let mut body = Graph::new();
    let fresh = "a new graph has no other input of that name";
    let mut input = |name: &str, shape: Shape| {
        body.input(name, Role::Parameter, shape, DType::Real).expect(fresh)
    };
    let carry = input("carry0", Shape::from([states]));
    let emission = input("x0", Shape::from([states]));
    let moves = input("fixed0", Shape::from([states, states]));
    let from = body.reshape(carry, [states, 1]);
    let joint = body.add(from, moves);
    let arrived = body.log_sum_exp(joint, 0);
    let next = body.add(arrived, emission);
    let body = ScanBody { graph: body, next: vec![next], stacked: Vec::new(), counts: [1, 1, 1] };
    let op = Op::Scan { length, reverse: false, body: SharedBody(Arc::new(body)) };
    let scan = g.apply(op, &[first, emissions, log_transitions]).expect("shapes were checked");
    g.apply(Op::Project(0), &[scan]).expect("one carry")
}
