//! Iterations of a loop: how many in each lane, and what the loop's variable is in them.

use crate::lower::Lowering;
use crate::lower::variables::lane_value::{LaneValue, int_value};
use crate::lower::variables::store::Storage;
use crate::typed::VariableId;
use crate::value::{Numbers, Value};

/// Iterations of a loop: how many in each current lane, and what the loop's variable is.
pub(in crate::lower) struct Iterations {
    /// By current lane.
    pub(in crate::lower) counts: Vec<usize>,
    /// The loop's variable.
    pub(in crate::lower) variable: VariableId,
    /// What the variable is.
    pub(in crate::lower) values: LoopValues,
}

/// See [`Iterations`].
#[derive(Clone)]
pub(in crate::lower) enum LoopValues {
    /// The first integer in each lane.
    From(Vec<i64>),
    /// Elements of a value: extents of one, the positions of its elements (within one lane's
    /// value).
    Elements {
        /// The value.
        over: Storage,
        /// Extents of one element.
        shape: Vec<usize>,
        /// For each iteration, where its element is.
        positions: Vec<Vec<u32>>,
    },
    /// Tuples, by slots.
    Tuples(Vec<LoopValues>),
}

impl LoopValues {
    /// How many elements there are; none of integers, which differ among lanes.
    pub(in crate::lower) fn count(&self) -> usize {
        match self {
            Self::From(_) => 0,
            Self::Elements { positions, .. } => positions.len(),
            Self::Tuples(slots) => slots.first().map_or(0, Self::count),
        }
    }
}

impl Lowering<'_> {
    /// What a loop's variable is in lanes that are iterations: `number[k]` of the lane `up[k]`
    /// around.
    pub(in crate::lower) fn loop_values(
        &mut self,
        iterations: &Iterations,
        up: &[u32],
        number: &[usize],
    ) -> LaneValue {
        self.values_at(&iterations.values, up, number)
    }

    fn values_at(&mut self, values: &LoopValues, up: &[u32], number: &[usize]) -> LaneValue {
        match values {
            LoopValues::From(low) => {
                let values: Vec<i64> = up
                    .iter()
                    .zip(number)
                    .map(|(lane, k)| low[*lane as usize] + *k as i64)
                    .collect();
                let same = values.iter().all(|v| *v == values[0]);
                if same && self.depth() == 0 && values.len() == 1 {
                    LaneValue::known(Value::Int(values[0]))
                } else {
                    LaneValue::known_lanes(Value::Ints(Numbers::new([values.len()], values)))
                }
            }
            LoopValues::Elements { over, shape, positions } => {
                let base = if over.is_uniform() { 0 } else { over.size() as u32 };
                let flat: Vec<u32> = up
                    .iter()
                    .zip(number)
                    .flat_map(|(lane, k)| positions[*k].iter().map(move |p| lane * base + p))
                    .collect();
                let full: Vec<usize> =
                    std::iter::once(up.len()).chain(shape.iter().copied()).collect();
                let form = over.read(&mut self.sink.graph, &flat, &full);
                LaneValue { form: form.expect("a whole value has all elements"), lanes: true }
            }
            LoopValues::Tuples(slots) => LaneValue::tuple(
                slots.iter().map(|slot| self.values_at(slot, up, number)).collect(),
            ),
        }
    }

    /// What a loop's variable is in iteration `k` of the lanes `kept`.
    pub(in crate::lower) fn step_value(
        &mut self,
        iterations: &Iterations,
        kept: &[u32],
        k: usize,
    ) -> LaneValue {
        if let LoopValues::From(low) = &iterations.values {
            let values: Vec<i64> = kept.iter().map(|lane| low[*lane as usize] + k as i64).collect();
            if values.iter().all(|v| *v == values[0]) {
                return LaneValue::known(Value::Int(values[0]));
            }
            return LaneValue::known_lanes(int_value(&[values.len()], values));
        }
        if let LoopValues::Elements { over, shape, positions } = &iterations.values
            && over.is_uniform()
        {
            let form = over.read(&mut self.sink.graph, &positions[k], shape);
            return LaneValue { form: form.expect("a whole value has all elements"), lanes: false };
        }
        self.loop_values(iterations, kept, &vec![k; kept.len()])
    }

    /// Gives a loop's variable its value.
    pub(in crate::lower) fn set_loop_variable(
        &mut self,
        iterations: &Iterations,
        value: LaneValue,
    ) {
        let shape = value.shape(&self.sink.graph);
        let (level, masks) = (self.depth(), self.env.masks.len());
        let storage = Storage::from_value(level, masks, shape, value);
        self.env.stores[iterations.variable.0 as usize] = Some(storage);
    }
}
