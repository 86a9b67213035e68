//! Branches, and leaving a loop or a function in one: statements walked under conditions -> where
//! lanes go on.
//!
//! A condition on data picks lanes. One on parameters becomes a mask: both branches run, and what a
//! lane does next (go on, `continue`, `break`, `return`) is a condition too ([`Left`]).

use exmc_fault::{Fault, planted};

use super::Lowering;
use super::abort::{Abort, LowerResult, unsupported};
use super::loops::control_flow::{Cond, FlowParts, LaneFlow, LaneSet, Left};
use super::loops::lanes::Mask;
use super::statement::truths;
use super::variables::lane_value::LaneValue;
use crate::diagnostic::Class;
use crate::source::Span;
use crate::typed::{Expr, Statement, StatementKind};

impl Lowering<'_> {
    /// `if (condition) then else otherwise`
    pub(super) fn run_if(
        &mut self,
        condition: &Expr,
        then: &Statement,
        otherwise: Option<&Statement>,
    ) -> LowerResult<LaneFlow> {
        let value = self.evaluate(condition)?;
        if let Some(truth) = value.as_known().map(truths) {
            if let (false, [holds]) | (true, [holds]) = (value.lanes, truth.as_slice()) {
                return match (*holds, otherwise) {
                    (true, _) => self.run(then),
                    (false, Some(otherwise)) => self.run(otherwise),
                    (false, None) => Ok(LaneFlow::on()),
                };
            }
            return self.run_if_known(condition, &truth, then, otherwise);
        }
        let (holds, mut fails) = self.masks_of(&value);
        if planted(Fault::LostElse) {
            fails.node = self.sink.graph.or(fails.node, holds.node);
        }
        let first = self.under(holds, |this| this.run(then))?;
        let second = match otherwise {
            Some(otherwise) => self.under(fails, |this| this.run(otherwise))?,
            None => LaneFlow::on(),
        };
        let (Some(first), Some(second)) = (first.conditions(), second.conditions()) else {
            return Err(self.mixed(condition.span));
        };
        let mut either = |a: Cond, b: Cond| {
            if a == b && !matches!(a, Cond::When(_)) {
                return a;
            }
            let a = self.both(Cond::When(holds), a);
            let b = self.both(Cond::When(fails), b);
            self.any(a, b)
        };
        Ok(LaneFlow::left(Left {
            next: either(first.next, second.next),
            continued: either(first.continued, second.continued),
            broke: either(first.broke, second.broke),
        }))
    }

    /// Where a condition on parameters holds, and where it fails.
    pub(super) fn masks_of(&mut self, condition: &LaneValue) -> (Mask, Mask) {
        let node = condition.to_node(&mut self.sink.graph);
        let holds = Mask { node, lanes: condition.lanes, level: self.depth() };
        (holds, Mask { node: self.sink.graph.not(node), ..holds })
    }

    /// The same where the condition is known, and differs among lanes.
    fn run_if_known(
        &mut self,
        condition: &Expr,
        truth: &[bool],
        then: &Statement,
        otherwise: Option<&Statement>,
    ) -> LowerResult<LaneFlow> {
        let mut parts = FlowParts::default();
        for (wanted, branch) in [(true, Some(then)), (false, otherwise)] {
            let lanes = (0..truth.len() as u32).zip(truth);
            let kept: Vec<u32> =
                lanes.filter(|(_, t)| **t == wanted).map(|(lane, _)| lane).collect();
            if kept.is_empty() {
                continue;
            }
            let flow = match branch {
                Some(branch) if kept.len() == truth.len() => return self.run(branch),
                Some(branch) => self.in_lanes(&kept, |this| this.run(branch))?,
                None => LaneFlow::on(),
            };
            if flow.mask.is_some() {
                return Err(self.mixed(condition.span));
            }
            parts.add(&flow, &kept);
        }
        Ok(parts.finish(truth.len()))
    }

    /// That some lanes leave by their data and some by parameters: the loop around can run one by
    /// one.
    pub(super) fn mixed(&self, span: Span) -> Abort {
        match (1..self.env.levels.len()).rev().find(|l| self.env.levels[*l].watched.is_some()) {
            Some(level) => Abort::Carried { level, variable: None, private: false },
            None => {
                let message = "leaving a loop or function under conditions on data and on parameters together";
                unsupported(span, message)
            }
        }
    }

    /// Runs something under one more condition on parameters. What would go wrong in it is no
    /// mistake, since the condition may never hold, but cannot be compiled.
    pub(super) fn under<T>(
        &mut self,
        mask: Mask,
        run: impl FnOnce(&mut Self) -> LowerResult<T>,
    ) -> LowerResult<T> {
        self.env.masks.push(mask);
        let result = run(self);
        self.env.masks.pop();
        result.map_err(|stop| match stop {
            Abort::Mistake(mut found) if found.class == Class::Runtime => {
                found.class = Class::Unsupported;
                found.message = format!("under a condition on parameters: {}", found.message);
                Abort::Mistake(found)
            }
            other => other,
        })
    }

    /// The statements behind one that some lanes left under conditions on parameters.
    pub(super) fn run_rest(
        &mut self,
        left: Left,
        rest: &[Statement],
        span: Span,
    ) -> LowerResult<LaneFlow> {
        let after = match left.next {
            Cond::Never => return Ok(LaneFlow::left(left)),
            Cond::Always => self.run_block(rest)?,
            Cond::When(mask) => self.under(mask, |this| this.run_block(rest))?,
        };
        let Some(after) = after.conditions() else {
            return Err(self.mixed(span));
        };
        Ok(LaneFlow::left(self.followed(left, after)))
    }

    /// What two steps do, the second for those that went on after the first.
    fn followed(&mut self, first: Left, second: Left) -> Left {
        let next = self.both(first.next, second.next);
        let continued = self.both(first.next, second.continued);
        let continued = self.any(first.continued, continued);
        let broke = self.both(first.next, second.broke);
        Left { next, continued, broke: self.any(first.broke, broke) }
    }

    /// One iteration after others: `so_far` says who goes on (`next`) and who left the loop
    /// (`broke`).
    pub(super) fn iterated(&mut self, so_far: Left, iteration: Left) -> Left {
        let mut on = self.any(iteration.next, iteration.continued);
        if planted(Fault::BreakIgnored) {
            on = self.any(on, iteration.broke);
        }
        let iteration = Left { next: on, continued: Cond::Never, broke: iteration.broke };
        self.followed(so_far, iteration)
    }

    /// Where lanes go on after a loop that some of them left under conditions on parameters.
    pub(super) fn after_loop(&mut self, so_far: Left, body: &Statement) -> LaneFlow {
        // Those that neither finished nor broke out have returned.
        let next = if returns(body) { self.any(so_far.next, so_far.broke) } else { Cond::Always };
        LaneFlow::left(Left { next, ..Left::on() })
    }

    /// Where both hold.
    pub(super) fn both(&mut self, a: Cond, b: Cond) -> Cond {
        match (a, b) {
            (Cond::Never, _) | (_, Cond::Never) => Cond::Never,
            (Cond::Always, other) | (other, Cond::Always) => other,
            (Cond::When(a), Cond::When(b)) => Cond::When(Mask {
                node: self.sink.graph.and(a.node, b.node),
                lanes: a.lanes || b.lanes,
                ..a
            }),
        }
    }

    /// Where one of them holds.
    pub(super) fn any(&mut self, a: Cond, b: Cond) -> Cond {
        match (a, b) {
            (Cond::Always, _) | (_, Cond::Always) => Cond::Always,
            (Cond::Never, other) | (other, Cond::Never) => other,
            (Cond::When(a), Cond::When(b)) => Cond::When(Mask {
                node: self.sink.graph.or(a.node, b.node),
                lanes: a.lanes || b.lanes,
                ..a
            }),
        }
    }
}

/// Whether a statement has a `return` in it.
pub(super) fn returns(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Return(_) => true,
        StatementKind::If(_, then, otherwise) => {
            returns(then) || otherwise.as_deref().is_some_and(returns)
        }
        StatementKind::While(_, body)
        | StatementKind::For { body, .. }
        | StatementKind::ForEach { body, .. } => returns(body),
        StatementKind::Block(body) | StatementKind::Profile(_, body) => body.iter().any(returns),
        _ => false,
    }
}

impl LaneFlow {
    /// What lanes do as conditions on parameters; nothing where it differs among lanes by data.
    pub(super) fn conditions(&self) -> Option<Left> {
        if let Some(left) = self.mask {
            return Some(left);
        }
        let uniform_condition = |lanes: &LaneSet| match lanes {
            LaneSet::All => Some(Cond::Always),
            lanes => lanes.is_none().then_some(Cond::Never),
        };
        Some(Left {
            next: uniform_condition(&self.next)?,
            continued: uniform_condition(&self.continued)?,
            broke: uniform_condition(&self.broke)?,
        })
    }

    /// The flow of conditions.
    fn left(left: Left) -> Self {
        let set = |cond| if cond == Cond::Always { LaneSet::All } else { LaneSet::none() };
        let known = [left.next, left.continued, left.broke].map(|c| !matches!(c, Cond::When(_)));
        if known == [true; 3] {
            let (next, continued, broke) = (set(left.next), set(left.continued), set(left.broke));
            return Self { next, continued, broke, mask: None };
        }
        Self { mask: Some(left), ..Self::on() }
    }
}
