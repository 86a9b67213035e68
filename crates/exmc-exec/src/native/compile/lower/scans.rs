//! Scans -> recurrences, parts of the program that run once a step, or plans of the reference
//! machinery.

use exmc_graph::{
    Binary, DType, Graph, GraphError, NodeId, Op, Precision, Role, ScanBody, Tensor, evaluate,
    fold_constants,
};

use super::Lowering;
use super::arena::{Arena, lines};
use crate::error::CompileError;
use crate::native::compile::columns::columns;
use crate::native::compile::loop_ir::{Compute, values};
use crate::native::compile::rewrite::rewrite;
use crate::native::compile::schedule::ready;
use crate::native::compile::split::{Source, source};
use crate::native::program::{LANES, Place, Region, Stage};
use crate::native::run::scan_loop::{Coefficient, Move, Recurrence, ScanLoop};
use crate::native::split_scans;

/// A scan as it is lowered.
pub(super) struct Scan<'a> {
    /// Its value's number.
    value: usize,
    pub(super) length: usize,
    pub(super) reverse: bool,
    pub(super) body: &'a ScanBody,
    /// The outputs that are read: value, number.
    pub(super) outputs: Vec<(usize, usize)>,
}

/// What the recurrence's factor or term is in the body.
enum Part {
    Input(Source, usize),
    Known(f64),
}

impl Lowering<'_> {
    pub(super) fn lower_scan(&mut self, k: usize, op: &Op) -> Result<Stage, CompileError> {
        let Op::Scan { length, reverse, body } = op else { unreachable!("lowered as a scan") };
        let mut outputs = Vec::new();
        for (output, other) in self.values.iter().enumerate() {
            if let Compute::Output { scan, number } = other.work
                && scan == k
            {
                outputs.push((output, number));
            }
        }
        let body = &*body.0;
        let scan = Scan { value: k, length: *length, reverse: *reverse, body, outputs };
        if *length > 0 {
            if let Some(recurrence) = self.recurrence(&scan) {
                return Ok(Stage::Recurrence(recurrence));
            }
            if let Some(markov) = self.markov(&scan) {
                return Ok(Stage::LogSumExpScan(markov));
            }
            if let Some(mixing) = self.mixing(&scan) {
                return Ok(Stage::LinearScan(mixing));
            }
            if let Some(repeat) = self.repeat(&scan)? {
                return Ok(Stage::ScanLoop(repeat));
            }
        }
        self.lower_plan(k, op)
    }

    /// A scan of one state with `next = a state + b` and nothing else.
    fn recurrence(&mut self, scan: &Scan<'_>) -> Option<Recurrence> {
        let ScanBody { graph, next, stacked, counts } = scan.body;
        let (&[next], 1) = (&next[..], counts[0]) else { return None };
        let state = graph.find_input("carry0")?;
        let width = graph.shape(state).len();
        let number = |id: NodeId| (id == state || id == next).then_some(());
        scan.outputs
            .iter()
            .try_for_each(|&(_, k)| k.checked_sub(1).map_or(Some(()), |k| number(stacked[k])))?;
        if next == state || width == 0 {
            return None;
        }
        let args = |id: NodeId, op: Binary| {
            let node = graph.node(id);
            (node.op == Op::Binary(op)).then(|| (node.args[0], node.args[1]))
        };
        // The factor of a product with the state.
        let factor = |id: NodeId| match args(id, Binary::Mul) {
            _ if id == state => Some(Part::Known(1.0)),
            Some((a, b)) if b == state => part(graph, a),
            Some((a, b)) if a == state => part(graph, b),
            _ => None,
        };
        let (a, b) = match args(next, Binary::Add) {
            Some((x, y)) => match (factor(x), factor(y)) {
                (Some(a), _) => (a, part(graph, y)?),
                (None, Some(a)) => (a, part(graph, x)?),
                _ => return None,
            },
            None => (factor(next)?, Part::Known(0.0)),
        };
        let (a, b) = (self.coefficient(scan, width, &a), self.coefficient(scan, width, &b));
        let start = self.argument(scan, Source::State(0)).0;
        let held = self.reserve(width);
        let [before, after, last] = self.state_outputs(scan, state);
        let (length, reverse) = (scan.length, scan.reverse);
        Some(Recurrence { length, reverse, width, start, state: held, a, b, before, after, last })
    }

    /// Places for the states before every step, after it, and after the last step, where somebody
    /// reads them.
    pub(super) fn state_outputs(&mut self, scan: &Scan<'_>, state: NodeId) -> [Option<Place>; 3] {
        let [mut before, mut after, mut last] = [None; 3];
        for &(output, k) in &scan.outputs {
            let place = Some(self.allocate(output));
            match k.checked_sub(1) {
                None => last = place,
                Some(k) if scan.body.stacked[k] == state => before = place,
                Some(_) => after = place,
            }
        }
        [before, after, last]
    }

    /// Where a part is, for a state of `width` elements.
    fn coefficient(&mut self, scan: &Scan<'_>, width: usize, part: &Part) -> Coefficient {
        match part {
            Part::Known(value) => {
                let place = self.constant(Tensor::scalar(*value));
                Coefficient { place, strides: [0, 0] }
            }
            Part::Input(source, len) => {
                let place = self.argument(scan, *source).0;
                let steps = matches!(source, Source::Sequence(_));
                let next = usize::from(*len == width && width > 1);
                Coefficient { place, strides: [if steps { *len } else { 0 }, next] }
            }
        }
    }

    /// A place in the shared region for a number or array that is known now.
    pub(super) fn constant(&mut self, tensor: Tensor) -> Place {
        let (offset, len) = (self.shared, tensor.values().len());
        self.shared += lines(len);
        self.constants.push((tensor, offset));
        let (stream, step) = (len != 1, if len == 1 { 0 } else { LANES as u8 });
        Place { region: Region::Shared, stream, step, offset: super::narrow(offset) }
    }

    /// Place and length of an argument of a scan.
    pub(super) fn argument(&self, scan: &Scan<'_>, source: Source) -> (Place, usize) {
        let [carries, sequences, _] = scan.body.counts;
        let k = match source {
            Source::State(k) => k,
            Source::Sequence(k) => carries + k,
            Source::Fixed(k) => carries + sequences + k,
        };
        let view = self.values[scan.value].operands[k].0;
        (self.place(view), view.len)
    }

    /// A scan as a part of the program, unless it looks elements up by an index that changes.
    fn repeat(&mut self, scan: &Scan<'_>) -> Result<Option<ScanLoop>, CompileError> {
        let ScanBody { graph: body, next, stacked, counts } = scan.body;
        let n = counts[0];
        let mut wanted = next.clone();
        wanted.extend(scan.outputs.iter().filter_map(|&(_, k)| Some(stacked[k.checked_sub(n)?])));
        // In the program integers are numbers like others, which is why they cannot be an index.
        let mut graph = Graph::new();
        let imported = graph.import(body, &wanted, |g, id, name| {
            g.input(name, Role::Parameter, body.shape(id).clone(), DType::Real).map(Some)
        });
        let Ok::<_, GraphError>(roots) = imported else { return Ok(None) };
        let (graph, roots) = match split_scans(&graph, &roots) {
            Some((graph, roots)) => fold_constants(&graph, &roots),
            None => (graph, roots),
        };
        let (graph, roots) = columns(&graph, &roots);
        let (graph, roots) = rewrite(&graph, &roots, Precision::F64);
        // An index that has no value is reported when the loop runs.
        let Ok((values, views)) = values(&graph, &roots, true) else { return Ok(None) };
        let mut inner = Lowering {
            graph: &graph,
            values: &values,
            precisions: vec![Precision::F64; values.len()],
            ready: ready(&values),
            places: vec![None; values.len()],
            arena: Arena::starting_at(self.arena.end(), self.arena.reuse()),
            is_body: true,
            ordinary: Default::default(),
            shared: self.shared,
            parts: Vec::new(),
            constants: std::mem::take(&mut self.constants),
            indices: std::mem::take(&mut self.indices),
            matrices: Vec::new(),
            scans: std::mem::take(&mut self.scans),
        };
        let mut reads = Vec::new();
        let mut states: Vec<Option<Place>> = vec![None; n];
        for (k, value) in values.iter().enumerate() {
            let node = match value.work {
                Compute::Input(node) => node,
                Compute::Shared(node) => {
                    let known = evaluate(&graph, &[node], &|_| None);
                    let known = known.map_err(|error| CompileError::new(error.message()))?;
                    inner.places[k] = known.into_iter().next().map(|tensor| inner.constant(tensor));
                    continue;
                }
                _ => continue,
            };
            let source =
                source(&graph.node(node).op).expect("bodies have inputs of these names only");
            let (from, _) = self.argument(scan, source);
            match source {
                Source::State(state) => states[state] = Some(inner.allocate(k)),
                Source::Sequence(_) => {
                    let to = inner.allocate(k);
                    let (len, strides) = (value.len, [value.len, 0]);
                    reads.push(Move { from, to, len, stretch: false, strides });
                }
                Source::Fixed(_) => inner.places[k] = Some(from),
            }
        }
        let stages = inner.lower_stages()?;
        // What is read of a state that another state takes over must be read before that state is
        // written.
        let is_state = |k: usize| matches!(values[views[k].value].work, Compute::Input(_));
        let (mut starts, mut writes, mut late, mut ends) = (vec![], vec![], vec![], vec![]);
        let mut after = Vec::new();
        for (k, view) in views.iter().enumerate() {
            after.push((inner.place(*view), view.len));
            if k >= n {
                continue;
            }
            let len = body.shape(next[k]).len();
            let state = states[k].unwrap_or_else(|| inner.reserve(len));
            states[k] = Some(state);
            let stretch = after[k].1 < len;
            let plain = |from, to, stretch| Move { from, to, len, stretch, strides: [0, 0] };
            starts.push(plain(self.argument(scan, Source::State(k)).0, state, false));
            if is_state(k) {
                let copy = inner.reserve(len);
                writes.push(plain(after[k].0, copy, stretch));
                late.push(plain(copy, state, false));
            } else {
                late.push(plain(after[k].0, state, stretch));
            }
        }
        let Lowering { arena, shared, constants, indices, scans, .. } = inner;
        self.arena.extend_to(arena.end());
        (self.shared, self.scans) = (shared, scans);
        (self.constants, self.indices) = (constants, indices);
        let mut stack = n;
        for &(output, k) in &scan.outputs {
            let to = self.allocate(output);
            match (k < n).then(|| states[k]).flatten() {
                Some(from) => {
                    let len = self.values[output].len;
                    ends.push(Move { from, to, len, stretch: false, strides: [0, 0] });
                }
                None => {
                    let (from, known) = after[stack];
                    let len = body.shape(wanted[stack]).len();
                    writes.push(Move { from, to, len, stretch: known < len, strides: [0, len] });
                    stack += 1;
                }
            }
        }
        writes.extend(late);
        let (length, reverse) = (scan.length, scan.reverse);
        Ok(Some(ScanLoop { length, reverse, body: stages, starts, reads, writes, ends }))
    }
}

/// A factor or term that a recurrence can read: an input, a number, or one of these stretched.
fn part(graph: &Graph, id: NodeId) -> Option<Part> {
    if let Some(value) = graph.as_uniform(id) {
        return Some(Part::Known(value));
    }
    let node = graph.node(id);
    match &node.op {
        Op::Broadcast(_) if graph.shape(node.args[0]).len() == 1 => part(graph, node.args[0]),
        op => match source(op)? {
            Source::State(_) => None,
            known => Some(Part::Input(known, node.shape.len())),
        },
    }
}
