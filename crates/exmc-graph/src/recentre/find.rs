//! Finding: the graph of a log density -> its inputs that have a location and a scale.
//!
//! Densities of location-scale families hold $(\theta-\mu)/\sigma$ whatever the family is, and
//! programs that are written non-centred hold $\mu+\sigma z$: the graph shows both, whoever wrote
//! the statement. A location may hold elements that come before ([`walk`](super::walk),
//! [`factor`](super::factor)).

use super::factor::{self, Factor};
use super::scanned;
use super::view::View;
use super::walk::{self, Walk};
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
    /// The same of vectors with a factor, a row for each of their elements.
    Rows,
}

/// How the location of an element depends on elements that come before it.
#[derive(Clone, Debug)]
pub(super) enum Chain {
    /// By one of them.
    Walk(Walk),
    /// By all of the same vector.
    Factor(Factor),
}

/// An input with the expressions that are its location and its scale.
#[derive(Clone, Debug)]
pub struct LocationScale {
    /// The input.
    pub input: NodeId,
    /// How the density has it.
    pub written: Written,
    /// One number, or one an element of the input; zero where there is none. Of chained elements,
    /// what the location is besides elements that come before.
    pub(super) location: Option<NodeId>,
    /// One number, or one an element of the input; above zero. Of vectors with a factor, its
    /// diagonal.
    pub(super) scale: NodeId,
    /// What the location of an element has from elements before it.
    pub(super) chain: Option<Chain>,
    /// Elements that have them; all where there is nothing. The others keep their coordinate.
    pub covered: Option<Vec<bool>>,
    /// Expressions whose value is known without the input: so nothing is added that is then taken
    /// away.
    pub(super) places: Vec<(NodeId, Part, View)>,
}

impl LocationScale {
    /// The expressions that location and scale are made of; the scale comes first. They do not hold
    /// the input.
    pub fn roots(&self) -> Vec<NodeId> {
        let chained = self.chain.as_ref().map(|chain| match chain {
            Chain::Walk(walk) => walk.slope,
            Chain::Factor(factor) => factor.factor,
        });
        [self.scale].into_iter().chain(self.location).chain(chained).collect()
    }

    /// Whether only the ends of the share are coordinates to choose from: the steps of a long chain
    /// would add up what lies between them.
    pub fn is_long_chain(&self) -> bool {
        match &self.chain {
            None => false,
            Some(Chain::Walk(_)) => true,
            Some(Chain::Factor(factor)) => factor.rows() > MAX_PARTLY_CENTRED,
        }
    }

    /// The same with copies of its roots.
    pub(super) fn with_roots(&self, copies: &[NodeId]) -> Self {
        let mut copy = self.clone();
        let mut copies = copies.iter().copied();
        let mut next = || copies.next().expect("a copy of each root");
        copy.scale = next();
        copy.location = copy.location.map(|_| next());
        match &mut copy.chain {
            None => {}
            Some(Chain::Walk(walk)) => walk.slope = next(),
            Some(Chain::Factor(factor)) => factor.factor = next(),
        }
        copy
    }
}

/// Elements of a vector with a factor that have shares between the ends at most.
const MAX_PARTLY_CENTRED: usize = 8;

/// A place of the density where elements of an input meet a location and a scale.
struct Match {
    input: NodeId,
    written: Written,
    view: View,
    location: Option<NodeId>,
    scale: NodeId,
    /// The element before each one of the view and what it is multiplied by, where there is one.
    before: Option<walk::Before>,
    places: Vec<(NodeId, Part)>,
}

/// The inputs of a log density that have a location or a scale that varies with other inputs, in
/// the order of inputs. Nodes for locations and scales in an input's own order of elements are
/// added to the graph.
pub fn location_scales(g: &mut Graph, logp: NodeId) -> Vec<LocationScale> {
    let live = g.reachable(&[logp]);
    let users = users(g, &live);
    let mut found: Vec<Match> = Vec::new();
    let mut chains: Vec<LocationScale> = Vec::new();
    for id in g.ids().filter(|id| live[id.index()]) {
        if let Op::Scan { .. } = g.node(id).op {
            chains.extend(scanned::walk(g, &users, id));
        }
        let [a, b] = g.node(id).args[..] else { continue };
        match g.node(id).op {
            Op::Binary(Binary::Div) => found.extend(quotient(g, id, a, b)),
            Op::Binary(Binary::Mul) => {
                found.extend(product(g, &users, id, a, b));
                found.extend(product(g, &users, id, b, a));
            }
            Op::TriangularSolve { transposed: false } => {
                chains.extend(factor::solved(g, id, a, b));
            }
            Op::MatMul => chains.extend(factor::multiplied(g, &users, id, a, b)),
            _ => {}
        }
    }
    let mut inputs: Vec<NodeId> = found.iter().map(|m| m.input).collect();
    inputs.extend(chains.iter().map(|entry| entry.input));
    inputs.sort_unstable();
    inputs.dedup();
    let entry_of =
        |g: &mut Graph, input| chained(&chains, input).or_else(|| joined(g, input, &found));
    inputs.into_iter().filter_map(|input| entry_of(g, input)).collect()
}

/// What is found of an input: of several places one that is centred; none where there are several
/// scales of what is not.
fn chained(found: &[LocationScale], input: NodeId) -> Option<LocationScale> {
    let entries = || found.iter().filter(|entry| entry.input == input);
    if let Some(centred) = entries().find(|entry| entry.written == Written::Centred) {
        return Some(centred.clone());
    }
    let first = entries().next()?;
    let is_same = entries().all(|other| other.scale == first.scale);
    is_same.then(|| first.clone())
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

pub(super) fn varies(g: &Graph, id: NodeId) -> bool {
    g.dependence(id) == Dependence::Parameter
}

/// $(\theta-\mu)/\sigma$, or $\theta/\sigma$.
fn quotient(g: &mut Graph, id: NodeId, numerator: NodeId, scale: NodeId) -> Option<Match> {
    let (difference, location) = match (&g.node(numerator).op, &g.node(numerator).args[..]) {
        (Op::Binary(Binary::Sub), &[value, location]) => (Some((numerator, value)), Some(location)),
        _ => (None, None),
    };
    let (input, view) = View::of(g, difference.map_or(numerator, |(_, value)| value))?;
    let moves = varies(g, scale) || location.is_some_and(|location| varies(g, location));
    if !moves || !view.is_injective(g.shape(input).len()) || !is_positive(g, scale) {
        return None;
    }
    if holds(g, scale, input) {
        return None;
    }
    let (location, before) = match location {
        Some(location) if holds(g, location, input) => {
            let (besides, before) = walk::before(g, (input, &view), location)?;
            (besides, Some(before))
        }
        location => (location, None),
    };
    let mut places = vec![(id, Part::Standard)];
    places.extend(difference.map(|(node, _)| (node, Part::Difference)));
    if view.clamped {
        // Beyond the clamp's limits the density has other numbers, and stays as it is.
        places.clear();
    }
    Some(Match { input, written: Written::Centred, view, location, scale, before, places })
}

/// Whether an expression depends on an input.
pub(super) fn holds(g: &Graph, x: NodeId, input: NodeId) -> bool {
    g.reachable(&[x])[input.index()]
}

/// $\sigma z$, with the location that is added to it.
fn product(
    g: &mut Graph,
    users: &[Vec<NodeId>],
    id: NodeId,
    scale: NodeId,
    z: NodeId,
) -> Option<Match> {
    let (input, view) = View::of(g, z)?;
    if !varies(g, scale) || holds(g, scale, input) || !is_positive(g, scale) || view.clamped {
        return None;
    }
    let is_bijective =
        view.is_injective(g.shape(input).len()) && view.shape.len() == g.shape(input).len();
    // Where one element stands at many places, they must have one scale.
    if !is_bijective && one_number(g, scale).is_none() {
        return None;
    }
    let mut places = vec![(id, Part::Difference)];
    let mut location = None;
    if is_bijective && let Some(summed) = walk::summed(g, users, (input, &view), id) {
        places.push((summed.value, Part::Value));
        let (location, before) = (summed.location, Some(summed.before));
        let written = Written::NonCentred;
        return Some(Match { input, written, view, location, scale, before, places });
    }
    if let [sum] = users[id.index()][..]
        && let (Op::Binary(Binary::Add), &[a, b]) = (&g.node(sum).op, &g.node(sum).args[..])
    {
        let other = if a == id { b } else { a };
        let is_of_others = varies(g, other) && !holds(g, other, input);
        if is_of_others && (is_bijective || one_number(g, other).is_some()) {
            location = Some(other);
            places.push((sum, Part::Value));
        }
    }
    let written = Written::NonCentred;
    Some(Match { input, written, view, location, scale, before: None, places })
}

/// The number that an expression is in every element, if it plainly is one.
pub(super) fn one_number(g: &Graph, mut x: NodeId) -> Option<NodeId> {
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
    let input_matches = || found.iter().filter(|m| m.input == input);
    let distance = |m: &Match| m.before.as_ref().map(|before| before.distance);
    let scaled = |m: &&Match| m.written == Written::Centred && varies(g, m.scale);
    let first = input_matches()
        .find(scaled)
        .or_else(|| input_matches().find(|m| m.written == Written::NonCentred))
        .or_else(|| input_matches().next())?;
    let n = g.shape(input).len();
    let mut pieces = vec![first];
    let mut covered = covers(first, n);
    if first.written == Written::Centred {
        for other in input_matches().filter(|m| m.written == Written::Centred) {
            let more = covers(other, n);
            let fits = distance(other).is_none_or(|other_distance| {
                pieces.iter().find_map(|m| distance(m)).is_none_or(|all| all == other_distance)
            });
            if fits && covered.iter().zip(&more).all(|(a, b)| !(a & b)) {
                covered.iter_mut().zip(more).for_each(|(a, b)| *a |= b);
                pieces.push(other);
            }
        }
    } else {
        let others = input_matches().filter(|m| m.written == Written::NonCentred);
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
    let chain = Walk::joined(g, input, pieces.iter().map(|m| (&m.view, m.before.as_ref())))?;
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
        let kept = piece.places.iter().filter(|(_, part)| is_shared || *part != Part::Value);
        places.extend(kept.map(|(node, part)| (*node, *part, piece.view.clone())));
    }
    let covered = (!covered.iter().all(|c| *c)).then_some(covered);
    let (written, chain) = (first.written, chain.map(Chain::Walk));
    Some(LocationScale { input, written, location, scale, chain, covered, places })
}

fn covers(found: &Match, n: usize) -> Vec<bool> {
    let Some(elements) = &found.view.elements else { return vec![true; n] };
    // A scale that all places share is that of elements that stand nowhere, too.
    let mut all = vec![found.written == Written::NonCentred; n];
    elements.iter().for_each(|&k| all[k] = true);
    all
}

/// Expressions at views of an input -> one expression in the input's shape, or one number; nothing
/// where no view has one.
pub(super) fn in_order(
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
