//! Values of expressions with their places on the tape. Integers have no derivative: the host
//! computes them.

use crate::host::error::{Fault, Outcome};
use crate::host::expression::{choices, named, promote, read_value, stack};
use crate::host::numeric;
use crate::host::operators::{binary, real_compare, transpose, unary};
use crate::typed::{BinaryOp, Callee, Expr, ExprKind, Index, Type, UnaryOp, VariableId};
use crate::value::Value;

use super::Tracer;
use super::arithmetic;
use super::record::Id;
use super::traced::Traced;

impl Tracer<'_> {
    /// The value of any expression.
    pub(super) fn trace(&mut self, expr: &Expr) -> Outcome<Traced> {
        match &expr.kind {
            ExprKind::Int(i) => Ok(Traced::known(Value::Int(*i))),
            ExprKind::Real(x) => Ok(Traced::known(Value::Real(*x))),
            ExprKind::Imaginary(x) => Ok(Traced::known(Value::Complex([0.0, *x]))),
            ExprKind::Variable(id) => match self.env.get(*id) {
                Some(value) => Ok(Traced { value: value.clone(), ids: self.ids.get(*id).cloned() }),
                None => Err(self.host.unknown(*id, expr.span)),
            },
            ExprKind::Conditional(condition, then, otherwise) => {
                let chosen = if self.truth(condition)? { then } else { otherwise };
                self.trace(chosen)
            }
            ExprKind::Index(base, indices) => self.indexed(expr, base, indices),
            ExprKind::Field(base, slot) => {
                let base = self.trace(base)?;
                let take = |value: Value| match value {
                    Value::Tuple(mut slots) if *slot < slots.len() => Ok(slots.swap_remove(*slot)),
                    _ => Err(Fault::unsupported("a slot of what is no tuple").at(expr.span)),
                };
                Ok(Traced { value: take(base.value)?, ids: base.ids.map(take).transpose()? })
            }
            ExprKind::Promote(inner) => {
                let inner = self.trace(inner)?;
                promoted(inner, &expr.ty).map_err(|fault| fault.at(expr.span))
            }
            ExprKind::Tuple(slots) => {
                let slots: Outcome<Vec<Traced>> = slots.iter().map(|e| self.trace(e)).collect();
                let slots = slots?;
                let ids = slots.iter().any(|slot| slot.ids.is_some());
                let ids = ids.then(|| Value::Tuple(slots.iter().map(Traced::places).collect()));
                let value = Value::Tuple(slots.into_iter().map(|slot| slot.value).collect());
                Ok(Traced { value, ids })
            }
            ExprKind::Array(elements) | ExprKind::RowVector(elements) => {
                self.stacked(expr, elements)
            }
            ExprKind::Call(callee, args) => self.call(expr, callee, args),
            ExprKind::Target => Ok(Traced::number(self.host.target, self.target_place())),
            _ => match expr.ty {
                Type::Int => self.int(expr).map(|i| Traced::known(Value::Int(i))),
                Type::Real => self.number(expr).map(|(x, id)| Traced::number(x, id)),
                _ => self.container_operation(expr),
            },
        }
    }

    /// Operators that give containers or complex numbers.
    fn container_operation(&mut self, expr: &Expr) -> Outcome<Traced> {
        let result = match &expr.kind {
            ExprKind::Unary(op, a) => {
                let a = self.trace(a)?;
                unary(*op, &a.value).map(|value| match op {
                    UnaryOp::Plus => Traced { value, ids: a.ids },
                    UnaryOp::Minus => self.each(&a, value, |_| -1.0),
                    UnaryOp::Not => Traced::known(value),
                })
            }
            ExprKind::Transpose(a) => {
                let a = self.trace(a)?;
                let ids = a.ids.map(|ids| transpose(&ids)).transpose();
                transpose(&a.value).and_then(|value| Ok(Traced { value, ids: ids? }))
            }
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.trace(a)?, self.trace(b)?);
                self.binary(*op, (&x, &a.ty), (&y, &b.ty), &expr.ty)
            }
            _ => Err(Fault::unsupported("a function's name where a value is needed")),
        };
        result.map_err(|fault| fault.at(expr.span))
    }

    /// The value of an expression of type `int`.
    pub(super) fn int(&mut self, expr: &Expr) -> Outcome<i64> {
        if !self.has_effects {
            return self.host.int(&mut self.env, expr);
        }
        // A call inside may add to the density: the tape must see it.
        match &expr.kind {
            ExprKind::Unary(op, a) => {
                let a = self.trace(a)?;
                let value = unary(*op, &a.value).and_then(|value| numeric::int(&value));
                value.map_err(|fault| fault.at(expr.span))
            }
            ExprKind::Binary(BinaryOp::And, a, b) => {
                Ok(i64::from(self.truth(a)? && self.truth(b)?))
            }
            ExprKind::Binary(BinaryOp::Or, a, b) => Ok(i64::from(self.truth(a)? || self.truth(b)?)),
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.trace(a)?, self.trace(b)?);
                if let (Some((x, _)), Some((y, _)), false) =
                    (x.as_number(), y.as_number(), a.ty == Type::Int && b.ty == Type::Int)
                    && let Some(truth) = real_compare(*op, x, y)
                {
                    return Ok(i64::from(truth));
                }
                let value = binary(*op, (&x.value, &a.ty), (&y.value, &b.ty));
                let value = value.and_then(|value| numeric::int(&value));
                value.map_err(|fault| fault.at(expr.span))
            }
            ExprKind::Conditional(..) | ExprKind::Index(..) | ExprKind::Call(..) => {
                let value = self.trace(expr)?.value;
                numeric::int(&value).map_err(|fault| fault.at(expr.span))
            }
            _ => self.host.int(&mut self.env, expr),
        }
    }

    /// Whether a condition holds.
    pub(super) fn truth(&mut self, expr: &Expr) -> Outcome<bool> {
        match expr.ty {
            Type::Real => Ok(self.number(expr)?.0 != 0.0),
            _ => Ok(self.int(expr)? != 0),
        }
    }

    /// The value of an expression of type `real` or `int`, and its place.
    pub(super) fn number(&mut self, expr: &Expr) -> Outcome<(f64, Id)> {
        match &expr.kind {
            ExprKind::Real(x) => return Ok((*x, 0)),
            ExprKind::Int(i) => return Ok((*i as f64, 0)),
            ExprKind::Variable(id) => match self.env.get(*id) {
                Some(Value::Real(x)) => return Ok((*x, self.place_of(*id))),
                Some(Value::Int(i)) => return Ok((*i as f64, 0)),
                _ => {}
            },
            ExprKind::Promote(inner) if matches!(inner.ty, Type::Int | Type::Real) => {
                return self.number(inner);
            }
            _ if expr.ty == Type::Int => return self.int(expr).map(|i| (i as f64, 0)),
            ExprKind::Unary(UnaryOp::Minus, a) if a.ty == Type::Real => {
                let (x, id) = self.number(a)?;
                return Ok((-x, self.tape.one(id, -1.0)));
            }
            ExprKind::Binary(op, a, b) => {
                let scalar = |ty: &Type| matches!(ty, Type::Int | Type::Real);
                if scalar(&a.ty) && scalar(&b.ty) {
                    let (x, y) = (self.number(a)?, self.number(b)?);
                    if let Some(result) = arithmetic::number(&mut self.tape, *op, x, y) {
                        return Ok(result);
                    }
                }
                return self.number_of(expr);
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let chosen = if self.truth(condition)? { then } else { otherwise };
                return self.number(chosen);
            }
            ExprKind::Index(base, indices) => {
                if let Some(found) = self.element(base, indices)? {
                    return Ok(found);
                }
            }
            ExprKind::Call(Callee::Library(name), args) => {
                if let Some(found) = self.call_on_scalars(name, args, &expr.ty, expr.span)? {
                    return Ok(found);
                }
            }
            ExprKind::Target => return Ok((self.host.target, self.target_place())),
            ExprKind::Unary(..) | ExprKind::Transpose(_) => return self.number_of(expr),
            _ => {}
        }
        let found = self.trace(expr)?;
        as_number(&found).map_err(|fault| fault.at(expr.span))
    }

    fn number_of(&mut self, expr: &Expr) -> Outcome<(f64, Id)> {
        let found = self.container_operation(expr)?;
        as_number(&found).map_err(|fault| fault.at(expr.span))
    }

    /// The place of the density so far.
    fn target_place(&self) -> Id {
        if exmc_fault::planted(exmc_fault::Fault::TapeForgetsTarget) { 0 } else { self.target }
    }

    /// The place of a variable that is a number.
    fn place_of(&self, id: VariableId) -> Id {
        match self.ids.get(id) {
            Some(Value::Real(place)) => *place as Id,
            _ => 0,
        }
    }

    /// One real element of a variable, every extent indexed singly; `None` for anything else.
    fn element(&mut self, base: &Expr, indices: &[Index]) -> Outcome<Option<(f64, Id)>> {
        if self.has_effects {
            return Ok(None);
        }
        let root = match &base.kind {
            ExprKind::Variable(id) => *id,
            ExprKind::Index(inner, _) => match inner.kind {
                ExprKind::Variable(id) => id,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(match self.host.element(&mut self.env, base, indices)? {
            Some((Value::Reals(n), flat)) => {
                let id = match self.ids.get(root) {
                    Some(Value::Reals(places)) => places.values[flat] as Id,
                    _ => 0,
                };
                Some((n.values[flat], id))
            }
            Some((Value::Ints(n), flat)) => Some((n.values[flat] as f64, 0)),
            _ => None,
        })
    }

    fn indexed(&mut self, expr: &Expr, base: &Expr, indices: &[Index]) -> Outcome<Traced> {
        if expr.ty == Type::Real
            && let Some((x, id)) = self.element(base, indices)?
        {
            return Ok(Traced::number(x, id));
        }
        let from = self.trace(base)?;
        let raw = self.host.raw_indices(&mut self.env, indices)?;
        let name = match base.kind {
            ExprKind::Variable(id) => Some(&self.host.program().variable(id).name),
            _ => None,
        };
        let read = choices(from.value.shape(), &raw).and_then(|choices| {
            let value = read_value(&from.value, &choices)?;
            let ids = from.ids.as_ref().map(|ids| read_value(ids, &choices)).transpose()?;
            Ok(Traced { value, ids })
        });
        read.map_err(|fault| match name {
            Some(name) => named(fault, name).at(expr.span),
            None => fault.at(expr.span),
        })
    }

    /// `{…}` and `[…]`: elements of equal extents under one more.
    fn stacked(&mut self, expr: &Expr, elements: &[Expr]) -> Outcome<Traced> {
        let complex = expr.ty.array_parts().1;
        let scalars = elements.iter().all(|e| matches!(e.ty, Type::Int | Type::Real));
        if elements.is_empty() || elements.iter().all(|e| e.ty == Type::Int) {
            return self.host.value(&mut self.env, expr).map(Traced::known);
        }
        if scalars && *complex != Type::Complex && *complex != Type::ComplexRowVector {
            let (mut values, mut ids) = (Vec::new(), Vec::new());
            for element in elements {
                let (x, id) = self.number(element)?;
                values.push(x);
                ids.push(f64::from(id));
            }
            return Ok(Traced::with(Value::reals(values), &ids));
        }
        let (mut values, mut ids, mut any) = (Vec::new(), Vec::new(), false);
        for element in elements {
            let element = self.trace(element)?;
            any |= element.ids.is_some();
            ids.push(element.places());
            values.push(element.value);
        }
        let joined = stack(values).and_then(|value| {
            let ids = any.then(|| stack(ids)).transpose()?;
            Ok(Traced { value, ids })
        });
        joined.map_err(|fault| fault.at(expr.span))
    }
}

/// The same numbers as another type; places of integers are 0, so that they become no places.
pub(super) fn promoted(from: Traced, ty: &Type) -> Result<Traced, Fault> {
    let ids = from.ids.map(|ids| promote(ids, ty)).transpose()?;
    Ok(Traced { value: promote(from.value, ty)?, ids })
}

pub(super) fn as_number(found: &Traced) -> Result<(f64, Id), Fault> {
    match found.as_number() {
        Some(number) => Ok(number),
        None => numeric::real(&found.value).map(|x| (x, 0)),
    }
}
