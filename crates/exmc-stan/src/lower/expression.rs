//! Expressions -> values: known ones by computing, others as nodes.

use exmc_fault::{Fault, planted};
use exmc_graph::{Shape, Unary};

use super::Lowering;
use super::abort::{LowerResult, runtime, unsupported};
use super::statement::truths;
use super::variables::host_conversion::unset;
use super::variables::lane_value::{
    Form, LaneValue, holds_ints, int_value, ints, promoted, real_value, reals, stack_lanes,
};
use crate::check::types::is_complex;
use crate::source::Span;
use crate::typed::{BinaryOp, Expr, ExprKind, Type, UnaryOp};
use crate::value::{Numbers, Value};

impl Lowering<'_> {
    /// The value of an expression in the current lanes.
    pub(super) fn evaluate(&mut self, expr: &Expr) -> LowerResult<LaneValue> {
        use ExprKind::{Int, Real, Variable};
        if self.enclosing.records.is_empty() || matches!(expr.kind, Int(_) | Real(_) | Variable(_))
        {
            return self.evaluate_anew(expr);
        }
        self.evaluate_once(expr)
    }

    /// The same, whatever it was before.
    pub(super) fn evaluate_anew(&mut self, expr: &Expr) -> LowerResult<LaneValue> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Int(value) => Ok(LaneValue::known(Value::Int(*value))),
            ExprKind::Real(value) => Ok(LaneValue::real(*value)),
            ExprKind::Imaginary(part) => Ok(LaneValue::known(Value::Complex([0.0, *part]))),
            ExprKind::Variable(id) => {
                let value = self.read_whole(*id, span)?;
                Ok(self.where_masks_hold(value, &expr.ty))
            }
            ExprKind::Function { .. } | ExprKind::LibraryFunction(_) => {
                Err(unsupported(span, "a function given to another in the density"))
            }
            ExprKind::Unary(op, operand) => {
                let value = self.evaluate(operand)?;
                self.unary(*op, value, &operand.ty, &expr.ty, span)
            }
            ExprKind::Transpose(operand) => {
                let value = self.evaluate(operand)?;
                if operand.ty.rank() == 1 {
                    return Ok(value); // The same elements in the same order.
                }
                self.library("transpose", &[(value, operand.ty.clone())], &expr.ty, span)
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                self.short_circuit(*op, a, b, span)
            }
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (self.evaluate(a)?, self.evaluate(b)?);
                self.binary(*op, (left, &a.ty), (right, &b.ty), &expr.ty, span)
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                self.conditional(condition, then, otherwise)
            }
            ExprKind::Index(base, indices) => self.indexed(base, indices, span),
            ExprKind::Field(tuple, slot) => match self.evaluate(tuple)?.form {
                Form::Tuple(mut slots) if *slot < slots.len() => Ok(slots.swap_remove(*slot)),
                _ => Err(unsupported(span, "this part of a tuple in the density")),
            },
            ExprKind::Array(elements) | ExprKind::RowVector(elements) => {
                let values =
                    elements.iter().map(|e| self.evaluate(e)).collect::<LowerResult<Vec<_>>>()?;
                self.stacked(&values, &expr.ty, span)
            }
            ExprKind::Tuple(elements) => {
                let values =
                    elements.iter().map(|e| self.evaluate(e)).collect::<LowerResult<Vec<_>>>()?;
                Ok(LaneValue::tuple(values))
            }
            ExprKind::Call(callee, args) => self.call(callee, args, &expr.ty, span),
            ExprKind::Promote(inner) => {
                let value = self.evaluate(inner)?;
                self.promote(value, &inner.ty, &expr.ty, span)
            }
            ExprKind::Target => self.target_so_far(span),
        }
    }

    /// Integers as reals, and reals as complex numbers, where a type says so.
    fn promote(
        &mut self,
        value: LaneValue,
        from: &Type,
        to: &Type,
        span: Span,
    ) -> LowerResult<LaneValue> {
        let lanes = value.lanes;
        let ((depth, from_inner), (_, to_inner)) = (from.array_parts(), to.array_parts());
        if let (Form::Tuple(slots), Type::Tuple(before), Type::Tuple(after)) =
            (&value.form, from_inner, to_inner)
        {
            let types = before.iter().zip(after);
            let slots = slots.iter().zip(types).map(|(slot, (from, to))| {
                let [from, to] = [from, to].map(|ty| ty.clone().array(depth));
                self.promote(slot.clone(), &from, &to, span)
            });
            return Ok(LaneValue::tuple(slots.collect::<LowerResult<Vec<_>>>()?));
        }
        if is_complex(to) && !is_complex(from) {
            return self.library("to_complex", &[(value, from.clone())], to, span);
        }
        let form = match value.form {
            Form::Known(known) if !holds_ints(to) => Form::Known(promoted(&known)),
            form => form,
        };
        Ok(LaneValue { form, lanes })
    }

    fn unary(
        &mut self,
        op: UnaryOp,
        value: LaneValue,
        operand: &Type,
        ty: &Type,
        span: Span,
    ) -> LowerResult<LaneValue> {
        match op {
            UnaryOp::Plus => Ok(value),
            UnaryOp::Minus if operand.rank() == 0 || !value.is_known() => Ok(self.negated(value)),
            UnaryOp::Minus => self.library("minus", &[(value, operand.clone())], ty, span),
            UnaryOp::Not => {
                let lanes = value.lanes;
                if let Some(known) = value.as_known() {
                    let shape = known.shape().to_vec();
                    let flipped = truths(known).iter().map(|t| i64::from(!t)).collect();
                    return Ok(LaneValue { form: Form::Known(int_value(&shape, flipped)), lanes });
                }
                let node = value.to_node(&mut self.sink.graph);
                Ok(LaneValue::node(self.sink.graph.unary(Unary::Not, node), lanes))
            }
        }
    }

    /// `-value`
    pub(super) fn negated(&mut self, value: LaneValue) -> LaneValue {
        let lanes = value.lanes;
        match &value.form {
            Form::Known(known) => {
                let shape = known.shape().to_vec();
                let known = match ints(known) {
                    Some(numbers) => int_value(&shape, numbers.iter().map(|v| -v).collect()),
                    None => real_value(&shape, reals(known).iter().map(|v| -v).collect()),
                };
                LaneValue { form: Form::Known(known), lanes }
            }
            Form::Node(node) => LaneValue::node(self.sink.graph.neg(*node), lanes),
            Form::Tuple(_) => value,
        }
    }

    /// A scalar repeated to extents.
    pub(super) fn stretched(&mut self, value: LaneValue, shape: &[usize]) -> LaneValue {
        let node = value.to_node(&mut self.sink.graph);
        LaneValue::node(self.sink.graph.broadcast_to(node, &Shape::from(shape)), false)
    }

    /// `a op b`
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        (a, a_type): (LaneValue, &Type),
        (b, b_type): (LaneValue, &Type),
        ty: &Type,
        span: Span,
    ) -> LowerResult<LaneValue> {
        if matches!((a_type, b_type), (Type::Int | Type::Real, Type::Int | Type::Real))
            && let (Some(left), Some(right)) = (a.as_known(), b.as_known())
            && let Some(value) =
                scalars(op, (left, &a), (right, &b)).map_err(|m| runtime(span, m))?
        {
            return Ok(LaneValue { form: Form::Known(value), lanes: a.lanes || b.lanes });
        }
        let name = match op {
            BinaryOp::Add => "add",
            BinaryOp::Subtract => "subtract",
            BinaryOp::Multiply => "multiply",
            // A number divided by a matrix is element by element.
            BinaryOp::Divide if b_type.rank() == 2 && a_type.rank() > 0 => "mdivide_right",
            BinaryOp::Divide => "divide",
            BinaryOp::LeftDivide => "mdivide_left",
            BinaryOp::ElementMultiply => "elt_multiply",
            BinaryOp::ElementDivide => "elt_divide",
            BinaryOp::Power | BinaryOp::ElementPower => "pow",
            BinaryOp::Equal => "logical_eq",
            BinaryOp::NotEqual => "logical_neq",
            BinaryOp::Less => "logical_lt",
            BinaryOp::LessEqual => "logical_lte",
            BinaryOp::Greater => "logical_gt",
            BinaryOp::GreaterEqual => "logical_gte",
            BinaryOp::Or => "logical_or",
            BinaryOp::And => "logical_and",
            BinaryOp::Modulo | BinaryOp::IntDivide => {
                return Err(unsupported(span, "whole division of what depends on parameters"));
            }
        };
        self.library(name, &[(a, a_type.clone()), (b, b_type.clone())], ty, span)
    }

    fn short_circuit(
        &mut self,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        span: Span,
    ) -> LowerResult<LaneValue> {
        let left = self.evaluate(a)?;
        let decides = op == BinaryOp::Or;
        let Some(truth) = left.as_known().map(truths) else {
            // Where the left side decides, the right one neither checks nor adds anything.
            let (holds, fails) = self.masks_of(&left);
            let open = if decides { fails } else { holds };
            let right = self.under(open, |this| this.evaluate(b))?;
            return self.binary(op, (left, &a.ty), (right, &b.ty), &Type::Int, span);
        };
        if !left.lanes {
            if truth[0] == decides {
                return Ok(LaneValue::known(Value::Int(i64::from(decides))));
            }
            let right = self.evaluate(b)?;
            return Ok(self.as_truth(right));
        }
        let open: Vec<u32> =
            (0..truth.len() as u32).filter(|lane| truth[*lane as usize] != decides).collect();
        let settled: Vec<u32> =
            (0..truth.len() as u32).filter(|lane| truth[*lane as usize] == decides).collect();
        let mut parts = Vec::new();
        if !settled.is_empty() {
            parts.push((settled, LaneValue::known(Value::Int(i64::from(decides)))));
        }
        if !open.is_empty() {
            let right = self.in_lanes(&open, |this| {
                let right = this.evaluate(b)?;
                Ok(this.as_truth(right))
            })?;
            parts.push((open, right));
        }
        self.join(&parts, span)
    }

    /// 0 or 1.
    fn as_truth(&mut self, value: LaneValue) -> LaneValue {
        let lanes = value.lanes;
        if let Some(known) = value.as_known() {
            let shape = known.shape().to_vec();
            let flags = truths(known).iter().map(|t| i64::from(*t)).collect();
            return LaneValue { form: Form::Known(int_value(&shape, flags)), lanes };
        }
        let node = value.to_node(&mut self.sink.graph);
        let zero = self.sink.graph.scalar(0.0);
        LaneValue::node(self.sink.graph.binary(exmc_graph::Binary::Ne, node, zero), lanes)
    }

    fn conditional(
        &mut self,
        condition: &Expr,
        then: &Expr,
        otherwise: &Expr,
    ) -> LowerResult<LaneValue> {
        let value = self.evaluate(condition)?;
        if let Some(truth) = value.as_known().map(truths) {
            if truth.iter().all(|t| *t) {
                return self.evaluate(then);
            }
            if truth.iter().all(|t| !*t) {
                return self.evaluate(otherwise);
            }
            let mut parts = Vec::new();
            for (wanted, branch) in [(true, then), (false, otherwise)] {
                let kept: Vec<u32> = (0..truth.len() as u32)
                    .filter(|lane| truth[*lane as usize] == wanted)
                    .collect();
                let value = self.in_lanes(&kept, |this| this.evaluate(branch))?;
                parts.push((kept, value));
            }
            return self.join(&parts, condition.span);
        }
        let (holds, fails) = self.masks_of(&value);
        if planted(Fault::UnmaskedChoice) {
            let (a, b) = (self.evaluate(then)?, self.evaluate(otherwise)?);
            return self.chosen(&value, &a, &b, condition.span);
        }
        let a = self.under(holds, |this| this.evaluate(then))?;
        let b = self.under(fails, |this| this.evaluate(otherwise))?;
        self.chosen(&value, &a, &b, condition.span)
    }

    /// `a` where the condition holds, else `b`; slot by slot for tuples.
    fn chosen(
        &mut self,
        value: &LaneValue,
        a: &LaneValue,
        b: &LaneValue,
        span: Span,
    ) -> LowerResult<LaneValue> {
        if let (Form::Tuple(a), Form::Tuple(b)) = (&a.form, &b.form) {
            let slots = a.iter().zip(b).map(|(a, b)| self.chosen(value, a, b, span));
            return Ok(LaneValue::tuple(slots.collect::<LowerResult<Vec<_>>>()?));
        }
        if a.shape(&self.sink.graph) != b.shape(&self.sink.graph) {
            return Err(unsupported(span, "a choice between sizes that depends on parameters"));
        }
        Ok(self.blend(value, a, b))
    }

    /// Elements of equal extents as one value with one more extent in front.
    pub(super) fn stacked(
        &mut self,
        values: &[LaneValue],
        ty: &Type,
        span: Span,
    ) -> LowerResult<LaneValue> {
        if let (depth, Type::Tuple(types)) = ty.array_parts() {
            let slot = |v: &LaneValue, k: usize| match &v.form {
                Form::Tuple(slots) => slots.get(k).cloned(),
                _ => None,
            };
            let slots = types.iter().enumerate().map(|(k, ty)| {
                let column: Vec<LaneValue> = values.iter().filter_map(|v| slot(v, k)).collect();
                self.stacked(&column, &ty.clone().array(depth), span)
            });
            return Ok(LaneValue::tuple(slots.collect::<LowerResult<Vec<_>>>()?));
        }
        let Some(first) = values.first() else {
            let mut shape = vec![0; ty.rank().max(1)];
            shape.extend(is_complex(ty).then_some(2));
            return Ok(unset(ty, &shape));
        };
        let shape = first.shape(&self.sink.graph);
        if values.iter().any(|v| v.shape(&self.sink.graph) != shape) {
            return Err(runtime(span, "elements of different sizes"));
        }
        let uniform = |v: &LaneValue| v.as_known().filter(|_| !v.lanes).cloned();
        let known: Option<Vec<Value>> = values.iter().map(uniform).collect();
        if let Some(known) = known {
            if let Some(value) = stack_lanes(&known) {
                let value = if holds_ints(ty) { value } else { promoted(&value) };
                return Ok(LaneValue::known(value));
            }
            return Err(unsupported(span, "an array of these elements in the density"));
        }
        let lanes = values.iter().any(|v| v.lanes);
        let count = self.lane_count();
        let front: Vec<usize> = if lanes { vec![count] } else { Vec::new() };
        let all_known = values.iter().all(LaneValue::is_known);
        if all_known {
            let size: usize = shape.iter().product();
            let mut numbers = Vec::with_capacity(count * size * values.len());
            let tables: Vec<_> =
                values.iter().filter_map(LaneValue::as_known).map(|v| reals(v)).collect();
            for lane in 0..count {
                for (value, table) in values.iter().zip(&tables) {
                    let start = if value.lanes { lane * size } else { 0 };
                    numbers.extend_from_slice(&table[start..start + size]);
                }
            }
            let full: Vec<usize> =
                [count, values.len()].into_iter().chain(shape.iter().copied()).collect();
            let value = if holds_ints(ty) {
                Value::Ints(Numbers::new(full, numbers.iter().map(|v| *v as i64).collect()))
            } else {
                Value::Reals(Numbers::new(full, numbers))
            };
            return Ok(LaneValue::known_lanes(value));
        }
        let full = Shape::from(front.as_slice()).join(&[1]).join(&shape);
        let mut parts = Vec::with_capacity(values.len());
        for value in values {
            let node = value.to_node(&mut self.sink.graph);
            let node = if value.lanes || !lanes {
                node
            } else {
                let with_lanes = Shape::from([count]).join(&shape);
                self.sink.graph.broadcast_to(node, &with_lanes)
            };
            parts.push(self.sink.graph.reshape(node, full.clone()));
        }
        let node = self.sink.graph.concat(&parts, front.len());
        Ok(LaneValue::node(node, lanes))
    }
}

/// Known numbers, lane by lane; nothing for operators that are no concern of scalars.
fn scalars(
    op: BinaryOp,
    (left, a): (&Value, &LaneValue),
    (right, b): (&Value, &LaneValue),
) -> Result<Option<Value>, String> {
    let count = [(left, a.lanes), (right, b.lanes)]
        .iter()
        .find_map(|(value, lanes)| lanes.then(|| value.shape()[0]));
    let shape: Vec<usize> = count.into_iter().collect();
    let n = count.unwrap_or(1);
    let (i, j) = (usize::from(a.lanes), usize::from(b.lanes));
    if let (Some(x), Some(y)) = (ints(left), ints(right))
        && !matches!(op, BinaryOp::Power | BinaryOp::ElementPower | BinaryOp::LeftDivide)
    {
        let mut result = Vec::with_capacity(n);
        for k in 0..n {
            result.push(int_binary(op, x[k * i], y[k * j])?);
        }
        return Ok(Some(int_value(&shape, result)));
    }
    let (x, y) = (reals(left), reals(right));
    let pairs = (0..n).map(|k| (x[k * i], y[k * j]));
    let truth = |f: fn(f64, f64) -> bool| {
        Ok(Some(int_value(&shape, pairs.clone().map(|(x, y)| i64::from(f(x, y))).collect())))
    };
    let number = |f: fn(f64, f64) -> f64| {
        Ok(Some(real_value(&shape, pairs.clone().map(|(x, y)| f(x, y)).collect())))
    };
    match op {
        BinaryOp::Add => number(|x, y| x + y),
        BinaryOp::Subtract => number(|x, y| x - y),
        BinaryOp::Multiply | BinaryOp::ElementMultiply => number(|x, y| x * y),
        BinaryOp::Divide | BinaryOp::ElementDivide => number(|x, y| x / y),
        BinaryOp::LeftDivide => number(|x, y| y / x),
        BinaryOp::Power | BinaryOp::ElementPower => number(exmc_math::pow),
        BinaryOp::Equal => truth(|x, y| x == y),
        BinaryOp::NotEqual => truth(|x, y| x != y),
        BinaryOp::Less => truth(|x, y| x < y),
        BinaryOp::LessEqual => truth(|x, y| x <= y),
        BinaryOp::Greater => truth(|x, y| x > y),
        BinaryOp::GreaterEqual => truth(|x, y| x >= y),
        BinaryOp::Or => truth(|x, y| x != 0.0 || y != 0.0),
        BinaryOp::And => truth(|x, y| x != 0.0 && y != 0.0),
        BinaryOp::Modulo | BinaryOp::IntDivide => Ok(None),
    }
}

fn int_binary(op: BinaryOp, x: i64, y: i64) -> Result<i64, String> {
    let overflow = || format!("integer overflow: {x} {} {y} is beyond 32 bits", op.symbol());
    let value = match op {
        BinaryOp::Add => x.checked_add(y),
        BinaryOp::Subtract => x.checked_sub(y),
        BinaryOp::Multiply | BinaryOp::ElementMultiply => x.checked_mul(y),
        BinaryOp::Divide | BinaryOp::IntDivide | BinaryOp::ElementDivide => {
            if y == 0 {
                return Err(format!("division of the integer {x} by zero"));
            }
            x.checked_div(y)
        }
        BinaryOp::Modulo => {
            if y == 0 {
                return Err(format!("remainder of {x} divided by zero"));
            }
            x.checked_rem(y)
        }
        BinaryOp::Or => Some(i64::from(x != 0 || y != 0)),
        BinaryOp::And => Some(i64::from(x != 0 && y != 0)),
        BinaryOp::Equal => Some(i64::from(x == y)),
        BinaryOp::NotEqual => Some(i64::from(x != y)),
        BinaryOp::Less => Some(i64::from(x < y)),
        BinaryOp::LessEqual => Some(i64::from(x <= y)),
        BinaryOp::Greater => Some(i64::from(x > y)),
        BinaryOp::GreaterEqual => Some(i64::from(x >= y)),
        BinaryOp::LeftDivide | BinaryOp::Power | BinaryOp::ElementPower => None,
    };
    value.filter(|v| i32::try_from(*v).is_ok()).ok_or_else(overflow)
}
