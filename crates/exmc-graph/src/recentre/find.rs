//! Finding: the graph of a log density -> its inputs that have a location and a scale.
//!
//! Densities of location-scale families hold $(\theta-\mu)/\sigma$ whatever the family is, and programs that are written
//! non-centred hold $\mu+\sigma z$: the graph shows both, whoever wrote the statement.

use super::view::View;
use crate::graph::{Dependence, Graph, NodeId};
use crate::op::{Binary, Op};
use crate::signs::is_positive;
use crate::tensor::{Shape, Tensor};

/// What an input's own coordinate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The value $\theta$, of which the density divides the difference to a location by a scale.
    Centred,
    /// $z$, which the density multiplies by a scale.
    NonCentred,
}

/// What an expression of the density is to a location and a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// $\theta$
    Value,
    /// $\theta-\mu$
    Difference,
    /// $(\theta-\mu)/\sigma$
    Standard,
}

/// An input with the expressions that are its location and its scale.
#[derive(Clone, Debug)]
pub struct LocationScale {
    /// The input.
    pub input: NodeId,
    /// How the density has it.
    pub written: Written,
    /// One number, or one an element of the input; zero where there is none.
    pub location: Option<NodeId>,
    /// One number, or one an element of the input; above zero.
    pub scale: NodeId,
    /// Elements that have them; all where there is nothing. The others keep their coordinate.
    pub covered: Option<Vec<bool>>,
    /// Expressions whose value is known without the input: so nothing is added that is then taken away.
    pub(super) places: Vec<(NodeId, Part, View)>,
}

/// A place of the density where elements of an input meet a location and a scale.
struct Match {
    input: NodeId,
    written: Written,
    view: View,
    location: Option<NodeId>,
    scale: NodeId,
    places: Vec<(NodeId, Part)>,
}

/// The inputs of a log density that have a location or a scale that varies with other inputs, in the order of inputs. Nodes for
/// locations and scales in an input's own order of elements are added to the graph.
pub fn location_scales(g: &mut Graph, logp: NodeId) -> Vec<LocationScale> {
    let live = g.reachable(&[logp]);
    let users = users(g, &live);
    let mut found: Vec<Match> = Vec::new();
    for id in g.ids().filter(|id| live[id.index()]) {
        let Op::Binary(op) = g.node(id).op else { continue };
        let [a, b] = g.node(id).args[..] else { continue };
        match op {
            Binary::Div => found.extend(quotient(g, id, a, b)),
            Binary::Mul => {
                found.extend(product(g, &users, id, a, b));
                found.extend(product(g, &users, id, b, a));
            }
            _ => {}
        }
    }
    let mut inputs: Vec<NodeId> = found.iter().map(|m| m.input).collect();
    inputs.sort_unstable();
    inputs.dedup();
    inputs.into_iter().filter_map(|input| joined(g, input, &found)).collect()
}

/// The live nodes that use each node.
fn users(g: &Graph, live: &[bool]) -> Vec<Vec<NodeId>> {
    let mut users = vec![Vec::new(); g.len()];
    for id in g.ids().filter(|id| live[id.index()]) {
        for arg in &g.node(id).args {
            users[arg.index()].push(id);
        }
    }
    users
}

fn varies(g: &Graph, id: NodeId) -> bool {
    g.dependence(id) == Dependence::Parameter
}

/// $(\theta-\mu)/\sigma$, or $\theta/\sigma$.
fn quotient(g: &Graph, id: NodeId, numerator: NodeId, scale: NodeId) -> Option<Match> {
    let (difference, location) = match (&g.node(numerator).op, &g.node(numerator).args[..]) {
        (Op::Binary(Binary::Sub), &[value, location]) => (Some((numerator, value)), Some(location)),
        _ => (None, None),
    };
    let (input, view) = View::of(g, difference.map_or(numerator, |(_, value)| value))?;
    let is_of_others = |x: NodeId| !g.reachable(&[x])[input.index()];
    let holds = location.is_none_or(is_of_others) && is_of_others(scale);
    let moves = varies(g, scale) || location.is_some_and(|location| varies(g, location));
    if !moves || !holds || !view.is_injective(g.shape(input).len()) || !is_positive(g, scale) {
        return None;
    }
    let mut places = vec![(id, Part::Standard)];
    places.extend(difference.map(|(node, _)| (node, Part::Difference)));
    if view.clamped {
        // Beyond the clamp's limits the density has other numbers, and stays as it is.
        places.clear();
    }
    Some(Match { input, written: Written::Centred, view, location, scale, places })
}

/// $\sigma z$, with the location that is added to it.
fn product(
    g: &Graph,
    users: &[Vec<NodeId>],
    id: NodeId,
    scale: NodeId,
    z: NodeId,
) -> Option<Match> {
    let (input, view) = View::of(g, z)?;
    let of_others = |x: NodeId| !g.reachable(&[x])[input.index()];
    if !varies(g, scale) || !of_others(scale) || !is_positive(g, scale) || view.clamped {
        return None;
    }
    let whole = view.is_injective(g.shape(input).len()) && view.shape.len() == g.shape(input).len();
    // Where one element stands at many places, they must have one scale.
    if !whole && one_number(g, scale).is_none() {
        return None;
    }
    let mut places = vec![(id, Part::Difference)];
    let mut location = None;
    if let [sum] = users[id.index()][..]
        && let (Op::Binary(Binary::Add), &[a, b]) = (&g.node(sum).op, &g.node(sum).args[..])
    {
        let other = if a == id { b } else { a };
        if varies(g, other) && of_others(other) && (whole || one_number(g, other).is_some()) {
            location = Some(other);
            places.push((sum, Part::Value));
        }
    }
    Some(Match { input, written: Written::NonCentred, view, location, scale, places })
}

/// The number that an expression is in every element, if it plainly is one.
fn one_number(g: &Graph, mut x: NodeId) -> Option<NodeId> {
    while let Op::Broadcast(_) | Op::Reshape(_) = g.node(x).op {
        x = g.node(x).args[0];
    }
    if let Op::Gather = g.node(x).op {
        return None;
    }
    (g.shape(x).len() == 1).then_some(x)
}

/// All places of one input that can have one coordinate.
fn joined(g: &mut Graph, input: NodeId, found: &[Match]) -> Option<LocationScale> {
    let own = || found.iter().filter(|m| m.input == input);
    let scaled = |m: &&Match| m.written == Written::Centred && varies(g, m.scale);
    let first = own()
        .find(scaled)
        .or_else(|| own().find(|m| m.written == Written::NonCentred))
        .or_else(|| own().next())?;
    let n = g.shape(input).len();
    let mut pieces = vec![first];
    let mut covered = covers(first, n);
    if first.written == Written::Centred {
        for other in own().filter(|m| m.written == Written::Centred) {
            let more = covers(other, n);
            if covered.iter().zip(&more).all(|(a, b)| !(a & b)) {
                covered.iter_mut().zip(more).for_each(|(a, b)| *a |= b);
                pieces.push(other);
            }
        }
    } else {
        let others = own().filter(|m| m.written == Written::NonCentred);
        for other in others.filter(|m| m.places.first() != first.places.first()) {
            // Two scales of one input: neither is its own.
            let scales = [first, other].map(|m| one_number(g, m.scale));
            if scales[0].is_none() || scales[0] != scales[1] {
                return None;
            }
            pieces.push(other);
        }
    }
    let located = |m: &&Match| m.location.map(|location| one_number(g, location));
    let is_shared = first.written == Written::Centred
        || pieces.len() == 1
        || pieces.iter().all(|m| located(m).flatten().is_some() && located(m) == located(&first));
    let (mut scales, mut locations) = (Vec::new(), Vec::new());
    for piece in &pieces {
        scales.push((&piece.view, Some(piece.scale)));
        locations.push((&piece.view, piece.location.filter(|_| is_shared)));
    }
    let shape = g.shape(input).clone();
    let scale = in_order(g, &shape, &scales, 1.0).expect("every piece has a scale");
    let location = in_order(g, &shape, &locations, 0.0);
    let mut places = Vec::new();
    for piece in &pieces {
        let own = piece.places.iter().filter(|(_, part)| is_shared || *part != Part::Value);
        places.extend(own.map(|(node, part)| (*node, *part, piece.view.clone())));
    }
    let covered = (!covered.iter().all(|c| *c)).then_some(covered);
    Some(LocationScale { input, written: first.written, location, scale, covered, places })
}

fn covers(found: &Match, n: usize) -> Vec<bool> {
    let Some(elements) = &found.view.elements else { return vec![true; n] };
    // A scale that all places share is that of elements that stand nowhere, too.
    let mut all = vec![found.written == Written::NonCentred; n];
    elements.iter().for_each(|&k| all[k] = true);
    all
}

/// Expressions at views of an input -> one expression in the input's shape, or one number; nothing where no view has one.
fn in_order(
    g: &mut Graph,
    shape: &Shape,
    pieces: &[(&View, Option<NodeId>)],
    other: f64,
) -> Option<NodeId> {
    if pieces.iter().all(|(_, node)| node.is_none()) {
        return None;
    }
    let numbers: Vec<Option<NodeId>> =
        pieces.iter().map(|(_, node)| node.and_then(|node| one_number(g, node))).collect();
    if let Some(number) = numbers[0].filter(|first| numbers.iter().all(|n| *n == Some(*first))) {
        return Some(g.reshape(number, Shape::scalar()));
    }
    if let [(View { elements: None, .. }, Some(node))] = pieces {
        return Some(g.reshape(*node, shape.clone()));
    }
    // All pieces one after the other, and what stands for elements without one.
    let mut parts = Vec::new();
    let mut place = vec![0; shape.len()];
    let mut next = 0;
    for (view, node) in pieces {
        let len = view.shape.len();
        parts.push(match node {
            Some(node) => g.reshape(*node, [len]),
            None => g.filled(&Shape::new([len]), other),
        });
        match &view.elements {
            None => place.iter_mut().enumerate().for_each(|(k, p)| *p = next + k),
            Some(elements) => elements.iter().enumerate().for_each(|(k, &e)| place[e] = next + k),
        }
        next += len;
    }
    let mut has_one = vec![false; shape.len()];
    for (view, _) in pieces {
        match &view.elements {
            None => has_one.fill(true),
            Some(elements) => elements.iter().for_each(|&e| has_one[e] = true),
        }
    }
    if has_one.iter().any(|has| !has) {
        parts.push(g.filled(&Shape::new([1]), other));
        place.iter_mut().zip(&has_one).filter(|(_, has)| !**has).for_each(|(p, _)| *p = next);
    }
    let flat = g.concat(&parts, 0);
    let index = g.constant(Tensor::indices(&place));
    let ordered = g.gather(flat, index);
    Some(g.reshape(ordered, shape.clone()))
}
