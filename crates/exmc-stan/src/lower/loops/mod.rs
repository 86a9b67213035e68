//! Loops: iterations side by side as lanes; where one needs another's results, one after the other.
//!
//! A loop is first walked once with a lane for each iteration. When that turns out to be wrong (an
//! iteration reads what another wrote) everything is undone and it is walked again: with copies of
//! the variables in question for each iteration (integers that iterations hand on are computed
//! ahead of them), in groups of iterations with the same sizes, and at last iteration by iteration.
//! What worked is remembered for the next time, and then relied on: a loop inside of another is
//! walked without means to undo it, and should it fail after all, the loop around begins again.

pub(super) mod assigned_variables;
pub(super) mod blocks;
pub(super) mod bounded_while;
pub(super) mod conditional_writes;
pub(super) mod control_flow;
pub(super) mod hoist_addresses;
pub(super) mod iterations;
pub(super) mod lanes;
pub(super) mod loop_invariants;
pub(super) mod mask_ragged;
pub(super) mod precompute_integers;
pub(super) mod probe_dependence;
pub(super) mod report;
pub(super) mod scan;
pub(super) mod unroll;
pub(super) mod vectorise;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::abort::{Abort, LowerResult, unsupported};
use super::loops::assigned_variables::assigned_variables;
use super::loops::control_flow::LaneFlow;
use super::loops::iterations::{Iterations, LoopValues};
use super::loops::lanes::Watch;
use super::loops::precompute_integers::Starts;
use super::loops::report::Way;
use super::loops::vectorise::split;
use super::variables::lane_value::{Form, LaneValue, holds_ints, ints};
use super::variables::store::Storage;
use super::{Env, Lowering};
use crate::source::Span;
use crate::typed::{Expr, Statement, SyntaxId, Type, VariableId};

/// Groups of iterations of one loop that may run apart.
const MAX_GROUPS: usize = 2_000;

/// Groups beyond which parts whose sizes differ are read whole instead, where that can be.
const MAX_UNPADDED_GROUPS: usize = 8;

/// What was found out about a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopPlan {
    /// It has to run iteration by iteration.
    one_by_one: bool,
    /// Variables of which each iteration has its own.
    pub(super) private: Arc<BTreeSet<VariableId>>,
    /// Whether parts whose sizes differ between iterations are read whole (`padded`).
    padded: bool,
    /// Whether its integers that iterations hand on are computed ahead, if that was tried.
    ahead: Option<bool>,
    /// Whether it cannot be walked as steps.
    not_in_steps: bool,
    /// Lanes that it had with loops inside of it, where those were more than are walked at once.
    crowd: usize,
    /// What it assigns to.
    assigned: Option<Arc<BTreeSet<VariableId>>>,
    /// Whether the rest of this is how it was walked to its end the last time.
    worked: bool,
    /// Whether that is not enough to rely on: it was walked in groups, or failed after it had
    /// worked.
    careful: bool,
}

/// What can be undone.
pub(super) struct Snapshot {
    env: Env,
    /// Loops that are recorded, and what the innermost one's iteration has written.
    records: (usize, usize),
}

impl Snapshot {
    /// What had been added to the density.
    pub(super) fn terms(&self) -> &super::target::Terms {
        &self.env.terms
    }
}

impl Lowering<'_> {
    /// Forgets what the iteration of the innermost recorded loop has written since a snapshot.
    pub(super) fn forget_writes(&mut self, snapshot: &Snapshot) {
        if let Some(record) = self.enclosing.records.last_mut() {
            record.writes.truncate(snapshot.records.1);
        }
    }

    /// `for (variable in lower:upper) body`
    pub(super) fn run_for(
        &mut self,
        statement: &Statement,
        variable: VariableId,
        lower: &Expr,
        upper: &Expr,
        body: &Statement,
    ) -> LowerResult<LaneFlow> {
        let low = self.lane_ints(lower)?;
        let high = self.lane_ints(upper)?;
        let counts = low
            .iter()
            .zip(&high)
            .map(|(low, high)| usize::try_from(high - low + 1).unwrap_or(0))
            .collect();
        let iterations = Iterations { counts, variable, values: LoopValues::From(low) };
        self.run_iterations(statement, &iterations, body)
    }

    /// `for (variable in over) body`
    pub(super) fn run_for_each(
        &mut self,
        statement: &Statement,
        variable: VariableId,
        over: &Expr,
        body: &Statement,
    ) -> LowerResult<LaneFlow> {
        let value = self.evaluate(over)?;
        let is_parameter = self.is_parameter(over);
        self.learned.loop_kinds.insert(variable, is_parameter);
        let values = self.elements(value, &over.ty, over.span)?;
        let counts = vec![values.count(); self.lane_count()];
        self.run_iterations(statement, &Iterations { counts, variable, values }, body)
    }

    /// The elements of a value of a type, in the order of a loop over them.
    fn elements(&mut self, value: LaneValue, ty: &Type, span: Span) -> LowerResult<LoopValues> {
        if let (Form::Tuple(slots), (depth, Type::Tuple(types))) = (&value.form, ty.array_parts()) {
            let slot_elements = |(slot, ty): (&LaneValue, &Type)| {
                self.elements(slot.clone(), &ty.clone().array(depth), span)
            };
            return Ok(LoopValues::Tuples(
                slots.iter().zip(types).map(slot_elements).collect::<LowerResult<_>>()?,
            ));
        }
        let shape = value.shape(&self.sink.graph);
        let storage = Storage::from_value(self.depth(), 0, shape.clone(), value);
        let (element, positions): (Vec<usize>, Vec<Vec<u32>>) = match shape.as_slice() {
            [count, rest @ ..] => {
                let size: usize = rest.iter().product();
                let element = |k: usize| (0..size).map(|e| (k * size + e) as u32).collect();
                (rest.to_vec(), (0..*count).map(element).collect())
            }
            _ => return Err(unsupported(span, "a loop over this value")),
        };
        Ok(LoopValues::Elements { over: storage, shape: element, positions })
    }

    /// A known integer of each current lane.
    fn lane_ints(&mut self, expr: &Expr) -> LowerResult<Vec<i64>> {
        let value = self.evaluate(expr)?;
        match value.as_known().and_then(ints) {
            Some(numbers) if value.lanes => Ok(numbers.into_owned()),
            Some(numbers) => Ok(vec![numbers[0]; self.lane_count()]),
            None => Err(unsupported(expr.span, "a bound of a loop that depends on parameters")),
        }
    }

    fn run_iterations(
        &mut self,
        statement: &Statement,
        iterations: &Iterations,
        body: &Statement,
    ) -> LowerResult<LaneFlow> {
        debug_assert_ne!(statement.id, SyntaxId::NONE, "loops are of the numbered program");
        let total: usize = iterations.counts.iter().sum();
        if total == 0 {
            return Ok(LaneFlow::on());
        }
        if let Some(stop) = self.crowded(total, statement.span) {
            return Err(stop);
        }
        self.sink.loops.visit(statement, total);
        let padding = self.enclosing.padding;
        let flow = self.run_as_planned(statement.id, iterations, body);
        self.enclosing.padding = padding;
        flow
    }

    /// The same with what was found out about the loop of that id.
    fn run_as_planned(
        &mut self,
        id: SyntaxId,
        iterations: &Iterations,
        body: &Statement,
    ) -> LowerResult<LaneFlow> {
        let nodes = self.sink.graph.len();
        let mut plan = self.learned.plans.get(&id).cloned().unwrap_or_default();
        self.enclosing.padding += usize::from(plan.padded);
        let assigned =
            plan.assigned.get_or_insert_with(|| Arc::new(assigned_variables(body))).clone();
        let single = iterations.counts.iter().all(|count| *count <= 1);
        let total: usize = iterations.counts.iter().sum();
        if !single && !plan.one_by_one {
            let most = self.context.options.most_lanes;
            let fits = plan.crowd.max(total) <= most;
            let mut way = Way::Vectorised;
            let mut done =
                fits && self.run_in_groups(id, &mut plan, iterations, body, &assigned)?;
            if !done && plan.crowd.max(total) > most {
                let size = self.size_of_blocks(iterations, plan.crowd.max(total));
                let parts = (body, &assigned);
                done = self.run_in_blocks(id, &mut plan, iterations, parts, size)?;
                way = Way::Blocks;
            }
            if done {
                self.sink.loops.lowered(id, way);
                return Ok(LaneFlow::on());
            }
            (plan.one_by_one, plan.worked) = (true, false);
        }
        if !plan.worked {
            self.learned.plans.insert(id, plan.clone());
        }
        if !single && !plan.not_in_steps && self.is_worth_steps(iterations) {
            // Of attempts that failed nothing is left, nodes neither.
            self.sink.graph.truncate(nodes);
            self.sink.supports.truncate(nodes);
            self.enclosing.records.iter_mut().for_each(|record| record.steady.clear());
            if self.run_in_steps(iterations, body, &assigned) {
                self.sink.loops_in_steps += 1;
                self.sink.loops.lowered(id, Way::Steps);
                if !plan.worked {
                    plan.worked = true;
                    self.learned.plans.insert(id, plan);
                }
                return Ok(LaneFlow::on());
            }
            self.sink.loops.undone(id);
            plan.not_in_steps = true;
            self.learned.plans.insert(id, plan.clone());
        }
        let longest = iterations.counts.iter().max().copied().unwrap_or(0);
        // Short loops never become scans, so nothing about them needs a second try.
        let snapshot =
            if longest < super::reroll::MIN_ITERATIONS { None } else { self.guard(&plan) };
        let (flow, grew) =
            self.guarded(snapshot.as_ref(), |this| this.run_one_by_one(iterations, body))?;
        let way = if self.learned.has_rerolled { Way::Rerolled } else { Way::Unrolled };
        self.sink.loops.lowered(id, way);
        if !grew || plan.padded {
            if !single && !plan.worked {
                plan.worked = true;
                self.learned.plans.insert(id, plan);
            }
            return Ok(flow);
        }
        let Some(snapshot) = snapshot else { return Err(self.unprepared(id, plan)) };
        plan.padded = true;
        self.learned.plans.insert(id, plan);
        self.restore(&snapshot);
        self.sink.loops.undone(id);
        self.enclosing.padding += 1;
        let again = self.guarded(Some(&snapshot), |this| this.run_one_by_one(iterations, body))?;
        Ok(again.0)
    }

    /// Iterations side by side, at first all of them; says whether that could be done.
    pub(super) fn run_in_groups(
        &mut self,
        id: SyntaxId,
        plan: &mut LoopPlan,
        iterations: &Iterations,
        body: &Statement,
        assigned: &Arc<BTreeSet<VariableId>>,
    ) -> LowerResult<bool> {
        let total: usize = iterations.counts.iter().sum();
        let loop_level = self.env.levels.len();
        let snapshot = self.guard(plan);
        if let Some(snapshot) = snapshot.as_ref().filter(|_| !plan.worked && plan.ahead.is_none())
            && self.probe(plan, iterations, body, assigned, snapshot)
        {
            return Ok(false);
        }
        let mut groups: Vec<Vec<u32>> = vec![(0..total as u32).collect()];
        let mut starts = if plan.ahead == Some(true) {
            self.starts_ahead(iterations, body, assigned, false).unwrap_or_default()
        } else {
            Starts::default()
        };
        loop {
            let walked = self.guarded(snapshot.as_ref(), |this| {
                let watch = Watch { assigned: assigned.clone(), ..Watch::default() };
                let private = (&*plan.private, &starts);
                this.run_side_by_side(iterations, body, private, &groups, watch)
            });
            let stop = match walked {
                Ok(()) => {
                    if !plan.worked || groups.len() > 1 {
                        plan.worked = true;
                        plan.careful |= groups.len() > 1;
                        self.learned.plans.insert(id, plan.clone());
                    }
                    return Ok(true);
                }
                Err(stop) => stop,
            };
            let (Abort::Carried { level, .. }
            | Abort::Ragged { level, .. }
            | Abort::Crowded { level, .. }) = &stop
            else {
                return Err(stop);
            };
            if *level != loop_level {
                return Err(stop);
            }
            if let Abort::Crowded { total, .. } = &stop {
                plan.crowd = plan.crowd.max(*total);
            }
            let Some(snapshot) = &snapshot else { return Err(self.unprepared(id, plan.clone())) };
            self.restore(snapshot);
            self.sink.loops.undone(id);
            match stop {
                Abort::Carried { variable: Some(variable), private: true, .. }
                    if Arc::make_mut(&mut plan.private).insert(variable) => {}
                // Integers never depend on parameters: what each iteration finds is known.
                Abort::Carried { variable: Some(variable), .. }
                    if plan.ahead.is_none() && self.is_int(variable) =>
                {
                    let Some(found) = self.starts_ahead(iterations, body, assigned, false) else {
                        return Ok(false);
                    };
                    starts = found;
                    Arc::make_mut(&mut plan.private).extend(starts.keys());
                    plan.ahead = Some(true);
                }
                Abort::Ragged { keys, span, .. } => {
                    groups = split(&groups, &keys);
                    if groups.len() > MAX_UNPADDED_GROUPS && !plan.padded {
                        plan.padded = true;
                        self.enclosing.padding += 1;
                        groups = vec![(0..total as u32).collect()];
                        // The sizes had kept the first iterations from telling anything.
                        if self.probe(plan, iterations, body, assigned, snapshot) {
                            return Ok(false);
                        }
                    }
                    if groups.len() > MAX_GROUPS {
                        return Err(unsupported(span, "so many different sizes in one loop"));
                    }
                }
                _ => return Ok(false),
            }
        }
    }

    /// What a loop needs to be walked again: nothing where it worked the last time and a loop
    /// around could begin again if it does not now.
    fn guard(&self, plan: &LoopPlan) -> Option<Snapshot> {
        let needless = self.enclosing.guards > 0 && plan.worked && !plan.careful;
        (!needless).then(|| self.snapshot())
    }

    /// Walks; where a loop inside is caught unprepared and there is a snapshot, once more from
    /// there.
    pub(super) fn guarded<T>(
        &mut self,
        snapshot: Option<&Snapshot>,
        walk: impl Fn(&mut Self) -> LowerResult<T>,
    ) -> LowerResult<T> {
        let Some(snapshot) = snapshot else { return walk(self) };
        loop {
            self.enclosing.guards += 1;
            let walked = walk(self);
            self.enclosing.guards -= 1;
            match walked {
                Err(Abort::Unprepared) => self.restore(snapshot),
                other => return other,
            }
        }
    }

    /// That a loop without a snapshot has to be walked in another way; from now on it takes one.
    fn unprepared(&mut self, id: SyntaxId, plan: LoopPlan) -> Abort {
        self.learned.plans.insert(id, LoopPlan { careful: true, ..plan });
        Abort::Unprepared
    }

    pub(super) fn is_int(&self, id: VariableId) -> bool {
        holds_ints(&self.context.program.variable(id).ty)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            env: self.env.clone(),
            records: (
                self.enclosing.records.len(),
                self.enclosing.records.last().map_or(0, |r| r.writes.len()),
            ),
        }
    }

    pub(super) fn restore(&mut self, snapshot: &Snapshot) {
        self.env = snapshot.env.clone();
        self.enclosing.records.truncate(snapshot.records.0);
        if let Some(record) = self.enclosing.records.last_mut() {
            record.writes.truncate(snapshot.records.1);
        }
    }
}
