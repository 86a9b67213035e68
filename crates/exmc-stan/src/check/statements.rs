//! Statements: control flow, scopes, returns -> typed statements, and whether control leaves by a
//! return.

use super::MAX_DEPTH;
use super::environment::{BindingKind, Block, Checker, Suffix, Typed};
use super::types::{promote, promotion_cost, spell};
use crate::diagnostic::{Class, Diagnostic};
use crate::source::Span;
use crate::syntax::tree::{self, Name};
use crate::typed::{Expr, ExprKind, PrintItem, Scope, Statement, StatementKind, Type};

/// How control goes on after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Always by a return (or an error).
    Returns,
    /// To the next statement, perhaps.
    Continues,
    /// A `break` may skip what follows.
    Breaks,
}

impl Flow {
    fn then(self, next: Self) -> Self {
        match (self, next) {
            (Self::Breaks, _) | (_, Self::Breaks) => Self::Breaks,
            (_, Self::Returns) => Self::Returns,
            _ => Self::Continues,
        }
    }

    fn either(self, other: Self) -> Self {
        match (self, other) {
            (Self::Returns, Self::Returns) => Self::Returns,
            (Self::Breaks, _) | (_, Self::Breaks) => Self::Breaks,
            _ => Self::Continues,
        }
    }
}

impl Checker {
    /// Checks statements in order; `top` says that they are a block's own.
    pub(super) fn statements(
        &mut self,
        statements: &[tree::Statement],
        top: bool,
        out: &mut Vec<Statement>,
    ) -> Flow {
        let mut flow = Flow::Continues;
        let mut escaped = false;
        for (k, statement) in statements.iter().enumerate() {
            let next = self.statement(statement, top, out);
            if !escaped {
                flow = flow.then(next);
            }
            if !escaped && leaves(statement) {
                escaped = true;
                if let Some(unreachable) = statements.get(k + 1) {
                    self.warn(unreachable.span, "this statement is never reached").help =
                        Some("the one before it always leaves".into());
                }
            }
        }
        flow
    }

    pub(super) fn statement(
        &mut self,
        statement: &tree::Statement,
        top: bool,
        out: &mut Vec<Statement>,
    ) -> Flow {
        let span = statement.span;
        if self.depth >= MAX_DEPTH {
            let message = format!("this is nested more than {MAX_DEPTH} levels deep");
            self.report(Diagnostic::error(Class::Limit, span, message));
            return Flow::Continues;
        }
        self.depth += 1;
        let (kind, flow) = self.statement_kind(statement, top, out);
        self.depth -= 1;
        let silent = matches!(
            statement.kind,
            tree::StatementKind::Declare { .. } | tree::StatementKind::Empty
        );
        if kind.is_none() && !silent && self.error_count() == 0 {
            // A statement must not vanish: what is dropped is reported before.
            self.error(
                span,
                "this statement could not be checked, which is a fault of the checker",
            );
        }
        out.extend(kind.map(|kind| Statement::new(kind, span)));
        flow
    }

    fn statement_kind(
        &mut self,
        statement: &tree::Statement,
        top: bool,
        out: &mut Vec<Statement>,
    ) -> (Option<StatementKind>, Flow) {
        let span = statement.span;
        let plain = |kind| (kind, Flow::Continues);
        match &statement.kind {
            tree::StatementKind::Declare { ty, variables } => {
                self.declare(span, ty, variables, top, out);
                plain(None)
            }
            tree::StatementKind::Function { .. } => {
                self.error(span, "functions are declared in the functions block only");
                plain(None)
            }
            tree::StatementKind::Assign { target, op, value } => {
                plain(self.assignment(span, target, *op, value))
            }
            tree::StatementKind::TargetPlus(value) => {
                let value = self.expression(value);
                let allowed = self.inside(Suffix::Target) || self.place.block == Block::Model;
                if !allowed {
                    self.target_elsewhere(span);
                    return plain(None);
                }
                plain(value.and_then(|v| self.summand(v)).map(StatementKind::TargetPlus))
            }
            tree::StatementKind::JacobianPlus(value) => {
                let value = self.expression(value);
                let allowed = self.inside(Suffix::Jacobian)
                    || self.place.block == Block::TransformedParameters;
                if !allowed {
                    self.jacobian_elsewhere(span);
                    return plain(None);
                }
                plain(value.and_then(|v| self.summand(v)).map(StatementKind::JacobianPlus))
            }
            tree::StatementKind::Tilde { outcome, distribution, args, truncation } => {
                plain(self.tilde(span, outcome, distribution, args, truncation.as_ref()))
            }
            tree::StatementKind::Call { function, args } => {
                plain(self.call_statement(span, function, args))
            }
            tree::StatementKind::Print(items) => {
                plain(self.print_items(items).map(StatementKind::Print))
            }
            tree::StatementKind::Reject(items) => {
                (self.print_items(items).map(StatementKind::Reject), Flow::Returns)
            }
            tree::StatementKind::FatalError(items) => {
                (self.print_items(items).map(StatementKind::FatalError), Flow::Returns)
            }
            tree::StatementKind::If { condition, then, otherwise } => {
                self.conditional_statement(condition, then, otherwise.as_deref())
            }
            tree::StatementKind::While { condition, body } => self.while_loop(condition, body),
            tree::StatementKind::For { variable, lower, upper, body } => {
                self.for_loop(variable, lower, upper, body)
            }
            tree::StatementKind::ForEach { variable, over, body } => {
                self.for_each_loop(variable, over, body)
            }
            tree::StatementKind::Break => (self.in_loop(span, StatementKind::Break), Flow::Breaks),
            tree::StatementKind::Continue => plain(self.in_loop(span, StatementKind::Continue)),
            tree::StatementKind::Return(value) => {
                (self.return_statement(span, value.as_ref()), Flow::Returns)
            }
            tree::StatementKind::Block(body) => {
                let (body, flow) = self.block(body);
                (Some(StatementKind::Block(body)), flow)
            }
            tree::StatementKind::Profile { name, body } => {
                let (body, flow) = self.block(body);
                (Some(StatementKind::Profile(name.clone(), body)), flow)
            }
            tree::StatementKind::Empty => plain(None),
        }
    }

    fn block(&mut self, statements: &[tree::Statement]) -> (Vec<Statement>, Flow) {
        let mut body = Vec::new();
        let flow = self.scoped(|checker| checker.statements(statements, false, &mut body));
        (body, flow)
    }

    /// A statement that is another's body, in a scope of its own.
    fn body(&mut self, statement: &tree::Statement) -> (Box<Statement>, Flow) {
        let mut body = Vec::new();
        let flow = self.scoped(|checker| checker.statement(statement, false, &mut body));
        let only = if body.len() == 1 { body.pop() } else { None };
        let body_statement =
            only.unwrap_or(Statement::new(StatementKind::Block(body), statement.span));
        (Box::new(body_statement), flow)
    }

    /// Refuses functions where numbers are added.
    fn summand(&mut self, value: Typed) -> Option<Expr> {
        let found = self.describe(&value);
        match value.ty().array_parts().1 {
            Type::Function(_) | Type::Void | Type::Tuple(_) => {
                let message =
                    format!("a number or a container of numbers is needed, and this is {found}");
                self.error(value.expr.span, message);
                None
            }
            _ => Some(value.expr),
        }
    }

    fn print_items(&mut self, items: &[tree::PrintItem]) -> Option<Vec<PrintItem>> {
        let mut all = Vec::new();
        let mut failed = false;
        for item in items {
            match item {
                tree::PrintItem::Text(text) => all.push(PrintItem::Text(text.clone())),
                tree::PrintItem::Value(value) => match self.expression(value) {
                    Some(typed) if matches!(typed.ty(), Type::Function(_) | Type::Void) => {
                        self.error(value.span, "functions cannot be printed");
                        failed = true;
                    }
                    Some(typed) => all.push(PrintItem::Value(typed.expr)),
                    None => failed = true,
                },
            }
        }
        (!failed).then_some(all)
    }

    fn conditional_statement(
        &mut self,
        condition: &tree::Expr,
        then: &tree::Statement,
        otherwise: Option<&tree::Statement>,
    ) -> (Option<StatementKind>, Flow) {
        let condition = self.int_expression(condition, "the condition of `if`");
        let (then, then_flow) = self.body(then);
        let (otherwise, other_flow) = match otherwise.map(|statement| self.body(statement)) {
            Some((statement, flow)) => (Some(statement), flow),
            None => (None, Flow::Continues),
        };
        let flow = then_flow.either(other_flow);
        (condition.map(|condition| StatementKind::If(condition, then, otherwise)), flow)
    }

    fn looped<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> T {
        self.place.loops += 1;
        let result = check(self);
        self.place.loops -= 1;
        result
    }

    fn while_loop(
        &mut self,
        condition: &tree::Expr,
        body: &tree::Statement,
    ) -> (Option<StatementKind>, Flow) {
        let condition = self.int_expression(condition, "the condition of `while`");
        let (body, flow) = self.looped(|checker| checker.body(body));
        // A loop that only a return ends counts as a return.
        let endless = matches!(&condition, Some(c) if matches!(c.kind, ExprKind::Int(n) if n != 0));
        let flow = match flow {
            Flow::Returns => Flow::Returns,
            Flow::Continues if endless => Flow::Returns,
            _ => Flow::Continues,
        };
        (condition.map(|condition| StatementKind::While(condition, body)), flow)
    }

    fn for_loop(
        &mut self,
        name: &Name,
        lower: &tree::Expr,
        upper: &tree::Expr,
        body: &tree::Statement,
    ) -> (Option<StatementKind>, Flow) {
        let lower = self.int_expression(lower, "the lower bound of `for`");
        let upper = self.int_expression(upper, "the upper bound of `for`");
        let (id, body, flow) = self.loop_body(name, Type::Int, body);
        let kind = match (id, lower, upper) {
            (Some(variable), Some(lower), Some(upper)) => {
                Some(self.elaborate_for(name, variable, (lower, upper), body))
            }
            _ => None,
        };
        (kind, flow)
    }

    fn for_each_loop(
        &mut self,
        variable: &Name,
        over: &tree::Expr,
        body: &tree::Statement,
    ) -> (Option<StatementKind>, Flow) {
        let checked = self.expression(over);
        let element = checked.as_ref().and_then(|over| match over.ty() {
            Type::Array(element) => Some((**element).clone()),
            Type::Vector | Type::RowVector | Type::Matrix => Some(Type::Real),
            _ => None,
        });
        if let (Some(over), None) = (&checked, &element) {
            let found = self.describe(over);
            let message = format!(
                "`for` walks through arrays, vectors, row vectors and matrices, and this is {found}"
            );
            self.error(over.expr.span, message);
        }
        let (Some(over), Some(element)) = (checked, element) else {
            return (None, Flow::Continues);
        };
        let (id, body, flow) = self.loop_body(variable, element, body);
        let kind = id.and_then(|id| self.elaborate_for_each(variable, id, over.expr, body));
        (kind, flow)
    }

    fn loop_body(
        &mut self,
        name: &Name,
        ty: Type,
        body: &tree::Statement,
    ) -> (Option<crate::typed::VariableId>, Box<Statement>, Flow) {
        let allowed = self.check_identifier(name).and_then(|()| self.check_fresh(name));
        let block = self.place.block;
        self.scoped(|checker| {
            let kind = BindingKind { block, global: false, read_only: true };
            let id = checker.bind(name, ty, Scope::Loop, kind);
            let (body, flow) = checker.looped(|checker| checker.body(body));
            let flow = if flow == Flow::Returns { Flow::Returns } else { Flow::Continues };
            (allowed.map(|()| id), body, flow)
        })
    }

    fn in_loop(&mut self, span: Span, kind: StatementKind) -> Option<StatementKind> {
        if self.place.loops > 0 {
            return Some(kind);
        }
        let word = if kind == StatementKind::Break { "break" } else { "continue" };
        self.error(span, format!("`{word}` is outside of any loop"));
        None
    }

    fn return_statement(
        &mut self,
        span: Span,
        value: Option<&tree::Expr>,
    ) -> Option<StatementKind> {
        let returns = self.place.function.as_ref().map(|inside| inside.returns.clone());
        match (returns, value) {
            (Some(Type::Void), None) => Some(StatementKind::Return(None)),
            (None | Some(Type::Void), Some(_)) => {
                self.error(span, "a value is returned outside of any function that returns one");
                None
            }
            (None | Some(_), None) => {
                self.error(
                    span,
                    "`return` without a value belongs into functions that return nothing",
                );
                None
            }
            (Some(returns), Some(value)) => {
                let value = self.expression(value)?;
                if promotion_cost(&returns, value.ty()).is_none() {
                    let message = format!(
                        "the function returns {}, and this is {}",
                        spell(&returns),
                        self.describe(&value)
                    );
                    self.error(span, message);
                    return None;
                }
                Some(StatementKind::Return(Some(promote(value.expr, &returns))))
            }
        }
    }
}

/// Whether control never goes on after this statement.
fn leaves(statement: &tree::Statement) -> bool {
    matches!(
        statement.kind,
        tree::StatementKind::Break
            | tree::StatementKind::Continue
            | tree::StatementKind::Reject(_)
            | tree::StatementKind::FatalError(_)
            | tree::StatementKind::Return(_)
    )
}
