//! Precision: values -> which of them are computed in `f32`; a loop's instructions -> the same with
//! conversions between both.
//!
//! Loops are `f32` where that is quicker: where functions and matrices save more than conversions
//! cost. An instruction with a routine for `f32` has operands and results of that type. Others
//! compute in `f64`, between conversions of their operands and of what `f32` instructions read of
//! their results. Each place is converted once.

use exmc_graph::{Graph, Op, Precision, Unary};
use rustc_hash::{FxHashMap, FxHashSet};

use super::codes::code_of;
use super::{Builder, Lowering};
use crate::native::compile::loop_ir::{Compute, Kind, Usage, Value};
use crate::native::program::{Code, Instruction, Place, Region};
use crate::native::run::block::has_single;
use crate::precision::{decomposes, needs_all_digits};

/// What `f32` saves, in half cycles for eight elements as measured with AVX2: a function and a
/// division of them, an operation, and a column of a matrix with its products; and what a
/// conversion costs.
const FUNCTION: i64 = 24;
const DIVISION: i64 = 10;
const OPERATION: i64 = 1;
const COLUMN: i64 = 2;
const CONVERSION: i64 = 8;

/// What a value's computation in `f32` saves in its loop.
fn saved(values: &[Value], value: &Value) -> i64 {
    let is_sum = |&(reader, _): &(usize, Usage)| matches!(values[reader].work, Compute::Sum);
    match &value.work {
        Compute::MatVec(matrix) | Compute::MatTVec(matrix) => {
            COLUMN * i64::try_from(matrix.columns).unwrap_or(i64::MAX / COLUMN)
        }
        // Logarithms that are summed are one of a product, which is `f64`.
        Compute::Map(Op::Unary(Unary::Log | Unary::Log1p)) if value.readers.iter().all(is_sum) => {
            -CONVERSION
        }
        Compute::Map(op) => match code_of(op) {
            Ok(Code::Exp | Code::Log | Code::InvLogit | Code::Softplus) => FUNCTION,
            Ok(Code::Div | Code::Sqrt | Code::Reciprocal) => DIVISION,
            Ok(code) if has_single(code) => OPERATION,
            _ => -2 * CONVERSION,
        },
        Compute::Sum => {
            let operand_work = value.operands.first().map(|(view, _)| &values[view.value].work);
            let function = |op: &Unary| matches!(op, Unary::Log | Unary::Log1p | Unary::Softplus);
            let joined = matches!(operand_work, Some(Compute::Map(Op::Unary(op))) if function(op));
            if joined { 0 } else { -CONVERSION }
        }
        Compute::Scatter(_) | Compute::Copy | Compute::Pieces { .. } => -CONVERSION,
        _ => 0,
    }
}

/// Sizes of known numbers outside of which loops over them are `f64`: what is computed from such
/// numbers soon leaves the range of `f32`, which ends at 1e-38 and 3e38. So are sums of squares of
/// numbers of 1e-20.
const ORDINARY: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

/// The lengths of loops that read known numbers of extreme sizes.
fn extreme(graph: &Graph, values: &[Value]) -> FxHashSet<usize> {
    let mut spaces = FxHashSet::default();
    for value in values {
        let Compute::Shared(node) = value.work else { continue };
        let Some(known) = graph.as_constant(node) else { continue };
        let is_extreme = |x: &f64| *x != 0.0 && x.is_finite() && !ORDINARY.contains(&x.abs());
        if value.len > 1 && known.values().iter().any(is_extreme) {
            let of_lanes = value.readers.iter().filter(|(_, usage)| *usage == Usage::Lane);
            spaces.extend(of_lanes.map(|&(reader, _)| values[reader].space));
        }
    }
    spaces
}

/// The lengths of loops that are quicker in `f32`, conversions of what they read and of what others
/// read of them included.
fn gaining(long: Precision, values: &[Value]) -> FxHashSet<usize> {
    let mut gains: FxHashMap<usize, i64> = FxHashMap::default();
    let mut add = |space: usize, gain: i64| {
        let sum = gains.entry(space).or_default();
        *sum = sum.saturating_add(gain);
    };
    for value in values {
        let is_member = matches!(value.kind(), Kind::Elementwise);
        if is_member || value.kind() == Kind::Reduction {
            add(value.space, saved(values, value));
        }
        let of_lanes = value.readers.iter().filter(|(_, usage)| *usage == Usage::Lane);
        let mut spaces: Vec<usize> = of_lanes.map(|&(reader, _)| values[reader].space).collect();
        spaces.sort_unstable();
        spaces.dedup();
        if is_member {
            let others = spaces.iter().any(|&space| space != value.space);
            let is_read_whole = value.readers.iter().any(|(_, usage)| *usage == Usage::Whole);
            if value.root || others || is_read_whole {
                add(value.space, -CONVERSION);
            }
        } else if value.len > 1 {
            let known = matches!(value.work, Compute::Shared(_));
            let gain = if known { OPERATION } else { -CONVERSION };
            spaces.iter().for_each(|&space| add(space, gain));
        }
    }
    let lengths = values.iter().map(|value| value.space);
    lengths
        .filter(|&n| long.of(n) != Precision::F64 && gains.get(&n).is_some_and(|&gain| gain > 0))
        .collect()
}

/// The precision of every value of a program, given that of long loops; those that would not be
/// quicker are `f64`.
///
/// What goes into a matrix decomposition, what is computed element by element from one, and all
/// terms of sums with such a term are `f64`: large numbers nearly cancel there. Data are `f32`
/// where only loops that are read them. Loops over known numbers of extreme sizes are `f64`.
pub(super) fn precisions(long: Precision, graph: &Graph, values: &[Value]) -> Vec<Precision> {
    let mut found = vec![Precision::F64; values.len()];
    if long == Precision::F64 {
        return found;
    }
    let mut gaining = gaining(long, values);
    let extreme = extreme(graph, values);
    gaining.retain(|space| !extreme.contains(space));
    let mut exact = vec![false; values.len()];
    for (k, value) in values.iter().enumerate() {
        let inherited = value
            .operands
            .iter()
            .any(|(view, _)| exact[view.value] && values[view.value].kind() != Kind::Reduction);
        exact[k] = inherited || matches!(&value.work, Compute::Call(op) if decomposes(op));
    }
    for (k, value) in values.iter().enumerate().rev() {
        exact[k] |= value.readers.iter().any(|&(reader, _)| match &values[reader].work {
            Compute::Call(op) if needs_all_digits(op) => true,
            Compute::Scan(_) => true,
            _ => exact[reader],
        });
        let by_single = |&(reader, usage): &(usize, Usage)| {
            usage == Usage::Lane && found[reader] != Precision::F64
        };
        found[k] = match value.kind() {
            _ if exact[k] => Precision::F64,
            Kind::Elementwise | Kind::Reduction if gaining.contains(&value.space) => long,
            Kind::Elementwise | Kind::Reduction => Precision::F64,
            Kind::Input => {
                let known =
                    matches!(value.work, Compute::Shared(_)) && value.len > 1 && !value.root;
                let alone = !value.readers.is_empty() && value.readers.iter().all(by_single);
                if known && alone { long } else { Precision::F64 }
            }
            Kind::Call => Precision::F64,
        };
    }
    found
}

impl Lowering<'_> {
    /// Whether some of a loop's values are computed in `f32`.
    pub(super) fn is_single(&self, members: &[usize]) -> bool {
        members.iter().any(|&k| self.precisions[k] == Precision::F32)
    }
}

/// Types of places, and those that hold the same numbers in the other type.
#[derive(Default)]
struct Conversion {
    /// Registers that are `f32`.
    singles: FxHashSet<u32>,
    narrowed: FxHashMap<Place, Place>,
    widened: FxHashMap<Place, Place>,
}

impl Builder {
    /// Gives every instruction operands of its type.
    pub(super) fn convert(&mut self) {
        let mut known = Conversion::default();
        for mut i in std::mem::take(&mut self.stage.body) {
            if i.precision == Precision::F32 && !has_single(i.code) {
                i.precision = Precision::F64;
            }
            let operands = [&mut i.a, &mut i.b, &mut i.c].into_iter().zip(i.code.lanes());
            for (place, _) in operands.filter(|(_, is_lane)| *is_lane) {
                *place = match i.precision {
                    Precision::F32 => self.narrow(&mut known, *place),
                    _ => self.widen(&mut known, *place),
                };
            }
            let mut stored = Vec::new();
            if i.precision == Precision::F32 {
                let (first, [second, third]) = (!i.code.is_sink(), i.code.results());
                let results = [
                    first.then_some(&mut i.out),
                    second.then_some(&mut i.b),
                    third.then_some(&mut i.d),
                ];
                for place in results.into_iter().flatten() {
                    if place.region != Region::Register {
                        let memory = std::mem::replace(place, self.register());
                        known.narrowed.insert(memory, *place);
                        stored.push((memory, *place));
                    }
                    known.singles.insert(place.offset);
                }
            }
            self.stage.body.push(i);
            for (memory, register) in stored {
                self.push_conversion(Code::Widen, memory, register);
            }
        }
    }

    /// The place of the same numbers in `f32`; scalars' lines stay what they are.
    fn narrow(&mut self, known: &mut Conversion, place: Place) -> Place {
        let is_single = match place.region {
            Region::Single => true,
            Region::Register => known.singles.contains(&place.offset),
            _ => false,
        };
        if place.step == 0 || is_single {
            return place;
        }
        if let Some(&narrowed) = known.narrowed.get(&place) {
            return narrowed;
        }
        let narrowed = self.register();
        known.singles.insert(narrowed.offset);
        known.narrowed.insert(place, narrowed);
        self.push_conversion(Code::Narrow, narrowed, place);
        narrowed
    }

    /// The place of the same numbers in `f64`.
    fn widen(&mut self, known: &mut Conversion, place: Place) -> Place {
        let is_single = match place.region {
            Region::Single => true,
            Region::Register => known.singles.contains(&place.offset),
            _ => false,
        };
        if !is_single {
            return place;
        }
        if let Some(&widened) = known.widened.get(&place) {
            return widened;
        }
        let widened = self.register();
        known.widened.insert(place, widened);
        self.push_conversion(Code::Widen, widened, place);
        widened
    }

    fn push_conversion(&mut self, code: Code, out: Place, a: Place) {
        let (precision, [b, c, d]) = (Precision::F64, [Place::NONE; 3]);
        let conversion = Instruction { code, precision, out, a, b, c, d, extra: None };
        self.stage.body.push(conversion);
    }
}
