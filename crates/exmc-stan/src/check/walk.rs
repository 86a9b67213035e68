//! Walks over the typed tree: a statement -> the functions that it calls or gives to others.

use crate::typed::{
    Access, Callee, DeclaredType, Expr, ExprKind, Index, LValue, LValueKind, PrintItem, Statement,
    StatementKind,
};

/// All functions that a statement names, in order, with repetitions.
pub(super) fn calls(statement: &Statement, found: &mut Vec<Callee>) {
    match &statement.kind {
        StatementKind::Declare(declaration) => {
            declared(&declaration.ty, found);
            declaration.initial.iter().for_each(|e| expr(e, found));
        }
        StatementKind::Assign { target, value, .. } => {
            lvalue(target, found);
            expr(value, found);
        }
        StatementKind::TargetPlus(value) | StatementKind::JacobianPlus(value) => expr(value, found),
        StatementKind::Tilde { outcome, args, truncation, user, distribution } => {
            match user {
                Some(function) => {
                    found.push(Callee::User { function: *function, proportional: true })
                }
                None => found.push(Callee::Library(distribution.clone())),
            }
            expr(outcome, found);
            args.iter().for_each(|e| expr(e, found));
            if let Some(truncation) = truncation {
                truncation.lower.iter().chain(&truncation.upper).for_each(|e| expr(e, found));
            }
        }
        StatementKind::Call { function, args } => {
            found.push(function.clone());
            args.iter().for_each(|e| expr(e, found));
        }
        StatementKind::Print(items)
        | StatementKind::Reject(items)
        | StatementKind::FatalError(items) => {
            for item in items {
                if let PrintItem::Value(value) = item {
                    expr(value, found);
                }
            }
        }
        StatementKind::If(condition, then, otherwise) => {
            expr(condition, found);
            calls(then, found);
            otherwise.iter().for_each(|s| calls(s, found));
        }
        StatementKind::While(condition, body) => {
            expr(condition, found);
            calls(body, found);
        }
        StatementKind::For { lower, upper, body, .. } => {
            expr(lower, found);
            expr(upper, found);
            calls(body, found);
        }
        StatementKind::ForEach { over, body, .. } => {
            expr(over, found);
            calls(body, found);
        }
        StatementKind::Return(value) => value.iter().for_each(|e| expr(e, found)),
        StatementKind::Block(body) | StatementKind::Profile(_, body) => {
            body.iter().for_each(|s| calls(s, found));
        }
        StatementKind::Break | StatementKind::Continue => {}
    }
}

fn declared(ty: &DeclaredType, found: &mut Vec<Callee>) {
    match ty {
        DeclaredType::Leaf { sizes, .. } => sizes.iter().for_each(|e| expr(e, found)),
        DeclaredType::Array { sizes, element } => {
            sizes.iter().for_each(|e| expr(e, found));
            declared(element, found);
        }
        DeclaredType::Tuple(slots) => slots.iter().for_each(|slot| declared(slot, found)),
    }
}

fn lvalue(target: &LValue, found: &mut Vec<Callee>) {
    match &target.kind {
        LValueKind::Path(_, accesses) => {
            for access in accesses {
                if let Access::Index(all) = access {
                    indices(all, found);
                }
            }
        }
        LValueKind::Tuple(parts) => parts.iter().for_each(|part| lvalue(part, found)),
    }
}

fn indices(all: &[Index], found: &mut Vec<Callee>) {
    for index in all {
        match index {
            Index::Single(e) | Index::Multiple(e) => expr(e, found),
            Index::Range(lower, upper) => lower.iter().chain(upper).for_each(|e| expr(e, found)),
        }
    }
}

fn expr(e: &Expr, found: &mut Vec<Callee>) {
    match &e.kind {
        ExprKind::Call(callee, args) => {
            found.push(callee.clone());
            args.iter().for_each(|e| expr(e, found));
        }
        ExprKind::Function { function, proportional } => {
            found.push(Callee::User { function: *function, proportional: *proportional });
        }
        ExprKind::Unary(_, a)
        | ExprKind::Transpose(a)
        | ExprKind::Promote(a)
        | ExprKind::Field(a, _) => {
            expr(a, found);
        }
        ExprKind::Binary(_, a, b) => {
            expr(a, found);
            expr(b, found);
        }
        ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|e| expr(e, found)),
        ExprKind::Index(base, all) => {
            expr(base, found);
            indices(all, found);
        }
        ExprKind::Array(all) | ExprKind::RowVector(all) | ExprKind::Tuple(all) => {
            all.iter().for_each(|e| expr(e, found));
        }
        ExprKind::Int(_)
        | ExprKind::Real(_)
        | ExprKind::Imaginary(_)
        | ExprKind::Variable(_)
        | ExprKind::LibraryFunction(_)
        | ExprKind::Target => {}
    }
}
