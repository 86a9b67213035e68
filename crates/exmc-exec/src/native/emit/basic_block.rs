//! A straight line: instructions with addresses -> one function of machine code.

use exmc_fault::{Fault, planted};
use exmc_math::simd::Level;

use super::assembler::{
    ADD, AND, Address, Assembler, MUL, MUL_ADD, Moves, NEG_MUL_ADD, Register, SUB,
};
use super::cache::{Cache, Known, Value};
use super::code_pages::Pages;
use super::functions::function_of;
use super::sums::Accumulator;
use crate::native::link::{MINUS_ONE, ONE};
use crate::native::program::{Code, LANES};
use crate::native::run::block::{Detail, Lanes, Operand, Step};

/// Bytes of half a vector, and of a number.
pub(super) const HALF: usize = 32;
pub(super) const NUMBER: usize = 8;

/// A line of bit patterns.
#[repr(align(64))]
pub(super) struct Bits(pub(super) [u64; LANES]);

pub(super) static ZERO: Bits = Bits([0; LANES]);
/// Which lanes are elements, by the number of elements less one.
pub(super) static TAILS: [Bits; LANES] = tails();

const fn tails() -> [Bits; LANES] {
    let mut tails = [const { Bits([0; LANES]) }; LANES];
    let mut len = 0;
    while len < LANES {
        let mut lane = 0;
        while lane <= len {
            tails[len].0[lane] = u64::MAX;
            lane += 1;
        }
        len += 1;
    }
    tails
}

pub(super) fn address<T>(place: *const T) -> Address {
    Address::fixed(place.addr())
}

/// Where an operand of a loop is.
pub(super) fn place(operand: &Operand) -> Address {
    let moves = match (operand.step, operand.advance) {
        (0, _) => Moves::Never,
        (_, 0) => Moves::InBlock,
        _ => Moves::InLoop,
    };
    Address { first: operand.first.addr(), moves }
}

/// Functions that are being written.
#[derive(Debug)]
pub(in crate::native) struct Emitter {
    pub(super) assembler: Assembler,
    pub(super) bases: [usize; 2],
    pub(super) cache: Cache,
    /// Of a loop's or a whole program's instructions, the one that is being written.
    pub(super) instruction_number: usize,
    /// Who reads the two results of these instructions; empty in a part of a straight line, whose
    /// results all go to memory.
    pub(super) readers: Vec<[Readers; 2]>,
    /// Whether a register can have a whole vector, and whether a turn of the loop that is written
    /// is over two of them.
    pub(super) has_wide: bool,
    pub(super) in_pairs: bool,
    /// Whether a loop is being written.
    pub(super) in_loop: bool,
    /// Whether a loop with carried state is being written, and whether the instruction's arrays fit
    /// a register.
    pub(super) in_turns: bool,
    pub(super) short: bool,
    /// Whether all arrays of a whole program have at most half a vector.
    pub(super) is_narrow: bool,
    /// Of a whole program, the places of its parameters: first byte, number of elements, and the
    /// first one's place in the position.
    pub(super) inputs: Vec<(usize, usize, usize)>,
    /// Of a loop, what its sums are kept in.
    pub(super) accumulators: Vec<Accumulator>,
    /// Of a loop, the numbers that stand below the stack's end as `f32`: their lines, and which
    /// part of each.
    pub(super) numbers: Vec<(usize, usize)>,
}

/// Who reads a result of an instruction of a loop or of a whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readers {
    /// Somebody else: it is written to memory.
    Others,
    /// This code alone, to that instruction.
    Until(usize),
}

impl Emitter {
    /// An emitter of code for a level, if there is such; most places are near the bases.
    pub(in crate::native) fn new(level: Level, bases: [usize; 2]) -> Option<Self> {
        let runs = matches!(level.name(), "avx2" | "avx512");
        runs.then(|| Self {
            assembler: Assembler::default(),
            bases,
            cache: Cache::new(),
            instruction_number: 0,
            readers: Vec::new(),
            has_wide: level.name() == "avx512",
            in_pairs: false,
            in_loop: false,
            in_turns: false,
            short: false,
            is_narrow: false,
            inputs: Vec::new(),
            accumulators: Vec::new(),
            numbers: Vec::new(),
        })
    }

    /// Whether there is code for an instruction.
    pub(super) fn has(code: Code, step: &Step) -> bool {
        match code {
            Code::Sum | Code::Dot | Code::Product => !planted(Fault::LostLane),
            Code::Piece => matches!(step.detail.as_deref(), Some(Detail::Piece { .. })),
            Code::Load | Code::Scatter => Self::has_index(code, step),
            Code::Terms | Code::Pick => true,
            _ => Self::is_elementwise(code),
        }
    }

    /// Whether there is code for an instruction on elements.
    pub(in crate::native) fn is_elementwise(code: Code) -> bool {
        function_of(code).is_some() || Self::is_of_lanes(code)
    }

    /// Whether an instruction is a function of lanes that [`of_lanes`](Self::of_lanes) has code
    /// for.
    pub(super) fn is_of_lanes(code: Code) -> bool {
        matches!(
            code,
            Code::Neg
                | Code::Abs
                | Code::Not
                | Code::Sqrt
                | Code::Square
                | Code::Reciprocal
                | Code::Add
                | Code::Sub
                | Code::Mul
                | Code::Div
                | Code::Min
                | Code::Max
                | Code::Lt
                | Code::Le
                | Code::Eq
                | Code::Ne
                | Code::And
                | Code::Or
                | Code::Select
                | Code::Copy
                | Code::MulAdd
                | Code::MulSub
                | Code::NegMulAdd
                | Code::AddThenMul
                | Code::SubThenMul
                | Code::MulThenMul
                | Code::AddThenReciprocal
                | Code::Factor
                | Code::Zero
        )
    }

    /// Writes a function that runs these instructions; where in the code it begins.
    pub(super) fn emit(&mut self, line: &[(Code, Step)]) -> usize {
        let start = self.assembler.bytes.len();
        self.assembler.begin(self.bases);
        self.cache = Cache::new();
        for (code, step) in line {
            self.cache.begin();
            self.instruction(*code, step);
        }
        self.assembler.end();
        start
    }

    /// The code as pages that can be run; nothing where the system refuses them.
    pub(in crate::native) fn finish(&self) -> Option<Pages> {
        Pages::new(&self.assembler.finished())
    }

    /// A register to write to; what was in it goes to memory if it is not there and is read later.
    pub(super) fn fresh(&mut self) -> Register {
        let (register, before) = self.cache.fresh();
        if let Some(Known { address, value, unwritten: Some(last) }) = before
            && last >= self.instruction_number
        {
            self.write(address, value);
        }
        register
    }

    /// Bytes of a register.
    fn bytes(&self) -> usize {
        if self.assembler.is_wide() { 2 * HALF } else { HALF }
    }

    pub(super) fn write(&mut self, address: Address, value: Value) {
        let one = matches!(value, Value::Low(_)) || (self.assembler.is_wide() && self.short);
        for half in 0..if one { 1 } else { 2 } {
            self.assembler.store(address.plus(self.bytes() * half), value.half(half));
        }
    }

    pub(super) fn instruction(&mut self, code: Code, step: &Step) {
        self.short = self.is_narrow
            || (self.assembler.is_wide() && !self.in_pairs)
            || (self.in_turns && step.span.len <= LANES / 2);
        if let Some(result) = self.over_vectors(code, step) {
            if let Some(value) = result {
                self.define(0, &step.out, value);
            }
            return;
        }
        let value = match code {
            Code::Piece => return self.piece(step),
            Code::Terms => self.terms(step),
            Code::Pick => {
                let target = self.fresh();
                let from = self.origin(address(step.a.first));
                self.assembler.spread(target, from);
                Value::Equal(target)
            }
            Code::Load => self.elements(step),
            Code::Scatter => self.sums(step),
            Code::Sum => {
                let value = self.operand(&step.a);
                self.total(step.span.len, value)
            }
            Code::Dot => {
                let values = [self.operand(&step.a), self.operand(&step.b)];
                let products = self.each(&values, |emitter, target, x| {
                    emitter.assembler.operate(MUL, target, x[0], x[1]);
                });
                self.total(step.span.len, products)
            }
            _ => match function_of(code) {
                None => self.map(code, step),
                Some(function) => {
                    let argument = self.operand(&step.a);
                    let results = self.function(function, argument);
                    for (k, (&value, out)) in results.iter().zip([&step.out, &step.b]).enumerate() {
                        self.define(k, out, value);
                    }
                    return;
                }
            },
        };
        self.define(0, &step.out, value);
    }

    /// The sum of the first `len` lanes in the order of all sums.
    fn total(&mut self, len: usize, x: Value) -> Value {
        let rest = len % LANES + usize::from(planted(Fault::WrongTailMask));
        let (mut low, mut high) = (x.half(0), x.half(1));
        if len < LANES {
            let tail = address(&raw const TAILS[rest - 1]);
            for (half, register) in [&mut low, &mut high].into_iter().enumerate() {
                let (mask, masked) = (self.fresh(), self.fresh());
                self.assembler.load(mask, tail.plus(HALF * half));
                self.assembler.operate(AND, masked, *register, mask);
                *register = masked;
            }
        }
        let (sum, other) = (self.fresh(), self.fresh());
        self.assembler.operate(ADD, sum, low, high);
        self.assembler.total(sum, other);
        Value::Equal(sum)
    }

    /// The sum of products of three scalars each; a product with one is exact and left out.
    fn terms(&mut self, step: &Step) -> Value {
        let Some(Detail::Terms(terms)) = step.detail.as_deref() else {
            unreachable!("lowered with its terms")
        };
        let (one, minus_one) = (&raw const ONE.0, &raw const MINUS_ONE.0);
        let zero = self.line(address(&raw const ZERO)).half(0);
        let sum = self.fresh();
        self.assembler.copy(sum, zero);
        for &[a, b, c] in terms {
            self.cache.begin();
            self.cache.hold(Value::Equal(sum));
            let factor =
                |emitter: &mut Self, line: *const Lanes| emitter.line(address(line)).half(0);
            let c = factor(self, c);
            if b == one && a == one {
                self.assembler.operate(ADD, sum, sum, c);
            } else if b == one && a == minus_one {
                self.assembler.operate(SUB, sum, sum, c);
            } else if a == one || a == minus_one {
                let b = factor(self, b);
                let e = if a == one { MUL_ADD } else { NEG_MUL_ADD };
                self.assembler.operate(e, sum, b, c);
            } else {
                let (a, b) = (factor(self, a), factor(self, b));
                let product = self.fresh();
                self.assembler.operate(MUL, product, a, b);
                self.assembler.operate(MUL_ADD, sum, product, c);
            }
        }
        Value::Equal(sum)
    }

    /// A part of an array, number by number.
    fn piece(&mut self, step: &Step) {
        let Some(&Detail::Piece { start, len }) = step.detail.as_deref() else {
            unreachable!("lowered with its piece")
        };
        let by = self.fresh();
        let to = address(step.out.first);
        let end = (start + len).min(step.span.len);
        for k in start..end {
            let from = self.origin(address(step.a.first).plus(NUMBER * (k - start)));
            self.assembler.copy_one(to.plus(NUMBER * k), from, by);
        }
        self.cache.overwrite_bytes(to.plus(NUMBER * start), NUMBER * end.saturating_sub(start));
    }

    /// Where an operand is: of a straight line always at its first element.
    fn place(&self, operand: &Operand) -> Address {
        if self.in_loop { place(operand) } else { address(operand.first) }
    }

    pub(super) fn operand(&mut self, operand: &Operand) -> Value {
        let address = self.place(operand);
        if operand.step == 0 {
            return self.line(address);
        }
        match self.cache.find(address) {
            Some(value) if self.short || !matches!(value, Value::Low(_)) => return value,
            _ => {}
        }
        if self.short {
            let value = Value::Low(self.fresh());
            let from = self.origin(address);
            self.assembler.load(value.half(0), from);
            self.cache.know(address, value, None);
            return value;
        }
        let registers = self.parameters(address).unwrap_or_else(|| {
            let registers = [self.fresh(), self.fresh()];
            for (half, register) in registers.into_iter().enumerate() {
                self.assembler.load(register, address.plus(self.bytes() * half));
            }
            registers
        });
        self.cache.know(address, Value::Lanes(registers), None);
        Value::Lanes(registers)
    }

    /// The value of a line of equal numbers.
    pub(super) fn line(&mut self, address: Address) -> Value {
        if let Some(value @ Value::Equal(_)) = self.cache.find(address) {
            return value;
        }
        let register = self.parameter(address).unwrap_or_else(|| {
            let register = self.fresh();
            self.assembler.load(register, address);
            register
        });
        let value = Value::Equal(register);
        self.cache.know(address, value, None);
        value
    }

    /// Writes an instruction's first or second result to its place, unless only this code reads it.
    pub(super) fn define(&mut self, number: usize, out: &Operand, value: Value) {
        self.define_at(number, self.place(out), value);
    }

    pub(super) fn define_at(&mut self, number: usize, address: Address, value: Value) {
        self.cache.overwrite(address);
        match self.readers.get(self.instruction_number).map(|readers| readers[number]) {
            Some(Readers::Until(last)) => self.cache.know(address, value, Some(last)),
            _ => {
                self.write(address, value);
                self.cache.know(address, value, None);
            }
        }
    }
}
