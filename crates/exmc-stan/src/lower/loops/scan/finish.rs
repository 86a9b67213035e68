//! What a walk as steps has added and written -> a scan with its outputs, and variables that refer
//! to them.

use std::sync::Arc;

use exmc_fault::{Fault, planted};
use exmc_graph::{DType, Graph, NodeId, Op, Reduction, ScanBody, Shape, SharedBody};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Steps;
use super::body::{ALL, Carry, LateElements, StepBody};
use super::movement::Element;
use super::totals::Total;
use crate::lower::Lowering;
use crate::lower::abort::LowerResult;
use crate::lower::loops::lanes::Touch;
use crate::lower::target::Terms;
use crate::lower::variables::gather::pick;
use crate::lower::variables::lane_value::{Form, LaneValue, lane_of};
use crate::lower::variables::store::{Cells, Source};
use crate::source::Span;
use crate::typed::VariableId;

/// A term of the loop.
enum Part {
    /// One that does not depend on earlier steps.
    Outside(NodeId),
    /// One that does.
    Of(Total),
}

/// What a state is after the loop.
enum Last {
    /// A value that no step needs.
    Value(LaneValue),
    /// Its carry.
    Carry(usize),
    /// Number of the stacked output whose last row it is.
    Stacked(usize, Vec<usize>),
}

/// What a late variable is after the loop: elements of a stacked output.
struct Written {
    variable: VariableId,
    /// Addresses, and where they are in the output.
    places: Vec<(u32, u32)>,
    output: usize,
}

/// All that is taken from a body.
#[derive(Default)]
struct Outputs {
    terms: Vec<Part>,
    required: Vec<Part>,
    stacked: Vec<NodeId>,
    lasts: Vec<(VariableId, Last)>,
    written: Vec<Written>,
}

impl Outputs {
    /// Adds a stacked output.
    fn stack(&mut self, node: NodeId) -> usize {
        self.stacked.push(node);
        self.stacked.len() - 1
    }
}

impl Lowering<'_> {
    /// Makes a scan of what steps did, `first` nodes there were before; nothing where they did
    /// something that has no form for one step.
    pub(super) fn fold_steps(
        &mut self,
        steps: &Steps,
        terms: &Terms,
        first: usize,
        span: Span,
    ) -> Option<()> {
        let mut late: FxHashMap<VariableId, LateElements> = FxHashMap::default();
        for (id, late_variable) in &steps.late {
            let after = self.env.stores[id.0 as usize].clone()?;
            let before = self.as_nodes(&late_variable.before);
            late.insert(*id, LateElements { before, after: self.as_nodes(&after) });
        }
        let mut beginnings: Vec<(VariableId, NodeId)> = Vec::new();
        for id in steps.states.keys() {
            let value = self.read_whole(*id, span).ok()?;
            beginnings.push((*id, value.to_node(&mut self.sink.graph)));
        }
        self.touch_around(steps).ok()?;
        let is_recorded = !self.enclosing.records.is_empty();
        let mut body = StepBody::new(&mut self.sink.graph, steps, late, first, is_recorded);
        let dependent = body.dependent();
        let outputs = body.outputs(terms)?;
        let made = body.finish(&outputs, &beginnings)?;
        self.take_outputs(terms, &outputs, made.as_ref(), span).ok()?;
        if self.refers_to(&dependent) {
            return None;
        }
        self.sink.rolled = true;
        Some(())
    }

    /// Notes for the loops around that these steps have read and written elements of late
    /// variables: while steps are walked that is noted for the loops inside only.
    fn touch_around(&mut self, steps: &Steps) -> LowerResult<()> {
        if planted(Fault::StepsUnseenAround) {
            return Ok(());
        }
        let mut inputs: Vec<NodeId> = steps.reads.keys().copied().collect();
        inputs.sort_unstable();
        for input in inputs {
            let read = &steps.reads[&input];
            let home = steps.late[&read.variable].before.level;
            self.touch(read.variable, home, &read.flat, true, Touch::Read)?;
        }
        for (id, late) in &steps.late {
            let written: Vec<u32> = late
                .writer
                .iter()
                .zip(0..)
                .filter(|(step, _)| **step != 0)
                .map(|(_, a)| a)
                .collect();
            self.touch(*id, late.before.level, &written, true, Touch::Write)?;
        }
        Ok(())
    }

    /// Whether variables that there are now refer to some nodes.
    fn refers_to(&self, nodes: &FxHashSet<NodeId>) -> bool {
        let depth = self.depth();
        let live = self.env.stores.iter().flatten().filter(|storage| storage.level <= depth);
        live.into_iter().any(|storage| match &storage.cells {
            Cells::Whole(value) => is_among(value, nodes),
            Cells::Mixed { sources, .. } => sources
                .iter()
                .any(|source| matches!(source, Source::Node(node) if nodes.contains(node))),
        })
    }

    fn take_outputs(
        &mut self,
        terms: &Terms,
        outputs: &Outputs,
        scan: Option<&Scan>,
        span: Span,
    ) -> LowerResult<()> {
        let output = |k: usize| scan.map(|scan| scan.stacked[k]);
        let mut next = 0;
        let mut all = |g: &mut Graph, part: &Part, how: Reduction| match part {
            Part::Outside(node) => *node,
            Part::Of(total) => {
                let steps = output(next).expect("a total is an output of the scan");
                next += 1;
                let reduced = g.reduce(how, steps, &[0]);
                match (total.once, how) {
                    (Some(once), Reduction::Sum) => g.add(reduced, once),
                    (Some(once), _) => g.and(reduced, once),
                    (None, _) => reduced,
                }
            }
        };
        for ((key, name, _), part) in terms.keyed().zip(&outputs.terms) {
            let node = all(&mut self.sink.graph, part, Reduction::Sum);
            self.env.terms.add(&mut self.sink.graph, key, || name.to_owned(), node);
        }
        for part in &outputs.required {
            let node = all(&mut self.sink.graph, part, Reduction::Min);
            self.env.terms.required.push(node);
        }
        for written in &outputs.written {
            let stack = output(written.output).expect("what was written is an output of the scan");
            let source = Source::Node(stack);
            self.note_write(written.variable, &source);
            let lanes = self.env.stores[written.variable.0 as usize].as_ref();
            let lanes = lanes.map_or(1, |storage| self.env.levels[storage.level].count);
            if let Some(storage) = &mut self.env.stores[written.variable.0 as usize] {
                let flat: Vec<u32> = written.places.iter().map(|(address, _)| *address).collect();
                storage.write(lanes, &flat, source, |k| written.places[k].1);
                storage.drop_unused();
            }
        }
        for (id, last) in &outputs.lasts {
            let value = match last {
                Last::Value(value) => value.clone(),
                Last::Carry(k) => {
                    let scan = scan.expect("a carry is an output of the scan");
                    LaneValue::node(scan.carries[*k], false)
                }
                Last::Stacked(k, shape) => {
                    let stack = output(*k).expect("a last row is of an output of the scan");
                    let size: usize = shape.iter().product();
                    let len = self.sink.graph.shape(stack).len();
                    let places: Vec<u32> = ((len - size) as u32..len as u32).collect();
                    LaneValue::node(pick(&mut self.sink.graph, stack, &places, shape), false)
                }
            };
            self.store_whole(*id, value, span)?;
        }
        Ok(())
    }
}

fn is_among(value: &LaneValue, nodes: &FxHashSet<NodeId>) -> bool {
    match &value.form {
        Form::Node(node) => nodes.contains(node),
        Form::Known(_) => false,
        Form::Tuple(slots) => slots.iter().any(|slot| is_among(slot, nodes)),
    }
}

/// A scan that was made.
struct Scan {
    carries: Vec<NodeId>,
    /// In the order of [`StepBody::finish`]: terms and requirements that depend on earlier steps,
    /// then all others.
    stacked: Vec<NodeId>,
}

impl StepBody<'_> {
    /// What the steps add and leave.
    fn outputs(&mut self, terms: &Terms) -> Option<Outputs> {
        let mut outputs = Outputs::default();
        let mut totals = Vec::new();
        for (list, reduction) in [
            (terms.list.iter().map(|(_, node)| *node).collect::<Vec<_>>(), Reduction::Sum),
            (terms.required.clone(), Reduction::Min),
        ] {
            for node in list {
                let part = match self.depends(node) {
                    false => Part::Outside(node),
                    true => {
                        let total = self.total(node).filter(|total| total.how == reduction)?;
                        totals.push(total.step);
                        Part::Of(total)
                    }
                };
                if reduction == Reduction::Sum {
                    &mut outputs.terms
                } else {
                    &mut outputs.required
                }
                .push(part);
            }
        }
        outputs.stacked = totals;
        self.written(&mut outputs)?;
        self.lasts(&mut outputs)?;
        Some(outputs)
    }

    /// What late variables hold afterwards.
    fn written(&mut self, outputs: &mut Outputs) -> Option<()> {
        let steps = self.steps;
        let mut ids: Vec<VariableId> = steps.late.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let writer = &steps.late[&id].writer;
            let mut places: Vec<(u32, u32)> = (writer.iter().zip(0..))
                .filter(|(step, _)| **step != 0)
                .map(|(step, address)| (step - 1, address))
                .collect();
            places.sort_unstable();
            let mut elements = Vec::with_capacity(places.len());
            for (_, address) in &places {
                let (node, offset) = self.late.get(&id)?.after[*address as usize];
                elements.push(self.element(node, offset)?);
            }
            if !elements.iter().any(|Element { base, .. }| self.depends(*base)) {
                continue;
            }
            let mut present: Vec<u32> = places.iter().map(|(step, _)| *step).collect();
            present.dedup();
            let groups = || places.chunk_by(|a, b| a.0 == b.0);
            let each = groups().map(<[(u32, u32)]>::len).max()?;
            // Steps that write less than others have zeros behind it, which nobody reads.
            let zero = self.g.scalar(0.0);
            let (mut rows, mut in_output) = (Vec::with_capacity(present.len() * each), Vec::new());
            let mut next = 0;
            for group in groups() {
                let group_elements = &elements[next..next + group.len()];
                next += group.len();
                rows.extend_from_slice(group_elements);
                rows.extend((group.len()..each).map(|_| Element { base: zero, offset: 0 }));
                let first = group[0].0 * each as u32;
                in_output.extend((0..group.len() as u32).map(|k| first + k));
            }
            let layout = self.layout_of(&present)?;
            let mut node = self.chosen(&rows, layout)?;
            if layout != ALL {
                let mask = self.mask(present.iter().copied())?;
                let zero = self.body.scalar(0.0);
                node = self.body.select(mask, node, zero);
            }
            let output = outputs.stack(node);
            let places =
                places.iter().zip(in_output).map(|((_, a), position)| (*a, position)).collect();
            outputs.written.push(Written { variable: id, places, output });
        }
        Some(())
    }

    /// What states are afterwards.
    fn lasts(&mut self, outputs: &mut Outputs) -> Option<()> {
        let steps = self.steps;
        for (id, value) in &steps.finals {
            let last = match &value.form {
                _ if !value.lanes => Last::Value(value.clone()),
                Form::Known(known) => {
                    Last::Value(LaneValue::known(lane_of(known, steps.count - 1)))
                }
                Form::Node(node) if !self.depends(*node) => {
                    let shape = self.g.shape(*node).extents()[1..].to_vec();
                    let (len, size) = (self.g.shape(*node).len(), shape.iter().product::<usize>());
                    let places: Vec<u32> = ((len - size) as u32..len as u32).collect();
                    Last::Value(LaneValue::node(pick(self.g, *node, &places, &shape), false))
                }
                Form::Node(node) => {
                    let laid = self.value(*node).filter(|laid| laid.layout == ALL)?;
                    let shape = self.g.shape(*node).extents()[1..].to_vec();
                    match self.carry_of_state(*id) {
                        Some(carry) => Last::Carry(carry),
                        None => Last::Stacked(outputs.stack(laid.node), shape),
                    }
                }
                Form::Tuple(_) => return None,
            };
            outputs.lasts.push((*id, last));
        }
        Some(())
    }

    /// What a state is at the end of a step.
    fn after_step(&mut self, id: VariableId) -> Option<NodeId> {
        let steps = self.steps;
        let (_, value) = steps.finals.iter().find(|(variable, _)| *variable == id)?;
        let node = value.to_node(self.g);
        match value.lanes {
            true => self.argument(node, ALL),
            false => self.fixed_in_body(node),
        }
    }

    /// The scan, and what a state that it carries is afterwards.
    fn finish(
        mut self,
        outputs: &Outputs,
        beginnings: &[(VariableId, NodeId)],
    ) -> Option<Option<Scan>> {
        let mut next = Vec::new();
        // What is carried on may need more carries.
        while next.len() < self.carries.len() {
            let (what, shape) = self.carries[next.len()].clone();
            let node = match what {
                Carry::State(id) => self.after_step(id)?,
                Carry::Chain(number, 1) => self.left_by_step(number)?,
                Carry::Chain(number, depth) => self.chains[number].carries[depth - 2].1,
            };
            next.push(self.reshaped(node, shape));
        }
        if next.is_empty() && outputs.stacked.is_empty() {
            return Some(None);
        }
        if planted(Fault::StaleStep)
            && let Some(last) = next.last_mut()
        {
            let name = format!("carry{}", self.carries.len() - 1);
            *last = self.body.find_input(&name)?;
        }
        let mut starts = Vec::new();
        for (what, shape) in self.carries.clone() {
            starts.push(match what {
                Carry::State(id) => {
                    let (_, node) = beginnings.iter().find(|(variable, _)| *variable == id)?;
                    self.g.reshape(*node, shape)
                }
                Carry::Chain(number, depth) => self.start_of_chain(number, depth, &shape)?,
            });
        }
        let is_real = |g: &Graph, id: &NodeId| g.node(*id).dtype == DType::Real;
        let mut real = |id: NodeId| match self.body.node(id).dtype {
            DType::Real => id,
            DType::Int => {
                let zero = self.body.scalar(0.0);
                self.body.binary(exmc_graph::Binary::Add, id, zero)
            }
        };
        let next: Vec<NodeId> = next.into_iter().map(&mut real).collect();
        let stacked: Vec<NodeId> = outputs.stacked.iter().map(|id| real(*id)).collect();
        if !starts.iter().all(|id| is_real(self.g, id)) {
            return None;
        }
        let counts = [starts.len(), self.sequences.len(), self.fixed.len()];
        let (carried, width) = (starts.len(), stacked.len());
        let body = SharedBody(Arc::new(ScanBody { graph: self.body, next, stacked, counts }));
        let mut args = starts;
        args.extend(self.sequences);
        args.extend(self.fixed);
        let length = self.steps.count;
        let scan = self.g.apply(Op::Scan { length, reverse: false, body }, &args).ok()?;
        let mut project = |k: usize| self.g.apply(Op::Project(k), &[scan]).ok();
        let carries = (0..carried).map(&mut project).collect::<Option<_>>()?;
        let stacked = (carried..carried + width).map(&mut project).collect::<Option<_>>()?;
        Some(Some(Scan { carries, stacked }))
    }

    /// What a chain's numbers are before the first step, so many steps from it on.
    fn start_of_chain(&mut self, number: usize, depth: usize, shape: &Shape) -> Option<NodeId> {
        let chain = &self.chains[number];
        let given: Vec<Option<Element>> =
            (0..chain.width).map(|k| chain.starts.get(&(depth, k)).copied()).collect();
        let elements: Option<Vec<Element>> = given.iter().copied().collect();
        match elements {
            Some(elements) => self.outer_elements(&elements, shape.extents()),
            // Nobody reads it.
            None if given.iter().all(Option::is_none) => Some(self.g.filled(shape, 0.0)),
            None => None,
        }
    }
}
