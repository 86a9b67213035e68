//! Iterations that need each other's results, walked side by side -> one scan.
//!
//! The body is walked once, with a lane for each iteration, as for a loop whose iterations are
//! independent. What an iteration reads that an earlier one wrote is an input in the walk, of which
//! only is known who wrote it. Two kinds of variables hand something on:
//!
//! - a *state* is a number or a short array that iterations change as a whole. Each iteration has
//!   its own copy, which begins as an input; what the copy is at the end is the state after the
//!   step;
//! - of a *late* variable each element is written by one iteration at most (`x[t] = f(x[t - 1])`).
//!   Reads of elements that the iteration has not written itself are inputs (`late`), and once all
//!   writes are known they say how many steps before an element was written, or that it is what it
//!   was before the loop.
//!
//! Afterwards the nodes that depend on these inputs are taken apart by steps: each becomes an
//! operation on one step's numbers in a scan's body (`body`, `movement`, `chains`, `totals`,
//! `finish`). What is the same in all steps is computed once, outside; known numbers and elements
//! of what was there before are handed in as sequences. Statements under a condition on data are
//! walked for the iterations for which it holds; where results of different branches meet, the body
//! chooses by a sequence of zeros and ones, so that a branch that is not taken adds nothing to
//! values or derivatives. The walk's cost is that of one walk over the body with arrays of known
//! numbers, so long loops with branches cost as much as those without.
//!
//! Whatever this cannot follow (a `break` under a condition on parameters, an element that several
//! iterations write at places that differ, an operation that has no form for one step) is undone,
//! and the iterations are walked one by one.

mod body;
mod chains;
mod finish;
mod late;
mod movement;
mod totals;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use exmc_graph::{DType, NodeId, Role, Shape};
use rustc_hash::FxHashMap;

use super::Snapshot;
use super::control_flow::LaneSet;
use super::iterations::Iterations;
use super::lanes::Watch;
use super::precompute_integers::Starts;
use crate::lower::Lowering;
use crate::lower::abort::{Abort, LowerResult};
use crate::lower::variables::lane_value::{Form, LaneValue};
use crate::lower::variables::store::{Cells, NEVER};
use crate::source::Span;
use crate::typed::{Statement, VariableId};
use late::{Late, LateRead};

/// Elements that a state may have.
const MAX_STATES: usize = 256;

/// Numbers that all copies of a state may have together.
const MAX_COPIES: usize = 20_000_000;

/// A walk of iterations as steps.
#[derive(Debug, Default)]
pub(in crate::lower) struct Steps {
    /// The level whose lanes are the steps.
    pub(in crate::lower) level: usize,
    /// How many there are.
    count: usize,
    /// The inputs that copies of states begin as.
    states: BTreeMap<VariableId, NodeId>,
    /// What the copies are at the end.
    finals: Vec<(VariableId, LaneValue)>,
    late: BTreeMap<VariableId, Late>,
    reads: FxHashMap<NodeId, LateRead>,
    /// Which steps had lanes of their own in some part of the walk.
    layouts: Vec<Arc<[u32]>>,
    /// A late variable some element of which several steps write.
    several: Option<VariableId>,
    /// The first step that leaves the loop.
    broke: Option<u32>,
}

/// How a walk as steps ended.
enum Walked {
    Folded,
    /// Each step needs its own copy of a variable.
    Several(VariableId),
    /// Integers that must be computed ahead.
    Carried(VariableId),
    /// So many steps begin; the last of them leaves the loop.
    Broke(usize),
    Refused,
}

impl Lowering<'_> {
    /// Whether a loop is long enough for steps, and stands where it can have some.
    pub(in crate::lower) fn is_worth_steps(&self, iterations: &Iterations) -> bool {
        let range = self.context.options.steps_from.max(2)..=self.context.options.most_lanes;
        // Right-hand sides of initial value problems are written out for their solvers.
        matches!(iterations.counts[..], [count] if range.contains(&count))
            && self.enclosing.nesting == 0
            && self.enclosing.steps.is_none()
    }

    /// Runs a loop's iterations as the steps of a scan; says whether that could be done.
    pub(in crate::lower) fn run_in_steps(
        &mut self,
        iterations: &Iterations,
        body: &Statement,
        assigned: &Arc<BTreeSet<VariableId>>,
    ) -> bool {
        let [mut count] = iterations.counts[..] else { return false };
        let mut inside = vec![iterations.variable];
        crate::lower::call::declared(body, &mut inside);
        let (mut states, mut integers) = (BTreeSet::new(), BTreeSet::new());
        let mut others = BTreeSet::new();
        for id in assigned.iter().copied().filter(|id| !inside.contains(id)) {
            let Some(storage) = &self.env.stores[id.0 as usize] else { continue };
            if matches!(&storage.cells, Cells::Whole(v) if matches!(v.form, Form::Tuple(_))) {
                return false;
            }
            if let Cells::Mixed { cells, .. } = &storage.cells
                && cells.iter().any(|cell| cell.source == NEVER)
            {
                return false;
            }
            // Steps number the elements of one lane.
            if self.env.levels[storage.level].count > 1 {
                return false;
            }
            let is_masked = self.env.masks.len() > storage.masks || !storage.partly.is_empty();
            if self.is_int(id) {
                integers.insert(id);
            } else if storage.size() == 1 || is_masked {
                states.insert(id);
            } else {
                others.insert(id);
            }
        }
        let snapshot = self.snapshot();
        let nodes = self.sink.graph.len();
        let (mut private, mut starts): (_, Option<Starts>) = (BTreeSet::new(), None);
        loop {
            if states.iter().any(|id| !self.may_be_state(*id, count)) {
                return false;
            }
            let late = others.difference(&states).copied().collect();
            let mut copies: BTreeSet<VariableId> = states.union(&private).copied().collect();
            let known = starts.clone().unwrap_or_default();
            copies.extend(known.keys());
            let watch = Watch { assigned: assigned.clone(), ..Watch::default() };
            let kinds = (&states, &late, &copies, &known);
            let first = Iterations {
                counts: vec![count],
                variable: iterations.variable,
                values: iterations.values.clone(),
            };
            match self.walk_steps(&first, body, kinds, watch, (&snapshot, nodes)) {
                Walked::Folded => return true,
                Walked::Broke(last) if last > 1 && last < count => (count, starts) = (last, None),
                Walked::Several(id) if states.insert(id) => {}
                Walked::Carried(id) if integers.contains(&id) && private.insert(id) => {}
                Walked::Carried(id) if integers.contains(&id) && starts.is_none() => {
                    starts = self.starts_ahead(&first, body, assigned, true);
                    if starts.is_none() {
                        return false;
                    }
                }
                _ => return false,
            }
        }
    }

    fn may_be_state(&self, id: VariableId, count: usize) -> bool {
        let size = self.env.stores[id.0 as usize].as_ref().map_or(0, |storage| storage.size());
        size > 0 && size <= MAX_STATES && size * count <= MAX_COPIES
    }

    /// One attempt, of which nothing is left if it fails.
    fn walk_steps(
        &mut self,
        iterations: &Iterations,
        body: &Statement,
        (states, late, copies, starts): (
            &BTreeSet<VariableId>,
            &BTreeSet<VariableId>,
            &BTreeSet<VariableId>,
            &Starts,
        ),
        watch: Watch,
        (snapshot, nodes): (&Snapshot, usize),
    ) -> Walked {
        let count = iterations.counts[0];
        let groups = [(0..count as u32).collect()];
        let walked = self.guarded(Some(snapshot), |this| {
            this.env.terms = Default::default();
            let steps = this.begin_steps(states, late, count);
            this.enclosing.steps = Some(steps);
            this.run_side_by_side(iterations, body, (copies, starts), &groups, watch.clone())
        });
        let steps = self.enclosing.steps.take().unwrap_or_default();
        let outcome = match walked {
            Ok(()) => {
                let terms = std::mem::replace(&mut self.env.terms, snapshot.terms().clone());
                self.forget_writes(snapshot);
                match self.fold_steps(&steps, &terms, nodes, body.span) {
                    Some(()) => Walked::Folded,
                    None => Walked::Refused,
                }
            }
            Err(_) if steps.broke.is_some() => {
                steps.broke.map_or(Walked::Refused, |step| Walked::Broke(step as usize + 1))
            }
            Err(_) if steps.several.is_some() => {
                steps.several.map_or(Walked::Refused, Walked::Several)
            }
            Err(Abort::Carried { level, variable: Some(id), .. }) if level == steps.level => {
                Walked::Carried(id)
            }
            Err(_) => Walked::Refused,
        };
        // Nothing that was computed in lanes of steps is of use elsewhere.
        self.enclosing.records.iter_mut().for_each(|record| record.steady.clear());
        if !matches!(outcome, Walked::Folded) {
            self.restore(snapshot);
            self.sink.graph.truncate(nodes);
            self.sink.supports.truncate(nodes);
        }
        outcome
    }

    fn begin_steps(
        &mut self,
        states: &BTreeSet<VariableId>,
        late: &BTreeSet<VariableId>,
        count: usize,
    ) -> Steps {
        let mut steps = Steps { level: self.env.levels.len(), count, ..Steps::default() };
        for id in states {
            let Some(storage) = &self.env.stores[id.0 as usize] else { continue };
            let shape = Shape::from([count]).join(&storage.shape);
            steps.states.insert(*id, self.placeholder(shape));
        }
        for id in late {
            let Some(storage) = &self.env.stores[id.0 as usize] else { continue };
            steps.late.insert(*id, Late::new(storage.clone()));
        }
        steps
    }

    /// An input that stands for what earlier iterations wrote.
    fn placeholder(&mut self, shape: Shape) -> NodeId {
        self.sink.placeholders += 1;
        let name = format!("earlier steps {}", self.sink.placeholders);
        let made = self.sink.graph.input(&name, Role::Parameter, shape, DType::Real);
        made.expect("no two have one number")
    }

    /// Notes that steps leave their loop by data; whether the last step alone does, which changes
    /// nothing.
    pub(in crate::lower) fn leave_steps(&mut self, level: usize, broke: &LaneSet) -> bool {
        let Some(steps) = self.enclosing.steps.as_mut().filter(|steps| steps.level == level) else {
            return false;
        };
        let first = broke.to_vec(steps.count).first().copied();
        if first.is_some_and(|first| first as usize + 1 == steps.count) {
            return true;
        }
        steps.broke = first;
        false
    }

    /// What a copy of a state begins as.
    pub(in crate::lower) fn start_of_state(
        &self,
        id: VariableId,
        level: usize,
    ) -> Option<LaneValue> {
        let steps = self.enclosing.steps.as_ref().filter(|steps| steps.level == level)?;
        steps.states.get(&id).map(|node| LaneValue::node(*node, true))
    }

    /// Takes what copies of states are at the end of a walk over the lanes of a level.
    pub(in crate::lower) fn take_finals(&mut self, level: usize, span: Span) -> LowerResult<()> {
        let Some(steps) = self.enclosing.steps.as_ref().filter(|steps| steps.level == level) else {
            return Ok(());
        };
        let ids: Vec<VariableId> = steps.states.keys().copied().collect();
        for id in ids {
            let value = self.read_whole(id, span)?;
            self.env.stores[id.0 as usize] = None;
            if let Some(steps) = &mut self.enclosing.steps {
                steps.finals.push((id, value));
            }
        }
        Ok(())
    }

    /// Notes which steps have lanes of their own from here on.
    pub(in crate::lower) fn note_layout(&mut self) {
        let Some(level) = self.enclosing.steps.as_ref().map(|steps| steps.level) else { return };
        let Some(mut of_lane) = self.lanes_at(level) else { return };
        of_lane.dedup();
        if let Some(steps) = &mut self.enclosing.steps
            && !steps.layouts.iter().any(|layout| **layout == *of_lane)
        {
            steps.layouts.push(of_lane.into());
        }
    }
}
