//! A statement -> the variables that it may assign to.

use std::collections::BTreeSet;

use crate::typed::{LValue, LValueKind, Statement, StatementKind, VariableId};

/// Every variable that the statement, or one inside it, assigns to.
pub(in crate::lower) fn assigned_variables(statement: &Statement) -> BTreeSet<VariableId> {
    let mut found = BTreeSet::new();
    collect(statement, &mut found);
    found
}

fn collect(statement: &Statement, found: &mut BTreeSet<VariableId>) {
    match &statement.kind {
        StatementKind::Assign { target, .. } => targets(target, found),
        StatementKind::If(_, then, otherwise) => {
            collect(then, found);
            if let Some(otherwise) = otherwise {
                collect(otherwise, found);
            }
        }
        StatementKind::While(_, body)
        | StatementKind::For { body, .. }
        | StatementKind::ForEach { body, .. } => collect(body, found),
        StatementKind::Block(body) | StatementKind::Profile(_, body) => {
            body.iter().for_each(|statement| collect(statement, found));
        }
        _ => {}
    }
}

fn targets(target: &LValue, found: &mut BTreeSet<VariableId>) {
    match &target.kind {
        LValueKind::Path(variable, _) => {
            found.insert(*variable);
        }
        LValueKind::Tuple(parts) => parts.iter().for_each(|part| targets(part, found)),
    }
}
