//! `~` on values: the log density of a statement, with its truncation.

use crate::host::environment::Environment;
use crate::host::error::{Fault, Outcome};
use crate::host::interpreter::Interpreter;
use crate::host::library::Call;
use crate::host::numeric;
use crate::source::Span;
use crate::typed::{Expr, FunctionId, Truncation, Type};
use crate::value::Value;

impl Interpreter<'_> {
    /// What `outcome ~ distribution(args) T[…]` adds to the log density. All terms are kept, but
    /// for a density that is wanted without them
    /// ([`Settings::proportional`](crate::host::Settings)).
    pub(crate) fn tilde(
        &mut self,
        env: &mut Environment,
        outcome: &Expr,
        (distribution, user, truncation): (&str, Option<FunctionId>, Option<&Truncation>),
        args: &[Expr],
        span: Span,
    ) -> Outcome<f64> {
        let mut values = vec![self.value(env, outcome)?];
        for arg in args {
            values.push(self.value(env, arg)?);
        }
        let types: Vec<&Type> =
            std::iter::once(&outcome.ty).chain(args.iter().map(|a| &a.ty)).collect();
        let discrete = outcome.ty.array_parts().1 == &Type::Int;
        let density = if let Some(function) = user {
            self.announce_call(function, true, std::iter::once(outcome).chain(args));
            self.call_user(env, function, values.clone(), span)?
        } else if self.is_proportional() {
            let name = format!("{distribution}_lup{}", if discrete { "mf" } else { "df" });
            self.density_by_type(&name, &values, std::iter::once(outcome).chain(args), span)?
        } else {
            let suffix = if discrete { "_lpmf" } else { "_lpdf" };
            self.named(&format!("{distribution}{suffix}"), &values, &types, span)?
        };
        let mut total = numeric::real(&density).map_err(|fault| fault.at(span))?;
        if let Some(truncation) = truncation {
            let outcomes =
                numeric::real_slice(&values[0]).map_err(|fault| fault.at(span))?.into_owned();
            let rest = (&values[1..], &types[1..]);
            let lost =
                self.truncated(env, truncation, distribution, &outcomes, rest, discrete, span)?;
            total -= lost;
        }
        Ok(total)
    }

    fn named(&mut self, name: &str, args: &[Value], types: &[&Type], span: Span) -> Outcome<Value> {
        let call = Call { name, args, types, returns: &Type::Real };
        crate::host::library::call(self, &call).map_err(|fault| fault.at(span))
    }

    /// The log probability of the limits' interval, once for each outcome; infinite where an
    /// outcome lies outside.
    #[expect(clippy::too_many_arguments, reason = "all parts of one statement")]
    fn truncated(
        &mut self,
        env: &mut Environment,
        truncation: &Truncation,
        distribution: &str,
        outcomes: &[f64],
        (args, types): (&[Value], &[&Type]),
        discrete: bool,
        span: Span,
    ) -> Outcome<f64> {
        let mut limit =
            |it: &mut Self, e: &Option<Expr>| e.as_ref().map(|e| it.real(env, e)).transpose();
        let lower = limit(self, &truncation.lower)?;
        let upper = limit(self, &truncation.upper)?;
        let outside = |y: &f64| lower.is_some_and(|l| *y < l) || upper.is_some_and(|u| *y > u);
        if outcomes.iter().any(outside) {
            return Ok(f64::INFINITY);
        }
        // P(Y < lower) of a discrete outcome is P(Y <= lower - 1).
        let below = lower.map(|l| if discrete { l - 1.0 } else { l });
        let mut tail = |it: &mut Self, y: f64, user: Option<FunctionId>, suffix: &str| {
            let point = if discrete { Value::Int(y as i64) } else { Value::Real(y) };
            let mut values = vec![point];
            values.extend_from_slice(args);
            let value = if let Some(function) = user {
                it.call_user(env, function, values, span)?
            } else {
                let scalar = if discrete { Type::Int } else { Type::Real };
                let types: Vec<&Type> =
                    std::iter::once(&scalar).chain(types.iter().copied()).collect();
                it.named(&format!("{distribution}{suffix}"), &values, &types, span)?
            };
            numeric::real(&value).map_err(|fault: Fault| fault.at(span))
        };
        let mass = match (below, upper) {
            (None, None) => 0.0,
            (Some(below), None) => tail(self, below, truncation.user_lccdf, "_lccdf")?,
            (None, Some(upper)) => tail(self, upper, truncation.user_lcdf, "_lcdf")?,
            (Some(below), Some(upper)) => {
                let high = tail(self, upper, truncation.user_lcdf, "_lcdf")?;
                let low = tail(self, below, truncation.user_lcdf, "_lcdf")?;
                exmc_math::log_diff_exp(high, low)
            }
        };
        Ok(mass * outcomes.len() as f64)
    }
}
