//! Functions: the operations of a recorded function -> machine code on the halves of vectors.
//!
//! One half is done after the other, so that a function needs few registers; the processor runs
//! both at once. Constants stand behind the code, where instructions read them without a register.

use exmc_fault::{Fault, planted};
use exmc_math::simd::record::{Function, Number, One, Operation, Recording, Two};

use super::assembler::{
    ADD, ADD_BITS, AND, Comparison, DIV, MAX, MIN, MUL, MUL_ADD, NEG_MUL_ADD, OR, Register, SUB,
    SUB_BITS, Source, TIMES_THEN_ADD, TIMES_THEN_SUB_FROM, XOR,
};
use super::basic_block::Emitter;
use super::cache::Value;
use crate::native::program::Code;

/// The recorded function of an instruction.
pub(super) fn function_of(code: Code) -> Option<Function> {
    Some(match code {
        Code::Exp => Function::Exp,
        Code::ExpOfOrdinary => Function::ExpOfOrdinary,
        Code::LogOfNormal => Function::LogOfNormal,
        Code::Expm1 => Function::Expm1,
        Code::Log => Function::Log,
        Code::Log1p => Function::Log1p,
        Code::Tanh => Function::Tanh,
        Code::InvLogit => Function::Sigmoid,
        Code::Softplus => Function::Softplus,
        Code::SoftplusInvLogit => Function::SoftplusSigmoid,
        _ => return None,
    })
}

/// A function of one half of a vector while it is being written.
struct Half<'a> {
    recording: &'a Recording,
    /// The last operation that reads each result; those of the function are read after all. Zero if
    /// none does.
    last: Vec<Number>,
    /// Registers of results; none of constants, and of what was not computed yet or is not read
    /// again.
    registers: Vec<Option<Register>>,
    argument: Register,
    /// Registers with constants for one operation.
    constants: Vec<Register>,
}

impl Emitter {
    /// The results of a recorded function.
    pub(super) fn function(&mut self, function: Function, x: Value) -> Vec<Value> {
        let recording = function.record();
        let wrong = function == Function::Exp && planted(Fault::ExponentialTail);
        let half_of = |emitter: &mut Self, argument: Register| {
            let results = emitter.half_of(&recording, argument);
            if wrong {
                emitter.enlarge_in_tail(results[0], argument);
            }
            results
        };
        let low = half_of(self, x.half(0));
        if let Value::Equal(_) = x {
            return low.into_iter().map(Value::Equal).collect();
        }
        if let Value::Low(_) = x {
            return low.into_iter().map(Value::Low).collect();
        }
        let high = half_of(self, x.half(1));
        low.into_iter().zip(high).map(|(low, high)| Value::Lanes([low, high])).collect()
    }

    /// What [`Fault::ExponentialTail`] says.
    fn enlarge_in_tail(&mut self, result: Register, argument: Register) {
        let (mask, larger) = (self.fresh(), self.fresh());
        let literal = |x: f64| Source::Literal(x.to_bits());
        self.assembler.compare(Comparison::Less, mask, argument, literal(-30.0));
        self.assembler.operate(MUL, larger, result, literal(1.01));
        self.assembler.select(result, mask, larger, result);
    }

    fn half_of(&mut self, recording: &Recording, argument: Register) -> Vec<Register> {
        let count = recording.operations.len();
        let mut last = vec![0; count];
        recording.results.iter().for_each(|&result| last[result] = count);
        for (k, operation) in recording.operations.iter().enumerate().rev() {
            // What nobody reads is not computed, and so reads nothing.
            if last[k] > 0 {
                operation.reads().iter().for_each(|&read| last[read] = last[read].max(k));
            }
        }
        let mut half =
            Half { recording, last, registers: vec![None; count], argument, constants: Vec::new() };
        for (k, operation) in recording.operations.iter().enumerate() {
            if half.last[k] > 0 {
                half.registers[k] = self.operation(&mut half, k, *operation);
                half.constants.drain(..).for_each(|register| self.cache.release(register));
            }
        }
        let register = |&result: &Number| half.registers[result].expect("results are computed");
        recording.results.iter().map(register).collect()
    }

    /// Writes operation `k`; where its result is.
    fn operation(
        &mut self,
        half: &mut Half<'_>,
        k: Number,
        operation: Operation,
    ) -> Option<Register> {
        Some(match operation {
            Operation::Argument(_) => half.argument,
            Operation::Constant(_) => return None,
            Operation::One(one, x) => {
                let x = self.in_register(half, x);
                let target = self.target(half, k);
                match one {
                    One::Sqrt => self.assembler.square_root(target, x),
                    One::Round => self.assembler.round(target, x),
                    One::Left(n) => self.assembler.shift(target, x, true, places(n)),
                    One::Right(n) => self.assembler.shift(target, x, false, places(n)),
                }
                target
            }
            Operation::Two(two, args) => self.two(half, k, two, args),
            Operation::MulAdd(args) => self.multiply_add(half, k, args, false),
            Operation::NegMulAdd(args) => self.multiply_add(half, k, args, true),
            Operation::Select([mask, yes, no]) => {
                let mask = self.in_register(half, mask);
                let no = self.in_register(half, no);
                let yes = half.source(yes);
                let target = self.target(half, k);
                self.assembler.select(target, mask, yes, no);
                target
            }
        })
    }

    fn two(&mut self, half: &mut Half<'_>, k: Number, two: Two, [a, b]: [Number; 2]) -> Register {
        let commutes = matches!(
            two,
            Two::Add | Two::Mul | Two::And | Two::Or | Two::Xor | Two::AddBits | Two::Eq
        );
        let compares = matches!(two, Two::Lt | Two::Le);
        let turned = half.constant(a).is_some() && (commutes || compares);
        let (a, b) = if turned { (b, a) } else { (a, b) };
        let a = self.in_register(half, a);
        let b = half.source(b);
        let target = self.target(half, k);
        let encoding = match two {
            Two::Add => ADD,
            Two::Sub => SUB,
            Two::Mul => MUL,
            Two::Div => DIV,
            Two::Min => MIN,
            Two::Max => MAX,
            Two::And => AND,
            Two::Or => OR,
            Two::Xor => XOR,
            Two::AddBits => ADD_BITS,
            Two::SubBits => SUB_BITS,
            Two::Lt | Two::Le | Two::Eq => {
                let comparison = match (two, turned) {
                    (Two::Eq, _) => Comparison::Equal,
                    (Two::Lt, false) => Comparison::Less,
                    (Two::Lt, true) => Comparison::Greater,
                    (_, false) => Comparison::LessOrEqual,
                    (_, true) => Comparison::GreaterOrEqual,
                };
                self.assembler.compare(comparison, target, a, b);
                return target;
            }
        };
        self.assembler.operate(encoding, target, a, b);
        target
    }

    /// `a b + c`, or `c - a b` if `negative`, over an operand that nobody reads again where there
    /// is one.
    fn multiply_add(
        &mut self,
        half: &mut Half<'_>,
        k: Number,
        [a, b, c]: [Number; 3],
        negative: bool,
    ) -> Register {
        let (times, add) =
            if negative { (TIMES_THEN_SUB_FROM, NEG_MUL_ADD) } else { (TIMES_THEN_ADD, MUL_ADD) };
        let (a, b) = if half.constant(a).is_some() { (b, a) } else { (a, b) };
        // A factor that dies and is not read as another operand, too.
        let dying = [(a, b), (b, a)].into_iter().find(|&(factor, other)| {
            half.dies(factor, k) && factor != other && factor != c && half.constant(other).is_none()
        });
        if let (Some(_), Some((factor, other))) = (half.constant(c), dying) {
            let target = half.take(factor);
            let other = self.in_register(half, other);
            let c = half.source(c);
            self.assembler.operate(times, target, other, c);
            self.release(half, k);
            return target;
        }
        let (target, a) = if half.dies(c, k) && c != a && c != b {
            (half.take(c), self.in_register(half, a))
        } else {
            let a = self.in_register(half, a);
            let target = self.fresh();
            let c = half.source(c);
            self.assembler.set_to(target, c);
            (target, a)
        };
        let b = half.source(b);
        self.assembler.operate(add, target, a, b);
        self.release(half, k);
        target
    }

    /// A register for the result of an operation of one instruction, which may be one that it reads
    /// for the last time.
    fn target(&mut self, half: &mut Half<'_>, k: Number) -> Register {
        self.release(half, k);
        self.fresh()
    }

    /// Gives back the registers that operation `k` reads last.
    fn release(&mut self, half: &mut Half<'_>, k: Number) {
        for &read in half.recording.operations[k].reads() {
            if half.dies(read, k) {
                let register = half.take(read);
                self.cache.release(register);
            }
        }
    }

    /// A result in a register; of a constant, a fresh one.
    fn in_register(&mut self, half: &mut Half<'_>, x: Number) -> Register {
        match half.source(x) {
            Source::Register(register) => register,
            literal => {
                let register = self.fresh();
                self.assembler.set_to(register, literal);
                half.constants.push(register);
                register
            }
        }
    }
}

impl Half<'_> {
    fn constant(&self, x: Number) -> Option<u64> {
        match self.recording.operations[x] {
            Operation::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    fn source(&self, x: Number) -> Source {
        match (self.constant(x), self.registers[x]) {
            (Some(bits), _) => Source::Literal(bits),
            (None, Some(register)) => Source::Register(register),
            (None, None) => unreachable!("operations follow those that they read"),
        }
    }

    /// Whether operation `k` is the last that reads a register of this function's own.
    fn dies(&self, x: Number, k: Number) -> bool {
        let is_computed = !matches!(self.recording.operations[x], Operation::Argument(_));
        is_computed && self.last[x] == k && self.registers[x].is_some()
    }

    /// The register of a result that is not read again.
    fn take(&mut self, x: Number) -> Register {
        self.registers[x].take().expect("the result has a register")
    }
}

fn places(n: u32) -> u8 {
    u8::try_from(n).expect("there are 64 places")
}
