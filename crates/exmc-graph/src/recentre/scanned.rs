//! A recurrence of innovations, $\theta_i=c_i+a_i\theta_{i-1}+\sigma_iz_i$, written as a loop ->
//! the walk that it is.
//!
//! The loop is a scan whose state is affine in itself and in a sequence that is affine in elements
//! of an input. Its first state is known without them, or is an element before the others; those
//! that come before a loop stand in a list with what it gives.

use super::affine::{Affine, affine, affine_in, joined};
use super::find::{Chain, LocationScale, Part, Written, holds, one_number};
use super::view::View;
use super::walk::Walk;
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, ScanBody, Unary};
use crate::signs::is_positive;
use crate::tensor::{Shape, Tensor};

/// A state of the loop's body in terms of the state before: `slope * state + besides`, with a
/// number a step.
#[derive(Clone, Copy)]
struct State {
    slope: Option<NodeId>,
    besides: Option<NodeId>,
}

/// The walk that a scan gives.
pub(super) fn walk(g: &mut Graph, users: &[Vec<NodeId>], scan: NodeId) -> Option<LocationScale> {
    let Op::Scan { length, reverse: false, body } = g.node(scan).op.clone() else { return None };
    let body = &body.0;
    let args = g.node(scan).args.clone();
    let (&[1, ..], &[next]) = (&body.counts, &body.next[..]) else { return None };
    let is_next = |place: &usize| body.stacked[*place] == next;
    let output = (0..body.stacked.len()).find(is_next)? + 1;
    let is_given = |user: &&NodeId| g.node(**user).op == Op::Project(output);
    let all = *users[scan.index()].iter().find(is_given)?;
    if !g.shape(args[0]).is_scalar() || g.shape(all).rank() != 1 {
        return None;
    }
    let State { slope, besides } = lifted(g, body, next, &args)?;
    let (slope, steps) = (slope?, besides?);
    let shape = Shape::from([length]);
    let steps = g.broadcast_to(steps, &shape);
    let (input, innovations) = g.ids().take(scan.index()).find_map(|id| {
        let is_long = matches!(g.node(id).op, Op::Input { .. }) && g.shape(id).len() >= length;
        (is_long && holds(g, steps, id)).then_some(())?;
        affine(g, steps, id).map(|innovations| (id, innovations))
    })?;
    let begin = one_number(g, args[0])?;
    let mut found = match holds(g, begin, input) {
        false => Found::from_outside(g, (slope, begin), innovations, length),
        true => {
            Found::after(g, (input, slope), (begin, innovations), before(g, users, all)?, length)?
        }
    };
    let len = g.shape(input).len();
    let is_all = found.innovations.elements.iter().copied().eq(0..len);
    let others = [Some(found.innovations.slope), Some(found.slope), found.innovations.besides];
    let is_of_others = others.into_iter().flatten().all(|node| !holds(g, node, input));
    if !is_all || !is_of_others || !is_positive(g, found.innovations.slope) {
        return None;
    }
    let behind = View::ordered(shape, (len - length..len).collect());
    let behind = View { elements: Some(behind.elements(length)), ..behind };
    found.places.push((all, Part::Value, behind));
    let shape = g.shape(input).clone();
    let in_shape = |g: &mut Graph, node: NodeId| match one_number(g, node) {
        Some(number) => g.reshape(number, Shape::scalar()),
        None => g.reshape(node, shape.clone()),
    };
    Some(LocationScale {
        input,
        written: Written::NonCentred,
        location: found.innovations.besides.map(|besides| in_shape(g, besides)),
        scale: in_shape(g, found.innovations.slope),
        chain: Some(Chain::Walk(Walk::of_neighbours(in_shape(g, found.slope)))),
        covered: None,
        places: found.places,
    })
}

/// A walk's elements, in order.
struct Found {
    /// Their innovations.
    innovations: Affine,
    /// What multiplies the element before.
    slope: NodeId,
    places: Vec<(NodeId, Part, View)>,
}

impl Found {
    /// The first element's location has the state that the loop begins with.
    fn from_outside(
        g: &mut Graph,
        (slope, begin): (NodeId, NodeId),
        innovations: Affine,
        length: usize,
    ) -> Self {
        let first: Vec<f64> = (0..length).map(|k| f64::from(u8::from(k == 0))).collect();
        let first = g.constant(Tensor::vector(&first));
        let begin = g.reshape(begin, Shape::scalar());
        let begin = g.mul(slope, begin);
        let begin = g.mul(first, begin);
        let besides = innovations.besides.map_or(begin, |besides| g.add(besides, begin));
        Self {
            innovations: Affine { besides: Some(besides), ..innovations },
            slope,
            places: Vec::new(),
        }
    }

    /// Elements that stand before the loop's.
    fn after(
        g: &mut Graph,
        (input, slope): (NodeId, NodeId),
        (begin, rest): (NodeId, Affine),
        before: Vec<NodeId>,
        length: usize,
    ) -> Option<Self> {
        let (mut parts, mut slopes, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut last: Option<NodeId> = None;
        let one = Shape::from([1]);
        for node in before {
            let value = one_number(g, node)?;
            let innovation = match last {
                None => {
                    slopes.push(g.scalar(0.0));
                    affine(g, value, input)?
                }
                Some(last) => {
                    let (step, innovation) = step(g, value, (input, last))?;
                    slopes.push(step);
                    innovation
                }
            };
            let elements = Some(innovation.elements.clone());
            let shape = g.shape(value).clone();
            places.push((value, Part::Value, View { shape, elements, clamped: false }));
            parts.push((innovation, one.clone()));
            last = Some(value);
        }
        if last != Some(begin) {
            return None;
        }
        let is_one = slopes[1..].iter().all(|other| *other == slope);
        let slope = if is_one && g.shape(slope).is_scalar() {
            slope
        } else {
            let mut all: Vec<NodeId> = slopes.iter().map(|s| g.broadcast_to(*s, &one)).collect();
            all.push(g.broadcast_to(slope, &Shape::from([length])));
            g.concat(&all, 0)
        };
        parts.push((rest, Shape::from([length])));
        for (innovation, shape) in &mut parts {
            let flat = |g: &mut Graph, x: NodeId| match g.shape(x).is_scalar() {
                true => x,
                false => g.reshape(x, shape.clone()),
            };
            innovation.slope = flat(g, innovation.slope);
            innovation.besides = innovation.besides.map(|besides| flat(g, besides));
        }
        Some(Self { innovations: joined(g, parts)?, slope, places })
    }
}

/// What stands before a loop's elements in the only list that has them.
fn before(g: &Graph, users: &[Vec<NodeId>], all: NodeId) -> Option<Vec<NodeId>> {
    let lists =
        users[all.index()].iter().filter(|user| g.node(**user).op == Op::Concat { axis: 0 });
    let lists: Vec<_> = lists.collect();
    let &[list] = &lists[..] else { return None };
    let args = &g.node(*list).args;
    let place = args.iter().position(|arg| *arg == all)?;
    (place > 0 && args[..place].iter().all(|arg| g.shape(*arg).len() == 1))
        .then(|| args[..place].to_vec())
}

/// A sum of something affine in the element before and something affine in the own innovation.
fn step(g: &mut Graph, value: NodeId, (input, last): (NodeId, NodeId)) -> Option<(NodeId, Affine)> {
    let (Op::Binary(Binary::Add), &[a, b]) = (&g.node(value).op, &g.node(value).args[..]) else {
        return None;
    };
    for (varying, other) in [(a, b), (b, a)] {
        let Some(before) = affine_in(g, other, last) else { continue };
        let Some(innovation) = affine(g, varying, input) else { continue };
        let besides = match (innovation.besides, before.besides) {
            (None, other) | (other, None) => other,
            (Some(a), Some(b)) => {
                let [a, b] = [a, b].map(|node| g.reshape(node, Shape::scalar()));
                Some(g.add(a, b))
            }
        };
        let slope = g.reshape(before.slope, Shape::scalar());
        return Some((slope, Affine { besides, ..innovation }));
    }
    None
}

/// A body's number in terms of the state, with all steps side by side.
fn lifted(g: &mut Graph, body: &ScanBody, next: NodeId, args: &[NodeId]) -> Option<State> {
    let graph = &body.graph;
    let [carries, sequences, _] = body.counts;
    let needed = graph.reachable(&[next]);
    let mut states: Vec<Option<State>> = vec![None; graph.len()];
    for id in graph.ids().filter(|id| needed[id.index()]) {
        if !graph.shape(id).is_scalar() {
            return None;
        }
        let besides = |node| Some(State { slope: None, besides: Some(node) });
        let state_of = |k: usize| states[graph.node(id).args[k].index()];
        states[id.index()] = match &graph.node(id).op {
            Op::Input { name, .. } => {
                let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
                if number("carry").is_some() {
                    Some(State { slope: Some(g.scalar(1.0)), besides: None })
                } else if let Some(k) = number("fixed") {
                    besides(args[carries + sequences + k])
                } else {
                    besides(args[carries + number("x")?])
                }
            }
            Op::Constant(value) => besides(g.constant(value.clone())),
            Op::Reshape(_) | Op::Broadcast(_) => state_of(0),
            Op::Unary(op) => {
                let inner = state_of(0)?;
                match (op, inner) {
                    (_, State { slope: None, besides: Some(x) }) => besides(g.unary(*op, x)),
                    (Unary::Neg, _) => Some(State {
                        slope: inner.slope.map(|slope| g.neg(slope)),
                        besides: inner.besides.map(|besides| g.neg(besides)),
                    }),
                    _ => None,
                }
            }
            Op::Binary(op) => of_two(g, *op, state_of(0)?, state_of(1)?),
            _ => None,
        };
        states[id.index()]?;
    }
    states[next.index()]
}

fn of_two(g: &mut Graph, op: Binary, a: State, b: State) -> Option<State> {
    let sum = |g: &mut Graph, a: Option<NodeId>, b: Option<NodeId>| match (a, b) {
        (Some(a), Some(b)) => Some(if op == Binary::Add { g.add(a, b) } else { g.sub(a, b) }),
        (None, Some(b)) if op == Binary::Sub => Some(g.neg(b)),
        (a, b) => a.or(b),
    };
    let times = |g: &mut Graph, state: State, by: NodeId| State {
        slope: state.slope.map(|slope| g.binary(op, slope, by)),
        besides: state.besides.map(|besides| g.binary(op, besides, by)),
    };
    match (op, a, b) {
        (Binary::Add | Binary::Sub, ..) => {
            Some(State { slope: sum(g, a.slope, b.slope), besides: sum(g, a.besides, b.besides) })
        }
        (_, State { slope: None, besides: Some(a) }, State { slope: None, besides: Some(b) }) => {
            Some(State { slope: None, besides: Some(g.binary(op, a, b)) })
        }
        (Binary::Mul | Binary::Div, state, State { slope: None, besides: Some(by) }) => {
            Some(times(g, state, by))
        }
        (Binary::Mul, State { slope: None, besides: Some(by) }, state) => Some(times(g, state, by)),
        _ => None,
    }
}
