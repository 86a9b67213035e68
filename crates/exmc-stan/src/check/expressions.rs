//! Expressions: names, literals, operators, conditions -> typed expressions with explicit
//! conversions.

use std::sync::Arc;

use super::environment::{Block, Checker, Suffix, Typed, is_proportional, normalised};
use super::types::{Level, common, promote, spell};
use super::{MAX_DEPTH, higher_order, laplace, signatures};
use crate::diagnostic::{Class, Diagnostic};
use crate::source::Span;
use crate::syntax::tree::{self, Name};
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
            tree::ExprKind::Binary(..) => self.binary(expr),
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
            let expr = Expr::new(ExprKind::Variable(variable), ty, name.span);
            return Some(Typed { expr, level });
        }
        let proportional = is_proportional(&name.text);
        if let Some(function) = self.overloads(&name.text).first().copied() {
            self.check_proportional(name)?;
            let kind = ExprKind::Function { function, proportional };
            return Some(literal(name.span, kind, Type::Function(function)));
        }
        if higher_order::exists(&name.text) || laplace::exists(&normalised(&name.text)) {
            self.error(
                name.span,
                format!("`{}` takes a function and cannot be given to one", name.text),
            );
            return None;
        }
        if signatures::exists(&normalised(&name.text)) {
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
        let expr = Expr::new(ExprKind::Target, Type::Real, span);
        Some(Typed { expr, level: Level::Parameter })
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
        Some(Typed { expr: Expr::new(kind, ty, span), level })
    }
}

/// An expression that depends on nothing.
pub(super) fn literal(span: Span, kind: ExprKind, ty: Type) -> Typed {
    Typed { expr: Expr::new(kind, ty, span), level: Level::Data }
}
