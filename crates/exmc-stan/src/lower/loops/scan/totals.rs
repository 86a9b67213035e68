//! Sums and conditions over all steps -> what each step adds to them.

use exmc_fault::{Fault, planted};
use exmc_graph::{Binary, Graph, NodeId, Op, Reduction, Shape, Ternary, Unary};

use super::body::{ALL, StepBody};

/// A number that is put together from all steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Total {
    /// What one step adds: a number in the body.
    pub(super) step: NodeId,
    /// How steps are put together.
    pub(super) how: Reduction,
    /// What is added once, outside.
    pub(super) once: Option<NodeId>,
}

impl StepBody<'_> {
    /// What each step adds to a number that depends on earlier steps.
    pub(super) fn total(&mut self, id: NodeId) -> Option<Total> {
        let node = self.g.node(id).clone();
        if node.shape.len() != 1 {
            return None;
        }
        match &node.op {
            Op::Reduce(how @ (Reduction::Sum | Reduction::Min), axes)
                if axes.len() == self.g.shape(node.args[0]).rank() =>
            {
                let laid = self.value(node.args[0])?;
                let all: Vec<usize> = (0..self.body.shape(laid.node).rank()).collect();
                let mut step = self.body.reduce(*how, laid.node, &all);
                if laid.layout != ALL && !planted(Fault::UntakenTerm) {
                    let neutral = if *how == Reduction::Sum { 0.0 } else { 1.0 };
                    let steps = self.layout(laid.layout);
                    let mask = self.mask(steps.iter().copied())?;
                    let neutral = self.body.scalar(neutral);
                    step = self.body.select(mask, step, neutral);
                }
                Some(Total { step, how: *how, once: None })
            }
            Op::Reshape(_) | Op::Broadcast(_) => self.total(node.args[0]),
            Op::Binary(op @ (Binary::Add | Binary::Sub)) => self.sum_of_totals(*op, &node.args),
            Op::Unary(Unary::Neg) => {
                let total = self.total(node.args[0])?;
                let once = total.once.map(|once| self.g.neg(once));
                (total.how == Reduction::Sum).then_some(())?;
                Some(Total { step: self.body.neg(total.step), once, ..total })
            }
            Op::Binary(op @ (Binary::Mul | Binary::Div)) => self.scaled_total(*op, &node.args),
            Op::Binary(Binary::And) => {
                let [a, b] = node.args[..] else { return None };
                let (a, b) = (self.condition(a)?, self.condition(b)?);
                Some(self.both_conditions(a, b))
            }
            Op::Ternary(Ternary::Select) => {
                // Where one step's condition fails the sum is minus infinity: so is that step's
                // part.
                let [condition, sum, never] = node.args[..] else { return None };
                if self.g.as_uniform(never) != Some(f64::NEG_INFINITY) {
                    return None;
                }
                let condition = self.condition(condition)?;
                if condition.once.is_some() || !self.depends(sum) {
                    return None;
                }
                let sum = self.total(sum)?;
                (sum.how == Reduction::Sum).then_some(())?;
                let never = self.body.scalar(f64::NEG_INFINITY);
                let step = self.body.select(condition.step, sum.step, never);
                Some(Total { step, ..sum })
            }
            _ => None,
        }
    }

    /// A condition over all steps, or one that does not depend on them.
    fn condition(&mut self, id: NodeId) -> Option<Total> {
        if self.depends(id) {
            return self.total(id).filter(|total| total.how == Reduction::Min);
        }
        let scalar = self.g.reshape(id, Shape::scalar());
        let step = self.fixed_in_body(scalar)?;
        Some(Total { step, how: Reduction::Min, once: None })
    }

    fn both_conditions(&mut self, a: Total, b: Total) -> Total {
        let step = self.body.and(a.step, b.step);
        let once = match (a.once, b.once) {
            (Some(a), Some(b)) => Some(self.g.and(a, b)),
            (a, b) => a.or(b),
        };
        Total { step, how: Reduction::Min, once }
    }

    fn sum_of_totals(&mut self, op: Binary, args: &[NodeId]) -> Option<Total> {
        let [a, b] = *args else { return None };
        let sum = |this: &mut Self, id: NodeId| -> Option<(Option<NodeId>, Option<NodeId>)> {
            if !this.depends(id) {
                return Some((None, Some(this.g.reshape(id, Shape::scalar()))));
            }
            let total = this.total(id).filter(|total| total.how == Reduction::Sum)?;
            Some((Some(total.step), total.once))
        };
        let ((step_a, once_a), (step_b, once_b)) = (sum(self, a)?, sum(self, b)?);
        let joined = |g: &mut Graph, a: Option<NodeId>, b: Option<NodeId>| {
            let b = b.map(|b| if op == Binary::Sub { g.neg(b) } else { b });
            match (a, b) {
                (Some(a), Some(b)) => Some(g.add(a, b)),
                (a, b) => a.or(b),
            }
        };
        let step = joined(&mut self.body, step_a, step_b)?;
        let once = joined(self.g, once_a, once_b);
        Some(Total { step, how: Reduction::Sum, once })
    }

    fn scaled_total(&mut self, op: Binary, args: &[NodeId]) -> Option<Total> {
        let [a, b] = *args else { return None };
        let (total, factor, first) = match (self.depends(a), self.depends(b)) {
            (true, false) => (a, b, true),
            (false, true) if op == Binary::Mul => (b, a, false),
            _ => return None,
        };
        let total = self.total(total).filter(|total| total.how == Reduction::Sum)?;
        let outer = self.g.reshape(factor, Shape::scalar());
        let inner = self.fixed_in_body(outer)?;
        let pair = |x: NodeId, factor: NodeId| if first { (x, factor) } else { (factor, x) };
        let (x, y) = pair(total.step, inner);
        let step = self.body.binary(op, x, y);
        let once = total.once.map(|once| {
            let (x, y) = pair(once, outer);
            self.g.binary(op, x, y)
        });
        Some(Total { step, once, ..total })
    }
}
