//! A checked loop -> the loops that Stan's compiled program runs for it.
//!
//! `for (i in low:high)` computes `high` anew before each iteration, which shows where the body
//! assigns to what `high` reads or `high` draws at random.
//!
//! Stan's manual says that a loop over a matrix goes column by column. Its compiler has gone row by
//! row since 2.20: one loop over the rows and one over the elements of each, so that `break` leaves
//! the row only. We do what Stan does. A container that is a variable is read anew by each
//! iteration, so an assignment inside of the loop is seen by later iterations; any other container
//! is computed once, before the loop.

use std::sync::Arc;

use exmc_fault::{Fault, planted};

use super::environment::Checker;
use crate::source::Span;
use crate::syntax::tree::Name;
use crate::typed::{
    BinaryOp, Callee, Constraint, Declaration, DeclaredType, Expr, ExprKind, Index, LValue,
    LValueKind, Scope, Statement, StatementKind, Type, Variable, VariableId,
};
use crate::visit::{Node, visit_expr, visit_statement};

impl Checker {
    /// `for (variable in lower:upper) body`: as a `while` where an iteration may change the bound.
    pub(super) fn elaborate_for(
        &mut self,
        name: &Name,
        variable: VariableId,
        (lower, upper): (Expr, Expr),
        body: Box<Statement>,
    ) -> StatementKind {
        if !self.changes(&upper, &body) {
            return StatementKind::For { variable, lower, upper, body };
        }
        let span = name.span;
        let next = self.hidden(name, "next", Type::Int);
        // Both are declared below; the body cannot assign to the loop's variable.
        for id in [next, variable] {
            self.program.variables[id.0 as usize].scope = Scope::Local;
        }
        let declare = |variable: VariableId, initial: Expr| {
            let ty = DeclaredType::Leaf {
                ty: Type::Int,
                sizes: Vec::new(),
                constraint: Constraint::None,
            };
            let declaration = Declaration { variable, ty, initial: Some(initial), span };
            Statement::new(StatementKind::Declare(declaration), span)
        };
        let read_next = || int(ExprKind::Variable(next), span);
        let target = LValue { kind: LValueKind::Path(next, Vec::new()), ty: Type::Int, span };
        let one = int(ExprKind::Int(1), span);
        let advance = StatementKind::Assign { target, op: Some(BinaryOp::Add), value: one };
        let advance = Statement::new(advance, span);
        let upper_span = upper.span;
        let goes_on = ExprKind::Binary(BinaryOp::LessEqual, Box::new(read_next()), Box::new(upper));
        // `continue` goes on with the next iteration, so this one moves on before the body.
        let iteration = StatementKind::Block(vec![declare(variable, read_next()), advance, *body]);
        let each = StatementKind::While(int(goes_on, upper_span), boxed(iteration, span));
        StatementKind::Block(vec![declare(next, lower), Statement::new(each, span)])
    }

    /// Whether an expression may have another value after a statement.
    fn changes(&self, expr: &Expr, statement: &Statement) -> bool {
        let mut changes = false;
        visit_expr(expr, &mut |node| {
            if let Node::Expr(expr) = node {
                changes |= match &expr.kind {
                    ExprKind::Variable(id) => assigns_to(statement, *id),
                    ExprKind::Call(Callee::Library(name), _) => name.ends_with("_rng"),
                    ExprKind::Call(Callee::User { function, .. }, _) => {
                        let name = &self.program.functions[function.0 as usize].name;
                        ["_rng", "_lp", "_jacobian"].iter().any(|end| name.ends_with(end))
                    }
                    ExprKind::Target => true,
                    _ => false,
                };
            }
            !changes
        });
        changes
    }

    /// The loop or loops of `for (variable in over) body`. `None` after an error.
    pub(super) fn elaborate_for_each(
        &mut self,
        name: &Name,
        variable: VariableId,
        over: Expr,
        body: Box<Statement>,
    ) -> Option<StatementKind> {
        if let ExprKind::Variable(container) = over.kind
            && assigns_to(&body, container)
        {
            return self.by_index(name, variable, over, body);
        }
        if over.ty != Type::Matrix {
            return Some(StatementKind::ForEach { variable, over, body });
        }
        let span = over.span;
        let row = self.hidden(name, "row", Type::RowVector);
        let over = if planted(Fault::ColumnsForRows) {
            Expr::new(ExprKind::Transpose(Box::new(over)), Type::Matrix, span)
        } else {
            over
        };
        let over_row = Expr::new(ExprKind::Variable(row), Type::RowVector, span);
        let inner = StatementKind::ForEach { variable, over: over_row, body };
        Some(StatementKind::ForEach { variable: row, over, body: boxed(inner, span) })
    }

    /// `for (i in 1:size(over)) { element = over[i]; body }`
    fn by_index(
        &mut self,
        name: &Name,
        variable: VariableId,
        over: Expr,
        body: Box<Statement>,
    ) -> Option<StatementKind> {
        let span = over.span;
        let element_type = self.program.variables[variable.0 as usize].ty.clone();
        let extents: &[(&str, &str)] = match over.ty {
            Type::Matrix => &[("rows", "row"), ("cols", "column")],
            _ => &[("size", "index")],
        };
        let indices: Vec<VariableId> =
            extents.iter().map(|(_, part)| self.hidden(name, part, Type::Int)).collect();
        let index = |id: &VariableId| Index::Single(int(ExprKind::Variable(*id), span));
        let element_kind =
            ExprKind::Index(Box::new(over.clone()), indices.iter().map(index).collect());
        let element = Expr::new(element_kind, element_type, span);
        let Some(ty) = declared(&element) else {
            self.error(
                span,
                "a loop over an array of tuples that its body assigns to is not supported: walk \
                 through it by an index",
            );
            return None;
        };
        // It holds its value until the end of the iteration, whatever is assigned meanwhile.
        self.program.variables[variable.0 as usize].scope = Scope::Local;
        let declaration = Declaration { variable, ty, initial: Some(element), span };
        let declare = Statement::new(StatementKind::Declare(declaration), span);
        let mut kind = StatementKind::Block(vec![declare, *body]);
        for ((extent, _), index) in extents.iter().zip(&indices).rev() {
            let upper = call(extent, &over, Type::Int);
            let lower = int(ExprKind::Int(1), span);
            kind = StatementKind::For { variable: *index, lower, upper, body: boxed(kind, span) };
        }
        Some(kind)
    }

    /// A loop's variable that the program does not name.
    fn hidden(&mut self, name: &Name, part: &str, ty: Type) -> VariableId {
        let id = VariableId(self.program.variables.len() as u32);
        let name_of_part = Arc::from(format!("{part} of {}", name.text));
        let variable = Variable { name: name_of_part, ty, scope: Scope::Loop, span: name.span };
        self.program.variables.push(variable);
        id
    }
}

fn boxed(kind: StatementKind, span: Span) -> Box<Statement> {
    Box::new(Statement::new(kind, span))
}

fn int(kind: ExprKind, span: Span) -> Expr {
    Expr::new(kind, Type::Int, span)
}

fn call(function: &str, argument: &Expr, ty: Type) -> Expr {
    let kind = ExprKind::Call(Callee::Library(Arc::from(function)), vec![argument.clone()]);
    Expr::new(kind, ty, argument.span)
}

/// The declared type of a copy of a value; `None` for arrays of tuples.
fn declared(value: &Expr) -> Option<DeclaredType> {
    let (depth, leaf) = value.ty.array_parts();
    let rank = match leaf {
        Type::Int | Type::Real | Type::Complex => 0,
        Type::Vector | Type::RowVector | Type::ComplexVector | Type::ComplexRowVector => 1,
        Type::Matrix | Type::ComplexMatrix => 2,
        _ => return None,
    };
    let dims = call("dims", value, Type::Int.array(1));
    let extent = |k: usize| {
        let place = int(ExprKind::Int(k as i64 + 1), value.span);
        let one = ExprKind::Index(Box::new(dims.clone()), vec![Index::Single(place)]);
        int(one, value.span)
    };
    let sizes = (depth..depth + rank).map(extent).collect();
    let inner = DeclaredType::Leaf { ty: leaf.clone(), sizes, constraint: Constraint::None };
    if depth == 0 {
        return Some(inner);
    }
    Some(DeclaredType::Array { sizes: (0..depth).map(extent).collect(), element: Box::new(inner) })
}

/// Whether a statement assigns to a variable or a part of it.
fn assigns_to(statement: &Statement, variable: VariableId) -> bool {
    let mut found = false;
    visit_statement(statement, &mut |node| {
        if let Node::Target(LValue { kind: LValueKind::Path(id, _), .. }) = node {
            found |= *id == variable;
        }
        !found
    });
    found
}
