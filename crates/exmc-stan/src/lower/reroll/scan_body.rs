//! Iterations laid over each other -> the body of a scan, and the scan.

use std::collections::BTreeMap;
use std::sync::Arc;

use exmc_fault::{Fault, planted};
use exmc_graph::{DType, Graph, NodeId, Op, Reduction, Role, ScanBody, Shape, SharedBody, Tensor};
use rustc_hash::{FxHashMap, FxHashSet};

use super::align::{Item, Picked};
use super::substitute::{Folding, Stretch};
use crate::lower::Lowering;
use crate::lower::variables::gather::pick;

/// Known numbers that are stated in a body rather than handed to it.
const MAX_NUMBERS: usize = 64;

/// What a scan is made of.
pub(in crate::lower) struct ScanPlan {
    /// The first iteration.
    pub(in crate::lower) from: usize,
    /// The first iteration after them.
    pub(in crate::lower) end: usize,
    /// What its steps read and compute.
    pub(in crate::lower) items: Vec<Item>,
    /// By number of the write: for how many steps it is kept.
    pub(in crate::lower) lags: BTreeMap<usize, usize>,
    /// By number of the write and steps before the first iteration: what was there.
    pub(in crate::lower) virtuals: FxHashMap<(usize, usize), NodeId>,
    /// By number of the write: the item that is written.
    pub(in crate::lower) outputs: FxHashMap<usize, usize>,
    /// Numbers of the writes that are read after the stretch.
    pub(in crate::lower) stacked: Vec<usize>,
    /// The items of terms and requirements.
    pub(in crate::lower) added: Vec<usize>,
}

fn input(body: &mut Graph, name: &str, shape: Shape, dtype: DType) -> Option<NodeId> {
    let role = if dtype == DType::Int { Role::Data } else { Role::Parameter };
    body.input(name, role, shape, dtype).ok()
}

impl Lowering<'_> {
    /// The scan of a stretch; `None` where its nodes cannot be a body after all.
    pub(in crate::lower) fn emit(
        &mut self,
        folding: &mut Folding<'_>,
        plan: &ScanPlan,
        demanded: &FxHashSet<(usize, usize)>,
    ) -> Option<()> {
        let (from, end, length) = (plan.from, plan.end, plan.end - plan.from);
        let last_write = |k: usize| folding.record.iterations[end - 1].writes[k].1;
        let mut body = Graph::new();
        let mut starts = Vec::new();
        let mut carry_of: FxHashMap<(usize, usize), usize> = FxHashMap::default();
        for (&k, &lag) in &plan.lags {
            let shape = self.sink.graph.shape(last_write(k)).clone();
            for depth in 1..=lag {
                carry_of.insert((k, depth), starts.len());
                let start = match from.checked_sub(depth) {
                    Some(s) => folding.record.iterations[s].writes.get(k).map(|(_, node)| *node),
                    None => plan.virtuals.get(&(k, depth - from)).copied(),
                };
                let start = match start {
                    Some(node) => folding.resolve(&mut self.sink.graph, node),
                    // Nobody reads it: a longer lag starts at the same place.
                    None => self.sink.graph.filled(&shape, 0.0),
                };
                let node = self.sink.graph.node(start);
                if node.shape != shape || node.dtype != DType::Real {
                    return None;
                }
                starts.push(start);
            }
        }
        let (mut sequences, mut fixed) = (Vec::new(), Vec::new());
        let mut histories = Vec::new();
        let mut of_item: Vec<NodeId> = Vec::with_capacity(plan.items.len());
        for item in &plan.items {
            let node = match item {
                Item::Fixed(node) => match self.known_inside(*node) {
                    Some(tensor) => body.constant(tensor),
                    None => {
                        let value = folding.resolve(&mut self.sink.graph, *node);
                        let name = format!("fixed{}", fixed.len());
                        fixed.push(value);
                        input(
                            &mut body,
                            &name,
                            self.sink.graph.shape(value).clone(),
                            self.sink.graph.node(value).dtype,
                        )?
                    }
                },
                Item::State { write, lag } => {
                    let number = carry_of[&(*write, *lag)];
                    let shape = self.sink.graph.shape(last_write(*write)).clone();
                    input(&mut body, &format!("carry{number}"), shape, DType::Real)?
                }
                Item::Known(tensor) => {
                    let value = self.sink.graph.constant(tensor.clone());
                    let name = format!("x{}", sequences.len());
                    sequences.push(value);
                    let shape = Shape::from(&tensor.shape().extents()[1..]);
                    input(&mut body, &name, shape, tensor.dtype())?
                }
                Item::Picked(Picked { root, positions, shape }) => {
                    let root = folding.resolve(&mut self.sink.graph, *root);
                    let full = Shape::from([length]).join(shape.extents());
                    let value = pick(&mut self.sink.graph, root, positions, full.extents());
                    let name = format!("x{}", sequences.len());
                    sequences.push(value);
                    input(&mut body, &name, shape.clone(), self.sink.graph.node(value).dtype)?
                }
                Item::CarriedArray(history) => {
                    let start = folding.resolve(&mut self.sink.graph, history.start);
                    let shape = self.sink.graph.shape(start).clone();
                    let array = input(
                        &mut body,
                        &format!("carry{}", starts.len()),
                        shape.clone(),
                        DType::Real,
                    )?;
                    starts.push(start);
                    let mask =
                        input(&mut body, &format!("x{}", sequences.len()), shape, DType::Real)?;
                    sequences.push(self.sink.graph.constant(history.mask.clone()));
                    histories.push((history, array, mask));
                    array
                }
                Item::Apply(op, args) => {
                    let args: Vec<NodeId> = args.iter().map(|arg| of_item[*arg]).collect();
                    body.apply(op.clone(), &args).ok()?
                }
            };
            of_item.push(node);
        }
        let mut next = vec![None; carry_of.len()];
        for (&k, &lag) in &plan.lags {
            for depth in 1..=lag {
                let is_last = plan.lags.keys().last() == Some(&k);
                let value = if depth == 1 && planted(Fault::StaleState) && is_last {
                    let shape = self.sink.graph.shape(last_write(k)).clone();
                    let same = carry_of[&(k, 1)];
                    input(&mut body, &format!("carry{same}"), shape, DType::Real)?
                } else if depth == 1 {
                    of_item[plan.outputs[&k]]
                } else {
                    let shape = self.sink.graph.shape(last_write(k)).clone();
                    let before = carry_of[&(k, depth - 1)];
                    input(&mut body, &format!("carry{before}"), shape, DType::Real)?
                };
                next[carry_of[&(k, depth)]] = Some(value);
            }
        }
        let mut next: Vec<NodeId> = next.into_iter().collect::<Option<_>>()?;
        for (history, array, mask) in histories {
            let written = of_item[plan.outputs[&history.write]];
            let shape = body.shape(array).clone();
            let written = history.laid_out(&mut body, written, &shape);
            next.push(body.select(mask, written, array));
        }
        let only_last = |k: usize| {
            plan.lags.contains_key(&k)
                && !demanded.iter().any(|(s, j)| *j == k && (from..end - 1).contains(s))
        };
        let rows: Vec<usize> = plan.stacked.iter().copied().filter(|k| !only_last(*k)).collect();
        let mut stacked: Vec<NodeId> = plan.added.iter().map(|item| of_item[*item]).collect();
        stacked.extend(rows.iter().map(|k| of_item[plan.outputs[k]]));
        if next.iter().chain(&stacked).any(|id| body.node(*id).dtype != DType::Real) {
            return None;
        }
        let counts = [starts.len(), sequences.len(), fixed.len()];
        let n_carries = starts.len();
        let body = SharedBody(Arc::new(ScanBody { graph: body, next, stacked, counts }));
        let mut args = starts;
        args.extend(sequences);
        args.extend(fixed);
        let scan = self.sink.graph.apply(Op::Scan { length, reverse: false, body }, &args).ok()?;
        let project = |g: &mut Graph, k: usize| g.apply(Op::Project(k), &[scan]).ok();

        let terms = &folding.record.iterations[from].terms;
        let mut number = n_carries;
        for (key, name, _) in terms.keyed() {
            let all = project(&mut self.sink.graph, number)?;
            let sum = self.sink.graph.sum(all);
            self.env.terms.add(&mut self.sink.graph, key, || name.to_owned(), sum);
            number += 1;
        }
        for _ in &terms.required {
            let all = project(&mut self.sink.graph, number)?;
            self.env.terms.required.push(self.sink.graph.reduce(Reduction::Min, all, &[0]));
            number += 1;
        }
        let mut stretch =
            Stretch { first: from, end, stacks: FxHashMap::default(), last: FxHashMap::default() };
        for &k in &rows {
            let stack = project(&mut self.sink.graph, number)?;
            self.state_support(folding, stack, k, from..end);
            stretch.stacks.insert(k, stack);
            number += 1;
        }
        for &k in plan.stacked.iter().filter(|k| !rows.contains(k)) {
            let last = project(&mut self.sink.graph, carry_of[&(k, 1)])?;
            self.state_support(folding, last, k, end - 1..end);
            stretch.last.insert(k, last);
        }
        folding.stretches.push(stretch);
        Some(())
    }

    /// Known numbers that a body states itself: places, and few numbers where no loop around could
    /// have others in each of its steps.
    fn known_inside(&self, node: NodeId) -> Option<Tensor> {
        let tensor = self.sink.graph.as_constant(node)?;
        let few = self.enclosing.records.is_empty() && tensor.values().len() <= MAX_NUMBERS;
        (few || tensor.dtype() == DType::Int).then(|| tensor.clone())
    }

    /// Hands on what is known of all values that a stretch wrote.
    fn state_support(
        &mut self,
        folding: &Folding<'_>,
        node: NodeId,
        write: usize,
        iterations: std::ops::Range<usize>,
    ) {
        let written = folding.record.iterations[iterations].iter().map(|i| i.writes[write].1);
        let mut supports = written.map(|old| self.sink.supports.of(&self.sink.graph, old));
        let Some(Some(first)) = supports.next() else { return };
        if supports.all(|other| other == Some(first)) {
            self.sink.supports.state(node, first);
        }
    }
}
