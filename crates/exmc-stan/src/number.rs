//! A typed tree -> the same where each statement and each expression has an id of its own.
//!
//! What is remembered of a statement or an expression is looked up by its id. The checker numbers
//! the tree that it makes, and whoever changes a tree numbers what is new. A copy keeps its id: it
//! says the same, or stands in the place of the original.

use crate::parts::{
    Part, parts_of_declaration, parts_of_expr, parts_of_statement, parts_of_target,
};
use crate::typed::{Expr, Program, Statement, SyntaxId};

/// Gives an id to each statement and expression of a program that has none.
pub(crate) fn number(program: &mut Program) {
    let mut ids = Ids { last: program.last_id };
    for function in &mut program.functions {
        ids.statements(&mut function.body);
    }
    for declaration in program.data.iter_mut().chain(&mut program.parameters) {
        ids.part(Part::Declaration(declaration));
    }
    let blocks = [
        &mut program.transformed_data,
        &mut program.transformed_parameters,
        &mut program.model,
        &mut program.generated_quantities,
    ];
    blocks.into_iter().for_each(|block| ids.statements(block));
    program.last_id = ids.last;
}

struct Ids {
    last: u32,
}

impl Ids {
    fn give(&mut self, id: &mut SyntaxId) {
        if *id == SyntaxId::NONE {
            self.last += 1;
            *id = SyntaxId(self.last);
        }
    }

    fn part(&mut self, part: Part<'_>) {
        match part {
            Part::Body(statement) => self.statement(statement),
            Part::Block(list) => self.statements(list),
            Part::Declaration(declaration) => {
                parts_of_declaration(declaration, &mut |part| self.part(part))
            }
            Part::Target(target) => parts_of_target(target, &mut |part| self.part(part)),
            Part::Expr(e) => self.expr(e),
        }
    }

    fn statements(&mut self, list: &mut [Statement]) {
        list.iter_mut().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &mut Statement) {
        self.give(&mut statement.id);
        parts_of_statement(statement, &mut |part| self.part(part));
    }

    fn expr(&mut self, e: &mut Expr) {
        self.give(&mut e.id);
        parts_of_expr(e, &mut |e| self.expr(e));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::check::check;
    use crate::source::Sources;
    use crate::syntax::{NoIncludes, parse};
    use crate::typed::StatementKind;
    use crate::visit::{Node, visit_statement};

    const TEXT: &str = "functions { real f(real x) { if (x > 0) return x; return exp(-x); } }
        data { int N; array[N] real y; }
        parameters { real<lower=0> s; vector[N] v; }
        model {
          array[2, N] real a;
          for (n in 1:N) { a[1, n] = f(y[n]) + s; a[2, n] += (s > 1 ? 1 : n); }
          for (e in v) target += e;
          while (0) { print(s, a[ : , 1]); }
          y[1] ~ normal({s, s}[1], 2) T[0, ];
        }";

    fn ids(program: &Program) -> Vec<SyntaxId> {
        let mut found = Vec::new();
        let bodies = program.functions.iter().map(|function| &function.body);
        for statement in bodies.chain([&program.model]).flatten() {
            visit_statement(statement, &mut |node| {
                match node {
                    Node::Statement(statement) => found.push(statement.id),
                    Node::Expr(e) => found.push(e.id),
                    Node::Target(_) => {}
                }
                true
            });
        }
        found
    }

    #[test]
    fn every_node_of_a_checked_program_has_its_own_id() {
        let mut sources = Sources::single("m.stan", TEXT);
        let (tree, diagnostics) = parse(&mut sources, &mut NoIncludes);
        assert_eq!(diagnostics, []);
        let (program, diagnostics) = check(sources, &tree);
        let mut program = program.unwrap_or_else(|| panic!("{diagnostics:?}"));
        let before = ids(&program);
        let unique_ids: BTreeSet<SyntaxId> = before.iter().copied().collect();
        assert_eq!(unique_ids.len(), before.len());
        assert!(before.len() > 60 && !unique_ids.contains(&SyntaxId::NONE));
        // What is made later gets the next ones, and nothing else changes.
        let kind =
            StatementKind::Block(vec![Statement::new(StatementKind::Break, program.model[0].span)]);
        let made = Statement::new(kind, program.model[0].span);
        program.model.push(made);
        let last = program.last_id;
        number(&mut program);
        let after = ids(&program);
        assert_eq!(after[..before.len()], before);
        assert_eq!(after[before.len()..], [SyntaxId(last + 1), SyntaxId(last + 2)]);
    }
}
