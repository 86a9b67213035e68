//! Iterations one after the other: a walk over the body for each of them.

use std::collections::BTreeSet;

use super::control_flow::{Cond, FlowParts, LaneFlow, Left};
use super::iterations::Iterations;
use crate::lower::Lowering;
use crate::lower::abort::{LowerResult, runtime, unsupported};
use crate::lower::branch::returns;
use crate::lower::statement::truths;
use crate::typed::{Expr, Statement};

/// Iterations of a `while` loop.
const MAX_ITERATIONS: usize = 1_000_000;

impl Lowering<'_> {
    /// The flow, and whether sizes that grow kept the iterations from becoming a scan.
    pub(in crate::lower) fn run_one_by_one(
        &mut self,
        iterations: &Iterations,
        body: &Statement,
    ) -> LowerResult<(LaneFlow, bool)> {
        let lanes = self.lane_count();
        let longest = iterations.counts.iter().max().copied().unwrap_or(0);
        // Right-hand sides of initial value problems are written out for their solvers.
        let recorded = longest >= crate::lower::reroll::MIN_ITERATIONS
            && self.enclosing.nesting == 0
            && self.enclosing.steps.is_none();
        let (mut whole_loop, mut grew) = (true, false);
        if recorded {
            self.begin_record(self.steady(iterations, body));
        }
        let mut alive: Vec<u32> = (0..lanes as u32).collect();
        let mut left = FlowParts::default();
        let mut so_far = Left::on();
        let returns = returns(body);
        for k in 0..longest {
            let kept: Vec<u32> = alive
                .iter()
                .copied()
                .filter(|lane| iterations.counts[*lane as usize] > k)
                .collect();
            if kept.is_empty() {
                break;
            }
            let is_full = kept.len() == lanes;
            let step = |this: &mut Self| {
                let value = this.step_value(iterations, &kept, k);
                this.set_loop_variable(iterations, value);
                match so_far.next {
                    Cond::Never => Ok(LaneFlow::on()),
                    Cond::Always => this.run(body),
                    Cond::When(mask) => this.under(mask, |this| this.run(body)),
                }
            };
            let first = self.sink.graph.len();
            let mut flow = if is_full { step(self)? } else { self.in_lanes(&kept, step)? };
            if recorded {
                self.end_iteration(first);
            }
            // Those that went on with the next iteration early are as far as the others.
            if flow.mask.is_some_and(|left| left.broke == Cond::Never) && !returns {
                flow = LaneFlow::on();
            }
            if flow.mask.is_some() || so_far != Left::on() {
                let Some(iteration) = flow.conditions().filter(|_| is_full) else {
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
            let broke = LaneFlow { next: flow.broke.clone(), ..LaneFlow::returned() };
            left.add(&broke, &kept);
            alive.retain(|lane| !gone.contains(lane));
        }
        if recorded {
            let mut inside = vec![iterations.variable];
            crate::lower::call::declared(body, &mut inside);
            grew = self.end_record(whole_loop, &inside);
        } else {
            self.learned.has_rerolled = false;
        }
        left.add(&LaneFlow::on(), &alive);
        let flow = left.finish(lanes);
        if so_far == Left::on() {
            return Ok((flow, grew));
        }
        if !flow.is_plain() {
            return Err(self.mixed(body.span));
        }
        Ok((self.after_loop(so_far, body), false))
    }

    /// `while (condition) body`
    pub(in crate::lower) fn run_while(
        &mut self,
        condition: &Expr,
        body: &Statement,
    ) -> LowerResult<LaneFlow> {
        let lanes = self.lane_count();
        let mut alive: Vec<u32> = (0..lanes as u32).collect();
        let mut left = FlowParts::default();
        for made in 0..MAX_ITERATIONS {
            if alive.is_empty() {
                return Ok(left.finish(lanes));
            }
            // Nothing where the condition depends on parameters.
            let step = |this: &mut Self| -> LowerResult<Option<(Vec<u32>, LaneFlow)>> {
                let value = this.evaluate(condition)?;
                let Some(truth) = value.as_known().map(truths) else { return Ok(None) };
                let count = this.lane_count();
                let holds = |lane: u32| truth[if value.lanes { lane as usize } else { 0 }];
                let kept: Vec<u32> = (0..count as u32).filter(|lane| holds(*lane)).collect();
                let flow = if kept.is_empty() {
                    LaneFlow::on()
                } else if kept.len() == count {
                    this.run(body)?
                } else {
                    this.in_lanes(&kept, |this| this.run(body))?
                };
                Ok(Some((kept, flow)))
            };
            let all = alive.len() == lanes;
            let stepped = if all { step(self)? } else { self.in_lanes(&alive, step)? };
            let Some((kept, flow)) = stepped else {
                if all {
                    return self.run_trips((made, Left::on()), condition, body);
                }
                let message =
                    "a `while` that some iterations leave by data and others by parameters";
                return Err(unsupported(condition.span, message));
            };
            if let Some(iteration) = flow.mask {
                if kept.len() == lanes {
                    let so_far = self.iterated(Left::on(), iteration);
                    return self.run_trips((made + 1, so_far), condition, body);
                }
                return Err(unsupported(
                    body.span,
                    "a return from a loop under a condition on parameters",
                ));
            }
            let kept: Vec<u32> = kept.iter().map(|lane| alive[*lane as usize]).collect();
            let ended: Vec<u32> =
                alive.iter().copied().filter(|lane| !kept.contains(lane)).collect();
            left.add(&LaneFlow::on(), &ended);
            let broke = LaneFlow { next: flow.broke.clone(), ..LaneFlow::returned() };
            left.add(&broke, &kept);
            let mut on: Vec<u32> = flow.next.outside(&kept);
            on.extend(flow.continued.outside(&kept));
            on.sort_unstable();
            alive = on;
        }
        Err(runtime(condition.span, "a `while` loop does not end"))
    }
}
