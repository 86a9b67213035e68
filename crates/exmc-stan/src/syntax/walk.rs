//! A walk through a syntax tree: every statement and expression, parents before children.

use super::tree::{
    DeclaredKind, DeclaredType, Expr, ExprKind, Index, LValue, LValueKind, PrintItem, Program,
    Statement, StatementKind,
};

/// What a walk passes.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    /// A statement, before what it consists of.
    Statement(&'a Statement),
    /// An expression, before its parts.
    Expr(&'a Expr),
}

/// Passes everything in a program, in the order of the text.
pub fn walk<'a>(program: &'a Program, see: &mut dyn FnMut(Node<'a>)) {
    let blocks = [
        &program.functions,
        &program.data,
        &program.transformed_data,
        &program.parameters,
        &program.transformed_parameters,
        &program.model,
        &program.generated_quantities,
    ];
    for statement in blocks.into_iter().flatten().flat_map(|block| &block.statements) {
        walk_statement(statement, see);
    }
}

fn walk_statement<'a>(statement: &'a Statement, see: &mut dyn FnMut(Node<'a>)) {
    see(Node::Statement(statement));
    match &statement.kind {
        StatementKind::Declare { ty, variables } => {
            walk_declared(ty, see);
            variables
                .iter()
                .filter_map(|(_, value)| value.as_ref())
                .for_each(|e| walk_expr(e, see));
        }
        StatementKind::Function { body, .. } => {
            if let Some(body) = body {
                walk_statement(body, see);
            }
        }
        StatementKind::Assign { target, value, .. } => {
            walk_lvalue(target, see);
            walk_expr(value, see);
        }
        StatementKind::TargetPlus(value)
        | StatementKind::JacobianPlus(value)
        | StatementKind::Return(Some(value)) => walk_expr(value, see),
        StatementKind::Tilde { outcome, args, truncation, .. } => {
            walk_expr(outcome, see);
            args.iter().for_each(|e| walk_expr(e, see));
            if let Some((lower, upper)) = truncation {
                lower.iter().chain(upper).for_each(|e| walk_expr(e, see));
            }
        }
        StatementKind::Call { args, .. } => args.iter().for_each(|e| walk_expr(e, see)),
        StatementKind::Print(items)
        | StatementKind::Reject(items)
        | StatementKind::FatalError(items) => {
            for item in items {
                if let PrintItem::Value(value) = item {
                    walk_expr(value, see);
                }
            }
        }
        StatementKind::If { condition, then, otherwise } => {
            walk_expr(condition, see);
            walk_statement(then, see);
            if let Some(otherwise) = otherwise {
                walk_statement(otherwise, see);
            }
        }
        StatementKind::While { condition, body } => {
            walk_expr(condition, see);
            walk_statement(body, see);
        }
        StatementKind::For { lower, upper, body, .. } => {
            walk_expr(lower, see);
            walk_expr(upper, see);
            walk_statement(body, see);
        }
        StatementKind::ForEach { over, body, .. } => {
            walk_expr(over, see);
            walk_statement(body, see);
        }
        StatementKind::Block(statements) | StatementKind::Profile { body: statements, .. } => {
            statements.iter().for_each(|s| walk_statement(s, see));
        }
        StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Return(None)
        | StatementKind::Empty => {}
    }
}

fn walk_declared<'a>(ty: &'a DeclaredType, see: &mut dyn FnMut(Node<'a>)) {
    match &ty.kind {
        DeclaredKind::Leaf { sizes, bounds, .. } => {
            let bounds = [&bounds.lower, &bounds.upper, &bounds.offset, &bounds.multiplier];
            bounds.into_iter().flatten().for_each(|e| walk_expr(e, see));
            sizes.iter().for_each(|e| walk_expr(e, see));
        }
        DeclaredKind::Array { sizes, element } => {
            sizes.iter().for_each(|e| walk_expr(e, see));
            walk_declared(element, see);
        }
        DeclaredKind::Tuple(slots) => slots.iter().for_each(|slot| walk_declared(slot, see)),
    }
}

fn walk_lvalue<'a>(target: &'a LValue, see: &mut dyn FnMut(Node<'a>)) {
    match &target.kind {
        LValueKind::Variable(_) => {}
        LValueKind::Index(base, indices) => {
            walk_lvalue(base, see);
            walk_indices(indices, see);
        }
        LValueKind::Field(base, _) => walk_lvalue(base, see),
        LValueKind::Tuple(items) => items.iter().for_each(|item| walk_lvalue(item, see)),
    }
}

fn walk_indices<'a>(indices: &'a [Index], see: &mut dyn FnMut(Node<'a>)) {
    for index in indices {
        match index {
            Index::Expr(expr) => walk_expr(expr, see),
            Index::Range(lower, upper) => lower.iter().chain(upper).for_each(|e| walk_expr(e, see)),
        }
    }
}

fn walk_expr<'a>(expr: &'a Expr, see: &mut dyn FnMut(Node<'a>)) {
    see(Node::Expr(expr));
    match &expr.kind {
        ExprKind::Unary(_, operand)
        | ExprKind::Transpose(operand)
        | ExprKind::Field(operand, _)
        | ExprKind::Parenthesised(operand) => walk_expr(operand, see),
        ExprKind::Binary(_, left, right) => {
            walk_expr(left, see);
            walk_expr(right, see);
        }
        ExprKind::Conditional(condition, yes, no) => {
            [condition, yes, no].into_iter().for_each(|e| walk_expr(e, see));
        }
        ExprKind::Index(base, indices) => {
            walk_expr(base, see);
            walk_indices(indices, see);
        }
        ExprKind::Array(items) | ExprKind::RowVector(items) | ExprKind::Tuple(items) => {
            items.iter().for_each(|e| walk_expr(e, see));
        }
        ExprKind::Call { args, .. } => args.iter().for_each(|e| walk_expr(e, see)),
        ExprKind::Int(_)
        | ExprKind::Real(_)
        | ExprKind::Imaginary(_)
        | ExprKind::Name(_)
        | ExprKind::Target => {}
    }
}
