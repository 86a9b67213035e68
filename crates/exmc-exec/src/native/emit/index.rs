//! Elements by an index that is known: instructions on at most one vector -> lanes in another
//! order.

use exmc_fault::{Fault, planted};

use super::assembler::{ADD, Register};
use super::basic_block::{Emitter, NUMBER, ZERO, address};
use super::cache::Value;
use crate::native::program::{Code, LANES};
use crate::native::run::block::{Detail, Operand, Step};

/// Lanes of a register.
const REGISTER: usize = LANES / 2;

impl Emitter {
    /// Whether an instruction reads or adds by an index, between arrays of one vector each.
    pub(super) fn has_index(code: Code, step: &Step) -> bool {
        let Some(Detail::Index { index, len }) = step.detail.as_deref() else { return false };
        // Runs of equal elements are added in another order.
        let in_order = index.first_runs.is_empty() || index.rises;
        let small = *len <= LANES
            && step.span.size <= LANES
            && index.elements.iter().all(|&k| (k as usize) < *len);
        match code {
            Code::Load => small,
            Code::Scatter => small && in_order && !planted(Fault::GradientGatherOverwrites),
            _ => false,
        }
    }

    /// Elements of a vector by index.
    pub(super) fn elements(&mut self, step: &Step) -> Value {
        let Some(Detail::Index { index, len }) = step.detail.as_deref() else {
            unreachable!("`has_index` has looked")
        };
        let elements = &index.elements[..step.span.len];
        if step.out.step == 0 {
            let target = self.fresh();
            let from = address(step.a.first).plus(NUMBER * elements[0] as usize);
            self.assembler.spread(target, from);
            return Value::Equal(target);
        }
        let table = self.table(&step.a, *len);
        if let Value::Equal(register) = table {
            let target = self.fresh();
            self.assembler.copy(target, register);
            return Value::Equal(target);
        }
        let half = |emitter: &mut Self, half: usize| {
            let lane = |k: usize| elements.get(REGISTER * half + k).map(|&k| k as usize);
            let (target, other) = (emitter.fresh(), emitter.fresh());
            emitter.lanes(table, std::array::from_fn(lane), [target, other]);
            target
        };
        let low = half(self, 0);
        if self.short { Value::Low(low) } else { Value::Lanes([low, half(self, 1)]) }
    }

    /// Sums of elements by index, each in the elements' order.
    pub(super) fn sums(&mut self, step: &Step) -> Value {
        let Some(Detail::Index { index, len }) = step.detail.as_deref() else {
            unreachable!("`has_index` has looked")
        };
        let elements = &index.elements[..step.span.len];
        let terms = self.table(&step.a, elements.len());
        let mut addends = [const { Vec::new() }; LANES];
        for (j, &k) in elements.iter().enumerate() {
            addends[k as usize].push(j);
        }
        let rounds = addends.iter().map(Vec::len).max().unwrap_or(0);
        let zero = self.line(address(&raw const ZERO)).half(0);
        let halves = if *len > REGISTER { 2 } else { 1 };
        let (some, other) = (self.fresh(), self.fresh());
        let mut sums = [0; 2];
        for half in 0..halves {
            let sum = self.fresh();
            self.assembler.copy(sum, zero);
            for round in 0..rounds {
                let lane = |k: usize| addends[REGISTER * half + k].get(round).copied();
                let lanes: [Option<usize>; REGISTER] = std::array::from_fn(lane);
                self.lanes(terms, lanes, [some, other]);
                if lanes.contains(&None) {
                    self.assembler.mix(some, some, zero, lanes.map(|lane| lane.is_none()));
                }
                self.assembler.operate(ADD, sum, sum, some);
            }
            sums[half] = sum;
        }
        if step.out.step == 0 {
            let target = self.fresh();
            self.assembler.spread_first(target, sums[0]);
            return Value::Equal(target);
        }
        if halves == 1 { Value::Low(sums[0]) } else { Value::Lanes(sums) }
    }

    /// The registers of an array of so many elements, at most a vector.
    fn table(&mut self, operand: &Operand, len: usize) -> Value {
        let short = std::mem::replace(&mut self.short, len <= REGISTER);
        let value = self.operand(operand);
        self.short = short;
        value
    }

    /// Fills a register with these lanes of a vector, by way of another; those of nothing are
    /// anybody's.
    fn lanes(
        &mut self,
        vector: Value,
        lanes: [Option<usize>; REGISTER],
        [target, other]: [Register; 2],
    ) {
        let part = |half: usize| {
            lanes.map(|lane| match lane {
                Some(k) if k / REGISTER == half => u8::try_from(k % REGISTER).unwrap_or(0),
                _ => 0,
            })
        };
        let upper = lanes.map(|lane| lane.is_some_and(|k| k >= REGISTER));
        let all_upper = lanes.iter().flatten().all(|&k| k >= REGISTER);
        match vector {
            Value::Equal(register) => self.assembler.copy(target, register),
            _ if !upper.contains(&true) => {
                self.assembler.permute(target, vector.half(0), part(0));
            }
            _ if all_upper => self.assembler.permute(target, vector.half(1), part(1)),
            _ => {
                self.assembler.permute(target, vector.half(0), part(0));
                self.assembler.permute(other, vector.half(1), part(1));
                self.assembler.mix(target, target, other, upper);
            }
        }
    }
}
