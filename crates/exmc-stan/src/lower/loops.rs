//! Loops: iterations side by side as lanes; where one needs another's results, one after the other.
//!
//! A loop is first walked once with a lane for each iteration. When that turns out to be wrong (an
//! iteration reads what another wrote) everything is undone and it is walked again: with copies of the
//! variables in question for each iteration (integers that iterations hand on are computed ahead of them),
//! in groups of iterations with the same sizes, and at last iteration by iteration. What worked is remembered for the next time.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Lowering;
use super::ahead::Starts;
use super::assigned::assigned_variables;
use super::branch::returns;
use super::lane_set::{Cond, Flow, FlowParts, LaneSet, Left};
use super::lane_value::{Form, LaneValue, holds_ints, int_value, ints};
use super::level::{Level, Touch, Watch};
use super::statement::{source_of, truths};
use super::stop::{Step, Stop, runtime, unsupported};
use super::store::{Cells, NEVER, Source, Storage};
use crate::source::Span;
use crate::typed::{Expr, Statement, Type, VariableId};
use crate::value::{Numbers, Value};

/// Groups of iterations of one loop that may run apart.
const MAX_GROUPS: usize = 2_000;

/// Groups beyond which parts whose sizes differ are read whole instead, where that can be.
const FEW_GROUPS: usize = 8;

/// Iterations of a `while` loop.
const MAX_ITERATIONS: usize = 1_000_000;

/// What was found out about a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// It has to run iteration by iteration.
    one_by_one: bool,
    /// Variables of which each iteration has its own.
    private: BTreeSet<VariableId>,
    /// Whether parts whose sizes differ between iterations are read whole (`padded`).
    padded: bool,
    /// Whether its integers that iterations hand on are computed ahead, if that was tried.
    ahead: Option<bool>,
    /// What it assigns to.
    assigned: Option<Arc<BTreeSet<VariableId>>>,
}

/// What can be undone.
pub(super) struct Snapshot {
    stores: Vec<Option<Storage>>,
    levels: Vec<Level>,
    masks: usize,
    terms: super::target::Terms,
    frames: Vec<super::call::Frame>,
    /// Loops that are recorded, and what the innermost one's iteration has written.
    records: (usize, usize),
}

/// Iterations of a loop: how many in each current lane, and what the loop's variable is.
pub(super) struct Iterations<'a> {
    /// By current lane.
    pub(super) counts: Vec<usize>,
    /// The loop's variable.
    pub(super) variable: VariableId,
    values: LoopValues<'a>,
}

enum LoopValues<'a> {
    /// The first integer in each lane.
    From(Vec<i64>),
    /// Elements of a value: extents of one, the positions of its elements (within one lane's value).
    Elements { over: &'a Storage, shape: Vec<usize>, positions: Vec<Vec<u32>> },
}

impl Lowering<'_> {
    /// `for (variable in lower:upper) body`
    pub(super) fn run_for(
        &mut self,
        statement: &Statement,
        variable: VariableId,
        lower: &Expr,
        upper: &Expr,
        body: &Statement,
    ) -> Step<Flow> {
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
    ) -> Step<Flow> {
        let value = self.evaluate(over)?;
        if matches!(value.form, Form::Tuple(_)) {
            return Err(unsupported(over.span, "a loop over tuples"));
        }
        let shape = value.shape(&self.graph);
        let storage = Storage {
            level: self.depth(),
            masks: 0,
            shape: shape.clone(),
            cells: Cells::Whole(value),
        };
        let (element, positions): (Vec<usize>, Vec<Vec<u32>>) = match (&over.ty, shape.as_slice()) {
            (Type::Matrix, &[rows, columns]) => {
                let column = |j: usize| (0..rows).map(move |i| vec![(i * columns + j) as u32]);
                (Vec::new(), (0..columns).flat_map(column).collect())
            }
            (_, [count, rest @ ..]) => {
                let size: usize = rest.iter().product();
                let element = |k: usize| (0..size).map(|e| (k * size + e) as u32).collect();
                (rest.to_vec(), (0..*count).map(element).collect())
            }
            _ => return Err(unsupported(over.span, "a loop over this value")),
        };
        let counts = vec![positions.len(); self.lane_count()];
        let values = LoopValues::Elements { over: &storage, shape: element, positions };
        self.run_iterations(statement, &Iterations { counts, variable, values }, body)
    }

    /// A known integer of each current lane.
    fn lane_ints(&mut self, expr: &Expr) -> Step<Vec<i64>> {
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
        iterations: &Iterations<'_>,
        body: &Statement,
    ) -> Step<Flow> {
        let key = std::ptr::from_ref(statement) as usize;
        let total: usize = iterations.counts.iter().sum();
        if total == 0 {
            return Ok(Flow::on());
        }
        if total > super::MAX_LANES {
            return Err(unsupported(statement.span, format!("{total} iterations side by side")));
        }
        let padding = self.padding;
        let flow = self.run_as_planned(key, iterations, body);
        self.padding = padding;
        flow
    }

    /// The same with what was found out about the loop that `key` stands for.
    fn run_as_planned(
        &mut self,
        key: usize,
        iterations: &Iterations<'_>,
        body: &Statement,
    ) -> Step<Flow> {
        let total: usize = iterations.counts.iter().sum();
        let mut plan = self.plans.get(&key).cloned().unwrap_or_default();
        self.padding += usize::from(plan.padded);
        let assigned =
            plan.assigned.get_or_insert_with(|| Arc::new(assigned_variables(body))).clone();
        let single = iterations.counts.iter().all(|count| *count <= 1);
        if !single && !plan.one_by_one {
            let snapshot = self.snapshot();
            let mut groups: Vec<Vec<u32>> = vec![(0..total as u32).collect()];
            let mut starts = if plan.ahead == Some(true) {
                self.starts_ahead(iterations, body, &assigned).unwrap_or_default()
            } else {
                Starts::default()
            };
            loop {
                let watch = Watch { assigned: assigned.clone(), ..Watch::default() };
                let private = (&plan.private, &starts);
                match self.run_side_by_side(iterations, body, private, &groups, watch) {
                    Ok(()) => {
                        self.plans.insert(key, plan);
                        return Ok(Flow::on());
                    }
                    Err(Stop::Carried { level, variable, private })
                        if level == snapshot.levels.len() =>
                    {
                        self.restore(&snapshot);
                        match variable {
                            Some(variable) if private && plan.private.insert(variable) => {}
                            // Integers never depend on parameters: what each iteration finds is known.
                            Some(variable) if plan.ahead.is_none() && self.is_int(variable) => {
                                match self.starts_ahead(iterations, body, &assigned) {
                                    Some(found) => starts = found,
                                    None => break,
                                }
                                plan.private.extend(starts.keys());
                                plan.ahead = Some(true);
                            }
                            _ => break,
                        }
                    }
                    Err(Stop::Ragged { level, keys, span }) if level == snapshot.levels.len() => {
                        self.restore(&snapshot);
                        groups = split(&groups, &keys);
                        if groups.len() > FEW_GROUPS && !plan.padded {
                            plan.padded = true;
                            self.padding += 1;
                            groups = vec![(0..total as u32).collect()];
                        }
                        if groups.len() > MAX_GROUPS {
                            return Err(unsupported(span, "so many different sizes in one loop"));
                        }
                    }
                    Err(other) => return Err(other),
                }
            }
            plan.one_by_one = true;
        }
        self.plans.insert(key, plan.clone());
        let snapshot = self.snapshot();
        let (flow, grew) = self.run_one_by_one(iterations, body)?;
        if !grew || plan.padded {
            return Ok(flow);
        }
        plan.padded = true;
        self.plans.insert(key, plan);
        self.restore(&snapshot);
        self.padding += 1;
        Ok(self.run_one_by_one(iterations, body)?.0)
    }

    pub(super) fn is_int(&self, id: VariableId) -> bool {
        holds_ints(&self.program.variable(id).ty)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            stores: self.stores.clone(),
            levels: self.levels.clone(),
            masks: self.masks.len(),
            terms: self.terms.clone(),
            frames: self.frames.clone(),
            records: (self.records.len(), self.records.last().map_or(0, |r| r.writes.len())),
        }
    }

    pub(super) fn restore(&mut self, snapshot: &Snapshot) {
        self.stores.clone_from(&snapshot.stores);
        self.levels.clone_from(&snapshot.levels);
        self.masks.truncate(snapshot.masks);
        self.terms.clone_from(&snapshot.terms);
        self.frames.clone_from(&snapshot.frames);
        self.records.truncate(snapshot.records.0);
        if let Some(record) = self.records.last_mut() {
            record.writes.truncate(snapshot.records.1);
        }
    }

    fn run_side_by_side(
        &mut self,
        iterations: &Iterations<'_>,
        body: &Statement,
        (private, starts): (&BTreeSet<VariableId>, &Starts),
        groups: &[Vec<u32>],
        watch: Watch,
    ) -> Step<()> {
        let mut up = Vec::new();
        let mut number = Vec::new();
        for (lane, count) in iterations.counts.iter().enumerate() {
            up.extend(std::iter::repeat_n(lane as u32, *count));
            number.extend(0..*count);
        }
        let total = up.len();
        let level = self.levels.len();
        let value = self.loop_values(iterations, &up, &number);
        self.levels.push(Level { count: total, up: up.into(), watched: Some(watch) });
        self.set_loop_variable(iterations, value);
        let mut outside = Vec::new();
        for id in private {
            let slot = &mut self.stores[id.0 as usize];
            let Some(storage) = slot.take() else { continue };
            if storage.level >= level
                || matches!(&storage.cells, Cells::Whole(v) if matches!(v.form, Form::Tuple(_)))
            {
                *slot = Some(storage);
                continue;
            }
            let masks = storage.masks;
            *slot = Some(match starts.get(id) {
                Some(values) => {
                    let cells = Cells::Whole(LaneValue::known_lanes(values.clone()));
                    Storage { level, masks, shape: storage.shape.clone(), cells }
                }
                None => Storage::private(level, masks, storage.shape.clone(), total),
            });
            outside.push((*id, storage));
        }
        let carried = Stop::Carried { level, variable: None, private: false };
        for group in groups {
            let flow = if group.len() == total {
                self.run(body)?
            } else {
                self.in_lanes(group, |this| this.run(body))?
            };
            let stays = flow.mask.is_none_or(|left| left.broke == Cond::Never && !returns(body));
            if !stays || !flow.broke.is_none() {
                return Err(carried);
            }
            let mut finished = flow.next.to_vec(group.len());
            finished.extend(flow.continued.to_vec(if flow.continued == LaneSet::All {
                group.len()
            } else {
                0
            }));
            if LaneSet::from_vec(finished, group.len()) != LaneSet::All {
                return Err(carried);
            }
        }
        let copies: Vec<Option<Storage>> =
            outside.iter().map(|(id, _)| self.stores[id.0 as usize].take()).collect();
        let up = self.levels[level].up.clone();
        self.levels.pop();
        for ((id, storage), copy) in outside.into_iter().zip(copies) {
            self.stores[id.0 as usize] = Some(storage);
            if let Some(copy) = copy {
                self.keep_last(id, &copy, &up)?;
            }
        }
        Ok(())
    }

    /// Gives a variable what the last iterations that wrote its elements left in their copies.
    fn keep_last(&mut self, id: VariableId, copy: &Storage, up: &[u32]) -> Step<()> {
        let Cells::Mixed { cells, sources } = &copy.cells else {
            let Cells::Whole(value) = &copy.cells else { return Ok(()) };
            // One value for all iterations, or one for each of them.
            let size = copy.size();
            let cells = (0..size * up.len()).map(|k| super::store::Cell {
                source: 0,
                offset: if value.lanes { k } else { k % size.max(1) } as u32,
            });
            let sources = vec![source_of(value)];
            return self.keep_cells(id, &cells.collect::<Vec<_>>(), &sources, up);
        };
        self.keep_cells(id, cells, sources, up)
    }

    fn keep_cells(
        &mut self,
        id: VariableId,
        cells: &[super::store::Cell],
        sources: &[Source],
        up: &[u32],
    ) -> Step<()> {
        let Some(mut storage) = self.stores[id.0 as usize].take() else { return Ok(()) };
        let size = storage.size();
        let home = storage.level;
        let home_lanes = self.levels[home].count;
        let to_home = self.lanes_at(home);
        let mut last: std::collections::BTreeMap<u32, super::store::Cell> = Default::default();
        for (k, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.source != NEVER) {
            let lane = up[k / size.max(1)] as usize;
            let lane = to_home.as_ref().map_or(lane as u32, |map| map[lane]);
            last.insert(lane * size as u32 + (k % size.max(1)) as u32, *cell);
        }
        let addresses: Vec<u32> = last.keys().copied().collect();
        for (number, source) in sources.iter().enumerate() {
            let number = number as u32;
            let here: Vec<(u32, u32)> = last
                .iter()
                .filter(|(_, cell)| cell.source == number)
                .map(|(address, cell)| (*address, cell.offset))
                .collect();
            if here.is_empty() {
                continue;
            }
            let flat: Vec<u32> = here.iter().map(|(address, _)| *address).collect();
            storage.write(home_lanes, &flat, source.clone(), |k| here[k].1);
            self.note_write(id, source);
        }
        self.stores[id.0 as usize] = Some(storage);
        // The loops around see it written by all of their lanes that these iterations belong to.
        self.touch(id, home, &addresses, true, Touch::Write)
    }

    fn loop_values(
        &mut self,
        iterations: &Iterations<'_>,
        up: &[u32],
        number: &[usize],
    ) -> LaneValue {
        match &iterations.values {
            LoopValues::From(low) => {
                let values: Vec<i64> = up
                    .iter()
                    .zip(number)
                    .map(|(lane, k)| low[*lane as usize] + *k as i64)
                    .collect();
                let same = values.iter().all(|v| *v == values[0]);
                if same && self.depth() == 0 && values.len() == 1 {
                    LaneValue::known(Value::Int(values[0]))
                } else {
                    LaneValue::known_lanes(Value::Ints(Numbers::new([values.len()], values)))
                }
            }
            LoopValues::Elements { over, shape, positions } => {
                let base = if over.is_uniform() { 0 } else { over.size() as u32 };
                let flat: Vec<u32> = up
                    .iter()
                    .zip(number)
                    .flat_map(|(lane, k)| positions[*k].iter().map(move |p| lane * base + p))
                    .collect();
                let full: Vec<usize> =
                    std::iter::once(up.len()).chain(shape.iter().copied()).collect();
                let form = over.read(&mut self.graph, &flat, &full);
                LaneValue { form: form.expect("a whole value has all elements"), lanes: true }
            }
        }
    }

    pub(super) fn set_loop_variable(&mut self, iterations: &Iterations<'_>, value: LaneValue) {
        let shape = value.shape(&self.graph);
        let (level, masks) = (self.depth(), self.masks.len());
        let storage = Storage { level, masks, shape, cells: Cells::Whole(value) };
        self.stores[iterations.variable.0 as usize] = Some(storage);
    }

    /// The flow, and whether sizes that grow kept the iterations from becoming a scan.
    fn run_one_by_one(
        &mut self,
        iterations: &Iterations<'_>,
        body: &Statement,
    ) -> Step<(Flow, bool)> {
        let lanes = self.lane_count();
        let longest = iterations.counts.iter().max().copied().unwrap_or(0);
        // Right-hand sides of initial value problems are written out for their solvers.
        let recorded = longest >= super::rolled::FEWEST && self.nesting == 0;
        let (mut whole_loop, mut grew) = (true, false);
        if recorded {
            self.begin_record();
        }
        let mut alive: Vec<u32> = (0..lanes as u32).collect();
        let mut left = FlowParts::default();
        let mut so_far = Left::on();
        for k in 0..longest {
            let kept: Vec<u32> = alive
                .iter()
                .copied()
                .filter(|lane| iterations.counts[*lane as usize] > k)
                .collect();
            if kept.is_empty() {
                break;
            }
            let whole = kept.len() == lanes;
            let step = |this: &mut Self| {
                let value = this.step_value(iterations, &kept, k);
                this.set_loop_variable(iterations, value);
                match so_far.next {
                    Cond::Never => Ok(Flow::on()),
                    Cond::Always => this.run(body),
                    Cond::When(mask) => this.under(mask, |this| this.run(body)),
                }
            };
            let first = self.graph.len();
            let flow = if whole { step(self)? } else { self.in_lanes(&kept, step)? };
            if recorded {
                self.end_iteration(first);
            }
            if flow.mask.is_some() || so_far != Left::on() {
                let Some(iteration) = flow.conditions().filter(|_| whole) else {
                    return Err(self.mixed(body.span));
                };
                so_far = self.iterated(so_far, iteration);
                // What holds from here on is said by nodes of this iteration.
                whole_loop &= so_far == Left::on();
                continue;
            }
            if flow.is_plain() {
                continue;
            }
            let mut on: BTreeSet<u32> = flow.next.outside(&kept).into_iter().collect();
            on.extend(flow.continued.outside(&kept));
            let gone: BTreeSet<u32> =
                kept.iter().copied().filter(|lane| !on.contains(lane)).collect();
            whole_loop &= gone.is_empty();
            // Those that broke out go on after the loop.
            let broke = Flow { next: flow.broke.clone(), ..Flow::returned() };
            left.add(&broke, &kept);
            alive.retain(|lane| !gone.contains(lane));
        }
        if recorded {
            let mut inside = vec![iterations.variable];
            super::call::declared(body, &mut inside);
            grew = self.end_record(whole_loop, &inside);
        }
        left.add(&Flow::on(), &alive);
        let flow = left.finish(lanes);
        if so_far == Left::on() {
            return Ok((flow, grew));
        }
        if !flow.is_plain() {
            return Err(self.mixed(body.span));
        }
        Ok((self.after_loop(so_far, body), false))
    }

    pub(super) fn step_value(
        &mut self,
        iterations: &Iterations<'_>,
        kept: &[u32],
        k: usize,
    ) -> LaneValue {
        if let LoopValues::From(low) = &iterations.values {
            let values: Vec<i64> = kept.iter().map(|lane| low[*lane as usize] + k as i64).collect();
            if values.iter().all(|v| *v == values[0]) {
                return LaneValue::known(Value::Int(values[0]));
            }
            return LaneValue::known_lanes(int_value(&[values.len()], values));
        }
        if let LoopValues::Elements { over, shape, positions } = &iterations.values
            && over.is_uniform()
        {
            let form = over.read(&mut self.graph, &positions[k], shape);
            return LaneValue { form: form.expect("a whole value has all elements"), lanes: false };
        }
        self.loop_values(iterations, kept, &vec![k; kept.len()])
    }

    /// `while (condition) body`
    pub(super) fn run_while(&mut self, condition: &Expr, body: &Statement) -> Step<Flow> {
        let lanes = self.lane_count();
        let mut alive: Vec<u32> = (0..lanes as u32).collect();
        let mut left = FlowParts::default();
        for _ in 0..MAX_ITERATIONS {
            if alive.is_empty() {
                return Ok(left.finish(lanes));
            }
            let step = |this: &mut Self| -> Step<(Vec<u32>, Flow)> {
                let value = this.evaluate(condition)?;
                let Some(truth) = value.as_known().map(truths) else {
                    return Err(unsupported(
                        condition.span,
                        "a `while` whose condition depends on parameters",
                    ));
                };
                let count = this.lane_count();
                let holds = |lane: u32| truth[if value.lanes { lane as usize } else { 0 }];
                let kept: Vec<u32> = (0..count as u32).filter(|lane| holds(*lane)).collect();
                let flow = if kept.is_empty() {
                    Flow::on()
                } else if kept.len() == count {
                    this.run(body)?
                } else {
                    this.in_lanes(&kept, |this| this.run(body))?
                };
                Ok((kept, flow))
            };
            let (kept, flow) =
                if alive.len() == lanes { step(self)? } else { self.in_lanes(&alive, step)? };
            if flow.mask.is_some() {
                return Err(unsupported(
                    body.span,
                    "a return from a loop under a condition on parameters",
                ));
            }
            let kept: Vec<u32> = kept.iter().map(|lane| alive[*lane as usize]).collect();
            let ended: Vec<u32> =
                alive.iter().copied().filter(|lane| !kept.contains(lane)).collect();
            left.add(&Flow::on(), &ended);
            let broke = Flow { next: flow.broke.clone(), ..Flow::returned() };
            left.add(&broke, &kept);
            let mut on: Vec<u32> = flow.next.outside(&kept);
            on.extend(flow.continued.outside(&kept));
            on.sort_unstable();
            alive = on;
        }
        Err(runtime(condition.span, "a `while` loop does not end"))
    }

    /// That lanes differ where they must not, to be handled by the innermost loop side by side.
    pub(super) fn ragged(&self, keys: &[i64], span: Span) -> Stop {
        let level = (1..self.levels.len()).rev().find(|l| self.levels[*l].watched.is_some());
        let Some(level) = level else {
            return unsupported(span, "a size that differs between iterations here");
        };
        let map = self.lanes_at(level);
        let mut of_loop = vec![i64::MIN; self.levels[level].count];
        for (lane, key) in keys.iter().enumerate() {
            of_loop[map.as_ref().map_or(lane, |m| m[lane] as usize)] = *key;
        }
        Stop::Ragged { level, keys: of_loop, span }
    }
}

/// Each group's lanes by key, in the order in which keys appear.
fn split(groups: &[Vec<u32>], keys: &[i64]) -> Vec<Vec<u32>> {
    let mut parts: Vec<Vec<u32>> = Vec::new();
    for group in groups {
        let mut of_key: std::collections::BTreeMap<i64, usize> = Default::default();
        for lane in group {
            let next = parts.len();
            let part = *of_key.entry(keys[*lane as usize]).or_insert(next);
            if part == next {
                parts.push(Vec::new());
            }
            parts[part].push(*lane);
        }
    }
    parts
}
