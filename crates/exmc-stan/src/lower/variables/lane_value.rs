//! Values during lowering: known numbers or graph nodes, the same in all lanes or one for each.

use std::borrow::Cow;

use exmc_graph::{DType, Graph, NodeId, Shape, Tensor};

use crate::typed::Type;
use crate::value::{Numbers, Value};

/// A value of an expression.
#[derive(Clone, Debug)]
pub(in crate::lower) struct LaneValue {
    /// What.
    pub(in crate::lower) form: Form,
    /// Whether it has a leading axis with one value for each lane of the current level.
    pub(in crate::lower) lanes: bool,
}

/// See [`LaneValue`].
#[derive(Clone, Debug)]
pub(in crate::lower) enum Form {
    /// Numbers that depend on data only.
    Known(Value),
    /// What depends on parameters.
    Node(NodeId),
    /// The slots of a tuple, or of an array of them the slots' arrays, each with its own flag.
    Tuple(Vec<LaneValue>),
}

impl LaneValue {
    /// Known and the same in all lanes.
    pub(in crate::lower) fn known(value: Value) -> Self {
        super::host_conversion::from_host(value)
    }

    /// Known, with a leading lane axis.
    pub(in crate::lower) fn known_lanes(value: Value) -> Self {
        Self { form: Form::Known(value), lanes: true }
    }

    /// A real number.
    pub(in crate::lower) fn real(value: f64) -> Self {
        Self::known(Value::Real(value))
    }

    /// A node.
    pub(in crate::lower) fn node(node: NodeId, lanes: bool) -> Self {
        Self { form: Form::Node(node), lanes }
    }

    /// A tuple.
    pub(in crate::lower) fn tuple(slots: Vec<Self>) -> Self {
        Self { form: Form::Tuple(slots), lanes: false }
    }

    /// The numbers, if they are known.
    pub(in crate::lower) fn as_known(&self) -> Option<&Value> {
        match &self.form {
            Form::Known(value) => Some(value),
            _ => None,
        }
    }

    /// Known, all slots of a tuple too.
    pub(in crate::lower) fn is_known(&self) -> bool {
        match &self.form {
            Form::Known(_) => true,
            Form::Node(_) => false,
            Form::Tuple(slots) => slots.iter().all(Self::is_known),
        }
    }

    /// Extents with the lane axis, if there is one.
    pub(in crate::lower) fn full_shape(&self, g: &Graph) -> Vec<usize> {
        match &self.form {
            Form::Known(value) => value.shape().to_vec(),
            Form::Node(node) => g.shape(*node).extents().to_vec(),
            Form::Tuple(_) => Vec::new(),
        }
    }

    /// Extents of one lane's value.
    pub(in crate::lower) fn shape(&self, g: &Graph) -> Vec<usize> {
        let mut shape = self.full_shape(g);
        if self.lanes {
            shape.remove(0);
        }
        shape
    }

    /// The value as a node with the same axes.
    pub(in crate::lower) fn to_node(&self, g: &mut Graph) -> NodeId {
        match &self.form {
            Form::Known(value) => constant(g, value),
            Form::Node(node) => *node,
            Form::Tuple(_) => unreachable!("the checker lets no tuple be computed with"),
        }
    }
}

/// Known numbers as a constant.
pub(in crate::lower) fn constant(g: &mut Graph, value: &Value) -> NodeId {
    constant_of(g, value.shape(), reals(value).into_owned(), is_int(value))
}

/// Numbers, row by row, as a constant; whole ones if `int`.
pub(in crate::lower) fn constant_of(
    g: &mut Graph,
    shape: &[usize],
    numbers: Vec<f64>,
    int: bool,
) -> NodeId {
    let shape = Shape::from(shape);
    // A stretched number is easier to see through than an array of equal ones.
    if numbers.len() > 1
        && let Some(first) = numbers.first()
        && numbers.iter().all(|v| v.to_bits() == first.to_bits())
    {
        let single = tensor(Shape::scalar(), vec![*first], int);
        let single = g.constant(single);
        return g.broadcast_to(single, &shape);
    }
    g.constant(tensor(shape, numbers, int))
}

fn tensor(shape: Shape, numbers: Vec<f64>, int: bool) -> Tensor {
    let tensor =
        Tensor::real(shape, numbers).expect("a value has as many numbers as its extents say");
    if int { tensor.into_int().unwrap_or_else(|tensor| tensor) } else { tensor }
}

/// Whether a known value is of integers.
pub(in crate::lower) fn is_int(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Ints(_))
}

/// All numbers, row by row.
pub(in crate::lower) fn reals(value: &Value) -> Cow<'_, [f64]> {
    match value {
        Value::Int(i) => Cow::Owned(vec![*i as f64]),
        Value::Real(x) => Cow::Owned(vec![*x]),
        Value::Ints(n) => Cow::Owned(n.values.iter().map(|v| *v as f64).collect()),
        Value::Reals(n) => Cow::Borrowed(&n.values),
        _ => Cow::Owned(Vec::new()),
    }
}

/// All integers, row by row; nothing for reals.
pub(in crate::lower) fn ints(value: &Value) -> Option<Cow<'_, [i64]>> {
    match value {
        Value::Int(i) => Some(Cow::Owned(vec![*i])),
        Value::Ints(n) => Some(Cow::Borrowed(&n.values)),
        _ => None,
    }
}

/// Numbers under extents; a scalar for none.
pub(in crate::lower) fn real_value(shape: &[usize], mut numbers: Vec<f64>) -> Value {
    match (shape, numbers.len()) {
        ([], 1) => Value::Real(numbers.swap_remove(0)),
        _ => Value::Reals(Numbers::new(shape, numbers)),
    }
}

/// Integers under extents; a scalar for none.
pub(in crate::lower) fn int_value(shape: &[usize], mut numbers: Vec<i64>) -> Value {
    match (shape, numbers.len()) {
        ([], 1) => Value::Int(numbers.swap_remove(0)),
        _ => Value::Ints(Numbers::new(shape, numbers)),
    }
}

/// Some of a value's numbers, by position, under new extents.
pub(in crate::lower) fn pick_known(value: &Value, positions: &[u32], shape: &[usize]) -> Value {
    match value {
        Value::Int(i) => int_value(shape, vec![*i; positions.len()]),
        Value::Ints(n) => {
            int_value(shape, positions.iter().map(|p| n.values[*p as usize]).collect())
        }
        other => {
            let numbers = reals(other);
            real_value(shape, positions.iter().map(|p| numbers[*p as usize]).collect())
        }
    }
}

/// The value of one lane.
pub(in crate::lower) fn lane_of(value: &Value, lane: usize) -> Value {
    let shape = &value.shape()[1..];
    let size: usize = shape.iter().product();
    let range = lane * size..(lane + 1) * size;
    match value {
        Value::Ints(n) => int_value(shape, n.values[range].to_vec()),
        Value::Reals(n) => real_value(shape, n.values[range].to_vec()),
        other => other.clone(),
    }
}

/// One value for each lane, together; `None` when their extents differ.
pub(in crate::lower) fn stack_lanes(values: &[Value]) -> Option<Value> {
    let shape = values.first()?.shape();
    if values.iter().any(|v| v.shape() != shape) {
        return None;
    }
    let full: Vec<usize> = std::iter::once(values.len()).chain(shape.iter().copied()).collect();
    if values.iter().all(is_int) {
        let all = values.iter().filter_map(ints).flat_map(|v| v.into_owned()).collect();
        return Some(Value::Ints(Numbers::new(full, all)));
    }
    let plain =
        |v: &Value| matches!(v, Value::Int(_) | Value::Real(_) | Value::Ints(_) | Value::Reals(_));
    if !values.iter().all(plain) {
        return None;
    }
    let all = values.iter().flat_map(|v| reals(v).into_owned()).collect();
    Some(Value::Reals(Numbers::new(full, all)))
}

/// Integers as reals, where the type says so.
pub(in crate::lower) fn promoted(value: &Value) -> Value {
    match value {
        Value::Int(i) => Value::Real(*i as f64),
        Value::Ints(n) => {
            let numbers = n.values.iter().map(|v| *v as f64).collect();
            Value::Reals(Numbers::new(n.shape.clone(), numbers))
        }
        other => other.clone(),
    }
}

/// What a tensor holds, as a value.
pub(in crate::lower) fn from_tensor(tensor: &Tensor, int: bool) -> Value {
    let shape = tensor.shape().extents();
    if int && tensor.dtype() == DType::Int {
        int_value(shape, tensor.values().iter().map(|v| *v as i64).collect())
    } else {
        real_value(shape, tensor.values().to_vec())
    }
}

/// Whether the innermost elements of a type are integers.
pub(in crate::lower) fn holds_ints(ty: &Type) -> bool {
    *ty.array_parts().1 == Type::Int
}
