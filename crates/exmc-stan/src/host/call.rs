//! Calls: a function's name and its arguments -> its value. Functions of single numbers are called
//! without a list of values, and looked up once for each call in the program.

use crate::host::environment::Environment;
use crate::host::error::{Fault, FaultKind, Outcome, RuntimeError};
use crate::host::expression::promote;
use crate::host::interpreter::Interpreter;
use crate::host::library::{self, Builtin};
use crate::host::statement::Flow;
use crate::scalar_functions::Values;
use crate::source::Span;
use crate::typed::{Callee, Expr, ExprKind, Function, FunctionId, Type};
use crate::value::Value;

/// The most arguments of functions of single numbers.
const INLINE_ARGUMENTS: usize = 8;

impl Interpreter<'_> {
    /// The value of a call.
    pub(crate) fn call(
        &mut self,
        env: &mut Environment,
        expr: &Expr,
        callee: &Callee,
        args: &[Expr],
    ) -> Outcome<Value> {
        match callee {
            Callee::User { function, proportional } => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push(self.value(env, arg)?);
                }
                self.announce_call(*function, *proportional, args);
                self.call_user(env, *function, values, expr.span)
            }
            Callee::Library(name) => self.call_named(env, name, args, &expr.ty, expr.span),
        }
    }

    /// Calls a library function on expressions.
    pub(crate) fn call_named(
        &mut self,
        env: &mut Environment,
        name: &str,
        args: &[Expr],
        returns: &Type,
        span: Span,
    ) -> Outcome<Value> {
        if is_unnormalised(name) && self.is_proportional() {
            let mut values = Vec::with_capacity(args.len());
            for arg in args {
                values.push(self.value(env, arg)?);
            }
            return self.density_by_type(name, &values, args, span);
        }
        if let Some(value) = self.call_on_scalars(env, name, args, span)? {
            return Ok(value);
        }
        let is_function =
            |e: &Expr| matches!(e.kind, ExprKind::Function { .. } | ExprKind::LibraryFunction(_));
        if args.iter().any(is_function) {
            return self.call_higher_order(env, name, args, returns, span);
        }
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.value(env, arg)?);
        }
        let types: Vec<&Type> = args.iter().map(|arg| &arg.ty).collect();
        self.call_library(name, &values, &types, returns).map_err(|fault| fault.at(span))
    }

    /// Calls a library function on single numbers without a list of values; nothing, before any
    /// argument is evaluated, where there is no such way.
    pub(crate) fn call_on_scalars(
        &mut self,
        env: &mut Environment,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Outcome<Option<Value>> {
        let scalars = args.iter().all(|e| matches!(e.ty, Type::Int | Type::Real));
        if !scalars || args.is_empty() || args.len() > INLINE_ARGUMENTS {
            return Ok(None);
        }
        if self.proportional && is_unnormalised(name) {
            return Ok(None);
        }
        let site = self.densities.site(name, args);
        match (site.builtin, args) {
            (Some(Builtin::Scalar(Values::Real1(f))), [a]) => {
                return Ok(Some(Value::Real(f(self.real(env, a)?))));
            }
            (Some(Builtin::Scalar(Values::Real2(f))), [a, b]) => {
                return Ok(Some(Value::Real(f(self.real(env, a)?, self.real(env, b)?))));
            }
            (Some(Builtin::Univariate(_)), _) => {}
            _ if site.is_compiled => {}
            _ => return Ok(None),
        }
        let (mut point, mut types) = ([0.0; INLINE_ARGUMENTS], [&Type::Real; INLINE_ARGUMENTS]);
        for ((number, ty), arg) in point.iter_mut().zip(&mut types).zip(args) {
            (*number, *ty) = (self.real(env, arg)?, &arg.ty);
        }
        let (point, types) = (&point[..args.len()], &types[..args.len()]);
        let value = match site.builtin {
            Some(Builtin::Univariate(family)) => family.draw(&mut self.rng, name, point),
            _ => self.densities.call_on_scalars(name, (site, args), point, types),
        };
        value.map(Some).map_err(|fault| fault.at(span))
    }

    /// Calls a library function on values of those types; `_rng` functions draw from the
    /// interpreter's stream.
    ///
    /// # Errors
    /// Arguments outside of where the function is defined, sizes that do not fit, and
    /// [`FaultKind::Unsupported`] for a function that the host does not have.
    pub fn call_library(
        &mut self,
        name: &str,
        args: &[Value],
        types: &[&Type],
        returns: &Type,
    ) -> Result<Value, Fault> {
        library::call(self, &library::Call { name, args, types, returns })
    }

    /// An unnormalised density of values without the terms in which no argument is a parameter by
    /// its type.
    pub(crate) fn density_by_type<'e>(
        &mut self,
        name: &str,
        values: &[Value],
        args: impl IntoIterator<Item = &'e Expr> + Clone,
        span: Span,
    ) -> Outcome<Value> {
        let kinds: Vec<bool> = args.clone().into_iter().map(|arg| self.is_parameter(arg)).collect();
        let types: Vec<&Type> = args.into_iter().map(|arg| &arg.ty).collect();
        let call = library::Call { name, args: values, types: &types, returns: &Type::Real };
        self.densities.unnormalised(&call, &kinds).map_err(|fault| fault.at(span))
    }

    /// Calls a user function on values.
    pub(crate) fn call_user(
        &mut self,
        env: &mut Environment,
        id: FunctionId,
        values: Vec<Value>,
        span: Span,
    ) -> Outcome<Value> {
        let announced = self.kinds.next.take();
        self.enter(span)?;
        self.enter_kinds(id, announced);
        let program = self.program;
        let function = program.function(id);
        let locals = self.take_locals(id);
        let recursive = self.alive[id.0 as usize] > 0;
        let mut saved = Vec::new();
        if recursive {
            saved.extend(locals.iter().map(|local| env.take(*local)));
        }
        self.alive[id.0 as usize] += 1;
        self.give_locals(id, locals);
        for (argument, value) in function.arguments.iter().zip(values) {
            env.set(argument.variable, value);
        }
        let result = self.statements(env, &function.body);
        self.leave_kinds();
        self.alive[id.0 as usize] -= 1;
        self.depth -= 1;
        let locals = self.take_locals(id);
        let mut saved = saved.into_iter();
        for local in &locals {
            match saved.next().flatten() {
                Some(value) => env.set(*local, value),
                None => drop(env.take(*local)),
            }
        }
        self.give_locals(id, locals);
        match result {
            Ok(Flow::Return(Some(value))) => {
                // A real function may return an integer expression.
                promote(value, &function.returns).map_err(|fault| fault.at(span))
            }
            Ok(_) if function.returns == Type::Void => Ok(Value::Tuple(Vec::new())),
            Ok(_) => Err(without_value(function)),
            Err(error) => Err(called_at(error, span)),
        }
    }
}

/// The error of a function with a value that ended without one.
pub(crate) fn without_value(function: &Function) -> Box<RuntimeError> {
    let message = format!("`{}` ended without returning a value", function.name);
    Fault::new(FaultKind::Fatal, message).at(function.span)
}

/// An error inside of a user's function, with the place of the call.
pub(crate) fn called_at(mut error: Box<RuntimeError>, span: Span) -> Box<RuntimeError> {
    const MAX_CALLS: usize = 4;
    if error.calls.len() < MAX_CALLS {
        error.calls.push(span);
    }
    error
}

/// Whether a name is that of a density that may leave out terms.
pub(crate) fn is_unnormalised(name: &str) -> bool {
    name.ends_with("_lupdf") || name.ends_with("_lupmf")
}
