//! A typed tree -> the same where each statement and each expression has an id of its own.
//!
//! What is remembered of a statement or an expression is looked up by its id. The checker numbers
//! the tree that it makes, and whoever changes a tree numbers what is new. A copy keeps its id: it
//! says the same, or stands in the place of the original.

use crate::typed::{
    Access, Constraint, Declaration, DeclaredType, Expr, ExprKind, Index, LValue, LValueKind,
    PrintItem, Program, Statement, StatementKind, SyntaxId,
};

/// Gives an id to each statement and expression of a program that has none.
pub(crate) fn number(program: &mut Program) {
    let mut ids = Ids { last: program.last_id };
    for function in &mut program.functions {
        ids.statements(&mut function.body);
    }
    for declaration in program.data.iter_mut().chain(&mut program.parameters) {
        ids.declaration(declaration);
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

    fn statements(&mut self, list: &mut [Statement]) {
        list.iter_mut().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &mut Statement) {
        self.give(&mut statement.id);
        match &mut statement.kind {
            StatementKind::Declare(declaration) => self.declaration(declaration),
            StatementKind::Assign { target, value, .. } => {
                self.target(target);
                self.expr(value);
            }
            StatementKind::TargetPlus(value)
            | StatementKind::JacobianPlus(value)
            | StatementKind::Return(Some(value)) => self.expr(value),
            StatementKind::Tilde { outcome, args, truncation, .. } => {
                self.expr(outcome);
                self.exprs(args);
                if let Some(limits) = truncation {
                    limits.lower.iter_mut().chain(&mut limits.upper).for_each(|e| self.expr(e));
                }
            }
            StatementKind::Call { args, .. } => self.exprs(args),
            StatementKind::Print(items)
            | StatementKind::Reject(items)
            | StatementKind::FatalError(items) => {
                for item in items {
                    if let PrintItem::Value(value) = item {
                        self.expr(value);
                    }
                }
            }
            StatementKind::If(condition, then, otherwise) => {
                self.expr(condition);
                self.statement(then);
                otherwise.iter_mut().for_each(|other| self.statement(other));
            }
            StatementKind::While(condition, body) => {
                self.expr(condition);
                self.statement(body);
            }
            StatementKind::For { lower, upper, body, .. } => {
                self.expr(lower);
                self.expr(upper);
                self.statement(body);
            }
            StatementKind::ForEach { over, body, .. } => {
                self.expr(over);
                self.statement(body);
            }
            StatementKind::Block(body) | StatementKind::Profile(_, body) => self.statements(body),
            StatementKind::Break | StatementKind::Continue | StatementKind::Return(None) => {}
        }
    }

    fn declaration(&mut self, declaration: &mut Declaration) {
        self.declared(&mut declaration.ty);
        declaration.initial.iter_mut().for_each(|value| self.expr(value));
    }

    fn declared(&mut self, ty: &mut DeclaredType) {
        match ty {
            DeclaredType::Leaf { sizes, constraint, .. } => {
                self.exprs(sizes);
                match constraint {
                    Constraint::Lower(bound) | Constraint::Upper(bound) => self.expr(bound),
                    Constraint::LowerUpper(low, high) => {
                        self.expr(low);
                        self.expr(high);
                    }
                    Constraint::OffsetMultiplier(offset, multiplier) => {
                        offset.iter_mut().chain(multiplier).for_each(|e| self.expr(e));
                    }
                    _ => {}
                }
            }
            DeclaredType::Array { sizes, element } => {
                self.exprs(sizes);
                self.declared(element);
            }
            DeclaredType::Tuple(slots) => slots.iter_mut().for_each(|slot| self.declared(slot)),
        }
    }

    fn target(&mut self, target: &mut LValue) {
        match &mut target.kind {
            LValueKind::Path(_, accesses) => {
                for access in accesses {
                    if let Access::Index(all) = access {
                        self.indices(all);
                    }
                }
            }
            LValueKind::Tuple(parts) => parts.iter_mut().for_each(|part| self.target(part)),
        }
    }

    fn indices(&mut self, all: &mut [Index]) {
        for index in all {
            match index {
                Index::Single(e) | Index::Multiple(e) => self.expr(e),
                Index::Range(low, high) => low.iter_mut().chain(high).for_each(|e| self.expr(e)),
            }
        }
    }

    fn exprs(&mut self, all: &mut [Expr]) {
        all.iter_mut().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, e: &mut Expr) {
        self.give(&mut e.id);
        match &mut e.kind {
            ExprKind::Call(_, all)
            | ExprKind::Array(all)
            | ExprKind::RowVector(all)
            | ExprKind::Tuple(all) => self.exprs(all),
            ExprKind::Unary(_, a)
            | ExprKind::Transpose(a)
            | ExprKind::Promote(a)
            | ExprKind::Field(a, _) => self.expr(a),
            ExprKind::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Conditional(a, b, c) => {
                [a, b, c].into_iter().for_each(|e| self.expr(e));
            }
            ExprKind::Index(base, all) => {
                self.expr(base);
                self.indices(all);
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
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::check::check;
    use crate::source::Sources;
    use crate::syntax::{NoIncludes, parse};
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
        let own: BTreeSet<SyntaxId> = before.iter().copied().collect();
        assert_eq!(own.len(), before.len());
        assert!(before.len() > 60 && !own.contains(&SyntaxId::NONE));
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
