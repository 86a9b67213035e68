//! Sums of a loop's lanes: instructions that add up -> accumulators in registers.
//!
//! A block's sums begin at zero and are left in memory, where
//! [`finish_emitted`](crate::native::run::block::finish_emitted) ends them. A run of instructions
//! has no more sums than registers can hold: one in memory would wait for its own store.

use exmc_fault::{Fault, planted};

use super::Item;
use super::assembler::{ADD, ADD_BITS, AND, Encoding, MIN, MUL, MUL_ADD, OR, Source};
use super::basic_block::{Emitter, HALF, TAILS, address};
use super::cache::{LINE, Value};
use crate::native::program::{Code, LANES};
use crate::native::run::block::{EXPONENTS, FACTORS, FRACTION, MIN_FACTORS, NO_NUMBER, Step};

pub(super) const ONE: u64 = 1.0_f64.to_bits();
/// The exponent is the bits from here on.
const EXPONENT: u8 = 52;

/// One accumulator of a sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accumulator {
    /// First byte.
    address: usize,
    /// What it begins with, in all lanes.
    initial: u64,
    value: Option<Value>,
}

/// Whether an instruction adds up lanes.
pub(super) fn is_sum(code: Code) -> bool {
    matches!(code, Code::Sum | Code::Dot | Code::SumLog | Code::SumLog1p)
}

/// Registers that a sum holds all the time: with whole vectors half as many.
pub(super) fn kept(code: Code) -> usize {
    match code {
        Code::Sum | Code::Dot => 2,
        Code::SumLog | Code::SumLog1p => 4,
        _ => 0,
    }
}

/// Registers that an instruction of a loop uses besides, at most: both halves of what it reads and
/// of its result, a constant, and what it needs on the way.
pub(super) fn needs(code: Code) -> usize {
    match code {
        Code::Min | Code::Max | Code::MulAdd | Code::MulSub | Code::NegMulAdd => 8,
        Code::AddThenMul | Code::SubThenMul | Code::MulThenMul => 8,
        Code::Lt | Code::Le | Code::Eq | Code::Ne | Code::AddThenReciprocal => 7,
        Code::Add | Code::Sub | Code::Mul | Code::Div | Code::Not => 6,
        Code::Dot | Code::SumLog | Code::SumLog1p => 6,
        Code::Neg | Code::Abs | Code::Sqrt | Code::Square | Code::Reciprocal => 5,
        Code::Copy | Code::Zero | Code::Sum | Code::Narrow | Code::Widen => 5,
        _ => 9,
    }
}

/// The accumulators of a sum: what each begins with, and whether every vector changes it.
fn accumulators(code: Code, step: &Step) -> Vec<(Accumulator, bool)> {
    let accumulator_at =
        |address: usize, initial: u64| Accumulator { address, initial, value: None };
    let partial = |line: usize| step.c.first.addr() + LINE * line;
    let out = step.out.first.addr();
    match code {
        Code::Sum | Code::Dot => vec![(accumulator_at(out, 0), true)],
        _ => vec![
            (accumulator_at(out, ONE), true),
            (accumulator_at(partial(MIN_FACTORS), ONE), true),
            (accumulator_at(partial(EXPONENTS), 0), false),
            (accumulator_at(partial(NO_NUMBER), 0), false),
        ],
    }
}

impl Emitter {
    /// Sets the accumulators of all sums to what they begin with.
    pub(super) fn begin_sums(&mut self, body: &[Item]) {
        for Item { code, single, step } in body {
            let Some(code) = code.or(*single).filter(|&code| is_sum(code)) else { continue };
            // An accumulator is one vector.
            self.short = self.assembler.is_wide();
            for (mut accumulator, often) in accumulators(code, step) {
                self.cache.begin();
                let value = self.fresh_vectors();
                for &register in value.registers() {
                    self.assembler.set_to(register, Source::Literal(accumulator.initial));
                }
                if often {
                    self.cache.keep(value);
                    accumulator.value = Some(value);
                } else {
                    self.store_accumulator(accumulator, value);
                }
                self.accumulators.push(accumulator);
            }
        }
    }

    /// Leaves the accumulators in their places.
    pub(super) fn end_sums(&mut self) {
        self.short = self.assembler.is_wide();
        for accumulator in std::mem::take(&mut self.accumulators) {
            if let Some(value) = accumulator.value {
                self.store_accumulator(accumulator, value);
            }
        }
    }

    fn store_accumulator(&mut self, accumulator: Accumulator, value: Value) {
        self.write(address(std::ptr::without_provenance::<u8>(accumulator.address)), value);
    }

    /// The registers of an accumulator, which instructions change in place.
    fn accumulator(&self, address: usize) -> Value {
        let accumulator =
            self.accumulators.iter().find(|accumulator| accumulator.address == address);
        accumulator
            .and_then(|accumulator| accumulator.value)
            .expect("`begin_sums` made those of all sums")
    }

    /// Fresh registers for what a turn is over.
    fn fresh_vectors(&mut self) -> Value {
        match self.short {
            true => Value::Low(self.fresh()),
            false => Value::Lanes([self.fresh(), self.fresh()]),
        }
    }

    /// Adds a vector, of which only the first `rest` lanes are elements if there is a rest.
    pub(super) fn add_up(&mut self, code: Code, step: &Step, rest: Option<usize>) {
        let out = step.out.first.addr();
        match code {
            Code::Sum => {
                let value = self.operand(&step.a);
                let Some(rest) = rest else { return self.add(out, value) };
                let term = self.copied(value);
                self.only_elements(rest, term, 0);
                self.add(out, term);
            }
            Code::Dot => {
                let (a, b) = (self.operand(&step.a), self.operand(&step.b));
                let Some(rest) = rest else {
                    let sum = self.accumulator(out);
                    return self.all(MUL_ADD, sum, a, b);
                };
                let product = self.fresh_vectors();
                self.all(MUL, product, a, b);
                self.only_elements(rest, product, 0);
                self.add(out, product);
            }
            _ => self.multiply(code, step, rest),
        }
    }

    pub(super) fn add(&mut self, address: usize, term: Value) {
        let sum = self.accumulator(address);
        self.all(ADD, sum, sum, term);
    }

    /// Multiplies a product by a vector of numbers, and takes its exponent off where it is time.
    fn multiply(&mut self, code: Code, step: &Step, rest: Option<usize>) {
        let mut x = self.operand(&step.a);
        if code == Code::SumLog1p {
            let above = self.fresh_vectors();
            for (half, &above) in above.registers().iter().enumerate() {
                self.assembler.operate(ADD, above, x.half(half), Source::Literal(ONE));
            }
            x = above;
        }
        if let Some(rest) = rest {
            let masked = if code == Code::SumLog1p { x } else { self.copied(x) };
            self.only_elements(rest, masked, ONE);
            x = masked;
        }
        let least = self.accumulator(step.c.first.addr() + LINE * MIN_FACTORS);
        self.all(MIN, least, x, least);
        let product = self.accumulator(step.out.first.addr());
        self.all(MUL, product, product, x);
        self.take_exponent(step, product);
    }

    /// After as many vectors as [`FACTORS`] says, moves the product's exponent to the sum of
    /// exponents.
    fn take_exponent(&mut self, step: &Step, product: Value) {
        let line = |number: usize| {
            let first_byte = step.c.first.addr() + LINE * number;
            address(std::ptr::without_provenance::<u8>(first_byte))
        };
        // No register may change hands where the code may not come by.
        let other = self.fresh();
        let skip = if self.in_pairs {
            const { assert!(FACTORS == 4, "two pairs") };
            self.assembler.skip_unless_even_pair()
        } else {
            self.assembler.skip_unless_every(FACTORS)
        };
        for (half, &product) in product.registers().iter().enumerate() {
            let a = &mut self.assembler;
            let (exponents, no_number) =
                (line(EXPONENTS).plus(HALF * half), line(NO_NUMBER).plus(HALF * half));
            a.load(other, no_number);
            let zero = Source::Literal(0);
            a.operate(MUL_ADD, other, product, zero);
            a.store(no_number, other);
            a.shift(other, product, false, EXPONENT);
            a.operate_in_memory(ADD_BITS, other, other, exponents);
            a.store(exponents, other);
            a.operate(AND, product, product, Source::Literal(FRACTION));
            a.operate(OR, product, product, Source::Literal(ONE));
        }
        self.assembler.land(skip);
    }

    /// An operation on all that a turn is over; vector after vector if the target is an accumulator
    /// of one.
    fn all(&mut self, e: Encoding, to: Value, a: Value, b: Value) {
        for half in 0..if self.short { 1 } else { 2 } {
            self.assembler.operate(e, to.half(half), a.half(half), b.half(half));
        }
    }

    fn copied(&mut self, x: Value) -> Value {
        let copy = self.fresh_vectors();
        for (half, &register) in copy.registers().iter().enumerate() {
            self.assembler.copy(register, x.half(half));
        }
        copy
    }

    /// Makes the lanes behind the first `rest` ones that number.
    pub(super) fn only_elements(&mut self, rest: usize, x: Value, number: u64) {
        let wrong = planted(Fault::WrongTailMask) || planted(Fault::WrongTailMaskInLoops);
        let rest = (rest + usize::from(wrong)).min(LANES);
        let tail = address(&raw const TAILS[rest - 1]);
        for (half, &x) in x.registers().iter().enumerate() {
            let mask = tail.plus(HALF * half);
            if number == 0 {
                self.assembler.operate_in_memory(AND, x, x, mask);
                continue;
            }
            let (register, other) = (self.fresh(), self.fresh());
            self.assembler.load(register, mask);
            self.assembler.set_to(other, Source::Literal(number));
            self.assembler.select(x, register, x, other);
            self.cache.release(register);
            self.cache.release(other);
        }
    }
}
