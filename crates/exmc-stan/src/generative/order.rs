//! Statements in the order of a program -> the order in which they can be drawn: what a statement
//! reads stands before it.
//!
//! A density may be written in any order, `y ~ normal(mu, 1)` before `mu ~ normal(0, 1)`; draws
//! cannot. What `~` draws comes before everything that reads it. All other variables keep the order
//! of their writes and reads.

use std::collections::BTreeSet;

use crate::typed::{Expr, ExprKind, LValueKind, Statement, StatementKind, VariableId};
use crate::visit::{Node, visit_expr, visit_statement};

/// Variables by what a statement does with them.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    pub(super) reads: BTreeSet<VariableId>,
    pub(super) writes: BTreeSet<VariableId>,
    /// Those left of `~`.
    pub(super) draws: BTreeSet<VariableId>,
}

/// What a statement does with variables, everything inside it included.
pub(super) fn accesses(statement: &Statement) -> Accesses {
    let mut all = Accesses::default();
    visit_statement(statement, &mut |node| match node {
        Node::Statement(statement) => match &statement.kind {
            StatementKind::Tilde { outcome, args, truncation, .. } => {
                let root = root(outcome);
                reads_of(outcome, &mut all.reads);
                if let Some(root) = root {
                    all.reads.remove(&root);
                    all.draws.insert(root);
                }
                args.iter().for_each(|arg| reads_of(arg, &mut all.reads));
                if let Some(limits) = truncation {
                    let limits = limits.lower.iter().chain(&limits.upper);
                    limits.for_each(|limit| reads_of(limit, &mut all.reads));
                }
                false
            }
            StatementKind::Declare(declaration) => {
                all.writes.insert(declaration.variable);
                true
            }
            _ => true,
        },
        Node::Target(target) => {
            if let LValueKind::Path(id, _) = &target.kind {
                all.writes.insert(*id);
            }
            true
        }
        Node::Expr(e) => {
            if let ExprKind::Variable(id) = e.kind {
                all.reads.insert(id);
            }
            true
        }
    });
    all
}

/// Adds the variables that an expression reads.
pub(super) fn reads_of(e: &Expr, reads: &mut BTreeSet<VariableId>) {
    visit_expr(e, &mut |node| {
        if let Node::Expr(Expr { kind: ExprKind::Variable(id), .. }) = node {
            reads.insert(*id);
        }
        true
    });
}

/// Functions that only choose or rearrange elements, so that they can stand left of `~`.
const REARRANGE: &[&str] = &[
    "to_vector",
    "to_row_vector",
    "to_array_1d",
    "to_matrix",
    "col",
    "row",
    "sub_col",
    "sub_row",
    "head",
    "tail",
    "segment",
    "block",
    "diagonal",
    "reverse",
];

/// The variable of which an outcome is elements, if it is no more than that.
pub(crate) fn root(outcome: &Expr) -> Option<VariableId> {
    match &outcome.kind {
        ExprKind::Variable(id) => Some(*id),
        ExprKind::Index(base, _) | ExprKind::Transpose(base) | ExprKind::Promote(base) => {
            root(base)
        }
        ExprKind::Call(crate::typed::Callee::Library(name), args)
            if REARRANGE.contains(&&**name) =>
        {
            root(args.first()?)
        }
        _ => None,
    }
}

/// The statements in an order in which they can be drawn, also inside of loops and branches. Where
/// two need each other, the order of the text stays.
pub(super) fn sorted(statements: &[Statement]) -> Vec<Statement> {
    let mut flat = Vec::new();
    flatten(statements, &mut flat);
    let all: Vec<Accesses> = flat.iter().map(|statement| accesses(statement)).collect();
    let mut left: Vec<usize> = (0..flat.len()).collect();
    let mut order = Vec::with_capacity(flat.len());
    while !left.is_empty() {
        let free = left
            .iter()
            .position(|&k| left.iter().all(|&other| other == k || !comes_before(other, k, &all)));
        order.push(left.remove(free.unwrap_or(0)));
    }
    order.into_iter().map(|k| inside(flat[k])).collect()
}

/// Whether one statement must run before another.
fn comes_before(first: usize, then: usize, all: &[Accesses]) -> bool {
    let (a, b) = (&all[first], &all[then]);
    let meets = |x: &BTreeSet<VariableId>, y: &BTreeSet<VariableId>| !x.is_disjoint(y);
    // A value is drawn before it is read, unless both draw it: then the text decides.
    let drawn = a.draws.iter().any(|id| b.reads.contains(id) && !b.draws.contains(id));
    let in_text = meets(&a.draws, &b.draws)
        || meets(&a.writes, &b.reads)
        || meets(&a.reads, &b.writes)
        || meets(&a.writes, &b.writes);
    drawn || (first < then && in_text)
}

/// Statements without the blocks around them; each variable has its own number, so that none is
/// confused.
fn flatten<'a>(statements: &'a [Statement], out: &mut Vec<&'a Statement>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Block(inner) | StatementKind::Profile(_, inner) => flatten(inner, out),
            _ => out.push(statement),
        }
    }
}

/// A statement with its body sorted.
fn inside(statement: &Statement) -> Statement {
    let body = |inner: &Statement| {
        let kind = StatementKind::Block(sorted(std::slice::from_ref(inner)));
        Box::new(Statement::new(kind, inner.span))
    };
    let kind = match &statement.kind {
        StatementKind::For { variable, lower, upper, body: inner } => StatementKind::For {
            variable: *variable,
            lower: lower.clone(),
            upper: upper.clone(),
            body: body(inner),
        },
        StatementKind::ForEach { variable, over, body: inner } => {
            StatementKind::ForEach { variable: *variable, over: over.clone(), body: body(inner) }
        }
        StatementKind::If(condition, then, otherwise) => {
            StatementKind::If(condition.clone(), body(then), otherwise.as_deref().map(body))
        }
        other => other.clone(),
    };
    Statement::new(kind, statement.span)
}
