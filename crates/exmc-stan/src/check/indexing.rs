//! Indices and tuple slots: `a[i, 2:3]`, `t.2` -> their types.

use super::environment::{Checker, Typed};
use super::expressions::Checked;
use super::types::{is_complex, spell};
use crate::source::Span;
use crate::syntax::tree;
use crate::typed::{Expr, ExprKind, Index, Type};

impl Checker {
    pub(super) fn index_expression(
        &mut self,
        span: Span,
        base: &tree::Expr,
        indices: &[tree::Index],
    ) -> Checked {
        let indices = self.indices(indices);
        let base = self.expression(base);
        let (indices, Typed { expr: base, level }) = (indices?, base?);
        let ty = self.indexed_type(span, &base.ty, &indices)?;
        let kind = ExprKind::Index(Box::new(base), indices);
        Some(Typed { expr: Expr::new(kind, ty, span), level })
    }

    pub(super) fn field(&mut self, span: Span, base: &tree::Expr, slot: usize) -> Checked {
        let Typed { expr: base, level } = self.expression(base)?;
        let ty = self.slot_type(span, &base.ty, slot)?;
        let level = level.slot(slot - 1);
        let kind = ExprKind::Field(Box::new(base), slot - 1);
        Some(Typed { expr: Expr::new(kind, ty, span), level })
    }

    /// All indices of one pair of brackets.
    pub(super) fn indices(&mut self, indices: &[tree::Index]) -> Option<Vec<Index>> {
        let checked: Vec<Option<Index>> = indices.iter().map(|index| self.index(index)).collect();
        checked.into_iter().collect()
    }

    fn index(&mut self, index: &tree::Index) -> Option<Index> {
        match index {
            tree::Index::Expr(expr) => {
                let typed = self.expression(expr)?;
                match typed.ty() {
                    Type::Int => Some(Index::Single(typed.expr)),
                    ty if *ty == Type::Int.array(1) => Some(Index::Multiple(typed.expr)),
                    _ => {
                        let found = self.describe(&typed);
                        let message = format!(
                            "an index must be an int, an array of ints or a range, and this is {found}"
                        );
                        self.error(expr.span, message);
                        None
                    }
                }
            }
            tree::Index::Range(lower, upper) => {
                let mut bound = |bound: &Option<tree::Expr>| match bound {
                    Some(expr) => self.int_expression(expr, "the bound of a range").map(Some),
                    None => Some(None),
                };
                let (lower, upper) = (bound(lower), bound(upper));
                Some(Index::Range(lower?, upper?))
            }
        }
    }

    /// The type of what indices select; single indices drop an extent.
    pub(super) fn indexed_type(
        &mut self,
        span: Span,
        ty: &Type,
        indices: &[Index],
    ) -> Option<Type> {
        let selected = select(ty, indices);
        if selected.is_none() {
            let extents = ty.rank();
            let message = if extents == 0 {
                format!("{} cannot be indexed", spell_value(ty))
            } else {
                format!(
                    "{} has {extents} index{} and {} are given",
                    spell(ty),
                    if extents == 1 { "" } else { "es" },
                    indices.len()
                )
            };
            self.error(span, message);
        }
        selected
    }

    /// The type of a tuple's slot (from 1).
    pub(super) fn slot_type(&mut self, span: Span, ty: &Type, slot: usize) -> Option<Type> {
        let Type::Tuple(slots) = ty else {
            self.error(span, format!("`.{slot}` needs a tuple, and this is {}", spell_value(ty)));
            return None;
        };
        let found = slot.checked_sub(1).and_then(|index| slots.get(index)).cloned();
        if found.is_none() {
            self.error(
                span,
                format!("this tuple has slots .1 to .{}, and no .{slot}", slots.len()),
            );
        }
        found
    }
}

/// Whether an index keeps its extent.
pub(super) fn is_multiple(index: &Index) -> bool {
    !matches!(index, Index::Single(_))
}

fn spell_value(ty: &Type) -> String {
    match ty {
        Type::Function(_) | Type::Void => "a function".into(),
        other => spell(other),
    }
}

fn select(ty: &Type, indices: &[Index]) -> Option<Type> {
    let Some((first, rest)) = indices.split_first() else {
        return Some(ty.clone());
    };
    let complex = is_complex(ty);
    match ty {
        Type::Array(element) => {
            let inner = select(element, rest)?;
            Some(if is_multiple(first) { inner.array(1) } else { inner })
        }
        Type::Vector | Type::RowVector | Type::ComplexVector | Type::ComplexRowVector => {
            let scalar = if complex { Type::Complex } else { Type::Real };
            match rest {
                [] if is_multiple(first) => Some(ty.clone()),
                [] => Some(scalar),
                _ => None,
            }
        }
        Type::Matrix | Type::ComplexMatrix => {
            let (column, row, scalar) = if complex {
                (Type::ComplexVector, Type::ComplexRowVector, Type::Complex)
            } else {
                (Type::Vector, Type::RowVector, Type::Real)
            };
            match (is_multiple(first), rest) {
                (true, []) => Some(ty.clone()),
                (false, []) => Some(row),
                (rows, [columns]) => Some(match (rows, is_multiple(columns)) {
                    (false, false) => scalar,
                    (false, true) => row,
                    (true, false) => column,
                    (true, true) => ty.clone(),
                }),
                _ => None,
            }
        }
        _ => None,
    }
}
