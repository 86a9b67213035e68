//! A loop with carried state: the copies and instructions of one step -> one function that runs all
//! steps.
//!
//! What the steps hand on stays in registers, unless an instruction has no code and is called:
//! calls keep none. Every value is written to its place, too, for what reads it there. Counters say
//! how far the arrays of all steps have moved: one for every distance between the elements of
//! neighbouring steps.

use exmc_fault::{Fault, planted};

use super::assembler::{Address, MAX_COUNTERS, Moves};
use super::basic_block::{Emitter, HALF, NUMBER, address};
use super::cache::{Cache, Value};
use super::functions::function_of;
use super::{Item, has_code};
use crate::native::program::LANES;
use crate::native::run::block::Step;
use crate::native::run::scan_loop::{CarryMove, CarryMoves};

/// Most registers that hold what is carried, and most beside functions, which need many themselves.
const MAX_CARRIED: usize = 6;
const MAX_CARRIED_BESIDE_FUNCTIONS: usize = 2;

/// Something that is carried, and its registers.
type Carried = (Address, Value);

impl Emitter {
    /// Writes a function that runs a loop; where it begins, or nothing where a copy is longer than
    /// a vector or there are more distances than counters. The instructions stay where they are for
    /// as long as the function may run.
    pub(in crate::native) fn emit_turns(
        &mut self,
        copies: &CarryMoves,
        body: &[Item],
    ) -> Option<usize> {
        let CarryMoves { length, reverse, starts, reads, writes, ends } = copies;
        let all = || starts.iter().chain(reads).chain(writes).chain(ends);
        if all().any(|copy| copy.len > LANES) {
            return None;
        }
        // The first counts steps.
        let mut distances = vec![1];
        for &distance in all().flat_map(|copy| &copy.strides) {
            if distance > 0 && !distances.contains(&distance) {
                distances.push(distance);
            }
        }
        let last = i32::try_from(NUMBER * (length - 1)).ok()?;
        let sign = if *reverse { -1 } else { 1 };
        let changes = distances.iter().map(|d| i32::try_from(NUMBER * d).map(|d| sign * d));
        let changes: Vec<i32> = changes.collect::<Result<_, _>>().ok()?;
        if distances.len() > MAX_COUNTERS {
            return None;
        }
        let start = self.assembler.bytes.len();
        self.assembler.begin_turns(self.bases);
        self.cache = Cache::new();
        self.in_turns = true;
        for copy in starts {
            self.copy(copy, &distances, &[]);
        }
        let calls = body.iter().any(|item| has_code(item).is_none());
        let function = |item: &Item| item.code.is_some_and(|code| function_of(code).is_some());
        let most = match body.iter().any(function) {
            _ if calls => 0,
            true => MAX_CARRIED_BESIDE_FUNCTIONS,
            false => MAX_CARRIED,
        };
        let carried = self.carry(starts, most);
        let firsts = distances.iter().map(|d| if *reverse { d * NUMBER * (length - 1) } else { 0 });
        let steps = self.assembler.begin_steps(&firsts.collect::<Vec<_>>());
        self.cache.forget();
        for &(address, value) in &carried {
            self.cache.know(address, value, None);
        }
        for copy in reads {
            self.copy(copy, &distances, &carried);
        }
        for item in body {
            self.cache.begin();
            match has_code(item) {
                Some(code) => self.instruction(code, &item.step),
                None => {
                    let step = (&raw const item.step).addr();
                    self.assembler
                        .call(run_step as unsafe extern "sysv64" fn(&Step) as usize, step);
                    self.cache.forget();
                }
            }
        }
        for copy in writes {
            self.copy(copy, &distances, &carried);
        }
        self.assembler.end_steps(steps, &changes, last);
        self.cache.forget();
        for copy in ends {
            self.copy(copy, &distances, &[]);
        }
        self.assembler.end_turns();
        (self.in_turns, self.short) = (false, false);
        Some(start)
    }

    /// Registers for what is carried, with its first values; none if there would be too many.
    fn carry(&mut self, starts: &[CarryMove], most: usize) -> Vec<Carried> {
        let registers =
            |copy: &CarryMove| if copy.next != 0 && copy.len > LANES / 2 { 2 } else { 1 };
        if starts.iter().map(registers).sum::<usize>() > most {
            return Vec::new();
        }
        let mut carried = Vec::new();
        for copy in starts {
            let to = address(copy.to);
            self.cache.begin();
            let value = match (copy.to_line, registers(copy)) {
                (true, _) => Value::Equal(self.fresh()),
                (false, 1) => Value::Low(self.fresh()),
                _ => Value::Lanes([self.fresh(), self.fresh()]),
            };
            self.read(to, value);
            self.cache.keep(value);
            carried.push((to, value));
        }
        carried
    }

    /// Loads the registers of a value.
    fn read(&mut self, address: Address, value: Value) {
        self.assembler.load(value.half(0), address);
        if let Value::Lanes([_, high]) = value {
            self.assembler.load(high, address.plus(HALF));
        }
    }

    fn copy(&mut self, copy: &CarryMove, distances: &[usize], carried: &[Carried]) {
        let place = |first: usize, stride: usize| {
            let counter = distances.iter().position(|d| *d == stride);
            let moves =
                counter.and_then(|k| u8::try_from(k).ok()).map_or(Moves::Never, Moves::BySteps);
            Address { first, moves }
        };
        let from = place(copy.from.addr(), copy.strides[0]);
        let to = place(copy.to.addr(), copy.strides[1]);
        self.cache.begin();
        let value = self.source(copy, from);
        if to.moves != Moves::Never {
            let halves = if copy.len > LANES / 2 { 2 } else { 1 };
            for half in 0..halves {
                let other = self.fresh();
                let count = (copy.len - LANES / 2 * half).min(LANES / 2);
                let (address, register) = (to.plus(HALF * half), value.half(half));
                self.assembler.store_first(address, register, count, other);
            }
            return;
        }
        self.cache.overwrite(to);
        let kept = carried.iter().find(|(address, _)| *address == to).map(|(_, value)| *value);
        // A register holds what belongs in one place.
        let target = kept.unwrap_or_else(|| match value {
            Value::Equal(_) => Value::Equal(self.fresh()),
            Value::Low(_) => Value::Low(self.fresh()),
            Value::Lanes(_) => Value::Lanes([self.fresh(), self.fresh()]),
        });
        let stale = kept.is_some() && planted(Fault::StaleCarry);
        let halves = if matches!(target, Value::Lanes(_)) { 2 } else { 1 };
        for half in 0..if stale { 0 } else { halves } {
            self.assembler.copy(target.half(half), value.half(half));
        }
        self.write(to, target);
        if kept.is_none() {
            self.cache.know(to, target, None);
        }
    }

    /// The registers of what is copied.
    fn source(&mut self, copy: &CarryMove, from: Address) -> Value {
        let known = self.cache.find(from);
        if copy.next != 0 {
            let short = copy.len <= LANES / 2;
            match known {
                Some(value) if short || !matches!(value, Value::Low(_)) => return value,
                _ => {}
            }
            let value = match short {
                true => Value::Low(self.fresh()),
                false => Value::Lanes([self.fresh(), self.fresh()]),
            };
            self.read(from, value);
            return value;
        }
        match known {
            Some(value @ Value::Equal(_)) => value,
            Some(value) => {
                let register = self.fresh();
                self.assembler.spread_first(register, value.half(0));
                Value::Equal(register)
            }
            None => {
                let register = self.fresh();
                self.assembler.spread(register, from);
                Value::Equal(register)
            }
        }
    }
}

/// Runs an instruction without code.
///
/// # Safety
/// As for [`Routine::run`](exmc_math::simd::Routine::run) of the step's.
#[expect(unsafe_code, reason = "a step holds addresses of its frame")]
unsafe extern "sysv64" fn run_step(step: &Step) {
    // SAFETY: the caller vouches for it.
    unsafe { step.routine.call(&step.span, step) };
}
