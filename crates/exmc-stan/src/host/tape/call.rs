//! Calls on the tape: of the user's functions, and of the library's on single numbers; `~`.

use crate::host::by_type::CallKinds;
use crate::host::call::{called_at, is_unnormalised, without_value};
use crate::host::error::Outcome;
use crate::host::library::Builtin;
use crate::host::numeric;
use crate::host::statement::Flow;
use crate::scalar_functions::{self, Values, exponentials};
use crate::source::Span;
use crate::typed::{Callee, Expr, ExprKind, FunctionId, Truncation, Type};
use crate::value::Value;

use super::Tracer;
use super::expression::{as_number, promoted};
use super::record::Id;
use super::statement::Left;
use super::traced::Traced;

/// The most arguments of functions of single numbers.
const INLINE_ARGUMENTS: usize = 8;

impl Tracer<'_> {
    /// The value of a call.
    pub(super) fn call(&mut self, expr: &Expr, callee: &Callee, args: &[Expr]) -> Outcome<Traced> {
        match callee {
            Callee::User { function, proportional } => {
                let kinds = self.host.kinds_of_call(*function, *proportional, args);
                let values: Outcome<Vec<Traced>> = args.iter().map(|arg| self.trace(arg)).collect();
                self.call_user(*function, values?, kinds, expr.span)
            }
            Callee::Library(name) => self.call_library(name, args, &expr.ty, expr.span),
        }
    }

    /// Calls a library function on expressions.
    pub(super) fn call_library(
        &mut self,
        name: &str,
        args: &[Expr],
        returns: &Type,
        span: Span,
    ) -> Outcome<Traced> {
        if let Some((x, id)) = self.call_on_scalars(name, args, returns, span)? {
            return Ok(Traced::number(x, id));
        }
        let is_function =
            |e: &Expr| matches!(e.kind, ExprKind::Function { .. } | ExprKind::LibraryFunction(_));
        if args.iter().any(is_function) {
            return self.higher_order(name, args, returns, span);
        }
        let values: Outcome<Vec<Traced>> = args.iter().map(|arg| self.trace(arg)).collect();
        let types: Vec<&Type> = args.iter().map(|arg| &arg.ty).collect();
        let varies = match self.drops(name) {
            true => Some(args.iter().map(|arg| self.host.is_parameter(arg)).collect::<Vec<bool>>()),
            false => None,
        };
        let found = match varies {
            Some(varies) => self.density(name, &values?, &types, Some(&varies)),
            None => self.library(name, &values?, &types, returns),
        };
        found.map_err(|fault| fault.at(span))
    }

    /// Calls a library function of single numbers that gives a real number; nothing, before any
    /// argument is evaluated, where it is none.
    pub(super) fn call_on_scalars(
        &mut self,
        name: &str,
        args: &[Expr],
        returns: &Type,
        span: Span,
    ) -> Outcome<Option<(f64, Id)>> {
        let scalars = args.iter().all(|e| matches!(e.ty, Type::Int | Type::Real));
        let is_other = args.is_empty() || args.len() > INLINE_ARGUMENTS || *returns != Type::Real;
        if !scalars || is_other || self.drops(name) {
            return Ok(None);
        }
        let (mut point, mut ids, mut types) =
            ([0.0; INLINE_ARGUMENTS], [0; INLINE_ARGUMENTS], [&Type::Real; INLINE_ARGUMENTS]);
        for (k, arg) in args.iter().enumerate() {
            (point[k], ids[k]) = self.number(arg)?;
            types[k] = &arg.ty;
        }
        let n = args.len();
        let (point, ids, types) = (&point[..n], &ids[..n], &types[..n]);
        let site = self.host.densities.site(name, args);
        let known = ids.iter().all(|id| *id == 0);
        let one = match (site.builtin, point) {
            (Some(Builtin::Scalar(Values::Real1(f))), [x]) => Some(f(*x)),
            (Some(Builtin::Scalar(Values::Real2(f))), [x, y]) => Some(f(*x, *y)),
            _ if known && site.is_compiled => {
                let host = &mut self.host.densities;
                let value = host.call_on_scalars(name, (site, args), point, types);
                let value = value.and_then(|value| numeric::real(&value));
                return value.map(|x| Some((x, 0))).map_err(|fault| fault.at(span));
            }
            _ => None,
        };
        if let Some(value) = one {
            if known {
                return Ok(Some((value, 0)));
            }
            if let (Some(partial), [x]) = (scalar_functions::slope_of_one(name), point) {
                return Ok(Some((value, self.tape.one(ids[0], partial(*x, value)))));
            }
            if let (Some(partials), [x, y]) = (scalar_functions::slopes_of_two(name), point) {
                let (dx, dy) = partials((*x, ids[0] != 0), (*y, ids[1] != 0), value);
                return Ok(Some((value, self.tape.two((ids[0], dx), (ids[1], dy)))));
            }
        }
        let args: Vec<Traced> = (0..n)
            .map(|k| match types[k] {
                Type::Int => Traced::known(Value::Int(point[k] as i64)),
                _ => Traced::number(point[k], ids[k]),
            })
            .collect();
        let found = self.library(name, &args, types, returns).map_err(|fault| fault.at(span))?;
        as_number(&found).map(Some).map_err(|fault| fault.at(span))
    }

    /// Whether a call of that name leaves constant terms out here.
    fn drops(&self, name: &str) -> bool {
        is_unnormalised(name) && self.host.is_proportional()
    }

    /// Calls a user's function on values.
    pub(super) fn call_user(
        &mut self,
        id: FunctionId,
        values: Vec<Traced>,
        kinds: Option<CallKinds>,
        span: Span,
    ) -> Outcome<Traced> {
        self.host.enter(span)?;
        let function = self.host.program().function(id);
        let locals = self.host.take_locals(id);
        let recursive = self.host.alive[id.0 as usize] > 0;
        let mut saved = Vec::new();
        for local in &locals {
            let ids = self.ids.take(*local);
            if recursive {
                saved.push((self.env.take(*local), ids));
            }
        }
        self.host.alive[id.0 as usize] += 1;
        self.host.give_locals(id, locals);
        for (argument, value) in function.arguments.iter().zip(values) {
            self.set(argument.variable, value);
        }
        self.host.enter_kinds(id, kinds);
        let result = self.statements(&function.body);
        self.host.leave_kinds();
        self.host.alive[id.0 as usize] -= 1;
        self.host.depth -= 1;
        let locals = self.host.take_locals(id);
        let mut saved = saved.into_iter();
        for local in &locals {
            let (value, ids) = saved.next().unwrap_or_default();
            match value {
                Some(value) => self.set(*local, Traced { value, ids }),
                None => {
                    self.env.take(*local);
                    self.ids.take(*local);
                }
            }
        }
        self.host.give_locals(id, locals);
        match result {
            Ok(Left::With(value)) => {
                promoted(value, &function.returns).map_err(|fault| fault.at(span))
            }
            Ok(Left::By(Flow::Next | Flow::Return(None))) if function.returns == Type::Void => {
                Ok(Traced::known(Value::Tuple(Vec::new())))
            }
            Ok(_) => Err(without_value(function)),
            Err(error) => Err(called_at(error, span)),
        }
    }

    /// What `outcome ~ distribution(args) T[…]` adds to the log density.
    pub(super) fn tilde(
        &mut self,
        outcome: &Expr,
        (distribution, user, truncation): (&str, Option<FunctionId>, Option<&Truncation>),
        args: &[Expr],
        span: Span,
    ) -> Outcome<(f64, Id)> {
        let mut values = vec![self.trace(outcome)?];
        for arg in args {
            values.push(self.trace(arg)?);
        }
        let types: Vec<&Type> =
            std::iter::once(&outcome.ty).chain(args.iter().map(|a| &a.ty)).collect();
        let discrete = outcome.ty.array_parts().1 == &Type::Int;
        let density = if let Some(function) = user {
            let all = std::iter::once(outcome).chain(args);
            let kinds = self.host.kinds_of_call(function, true, all);
            self.call_user(function, values.clone(), kinds, span)?
        } else if self.host.is_proportional() {
            let all = std::iter::once(outcome).chain(args);
            let varies: Vec<bool> = all.map(|arg| self.host.is_parameter(arg)).collect();
            let suffix = if discrete { "_lupmf" } else { "_lupdf" };
            self.density(&format!("{distribution}{suffix}"), &values, &types, Some(&varies))
                .map_err(|fault| fault.at(span))?
        } else {
            let suffix = if discrete { "_lpmf" } else { "_lpdf" };
            self.library(&format!("{distribution}{suffix}"), &values, &types, &Type::Real)
                .map_err(|fault| fault.at(span))?
        };
        let total = as_number(&density).map_err(|fault| fault.at(span))?;
        let Some(truncation) = truncation else { return Ok(total) };
        let lost = self.truncated(truncation, distribution, (&values, &types), discrete, span)?;
        let id = self.tape.two((total.1, 1.0), (lost.1, -1.0));
        Ok((total.0 - lost.0, id))
    }

    /// The log probability of the limits' interval, once for each outcome; infinite where an
    /// outcome lies outside.
    fn truncated(
        &mut self,
        truncation: &Truncation,
        distribution: &str,
        (values, types): (&[Traced], &[&Type]),
        discrete: bool,
        span: Span,
    ) -> Outcome<(f64, Id)> {
        let lower = truncation.lower.as_ref().map(|e| self.number(e)).transpose()?;
        let upper = truncation.upper.as_ref().map(|e| self.number(e)).transpose()?;
        let outcomes = super::arithmetic::reals(&values[0].value);
        let outside = |y: &f64| lower.is_some_and(|l| *y < l.0) || upper.is_some_and(|u| *y > u.0);
        if outcomes.iter().any(outside) {
            return Ok((f64::INFINITY, 0));
        }
        // P(Y < lower) of a discrete outcome is P(Y <= lower - 1).
        let below = lower.map(|(x, id)| if discrete { (x - 1.0, 0) } else { (x, id) });
        let tail = |it: &mut Self, (y, id): (f64, Id), user: Option<FunctionId>, end: &str| {
            let point = match discrete {
                true => Traced::known(Value::Int(y as i64)),
                false => Traced::number(y, id),
            };
            let mut all = vec![point];
            all.extend_from_slice(&values[1..]);
            let found = if let Some(function) = user {
                it.call_user(function, all, None, span)?
            } else {
                let scalar = if discrete { Type::Int } else { Type::Real };
                let types: Vec<&Type> =
                    std::iter::once(&scalar).chain(types[1..].iter().copied()).collect();
                it.library(&format!("{distribution}{end}"), &all, &types, &Type::Real)
                    .map_err(|fault| fault.at(span))?
            };
            as_number(&found).map_err(|fault| fault.at(span))
        };
        let (mass, id) = match (below, upper) {
            (None, None) => (0.0, 0),
            (Some(below), None) => tail(self, below, truncation.user_lccdf, "_lccdf")?,
            (None, Some(upper)) => tail(self, upper, truncation.user_lcdf, "_lcdf")?,
            (Some(below), Some(upper)) => {
                let high = tail(self, upper, truncation.user_lcdf, "_lcdf")?;
                let low = tail(self, below, truncation.user_lcdf, "_lcdf")?;
                let value = exmc_math::log_diff_exp(high.0, low.0);
                let (dx, dy) = exponentials::log_difference(high.0, low.0, value);
                (value, self.tape.two((high.1, dx), (low.1, dy)))
            }
        };
        let count = outcomes.len() as f64;
        Ok((mass * count, self.tape.one(id, count)))
    }
}
