//! Statements on the tape.

use crate::host::declare::{extents_of, unset};
use crate::host::error::{Fault, FaultKind, Outcome};
use crate::host::interpreter::is_unconstrained;
use crate::host::statement::{Flow, different, elements, fits};
use crate::source::Span;
use crate::typed::{Callee, Declaration, Statement, StatementKind, Type, VariableId};

use super::Tracer;
use super::expression::promoted;
use super::traced::Traced;

/// How a statement ended.
pub(super) enum Left {
    /// As on values.
    By(Flow),
    /// The function returned this.
    With(Traced),
}

const NEXT: Left = Left::By(Flow::Next);

impl Tracer<'_> {
    /// Runs a block and then checks the constraints of the variables that it declares at its top
    /// level.
    pub(super) fn block(&mut self, block: &[Statement]) -> Outcome<()> {
        self.statements(block)?;
        for statement in block {
            let StatementKind::Declare(declaration) = &statement.kind else { continue };
            if is_unconstrained(&declaration.ty) {
                continue;
            }
            let id = declaration.variable;
            let Some(value) = self.env.get(id).cloned() else { continue };
            let checked = self.host.check_constraints(&mut self.env, &declaration.ty, &value)?;
            if let Err(violation) = checked {
                let message = violation.sentence(&self.host.program().variable(id).name);
                return Err(Fault::domain(message).at(declaration.span));
            }
        }
        Ok(())
    }

    pub(super) fn statements(&mut self, statements: &[Statement]) -> Outcome<Left> {
        for statement in statements {
            match self.statement(statement)? {
                Left::By(Flow::Next) => {}
                left => return Ok(left),
            }
        }
        Ok(NEXT)
    }

    fn statement(&mut self, statement: &Statement) -> Outcome<Left> {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Declare(declaration) => self.declare(declaration)?,
            StatementKind::Assign { target, op, value } => {
                self.assign(target, *op, value, span)?;
            }
            StatementKind::If(condition, then, otherwise) => {
                if self.truth(condition)? {
                    return self.statement(then);
                }
                if let Some(otherwise) = otherwise {
                    return self.statement(otherwise);
                }
            }
            StatementKind::For { variable, lower, upper, body } => {
                let (lower, upper) = (self.int(lower)?, self.int(upper)?);
                let values = (lower..=upper).map(crate::value::Value::Int).map(Traced::known);
                return self.each_value(*variable, values, body, span);
            }
            StatementKind::ForEach { variable, over, body } => {
                let from = self.trace(over)?;
                let values = elements(&from.value);
                let mut ids = from.ids.map(|ids| elements(&ids)).into_iter().flatten();
                let values = values.into_iter().map(|value| Traced { value, ids: ids.next() });
                self.host.note_elements(*variable, over);
                return self.each_value(*variable, values, body, span);
            }
            StatementKind::While(condition, body) => {
                let mut watched = self.watch();
                while self.truth(condition)? {
                    self.host.burn(span)?;
                    self.make_room(&mut watched, span)?;
                    match self.statement(body)? {
                        Left::By(Flow::Next | Flow::Continue) => {}
                        Left::By(Flow::Break) => break,
                        left => return Ok(left),
                    }
                }
            }
            StatementKind::Block(inner) | StatementKind::Profile(_, inner) => {
                return self.statements(inner);
            }
            StatementKind::Break => return Ok(Left::By(Flow::Break)),
            StatementKind::Continue => return Ok(Left::By(Flow::Continue)),
            StatementKind::Return(value) => {
                return Ok(match value {
                    Some(value) => Left::With(self.trace(value)?),
                    None => Left::By(Flow::Return(None)),
                });
            }
            StatementKind::Call { function, args } => match function {
                Callee::User { function, proportional } => {
                    let kinds = self.host.kinds_of_call(*function, *proportional, args);
                    let values: Outcome<Vec<Traced>> =
                        args.iter().map(|arg| self.trace(arg)).collect();
                    self.call_user(*function, values?, kinds, span)?;
                }
                Callee::Library(name) => {
                    self.call_library(name, args, &Type::Void, span)?;
                }
            },
            StatementKind::Print(items) => {
                let line = self.host.line(&mut self.env, items)?;
                (self.host.printer)(&line);
            }
            StatementKind::Reject(items) => {
                let line = self.host.line(&mut self.env, items)?;
                return Err(Fault::new(FaultKind::Rejected, line).at(span));
            }
            StatementKind::FatalError(items) => {
                let line = self.host.line(&mut self.env, items)?;
                return Err(Fault::new(FaultKind::Fatal, line).at(span));
            }
            StatementKind::TargetPlus(e) => {
                let terms = self.trace(e)?;
                self.add_terms(&terms);
            }
            StatementKind::JacobianPlus(e) => {
                let terms = self.trace(e)?;
                if self.jacobian {
                    self.add_terms(&terms);
                }
            }
            StatementKind::Tilde { outcome, distribution, user, args, truncation } => {
                let call = (&**distribution, *user, truncation.as_deref());
                let (x, id) = self.tilde(outcome, call, args, span)?;
                self.add_to_target(x, id);
            }
        }
        Ok(NEXT)
    }

    /// Adds all elements to the log density.
    fn add_terms(&mut self, terms: &Traced) {
        let values = super::arithmetic::reals(&terms.value);
        let sum = values.iter().sum();
        let id = match terms.ids {
            None => 0,
            Some(_) => {
                let ids = terms.flat_places();
                self.tape.many(ids.into_iter().map(|id| (id as super::record::Id, 1.0)))
            }
        };
        self.add_to_target(sum, id);
    }

    /// A loop's body for each value of its variable.
    fn each_value(
        &mut self,
        variable: VariableId,
        values: impl Iterator<Item = Traced>,
        body: &Statement,
        span: Span,
    ) -> Outcome<Left> {
        let mut watched = self.watch();
        for value in values {
            self.host.burn(span)?;
            self.make_room(&mut watched, span)?;
            self.set(variable, value);
            match self.statement(body)? {
                Left::By(Flow::Next | Flow::Continue) => {}
                Left::By(Flow::Break) => break,
                left => return Ok(left),
            }
        }
        self.env.take(variable);
        self.ids.take(variable);
        Ok(NEXT)
    }

    /// Gives a variable a value.
    pub(super) fn set(&mut self, id: VariableId, value: Traced) {
        self.env.set(id, value.value);
        match value.ids {
            Some(ids) => self.ids.set(id, ids),
            None => drop(self.ids.take(id)),
        }
    }

    fn declare(&mut self, declaration: &Declaration) -> Outcome<()> {
        let id = declaration.variable;
        let variable = self.host.program().variable(id);
        let extents = self.host.extents(&mut self.env, &declaration.ty).map_err(|mut error| {
            if error.kind == FaultKind::Domain {
                error.message = format!("`{}`: {}", variable.name, error.message);
            }
            error
        })?;
        let value = match &declaration.initial {
            None => Traced::known(unset(&variable.ty, &extents)),
            Some(initial) => {
                let value = self.trace(initial)?;
                let value =
                    promoted(value, &variable.ty).map_err(|fault| fault.at(initial.span))?;
                if !fits(&extents, &value.value) {
                    let (name, found) = (&variable.name, extents_of(&value.value));
                    return Err(different(name, &extents, &found).at(initial.span));
                }
                value
            }
        };
        self.set(id, value);
        Ok(())
    }
}
