//! Iterations that were walked one after the other -> a scan over those that did the same.
//!
//! While a loop runs one iteration after the other (`loops`), a record is kept of what each of them
//! wrote and added to the density. Afterwards the nodes of as many iterations as possible are laid
//! over each other (`overlay`): where they are one node it is the same in every step, where they
//! are known numbers or elements of one node they are a sequence, and where they are what an
//! iteration a constant number of steps before wrote they are a state. Each such stretch becomes
//! one scan, whose outputs take the place of what its iterations had written; the nodes that the
//! iterations had made are left for nobody to use. What does not fit (first iterations that differ,
//! sizes that grow) stays as it was walked, so the values are the same in any case. Executors take
//! the scan apart again: what needs no state is computed for all steps at once.

pub(super) mod align;
pub(super) mod carried_array;
pub(super) mod scan_body;
pub(super) mod substitute;

use exmc_graph::NodeId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Lowering;
use super::loops::loop_invariants::LoopInvariants;
use super::reroll::align::{Alignment, Item};
use super::reroll::scan_body::ScanPlan;
use super::reroll::substitute::Folding;
use super::target::Terms;
use super::variables::lane_value::{Form, LaneValue};
use super::variables::store::{Cells, Source};
use crate::typed::VariableId;

/// Iterations that are worth a scan; fewer run quicker one after the other.
pub(super) const MIN_ITERATIONS: usize = 16;

/// Attempts at stretches that may fail before the rest of a loop is left as it was walked.
const ATTEMPTS: usize = 24;

/// What a loop that runs one iteration after the other has done so far.
#[derive(Debug)]
pub(super) struct LoopTrace {
    /// Nodes that there were before it.
    pub(super) start: usize,
    /// What was added to the density before it.
    pub(super) outer: Terms,
    /// Iterations that ended.
    pub(super) iterations: Vec<Iteration>,
    /// What the present iteration has written.
    pub(super) writes: Vec<(VariableId, NodeId)>,
    /// Expressions that no iteration changes.
    pub(super) steady: LoopInvariants,
}

/// What one iteration did.
#[derive(Debug)]
pub(super) struct Iteration {
    /// Nodes that there were before it.
    pub(super) first: usize,
    /// What it gave variables, in order.
    pub(super) writes: Vec<(VariableId, NodeId)>,
    /// What it added to the density.
    pub(super) terms: Terms,
}

impl Lowering<'_> {
    /// Begins to record a loop.
    pub(super) fn begin_record(&mut self, steady: LoopInvariants) {
        let outer = std::mem::take(&mut self.env.terms);
        let (start, iterations, writes) = (self.sink.graph.len(), Vec::new(), Vec::new());
        self.enclosing.records.push(LoopTrace { start, outer, iterations, writes, steady });
    }

    /// Notes that an iteration of the recorded loop ended; `first` nodes there were before it.
    pub(super) fn end_iteration(&mut self, first: usize) {
        let Some(record) = self.enclosing.records.last_mut() else { return };
        let writes = std::mem::take(&mut record.writes);
        let terms = std::mem::take(&mut self.env.terms);
        record.iterations.push(Iteration { first, writes, terms });
    }

    /// Notes that a variable was given a node.
    pub(super) fn note_write(&mut self, variable: VariableId, source: &Source) {
        if let (Some(record), Source::Node(node)) = (self.enclosing.records.last_mut(), source) {
            record.writes.push((variable, *node));
        }
    }

    /// Ends the record of a loop that went through all its iterations (`is_complete`) or not, and
    /// turns what can be into scans. `inside` are the variables that its body declares. Says
    /// whether sizes that grow kept most of it from that.
    pub(super) fn end_record(&mut self, is_complete: bool, inside: &[VariableId]) -> bool {
        let Some(record) = self.enclosing.records.pop() else { return false };
        self.env.terms = record.outer.clone();
        let mut written: FxHashMap<NodeId, Vec<(usize, usize)>> = FxHashMap::default();
        for (s, iteration) in record.iterations.iter().enumerate() {
            for (k, (_, node)) in iteration.writes.iter().enumerate() {
                written.entry(*node).or_default().push((s, k));
            }
        }
        let mut folding = Folding {
            record: &record,
            written,
            stretches: Vec::new(),
            grew: false,
            moved: FxHashMap::default(),
        };
        if is_complete {
            for id in inside {
                self.env.stores[id.0 as usize] = None;
            }
            self.fold(&mut folding);
        } else {
            (0..record.iterations.len()).for_each(|s| self.keep_terms(&mut folding, s));
        }
        self.learned.has_rerolled = !folding.stretches.is_empty();
        if self.learned.has_rerolled {
            self.sink.rolled = true;
            self.move_stores(&mut folding);
        }
        let mut changed: Vec<VariableId> = Vec::new();
        for (variable, _) in record.iterations.iter().flat_map(|i| &i.writes) {
            if !changed.contains(variable) {
                changed.push(*variable);
            }
        }
        let folded: usize = folding.stretches.iter().map(|s| s.end - s.first).sum();
        let grew = folding.grew && 2 * folded < record.iterations.len();
        if self.enclosing.records.is_empty() {
            return grew;
        }
        // What the loop around must know of its own iteration's writes: what is left of this
        // loop's.
        let mut left = Vec::new();
        for id in changed {
            let Some(storage) = &self.env.stores[id.0 as usize] else { continue };
            match &storage.cells {
                Cells::Whole(LaneValue { form: Form::Node(node), .. }) => left.push((id, *node)),
                Cells::Whole(_) => {}
                Cells::Mixed { sources, .. } => {
                    let nodes = sources.iter().filter_map(|source| match source {
                        Source::Node(node) if node.index() >= record.start => Some((id, *node)),
                        _ => None,
                    });
                    left.extend(nodes);
                }
            }
        }
        if let Some(around) = self.enclosing.records.last_mut() {
            around.writes.extend(left);
        }
        grew
    }

    /// Finds stretches and turns them into scans, from the first iteration to the last.
    fn fold(&mut self, folding: &mut Folding<'_>) {
        let count = folding.record.iterations.len();
        let (mut from, mut failures) = (0, 0);
        while from < count {
            let mut end = count;
            let mut found = None;
            while end - from >= MIN_ITERATIONS && failures < ATTEMPTS {
                let demanded = folding.demanded(&self.sink.graph, &self.env.stores, from..end);
                match self.fold_stretch(folding, from, end, &demanded) {
                    Ok(()) => {
                        found = Some(end);
                        break;
                    }
                    Err(agreeing) => {
                        failures += 1;
                        end = from + agreeing.min(end - from - 1);
                    }
                }
            }
            match found {
                Some(end) => from = end,
                None => {
                    self.keep_terms(folding, from);
                    from += 1;
                }
            }
        }
    }

    /// Adds the terms of an iteration that stays as it was walked.
    fn keep_terms(&mut self, folding: &mut Folding<'_>, iteration: usize) {
        let terms = &folding.record.iterations[iteration].terms;
        for (key, name, node) in terms.keyed() {
            let node = folding.resolve(&mut self.sink.graph, node);
            self.env.terms.add(&mut self.sink.graph, key, || name.to_owned(), node);
        }
        for node in &terms.required {
            let node = folding.resolve(&mut self.sink.graph, *node);
            self.env.terms.required.push(node);
        }
    }

    /// Makes the iterations `from..end` one scan, or says how many of the first may agree.
    fn fold_stretch(
        &mut self,
        folding: &mut Folding<'_>,
        from: usize,
        end: usize,
        demanded: &FxHashSet<(usize, usize)>,
    ) -> Result<(), usize> {
        let iterations = &folding.record.iterations[from..end];
        let first = &iterations[0];
        let names = |i: &Iteration| i.writes.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        for (number, other) in iterations.iter().enumerate() {
            let same = names(first) == names(other)
                && first.terms.required.len() == other.terms.required.len()
                && first.terms.keyed().map(|t| t.0).eq(other.terms.keyed().map(|t| t.0));
            if !same {
                return Err(number);
            }
        }
        let mut overlay =
            Alignment::new(&mut self.sink.graph, folding.record, &folding.written, from..end);
        let laid = lay(&mut overlay, iterations, demanded, from..end);
        let grew = overlay.grew;
        let Alignment { items, lags, virtuals, .. } = overlay;
        folding.grew |= grew && laid.is_err();
        let Laid { added, stacked, outputs } = laid?;
        let plan = ScanPlan { from, end, items, lags, virtuals, outputs, stacked, added };
        self.emit(folding, &plan, demanded).ok_or(0)
    }
}

/// Items of what the iterations of a stretch added and wrote.
struct Laid {
    added: Vec<usize>,
    stacked: Vec<usize>,
    outputs: FxHashMap<usize, usize>,
}

/// Lays what iterations added and wrote over each other, and then what that is computed from.
fn lay(
    overlay: &mut Alignment<'_>,
    iterations: &[Iteration],
    demanded: &FxHashSet<(usize, usize)>,
    stretch: std::ops::Range<usize>,
) -> Result<Laid, usize> {
    let row = |get: &dyn Fn(&Iteration) -> NodeId| iterations.iter().map(get).collect();
    let terms = &iterations[0].terms;
    let mut added = Vec::new();
    for k in 0..terms.list.len() {
        added.push(overlay.place(row(&|i| i.terms.list[k].1))?);
    }
    for k in 0..terms.required.len() {
        added.push(overlay.place(row(&|i| i.terms.required[k]))?);
    }
    let mut stacked: Vec<usize> =
        demanded.iter().filter(|(s, _)| stretch.contains(s)).map(|(_, k)| *k).collect();
    stacked.sort_unstable();
    stacked.dedup();
    let mut outputs: FxHashMap<usize, usize> = FxHashMap::default();
    for &k in &stacked {
        outputs.insert(k, overlay.place(row(&|i| i.writes[k].1))?);
    }
    // States are found while their next values are laid over each other.
    loop {
        let histories = overlay.items.iter().filter_map(|item| match item {
            Item::CarriedArray(history) => Some(&history.write),
            _ => None,
        });
        let open = overlay.lags.keys().chain(histories).find(|k| !outputs.contains_key(k));
        let Some(&k) = open else { break };
        outputs.insert(k, overlay.place(row(&|i| i.writes[k].1))?);
    }
    Ok(Laid { added, stacked, outputs })
}
