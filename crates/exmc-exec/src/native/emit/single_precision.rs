//! `f32` in a loop: instructions on eight lanes of `f32` -> the same in one register, and the way
//! to and from `f64`.
//!
//! Numbers among the operands are made `f32` before the loop and stand below the stack's end, where
//! a function that calls no other may write 128 bytes.

use exmc_fault::{Fault, planted};

use super::Item;
use super::assembler::{ADD, AND, Address, Comparison, MUL, MUL_ADD, Moves, Register, SUB, Source};
use super::basic_block::{Emitter, HALF, address, place};
use super::cache::{LINE, Value};
use super::sums::{is_sum, needs};
use crate::native::program::{Code, LANES};
use crate::native::run::block::{FIRST_BITS, Form, Operand, SIGN_OF_FIRST, Step, forms};

/// Bytes of an `f32`.
const SINGLE: usize = 4;
/// Numbers of `f32` below the stack's end.
pub(super) const MAX_NUMBERS: usize = 128 / SINGLE;

/// The place of an array of `f32`.
fn single_place(operand: &Operand) -> Address {
    let address = place(operand);
    let moves = match address.moves {
        Moves::InBlock => Moves::SingleInBlock,
        Moves::InLoop => Moves::SingleInLoop,
        other => other,
    };
    Address { moves, ..address }
}

fn operands(code: Code, step: &Step) -> impl Iterator<Item = (&Operand, Form)> {
    let all = [&step.a, &step.b, &step.c];
    let count = match code {
        Code::Sum => 1,
        Code::Dot => 2,
        _ => Emitter::operands_of(code),
    };
    all.into_iter().zip(forms(code, all)).take(count)
}

/// The parts of numbers that an instruction reads as `f32`: a number's line, and which of its
/// parts, of which there are three: the rounded number, and both parts of a factor.
pub(super) fn numbers(code: Code, step: &Step) -> impl Iterator<Item = (usize, usize)> {
    operands(code, step).flat_map(|(operand, form)| {
        let parts: &[usize] = match form {
            Form::Rounded => &[0],
            Form::Parts => &[1, 2],
            Form::Array | Form::Double => &[],
        };
        parts.iter().map(|&part| (operand.first.addr(), part))
    })
}

/// Registers that an instruction of a loop uses, at most.
pub(super) fn needs_single(code: Code, step: &Step) -> usize {
    // In `f64`: of each operand a register of `f32` and half a vector, a result of `f32`, half a
    // vector of the result and what it needs on the way, and two constants.
    if forms(code, [&step.a, &step.b, &step.c]).contains(&Form::Double) { 12 } else { needs(code) }
}

impl Emitter {
    /// Whether there is code for an instruction on `f32` in a loop.
    pub(super) fn has_single(code: Code, step: &Step) -> bool {
        if is_sum(code) {
            return !planted(Fault::LostLane);
        }
        step.out.step != 0 && Self::is_of_lanes(code)
    }

    /// Writes the numbers that instructions read as `f32` to where these look for them.
    pub(super) fn begin_numbers(&mut self, body: &[Item]) {
        self.numbers.clear();
        for Item { single, step, .. } in body {
            for number in single.iter().flat_map(|&code| numbers(code, step)) {
                if !self.numbers.contains(&number) {
                    self.numbers.push(number);
                }
            }
        }
        for slot in 0..self.numbers.len() {
            let (line, part) = self.numbers[slot];
            self.cache.begin();
            let x = self.fresh();
            self.assembler.load(x, address(std::ptr::without_provenance::<u8>(line)));
            let x = if part == 0 { x } else { self.part(part, x) };
            self.assembler.narrow(x, x);
            self.assembler.store_one_single(Address::of_position(SINGLE * slot), x);
        }
    }

    /// The first or the second part of a factor.
    fn part(&mut self, part: usize, x: Register) -> Register {
        let (first, rest, mask) = (self.fresh(), self.fresh(), self.fresh());
        let a = &mut self.assembler;
        a.operate(AND, first, x, Source::Literal(FIRST_BITS));
        if part == 1 {
            return first;
        }
        a.operate(SUB, rest, x, first);
        a.compare(Comparison::Equal, mask, rest, rest);
        a.operate(AND, rest, rest, mask);
        a.operate(MUL, first, first, Source::Literal(SIGN_OF_FIRST.to_bits()));
        a.operate(ADD, rest, rest, first);
        rest
    }

    /// A number as `f32` in all lanes.
    fn number(&mut self, operand: &Operand, part: usize) -> Value {
        let number = (operand.first.addr(), part);
        let slot = self.numbers.iter().position(|candidate| *candidate == number);
        let slot = slot.expect("`begin_numbers` has written it");
        let slot = if planted(Fault::StaleNumberSingle) { 0 } else { slot };
        let address = Address::of_position(SINGLE * slot);
        if let Some(value) = self.cache.find(address) {
            return value;
        }
        let register = self.fresh();
        self.assembler.spread_single(register, address);
        self.cache.know(address, Value::Equal(register), None);
        Value::Equal(register)
    }

    /// Eight elements of an array of `f32`.
    fn singles_of(&mut self, operand: &Operand) -> Register {
        let address = single_place(operand);
        if let Some(value) = self.cache.find(address) {
            return value.half(0);
        }
        let register = self.fresh();
        self.assembler.load(register, address);
        self.cache.know(address, Value::Low(register), None);
        register
    }

    /// Runs an instruction on `f32`.
    pub(super) fn singles(&mut self, code: Code, step: &Step) {
        let all = forms(code, [&step.a, &step.b, &step.c]);
        let value = if !all.contains(&Form::Double) {
            self.in_singles(code, step, all)
        } else if code == Code::AddThenReciprocal {
            let sum = self.in_double(Code::Add, step, all);
            self.lanes_of_singles(Code::Reciprocal, &[sum; 3])
        } else {
            self.in_double(code, step, all)
        };
        self.define_singles(&step.out, value);
    }

    fn define_singles(&mut self, out: &Operand, value: Value) {
        // A value of equal lanes is one for this vector only.
        let value = Value::Low(value.half(0));
        self.define_at(0, single_place(out), value);
    }

    fn lanes_of_singles(&mut self, code: Code, values: &[Value; 3]) -> Value {
        self.assembler.begin_singles();
        let value = self.of_lanes(code, values);
        self.assembler.end_singles();
        value
    }

    /// An operand as `f32`; of a factor in parts, nobody's.
    fn single(&mut self, operand: &Operand, form: Form) -> Value {
        match form {
            Form::Array => Value::Low(self.singles_of(operand)),
            Form::Rounded => self.number(operand, 0),
            Form::Parts | Form::Double => Value::Equal(0),
        }
    }

    /// An instruction without operands of `f64`.
    fn in_singles(&mut self, code: Code, step: &Step, all: [Form; 3]) -> Value {
        let mut values = [Value::Equal(0); 3];
        for (value, (operand, form)) in values.iter_mut().zip(operands(code, step)) {
            *value = self.single(operand, form);
        }
        if !all.contains(&Form::Parts) {
            return self.lanes_of_singles(code, &values);
        }
        let product =
            |emitter: &mut Self, x: Value, factor: Value, operand: &Operand, form: Form| match form
            {
                Form::Parts => emitter.times_parts(x, operand),
                _ => emitter.lanes_of_singles(Code::Mul, &[x, factor, x]),
            };
        let ([a, b, c], [_, _, of_c]) = (values, all);
        let first = match code {
            Code::AddThenMul => self.lanes_of_singles(Code::Add, &[a, b, a]),
            Code::SubThenMul => self.lanes_of_singles(Code::Sub, &[a, b, a]),
            _ if all[0] == Form::Parts => product(self, b, a, &step.a, all[0]),
            _ => product(self, a, b, &step.b, all[1]),
        };
        if code == Code::Mul { first } else { product(self, first, c, &step.c, of_c) }
    }

    /// `x` times a factor in parts.
    fn times_parts(&mut self, x: Value, factor: &Operand) -> Value {
        let (first, second) = (self.number(factor, 1), self.number(factor, 2));
        let product = self.fresh();
        self.assembler.begin_singles();
        self.assembler.operate(MUL, product, x.half(0), second.half(0));
        self.assembler.operate(MUL_ADD, product, x.half(0), first.half(0));
        self.assembler.end_singles();
        Value::Low(product)
    }

    /// An instruction on operands as `f64`, rounded.
    fn in_double(&mut self, code: Code, step: &Step, all: [Form; 3]) -> Value {
        let operands: Vec<(&Operand, Form)> = [&step.a, &step.b, &step.c]
            .into_iter()
            .zip(all)
            .take(Self::operands_of(code))
            .collect();
        // In registers before one of them is taken apart.
        for (operand, form) in &operands {
            match form {
                Form::Array => _ = self.singles_of(operand),
                _ => _ = self.operand(operand),
            }
        }
        let mut halves = [0; 2];
        for (half, result) in halves.iter_mut().enumerate() {
            let mut values = [Value::Equal(0); 3];
            for (value, (operand, form)) in values.iter_mut().zip(&operands) {
                *value = match form {
                    Form::Array => {
                        let (x, wide) = (self.singles_of(operand), self.fresh());
                        self.widen_half(wide, x, half);
                        Value::Low(wide)
                    }
                    _ => self.operand(operand),
                };
            }
            *result = self.of_lanes(code, &values).half(0);
            self.assembler.narrow(*result, *result);
            for (value, (_, form)) in values.iter().zip(&operands) {
                if *form == Form::Array {
                    self.cache.release(value.half(0));
                }
            }
        }
        self.assembler.join(halves[0], halves[0], halves[1]);
        Value::Low(halves[0])
    }

    fn widen_half(&mut self, target: Register, x: Register, half: usize) {
        if half == 0 {
            return self.assembler.widen(target, x);
        }
        self.assembler.upper(target, x);
        self.assembler.widen(target, target);
    }

    fn widened(&mut self, x: Register) -> [Register; 2] {
        [0, 1].map(|half| {
            let target = self.fresh();
            self.widen_half(target, x, half);
            target
        })
    }

    /// An array of `f32` as one of `f64`.
    pub(super) fn widen(&mut self, step: &Step) {
        let address = single_place(&step.a);
        let halves = match self.cache.find(address) {
            Some(value) => self.widened(value.half(0)),
            None => [0, 1].map(|half| {
                let target = self.fresh();
                self.assembler.widen_from(target, address.plus(HALF / 2 * half));
                target
            }),
        };
        self.define(0, &step.out, Value::Lanes(halves));
    }

    /// An array of `f64` as one of `f32`.
    pub(super) fn narrow(&mut self, step: &Step) {
        let value = self.operand(&step.a);
        let (low, high) = (self.fresh(), self.fresh());
        self.assembler.narrow(low, value.half(0));
        self.assembler.narrow(high, value.half(1));
        self.assembler.join(low, low, high);
        self.define_singles(&step.out, Value::Low(low));
    }

    /// Adds a vector of `f32` or its products to a sum in `f64`, of which only the first `rest`
    /// lanes are elements if there is a rest.
    pub(super) fn add_up_singles(&mut self, code: Code, step: &Step, rest: Option<usize>) {
        let mut values = [Value::Equal(0); 3];
        for (value, (operand, form)) in values.iter_mut().zip(operands(code, step)) {
            *value = self.single(operand, form);
        }
        let term = match code {
            Code::Dot => self.lanes_of_singles(Code::Mul, &values),
            _ => values[0],
        };
        let term = Value::Lanes(self.widened(term.half(0)));
        if let Some(rest) = faulty(rest) {
            self.only_elements(rest, term, 0);
        }
        self.add(step.out.first.addr(), term);
    }
}

/// How many lanes of a vector are elements, if not all: as it is but for planted faults.
fn faulty(rest: Option<usize>) -> Option<usize> {
    let wrong = planted(Fault::WrongTailMaskSingle) || planted(Fault::WrongTailMaskGenerated);
    let lost = planted(Fault::LostLaneSingle).then_some(LANES - 1);
    rest.map(|rest| (rest + usize::from(wrong)).min(LANES)).or(lost)
}

const _: () = assert!(HALF * 2 == LINE, "a vector of f64 has two registers");
