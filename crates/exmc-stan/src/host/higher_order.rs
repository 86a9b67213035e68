//! Functions that take functions, on values.

use crate::host::environment::Environment;
use crate::host::error::{Fault, Outcome};
use crate::host::expression::read_value;
use crate::host::index::Choice;
use crate::host::interpreter::Interpreter;
use crate::source::Span;
use crate::typed::{Expr, ExprKind, Type};
use crate::value::Value;

impl Interpreter<'_> {
    /// A call of a library function one of whose arguments is a function's name.
    pub(crate) fn call_higher_order(
        &mut self,
        env: &mut Environment,
        name: &str,
        args: &[Expr],
        _returns: &Type,
        span: Span,
    ) -> Outcome<Value> {
        match name {
            "reduce_sum" | "reduce_sum_static" => self.reduce_sum(env, args, span),
            _ => {
                let message = format!("the function `{name}` is not there yet for known values");
                Err(Fault::unsupported(message).at(span))
            }
        }
    }

    /// `reduce_sum(f, x, grainsize, …)`: the sum over parts of x, here one part.
    fn reduce_sum(&mut self, env: &mut Environment, args: &[Expr], span: Span) -> Outcome<Value> {
        let (Some(function), Some(over)) = (args.first(), args.get(1)) else {
            return Err(Fault::unsupported("reduce_sum without arguments").at(span));
        };
        let sliced = self.value(env, over)?;
        let count = sliced.shape().first().copied().unwrap_or(0);
        if count == 0 {
            return Ok(Value::Real(0.0));
        }
        let whole = [Choice::Range { start: 0, len: count }];
        let part = read_value(&sliced, &whole).map_err(|fault| fault.at(span))?;
        let mut values = vec![part, Value::Int(1), Value::Int(count as i64)];
        let mut types = vec![over.ty.clone(), Type::Int, Type::Int];
        for arg in args.iter().skip(3) {
            values.push(self.value(env, arg)?);
            types.push(arg.ty.clone());
        }
        match &function.kind {
            ExprKind::Function { function: id, .. } => self.call_user(env, *id, values, span),
            _ => Err(Fault::unsupported("reduce_sum of a library function").at(span)),
        }
    }
}
