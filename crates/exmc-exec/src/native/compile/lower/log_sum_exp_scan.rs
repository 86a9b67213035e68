//! A scan whose step is a log of sums of exponentials of its own state -> a chain of sums.

use exmc_graph::{Binary, Graph, NodeId, Op, Reduction, ScanBody, Shape, Unary};
use rustc_hash::FxHashMap;

use super::scans::Scan;
use super::{Lowering, narrow};
use crate::native::compile::columns::weights_of;
use crate::native::compile::split::{Source, source};
use crate::native::run::log_sum_exp_scan::{LogSumExpScan, MAX_PAIRS, PairTerm};

/// An element of an expression: a sum of elements of the body's inputs.
type Element = Vec<(Source, u32, bool)>;

/// A body as sums over the states before.
struct Sums {
    /// Pairs of every state with the states that it sums over, all of one state in a row: numbers
    /// of the latter.
    from: Vec<u32>,
    terms: Vec<Known>,
    /// The node that is the log of a sum, and which element of its argument each pair is.
    sum: NodeId,
    elements: Vec<u32>,
}

/// Something known that is added to every pair: which element each takes.
struct Known {
    source: Source,
    negative: bool,
    index: Vec<u32>,
}

/// Whether a scan's body with its outputs is a chain of sums over the states before.
pub(in crate::native) fn is_markov(body: &ScanBody) -> bool {
    let fits = |sums: Sums| body.stacked.iter().all(|&id| output(body, &sums, id).is_some());
    sums(body).is_some_and(fits)
}

/// What an output of such a body is.
#[derive(PartialEq)]
enum Output {
    Before,
    After,
    Shares,
}

fn output(body: &ScanBody, sums: &Sums, id: NodeId) -> Option<Output> {
    if Some(id) == body.graph.find_input("carry0") {
        Some(Output::Before)
    } else if id == body.next[0] {
        Some(Output::After)
    } else {
        (weights_of(&body.graph, id) == Some(sums.sum)).then_some(Output::Shares)
    }
}

fn sums(body: &ScanBody) -> Option<Sums> {
    let ScanBody { graph, next, counts, .. } = body;
    let (&[next], 1) = (&next[..], counts[0]) else { return None };
    let state = graph.find_input("carry0")?;
    let width = graph.shape(state).len();
    let Groups { groups, sum, elements } = groups(graph, next)?;
    let group = groups.first()?.len();
    let pairs: Vec<&Element> = groups.iter().flatten().collect();
    let fits = groups.len() == width && (2..=MAX_PAIRS).contains(&pairs.len());
    if !fits || group == 0 || groups.iter().any(|members| members.len() != group) {
        return None;
    }
    let mut from = Vec::new();
    let mut terms: Vec<Known> = Vec::new();
    for (p, pair) in pairs.iter().enumerate() {
        let states = pair.iter().filter(|(source, ..)| *source == Source::State(0));
        let &[(_, number, false)] = &states.copied().collect::<Vec<_>>()[..] else {
            return None;
        };
        from.push(number);
        let others = pair.iter().filter(|(source, ..)| *source != Source::State(0));
        for (k, &(source, number, negative)) in others.enumerate() {
            if p == 0 {
                terms.push(Known { source, negative, index: Vec::new() });
            }
            let term = terms.get_mut(k)?;
            if (term.source, term.negative) != (source, negative) || term.index.len() != p {
                return None;
            }
            term.index.push(number);
        }
    }
    let complete = terms.iter().all(|term| term.index.len() == pairs.len());
    complete.then_some(Sums { from, terms, sum, elements })
}

impl Lowering<'_> {
    /// A scan of one state that is such a chain, if its outputs are the states and the shares in
    /// the sums.
    pub(super) fn markov(&mut self, scan: &Scan<'_>) -> Option<LogSumExpScan> {
        let found = sums(scan.body)?;
        let graph = &scan.body.graph;
        let outputs: Option<Vec<(usize, Option<Output>)>> = scan
            .outputs
            .iter()
            .map(|&(value, k)| match k.checked_sub(1) {
                None => Some((value, None)),
                Some(k) => Some((value, Some(output(scan.body, &found, scan.body.stacked[k])?))),
            })
            .collect();
        let (length, reverse) = (scan.length, scan.reverse);
        let width = graph.shape(graph.find_input("carry0")?).len();
        let mut terms = Vec::new();
        let [mut before, mut after, mut last, mut shares] = [None; 4];
        for (value, output) in outputs? {
            let place = Some(self.allocate(value));
            match output {
                None => last = place,
                Some(Output::Before) => before = place,
                Some(Output::After) => after = place,
                Some(Output::Shares) => shares = place,
            }
        }
        for Known { source, negative, index } in found.terms {
            let place = self.argument(scan, source).0;
            let stride = match source {
                Source::Sequence(k) => graph.shape(graph.find_input(&format!("x{k}"))?).len(),
                _ => 0,
            };
            let parts = (stride > 0).then(|| [(); 2].map(|()| self.reserve(length * stride)));
            terms.push(PairTerm { place, stride, negative, index, parts });
        }
        let start = self.argument(scan, Source::State(0)).0;
        let parts = [(); 2].map(|()| self.reserve((length + 1) * width));
        let (from, shares) = (found.from, shares.map(|place| (place, found.elements)));
        let states = [before, after, last];
        Some(LogSumExpScan { length, reverse, width, start, from, terms, parts, shares, states })
    }
}

/// What each element of the next state is the log of a sum of exponentials of, and as in [`Sums`].
struct Groups {
    groups: Vec<Vec<Element>>,
    sum: NodeId,
    elements: Vec<u32>,
}

fn groups(graph: &Graph, next: NodeId) -> Option<Groups> {
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
            if graph.shape(node.args[0]).len() > MAX_PAIRS {
                return None;
            }
            let values = elements(graph, node.args[0], &mut known)?;
            let pair = |p: usize| {
                let (k, g) = (p / extent, p % extent);
                (k / inner * extent + g) * inner + k % inner
            };
            let elements: Vec<usize> = (0..values.len()).map(pair).collect();
            let one = |k: usize| {
                let members = elements[k * extent..(k + 1) * extent].iter();
                members.map(|&element| values[element].clone()).collect()
            };
            let groups = (0..outer * inner).map(one).collect();
            let elements = elements.into_iter().map(narrow).collect();
            Some(Groups { groups, sum: next, elements })
        }
        // What is added to the whole sum is added to each of its terms.
        Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
            let (a, b) = (node.args[0], node.args[1]);
            let (mut found, other, negative) = match groups(graph, a) {
                Some(found) => (found, b, *op == Binary::Sub),
                None if *op == Binary::Add => (groups(graph, b)?, a, false),
                None => return None,
            };
            let other = elements(graph, other, &mut known)?;
            for (terms, other) in found.groups.iter_mut().zip(&other) {
                for term in terms {
                    term.extend(other.iter().map(|&(s, k, sign)| (s, k, sign != negative)));
                }
            }
            Some(found)
        }
        _ => None,
    }
}

/// The elements of a node, as sums of elements of inputs.
pub(super) fn elements(
    graph: &Graph,
    id: NodeId,
    known: &mut FxHashMap<NodeId, Vec<Element>>,
) -> Option<Vec<Element>> {
    if let Some(found) = known.get(&id) {
        return Some(found.clone());
    }
    let node = graph.node(id);
    let len = node.shape.len();
    let mut elements_of = |k: usize| elements(graph, node.args[k], known);
    let found = match &node.op {
        Op::Input { .. } => {
            let source = source(&node.op)?;
            (0..len).map(|k| Some(vec![(source, u32::try_from(k).ok()?, false)])).collect()
        }
        Op::Reshape(_) => elements_of(0),
        Op::Unary(Unary::Neg) => elements_of(0).map(negated),
        Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
            let (a, b) = (elements_of(0)?, elements_of(1)?);
            let b = if *op == Binary::Sub { negated(b) } else { b };
            Some(a.into_iter().zip(b).map(|(a, b)| [a, b].concat()).collect())
        }
        Op::Broadcast(to) => {
            let unstretched = elements_of(0)?;
            let places = stretched_places(graph.shape(node.args[0]), to);
            Some(places.into_iter().map(|k| unstretched[k].clone()).collect())
        }
        Op::Gather if graph.shape(node.args[0]).rank() == 1 => {
            let index = graph.as_constant(node.args[1])?.values();
            let table = elements_of(0)?;
            index.iter().map(|&k| table.get(k as usize).cloned()).collect()
        }
        _ => None,
    }?;
    known.insert(id, found.clone());
    Some(found)
}

/// Which element of an array each element of the array stretched to a shape is.
pub(super) fn stretched_places(from: &Shape, to: &Shape) -> Vec<usize> {
    let (from, extents) = (from.extents(), to.extents());
    let missing = extents.len() - from.len();
    let place = |k: usize| {
        let (mut rest, mut index, mut stride) = (k, 0, 1);
        for axis in (0..extents.len()).rev() {
            let here = rest % extents[axis];
            rest /= extents[axis];
            if axis >= missing {
                let extent = from[axis - missing];
                index += stride * if extent == 1 { 0 } else { here };
                stride *= extent;
            }
        }
        index
    };
    (0..to.len()).map(place).collect()
}

fn negated(elements: Vec<Element>) -> Vec<Element> {
    let negated = |element: Element| element.into_iter().map(|(s, k, sign)| (s, k, !sign));
    elements.into_iter().map(|element| negated(element).collect()).collect()
}
