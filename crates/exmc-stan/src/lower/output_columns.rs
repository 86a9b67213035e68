//! Parameters and transformed parameters -> what is recorded with each draw, in the order and under
//! the names of CmdStan's columns.

use exmc_graph::{Binary, DType, NodeId};
use exmc_model::TraceEntry;

use super::Lowering;
use super::abort::LowerResult;
use super::split_tuples::TupleSlots;
use super::variables::lane_value::{Form, LaneValue};
use crate::check::types::is_complex;
use crate::source::Span;
use crate::typed::{Declaration, Type, VariableId};

impl Lowering<'_> {
    /// Adds a variable of the program as it was checked.
    pub(super) fn record(
        &mut self,
        declaration: &Declaration,
        slots: &TupleSlots,
        trace: &mut Vec<TraceEntry>,
    ) -> LowerResult<()> {
        let variable = self.context.program.variable(declaration.variable);
        let value = self.value_of(declaration.variable, slots, declaration.span)?;
        self.record_value(&variable.name, &variable.ty, &value, trace);
        Ok(())
    }

    /// A variable's value; a tuple's where it was taken apart.
    fn value_of(
        &mut self,
        id: VariableId,
        slots: &TupleSlots,
        span: Span,
    ) -> LowerResult<LaneValue> {
        match slots.get(&id) {
            Some(ids) => {
                let values = ids.iter().map(|slot| self.value_of(*slot, slots, span));
                Ok(LaneValue::tuple(values.collect::<LowerResult<Vec<_>>>()?))
            }
            None => self.read_whole(id, span),
        }
    }

    /// A tuple's slots are `name:1`, elements of arrays of tuples `name.2:1`, the parts of a
    /// complex number `name.real` and `name.imag`, those of elements `name.2.real`, with the first
    /// index fastest.
    fn record_value(
        &mut self,
        name: &str,
        ty: &Type,
        value: &LaneValue,
        trace: &mut Vec<TraceEntry>,
    ) {
        if let (depth, Type::Tuple(types)) = ty.array_parts() {
            let Form::Tuple(slots) = &value.form else { return };
            let shape = self.outer_shape(value, depth);
            for k in 0..shape.iter().product() {
                let name = indexed(name, k, &shape);
                for (number, (slot, ty)) in slots.iter().zip(types).enumerate() {
                    let element = self.element_of(slot, depth, k);
                    self.record_value(&format!("{name}:{}", number + 1), ty, &element, trace);
                }
            }
            return;
        }
        let node = value.to_node(&mut self.sink.graph);
        if !is_complex(ty) {
            self.record_node(name.to_owned(), node, trace);
            return;
        }
        let shape = self.outer_shape(value, ty.rank());
        let count: usize = shape.iter().product();
        let flat = self.sink.graph.reshape(node, [2 * count]);
        let mut places: Vec<usize> = (0..count).collect();
        places.sort_by_key(|k| {
            let mut index = index_of(*k, &shape);
            index.reverse();
            index
        });
        for k in places {
            let name = indexed(name, k, &shape);
            for (part, offset) in [("real", 2 * k), ("imag", 2 * k + 1)] {
                let number = self.sink.graph.slice(flat, 0, offset, offset + 1);
                let number = self.sink.graph.reshape(number, exmc_graph::Shape::scalar());
                self.record_node(format!("{name}.{part}"), number, trace);
            }
        }
    }

    fn record_node(&mut self, name: String, mut node: NodeId, trace: &mut Vec<TraceEntry>) {
        if self.sink.graph.node(node).dtype == DType::Int {
            let zero = self.sink.graph.scalar(0.0);
            node = self.sink.graph.binary(Binary::Add, node, zero);
        }
        let shape = self.sink.graph.shape(node).clone();
        trace.push(TraceEntry { name, node, shape, plates: Vec::new() });
    }

    /// The first `depth` extents of a value, of a tuple those of its first slot.
    fn outer_shape(&self, value: &LaneValue, depth: usize) -> Vec<usize> {
        match &value.form {
            Form::Tuple(slots) => {
                slots.first().map_or_else(|| vec![0; depth], |slot| self.outer_shape(slot, depth))
            }
            _ => value.shape(&self.sink.graph).into_iter().take(depth).collect(),
        }
    }

    /// Element `k`, row by row, of an array of `depth` dimensions.
    fn element_of(&mut self, value: &LaneValue, depth: usize, k: usize) -> LaneValue {
        if depth == 0 {
            return value.clone();
        }
        if let Form::Tuple(slots) = &value.form {
            let slots = slots.iter().map(|slot| self.element_of(slot, depth, k));
            return LaneValue::tuple(slots.collect());
        }
        let shape = value.shape(&self.sink.graph);
        let (outer, inner) = shape.split_at(depth);
        let (count, size) = (outer.iter().product(), inner.iter().product());
        let node = value.to_node(&mut self.sink.graph);
        let rows = self.sink.graph.reshape(node, [count, size]);
        let row = self.sink.graph.slice(rows, 0, k, k + 1);
        LaneValue::node(self.sink.graph.reshape(row, inner), false)
    }
}

/// The index, from 1, of the element at a row-major place.
fn index_of(place: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = place;
    let mut index = vec![0; shape.len()];
    for (i, extent) in index.iter_mut().zip(shape).rev() {
        *i = rest % extent + 1;
        rest /= extent;
    }
    index
}

/// `name.2.1`
fn indexed(name: &str, place: usize, shape: &[usize]) -> String {
    index_of(place, shape).iter().fold(name.to_owned(), |name, i| format!("{name}.{i}"))
}
