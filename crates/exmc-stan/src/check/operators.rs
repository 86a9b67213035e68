//! Operators: which library function each stands for, its result, conversions, advice.

use super::environment::{Checker, Typed};
use super::expressions::Checked;
use super::types::promote;
use crate::source::Span;
use crate::syntax::tree::{self, BinaryOp, UnaryOp};
use crate::typed::{Expr, ExprKind, Type};

impl Checker {
    pub(super) fn unary(&mut self, span: Span, op: UnaryOp, operand: &tree::Expr) -> Checked {
        let operand = self.expression(operand)?;
        let name = match op {
            UnaryOp::Not => "logical_negation",
            UnaryOp::Minus => "minus",
            UnaryOp::Plus => "plus",
        };
        let arguments = [operand];
        let Some((ty, _)) = self.operator(&[name], &arguments) else {
            let [operand] = &arguments;
            let found = self.describe(operand);
            self.error(span, format!("operator `{}` does not apply to {found}", op.symbol()));
            return None;
        };
        let [Typed { expr, level }] = arguments;
        let expr = Expr::new(ExprKind::Unary(op, Box::new(expr)), ty, span);
        Some(Typed { expr, level })
    }

    pub(super) fn transpose(&mut self, span: Span, operand: &tree::Expr) -> Checked {
        let arguments = [self.expression(operand)?];
        let Some((ty, _)) = self.operator(&["transpose"], &arguments) else {
            let found = self.describe(&arguments[0]);
            self.error(span, format!("{found} cannot be transposed")).help =
                Some("vectors, row vectors and matrices can".into());
            return None;
        };
        let [Typed { expr, level }] = arguments;
        let expr = Expr::new(ExprKind::Transpose(Box::new(expr)), ty, span);
        Some(Typed { expr, level })
    }

    /// A chain of operators to the left, `a + b + c`: checked from the inside without recursion,
    /// because sums may be long.
    pub(super) fn binary(&mut self, outermost: &tree::Expr) -> Checked {
        let mut chain = Vec::new();
        let mut innermost = outermost;
        while let tree::ExprKind::Binary(op, left, right) = &innermost.kind {
            chain.push((innermost.span, *op, &**left, &**right));
            innermost = left;
        }
        let mut value = self.expression(innermost);
        while let Some((span, op, left_tree, right_tree)) = chain.pop() {
            let right = self.expression(right_tree);
            value = match (value, right) {
                (Some(left), Some(right)) => {
                    let arguments = [left, right];
                    self.operator_warnings(span, op, left_tree, right_tree, &arguments);
                    self.operation(span, op, arguments)
                }
                _ => None,
            };
        }
        value
    }

    fn operation(&mut self, span: Span, op: BinaryOp, arguments: [Typed; 2]) -> Checked {
        let ints = arguments.iter().all(|a| *a.ty() == Type::Int);
        let found = match op {
            BinaryOp::IntDivide if ints => self.operator(&["modulus"], &arguments),
            BinaryOp::IntDivide => None,
            _ => self.operator(operator_functions(op), &arguments),
        };
        let Some((ty, parameters)) = found else {
            let [left, right] = &arguments;
            let (a, b) = (self.describe(left), self.describe(right));
            let message = format!("operator `{}` does not apply to {a} and {b}", op.symbol());
            let hint = operator_hint(op, left.ty(), right.ty());
            self.error(span, message).help = hint;
            return None;
        };
        let [left, right] = arguments;
        let level = left.level.join(&right.level);
        let left = Box::new(promote(left.expr, &parameters[0].ty));
        let right = Box::new(promote(right.expr, &parameters[1].ty));
        Some(Typed { expr: Expr::new(ExprKind::Binary(op, left, right), ty, span), level })
    }

    fn operator_warnings(
        &mut self,
        span: Span,
        op: BinaryOp,
        left_tree: &tree::Expr,
        right_tree: &tree::Expr,
        [left, right]: &[Typed; 2],
    ) {
        let scalar = matches!(right.ty(), Type::Int | Type::Real);
        let matrices = *left.ty() == Type::Matrix || *left.ty() == Type::Matrix.array(1);
        match op {
            BinaryOp::Divide if *left.ty() == Type::Int && *right.ty() == Type::Int => {
                let hint = match (&left_tree.kind, &right_tree.kind) {
                    (tree::ExprKind::Int(n), _) => format!("write `{n}.0 / …`"),
                    (_, tree::ExprKind::Int(n)) => format!("write `… / {n}.0`"),
                    _ => "write `… * 1.0 / …`".into(),
                };
                self.warn(span, "the division of two ints rounds towards zero").help =
                    Some(format!("{hint} for a real quotient, or `%/%` if rounding is meant"));
            }
            BinaryOp::Power if scalar && matrices => {
                self.warn(span, "matrix ^ number raises each element to the power").help =
                    Some("write `.^` if that is meant, `matrix_power(…)` if not".into());
            }
            _ if is_comparison(op) => {
                if let tree::ExprKind::Binary(inner, ..) = &left_tree.kind
                    && is_comparison(*inner)
                {
                    self.warn(span, "a chain of comparisons compares the first one's result")
                        .help =
                        Some("write `a < b && b < c`, or parentheses if this is meant".into());
                }
            }
            _ => {}
        }
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
    )
}

/// The library functions that an operator stands for, the first that fits being meant.
pub(super) fn operator_functions(op: BinaryOp) -> &'static [&'static str] {
    match op {
        BinaryOp::Or => &["logical_or"],
        BinaryOp::And => &["logical_and"],
        BinaryOp::Equal => &["logical_eq"],
        BinaryOp::NotEqual => &["logical_neq"],
        BinaryOp::Less => &["logical_lt"],
        BinaryOp::LessEqual => &["logical_lte"],
        BinaryOp::Greater => &["logical_gt"],
        BinaryOp::GreaterEqual => &["logical_gte"],
        BinaryOp::Add => &["add"],
        BinaryOp::Subtract => &["subtract"],
        BinaryOp::Multiply => &["multiply"],
        BinaryOp::Divide => &["mdivide_right", "divide"],
        BinaryOp::Modulo => &["modulus"],
        BinaryOp::IntDivide => &[],
        BinaryOp::LeftDivide => &["mdivide_left"],
        BinaryOp::ElementMultiply => &["elt_multiply"],
        BinaryOp::ElementDivide => &["elt_divide"],
        BinaryOp::Power | BinaryOp::ElementPower => &["pow"],
    }
}

/// What may have been meant by an operator that does not apply.
fn operator_hint(op: BinaryOp, left: &Type, right: &Type) -> Option<String> {
    let vectors = |ty: &Type| matches!(ty, Type::Vector | Type::RowVector);
    let arrays = matches!(left, Type::Array(_)) || matches!(right, Type::Array(_));
    match op {
        BinaryOp::Multiply if vectors(left) && left == right => {
            Some("`.*` multiplies element by element, `dot_product(a, b)` sums the products".into())
        }
        BinaryOp::Divide if vectors(left) && vectors(right) => {
            Some("`./` divides element by element".into())
        }
        BinaryOp::Modulo | BinaryOp::IntDivide => Some("both sides must be ints".into()),
        BinaryOp::And | BinaryOp::Or => {
            Some("both sides must be ints; write `x != 0` for a real".into())
        }
        _ if arrays => Some(
            "arithmetic works on vectors and matrices; `to_vector(…)` converts an array".into(),
        ),
        _ => None,
    }
}
