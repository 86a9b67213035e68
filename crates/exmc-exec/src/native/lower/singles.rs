//! Precision: values -> which of them are computed in `f32`; a loop's instructions -> the same with conversions between both.
//!
//! An instruction with a routine for `f32` has operands and results of that type. Others compute in `f64`, between
//! conversions of their operands and of what `f32` instructions read of their results. Each place is converted once.

use exmc_graph::Precision;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Builder, Lowering};
use crate::native::block::has_single;
use crate::native::program::{Code, Instruction, Place, Region};
use crate::native::values::{Kind, Usage, Value, Work};
use crate::precision::{decomposes, needs_all_digits};

/// The precision of every value of a program, given that of long loops.
///
/// What goes into a matrix decomposition, what is computed element by element from one, and all terms of sums with such a
/// term are `f64`: large numbers nearly cancel there. Data are `f32` where only loops that are read them.
pub(super) fn precisions(long: Precision, values: &[Value]) -> Vec<Precision> {
    let mut found = vec![Precision::F64; values.len()];
    if long == Precision::F64 {
        return found;
    }
    let mut exact = vec![false; values.len()];
    for (k, value) in values.iter().enumerate() {
        let inherited = value
            .operands
            .iter()
            .any(|(view, _)| exact[view.value] && values[view.value].kind() != Kind::Sink);
        exact[k] = inherited || matches!(&value.work, Work::Call(op) if decomposes(op));
    }
    for (k, value) in values.iter().enumerate().rev() {
        exact[k] |= value.readers.iter().any(|&(reader, _)| match &values[reader].work {
            Work::Call(op) if needs_all_digits(op) => true,
            Work::Scan(_) => true,
            _ => exact[reader],
        });
        let by_single = |&(reader, usage): &(usize, Usage)| {
            usage == Usage::Lane && found[reader] != Precision::F64
        };
        found[k] = match value.kind() {
            _ if exact[k] => Precision::F64,
            Kind::Member | Kind::Sink => long.of(value.space),
            Kind::Given => {
                let known = matches!(value.work, Work::Shared(_)) && value.len > 1 && !value.root;
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
