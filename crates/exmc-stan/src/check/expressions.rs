//! Expressions: names, literals, operators, conditions -> typed expressions with explicit conversions.

use std::sync::Arc;

use super::environment::{Block, Checker, Suffix, Typed, is_proportional, normalised};
use super::types::{Level, common, promote, spell};
use super::{MAX_DEPTH, higher_order, signatures};
use crate::diagnostic::{Class, Diagnostic};
use crate::source::Span;
use crate::syntax::tree::{self, BinaryOp, Name, UnaryOp};
use crate::typed::{Expr, ExprKind, Type};

/// A checked expression; `None` once a mistake in it is reported.
pub(super) type Checked = Option<Typed>;

impl Checker {
    /// The type and meaning of an expression.
    pub(super) fn expression(&mut self, expr: &tree::Expr) -> Checked {
        if self.depth >= MAX_DEPTH {
            let message = format!("this is nested more than {MAX_DEPTH} levels deep");
            self.report(Diagnostic::error(Class::Limit, expr.span, message));
            return None;
        }
        self.depth += 1;
        let typed = self.expression_kind(expr);
        self.depth -= 1;
        typed
    }

    fn expression_kind(&mut self, expr: &tree::Expr) -> Checked {
        let span = expr.span;
        match &expr.kind {
            tree::ExprKind::Int(text) => self.int_literal(span, text),
            tree::ExprKind::Real(text) => self
                .real_literal(span, text)
                .map(|value| literal(span, ExprKind::Real(value), Type::Real)),
            tree::ExprKind::Imaginary(text) => self
                .real_literal(span, text)
                .map(|value| literal(span, ExprKind::Imaginary(value), Type::Complex)),
            tree::ExprKind::Name(name) => self.name(name),
            tree::ExprKind::Unary(op, operand) => self.unary(span, *op, operand),
            tree::ExprKind::Transpose(operand) => self.transpose(span, operand),
            tree::ExprKind::Binary(op, left, right) => self.binary(span, *op, left, right),
            tree::ExprKind::Conditional(condition, then, otherwise) => {
                self.conditional(span, condition, then, otherwise)
            }
            tree::ExprKind::Index(base, indices) => self.index_expression(span, base, indices),
            tree::ExprKind::Field(base, slot) => self.field(span, base, *slot),
            tree::ExprKind::Array(elements) => self.array_literal(span, elements),
            tree::ExprKind::RowVector(elements) => self.row_vector_literal(span, elements),
            tree::ExprKind::Tuple(elements) => self.tuple_literal(span, elements),
            tree::ExprKind::Parenthesised(inner) => {
                let mut typed = self.expression(inner)?;
                typed.expr.span = span;
                Some(typed)
            }
            tree::ExprKind::Call { function, args, bar } => self.call(span, function, args, *bar),
            tree::ExprKind::Target => self.target(span),
        }
    }

    /// All of several expressions, each of which is checked.
    pub(super) fn expressions(&mut self, all: &[tree::Expr]) -> Option<Vec<Typed>> {
        let checked: Vec<Checked> = all.iter().map(|expr| self.expression(expr)).collect();
        checked.into_iter().collect()
    }

    /// An expression that must be an integer; `what` says which in the message.
    pub(super) fn int_expression(&mut self, expr: &tree::Expr, what: &str) -> Option<Expr> {
        let typed = self.expression(expr)?;
        if *typed.ty() == Type::Int {
            return Some(typed.expr);
        }
        let message = format!("{what} must be an int, and this is {}", self.describe(&typed));
        let diagnostic = self.error(expr.span, message);
        if *typed.ty() == Type::Real {
            diagnostic.help =
                Some("compare it with a number, or convert data with `to_int(…)`".into());
        }
        None
    }

    /// A value's type in a message; functions by what they are.
    pub(super) fn describe(&self, typed: &Typed) -> String {
        match &typed.expr.kind {
            ExprKind::Function { .. } => "a function".into(),
            ExprKind::LibraryFunction(_) => "a library function".into(),
            _ => spell(typed.ty()),
        }
    }

    fn int_literal(&mut self, span: Span, text: &str) -> Checked {
        match text.replace('_', "").parse::<i64>() {
            Ok(value) if value <= i64::from(i32::MAX) => {
                Some(literal(span, ExprKind::Int(value), Type::Int))
            }
            _ => {
                self.error(span, "this number is too large for an int").help =
                    Some(format!("integers reach {}; write `{text}.0` for a real", i32::MAX));
                None
            }
        }
    }

    fn real_literal(&mut self, span: Span, text: &str) -> Option<f64> {
        let value = text.replace('_', "").parse::<f64>();
        if value.is_err() {
            self.error(span, format!("`{text}` is not a number"));
        }
        value.ok()
    }

    /// A name by itself: a variable, or a function that is given to another.
    fn name(&mut self, name: &Name) -> Checked {
        self.check_identifier(name)?;
        if let Some(binding) = self.binding(&name.text) {
            let (variable, ty, block) = (binding.variable, binding.ty.clone(), binding.block);
            let declared = binding.span;
            let sampled = matches!(
                block,
                Block::Parameters | Block::TransformedParameters | Block::GeneratedQuantities
            );
            if self.place.in_size && sampled {
                let message =
                    format!("a size must not depend on `{}`, which is no data", name.text);
                let diagnostic = self.error(name.span, message);
                diagnostic.labels.push((declared, format!("declared in {}", block.name())));
                diagnostic.help =
                    Some("sizes may use variables of data and transformed data only".into());
                return None;
            }
            let level = self.level_of(&ty, block);
            let expr = Expr { kind: ExprKind::Variable(variable), ty, span: name.span };
            return Some(Typed { expr, level });
        }
        let proportional = is_proportional(&name.text);
        if let Some(function) = self.overloads(&name.text).first().copied() {
            self.check_proportional(name)?;
            let kind = ExprKind::Function { function, proportional };
            return Some(literal(name.span, kind, Type::Function(function)));
        }
        if signatures::exists(&normalised(&name.text)) || higher_order::exists(&name.text) {
            self.check_proportional(name)?;
            let kind = ExprKind::LibraryFunction(Arc::clone(&name.text));
            return Some(literal(name.span, kind, Type::Void));
        }
        self.unknown_variable(name);
        None
    }

    /// Reports a name that means nothing, once.
    pub(super) fn unknown_variable(&mut self, name: &Name) {
        if !self.first_unknown(&name.text) {
            return;
        }
        let nearest = self.nearest(&name.text);
        self.error(name.span, format!("`{}` is not declared", name.text)).help =
            nearest.map(|nearest| format!("did you mean `{nearest}`?"));
    }

    /// Whether `_lupdf` or `_lupmf` may stand here.
    pub(super) fn check_proportional(&mut self, name: &Name) -> Option<()> {
        let allowed = self.inside(Suffix::Lpdf)
            || self.inside(Suffix::Lpmf)
            || self.place.block == Block::Model;
        if is_proportional(&name.text) && !allowed {
            self.error(
                name.span,
                format!("`{}` without its constant terms has no meaning here", name.text),
            )
            .help = Some(
                "_lupdf and _lupmf may be used in the model block and in functions that end in _lpdf \
                 or _lpmf; use _lpdf or _lpmf elsewhere"
                    .into(),
            );
            return None;
        }
        Some(())
    }

    fn target(&mut self, span: Span) -> Checked {
        let allowed = self.inside(Suffix::Target)
            || matches!(self.place.block, Block::Model | Block::TransformedParameters);
        if !allowed {
            self.target_elsewhere(span);
            return None;
        }
        let expr = Expr { kind: ExprKind::Target, ty: Type::Real, span };
        Some(Typed { expr, level: Level::Parameter })
    }

    fn unary(&mut self, span: Span, op: UnaryOp, operand: &tree::Expr) -> Checked {
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
        let expr = Expr { kind: ExprKind::Unary(op, Box::new(expr)), ty, span };
        Some(Typed { expr, level })
    }

    fn transpose(&mut self, span: Span, operand: &tree::Expr) -> Checked {
        let arguments = [self.expression(operand)?];
        let Some((ty, _)) = self.operator(&["transpose"], &arguments) else {
            let found = self.describe(&arguments[0]);
            self.error(span, format!("{found} cannot be transposed")).help =
                Some("vectors, row vectors and matrices can".into());
            return None;
        };
        let [Typed { expr, level }] = arguments;
        let expr = Expr { kind: ExprKind::Transpose(Box::new(expr)), ty, span };
        Some(Typed { expr, level })
    }

    fn binary(
        &mut self,
        span: Span,
        op: BinaryOp,
        left_tree: &tree::Expr,
        right_tree: &tree::Expr,
    ) -> Checked {
        let left = self.expression(left_tree);
        let right = self.expression(right_tree);
        let arguments = [left?, right?];
        self.operator_warnings(span, op, left_tree, right_tree, &arguments);
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
        Some(Typed { expr: Expr { kind: ExprKind::Binary(op, left, right), ty, span }, level })
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

    fn conditional(
        &mut self,
        span: Span,
        condition: &tree::Expr,
        then: &tree::Expr,
        otherwise: &tree::Expr,
    ) -> Checked {
        let condition = self.expression(condition);
        let then = self.expression(then);
        let otherwise = self.expression(otherwise);
        let (condition, then, otherwise) = (condition?, then?, otherwise?);
        let is_value = |typed: &Typed| !matches!(typed.ty(), Type::Function(_) | Type::Void);
        let ty = common(then.ty(), otherwise.ty()).filter(|_| is_value(&then));
        let (Type::Int, Some(ty)) = (condition.ty(), ty) else {
            let (a, b) = (self.describe(&then), self.describe(&otherwise));
            let message = if *condition.ty() == Type::Int {
                format!("the branches of `? :` must have one type, and these are {a} and {b}")
            } else {
                format!(
                    "the condition of `? :` must be an int, and this is {}",
                    self.describe(&condition)
                )
            };
            self.error(span, message);
            return None;
        };
        let level = condition.level.join(&then.level).join(&otherwise.level);
        let kind = ExprKind::Conditional(
            Box::new(condition.expr),
            Box::new(promote(then.expr, &ty)),
            Box::new(promote(otherwise.expr, &ty)),
        );
        Some(Typed { expr: Expr { kind, ty, span }, level })
    }

    fn array_literal(&mut self, span: Span, elements: &[tree::Expr]) -> Checked {
        let elements = self.expressions(elements)?;
        let Some(first) = elements.first() else {
            self.error(span, "an array literal needs at least one element").help =
                Some("declare `array[0] real x;` for an empty array".into());
            return None;
        };
        let mut ty = first.ty().clone();
        let mut level = first.level.clone();
        for element in &elements {
            let Some(wider) = common(&ty, element.ty()) else {
                let found = self.describe(element);
                let message = format!(
                    "an array's elements must have one type, and this is {found} among {}",
                    spell(&ty)
                );
                self.error(element.expr.span, message);
                return None;
            };
            ty = wider;
            level = level.join(&element.level);
        }
        if matches!(ty, Type::Function(_) | Type::Void) {
            self.error(span, "functions cannot be put into arrays");
            return None;
        }
        let elements = elements.into_iter().map(|element| promote(element.expr, &ty)).collect();
        let expr = Expr { kind: ExprKind::Array(elements), ty: ty.array(1), span };
        Some(Typed { expr, level })
    }

    fn row_vector_literal(&mut self, span: Span, elements: &[tree::Expr]) -> Checked {
        let elements = self.expressions(elements)?;
        let rows = matches!(
            elements.first().map(Typed::ty),
            Some(Type::RowVector | Type::ComplexRowVector)
        );
        let mut ty = if rows { Type::RowVector } else { Type::Real };
        let mut level = Level::Data;
        for element in &elements {
            let Some(wider) = common(&ty, element.ty()) else {
                let found = self.describe(element);
                let message = if rows {
                    format!("a matrix is made of row vectors, and this is {found}")
                } else {
                    format!(
                        "a row vector is made of numbers (a matrix of row vectors), and this is {found}"
                    )
                };
                self.error(element.expr.span, message).help =
                    Some("write `{…}` for an array".into());
                return None;
            };
            ty = wider;
            level = level.join(&element.level);
        }
        let whole = match ty {
            Type::Real => Type::RowVector,
            Type::Complex => Type::ComplexRowVector,
            Type::RowVector => Type::Matrix,
            _ => Type::ComplexMatrix,
        };
        let elements = elements.into_iter().map(|element| promote(element.expr, &ty)).collect();
        Some(Typed { expr: Expr { kind: ExprKind::RowVector(elements), ty: whole, span }, level })
    }

    fn tuple_literal(&mut self, span: Span, elements: &[tree::Expr]) -> Checked {
        if elements.is_empty() {
            self.error(span, "a tuple needs at least one slot");
            return None;
        }
        let elements = self.expressions(elements)?;
        let ty = Type::Tuple(elements.iter().map(|element| element.ty().clone()).collect());
        let level = Level::Tuple(elements.iter().map(|element| element.level.clone()).collect());
        let elements = elements.into_iter().map(|element| element.expr).collect();
        Some(Typed { expr: Expr { kind: ExprKind::Tuple(elements), ty, span }, level })
    }
}

/// An expression that depends on nothing.
pub(super) fn literal(span: Span, kind: ExprKind, ty: Type) -> Typed {
    Typed { expr: Expr { kind, ty, span }, level: Level::Data }
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
