//! Nodes of iterations that became part of a scan -> the scan's outputs in their place.

use std::ops::Range;
use std::sync::Arc;

use exmc_graph::{Graph, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::LoopTrace;
use crate::lower::Lowering;
use crate::lower::variables::gather::pick;
use crate::lower::variables::lane_value::{Form, LaneValue};
use crate::lower::variables::store::{Cell, Cells, NEVER, Source, Storage};

/// A stretch of iterations that became a scan.
pub(in crate::lower) struct Stretch {
    /// Its first iteration.
    pub(in crate::lower) first: usize,
    /// The first iteration after it.
    pub(in crate::lower) end: usize,
    /// By number of the write: the values of all steps.
    pub(in crate::lower) stacks: FxHashMap<usize, NodeId>,
    /// By number of the write: the value of the last step.
    pub(in crate::lower) last: FxHashMap<usize, NodeId>,
}

/// The folding of one record: what became scans so far, and what took the place of old nodes.
pub(in crate::lower) struct Folding<'r> {
    /// What the loop did.
    pub(in crate::lower) record: &'r LoopTrace,
    /// Which iterations wrote a node as which of their writes, ascending.
    pub(in crate::lower) written: FxHashMap<NodeId, Vec<(usize, usize)>>,
    /// Scans so far.
    pub(in crate::lower) stretches: Vec<Stretch>,
    /// Whether sizes that differ ended a stretch.
    pub(in crate::lower) grew: bool,
    /// What has taken the place of which node.
    pub(in crate::lower) moved: FxHashMap<NodeId, NodeId>,
}

impl Lowering<'_> {
    /// Lets variables refer to scans instead of iterations that became part of one.
    pub(in crate::lower) fn move_stores(&mut self, folding: &mut Folding<'_>) {
        for slot in &mut self.env.stores {
            let Some(storage) = slot else { continue };
            match &mut storage.cells {
                Cells::Whole(value) => move_value(&mut self.sink.graph, folding, value),
                Cells::Mixed { cells, sources } => {
                    let late = |source: &Source| matches!(source, Source::Node(n) if n.index() >= folding.record.start);
                    if !sources.iter().any(late) {
                        continue;
                    }
                    let (new_cells, new_sources) =
                        move_cells(&mut self.sink.graph, folding, cells, sources);
                    (*cells, *sources) = (Arc::new(new_cells), Arc::new(new_sources));
                }
            }
        }
    }
}

impl Folding<'_> {
    /// Where a node was written first, if an iteration of a stretch did.
    fn place(&self, node: NodeId) -> Option<(&Stretch, usize, usize)> {
        let (s, k) = *self.written.get(&node)?.first()?;
        let stretch = self.stretches.iter().find(|st| (st.first..st.end).contains(&s))?;
        Some((stretch, s, k))
    }

    /// The node that holds a written value now, and where in it the value begins.
    fn home(&self, g: &Graph, node: NodeId) -> Option<(NodeId, u32)> {
        let (stretch, s, k) = self.place(node)?;
        if let Some(stack) = stretch.stacks.get(&k) {
            let len = g.shape(node).len();
            return Some((*stack, ((s - stretch.first) * len) as u32));
        }
        let last = stretch.last.get(&k)?;
        (s + 1 == stretch.end).then_some((*last, 0))
    }

    /// A node that has the value of an old one without the iterations that became part of a scan.
    pub(in crate::lower) fn resolve(&mut self, g: &mut Graph, node: NodeId) -> NodeId {
        if self.stretches.is_empty() {
            return node;
        }
        let mut waiting = vec![node];
        while let Some(&id) = waiting.last() {
            if id.index() < self.record.start || self.moved.contains_key(&id) {
                waiting.pop();
                continue;
            }
            if let Some((home, start)) = self.home(g, id) {
                let shape = g.shape(id).clone();
                let positions: Vec<u32> = (start..start + shape.len() as u32).collect();
                let new = pick(g, home, &positions, shape.extents());
                self.moved.insert(id, new);
                waiting.pop();
                continue;
            }
            let args = g.node(id).args.clone();
            let open =
                |arg: &NodeId| arg.index() >= self.record.start && !self.moved.contains_key(arg);
            let before = waiting.len();
            waiting.extend(args.iter().copied().filter(open));
            if waiting.len() > before {
                continue;
            }
            let new: Vec<NodeId> =
                args.iter().map(|arg| self.moved.get(arg).copied().unwrap_or(*arg)).collect();
            let copy = if new == args {
                id
            } else {
                let op = g.node(id).op.clone();
                g.apply(op, &new).expect("its arguments are what they were, elsewhere")
            };
            self.moved.insert(id, copy);
            waiting.pop();
        }
        self.moved.get(&node).copied().unwrap_or(node)
    }

    /// Which writes of some iterations are read by variables after the loop or by later iterations.
    pub(in crate::lower) fn demanded(
        &self,
        g: &Graph,
        stores: &[Option<Storage>],
        stretch: Range<usize>,
    ) -> FxHashSet<(usize, usize)> {
        let iterations = &self.record.iterations;
        let mut waiting: Vec<NodeId> = Vec::new();
        for storage in stores.iter().flatten() {
            match &storage.cells {
                Cells::Whole(value) => value_nodes(value, &mut waiting),
                Cells::Mixed { cells, sources } => {
                    let mut used = vec![false; sources.len()];
                    for cell in cells.iter().filter(|cell| cell.source != NEVER) {
                        used[cell.source as usize] = true;
                    }
                    waiting.extend(sources.iter().zip(&used).filter_map(|(source, used)| {
                        match source {
                            Source::Node(node) if *used => Some(*node),
                            _ => None,
                        }
                    }));
                }
            }
        }
        let later = iterations.get(stretch.end..).unwrap_or(&[]);
        for iteration in later {
            waiting.extend(iteration.writes.iter().map(|(_, node)| *node));
            waiting.extend(iteration.terms.list.iter().map(|(_, node)| *node));
            waiting.extend(&iteration.terms.required);
        }
        let mut demanded = FxHashSet::default();
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        while let Some(id) = waiting.pop() {
            if id.index() < self.record.start || !seen.insert(id) {
                continue;
            }
            if let Some((s, k)) = self.written.get(&id).and_then(|writes| writes.first())
                && *s < stretch.end
            {
                if stretch.contains(s) {
                    demanded.insert((*s, *k));
                }
                continue;
            }
            waiting.extend(&g.node(id).args);
        }
        demanded
    }
}

fn value_nodes(value: &LaneValue, found: &mut Vec<NodeId>) {
    match &value.form {
        Form::Node(node) => found.push(*node),
        Form::Known(_) => {}
        Form::Tuple(slots) => slots.iter().for_each(|slot| value_nodes(slot, found)),
    }
}

fn move_value(g: &mut Graph, folding: &mut Folding<'_>, value: &mut LaneValue) {
    match &mut value.form {
        Form::Node(node) => *node = folding.resolve(g, *node),
        Form::Known(_) => {}
        Form::Tuple(slots) => slots.iter_mut().for_each(|slot| move_value(g, folding, slot)),
    }
}

/// Cells and sources with the stacks of scans in place of what single iterations wrote.
fn move_cells(
    g: &mut Graph,
    folding: &mut Folding<'_>,
    cells: &[Cell],
    sources: &[Source],
) -> (Vec<Cell>, Vec<Source>) {
    let mut new: Vec<Source> = Vec::new();
    let mut of_node: FxHashMap<NodeId, u32> = FxHashMap::default();
    let mut moved: Vec<Option<(u32, u32)>> = vec![None; sources.len()];
    let mut result = Vec::with_capacity(cells.len());
    for cell in cells {
        if cell.source == NEVER {
            result.push(*cell);
            continue;
        }
        let old = cell.source as usize;
        let (source, base) = match (moved[old], &sources[old]) {
            (Some(place), _) => place,
            (None, Source::Known(_)) => {
                new.push(sources[old].clone());
                (new.len() as u32 - 1, 0)
            }
            (None, Source::Node(node)) => {
                let (home, base) = match folding.home(g, *node) {
                    Some(place) => place,
                    None => (folding.resolve(g, *node), 0),
                };
                let number = *of_node.entry(home).or_insert_with(|| {
                    new.push(Source::Node(home));
                    new.len() as u32 - 1
                });
                (number, base)
            }
        };
        moved[old] = Some((source, base));
        result.push(Cell { source, offset: base + cell.offset });
    }
    (result, new)
}
