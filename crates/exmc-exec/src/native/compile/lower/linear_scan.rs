//! A scan whose step is linear in its state, with one array of weights -> mixtures of the states
//! before.

use exmc_graph::{Binary, Graph, NodeId, Op, Reduction};
use rustc_hash::FxHashMap;

use super::log_sum_exp_scan::{elements, stretched_places};
use super::scans::Scan;
use super::{Lowering, narrow};
use crate::native::compile::split::{Source, source};
use crate::native::run::linear_scan::{LinearScan, MAX_STATES};

/// An element that is linear in the state: weights, none being one, and elements of the state.
type Row = Vec<(Option<u32>, u32)>;

impl Lowering<'_> {
    /// A scan of one state that is such a step, if its outputs are the states.
    pub(super) fn mixing(&mut self, scan: &Scan<'_>) -> Option<LinearScan> {
        let body = scan.body;
        let (&[next], 1) = (&body.next[..], body.counts[0]) else { return None };
        let graph = &body.graph;
        let state = graph.find_input("carry0")?;
        let width = graph.shape(state).len();
        let known = |id: NodeId| id == state || id == next;
        let mut numbers = scan.outputs.iter().filter_map(|&(_, k)| k.checked_sub(1));
        if !(2..=MAX_STATES).contains(&width) || !numbers.all(|k| known(body.stacked[k])) {
            return None;
        }
        let (mixed, added) = mixed(graph, state, next);
        let mut rows = Rows { graph, mixed, weights: None };
        let found = rows.rows_of(next)?;
        let weights = rows.weights?;
        let term = |(weight, from): (Option<u32>, u32)| Some([weight?, from]);
        let terms = found.into_iter().map(|row| row.into_iter().map(term).collect());
        let terms: Vec<Vec<[u32; 2]>> = terms.collect::<Option<_>>()?;
        let stride = match weights {
            Source::Sequence(k) => graph.shape(graph.find_input(&format!("x{k}"))?).len(),
            _ => 0,
        };
        let added = added.map(|source| self.argument(scan, source).0);
        let weights = self.argument(scan, weights).0;
        let start = self.argument(scan, Source::State(0)).0;
        let states = self.state_outputs(scan, state);
        let (length, reverse) = (scan.length, scan.reverse);
        Some(LinearScan { length, reverse, width, start, added, weights, stride, terms, states })
    }
}

/// What is mixed: the state, or its sum with a sequence if the next state needs it for nothing
/// else.
fn mixed(graph: &Graph, state: NodeId, next: NodeId) -> (NodeId, Option<Source>) {
    let live = graph.reachable(&[next]);
    let mut users =
        graph.ids().filter(|id| live[id.index()] && graph.node(*id).args.contains(&state));
    if let (Some(user), None) = (users.next(), users.next()) {
        let node = graph.node(user);
        let other = node.args.iter().find(|arg| **arg != state);
        if node.op == Op::Binary(Binary::Add)
            && let Some(&other) = other
            && let Some(known @ Source::Sequence(_)) = source(&graph.node(other).op)
        {
            return (user, Some(known));
        }
    }
    (state, None)
}

/// Elements of a body as rows of a matrix.
struct Rows<'g> {
    graph: &'g Graph,
    mixed: NodeId,
    weights: Option<Source>,
}

impl Rows<'_> {
    fn rows_of(&mut self, id: NodeId) -> Option<Vec<Row>> {
        let graph = self.graph;
        let node = graph.node(id);
        let len = node.shape.len();
        if id == self.mixed {
            return Some((0..len).map(|k| vec![(None, narrow(k))]).collect());
        }
        match &node.op {
            Op::Reshape(_) => self.rows_of(node.args[0]),
            Op::Broadcast(to) => {
                let rows = self.rows_of(node.args[0])?;
                let places = stretched_places(graph.shape(node.args[0]), to);
                Some(places.into_iter().map(|k| rows[k].clone()).collect())
            }
            Op::Binary(Binary::Mul) => {
                let (a, b) = (node.args[0], node.args[1]);
                let (rows, factor) = match self.rows_of(a) {
                    Some(rows) => (rows, b),
                    None => (self.rows_of(b)?, a),
                };
                self.weighted(rows, factor)
            }
            Op::Gather if graph.shape(node.args[0]).rank() == 1 => {
                let index = graph.as_constant(node.args[1])?.values();
                let rows = self.rows_of(node.args[0])?;
                index.iter().map(|&k| rows.get(k as usize).cloned()).collect()
            }
            Op::ScatterAdd { len } if graph.shape(node.args[0]).rank() == 1 => {
                let index = graph.as_constant(node.args[1])?.values();
                let mut sums = vec![Row::new(); *len];
                for (row, &k) in self.rows_of(node.args[0])?.into_iter().zip(index) {
                    sums.get_mut(k as usize)?.extend(row);
                }
                Some(sums)
            }
            Op::Reduce(Reduction::Sum, axes) => {
                let &[axis] = &axes[..] else { return None };
                let extents = graph.shape(node.args[0]).extents();
                let inner: usize = extents[axis + 1..].iter().product();
                let mut sums = vec![Row::new(); len];
                for (k, row) in self.rows_of(node.args[0])?.into_iter().enumerate() {
                    sums[k / (inner * extents[axis]) * inner + k % inner].extend(row);
                }
                Some(sums)
            }
            _ => None,
        }
    }

    /// Rows times elements of the one array of weights.
    fn weighted(&mut self, rows: Vec<Row>, factor: NodeId) -> Option<Vec<Row>> {
        let factors = elements(self.graph, factor, &mut FxHashMap::default())?;
        let mut products = Vec::new();
        for (row, factor) in rows.into_iter().zip(factors) {
            let &[(source, k, false)] = &factor[..] else { return None };
            if matches!(source, Source::State(_)) || *self.weights.get_or_insert(source) != source {
                return None;
            }
            let product =
                |(weight, from): (Option<u32>, u32)| weight.is_none().then_some((Some(k), from));
            products.push(row.into_iter().map(product).collect::<Option<Row>>()?);
        }
        Some(products)
    }
}
