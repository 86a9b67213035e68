//! Values of Stan programs at rest: what data are read into and what the host computes with.
//!
//! A container of numbers is one row-major array whatever it is declared as: `array[N] matrix[K,
//! L]` has extents `[N, K, L]`, a vector one extent. Which extents are arrays' and which are
//! vectors' is the static type's business. This is also how the graph stores them, so that nothing
//! is shuffled on the way; only what users see as column-major (`to_vector`, CSV columns) permutes.

use std::sync::Arc;

use crate::typed::Type;

/// An array of numbers. Copies share their elements until one is written to.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers<T> {
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// Elements, row by row.
    pub values: Arc<Vec<T>>,
}

impl<T: Clone> Numbers<T> {
    /// Elements under extents; the caller's lengths agree.
    pub fn new(shape: impl Into<Vec<usize>>, values: Vec<T>) -> Self {
        let shape = shape.into();
        debug_assert_eq!(
            shape.iter().product::<usize>(),
            values.len(),
            "extents and elements agree"
        );
        Self { shape, values: Arc::new(values) }
    }

    /// The same element everywhere.
    pub fn filled(shape: impl Into<Vec<usize>>, value: T) -> Self {
        let shape = shape.into();
        let len = shape.iter().product();
        Self::new(shape, vec![value; len])
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The elements, to write to (copied first, if shared).
    pub fn make_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(&mut self.values)
    }
}

/// A complex number: real and imaginary part.
pub type Complex = [f64; 2];

/// What an integer that was never assigned holds.
pub const UNSET_INT: i64 = i32::MIN as i64;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer.
    Int(i64),
    /// A real number.
    Real(f64),
    /// A complex number.
    Complex(Complex),
    /// A container of integers.
    Ints(Numbers<i64>),
    /// A container of real numbers.
    Reals(Numbers<f64>),
    /// A container of complex numbers.
    Complexes(Numbers<Complex>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// An array of tuples: extents of the array, elements row by row.
    Tuples(Numbers<Value>),
}

impl Value {
    /// One of the same kind and shape in which each element is its own place, row by row.
    pub(crate) fn numbered(&self) -> Self {
        let shape = self.shape().to_vec();
        let count: usize = shape.iter().product();
        match self {
            Self::Int(_) => Self::Int(0),
            Self::Real(_) => Self::Real(0.0),
            Self::Ints(_) => Self::Ints(Numbers::new(shape, (0..count as i64).collect())),
            _ => Self::Reals(Numbers::new(shape, (0..count).map(|k| k as f64).collect())),
        }
    }

    /// A vector or an array of real numbers.
    pub fn reals(values: Vec<f64>) -> Self {
        Self::Reals(Numbers::new([values.len()], values))
    }

    /// An array of integers.
    pub fn ints(values: Vec<i64>) -> Self {
        Self::Ints(Numbers::new([values.len()], values))
    }

    /// Extents; none for a scalar or a tuple.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Ints(n) => &n.shape,
            Self::Reals(n) => &n.shape,
            Self::Complexes(n) => &n.shape,
            Self::Tuples(n) => &n.shape,
            _ => &[],
        }
    }

    /// An integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(i) => Some(*i),
            _ => None,
        }
    }

    /// A real number, if it is one or an integer.
    pub fn as_real(&self) -> Option<f64> {
        match self {
            Self::Int(i) => Some(*i as f64),
            Self::Real(x) => Some(*x),
            _ => None,
        }
    }

    /// Makes of what a variable held [`unset`](Self::unset) at those extents, in the same memory;
    /// `false`, and nothing done, where that is not there.
    pub(crate) fn make_unset(&mut self, shape: &[usize]) -> bool {
        match self {
            Self::Int(i) if shape.is_empty() => *i = UNSET_INT,
            Self::Real(x) if shape.is_empty() => *x = f64::NAN,
            Self::Ints(n) if n.shape == shape => match Arc::get_mut(&mut n.values) {
                Some(values) => values.fill(UNSET_INT),
                None => return false,
            },
            Self::Reals(n) if n.shape == shape => match Arc::get_mut(&mut n.values) {
                Some(values) => values.fill(f64::NAN),
                None => return false,
            },
            _ => return false,
        }
        true
    }

    /// The value of a declared variable (no tuple) before it is assigned: NaN, or [`UNSET_INT`].
    /// `shape` has as many extents as [`Type::rank`] says.
    pub fn unset(ty: &Type, shape: &[usize]) -> Self {
        let (_, element) = ty.array_parts();
        match (element, shape) {
            (Type::Int, []) => Self::Int(UNSET_INT),
            (Type::Int, _) => Self::Ints(Numbers::filled(shape, UNSET_INT)),
            (Type::Complex, []) => Self::Complex([f64::NAN; 2]),
            (
                Type::Complex | Type::ComplexVector | Type::ComplexRowVector | Type::ComplexMatrix,
                _,
            ) => Self::Complexes(Numbers::filled(shape, [f64::NAN; 2])),
            (_, []) => Self::Real(f64::NAN),
            _ => Self::Reals(Numbers::filled(shape, f64::NAN)),
        }
    }
}

/// For each slot, the array of what these tuples have there; none where there are no tuples.
pub fn slots_of(tuples: &Numbers<Value>) -> Vec<Value> {
    let slots_in = |tuple: &Value| match tuple {
        Value::Tuple(slots) => slots.clone(),
        _ => Vec::new(),
    };
    let rows: Vec<Vec<Value>> = tuples.values.iter().map(slots_in).collect();
    let count = rows.first().map_or(0, Vec::len);
    let column = |k: usize| rows.iter().filter_map(|row| row.get(k).cloned()).collect();
    (0..count).map(|k| stacked(&tuples.shape, column(k))).collect()
}

/// Values of one type and size under the extents of an array of them.
fn stacked(shape: &[usize], values: Vec<Value>) -> Value {
    let inner = values.first().map_or(&[][..], Value::shape);
    let shape = [shape, inner].concat();
    match values.first() {
        Some(Value::Tuple(_)) => Value::Tuples(Numbers::new(shape, values)),
        Some(Value::Tuples(_)) => {
            let all = values.iter().flat_map(|v| match v {
                Value::Tuples(n) => n.values.to_vec(),
                _ => Vec::new(),
            });
            Value::Tuples(Numbers::new(shape, all.collect()))
        }
        Some(Value::Complex(_) | Value::Complexes(_)) => {
            let all = values.iter().flat_map(|v| match v {
                Value::Complex(z) => vec![*z],
                Value::Complexes(n) => n.values.to_vec(),
                _ => Vec::new(),
            });
            Value::Complexes(Numbers::new(shape, all.collect()))
        }
        Some(Value::Int(_) | Value::Ints(_)) => {
            let all = values.iter().flat_map(|v| match v {
                Value::Int(i) => vec![*i],
                Value::Ints(n) => n.values.to_vec(),
                _ => Vec::new(),
            });
            Value::Ints(Numbers::new(shape, all.collect()))
        }
        _ => {
            let all = values.iter().flat_map(|v| match v {
                Value::Real(x) => vec![*x],
                Value::Reals(n) => n.values.to_vec(),
                _ => Vec::new(),
            });
            Value::Reals(Numbers::new(shape, all.collect()))
        }
    }
}

/// An array of `depth` dimensions of tuples, whose slots are given as arrays of these and more
/// dimensions.
pub fn array_of_tuples(depth: usize, slots: &[Value]) -> Value {
    let extents = |slot: &Value| slot.shape().get(..depth).map(<[usize]>::to_vec);
    let shape = slots.first().and_then(extents).unwrap_or_else(|| vec![0; depth]);
    let count: usize = shape.iter().product();
    let tuple_at =
        |k: usize| Value::Tuple(slots.iter().map(|slot| element(slot, depth, k)).collect());
    Value::Tuples(Numbers::new(shape, (0..count).map(tuple_at).collect()))
}

/// Element `k`, row by row, of an array of `depth` dimensions.
fn element(array: &Value, depth: usize, k: usize) -> Value {
    fn part<T: Clone>(n: &Numbers<T>, (depth, k): (usize, usize)) -> Result<T, Numbers<T>> {
        let shape = n.shape[depth..].to_vec();
        let size: usize = shape.iter().product();
        let values = n.values[k * size..(k + 1) * size].to_vec();
        match (shape.as_slice(), values.first()) {
            ([], Some(only)) => Ok(only.clone()),
            _ => Err(Numbers::new(shape, values)),
        }
    }
    let depth_and_index = (depth, k);
    match array {
        Value::Ints(n) => part(n, depth_and_index).map_or_else(Value::Ints, Value::Int),
        Value::Reals(n) => part(n, depth_and_index).map_or_else(Value::Reals, Value::Real),
        Value::Complexes(n) => {
            part(n, depth_and_index).map_or_else(Value::Complexes, Value::Complex)
        }
        Value::Tuples(n) => part(n, depth_and_index).unwrap_or_else(Value::Tuples),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy that shares its elements with another must keep them.
    #[test]
    fn only_memory_of_its_own_and_of_the_right_size_is_made_unset() {
        let mut left = Value::reals(vec![1.0, 2.0]);
        let copy = left.clone();
        assert!(!left.make_unset(&[2]));
        assert_eq!(copy, Value::reals(vec![1.0, 2.0]));
        drop(copy);
        assert!(!left.make_unset(&[3]));
        assert!(left.make_unset(&[2]));
        assert!(matches!(&left, Value::Reals(n) if n.values.iter().all(|x| x.is_nan())));
        let mut left = Value::Int(7);
        assert!(!left.make_unset(&[1]));
        assert!(left.make_unset(&[]));
        assert_eq!(left, Value::unset(&Type::Int, &[]));
    }
}
