//! Operators: operands with places -> the result with its place, by closed forms.

use exmc_fault::planted;

use crate::check::types::is_complex;
use crate::host::error::Fault;
use crate::host::operators::{self, real_binary};
use crate::scalar_functions::powers::slopes_of_power;
use crate::typed::{BinaryOp, Type};
use crate::value::Value;

use super::Tracer;
use super::record::{Id, Tape};
use super::traced::Traced;

/// `a op b` of two numbers; nothing where the operator has no real result.
#[inline]
pub(super) fn number(
    tape: &mut Tape,
    op: BinaryOp,
    (x, i): (f64, Id),
    (y, j): (f64, Id),
) -> Option<(f64, Id)> {
    let value = real_binary(op, x, y)?;
    if i == 0 && j == 0 {
        return Some((value, 0));
    }
    let (dx, dy) = partials(op, (x, i != 0), (y, j != 0), value)?;
    Some((value, tape.two((i, dx), (j, dy))))
}

/// Derivatives of `x op y = value`, of those operands that want one.
fn partials(op: BinaryOp, x: (f64, bool), y: (f64, bool), value: f64) -> Option<(f64, f64)> {
    Some(match op {
        BinaryOp::Add => (1.0, 1.0),
        BinaryOp::Subtract => (1.0, -1.0),
        BinaryOp::Multiply | BinaryOp::ElementMultiply => (y.0, x.0),
        BinaryOp::Divide | BinaryOp::ElementDivide => {
            let sign = if planted(exmc_fault::Fault::TapeQuotientSign) { 1.0 } else { -1.0 };
            (1.0 / y.0, sign * value / y.0)
        }
        BinaryOp::LeftDivide => (-value / x.0, 1.0 / x.0),
        BinaryOp::Power | BinaryOp::ElementPower => slopes_of_power(x, y, value),
        _ => return None,
    })
}

impl Tracer<'_> {
    /// `a op b` of any values.
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        (a, a_type): (&Traced, &Type),
        (b, b_type): (&Traced, &Type),
        returns: &Type,
    ) -> Result<Traced, Fault> {
        let value = operators::binary(op, (&a.value, a_type), (&b.value, b_type))?;
        if a.ids.is_none() && b.ids.is_none() || matches!(value, Value::Int(_) | Value::Ints(_)) {
            return Ok(Traced::known(value));
        }
        let both_containers = a_type.rank() > 0 && b_type.rank() > 0;
        if !is_complex(a_type) && !is_complex(b_type) {
            match op {
                BinaryOp::Multiply if both_containers => {
                    return Ok(self.product(a, a_type, b, b_type, value));
                }
                BinaryOp::Divide if both_containers && *b_type == Type::Matrix => {}
                BinaryOp::LeftDivide => {}
                _ => return Ok(self.elementwise(op, a, b, value)),
            }
        }
        let name = match op {
            BinaryOp::Add => "add",
            BinaryOp::Subtract => "subtract",
            BinaryOp::Multiply => "multiply",
            BinaryOp::ElementMultiply => "elt_multiply",
            BinaryOp::Divide if *b_type == Type::Matrix && both_containers => "mdivide_right",
            BinaryOp::Divide => "divide",
            BinaryOp::ElementDivide => "elt_divide",
            BinaryOp::LeftDivide => "mdivide_left",
            BinaryOp::Power => "pow",
            BinaryOp::ElementPower => "elt_pow",
            _ => return Ok(Traced::known(value)),
        };
        self.by_graph(name, &[a.clone(), b.clone()], &[a_type, b_type], returns, value)
    }

    /// An operator at each element; a scalar stretches.
    fn elementwise(&mut self, op: BinaryOp, a: &Traced, b: &Traced, value: Value) -> Traced {
        self.each_of_two(a, b, value, |x, y, value| {
            partials(op, x, y, value).unwrap_or((f64::NAN, f64::NAN))
        })
    }

    /// A function of one number at each element, by its derivative there: `value` is what it gives.
    pub(super) fn each(
        &mut self,
        a: &Traced,
        value: Value,
        partial: impl Fn((f64, f64)) -> f64,
    ) -> Traced {
        let (x, results) = (reals(&a.value), flat(&value));
        let mut ids = a.flat_places();
        for (k, id) in ids.iter_mut().enumerate() {
            if *id != 0.0 {
                *id = f64::from(self.tape.one(*id as Id, partial((x[k], results[k]))));
            }
        }
        Traced::with(value, &ids)
    }

    /// A function of two numbers at each element, by its derivatives there; a scalar stretches.
    pub(super) fn each_of_two(
        &mut self,
        a: &Traced,
        b: &Traced,
        value: Value,
        partials: impl Fn((f64, bool), (f64, bool), f64) -> (f64, f64),
    ) -> Traced {
        let (x, y, results) = (reals(&a.value), reals(&b.value), flat(&value));
        let (i, j) = (places(a), places(b));
        let pick = |list: &[f64], k: usize| match list.len() {
            0 => 0.0,
            1 => list[0],
            _ => list[k],
        };
        let mut ids = vec![0.0; results.len()];
        for (k, id) in ids.iter_mut().enumerate() {
            let (i, j) = (pick(&i, k) as Id, pick(&j, k) as Id);
            if i != 0 || j != 0 {
                let (x, y) = ((pick(&x, k), i != 0), (pick(&y, k), j != 0));
                let (dx, dy) = partials(x, y, results[k]);
                *id = f64::from(self.tape.two((i, dx), (j, dy)));
            }
        }
        Traced::with(value, &ids)
    }

    /// The matrix product: $\bar A = \bar C B'$, $\bar B = A' \bar C$.
    fn product(
        &mut self,
        a: &Traced,
        a_type: &Type,
        b: &Traced,
        b_type: &Type,
        value: Value,
    ) -> Traced {
        let extents = |value: &Value, ty: &Type| match (value.shape(), ty) {
            ([rows, columns], _) => (*rows, *columns),
            ([n], Type::RowVector) => (1, *n),
            (shape, _) => (shape[0], 1),
        };
        let ((rows, inner), (_, columns)) = (extents(&a.value, a_type), extents(&b.value, b_type));
        let (x, y) = (reals(&a.value), reals(&b.value));
        let (i, j) = (all_places(a, x.len()), all_places(b, y.len()));
        if let Value::Real(result) = value {
            let edges = (0..inner).flat_map(|k| [(i[k], y[k]), (j[k], x[k])]);
            let id = self.tape.many(edges);
            return Traced::number(result, id);
        }
        if rows * columns == 0 {
            return Traced::known(value);
        }
        let held = x.len() + y.len();
        let pull = move |adjoints: &[f64], below: &mut [f64]| {
            for r in 0..rows {
                for c in 0..columns {
                    let adjoint = adjoints[r * columns + c];
                    if adjoint == 0.0 {
                        continue;
                    }
                    for k in 0..inner {
                        let (at_a, at_b) = (r * inner + k, k * columns + c);
                        if i[at_a] != 0 {
                            below[i[at_a] as usize] += adjoint * y[at_b];
                        }
                        if j[at_b] != 0 {
                            below[j[at_b] as usize] += adjoint * x[at_a];
                        }
                    }
                }
            }
        };
        let first = self.tape.group(rows * columns, held, Box::new(pull));
        Traced::following(value, first)
    }
}

/// All numbers, integers among them, row by row.
pub(super) fn reals(value: &Value) -> Vec<f64> {
    match value {
        Value::Int(i) => vec![*i as f64],
        Value::Ints(n) => n.values.iter().map(|i| *i as f64).collect(),
        other => flat(other),
    }
}

fn flat(value: &Value) -> Vec<f64> {
    let mut out = Vec::new();
    super::traced::flatten(value, &mut out);
    out
}

/// Places, none at all where there is none.
fn places(a: &Traced) -> Vec<f64> {
    match a.ids {
        Some(_) => a.flat_places(),
        None => Vec::new(),
    }
}

/// The places of all numbers, integers among them.
pub(super) fn all_places(a: &Traced, len: usize) -> Vec<Id> {
    match a.ids {
        Some(_) => a.flat_places().into_iter().map(|id| id as Id).collect(),
        None => vec![0; len],
    }
}
