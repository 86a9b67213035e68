//! Values of the host <-> values of lanes.
//!
//! Here a complex number is its real and imaginary part, one more extent behind all others, and an
//! array of tuples is a tuple of arrays; everything that moves elements then treats them as it
//! treats numbers.

use super::lane_value::{Form, LaneValue, reals};
use crate::check::types::is_complex;
use crate::typed::Type;
use crate::value::{Numbers, Value, array_of_tuples, slots_of};

/// A value of the host, the same in all lanes.
pub(in crate::lower) fn from_host(value: Value) -> LaneValue {
    let plain = |value| LaneValue { form: Form::Known(value), lanes: false };
    match value {
        Value::Tuple(slots) => LaneValue::tuple(slots.into_iter().map(from_host).collect()),
        Value::Tuples(tuples) => {
            LaneValue::tuple(slots_of(&tuples).into_iter().map(from_host).collect())
        }
        Value::Complex(parts) => plain(Value::reals(parts.to_vec())),
        Value::Complexes(n) => {
            let shape = [n.shape.as_slice(), &[2]].concat();
            plain(Value::Reals(Numbers::new(shape, n.values.iter().flatten().copied().collect())))
        }
        value => plain(value),
    }
}

/// The host's value, for one that is known and the same in all lanes.
pub(in crate::lower) fn to_host(value: &LaneValue, ty: &Type) -> Option<Value> {
    let (depth, inner) = ty.array_parts();
    match (&value.form, inner) {
        (Form::Node(_), _) => None,
        (Form::Known(_), _) if value.lanes => None,
        (Form::Known(known), _) if is_complex(ty) => Some(complex(known)),
        (Form::Known(known), _) => Some(known.clone()),
        (Form::Tuple(slots), Type::Tuple(types)) => {
            let of_slot = |(slot, ty): (&LaneValue, &Type)| to_host(slot, &ty.clone().array(depth));
            let slots = slots.iter().zip(types).map(of_slot).collect::<Option<Vec<_>>>()?;
            Some(if depth == 0 { Value::Tuple(slots) } else { array_of_tuples(depth, &slots) })
        }
        (Form::Tuple(_), _) => None,
    }
}

/// Pairs of parts as complex numbers.
fn complex(known: &Value) -> Value {
    let numbers = reals(known);
    let mut pairs: Vec<[f64; 2]> = numbers.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    match known.shape() {
        [_] if pairs.len() == 1 => Value::Complex(pairs.swap_remove(0)),
        [outer @ .., _] => Value::Complexes(Numbers::new(outer, pairs)),
        [] => known.clone(),
    }
}

/// A variable's known value before it is assigned; `shape` has the extent of the parts of complex
/// numbers.
pub(in crate::lower) fn unset(ty: &Type, shape: &[usize]) -> LaneValue {
    if is_complex(ty) {
        return LaneValue::known(Value::Reals(Numbers::filled(shape, f64::NAN)));
    }
    LaneValue::known(Value::unset(ty, shape))
}
