//! Cores: states that need each other -> a scan of what their next values take, and no more.

use std::sync::Arc;

use exmc_graph::{DType, Graph, NodeId, Op, Role, ScanBody, SharedBody};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{FITS, Source, Split, source};
use crate::native::compile::columns::weights_of;
use crate::native::compile::lower::is_markov;

impl Split<'_> {
    /// Runs the scan of a state's group, unless it was run before.
    ///
    /// Every state before every step is stacked, its next value too, and what no operation computes
    /// for all steps at once; what nobody reads of it is dropped when the scan is lowered.
    pub(super) fn run_group(&mut self, state: usize) {
        let members = self.groups[state].clone();
        let inputs: Vec<NodeId> = members
            .iter()
            .map(|member| self.body.find_input(&format!("carry{member}")))
            .map(|input| input.expect("a state that depends on itself is read"))
            .collect();
        if self.all[inputs[0].index()].is_some() {
            return;
        }
        let next: Vec<NodeId> = match self.linear[state] {
            Some(parts) => vec![self.make_linear(state, parts)],
            None => members.iter().map(|&member| self.next[member]).collect(),
        };
        // The terms of sums are there beside the sums, where the loop is one of sums.
        let mut both = next.clone();
        both.extend(self.weights(&next));
        let wanted = |split: &Self, id| split.depends_on(id, &members);
        let with_weights = self.inside(&both, wanted);
        let shares = &both[next.len()..];
        let is_chain = !shares.is_empty() && {
            let stacked = [&inputs[..], shares].concat();
            is_markov(&self.part(&with_weights, &members, (&next, &stacked)).0)
        };
        let inside = if is_chain { with_weights } else { self.inside(&next, wanted) };
        let mut stacked = inputs.clone();
        stacked.extend(&next);
        stacked.extend(inside.iter().filter(|&&id| {
            let computed_once = !self.goes_together(id) || self.body.node(id).op.is_dear();
            !next.contains(&id) && self.depends_on(id, &members) && computed_once
        }));
        stacked.retain(|&id| !matches!(self.body.node(id).op, Op::Scan { .. }));
        let outputs = self.run_part(&inside, &members, &next, &stacked);
        for (&member, &value) in members.iter().zip(&outputs) {
            self.finals[member] = Some(value);
        }
        let values = &outputs[members.len()..];
        for (id, &value) in stacked.iter().zip(values) {
            self.all[id.index()] = Some(value);
        }
        // A linear state's own next value is the same as the one that was made of its parts.
        for (&member, &value) in members.iter().zip(&values[inputs.len()..]) {
            self.all[self.next[member].index()] = Some(value);
        }
    }

    /// The shares of terms in the logs of sums of exponentials that `next` needs, as far as outputs
    /// read them.
    fn weights(&self, next: &[NodeId]) -> Vec<NodeId> {
        let (sums, read) = (self.body.reachable(next), self.body.reachable(&self.stacked));
        let found = |id: &NodeId| {
            let sum = read[id.index()].then(|| weights_of(&self.body, *id)).flatten();
            sum.is_some_and(|sum| sums[sum.index()])
        };
        self.body.ids().filter(found).collect()
    }

    /// Computes a node that has no form for all steps at once step by step, from values of all
    /// steps.
    pub(super) fn run_alone(&mut self, id: NodeId) -> NodeId {
        let wanted = match self.body.node(id).op {
            Op::Project(_) => vec![id, self.body.node(id).args[0]],
            _ => vec![id],
        };
        let inside = self.inside(&[id], |_, other| wanted.contains(&other));
        self.run_part(&inside, &[], &[], &[id])[0]
    }

    fn depends_on(&self, id: NodeId, members: &[usize]) -> bool {
        self.states[id.index()].iter().any(|state| members.contains(state))
    }

    /// The nodes that a scan computes for `roots`: those that `is_member` says, and what stretches
    /// or renames a smaller value, in order.
    fn inside(&self, roots: &[NodeId], is_member: impl Fn(&Self, NodeId) -> bool) -> Vec<NodeId> {
        let mut found: FxHashSet<NodeId> = FxHashSet::default();
        let mut waiting = roots.to_vec();
        while let Some(id) = waiting.pop() {
            let node = self.body.node(id);
            let len = |id: NodeId| self.body.shape(id).len();
            let stretches = matches!(node.op, Op::Broadcast(_)) && len(node.args[0]) < len(id);
            // Integers as constants: an index must be known when the body is lowered.
            let known =
                matches!(node.op, Op::Constant(_)) && (len(id) == 1 || node.dtype == DType::Int);
            if (is_member(self, id) || stretches || known) && found.insert(id) {
                waiting.extend(&node.args);
            }
        }
        let mut found: Vec<NodeId> = found.into_iter().collect();
        found.sort_unstable();
        found
    }

    /// A scan that computes the nodes `inside` from values of all steps: the states after the last
    /// step, then the stacked nodes.
    fn run_part(
        &mut self,
        inside: &[NodeId],
        members: &[usize],
        next: &[NodeId],
        stacked: &[NodeId],
    ) -> Vec<NodeId> {
        let (body, read) = self.part(inside, members, (next, stacked));
        let mut args: Vec<NodeId> = members.iter().map(|&member| self.args[member]).collect();
        for id in read {
            args.push(if self.steps[id.index()] { self.all_steps(id) } else { self.once(id) });
        }
        let body = SharedBody(Arc::new(body));
        let (length, reverse) = (self.length, self.reverse);
        let count = next.len() + stacked.len();
        let scan = self.new.apply(Op::Scan { length, reverse, body }, &args).expect(FITS);
        (0..count).map(|k| self.new.apply(Op::Project(k), &[scan]).expect(FITS)).collect()
    }

    /// The body of such a scan, and the nodes that its sequences and fixed values are.
    fn part(
        &self,
        inside: &[NodeId],
        members: &[usize],
        (next, stacked): (&[NodeId], &[NodeId]),
    ) -> (ScanBody, Vec<NodeId>) {
        let mut part = Part { graph: Graph::new(), copies: FxHashMap::default() };
        let (mut sequences, mut fixed) = (Vec::new(), Vec::new());
        let known: FxHashSet<NodeId> = inside.iter().copied().collect();
        for &id in inside {
            let node = self.body.node(id).clone();
            if let Some(Source::State(state)) = source(&node.op)
                && let Some(place) = members.iter().position(|&member| member == state)
            {
                part.input(&self.body, id, format!("carry{place}"));
                continue;
            }
            for &arg in &node.args {
                if known.contains(&arg) || part.copies.contains_key(&arg) {
                    continue;
                }
                if self.steps[arg.index()] {
                    part.input(&self.body, arg, format!("x{}", sequences.len()));
                    sequences.push(arg);
                } else {
                    part.input(&self.body, arg, format!("fixed{}", fixed.len()));
                    fixed.push(arg);
                }
            }
            let args: Vec<NodeId> = node.args.iter().map(|arg| part.copies[arg]).collect();
            let copy = part.graph.apply(node.op.clone(), &args).expect(FITS);
            part.copies.insert(id, copy);
        }
        let copies = |ids: &[NodeId]| ids.iter().map(|id| part.copies[id]).collect::<Vec<_>>();
        let (next, stacked) = (copies(next), copies(stacked));
        let counts = [members.len(), sequences.len(), fixed.len()];
        let read = [sequences, fixed].concat();
        (ScanBody { graph: part.graph, next, stacked, counts }, read)
    }
}

/// The body of a scan under construction.
struct Part {
    graph: Graph,
    copies: FxHashMap<NodeId, NodeId>,
}

impl Part {
    /// Makes an input that stands for a node of the whole body.
    fn input(&mut self, body: &Graph, id: NodeId, name: String) {
        let node = body.node(id);
        let role = if node.dtype == DType::Int { Role::Data } else { Role::Parameter };
        let input = self.graph.input(&name, role, node.shape.clone(), node.dtype);
        self.copies.insert(id, input.expect("every name is made once"));
    }
}
