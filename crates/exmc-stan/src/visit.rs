//! A walk through the typed tree: every statement and expression, parents before children.

use crate::typed::{
    Access, Constraint, DeclaredType, Expr, ExprKind, Index, LValue, LValueKind, PrintItem,
    Statement, StatementKind,
};

/// What a walk passes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node<'a> {
    /// A statement, before what it consists of.
    Statement(&'a Statement),
    /// What is assigned to (each part of several targets), before its indices.
    Target(&'a LValue),
    /// An expression, before its parts.
    Expr(&'a Expr),
}

/// Sees nodes. Returns whether the walk goes on into the node's parts.
pub(crate) type See<'s, 'a> = dyn FnMut(Node<'a>) -> bool + 's;

/// A statement with everything inside it.
pub(crate) fn visit_statement<'a>(statement: &'a Statement, see: &mut See<'_, 'a>) {
    if !see(Node::Statement(statement)) {
        return;
    }
    match &statement.kind {
        StatementKind::If(condition, then, otherwise) => {
            visit_expr(condition, see);
            visit_statement(then, see);
            otherwise.iter().for_each(|s| visit_statement(s, see));
        }
        StatementKind::While(condition, body) => {
            visit_expr(condition, see);
            visit_statement(body, see);
        }
        StatementKind::For { lower, upper, body, .. } => {
            visit_expr(lower, see);
            visit_expr(upper, see);
            visit_statement(body, see);
        }
        StatementKind::ForEach { over, body, .. } => {
            visit_expr(over, see);
            visit_statement(body, see);
        }
        StatementKind::Block(body) | StatementKind::Profile(_, body) => {
            body.iter().for_each(|s| visit_statement(s, see));
        }
        _ => visit_own(statement, see),
    }
}

/// The targets and expressions of a statement itself: of a loop or a branch its bounds or
/// condition.
pub(crate) fn visit_own<'a>(statement: &'a Statement, see: &mut See<'_, 'a>) {
    match &statement.kind {
        StatementKind::Declare(declaration) => {
            visit_declared(&declaration.ty, see);
            declaration.initial.iter().for_each(|e| visit_expr(e, see));
        }
        StatementKind::Assign { target, value, .. } => {
            visit_target(target, see);
            visit_expr(value, see);
        }
        StatementKind::TargetPlus(e)
        | StatementKind::JacobianPlus(e)
        | StatementKind::Return(Some(e))
        | StatementKind::If(e, ..)
        | StatementKind::While(e, _)
        | StatementKind::ForEach { over: e, .. } => visit_expr(e, see),
        StatementKind::For { lower, upper, .. } => {
            visit_expr(lower, see);
            visit_expr(upper, see);
        }
        StatementKind::Tilde { outcome, args, truncation, .. } => {
            visit_expr(outcome, see);
            args.iter().for_each(|e| visit_expr(e, see));
            if let Some(truncation) = truncation {
                truncation.lower.iter().chain(&truncation.upper).for_each(|e| visit_expr(e, see));
            }
        }
        StatementKind::Call { args, .. } => args.iter().for_each(|e| visit_expr(e, see)),
        StatementKind::Print(items)
        | StatementKind::Reject(items)
        | StatementKind::FatalError(items) => {
            for item in items {
                if let PrintItem::Value(value) = item {
                    visit_expr(value, see);
                }
            }
        }
        StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Return(None)
        | StatementKind::Block(_)
        | StatementKind::Profile(..) => {}
    }
}

/// Sizes and bounds of a declared type.
pub(crate) fn visit_declared<'a>(ty: &'a DeclaredType, see: &mut See<'_, 'a>) {
    match ty {
        DeclaredType::Leaf { sizes, constraint, .. } => {
            sizes.iter().for_each(|e| visit_expr(e, see));
            match constraint {
                Constraint::Lower(bound) | Constraint::Upper(bound) => visit_expr(bound, see),
                Constraint::LowerUpper(low, high) => {
                    visit_expr(low, see);
                    visit_expr(high, see);
                }
                Constraint::OffsetMultiplier(offset, multiplier) => {
                    offset.iter().chain(multiplier).for_each(|e| visit_expr(e, see));
                }
                _ => {}
            }
        }
        DeclaredType::Array { sizes, element } => {
            sizes.iter().for_each(|e| visit_expr(e, see));
            visit_declared(element, see);
        }
        DeclaredType::Tuple(slots) => slots.iter().for_each(|slot| visit_declared(slot, see)),
    }
}

fn visit_target<'a>(target: &'a LValue, see: &mut See<'_, 'a>) {
    if !see(Node::Target(target)) {
        return;
    }
    match &target.kind {
        LValueKind::Path(_, accesses) => {
            for access in accesses {
                if let Access::Index(all) = access {
                    visit_indices(all, see);
                }
            }
        }
        LValueKind::Tuple(parts) => parts.iter().for_each(|part| visit_target(part, see)),
    }
}

/// The expressions of indices.
pub(crate) fn visit_indices<'a>(all: &'a [Index], see: &mut See<'_, 'a>) {
    for index in all {
        match index {
            Index::Single(e) | Index::Multiple(e) => visit_expr(e, see),
            Index::Range(lower, upper) => {
                lower.iter().chain(upper).for_each(|e| visit_expr(e, see));
            }
        }
    }
}

/// An expression with its parts.
pub(crate) fn visit_expr<'a>(e: &'a Expr, see: &mut See<'_, 'a>) {
    if !see(Node::Expr(e)) {
        return;
    }
    match &e.kind {
        ExprKind::Call(_, all)
        | ExprKind::Array(all)
        | ExprKind::RowVector(all)
        | ExprKind::Tuple(all) => all.iter().for_each(|e| visit_expr(e, see)),
        ExprKind::Unary(_, a)
        | ExprKind::Transpose(a)
        | ExprKind::Promote(a)
        | ExprKind::Field(a, _) => visit_expr(a, see),
        ExprKind::Binary(_, a, b) => {
            visit_expr(a, see);
            visit_expr(b, see);
        }
        ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|e| visit_expr(e, see)),
        ExprKind::Index(base, all) => {
            visit_expr(base, see);
            visit_indices(all, see);
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
