//! Rule of the counted loop: a scan -> a scan in the other direction over its body's pull-back.
//!
//! The reverse loop needs the state that every step started from. A second forward scan, the first
//! one's body with its carries stacked as well, provides it (`merge_scans` then drops the first
//! one). Functions of the state that only the pull-back has, such as the weights of a log of a sum
//! of exponentials, are stacked by that scan, too: the loop that has the sum has its terms. The
//! reverse loop's carries are the adjoints of the carries and the sums of the fixed values'
//! adjoints; its stacked values are the adjoints of the sequences.
//!
//! Masks of branches inside of the body do not leave the loop or the step: what such a branch reads
//! from outside, and a carry that only such branches read, counts as taken where its adjoint is not
//! exactly 0.

use std::sync::Arc;

use exmc_fault::{Fault, planted};
use rustc_hash::FxHashMap;

use super::{
    Adjoint, Contribution, Mask, Seed, dependents, masked_whole, pull_back, where_not_zero, zeros,
    zeros_like,
};
use crate::graph::{Graph, GraphError, NodeId};
use crate::op::{Binary, Op, Reduction, Role, ScanBody, SharedBody, Ternary};
use crate::tensor::DType;

/// Adjoints of a scan's arguments, given those of its outputs (`None`: unused).
pub(super) fn rule(
    g: &mut Graph,
    (length, reverse, body): (usize, bool, &SharedBody),
    args: &[NodeId],
    active: &[bool],
    cotangents: &[Option<Adjoint>],
) -> Result<Vec<Contribution>, GraphError> {
    let body = &*body.0;
    let [carries, sequences, fixed] = body.counts;
    let cotangent = |output: usize| cotangents.get(output).copied().flatten();
    let step = Step::new(body, active, &cotangent)?;

    // Which value of the outer graph each input of the reverse body reads.
    let (mut reverse_body, outputs, inputs) = step.assemble(body)?;
    let states: Vec<usize> = inputs
        .sequences
        .iter()
        .filter_map(|source| if let Source::Carry(k) = source { Some(*k) } else { None })
        .collect();
    let kept: Vec<NodeId> = inputs
        .sequences
        .iter()
        .filter_map(|source| if let Source::Kept(id) = source { Some(*id) } else { None })
        .collect();
    let wide = step.widen(body, &states, &kept)?;
    let stacked = stack(g, (length, reverse), body, wide, args)?;
    let (stacked_states, stacked_kept) = stacked.split_at(states.len());
    let position_of = |list: &[usize], k: usize| list.iter().position(|other| *other == k);

    let mut operands = Vec::new();
    for &k in &step.carries {
        operands.push(match cotangent(k) {
            Some(adjoint) => adjoint.value,
            None => zeros_like(g, args[k]),
        });
    }
    for &(k, _) in &step.fixed {
        operands.push(zeros_like(g, args[carries + sequences + k]));
    }
    for source in &inputs.sequences {
        operands.push(match source {
            Source::Carry(k) => stacked_states[position_of(&states, *k).expect(LISTED)],
            Source::Kept(id) => {
                stacked_kept[kept.iter().position(|other| other == id).expect(LISTED)]
            }
            Source::Sequence(k) => args[carries + k],
            Source::StackAdjoint(k) => {
                cotangent(carries + k).expect("asked for only when it is there").value
            }
        });
    }
    operands.extend(inputs.fixed.iter().map(|k| args[carries + sequences + k]));
    debug_assert!(inputs.fixed.iter().all(|&k| k < fixed));

    let n_carries = step.carries.len() + step.fixed.len();
    let stacked = outputs[n_carries..].to_vec();
    let next = outputs[..n_carries].to_vec();
    reverse_body.counts = [n_carries, inputs.sequences.len(), inputs.fixed.len()];
    (reverse_body.next, reverse_body.stacked) = (next, stacked);
    let body = SharedBody(Arc::new(reverse_body));
    let scan = g.apply(Op::Scan { length, reverse: !reverse, body }, &operands)?;

    // Outputs of the reverse scan, in order, belong to these arguments.
    let of_carries = step.carries.iter().copied();
    let of_fixed = step.fixed.iter().map(|(k, _)| carries + sequences + k);
    let of_sequences = step.sequences.iter().map(|(k, _)| carries + k);
    debug_assert_eq!(step.in_branches.len(), n_carries + step.sequences.len());
    let mask = common_mask(g, cotangents);
    let mut contributions = Vec::new();
    for (output, arg) in of_carries.chain(of_fixed).chain(of_sequences).enumerate() {
        if active[arg] {
            let value = g.apply(Op::Project(output), &[scan])?;
            let mut adjoint = masked_whole(g, value, mask);
            if step.in_branches[output] && !planted(Fault::MaskEndsAtLoop) {
                adjoint.mask = Some(where_not_zero(g, adjoint.value));
            }
            contributions.push(Contribution { arg, adjoint });
        }
    }
    Ok(contributions)
}

/// One step's pull-back, in a copy of the body's graph.
struct Step {
    graph: Graph,
    /// Carries with an adjoint.
    carries: Vec<usize>,
    /// Adjoints of those carries before the step.
    before: Vec<NodeId>,
    /// Fixed values with an adjoint, and the sums of their adjoints after this step.
    fixed: Vec<(usize, NodeId)>,
    /// Sequences with an adjoint, and this step's.
    sequences: Vec<(usize, NodeId)>,
    /// Of each of those carries, fixed values and sequences, in this order, whether a branch of the
    /// body reads it.
    in_branches: Vec<bool>,
}

/// Where an input of the reverse body with a new name comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    /// The state that the step started from.
    Carry(usize),
    Sequence(usize),
    StackAdjoint(usize),
    /// A node of the step's graph that the forward scan can compute.
    Kept(NodeId),
}

const LISTED: &str = "inputs were made from this list";

/// Sequences and fixed values of the reverse scan, in the order of its body's inputs.
#[derive(Default)]
struct Inputs {
    sequences: Vec<Source>,
    fixed: Vec<usize>,
}

impl Step {
    fn new(
        body: &ScanBody,
        active: &[bool],
        cotangent: &dyn Fn(usize) -> Option<Adjoint>,
    ) -> Result<Self, GraphError> {
        let [n_carries, n_sequences, n_fixed] = body.counts;
        let mut graph = body.graph.clone();
        let input = |kind: &str, k: usize| body.graph.find_input(&format!("{kind}{k}"));
        let wanted = |kind: &str, offset: usize, count: usize| -> Vec<(usize, NodeId)> {
            let all = (0..count).filter(|k| active[offset + k]);
            all.filter_map(|k| Some((k, input(kind, k)?))).collect()
        };
        let sequence_inputs = wanted("x", n_carries, n_sequences);
        let fixed_inputs = wanted("fixed", n_carries + n_sequences, n_fixed);

        // A carry has an adjoint when its start is active or when a step makes it so.
        let mut is_active: Vec<bool> = active[..n_carries].to_vec();
        let depends = loop {
            let carried =
                (0..n_carries).filter(|&k| is_active[k]).filter_map(|k| input("carry", k));
            let mut sources: Vec<NodeId> = carried.collect();
            sources.extend(sequence_inputs.iter().chain(&fixed_inputs).map(|(_, id)| *id));
            let depends = dependents(&graph, |id| sources.contains(&id));
            let before = is_active.clone();
            for (k, next) in body.next.iter().enumerate() {
                is_active[k] |= depends[next.index()];
            }
            if is_active == before {
                break depends;
            }
        };
        let carries: Vec<usize> = (0..n_carries).filter(|&k| is_active[k]).collect();

        let in_branch = |adjoint: &Adjoint| adjoint.mask.is_some_and(|mask| mask.needed);
        let mut seeds = Vec::new();
        for &k in &carries {
            let shape = graph.shape(body.next[k]).clone();
            let seed = graph.input(&format!("adjoint{k}"), Role::Parameter, shape, DType::Real)?;
            // Nothing comes from after the loop, or only where a branch there was taken.
            let masked = cotangent(k).as_ref().is_none_or(in_branch);
            seeds.push(Seed { node: body.next[k], value: seed, masked });
        }
        for (k, &id) in body.stacked.iter().enumerate() {
            let Some(adjoint) = cotangent(n_carries + k).filter(|_| depends[id.index()]) else {
                continue;
            };
            let shape = graph.shape(id).clone();
            let name = format!("stack_adjoint{k}");
            let value = graph.input(&name, Role::Parameter, shape, DType::Real)?;
            seeds.push(Seed { node: id, value, masked: in_branch(&adjoint) });
        }
        let carry_inputs: Vec<Option<NodeId>> =
            carries.iter().map(|&k| input("carry", k)).collect();
        let wrt: Vec<NodeId> = carry_inputs
            .iter()
            .flatten()
            .copied()
            .chain(sequence_inputs.iter().chain(&fixed_inputs).map(|(_, id)| *id))
            .collect();
        // A carry's adjoint is masked if all that a step adds to it is, where that of the step
        // after is.
        let branches = has_branches(body) || seeds[carries.len()..].iter().any(|seed| seed.masked);
        seeds.iter_mut().for_each(|seed| seed.masked &= branches && !planted(Fault::OverflowTaken));
        let (step, found) = loop {
            let mut step = graph.clone();
            let found = pull_back(&mut step, &seeds, &wrt, false)?;
            let found: FxHashMap<NodeId, Adjoint> =
                wrt.iter().zip(found).filter_map(|(&id, a)| Some((id, a?))).collect();
            let mut stable = true;
            for (seed, id) in seeds.iter_mut().zip(&carry_inputs).filter(|(seed, _)| seed.masked) {
                let adjoint = id.and_then(|id| found.get(&id));
                seed.masked = adjoint.is_none_or(in_branch);
                stable &= seed.masked;
            }
            if stable {
                break (step, found);
            }
        };
        let mut graph = step;

        let mut in_branches = Vec::new();
        let mut before = Vec::new();
        for (&k, id) in carries.iter().zip(&carry_inputs) {
            let adjoint = id.and_then(|id| found.get(&id));
            in_branches.push(adjoint.is_some_and(in_branch));
            before.push(match adjoint {
                Some(adjoint) => adjoint.value,
                None => {
                    let shape = graph.shape(body.next[k]).clone();
                    zeros(&mut graph, &shape)
                }
            });
        }
        let mut fixed = Vec::new();
        for (k, id) in fixed_inputs {
            let Some(adjoint) = found.get(&id) else { continue };
            in_branches.push(in_branch(adjoint));
            let shape = graph.shape(id).clone();
            let sum = graph.input(&format!("sum{k}"), Role::Parameter, shape, DType::Real)?;
            fixed.push((k, graph.add(sum, adjoint.value)));
        }
        let mut sequences = Vec::new();
        for (k, id) in sequence_inputs {
            let Some(adjoint) = found.get(&id) else { continue };
            in_branches.push(in_branch(adjoint));
            sequences.push((k, adjoint.value));
        }
        Ok(Self { graph, carries, before, fixed, sequences, in_branches })
    }

    /// The reverse body's graph with its final input names, its outputs (next values, then stacked)
    /// and what its sequences and fixed values are.
    fn assemble(&self, body: &ScanBody) -> Result<(ScanBody, Vec<NodeId>, Inputs), GraphError> {
        let roots: Vec<NodeId> = self
            .before
            .iter()
            .copied()
            .chain(self.fixed.iter().chain(&self.sequences).map(|(_, id)| *id))
            .collect();
        let is_kept = self.is_kept(body);
        let mut needed = vec![false; self.graph.len()];
        roots.iter().for_each(|root| needed[root.index()] = true);
        for id in self.graph.ids().rev().filter(|id| !is_kept[id.index()]) {
            if needed[id.index()] {
                self.graph.node(id).args.iter().for_each(|arg| needed[arg.index()] = true);
            }
        }
        let fixed: Vec<usize> = self.fixed.iter().map(|(k, _)| *k).collect();
        let mut inputs = Inputs::default();
        let mut graph = Graph::new();
        let mut copies: Vec<Option<NodeId>> = vec![None; self.graph.len()];
        for id in self.graph.ids().filter(|id| needed[id.index()]) {
            let node = self.graph.node(id);
            let mut sequence = |source: Source| {
                inputs.sequences.push(source);
                format!("x{}", inputs.sequences.len() - 1)
            };
            let (name, role) = match &node.op {
                _ if is_kept[id.index()] => (sequence(Source::Kept(id)), Role::Parameter),
                Op::Input { name, role } => {
                    let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
                    let position = |list: &[usize], k: usize| {
                        list.iter().position(|&other| other == k).expect(LISTED)
                    };
                    let name = if let Some(k) = number("adjoint") {
                        format!("carry{}", position(&self.carries, k))
                    } else if let Some(k) = number("sum") {
                        format!("carry{}", self.carries.len() + position(&fixed, k))
                    } else if let Some(k) = number("stack_adjoint") {
                        sequence(Source::StackAdjoint(k))
                    } else if let Some(k) = number("carry") {
                        sequence(Source::Carry(k))
                    } else if let Some(k) = number("fixed") {
                        inputs.fixed.push(k);
                        format!("fixed{}", inputs.fixed.len() - 1)
                    } else if let Some(k) = number("x") {
                        sequence(Source::Sequence(k))
                    } else {
                        let message = format!("scan: the body has an input `{name}`");
                        return Err(GraphError::new(message));
                    };
                    (name, *role)
                }
                op => {
                    let args = copied(&copies, &node.args);
                    copies[id.index()] = Some(graph.apply(op.clone(), &args)?);
                    continue;
                }
            };
            copies[id.index()] = Some(graph.input(&name, role, node.shape.clone(), node.dtype)?);
        }
        let outputs = copied(&copies, &roots);
        let counts = body.counts;
        Ok((ScanBody { graph, next: Vec::new(), stacked: Vec::new(), counts }, outputs, inputs))
    }

    /// For every node whether the forward scan computes it: a dear function of the state before the
    /// step that the body does not have and that no adjoint comes into.
    fn is_kept(&self, body: &ScanBody) -> Vec<bool> {
        let depends = |prefixes: &[&str]| {
            let mut depends = vec![false; self.graph.len()];
            for id in self.graph.ids() {
                let node = self.graph.node(id);
                depends[id.index()] = match &node.op {
                    Op::Input { name, .. } => prefixes.iter().any(|p| name.starts_with(p)),
                    _ => node.args.iter().any(|arg| depends[arg.index()]),
                };
            }
            depends
        };
        let (state, adjoint) = (depends(&["carry"]), depends(&["adjoint", "sum", "stack_adjoint"]));
        let kept = |id: NodeId| {
            let k = id.index();
            let is_new = k >= body.graph.len() && self.graph.node(id).dtype == DType::Real;
            is_new && state[k] && !adjoint[k] && self.graph.node(id).op.is_dear()
        };
        self.graph.ids().map(kept).collect()
    }

    /// The forward body with these states and nodes stacked as well, behind what it stacks.
    fn widen(
        &self,
        body: &ScanBody,
        states: &[usize],
        kept: &[NodeId],
    ) -> Result<ScanBody, GraphError> {
        let (mut graph, mut stacked) = (body.graph.clone(), body.stacked.clone());
        let state = |k: &usize| graph.find_input(&format!("carry{k}"));
        stacked.extend(states.iter().map(|k| state(k).expect("the reverse body reads this input")));
        // The step's graph began as a copy of the body's.
        let mut copies: Vec<Option<NodeId>> =
            self.graph.ids().map(|id| (id.index() < graph.len()).then_some(id)).collect();
        let needed = self.graph.reachable(kept);
        for id in self.graph.ids().filter(|id| needed[id.index()]) {
            if copies[id.index()].is_none() {
                let node = self.graph.node(id);
                let args = copied(&copies, &node.args);
                copies[id.index()] = Some(graph.apply(node.op.clone(), &args)?);
            }
        }
        stacked.extend(copied(&copies, kept));
        Ok(ScanBody { graph, next: body.next.clone(), stacked, counts: body.counts })
    }
}

/// Whether a loop's body chooses between values, in loops inside of it too.
fn has_branches(body: &ScanBody) -> bool {
    body.graph.ids().any(|id| match &body.graph.node(id).op {
        Op::Ternary(Ternary::Select)
        | Op::Binary(Binary::Min | Binary::Max)
        | Op::Reduce(Reduction::Min | Reduction::Max, _) => true,
        Op::Scan { body, .. } => has_branches(&body.0),
        _ => false,
    })
}

fn copied(copies: &[Option<NodeId>], ids: &[NodeId]) -> Vec<NodeId> {
    let copy = |id: &NodeId| copies[id.index()].expect("arguments precede users");
    ids.iter().map(copy).collect()
}

/// What a widened body stacks beyond the body, for all steps of the forward scan.
fn stack(
    g: &mut Graph,
    (length, reverse): (usize, bool),
    body: &ScanBody,
    wide: ScanBody,
    args: &[NodeId],
) -> Result<Vec<NodeId>, GraphError> {
    let first = body.next.len() + body.stacked.len();
    let end = wide.next.len() + wide.stacked.len();
    if first == end {
        return Ok(Vec::new());
    }
    let scan = g.apply(Op::Scan { length, reverse, body: SharedBody(Arc::new(wide)) }, args)?;
    (first..end).map(|k| g.apply(Op::Project(k), &[scan])).collect()
}

/// One scalar mask for all outputs: none taken when no element of any was.
fn common_mask(g: &mut Graph, cotangents: &[Option<Adjoint>]) -> Option<Mask> {
    let mut total: Option<NodeId> = None;
    for adjoint in cotangents.iter().flatten() {
        let Some(Mask { node, needed: true }) = adjoint.mask else { return None };
        let any = g.sum(node);
        total = Some(match total {
            None => any,
            Some(total) => g.add(total, any),
        });
    }
    total.map(|node| Mask { node, needed: true })
}
