//! A scan whose step is a log of sums of exponentials of its own state -> a chain of sums.

use exmc_graph::{Binary, Graph, NodeId, Op, Reduction, ScanBody, Unary};
use rustc_hash::FxHashMap;

use super::Lowering;
use super::scans::Scan;
use crate::native::markov::{MOST_PAIRS, Markov, Term};
use crate::native::split::{Source, source};

/// An element of an expression: a sum of elements of the body's inputs.
type Element = Vec<(Source, u32, bool)>;

impl Lowering<'_> {
    /// A scan of one state that is such a step, if its outputs are the states.
    pub(super) fn markov(&mut self, scan: &Scan<'_>) -> Option<Markov> {
        let ScanBody { graph, next, stacked, counts } = scan.body;
        let (&[next], 1) = (&next[..], counts[0]) else { return None };
        let state = graph.find_input("carry0")?;
        let width = graph.shape(state).len();
        let known = |id: NodeId| id == state || id == next;
        let mut numbers = scan.outputs.iter().filter_map(|&(_, k)| k.checked_sub(1));
        if !numbers.all(|k| known(stacked[k])) {
            return None;
        }
        let groups = groups(graph, next)?;
        let group = groups.first()?.len();
        let pairs: Vec<&Element> = groups.iter().flatten().collect();
        let fits = groups.len() == width && (2..=MOST_PAIRS).contains(&pairs.len());
        if !fits || group == 0 || groups.iter().any(|own| own.len() != group) {
            return None;
        }
        let mut from = Vec::new();
        let mut terms: Vec<Term> = Vec::new();
        for (p, pair) in pairs.iter().enumerate() {
            let states = pair.iter().filter(|(source, ..)| *source == Source::State(0));
            let &[(_, number, false)] = &states.copied().collect::<Vec<_>>()[..] else {
                return None;
            };
            from.push(number);
            let others = pair.iter().filter(|(source, ..)| *source != Source::State(0));
            for (k, &(source, number, negative)) in others.enumerate() {
                let place = self.argument(scan, source).0;
                let stride = match source {
                    Source::Sequence(k) => graph.shape(graph.find_input(&format!("x{k}"))?).len(),
                    _ => 0,
                };
                if p == 0 {
                    terms.push(Term { place, stride, negative, index: Vec::new() });
                }
                let term = terms.get_mut(k)?;
                let same = (term.place, term.stride, term.negative) == (place, stride, negative);
                if !same || term.index.len() != p {
                    return None;
                }
                term.index.push(number);
            }
        }
        if terms.iter().any(|term| term.index.len() != pairs.len()) {
            return None;
        }
        let start = self.argument(scan, Source::State(0)).0;
        let parts = [(); 2].map(|()| self.reserve((scan.length + 1) * width));
        let [before, after, last] = self.state_outputs(scan, state);
        let (length, reverse) = (scan.length, scan.reverse);
        Some(Markov { length, reverse, width, start, from, terms, parts, before, after, last })
    }
}

/// What each element of the next state is the log of a sum of exponentials of.
fn groups(graph: &Graph, next: NodeId) -> Option<Vec<Vec<Element>>> {
    let mut known = FxHashMap::default();
    let node = graph.node(next);
    match &node.op {
        Op::Reshape(_) => groups(graph, node.args[0]),
        Op::Reduce(Reduction::LogSumExp, axes) => {
            let &[axis] = &axes[..] else { return None };
            let shape = graph.shape(node.args[0]).extents();
            let extent = shape[axis];
            let inner: usize = shape[axis + 1..].iter().product();
            let outer: usize = shape[..axis].iter().product();
            if graph.shape(node.args[0]).len() > MOST_PAIRS {
                return None;
            }
            let elements = elements(graph, node.args[0], &mut known)?;
            let one = |k: usize| {
                let (i, j) = (k / inner, k % inner);
                (0..extent).map(|g| elements[(i * extent + g) * inner + j].clone()).collect()
            };
            Some((0..outer * inner).map(one).collect())
        }
        // What is added to the whole sum is added to each of its terms.
        Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
            let (a, b) = (node.args[0], node.args[1]);
            let (mut sums, other, negative) = match groups(graph, a) {
                Some(sums) => (sums, b, *op == Binary::Sub),
                None if *op == Binary::Add => (groups(graph, b)?, a, false),
                None => return None,
            };
            let other = elements(graph, other, &mut known)?;
            for (terms, other) in sums.iter_mut().zip(&other) {
                for term in terms {
                    term.extend(other.iter().map(|&(s, k, sign)| (s, k, sign != negative)));
                }
            }
            Some(sums)
        }
        _ => None,
    }
}

/// The elements of a node, as sums of elements of inputs.
fn elements(
    graph: &Graph,
    id: NodeId,
    known: &mut FxHashMap<NodeId, Vec<Element>>,
) -> Option<Vec<Element>> {
    if let Some(found) = known.get(&id) {
        return Some(found.clone());
    }
    let node = graph.node(id);
    let len = node.shape.len();
    let mut of = |k: usize| elements(graph, node.args[k], known);
    let found = match &node.op {
        Op::Input { .. } => {
            let source = source(&node.op)?;
            (0..len).map(|k| Some(vec![(source, u32::try_from(k).ok()?, false)])).collect()
        }
        Op::Reshape(_) => of(0),
        Op::Unary(Unary::Neg) => of(0).map(negated),
        Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
            let (a, b) = (of(0)?, of(1)?);
            let b = if *op == Binary::Sub { negated(b) } else { b };
            Some(a.into_iter().zip(b).map(|(a, b)| [a, b].concat()).collect())
        }
        Op::Broadcast(to) => {
            let from = graph.shape(node.args[0]).extents().to_vec();
            let of = of(0)?;
            let extents = to.extents();
            let missing = extents.len() - from.len();
            let place = |k: usize| {
                let (mut rest, mut at, mut stride) = (k, 0, 1);
                for axis in (0..extents.len()).rev() {
                    let here = rest % extents[axis];
                    rest /= extents[axis];
                    if axis >= missing {
                        let extent = from[axis - missing];
                        at += stride * if extent == 1 { 0 } else { here };
                        stride *= extent;
                    }
                }
                of[at].clone()
            };
            Some((0..len).map(place).collect())
        }
        Op::Gather if graph.shape(node.args[0]).rank() == 1 => {
            let index = graph.as_constant(node.args[1])?.values();
            let table = of(0)?;
            index.iter().map(|&k| table.get(k as usize).cloned()).collect()
        }
        _ => None,
    }?;
    known.insert(id, found.clone());
    Some(found)
}

fn negated(elements: Vec<Element>) -> Vec<Element> {
    let negated = |element: Element| element.into_iter().map(|(s, k, sign)| (s, k, !sign));
    elements.into_iter().map(|element| negated(element).collect()).collect()
}
