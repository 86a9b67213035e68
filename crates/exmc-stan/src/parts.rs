//! A node of the typed tree -> its direct parts, to be changed.

use crate::typed::{
    Access, Constraint, Declaration, DeclaredType, Expr, ExprKind, Index, LValue, LValueKind,
    PrintItem, Statement, StatementKind,
};

/// A part of a statement or an expression.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    /// What a branch or loop runs.
    Body(&'a mut Statement),
    /// The statements of a block.
    Block(&'a mut Vec<Statement>),
    /// What is declared.
    Declaration(&'a mut Declaration),
    /// What is assigned to.
    Target(&'a mut LValue),
    Expr(&'a mut Expr),
}

/// Takes parts in the order of the text.
pub(crate) type Take<'t> = dyn FnMut(Part<'_>) + 't;

/// The parts of a statement.
pub(crate) fn parts_of_statement(statement: &mut Statement, take: &mut Take<'_>) {
    match &mut statement.kind {
        StatementKind::Declare(declaration) => take(Part::Declaration(declaration)),
        StatementKind::Assign { target, value, .. } => {
            take(Part::Target(target));
            take(Part::Expr(value));
        }
        StatementKind::TargetPlus(value)
        | StatementKind::JacobianPlus(value)
        | StatementKind::Return(Some(value)) => take(Part::Expr(value)),
        StatementKind::Tilde { outcome, args, truncation, .. } => {
            take(Part::Expr(outcome));
            exprs(args, take);
            if let Some(limits) = truncation {
                limits.lower.iter_mut().chain(&mut limits.upper).for_each(|e| take(Part::Expr(e)));
            }
        }
        StatementKind::Call { args, .. } => exprs(args, take),
        StatementKind::Print(items)
        | StatementKind::Reject(items)
        | StatementKind::FatalError(items) => {
            for item in items {
                if let PrintItem::Value(value) = item {
                    take(Part::Expr(value));
                }
            }
        }
        StatementKind::If(condition, then, otherwise) => {
            take(Part::Expr(condition));
            take(Part::Body(then));
            otherwise.iter_mut().for_each(|other| take(Part::Body(other)));
        }
        StatementKind::While(condition, body) => {
            take(Part::Expr(condition));
            take(Part::Body(body));
        }
        StatementKind::For { lower, upper, body, .. } => {
            take(Part::Expr(lower));
            take(Part::Expr(upper));
            take(Part::Body(body));
        }
        StatementKind::ForEach { over, body, .. } => {
            take(Part::Expr(over));
            take(Part::Body(body));
        }
        StatementKind::Block(body) | StatementKind::Profile(_, body) => take(Part::Block(body)),
        StatementKind::Break | StatementKind::Continue | StatementKind::Return(None) => {}
    }
}

/// Sizes and bounds of a declaration, and its value.
pub(crate) fn parts_of_declaration(declaration: &mut Declaration, take: &mut Take<'_>) {
    declared(&mut declaration.ty, take);
    declaration.initial.iter_mut().for_each(|value| take(Part::Expr(value)));
}

fn declared(ty: &mut DeclaredType, take: &mut Take<'_>) {
    match ty {
        DeclaredType::Leaf { sizes, constraint, .. } => {
            exprs(sizes, take);
            match constraint {
                Constraint::Lower(bound) | Constraint::Upper(bound) => take(Part::Expr(bound)),
                Constraint::LowerUpper(low, high) => {
                    take(Part::Expr(low));
                    take(Part::Expr(high));
                }
                Constraint::OffsetMultiplier(offset, multiplier) => {
                    offset.iter_mut().chain(multiplier).for_each(|e| take(Part::Expr(e)));
                }
                _ => {}
            }
        }
        DeclaredType::Array { sizes, element } => {
            exprs(sizes, take);
            declared(element, take);
        }
        DeclaredType::Tuple(slots) => slots.iter_mut().for_each(|slot| declared(slot, take)),
    }
}

/// Indices of what is assigned to, or the parts of several targets.
pub(crate) fn parts_of_target(target: &mut LValue, take: &mut Take<'_>) {
    match &mut target.kind {
        LValueKind::Path(_, path) => {
            for access in path {
                if let Access::Index(indices) = access {
                    parts_of_indices(indices, take);
                }
            }
        }
        LValueKind::Tuple(parts) => parts.iter_mut().for_each(|part| take(Part::Target(part))),
    }
}

/// Expressions in indices.
pub(crate) fn parts_of_indices(indices: &mut [Index], take: &mut Take<'_>) {
    for index in indices {
        match index {
            Index::Single(e) | Index::Multiple(e) => take(Part::Expr(e)),
            Index::Range(low, high) => {
                low.iter_mut().chain(high).for_each(|e| take(Part::Expr(e)));
            }
        }
    }
}

/// The parts of an expression, which are expressions.
pub(crate) fn parts_of_expr(e: &mut Expr, take: &mut dyn FnMut(&mut Expr)) {
    match &mut e.kind {
        ExprKind::Call(_, all)
        | ExprKind::Array(all)
        | ExprKind::RowVector(all)
        | ExprKind::Tuple(all) => all.iter_mut().for_each(take),
        ExprKind::Unary(_, a)
        | ExprKind::Transpose(a)
        | ExprKind::Promote(a)
        | ExprKind::Field(a, _) => take(a),
        ExprKind::Binary(_, a, b) => {
            take(a);
            take(b);
        }
        ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|e| take(e)),
        ExprKind::Index(base, indices) => {
            take(base);
            parts_of_indices(indices, &mut |part| {
                if let Part::Expr(e) = part {
                    take(e);
                }
            });
        }
        ExprKind::Int(_)
        | ExprKind::Real(_)
        | ExprKind::Imaginary(_)
        | ExprKind::Variable(_)
        | ExprKind::Function { .. }
        | ExprKind::LibraryFunction(_)
        | ExprKind::Target => {}
    }
}

fn exprs(all: &mut [Expr], take: &mut Take<'_>) {
    all.iter_mut().for_each(|e| take(Part::Expr(e)));
}
