//! Sums of many alike terms of scalars -> sums over vectors: `f(a1, x1) + f(a2, x2) + ...` becomes
//! one sum of `f(a, x)`.
//!
//! A model of hundreds of scalar variables, a statement for each, is a graph of hundreds of small
//! expressions, and every node costs a dispatch. Terms are alike when they are the same operations
//! on other scalars ([`classes`]); a whole group is then written once, on vectors of these
//! ([`columns`]). Terms may hold arrays, of lengths of their own: these are laid one behind the
//! other, as one would write groups of data with an index.
//!
//! This comes first, so that the other optimisations find what they would in a model that was
//! written with vectors.

mod classes;
mod columns;
mod elements;
mod families;
mod split;

use exmc_fault::{Fault, planted};
use rustc_hash::FxHashMap;

use self::classes::{Classes, Key, behind_reshapes};
use self::columns::{Column, Columns};
use self::families::Families;
use super::collect_terms::Sum;
use super::terms::is_known;
use super::uses;
use crate::graph::{Graph, Node, NodeId};
use crate::op::{Binary, Op, Unary};
use crate::tensor::{DType, Shape, Tensor};

/// Terms that a group has at least: as many as a vector register of the executor has lanes.
const MIN_ALIKE: usize = 8;

/// Groups alike terms of every sum of scalars beneath `root`, and alike elements of arrays that are
/// put together from scalars; nothing where there are none.
pub(super) fn group(g: &mut Graph, root: NodeId) -> Option<NodeId> {
    let mut families = Families::default();
    // Once to see which variables are read together.
    pass(&mut g.clone(), root, &mut families)?;
    families.make(g);
    pass(g, root, &mut families)
}

fn pass(g: &mut Graph, root: NodeId, families: &mut Families) -> Option<NodeId> {
    let live = g.reachable(&[root]);
    let uses = uses(g, root);
    let opened = opened(g, &live, &uses);
    let ids: Vec<NodeId> = g.ids().filter(|id| live[id.index()]).collect();
    let mut copy: Vec<NodeId> = g.ids().collect();
    let mut classes = Classes::default();
    for id in ids {
        let node = g.node(id);
        let is_sum = matches!(node.op, Op::Binary(Binary::Add | Binary::Sub));
        let is_row = node.op == Op::Concat { axis: 0 } && node.shape.rank() == 1;
        let found = if is_sum && is_real_scalar(g, id) && !opened[id.index()] {
            let sum = Sum::of(g, id, &uses);
            joined(g, &mut classes, families, (sum, &copy))
        } else if is_row && node.args.len() >= MIN_ALIKE {
            let parts: Vec<NodeId> = node.args.iter().map(|arg| copy[arg.index()]).collect();
            put_together(g, &mut classes, families, &parts)
        } else {
            None
        };
        copy[id.index()] = found.unwrap_or_else(|| {
            let Some(moved) = moved_args(g, id, &copy) else { return id };
            g.must(g.node(id).op.clone(), &moved)
        });
    }
    let new = copy[root.index()];
    (new != root).then_some(new)
}

fn is_real_scalar(g: &Graph, id: NodeId) -> bool {
    g.shape(id).is_scalar() && g.node(id).dtype == DType::Real
}

/// A node's new arguments, if any is new.
fn moved_args(g: &Graph, id: NodeId, copy: &[NodeId]) -> Option<Vec<NodeId>> {
    let args = &g.node(id).args;
    let is_moved = args.iter().any(|arg| copy[arg.index()] != *arg);
    is_moved.then(|| args.iter().map(|arg| copy[arg.index()]).collect())
}

/// Which nodes are parts of a larger sum, whose terms are looked at together.
fn opened(g: &Graph, live: &[bool], uses: &[usize]) -> Vec<bool> {
    let mut opened = vec![false; g.len()];
    for id in g.ids().filter(|id| live[id.index()] && g.shape(*id).is_scalar()) {
        let Node { op, args, .. } = g.node(id);
        let is_number = |k: usize| g.as_constant(args[k]).is_some();
        let opens = match op {
            Op::Binary(Binary::Add | Binary::Sub) | Op::Unary(Unary::Neg) => true,
            Op::Binary(Binary::Mul) => is_number(0) || is_number(1),
            _ => false,
        };
        if opens {
            args.iter().filter(|arg| uses[arg.index()] <= 1).for_each(|a| opened[a.index()] = true);
        }
    }
    opened
}

/// A sum with its groups of alike terms as sums over vectors.
fn joined(
    g: &mut Graph,
    classes: &mut Classes,
    families: &mut Families,
    (mut sum, copy): (Sum, &[NodeId]),
) -> Option<NodeId> {
    if sum.terms.len() < MIN_ALIKE {
        return None;
    }
    sum.terms.iter_mut().for_each(|(id, _)| *id = copy[id.index()]);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut place: FxHashMap<u32, usize> = FxHashMap::default();
    for (number, &(id, _)) in sum.terms.iter().enumerate() {
        let Some(class) = classes.of(g, id) else { continue };
        // What is known is added up beforehand.
        if is_known(g, id) || (class.is_leaf() && !elements::is_element(g, id)) {
            continue;
        }
        let group = *place.entry(class.number).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(number);
    }
    groups.retain(|members| members.len() >= MIN_ALIKE);
    let groups = groups.into_iter().flat_map(|members| {
        let terms = members.iter().map(|&k| sum.terms[k].0).collect();
        let parts = split::split(g, classes, terms);
        parts.into_iter().map(move |part| part.iter().map(|&k| members[k]).collect::<Vec<usize>>())
    });
    let mut groups: Vec<Vec<usize>> = groups.collect();
    groups.retain(|members| members.len() >= MIN_ALIKE);
    if groups.is_empty() {
        return None;
    }
    let mut is_left = vec![true; sum.terms.len()];
    let mut parts: Vec<(NodeId, f64)> = Vec::new();
    for members in groups {
        let terms: Vec<(NodeId, f64)> = members.iter().map(|&k| sum.terms[k]).collect();
        if let Some(part) = over_vectors(g, classes, families, terms) {
            parts.push(part);
            members.iter().for_each(|&k| is_left[k] = false);
        }
    }
    if parts.is_empty() {
        return None;
    }
    let left = sum.terms.iter().zip(&is_left).filter(|(_, is_left)| **is_left);
    let left: Vec<(NodeId, f64)> = left.map(|(term, _)| *term).collect();
    let mut total = (sum.number != 0.0).then(|| g.scalar(sum.number));
    for (id, factor) in parts.into_iter().chain(left) {
        let term = scaled(g, id, factor);
        total = Some(total.map_or(term, |total| g.add(total, term)));
    }
    total
}

fn scaled(g: &mut Graph, x: NodeId, factor: f64) -> NodeId {
    match factor {
        1.0 => x,
        -1.0 => g.neg(x),
        factor => g.scale(x, factor),
    }
}

/// The sum of alike terms with their factors, as one scalar with a factor.
fn over_vectors(
    g: &mut Graph,
    classes: &mut Classes,
    families: &mut Families,
    mut terms: Vec<(NodeId, f64)>,
) -> Option<(NodeId, f64)> {
    // In the order of the variables, so that a vector of them is a part of the position.
    terms.sort_by_cached_key(|&(id, _)| elements::order(g, id));
    let (nodes, factors): (Vec<NodeId>, Vec<f64>) = terms.iter().copied().unzip();
    let mut nodes: Vec<NodeId> = nodes.iter().map(|&id| behind_reshapes(g, id)).collect();
    let is_sum = classes.of(g, nodes[0]).is_some_and(|class| matches!(class.key, Key::Sum(_)));
    // What is summed within each term is summed with all others.
    let lens: Vec<usize> = if is_sum {
        nodes.iter_mut().for_each(|id| *id = g.node(*id).args[0]);
        nodes.iter().map(|&id| g.shape(id).len()).collect()
    } else {
        vec![1; nodes.len()]
    };
    let column = Columns::new(g, classes, families).of(&nodes)?;
    let same = factors[0];
    if factors.iter().all(|factor| *factor == same) || planted(Fault::GroupedFactor) {
        return Some(match column {
            Column::Same(x) => (x, same * lens.iter().sum::<usize>() as f64),
            Column::Each(x) => (g.sum(x), same),
        });
    }
    Some(match column {
        Column::Same(x) => {
            let counts = factors.iter().zip(&lens).map(|(factor, &len)| factor * len as f64);
            (x, counts.sum())
        }
        Column::Each(x) => {
            let each = factors.iter().zip(&lens);
            let each: Vec<f64> =
                each.flat_map(|(factor, &len)| std::iter::repeat_n(*factor, len)).collect();
            let each = g.constant(Tensor::vector(&each));
            let weighted = g.mul(each, x);
            (g.sum(weighted), 1.0)
        }
    })
}

/// An array whose elements are alike scalars, as a function of vectors.
fn put_together(
    g: &mut Graph,
    classes: &mut Classes,
    families: &mut Families,
    parts: &[NodeId],
) -> Option<NodeId> {
    let mut scalars = Vec::with_capacity(parts.len());
    for &part in parts {
        let node = g.node(part);
        let (Op::Reshape(_), &[x]) = (&node.op, &*node.args) else { return None };
        scalars.push(Some(x).filter(|x| is_real_scalar(g, *x))?);
    }
    let class = classes.of(g, scalars[0])?;
    let is_alike = |&x: &NodeId| classes.of(g, x).is_some_and(|c| c.number == class.number);
    if class.is_leaf() || !scalars.iter().all(is_alike) {
        return None;
    }
    match Columns::new(g, classes, families).of(&scalars)? {
        Column::Same(x) => Some(g.broadcast_to(x, &Shape::from([parts.len()]))),
        Column::Each(x) => Some(x),
    }
}
