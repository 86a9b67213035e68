//! Planning: a graph and its roots -> steps that read and write numbered slots.
//!
//! Every node that is computed at run time gets a slot; a slot is used again once nobody reads its
//! value any more. Reshapes and a scan's projections are other names for a value, and so is a
//! single element that only elementwise operations see stretched. Values that are known earlier
//! (constants, in a density everything that depends on data only) are *shared*: read, never
//! written.

use std::fmt;

use rustc_hash::FxHashMap;

use exmc_graph::{EvaluateError, Graph, NodeId, Op, Precision, ScanBody, Shape, Tensor, evaluate};

/// Where a value is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A slot of the frame.
    Slot(usize),
    /// A value that is known before the run.
    Shared(usize),
}

/// When a node's value is known; a node's time is the latest of its arguments'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Time {
    /// Before the run.
    Shared,
    /// Once in a run, before the steps (of a loop's body: what does not change from step to step).
    Head,
    /// In every step.
    Step,
}

/// A graph made ready to run.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Nodes whose values are shared, by number.
    pub(crate) shared: Vec<NodeId>,
    /// Length of every slot.
    pub(crate) slots: Vec<usize>,
    /// Slots of the inputs that are read, filled by the caller.
    pub(crate) inputs: Vec<(NodeId, usize)>,
    /// Steps that run once.
    pub(crate) head: Vec<Step>,
    /// Steps that run each time.
    pub(crate) steps: Vec<Step>,
    /// Where the roots' values are.
    pub(crate) roots: Vec<Source>,
    /// Plans of the loops' bodies, by number.
    pub(crate) loops: Vec<Loop>,
}

/// One operation with the places of its arguments and result.
#[derive(Debug)]
pub(crate) enum Step {
    /// An operation that a kernel computes.
    Apply { op: Op, args: Vec<(Source, Shape)>, shape: Shape, out: usize, precision: Precision },
    /// A loop, with its arguments and the slots of the outputs that are used.
    Scan { number: usize, args: Vec<Source>, outputs: Vec<Option<usize>> },
}

/// A counted loop over a planned body.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) length: usize,
    pub(crate) reverse: bool,
    /// Length of every carry.
    pub(crate) carries: Vec<usize>,
    /// Length of one step's part of every stacked output.
    pub(crate) stacked: Vec<usize>,
    /// Slots of the body's inputs, with the number of the argument that fills them.
    pub(crate) carry_slots: Vec<(usize, usize)>,
    pub(crate) sequence_slots: Vec<(usize, usize)>,
    pub(crate) fixed_slots: Vec<(usize, usize)>,
    /// The body; its roots are the next carries, then the stacked values.
    pub(crate) body: Plan,
    /// Values of the body's shared nodes.
    pub(crate) shared: Vec<Tensor>,
}

impl Plan {
    /// Every step as `s3 = mul(s0, c1) : [8]`: slot 3 from slot 0 and shared value 1.
    pub(crate) fn print(&self, indent: &str) -> String {
        let mut text = String::new();
        for (id, slot) in &self.inputs {
            text.push_str(&format!("{indent}s{slot} = input {id}\n"));
        }
        for (step, name) in
            self.head.iter().map(|s| (s, "once ")).chain(self.steps.iter().map(|s| (s, "")))
        {
            text.push_str(&format!("{indent}{name}{}", step));
            text.push('\n');
            if let Step::Scan { number, .. } = step {
                text.push_str(&self.loops[*number].body.print(&format!("{indent}  ")));
            }
        }
        let roots: Vec<_> = self.roots.iter().map(ToString::to_string).collect();
        text.push_str(&format!("{indent}result {}\n", roots.join(", ")));
        text
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slot(slot) => write!(f, "s{slot}"),
            Self::Shared(number) => write!(f, "c{number}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply { op, args, shape, out, precision } => {
                let args: Vec<_> = args.iter().map(|(source, _)| source.to_string()).collect();
                let rounded = if *precision == Precision::F32 { " f32" } else { "" };
                write!(f, "s{out} = {}({}) : {shape}{rounded}", op.name(), args.join(", "))
            }
            Self::Scan { args, outputs, .. } => {
                let outputs: Vec<_> = outputs
                    .iter()
                    .map(|out| out.map_or_else(|| "_".to_owned(), |slot| format!("s{slot}")))
                    .collect();
                let args: Vec<_> = args.iter().map(ToString::to_string).collect();
                write!(f, "{} = scan({})", outputs.join(", "), args.join(", "))
            }
        }
    }
}

/// A value: an output of a node (0 except for scans).
type Value = (NodeId, usize);

/// Plans the nodes that `roots` need, given when each node is known, and the precisions of all
/// nodes (none: `f64`).
///
/// # Errors
/// When a constant of a loop's body cannot be computed.
pub(crate) fn plan(
    graph: &Graph,
    roots: &[NodeId],
    time: &[Time],
    precisions: &[Precision],
) -> Result<Plan, EvaluateError> {
    let live = graph.reachable(roots);
    let names = names(graph, &live, roots, time);
    let mut planner = Planner {
        graph,
        time,
        precisions,
        projected: FxHashMap::default(),
        last_use: last_uses(graph, &live, &names, time, roots),
        names,
        place: FxHashMap::default(),
        free: FxHashMap::default(),
        plan: Plan::default(),
    };
    for id in graph.ids().filter(|id| live[id.index()]) {
        if let Op::Project(k) = graph.node(id).op {
            planner.projected.entry(graph.node(id).args[0]).or_default().push(k);
        }
    }
    let is_input = |id: NodeId| matches!(graph.node(id).op, Op::Input { .. });
    let at_run_time = |id: &NodeId| live[id.index()] && time[id.index()] > Time::Shared;
    for id in graph.ids().filter(at_run_time).filter(|id| is_input(*id)) {
        let slot = planner.allocate((id, 0));
        planner.plan.inputs.push((id, slot));
    }
    for phase in [Time::Head, Time::Step] {
        for id in graph.ids().filter(at_run_time).filter(|id| !is_input(*id)) {
            let computed = planner.names[id.index()] == (id, 0);
            if computed && time[id.index()] == phase {
                planner.add(id)?;
            }
        }
    }
    planner.plan.roots = roots.iter().map(|&root| planner.source(root)).collect();
    Ok(planner.plan)
}

struct Planner<'g> {
    graph: &'g Graph,
    time: &'g [Time],
    precisions: &'g [Precision],
    /// The outputs of each scan that somebody reads.
    projected: FxHashMap<NodeId, Vec<usize>>,
    /// The value that each node stands for.
    names: Vec<Value>,
    /// The last node that reads a value; values that must stay have no entry.
    last_use: FxHashMap<Value, NodeId>,
    place: FxHashMap<Value, Source>,
    free: FxHashMap<usize, Vec<usize>>,
    plan: Plan,
}

impl Planner<'_> {
    /// Adds the step that computes a node.
    fn add(&mut self, id: NodeId) -> Result<(), EvaluateError> {
        let node = self.graph.node(id);
        let args: Vec<Source> = node.args.iter().map(|&arg| self.source(arg)).collect();
        let step = if let Op::Scan { length, reverse, body } = &node.op {
            let body = &*body.0;
            let count = body.next.len() + body.stacked.len();
            let used = self.projected(id, count);
            let shapes = body.next.iter().chain(&body.stacked).map(|&o| body.graph.shape(o).len());
            let lengths: Vec<usize> = shapes
                .enumerate()
                .map(|(k, n)| if k < body.next.len() { n } else { n * length })
                .collect();
            let outputs = (0..count)
                .map(|k| used[k].then(|| self.allocate_len((id, k), lengths[k])))
                .collect();
            self.plan.loops.push(plan_loop(*length, *reverse, body)?);
            Step::Scan { number: self.plan.loops.len() - 1, args, outputs }
        } else {
            let shapes = node.args.iter().map(|&arg| self.graph.shape(arg).clone());
            let args = args.into_iter().zip(shapes).collect();
            let out = self.allocate((id, 0));
            let precision = self.precisions.get(id.index()).copied().unwrap_or_default();
            Step::Apply { op: node.op.clone(), args, shape: node.shape.clone(), out, precision }
        };
        match self.time[id.index()] {
            Time::Step => self.plan.steps.push(step),
            _ => self.plan.head.push(step),
        }
        self.release(id);
        Ok(())
    }

    /// Frees the slots of the values that `id` reads last.
    fn release(&mut self, id: NodeId) {
        for &arg in &self.graph.node(id).args {
            let value = self.names[arg.index()];
            if self.last_use.get(&value) == Some(&id)
                && let Some(&Source::Slot(slot)) = self.place.get(&value)
            {
                // An argument that is given twice is freed once.
                self.last_use.remove(&value);
                self.free.entry(self.plan.slots[slot]).or_default().push(slot);
            }
        }
    }

    /// Which outputs of a scan somebody reads.
    fn projected(&self, scan: NodeId, count: usize) -> Vec<bool> {
        let mut used = vec![false; count];
        for k in self.projected.get(&scan).into_iter().flatten() {
            used[*k] = true;
        }
        used
    }

    fn allocate(&mut self, value: Value) -> usize {
        self.allocate_len(value, self.graph.shape(value.0).len())
    }

    fn allocate_len(&mut self, value: Value, len: usize) -> usize {
        // The head runs before all steps, so only steps may use a slot again.
        let again = (self.time[value.0.index()] == Time::Step)
            .then(|| self.free.get_mut(&len).and_then(Vec::pop))
            .flatten();
        let slot = again.unwrap_or_else(|| {
            self.plan.slots.push(len);
            self.plan.slots.len() - 1
        });
        self.place.insert(value, Source::Slot(slot));
        slot
    }

    /// Where a node's value is; the first question for a shared value gives it a number.
    fn source(&mut self, id: NodeId) -> Source {
        let value = self.names[id.index()];
        if let Some(&source) = self.place.get(&value) {
            return source;
        }
        assert_eq!(self.time[value.0.index()], Time::Shared, "{id} is read before it is computed");
        self.plan.shared.push(value.0);
        let source = Source::Shared(self.plan.shared.len() - 1);
        self.place.insert(value, source);
        source
    }
}

/// The value that each live node stands for.
fn names(graph: &Graph, live: &[bool], roots: &[NodeId], time: &[Time]) -> Vec<Value> {
    let mut is_read_whole = vec![false; graph.len()];
    for id in graph.ids().filter(|id| live[id.index()]) {
        let node = graph.node(id);
        if !node.op.is_elementwise() {
            for arg in &node.args {
                is_read_whole[arg.index()] = true;
            }
        }
    }
    for root in roots {
        is_read_whole[root.index()] = true;
    }
    let mut names: Vec<Value> = Vec::with_capacity(graph.len());
    for id in graph.ids() {
        let node = graph.node(id);
        let argument = |k: usize| names[node.args[k].index()];
        names.push(match &node.op {
            Op::Reshape(_) => argument(0),
            Op::Broadcast(_)
                if !is_read_whole[id.index()] && graph.shape(node.args[0]).len() == 1 =>
            {
                argument(0)
            }
            Op::Project(k) if time[id.index()] > Time::Shared => (node.args[0], *k),
            _ => (id, 0),
        });
    }
    names
}

/// For every value whose slot may be used again, the last node that reads it.
fn last_uses(
    graph: &Graph,
    live: &[bool],
    names: &[Value],
    time: &[Time],
    roots: &[NodeId],
) -> FxHashMap<Value, NodeId> {
    let mut last = FxHashMap::default();
    for id in graph.ids().filter(|id| live[id.index()] && names[id.index()] == (*id, 0)) {
        for arg in &graph.node(id).args {
            let value = names[arg.index()];
            let is_input = matches!(graph.node(value.0).op, Op::Input { .. });
            if time[value.0.index()] == Time::Step && !is_input {
                last.insert(value, id);
            }
        }
    }
    for root in roots {
        last.remove(&names[root.index()]);
    }
    last
}

fn plan_loop(length: usize, reverse: bool, body: &ScanBody) -> Result<Loop, EvaluateError> {
    let graph = &body.graph;
    let mut time = Vec::with_capacity(graph.len());
    for id in graph.ids() {
        let node = graph.node(id);
        let node_time = match &node.op {
            Op::Input { name, .. } if name.starts_with("fixed") => Time::Head,
            Op::Input { .. } => Time::Step,
            _ => Time::Shared,
        };
        let of_args = node.args.iter().map(|arg| time[arg.index()]).max();
        time.push(of_args.unwrap_or(Time::Shared).max(node_time));
    }
    let outputs: Vec<NodeId> = body.next.iter().chain(&body.stacked).copied().collect();
    let plan = plan(graph, &outputs, &time, &[])?;
    let shared = evaluate(graph, &plan.shared, &|_| None)?;
    let slots = |kind: &str, first: usize| {
        let mut slots = Vec::new();
        for &(id, slot) in &plan.inputs {
            let Op::Input { name, .. } = &graph.node(id).op else { continue };
            if let Some(k) = name.strip_prefix(kind).and_then(|k| k.parse::<usize>().ok()) {
                slots.push((slot, first + k));
            }
        }
        slots
    };
    let [carries, sequences, _] = body.counts;
    let length_of = |ids: &[NodeId]| ids.iter().map(|&id| graph.shape(id).len()).collect();
    Ok(Loop {
        length,
        reverse,
        carries: length_of(&body.next),
        stacked: length_of(&body.stacked),
        carry_slots: slots("carry", 0),
        sequence_slots: slots("x", carries),
        fixed_slots: slots("fixed", carries + sequences),
        shared,
        body: plan,
    })
}
