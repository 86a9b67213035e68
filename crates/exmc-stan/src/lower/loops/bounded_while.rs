//! `while` loops whose condition depends on parameters -> iterations under masks, as many as a
//! limit says.
//!
//! Each iteration runs where the condition held before it and in all before. Where a loop would go
//! on beyond the limit the compiled density is minus infinity, and whoever evaluates it asks the
//! interpreter, which follows loops to their end
//! ([`StanLowered::limited_loops`](crate::lower::StanLowered::limited_loops)): never is a loop cut
//! short silently.

use exmc_graph::Dependence;

use super::control_flow::{Cond, LaneFlow, Left};
use super::lanes::Mask;
use crate::library::Check;
use crate::lower::Lowering;
use crate::lower::abort::{LowerResult, unsupported};
use crate::lower::statement::truths;
use crate::typed::{Expr, Statement};

/// How often a `while` loop is written out at most: halving an interval of any size comes to the
/// last bit of a number in half as many steps.
const MAX_TRIPS: usize = 128;

impl Lowering<'_> {
    /// `while (condition) body`, from where it depends on parameters who goes on: how many
    /// iterations there were before, and what lanes did in them.
    pub(in crate::lower) fn run_trips(
        &mut self,
        (made, mut so_far): (usize, Left),
        condition: &Expr,
        body: &Statement,
    ) -> LowerResult<LaneFlow> {
        for _ in made..MAX_TRIPS {
            let trip = |this: &mut Self| this.trip(condition, body);
            let iteration = match so_far.next {
                Cond::Never => break,
                Cond::Always => trip(self)?,
                Cond::When(mask) => self.under(mask, trip)?,
            };
            so_far = self.iterated(so_far, iteration);
        }
        let more = |this: &mut Self| this.goes_on(condition);
        let on = match so_far.next {
            Cond::Never => Cond::Never,
            Cond::Always => more(self)?,
            Cond::When(mask) => {
                let more = self.under(mask, more)?;
                self.both(Cond::When(mask), more)
            }
        };
        if on != Cond::Never {
            self.require_end(on, condition)?;
        }
        Ok(self.after_loop(so_far, body))
    }

    /// Where the condition holds.
    fn goes_on(&mut self, condition: &Expr) -> LowerResult<Cond> {
        let value = self.evaluate(condition)?;
        let Some(truth) = value.as_known().map(truths) else {
            let node = value.to_node(&mut self.sink.graph);
            return Ok(Cond::When(Mask { node, lanes: value.lanes, level: self.depth() }));
        };
        match truth.iter().filter(|holds| **holds).count() {
            0 => Ok(Cond::Never),
            n if n == truth.len() => Ok(Cond::Always),
            _ => Err(self.mixed(condition.span)),
        }
    }

    /// One iteration: those for whom the condition fails leave the loop.
    fn trip(&mut self, condition: &Expr, body: &Statement) -> LowerResult<Left> {
        let holds = self.goes_on(condition)?;
        let (flow, fails) = match holds {
            Cond::Never => {
                return Ok(Left { next: Cond::Never, broke: Cond::Always, ..Left::on() });
            }
            Cond::Always => (self.run(body)?, Cond::Never),
            Cond::When(mask) => {
                let fails = Mask { node: self.sink.graph.not(mask.node), ..mask };
                (self.under(mask, |this| this.run(body))?, Cond::When(fails))
            }
        };
        let Some(left) = flow.conditions() else { return Err(self.mixed(body.span)) };
        let broke = self.both(holds, left.broke);
        Ok(Left {
            next: self.both(holds, left.next),
            continued: self.both(holds, left.continued),
            broke: self.any(fails, broke),
        })
    }

    /// Requires that no lane goes on beyond the limit.
    fn require_end(&mut self, next: Cond, condition: &Expr) -> LowerResult<()> {
        let (node, batched) = match next {
            Cond::When(mask) if self.sink.graph.dependence(mask.node) != Dependence::Constant => {
                (mask.node, mask.lanes)
            }
            // Also where the condition is known, but not yet: by a loop that was walked as steps.
            _ => {
                let message = format!("a `while` loop that runs more than {MAX_TRIPS} times");
                return Err(unsupported(condition.span, message));
            }
        };
        let holds = self.sink.graph.not(node);
        let message = format!("a `while` loop runs more than {MAX_TRIPS} times");
        let check = Check { holds, batched, message };
        if let Some(holds) = self.requirement(&check, condition.span)? {
            self.env.terms.required.push(holds);
        }
        if !self.sink.limited_loops.contains(&condition.span) {
            self.sink.limited_loops.push(condition.span);
        }
        Ok(())
    }
}
