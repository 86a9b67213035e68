//! The checker: syntax tree -> typed tree, with names looked up, overloads resolved and every
//! conversion of a type written out.
//!
//! All mistakes of a program are reported, each once: an expression with a mistake has no type, and
//! what is made of it is not checked further. Variables are known after their declaration even if
//! that is wrong. The rules are those of the Stan reference manual.

mod assignments;
mod calls;
mod declarations;
mod environment;
mod expressions;
mod functions;
pub mod higher_order;
mod indexing;
mod laplace;
mod literals;
mod loops;
mod names;
mod operators;
mod overloads;
mod print;
pub mod signatures;
mod statements;
mod tilde;
pub(crate) mod types;
mod walk;

pub use print::print;
pub use types::{spell, spell_list};

use self::environment::{Block, Checker};
use crate::diagnostic::{Diagnostic, Severity};
use crate::number::number;
use crate::source::Sources;
use crate::syntax::tree;
use crate::typed::{Declaration, Program, Statement, StatementKind};

/// Nesting of expressions and statements that the checker follows.
const MAX_DEPTH: usize = 1000;

/// Checks a program. The typed program is absent only if there are errors; warnings do not prevent
/// it.
pub fn check(sources: Sources, program: &tree::Program) -> (Option<Program>, Vec<Diagnostic>) {
    let mut checker = Checker::new();
    checker.program.sources = sources;
    if let Some(block) = &program.functions {
        checker.functions_block(block);
    }
    let data = checker.block_statements(Block::Data, program.data.as_ref());
    let transformed_data =
        checker.block_statements(Block::TransformedData, program.transformed_data.as_ref());
    let parameters = checker.block_statements(Block::Parameters, program.parameters.as_ref());
    let transformed_parameters = checker
        .block_statements(Block::TransformedParameters, program.transformed_parameters.as_ref());
    let model = checker.scoped(|c| c.block_statements(Block::Model, program.model.as_ref()));
    let generated_quantities =
        checker.block_statements(Block::GeneratedQuantities, program.generated_quantities.as_ref());
    checker.check_second_derivatives();
    let Checker { program: mut typed, diagnostics, .. } = checker;
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        return (None, diagnostics);
    }
    typed.data = declarations_of(data);
    typed.transformed_data = transformed_data;
    typed.parameters = declarations_of(parameters);
    typed.transformed_parameters = transformed_parameters;
    typed.model = model;
    typed.generated_quantities = generated_quantities;
    number(&mut typed);
    (Some(typed), diagnostics)
}

impl Checker {
    fn block_statements(
        &mut self,
        block: Block,
        statements: Option<&tree::Block>,
    ) -> Vec<Statement> {
        let mut out = Vec::new();
        let Some(statements) = statements else { return out };
        self.place.block = block;
        if matches!(block, Block::Data | Block::Parameters) {
            for statement in &statements.statements {
                if matches!(
                    statement.kind,
                    tree::StatementKind::Declare { .. } | tree::StatementKind::Empty
                ) {
                    self.statement(statement, true, &mut out);
                } else {
                    self.error(statement.span, format!("{} holds declarations only", block.name()));
                }
            }
        } else {
            self.statements(&statements.statements, true, &mut out);
        }
        out
    }
}

/// The declarations of a block that has nothing else.
fn declarations_of(statements: Vec<Statement>) -> Vec<Declaration> {
    let declaration = |statement: Statement| match statement.kind {
        StatementKind::Declare(declaration) => Some(declaration),
        _ => None,
    };
    statements.into_iter().filter_map(declaration).collect()
}
