//! Statements over an environment.

use crate::host::declare::{Extents, extents_of, unset};
use crate::host::environment::Environment;
use crate::host::error::{Fault, FaultKind, Outcome};
use crate::host::index::{Choice, show_shape};
use crate::host::interpreter::Interpreter;
use crate::host::numeric::real_slice;
use crate::host::print::print_value;
use crate::source::Span;
use crate::typed::{
    Callee, Declaration, Expr, PrintItem, Statement, StatementKind, Type, VariableId,
};
use crate::value::Value;

/// How a statement ended.
#[derive(Debug)]
pub(crate) enum Flow {
    /// Go on with the next.
    Next,
    /// Leave the loop.
    Break,
    /// Go on with the loop's next step.
    Continue,
    /// Leave the function.
    Return(Option<Value>),
}

impl Interpreter<'_> {
    pub(crate) fn statements(
        &mut self,
        env: &mut Environment,
        statements: &[Statement],
    ) -> Outcome<Flow> {
        for statement in statements {
            match self.statement(env, statement)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, env: &mut Environment, statement: &Statement) -> Outcome<Flow> {
        match &statement.kind {
            StatementKind::Declare(declaration) => self.declare(env, declaration)?,
            StatementKind::Assign { target, op, value } => {
                self.assign(env, target, *op, value, statement.span)?;
            }
            StatementKind::If(condition, then, otherwise) => {
                if self.truth(env, condition)? {
                    return self.statement(env, then);
                }
                if let Some(otherwise) = otherwise {
                    return self.statement(env, otherwise);
                }
            }
            StatementKind::For { variable, lower, upper, body } => {
                let (lower, upper) = (self.int(env, lower)?, self.int(env, upper)?);
                let over = (lower..=upper).map(Value::Int);
                return self.each(env, *variable, over, body, statement.span);
            }
            StatementKind::ForEach { variable, over, body } => {
                let values = elements(&self.value(env, over)?);
                self.note_elements(*variable, over);
                return self.each(env, *variable, values.into_iter(), body, statement.span);
            }
            StatementKind::While(condition, body) => {
                while self.truth(env, condition)? {
                    self.burn(statement.span)?;
                    match self.statement(env, body)? {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        flow @ Flow::Return(_) => return Ok(flow),
                    }
                }
            }
            StatementKind::Block(inner) | StatementKind::Profile(_, inner) => {
                return self.statements(env, inner);
            }
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            StatementKind::Return(value) => {
                let value = value.as_ref().map(|e| self.value(env, e)).transpose()?;
                return Ok(Flow::Return(value));
            }
            StatementKind::Call { function, args } => match function {
                Callee::User { function, proportional } => {
                    let values: Outcome<Vec<Value>> =
                        args.iter().map(|arg| self.value(env, arg)).collect();
                    let values = values?;
                    self.announce_call(*function, *proportional, args);
                    self.call_user(env, *function, values, statement.span)?;
                }
                Callee::Library(name) => {
                    self.call_named(env, name, args, &Type::Void, statement.span)?;
                }
            },
            StatementKind::Print(items) => {
                let line = self.line(env, items)?;
                (self.printer)(&line);
            }
            StatementKind::Reject(items) => {
                let line = self.line(env, items)?;
                return Err(Fault::new(FaultKind::Rejected, line).at(statement.span));
            }
            StatementKind::FatalError(items) => {
                let line = self.line(env, items)?;
                return Err(Fault::new(FaultKind::Fatal, line).at(statement.span));
            }
            StatementKind::TargetPlus(_) | StatementKind::Tilde { .. }
                if self.observer.is_some() =>
            {
                self.observe(env, statement)?;
            }
            StatementKind::TargetPlus(e) | StatementKind::JacobianPlus(e) => {
                let value = self.value(env, e)?;
                let terms = real_slice(&value).map_err(|fault| fault.at(e.span))?;
                self.target += terms.iter().sum::<f64>();
            }
            StatementKind::Tilde { .. } if self.simulation.is_some() => {
                self.draw_outcome(env, statement)?;
            }
            StatementKind::Tilde { outcome, distribution, user, args, truncation } => {
                let limits = truncation.as_deref();
                let call = (&**distribution, *user, limits);
                self.target += self.tilde(env, outcome, call, args, statement.span)?;
            }
        }
        Ok(Flow::Next)
    }

    /// A loop's body for each value of its variable.
    fn each(
        &mut self,
        env: &mut Environment,
        variable: VariableId,
        values: impl Iterator<Item = Value>,
        body: &Statement,
        span: Span,
    ) -> Outcome<Flow> {
        for value in values {
            self.burn(span)?;
            env.set(variable, value);
            match self.statement(env, body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                flow @ Flow::Return(_) => return Ok(flow),
            }
        }
        env.take(variable);
        Ok(Flow::Next)
    }

    fn declare(&mut self, env: &mut Environment, declaration: &Declaration) -> Outcome<()> {
        let id = declaration.variable;
        let variable = self.program.variable(id);
        let extents = self.extents(env, &declaration.ty).map_err(|mut error| {
            if error.kind == FaultKind::Size {
                error.message = format!("`{}`: {}", variable.name, error.message);
            }
            error
        })?;
        let value = match &declaration.initial {
            // What an earlier draw or iteration left has the memory.
            None if let Extents::Numbers(shape) = &extents
                && env.get_mut(id).is_some_and(|left| left.make_unset(shape)) =>
            {
                return Ok(());
            }
            None => unset(&variable.ty, &extents),
            Some(initial) => {
                let value = self.value(env, initial)?;
                let value = super::expression::promote(value, &variable.ty)
                    .map_err(|fault| fault.at(initial.span))?;
                if !fits(&extents, &value) {
                    let (name, found) = (&variable.name, extents_of(&value));
                    return Err(different(name, &extents, &found).at(initial.span));
                }
                value
            }
        };
        env.set(id, value);
        Ok(())
    }

    pub(crate) fn line(&mut self, env: &mut Environment, items: &[PrintItem]) -> Outcome<String> {
        let mut line = String::new();
        for item in items {
            match item {
                PrintItem::Text(text) => line.push_str(text),
                PrintItem::Value(Expr { kind: crate::typed::ExprKind::Target, .. }) => {
                    print_value(&mut line, &Value::Real(self.target));
                }
                PrintItem::Value(expr) => print_value(&mut line, &self.value(env, expr)?),
            }
        }
        Ok(line)
    }
}

/// Whether a value has the declared extents (an empty array of tuples has no slots to compare).
pub(crate) fn fits(declared: &Extents, value: &Value) -> bool {
    match (declared, value) {
        (Extents::Numbers(shape), _) => shape == value.shape(),
        (Extents::Tuple(slots), Value::Tuple(values)) => {
            slots.iter().zip(values).all(|(slot, value)| fits(slot, value))
        }
        (Extents::Tuples(shape, slots), Value::Tuples(n)) => {
            let tuple = Extents::Tuple(slots.clone());
            *shape == n.shape && n.values.iter().all(|value| fits(&tuple, value))
        }
        _ => false,
    }
}

/// The message of a value that does not have its variable's sizes.
pub(crate) fn different(name: &str, declared: &Extents, found: &Extents) -> Fault {
    Fault::size(match (declared, found) {
        (Extents::Numbers(declared), Extents::Numbers(found)) => format!(
            "`{name}` has {}, but is assigned a value of {}",
            show_shape(declared),
            show_shape(found)
        ),
        _ => format!("`{name}` is assigned a tuple of other sizes"),
    })
}

/// What a loop over a container walks through.
pub(crate) fn elements(value: &Value) -> Vec<Value> {
    let count = value.shape().first().copied().unwrap_or(0);
    (0..count)
        .filter_map(|k| super::expression::read_value(value, &[Choice::One(k)]).ok())
        .collect()
}
