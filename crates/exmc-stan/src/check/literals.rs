//! Literals: numbers, arrays, row vectors and matrices, tuples -> typed expressions.

use super::environment::{Checker, Typed};
use super::expressions::{Checked, literal};
use super::types::{Level, common, promote, spell};
use crate::source::Span;
use crate::syntax::tree;
use crate::typed::{Expr, ExprKind, Type};

impl Checker {
    pub(super) fn int_literal(&mut self, span: Span, text: &str) -> Checked {
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

    pub(super) fn real_literal(&mut self, span: Span, text: &str) -> Option<f64> {
        let value = text.replace('_', "").parse::<f64>();
        if value.is_err() {
            self.error(span, format!("`{text}` is not a number"));
        }
        value.ok()
    }

    pub(super) fn array_literal(&mut self, span: Span, elements: &[tree::Expr]) -> Checked {
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
        let expr = Expr::new(ExprKind::Array(elements), ty.array(1), span);
        Some(Typed { expr, level })
    }

    pub(super) fn row_vector_literal(&mut self, span: Span, elements: &[tree::Expr]) -> Checked {
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
        let literal_type = match ty {
            Type::Real => Type::RowVector,
            Type::Complex => Type::ComplexRowVector,
            Type::RowVector => Type::Matrix,
            _ => Type::ComplexMatrix,
        };
        let elements = elements.into_iter().map(|element| promote(element.expr, &ty)).collect();
        Some(Typed { expr: Expr::new(ExprKind::RowVector(elements), literal_type, span), level })
    }

    pub(super) fn tuple_literal(&mut self, span: Span, elements: &[tree::Expr]) -> Checked {
        if elements.is_empty() {
            self.error(span, "a tuple needs at least one slot");
            return None;
        }
        let elements = self.expressions(elements)?;
        let ty = Type::Tuple(elements.iter().map(|element| element.ty().clone()).collect());
        let level = Level::Tuple(elements.iter().map(|element| element.level.clone()).collect());
        let elements = elements.into_iter().map(|element| element.expr).collect();
        Some(Typed { expr: Expr::new(ExprKind::Tuple(elements), ty, span), level })
    }
}
