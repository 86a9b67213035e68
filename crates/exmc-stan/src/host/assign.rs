//! Assignments: a value into a variable or a part of it.

use crate::host::declare::extents_of;
use crate::host::environment::Environment;
use crate::host::error::{Fault, Outcome};
use crate::host::expression::{Raw, choices, named, promote, read_value, single};
use crate::host::index::{self, Choice};
use crate::host::interpreter::Interpreter;
use crate::host::operators::binary;
use crate::host::statement::different;
use crate::source::Span;
use crate::typed::{Access, BinaryOp, Expr, LValue, LValueKind, Type, VariableId};
use crate::value::{Numbers, Value};

/// A step of a path with its indices evaluated.
pub(crate) enum Step {
    Index(Vec<Raw>),
    Field(usize),
}

impl Interpreter<'_> {
    /// `target op= value`; the value is computed before anything is written, so that
    /// `x[2:3] = x[1:2]` reads what was there.
    pub(crate) fn assign(
        &mut self,
        env: &mut Environment,
        target: &LValue,
        op: Option<BinaryOp>,
        value: &Expr,
        span: Span,
    ) -> Outcome<()> {
        if let LValueKind::Path(id, path) = &target.kind
            && self.assign_element(env, *id, path, target, (op, value))?
        {
            return Ok(());
        }
        let new = self.value(env, value)?;
        let new = match (op, &target.kind) {
            (Some(op), LValueKind::Path(id, path)) => {
                let steps = self.steps(env, path)?;
                let Some(old) = env.get(*id) else { return Err(self.unknown(*id, target.span)) };
                let old = read_steps(old, &steps).map_err(|fault| fault.at(target.span))?;
                binary(op, (&old, &target.ty), (&new, &value.ty)).map_err(|fault| fault.at(span))?
            }
            _ => new,
        };
        self.store(env, target, new)
    }

    /// Assigns one number to one element of a variable, or to a scalar variable; `false` when it is
    /// not that simple and nothing was done.
    fn assign_element(
        &mut self,
        env: &mut Environment,
        id: VariableId,
        path: &[Access],
        target: &LValue,
        (op, value): (Option<BinaryOp>, &Expr),
    ) -> Outcome<bool> {
        const INLINE_INDICES: usize = 8;
        let kind = match (&target.ty, &value.ty) {
            (Type::Int, Type::Int) => Type::Int,
            (Type::Real, Type::Int | Type::Real) => Type::Real,
            _ => return Ok(false),
        };
        let mut count = 0;
        for access in path {
            let Access::Index(indices) = access else { return Ok(false) };
            count += indices.len();
            // Before anything is evaluated: an index may draw random numbers.
            if count > INLINE_INDICES || !indices.iter().all(|index| single(index).is_some()) {
                return Ok(false);
            }
        }
        if env.get(id).is_none_or(|place| place.shape().len() != count) {
            return Ok(false);
        }
        let mut found = [(0_i64, Span::default()); INLINE_INDICES];
        let indices = path.iter().flat_map(|access| match access {
            Access::Index(indices) => &indices[..],
            Access::Field(_) => &[],
        });
        for (place, expr) in found.iter_mut().zip(indices.filter_map(single)) {
            *place = (self.known_or_int(env, expr)?, expr.span);
        }
        let (integer, fraction) = match kind {
            Type::Int => (self.int(env, value)?, 0.0),
            _ => (0, self.real(env, value)?),
        };
        let program = self.program;
        let Some(place) = env.get_mut(id) else { return Err(self.unknown(id, target.span)) };
        let mut flat = 0;
        for ((index, span), extent) in found[..count].iter().zip(place.shape()) {
            let position = index::position(*index, *extent)
                .map_err(|fault| named(fault, &program.variable(id).name).at(*span))?;
            flat = flat * extent + position;
        }
        let combine_real = |old: f64| match op {
            None => Ok(fraction),
            Some(op) => crate::host::operators::real_binary(op, old, fraction)
                .ok_or_else(|| Fault::unsupported("a compound assignment of this operator")),
        };
        let combine_int = |old: i64| match op {
            None => Ok(integer),
            Some(op) => crate::host::operators::int_binary(op, old, integer),
        };
        let at_fault = |fault: Fault| fault.at(target.span.to(value.span));
        match (place, kind) {
            (Value::Int(old), Type::Int) => *old = combine_int(*old).map_err(at_fault)?,
            (Value::Real(old), Type::Real) => *old = combine_real(*old).map_err(at_fault)?,
            (Value::Ints(n), Type::Int) => {
                let old = &mut n.make_mut()[flat];
                *old = combine_int(*old).map_err(at_fault)?;
            }
            (Value::Reals(n), Type::Real) => {
                let old = &mut n.make_mut()[flat];
                *old = combine_real(*old).map_err(at_fault)?;
            }
            _ => return Err(Fault::unsupported("an assignment of these types").at(target.span)),
        }
        Ok(true)
    }

    /// Stores a value; of a tuple of targets, slot by slot.
    fn store(&mut self, env: &mut Environment, target: &LValue, value: Value) -> Outcome<()> {
        match (&target.kind, value) {
            (LValueKind::Tuple(targets), Value::Tuple(slots)) => {
                for (target, slot) in targets.iter().zip(slots) {
                    self.store(env, target, slot)?;
                }
                Ok(())
            }
            (LValueKind::Tuple(_), _) => {
                Err(Fault::unsupported("several targets of what is no tuple").at(target.span))
            }
            (LValueKind::Path(id, path), value) => {
                let value = promote(value, &target.ty).map_err(|fault| fault.at(target.span))?;
                let steps = self.steps(env, path)?;
                let program = self.program;
                let Some(place) = env.get_mut(*id) else {
                    return Err(self.unknown(*id, target.span));
                };
                write_steps(place, &steps, value).map_err(|fault| {
                    let name = &program.variable(*id).name;
                    match steps.is_empty() {
                        true => fault.at(target.span),
                        false => Fault { message: format!("`{name}`: {}", fault.message), ..fault }
                            .at(target.span),
                    }
                })
            }
        }
    }

    pub(crate) fn steps(&mut self, env: &mut Environment, path: &[Access]) -> Outcome<Vec<Step>> {
        path.iter()
            .map(|access| {
                Ok(match access {
                    Access::Index(indices) => Step::Index(self.raw_indices(env, indices)?),
                    Access::Field(slot) => Step::Field(*slot),
                })
            })
            .collect()
    }
}

pub(crate) fn read_steps(value: &Value, steps: &[Step]) -> Result<Value, Fault> {
    let Some((step, rest)) = steps.split_first() else { return Ok(value.clone()) };
    match (step, value) {
        (Step::Field(slot), Value::Tuple(slots)) => read_steps(&slots[*slot], rest),
        (Step::Field(_), _) => Err(Fault::unsupported("a slot of what is no tuple")),
        (Step::Index(raw), _) => {
            let choices = choices(value.shape(), raw)?;
            read_steps(&read_value(value, &choices)?, rest)
        }
    }
}

pub(crate) fn write_steps(place: &mut Value, steps: &[Step], value: Value) -> Result<(), Fault> {
    match (steps.split_first(), place) {
        (None, place) => {
            let (old, new) = (extents_of(place), extents_of(&value));
            if place.shape() != value.shape() || tuple_differs(place, &value) {
                return Err(match different("the variable", &old, &new) {
                    fault if fault.message.contains("tuple") => fault,
                    _ => index::size_mismatch(place.shape(), value.shape()),
                });
            }
            *place = value;
            Ok(())
        }
        (Some((Step::Field(slot), rest)), Value::Tuple(slots)) => {
            write_steps(&mut slots[*slot], rest, value)
        }
        (Some((Step::Field(_), _)), _) => Err(Fault::unsupported("a slot of what is no tuple")),
        (Some((Step::Index(raw), rest)), place) => {
            let choices = choices(place.shape(), raw)?;
            if rest.is_empty() {
                return write_value(place, &choices, value);
            }
            if let Value::Tuples(n) = place
                && let Some(flat) = index::flat(&n.shape, &choices)
            {
                return write_steps(&mut n.make_mut()[flat], rest, value);
            }
            // A part of a part: read it, change it, put it back.
            let mut part = read_value(place, &choices)?;
            write_steps(&mut part, rest, value)?;
            write_value(place, &choices, part)
        }
    }
}

/// Whether the slots of two tuples differ in size.
fn tuple_differs(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tuple(a), Value::Tuple(b)) => {
            a.iter().zip(b).any(|(a, b)| a.shape() != b.shape() || tuple_differs(a, b))
        }
        (Value::Tuples(a), Value::Tuples(b)) => {
            a.values.iter().zip(b.values.iter()).any(|(a, b)| tuple_differs(a, b))
        }
        _ => false,
    }
}

fn write_value(place: &mut Value, choices: &[Choice], value: Value) -> Result<(), Fault> {
    fn one<T>(value: T) -> Numbers<T>
    where
        T: Clone,
    {
        Numbers::new([], vec![value])
    }
    match (place, value) {
        (Value::Ints(n), Value::Int(i)) => index::write(n, choices, &one(i)),
        (Value::Ints(n), Value::Ints(values)) => index::write(n, choices, &values),
        (Value::Reals(n), Value::Real(x)) => index::write(n, choices, &one(x)),
        (Value::Reals(n), Value::Reals(values)) => index::write(n, choices, &values),
        (Value::Complexes(n), Value::Complex(z)) => index::write(n, choices, &one(z)),
        (Value::Complexes(n), Value::Complexes(values)) => index::write(n, choices, &values),
        (Value::Tuples(n), Value::Tuples(values)) => index::write(n, choices, &values),
        (Value::Tuples(n), value @ Value::Tuple(_)) => index::write(n, choices, &one(value)),
        _ => Err(Fault::unsupported("an assignment of these types")),
    }
}
