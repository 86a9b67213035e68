//! Values of expressions. Scalars go through [`Interpreter::int`] and [`Interpreter::real`], which
//! allocate nothing.

use crate::host::environment::Environment;
use crate::host::error::{Fault, FaultKind, Outcome};
use crate::host::index::{self, Choice};
use crate::host::interpreter::Interpreter;
use crate::host::numeric;
use crate::host::operators::{binary, int_binary, real_binary, real_compare, transpose, unary};
use crate::source::Span;
use crate::typed::{BinaryOp, Callee, Expr, ExprKind, Index, Type, UnaryOp, VariableId};
use crate::value::{Numbers, Value};

/// Indices with their values, before they are compared with extents.
#[derive(Debug)]
pub(crate) enum Raw {
    Single(i64),
    Many(Vec<i64>),
    Range(Option<i64>, Option<i64>),
}

/// The most extents that the paths without allocation take.
const INLINE_ARGUMENTS: usize = 8;

impl Interpreter<'_> {
    /// The value of any expression.
    pub(crate) fn value(&mut self, env: &mut Environment, expr: &Expr) -> Outcome<Value> {
        match &expr.kind {
            ExprKind::Int(i) => Ok(Value::Int(*i)),
            ExprKind::Real(x) => Ok(Value::Real(*x)),
            ExprKind::Imaginary(x) => Ok(Value::Complex([0.0, *x])),
            ExprKind::Variable(id) => match env.get(*id) {
                Some(value) => Ok(value.clone()),
                None => Err(self.unknown(*id, expr.span)),
            },
            ExprKind::Conditional(condition, then, otherwise) => {
                let chosen = if self.truth(env, condition)? { then } else { otherwise };
                self.value(env, chosen)
            }
            ExprKind::Index(base, indices) => self.indexed(env, expr, base, indices),
            ExprKind::Field(base, slot) => match self.value(env, base)? {
                Value::Tuple(mut slots) if *slot < slots.len() => Ok(slots.swap_remove(*slot)),
                _ => Err(Fault::unsupported("a slot of what is no tuple").at(expr.span)),
            },
            ExprKind::Promote(inner) => {
                let value = self.value(env, inner)?;
                promote(value, &expr.ty).map_err(|fault| fault.at(expr.span))
            }
            ExprKind::Tuple(slots) => {
                let slots: Outcome<Vec<Value>> = slots.iter().map(|e| self.value(env, e)).collect();
                slots.map(Value::Tuple)
            }
            ExprKind::Array(elements) => self.stacked(env, expr, elements),
            ExprKind::RowVector(elements) => self.stacked(env, expr, elements),
            ExprKind::Call(callee, args) => self.call(env, expr, callee, args),
            _ => match expr.ty {
                Type::Int => self.int(env, expr).map(Value::Int),
                Type::Real => self.real(env, expr).map(Value::Real),
                _ => self.container_operation(env, expr),
            },
        }
    }

    /// Operators that give containers or complex numbers, and what only a fault of the checker
    /// brings.
    fn container_operation(&mut self, env: &mut Environment, expr: &Expr) -> Outcome<Value> {
        let result = match &expr.kind {
            ExprKind::Unary(op, a) => unary(*op, &self.value(env, a)?),
            ExprKind::Transpose(a) => transpose(&self.value(env, a)?),
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.value(env, a)?, self.value(env, b)?);
                binary(*op, (&x, &a.ty), (&y, &b.ty))
            }
            _ => Err(Fault::unsupported("a function's name where a value is needed")),
        };
        result.map_err(|fault| fault.at(expr.span))
    }

    /// The value of an expression of type `int`.
    pub(crate) fn int(&mut self, env: &mut Environment, expr: &Expr) -> Outcome<i64> {
        match &expr.kind {
            ExprKind::Int(i) => Ok(*i),
            ExprKind::Variable(id) => match env.get(*id) {
                Some(Value::Int(i)) => Ok(*i),
                Some(other) => numeric::int(other).map_err(|fault| fault.at(expr.span)),
                None => Err(self.unknown(*id, expr.span)),
            },
            ExprKind::Unary(UnaryOp::Not, a) => Ok(i64::from(!self.truth(env, a)?)),
            ExprKind::Unary(UnaryOp::Plus, a) => self.int(env, a),
            ExprKind::Unary(UnaryOp::Minus, a) => {
                let a = self.int(env, a)?;
                int_binary(BinaryOp::Subtract, 0, a).map_err(|fault| fault.at(expr.span))
            }
            ExprKind::Binary(BinaryOp::And, a, b) => {
                Ok(i64::from(self.truth(env, a)? && self.truth(env, b)?))
            }
            ExprKind::Binary(BinaryOp::Or, a, b) => {
                Ok(i64::from(self.truth(env, a)? || self.truth(env, b)?))
            }
            ExprKind::Binary(op, a, b) => match (&a.ty, &b.ty) {
                (Type::Int, Type::Int) => {
                    let (x, y) = (self.known_or_int(env, a)?, self.known_or_int(env, b)?);
                    int_binary(*op, x, y).map_err(|fault| fault.at(expr.span))
                }
                (Type::Int | Type::Real, Type::Int | Type::Real) => {
                    let (x, y) = (self.real(env, a)?, self.real(env, b)?);
                    match real_compare(*op, x, y) {
                        Some(truth) => Ok(i64::from(truth)),
                        None => self.int_of_value(env, expr),
                    }
                }
                _ => self.int_of_value(env, expr),
            },
            ExprKind::Transpose(_) => self.int_of_value(env, expr),
            ExprKind::Conditional(condition, then, otherwise) => {
                let chosen = if self.truth(env, condition)? { then } else { otherwise };
                self.int(env, chosen)
            }
            ExprKind::Index(base, indices) => match self.element(env, base, indices)? {
                Some((Value::Ints(n), flat)) => Ok(n.values[flat]),
                _ => self.int_of_value(env, expr),
            },
            _ => self.int_of_value(env, expr),
        }
    }

    /// The same, without a call for what indices mostly are: variables and numbers.
    #[inline(always)]
    pub(crate) fn known_or_int(&mut self, env: &mut Environment, expr: &Expr) -> Outcome<i64> {
        match expr.kind {
            ExprKind::Int(i) => return Ok(i),
            ExprKind::Variable(id) => {
                if let Some(Value::Int(i)) = env.get(id) {
                    return Ok(*i);
                }
            }
            _ => {}
        }
        self.int(env, expr)
    }

    fn int_of_value(&mut self, env: &mut Environment, expr: &Expr) -> Outcome<i64> {
        let value = match &expr.kind {
            ExprKind::Unary(..) | ExprKind::Transpose(_) | ExprKind::Binary(..) => {
                self.container_operation(env, expr)?
            }
            _ => self.value(env, expr)?,
        };
        numeric::int(&value).map_err(|fault| fault.at(expr.span))
    }

    /// The value of an expression of type `real` or `int`.
    pub(crate) fn real(&mut self, env: &mut Environment, expr: &Expr) -> Outcome<f64> {
        match &expr.kind {
            ExprKind::Real(x) => return Ok(*x),
            ExprKind::Int(i) => return Ok(*i as f64),
            ExprKind::Variable(id) => match env.get(*id) {
                Some(Value::Real(x)) => return Ok(*x),
                Some(Value::Int(i)) => return Ok(*i as f64),
                _ => {}
            },
            ExprKind::Promote(inner) if matches!(inner.ty, Type::Int | Type::Real) => {
                return self.real(env, inner);
            }
            _ if expr.ty == Type::Int => return self.int(env, expr).map(|i| i as f64),
            ExprKind::Unary(UnaryOp::Minus, a) if a.ty == Type::Real => {
                return Ok(-self.real(env, a)?);
            }
            ExprKind::Binary(op, a, b) => {
                let scalar = |ty: &Type| matches!(ty, Type::Int | Type::Real);
                if scalar(&a.ty) && scalar(&b.ty) {
                    let (x, y) = (self.real(env, a)?, self.real(env, b)?);
                    if let Some(result) = real_binary(*op, x, y) {
                        return Ok(result);
                    }
                }
                return self.real_of_value(env, expr);
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let chosen = if self.truth(env, condition)? { then } else { otherwise };
                return self.real(env, chosen);
            }
            ExprKind::Index(base, indices) => match self.element(env, base, indices)? {
                Some((Value::Reals(n), flat)) => return Ok(n.values[flat]),
                Some((Value::Ints(n), flat)) => return Ok(n.values[flat] as f64),
                _ => {}
            },
            ExprKind::Call(Callee::Library(name), args) => {
                if let Some(value) = self.call_on_scalars(env, name, args, expr.span)? {
                    return numeric::real(&value).map_err(|fault| fault.at(expr.span));
                }
            }
            ExprKind::Target => return Ok(self.target),
            ExprKind::Unary(..) | ExprKind::Transpose(_) => return self.real_of_value(env, expr),
            _ => {}
        }
        let value = self.value(env, expr)?;
        numeric::real(&value).map_err(|fault| fault.at(expr.span))
    }

    fn real_of_value(&mut self, env: &mut Environment, expr: &Expr) -> Outcome<f64> {
        let value = self.container_operation(env, expr)?;
        numeric::real(&value).map_err(|fault| fault.at(expr.span))
    }

    /// Whether a condition holds.
    #[inline]
    pub(crate) fn truth(&mut self, env: &mut Environment, expr: &Expr) -> Outcome<bool> {
        match expr.ty {
            Type::Real => Ok(self.real(env, expr)? != 0.0),
            _ => Ok(self.int(env, expr)? != 0),
        }
    }

    #[cold]
    pub(crate) fn unknown(
        &self,
        id: VariableId,
        span: Span,
    ) -> Box<crate::host::error::RuntimeError> {
        let name = &self.program.variable(id).name;
        Fault::new(FaultKind::Unsupported, format!("`{name}` has no value here")).at(span)
    }

    /// The container and position of one element, when the base is a variable and every extent is
    /// indexed singly; `None` for anything else.
    #[inline]
    pub(crate) fn element<'e>(
        &mut self,
        env: &'e mut Environment,
        base: &Expr,
        indices: &[Index],
    ) -> Outcome<Option<(&'e Value, usize)>> {
        // Nearly all elements: of a variable with one or two indices.
        if let ExprKind::Variable(id) = base.kind
            && let (Some(value), Some((first, rest))) = (env.get(id), indices.split_first())
            && value.shape().len() == indices.len()
            && rest.len() <= 1
            && let Some(first) = single(first)
            && rest.iter().all(|index| single(index).is_some())
        {
            let row = (self.known_or_int(env, first)?, first.span);
            let column = match rest.first().and_then(single) {
                Some(column) => Some((self.known_or_int(env, column)?, column.span)),
                None => None,
            };
            return self.element_at(env, id, row, column).map(Some);
        }
        self.element_through(env, base, indices)
    }

    /// The same with any number of indices, in one or two pairs of brackets.
    fn element_through<'e>(
        &mut self,
        env: &'e mut Environment,
        base: &Expr,
        indices: &[Index],
    ) -> Outcome<Option<(&'e Value, usize)>> {
        // `x[i][j]` is `x[i, j]`.
        let (mut levels, mut root) = ([indices, &[]], base);
        if let ExprKind::Index(inner, first) = &base.kind {
            levels = [first, indices];
            root = inner;
        }
        let ExprKind::Variable(id) = root.kind else { return Ok(None) };
        let count = levels[0].len() + levels[1].len();
        if count > INLINE_ARGUMENTS || count != root.ty.rank() {
            return Ok(None);
        }
        let mut all = levels.iter().flat_map(|level| level.iter());
        // Before anything is evaluated: an index may draw random numbers.
        if !all.clone().all(|index| single(index).is_some()) {
            return Ok(None);
        }
        let mut found = [(0_i64, Span::default()); INLINE_ARGUMENTS];
        for place in &mut found[..count] {
            if let Some(Index::Single(expr)) = all.next() {
                *place = (self.int(env, expr)?, expr.span);
            }
        }
        let program = self.program;
        let Some(value) = env.get(id) else { return Err(self.unknown(id, root.span)) };
        let shape = value.shape();
        if shape.len() != count {
            return Ok(None);
        }
        let mut flat = 0;
        for ((index, span), extent) in found.iter().zip(shape) {
            let position = index::position(*index, *extent)
                .map_err(|fault| named(fault, &program.variable(id).name).at(*span))?;
            flat = flat * extent + position;
        }
        Ok(Some((value, flat)))
    }

    /// The container and position of an element of a variable that has as many extents.
    #[inline]
    fn element_at<'e>(
        &self,
        env: &'e Environment,
        id: VariableId,
        row: (i64, Span),
        column: Option<(i64, Span)>,
    ) -> Outcome<(&'e Value, usize)> {
        let Some(value) = env.get(id) else { return Err(self.unknown(id, row.1)) };
        let shape = value.shape();
        let position_of = |(index, span): (i64, Span), extent: usize| {
            index::position(index, extent)
                .map_err(|fault| named(fault, &self.program.variable(id).name).at(span))
        };
        let flat = position_of(row, shape[0])?;
        Ok(match column {
            Some(column) => (value, flat * shape[1] + position_of(column, shape[1])?),
            None => (value, flat),
        })
    }

    fn indexed(
        &mut self,
        env: &mut Environment,
        expr: &Expr,
        base: &Expr,
        indices: &[Index],
    ) -> Outcome<Value> {
        if let Some((value, flat)) = self.element(env, base, indices)? {
            return Ok(match value {
                Value::Ints(n) => Value::Int(n.values[flat]),
                Value::Reals(n) => Value::Real(n.values[flat]),
                Value::Complexes(n) => Value::Complex(n.values[flat]),
                Value::Tuples(n) => n.values[flat].clone(),
                other => other.clone(),
            });
        }
        let value = self.value(env, base)?;
        let raw = self.raw_indices(env, indices)?;
        let name = match base.kind {
            ExprKind::Variable(id) => Some(&self.program.variable(id).name),
            _ => None,
        };
        let read = choices(value.shape(), &raw).and_then(|choices| read_value(&value, &choices));
        read.map_err(|fault| match name {
            Some(name) => named(fault, name).at(expr.span),
            None => fault.at(expr.span),
        })
    }

    /// Evaluates indices.
    pub(crate) fn raw_indices(
        &mut self,
        env: &mut Environment,
        indices: &[Index],
    ) -> Outcome<Vec<Raw>> {
        let mut raw = Vec::with_capacity(indices.len());
        for index in indices {
            raw.push(match index {
                Index::Single(e) => Raw::Single(self.int(env, e)?),
                Index::Multiple(e) => match self.value(env, e)? {
                    Value::Ints(n) => Raw::Many(n.values.to_vec()),
                    _ => return Err(Fault::unsupported("an index that is no integer").at(e.span)),
                },
                Index::Range(lower, upper) => {
                    let lower = lower.as_ref().map(|e| self.int(env, e)).transpose()?;
                    Raw::Range(lower, upper.as_ref().map(|e| self.int(env, e)).transpose()?)
                }
            });
        }
        Ok(raw)
    }

    /// `{…}` and `[…]`: elements of equal extents under one more.
    fn stacked(&mut self, env: &mut Environment, expr: &Expr, elements: &[Expr]) -> Outcome<Value> {
        let first = match elements {
            // Only `[]` can be empty.
            [] => return Ok(Value::unset(&expr.ty, &vec![0; expr.ty.rank()])),
            [first, ..] => &first.ty,
        };
        if elements.iter().all(|e| e.ty == Type::Int) {
            let values: Outcome<Vec<i64>> = elements.iter().map(|e| self.int(env, e)).collect();
            if expr.ty.array_parts().1 == &Type::Int {
                return Ok(Value::ints(values?));
            }
            return Ok(Value::reals(values?.into_iter().map(|i| i as f64).collect()));
        }
        if elements.iter().all(|e| matches!(e.ty, Type::Int | Type::Real))
            && *first != Type::Complex
        {
            let values: Outcome<Vec<f64>> = elements.iter().map(|e| self.real(env, e)).collect();
            return Ok(Value::reals(values?));
        }
        let mut values = Vec::with_capacity(elements.len());
        for element in elements {
            values.push(self.value(env, element)?);
        }
        stack(values).map_err(|fault| fault.at(expr.span))
    }
}

/// The integer that an index is, if it is one.
#[inline]
pub(crate) fn single(index: &Index) -> Option<&Expr> {
    match index {
        Index::Single(expr) if expr.ty == Type::Int => Some(expr),
        _ => None,
    }
}

/// The message with a variable's name before it.
#[cold]
pub(crate) fn named(fault: Fault, name: &str) -> Fault {
    Fault { message: format!("`{name}`: {}", fault.message), ..fault }
}

/// Indices as checked choices along the outermost extents.
pub(crate) fn choices(shape: &[usize], raw: &[Raw]) -> Result<Vec<Choice>, Fault> {
    if raw.len() > shape.len() {
        return Err(Fault::index(format!("{} indices into {} extents", raw.len(), shape.len())));
    }
    raw.iter()
        .zip(shape)
        .map(|(index, extent)| match index {
            Raw::Single(k) => index::position(*k, *extent).map(Choice::One),
            Raw::Range(lower, upper) => index::range(*lower, *upper, *extent),
            Raw::Many(list) => {
                let positions: Result<Vec<usize>, Fault> =
                    list.iter().map(|k| index::position(*k, *extent)).collect();
                positions.map(Choice::Many)
            }
        })
        .collect()
}

/// The chosen part of a value.
pub(crate) fn read_value(value: &Value, choices: &[Choice]) -> Result<Value, Fault> {
    Ok(match value {
        Value::Ints(n) => numeric::from_ints(index::read(n, choices)),
        Value::Reals(n) => numeric::from_reals(index::read(n, choices)),
        Value::Complexes(n) => numeric::from_complexes(index::read(n, choices)),
        Value::Tuples(n) => {
            let part = index::read(n, choices);
            match part.shape.as_slice() {
                [] => part.values[0].clone(),
                _ => Value::Tuples(part),
            }
        }
        scalar if choices.is_empty() => scalar.clone(),
        _ => return Err(Fault::index("an index into a scalar")),
    })
}

/// Values of equal extents one after the other.
pub(crate) fn stack(values: Vec<Value>) -> Result<Value, Fault> {
    let count = values.len();
    let inner = values[0].shape().to_vec();
    if let Some(k) = values.iter().position(|v| v.shape() != inner) {
        let (found, wanted) = (index::show_shape(values[k].shape()), index::show_shape(&inner));
        return Err(Fault::size(format!(
            "elements differ in size: the first has {wanted}, number {} has {found}",
            k + 1
        )));
    }
    let shape: Vec<usize> = std::iter::once(count).chain(inner).collect();
    if values.iter().all(|v| matches!(v, Value::Int(_) | Value::Ints(_))) {
        let mut all = Vec::with_capacity(shape.iter().product());
        for value in &values {
            all.extend_from_slice(numeric::int_slice(value)?);
        }
        return Ok(Value::Ints(Numbers::new(shape, all)));
    }
    if values.iter().any(|v| matches!(v, Value::Tuple(_) | Value::Tuples(_))) {
        let mut all = Vec::new();
        for value in values {
            match value {
                Value::Tuples(n) => all.extend(n.values.iter().cloned()),
                single => all.push(single),
            }
        }
        return Ok(Value::Tuples(Numbers::new(shape, all)));
    }
    if values.iter().any(|v| matches!(v, Value::Complex(_) | Value::Complexes(_))) {
        let mut all = Vec::with_capacity(shape.iter().product());
        for value in &values {
            all.extend_from_slice(&numeric::to_complexes(value)?.values);
        }
        return Ok(Value::Complexes(Numbers::new(shape, all)));
    }
    let mut all = Vec::with_capacity(shape.iter().product());
    for value in &values {
        all.extend_from_slice(&numeric::real_slice(value)?);
    }
    Ok(Value::Reals(Numbers::new(shape, all)))
}

/// The same numbers as another type: integers as reals, reals as complex numbers, also in
/// containers.
pub(crate) fn promote(value: Value, ty: &Type) -> Result<Value, Fault> {
    use Type::{Complex, ComplexMatrix, ComplexRowVector, ComplexVector};
    match (ty.array_parts().1, value) {
        (Type::Int | Type::Void | Type::Function(_), value) => Ok(value),
        (Type::Tuple(types), Value::Tuple(slots)) => {
            let slots: Result<Vec<Value>, Fault> =
                slots.into_iter().zip(types).map(|(slot, ty)| promote(slot, ty)).collect();
            slots.map(Value::Tuple)
        }
        (Type::Tuple(types), Value::Tuples(n)) => {
            let tuple = Type::Tuple(types.clone());
            let values: Result<Vec<Value>, Fault> =
                n.values.iter().map(|v| promote(v.clone(), &tuple)).collect();
            Ok(Value::Tuples(Numbers::new(n.shape, values?)))
        }
        (Complex | ComplexVector | ComplexRowVector | ComplexMatrix, value) => match value {
            Value::Complex(_) | Value::Complexes(_) => Ok(value),
            other => Ok(numeric::from_complexes(numeric::to_complexes(&other)?)),
        },
        (_, Value::Int(i)) => Ok(Value::Real(i as f64)),
        (_, value @ Value::Ints(_)) => Ok(Value::Reals(numeric::to_reals(&value)?)),
        (_, value) => Ok(value),
    }
}
