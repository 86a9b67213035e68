//! Splitting: a scan -> smaller scans of what needs the step before, and operations on all steps at
//! once.
//!
//! What changes from step to step without looking at the state becomes one operation over an array
//! with an axis of steps, as does what looks at the state but does not come back into it. States
//! are taken apart into groups that need each other; a group is a scan of its own. A state that is
//! only the value of the step before is a shift, one that only adds up is a sum, and one that is
//! linear in itself becomes `next = a state + b`, whatever else its body computes. The adjoint of a
//! loop over one number is always of the last kind, so reverse loops of recurrences are a
//! multiplication and an addition per step.

mod linear;
mod parts;
mod steps;
mod sums;

use exmc_graph::{DType, Graph, NodeId, Op, ScanBody, Shape};
use linear::Factor;
use rustc_hash::FxHashMap;

/// Why the operations that are applied here fit: they did in the body, one step at a time.
const FITS: &str = "shapes fit as they did in the scan's body";

/// Splits the scans that `roots` need; `None` when there is none.
pub(crate) fn split_scans(graph: &Graph, roots: &[NodeId]) -> Option<(Graph, Vec<NodeId>)> {
    let live = graph.reachable(roots);
    let live_ids = || graph.ids().filter(|id| live[id.index()]);
    if !live_ids().any(|id| matches!(graph.node(id).op, Op::Scan { .. })) {
        return None;
    }
    let mut used: FxHashMap<NodeId, Vec<usize>> = FxHashMap::default();
    for id in live_ids() {
        if let Op::Project(k) = graph.node(id).op {
            used.entry(graph.node(id).args[0]).or_default().push(k);
        }
    }
    let mut new = Graph::new();
    let mut copies: Vec<Option<NodeId>> = vec![None; graph.len()];
    let mut outputs: FxHashMap<(NodeId, usize), NodeId> = FxHashMap::default();
    for id in live_ids() {
        let node = graph.node(id);
        let copy_of = |arg: &NodeId| copies[arg.index()].expect("arguments precede users");
        let copy = match &node.op {
            Op::Input { name, role } => new
                .input(name, *role, node.shape.clone(), node.dtype)
                .expect("names are unique in the original"),
            Op::Project(k) if outputs.contains_key(&(node.args[0], *k)) => {
                outputs[&(node.args[0], *k)]
            }
            Op::Scan { length, reverse, body } if can_split(*length, &body.0) => {
                let args: Vec<NodeId> = node.args.iter().map(copy_of).collect();
                let mut split = Split::new(&mut new, (*length, *reverse), &body.0, args);
                let used = used.get(&id).map_or(&[][..], Vec::as_slice);
                split.follow(used);
                for &k in used {
                    outputs.insert((id, k), split.output(k));
                }
                // Nobody reads a scan but by its outputs.
                continue;
            }
            op => {
                let args: Vec<NodeId> = node.args.iter().map(copy_of).collect();
                new.apply(op.clone(), &args).expect(FITS)
            }
        };
        copies[id.index()] = Some(copy);
    }
    let roots = roots.iter().map(|root| copies[root.index()].expect("roots are live")).collect();
    Some((new, roots))
}

/// Whether a scan has steps and a state of real numbers; what counts in integers is left as it is.
fn can_split(length: usize, body: &ScanBody) -> bool {
    length > 0 && body.next.iter().all(|&next| body.graph.node(next).dtype == DType::Real)
}

/// A scan that is being split: its body's nodes and where their values are in the new graph.
struct Split<'g> {
    new: &'g mut Graph,
    length: usize,
    reverse: bool,
    /// The scan's arguments in the new graph.
    args: Vec<NodeId>,
    counts: [usize; 3],
    /// The body; linear states add their coefficients to it.
    body: Graph,
    next: Vec<NodeId>,
    stacked: Vec<NodeId>,
    /// For every node of the body: whether it changes from step to step.
    steps: Vec<bool>,
    /// For every node of the body: the states that it depends on.
    states: Vec<Vec<usize>>,
    /// For every node of the body: its value, if it does not change.
    once: Vec<Option<NodeId>>,
    /// For every node of the body: its values in all steps, along the outermost axis.
    all: Vec<Option<NodeId>>,
    /// For every state: the states that need it and that it needs, itself included.
    groups: Vec<Vec<usize>>,
    /// For every state: `a` and `b` of `next = a state + b`.
    linear: Vec<Option<(Factor, Option<NodeId>)>>,
    /// For every state: whether an output reads what it is from step to step.
    followed: Vec<bool>,
    /// For every state: its value after the last step.
    finals: Vec<Option<NodeId>>,
    /// Sums over all steps of nodes of the body, as far as they were asked for.
    sums: FxHashMap<NodeId, NodeId>,
    /// Whether sums over steps are better taken before nodes of the body, likewise.
    moving: FxHashMap<NodeId, bool>,
}

impl<'g> Split<'g> {
    fn new(
        new: &'g mut Graph,
        (length, reverse): (usize, bool),
        body: &ScanBody,
        args: Vec<NodeId>,
    ) -> Self {
        let n = body.next.len();
        let mut split = Self {
            new,
            length,
            reverse,
            args,
            counts: body.counts,
            body: body.graph.clone(),
            next: body.next.clone(),
            stacked: body.stacked.clone(),
            steps: Vec::new(),
            states: Vec::new(),
            once: Vec::new(),
            all: Vec::new(),
            groups: Vec::new(),
            linear: Vec::new(),
            followed: vec![false; n],
            finals: vec![None; n],
            sums: FxHashMap::default(),
            moving: FxHashMap::default(),
        };
        split.look_at_new_nodes();
        split.groups = groups(n, |state| &split.states[split.next[state].index()]);
        for state in 0..n {
            let alone = split.groups[state] == [state];
            let found = if alone { split.linear_in(state) } else { None };
            split.linear.push(found);
        }
        split
    }

    /// Brings what is known of the body's nodes up to date with the body.
    fn look_at_new_nodes(&mut self) {
        for id in self.body.ids().skip(self.steps.len()) {
            let node = self.body.node(id);
            let mut states: Vec<usize> = Vec::new();
            for arg in &node.args {
                states.extend(&self.states[arg.index()]);
            }
            let mut steps = node.args.iter().any(|arg| self.steps[arg.index()]);
            if let Some(Source::State(state)) = source(&node.op) {
                states.push(state);
                steps = true;
            }
            steps |= matches!(source(&node.op), Some(Source::Sequence(_)));
            states.sort_unstable();
            states.dedup();
            self.states.push(states);
            self.steps.push(steps);
            self.once.push(None);
            self.all.push(None);
        }
    }

    /// Finds the states that outputs read from step to step.
    ///
    /// Such a state is not added up for its last value alone: that would differ by a rounding from
    /// what it is after the last step, and a copy of it would not be equal to it.
    fn follow(&mut self, used: &[usize]) {
        let mut waiting: Vec<usize> = Vec::new();
        for &k in used {
            match k.checked_sub(self.next.len()) {
                Some(stacked) => waiting.extend(&self.states[self.stacked[stacked].index()]),
                None => {
                    let others = self.states[self.next[k].index()].iter();
                    waiting.extend(others.filter(|&&state| state != k));
                }
            }
        }
        while let Some(state) = waiting.pop() {
            if !std::mem::replace(&mut self.followed[state], true) {
                waiting.extend(&self.states[self.next[state].index()]);
            }
        }
    }

    /// An output of the scan, in the new graph.
    fn output(&mut self, k: usize) -> NodeId {
        match k.checked_sub(self.next.len()) {
            None => self.last(k),
            Some(stacked) => self.all_steps(self.stacked[stacked]),
        }
    }

    /// A state after the last step.
    fn last(&mut self, state: usize) -> NodeId {
        if let Some(value) = self.finals[state] {
            return value;
        }
        let next = self.next[state];
        let start = self.args[state];
        let value = if !self.steps[next.index()] {
            self.once(next)
        } else if !self.is_recurrent(state) {
            let all = self.all_steps(next);
            let end = if self.reverse { 0 } else { self.length - 1 };
            let last = self.new.slice(all, 0, end, end + 1);
            let shape = self.body.shape(next).clone();
            self.new.reshape(last, shape)
        } else if let (Some((Factor::One, terms)), false) =
            (self.linear[state], self.followed[state])
        {
            match terms {
                Some(terms) => {
                    let sum = self.sum_of_steps(terms);
                    self.new.add(start, sum)
                }
                None => start,
            }
        } else {
            self.run_group(state);
            self.finals[state].expect("running a group fills its states")
        };
        self.finals[state] = Some(value);
        value
    }

    /// Whether a state depends on itself at the step before, maybe through others.
    fn is_recurrent(&self, state: usize) -> bool {
        let group = &self.groups[state];
        group.len() > 1 || self.states[self.next[state].index()].contains(&state)
    }

    /// What a state was before every step.
    fn before_steps(&mut self, state: usize) -> NodeId {
        if self.is_recurrent(state) {
            let input = self.body.find_input(&format!("carry{state}"));
            let input = input.expect("a state that depends on itself is read");
            self.run_group(state);
            return self.all[input.index()].expect("running a group fills its states");
        }
        let (start, next) = (self.args[state], self.all_steps(self.next[state]));
        let shape = Shape::from([1]).join(self.new.shape(start).extents());
        let first = self.new.reshape(start, shape);
        let (from, rest) = (usize::from(self.reverse), self.length - 1);
        if rest == 0 {
            return first;
        }
        let rest = self.new.slice(next, 0, from, from + rest);
        let parts = if self.reverse { [rest, first] } else { [first, rest] };
        self.new.concat(&parts, 0)
    }

    /// The value of a node that does not change from step to step.
    fn once(&mut self, id: NodeId) -> NodeId {
        let mut waiting = vec![id];
        while let Some(&id) = waiting.last() {
            if self.once[id.index()].is_some() {
                waiting.pop();
                continue;
            }
            let node = self.body.node(id);
            let missing = node.args.iter().filter(|arg| self.once[arg.index()].is_none());
            let before = waiting.len();
            waiting.extend(missing);
            if waiting.len() > before {
                continue;
            }
            let args: Vec<NodeId> = node.args.iter().filter_map(|a| self.once[a.index()]).collect();
            let value = match source(&node.op) {
                Some(Source::Fixed(k)) => self.args[self.counts[0] + self.counts[1] + k],
                _ => self.new.apply(node.op.clone(), &args).expect(FITS),
            };
            self.once[id.index()] = Some(value);
            waiting.pop();
        }
        self.once[id.index()].expect("computed last")
    }
}

/// What an input of a body stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Source {
    State(usize),
    Sequence(usize),
    Fixed(usize),
}

pub(in crate::native) fn source(op: &Op) -> Option<Source> {
    let Op::Input { name, .. } = op else { return None };
    let number = |kind: &str| name.strip_prefix(kind)?.parse().ok();
    number("carry")
        .map(Source::State)
        .or_else(|| number("x").map(Source::Sequence))
        .or_else(|| number("fixed").map(Source::Fixed))
}

/// For each of `n` states, those that need it and that it needs, ascending; `needs` gives what each
/// needs directly.
fn groups<'a>(n: usize, needs: impl Fn(usize) -> &'a [usize]) -> Vec<Vec<usize>> {
    let reached = |start: usize| {
        let mut seen = vec![false; n];
        let mut waiting = vec![start];
        while let Some(state) = waiting.pop() {
            for &other in needs(state) {
                if !std::mem::replace(&mut seen[other], true) {
                    waiting.push(other);
                }
            }
        }
        seen
    };
    let reached: Vec<Vec<bool>> = (0..n).map(reached).collect();
    let together = |a: usize, b: usize| a == b || (reached[a][b] && reached[b][a]);
    (0..n).map(|a| (0..n).filter(|&b| together(a, b)).collect()).collect()
}
