//! Sections of `profile` in a program -> the file that clients read of them.
//!
//! The density is compiled as a whole, so that its sections have no times of their own: the file
//! names them, with NaN for what is not known.

use std::collections::BTreeSet;
use std::path::Path;

use exmc_stan::typed::{Statement, StatementKind};

use super::Run;
use crate::console::complain;
use crate::failure::Failure;

const HEADER: &str = "name,thread_id,total_time,forward_time,reverse_time,chain_stack,no_chain_stack,autodiff_calls,no_autodiff_calls";

/// Writes `profile_file` where the program has a section.
pub(super) fn write(run: &Run<'_>) -> Result<(), Failure> {
    let typed = run.program.typed();
    let mut names = BTreeSet::new();
    for block in [
        &typed.transformed_data,
        &typed.transformed_parameters,
        &typed.model,
        &typed.generated_quantities,
    ] {
        block.iter().for_each(|statement| sections(statement, &mut names));
    }
    for function in &typed.functions {
        function.body.iter().for_each(|statement| sections(statement, &mut names));
    }
    if names.is_empty() {
        return Ok(());
    }
    complain(
        "Note: the density is compiled as a whole: sections of `profile` have no times of their own",
    );
    let mut text = format!("{HEADER}\n");
    for name in names {
        text.push_str(&format!("{name},0,nan,nan,nan,nan,nan,nan,nan\n"));
    }
    let path = run.arguments.text("output/profile_file");
    std::fs::write(path, text).map_err(|e| Failure::unwritable(Path::new(path), &e))
}

fn sections(statement: &Statement, names: &mut BTreeSet<String>) {
    match &statement.kind {
        StatementKind::Profile(name, body) => {
            names.insert(name.to_string());
            body.iter().for_each(|inner| sections(inner, names));
        }
        StatementKind::Block(body) => body.iter().for_each(|inner| sections(inner, names)),
        StatementKind::If(_, then, otherwise) => {
            sections(then, names);
            if let Some(otherwise) = otherwise {
                sections(otherwise, names);
            }
        }
        StatementKind::While(_, body)
        | StatementKind::For { body, .. }
        | StatementKind::ForEach { body, .. } => sections(body, names),
        _ => {}
    }
}
