//! A straight line: instructions with addresses -> one function of machine code.
#![expect(unsafe_code, reason = "generated code is run, and places of the arena are addresses")]

use exmc_fault::{Fault, planted};
use exmc_math::simd::Level;

use super::assembler::{
    ADD, AND, AND_NOT, Address, Assembler, Comparison, DIV, Encoding, MUL, MUL_ADD, MUL_SUB, Moves,
    NEG_MUL_ADD, OR, Register, SUB, XOR,
};
use super::cache::{Cache, Known, Value};
use super::code_pages::Pages;
use super::functions::function_of;
use super::sums::Accumulator;
use crate::native::link::{MINUS_ONE, ONE};
use crate::native::program::{Code, LANES};
use crate::native::run::block::{
    Detail, Lanes, MAX_FACTOR, MIN_FACTOR, Operand, Position, Results, Step,
};

/// Bytes of half a vector, and of a number.
pub(super) const HALF: usize = 32;
pub(super) const NUMBER: usize = 8;

/// A line of bit patterns.
#[repr(align(64))]
pub(super) struct Bits([u64; LANES]);

pub(super) static ZERO: Bits = Bits([0; LANES]);
/// Of `f64`, and of twice as many `f32`.
static SIGN: [Bits; 2] = [Bits([1 << 63; LANES]), Bits([(1 << 63) | (1 << 31); LANES])];
static ALL_BUT_SIGN: [Bits; 2] =
    [Bits([!(1 << 63); LANES]), Bits([!((1 << 63) | (1 << 31)); LANES])];
/// Of [`Code::Factor`].
static FACTORS_LIE: [Bits; 2] =
    [Bits([MIN_FACTOR.to_bits(); LANES]), Bits([MAX_FACTOR.to_bits(); LANES])];
static SINGLE_ONE: Bits = Bits([(127 << 55) | (127 << 23); LANES]);
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
    pub(super) at: usize,
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
            at: 0,
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
        if let Some(Known { at, value, unwritten: Some(last) }) = before
            && last >= self.at
        {
            self.write(at, value);
        }
        register
    }

    /// Bytes of a register.
    fn bytes(&self) -> usize {
        if self.assembler.is_wide() { 2 * HALF } else { HALF }
    }

    pub(super) fn write(&mut self, at: Address, value: Value) {
        let one = matches!(value, Value::Low(_)) || (self.assembler.is_wide() && self.short);
        for half in 0..if one { 1 } else { 2 } {
            self.assembler.store(at.plus(self.bytes() * half), value.half(half));
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
                let products = self.each(&values, |own, target, x| {
                    own.assembler.operate(MUL, target, x[0], x[1]);
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

    /// How many operands a function of lanes has.
    pub(super) fn operands_of(code: Code) -> usize {
        match code {
            Code::Zero => 0,
            Code::Neg | Code::Abs | Code::Not | Code::Sqrt | Code::Square => 1,
            Code::Reciprocal | Code::Copy | Code::Factor => 1,
            Code::MulAdd | Code::MulSub | Code::NegMulAdd | Code::Select => 3,
            Code::AddThenMul | Code::SubThenMul | Code::MulThenMul => 3,
            _ => 2,
        }
    }

    /// A function of lanes.
    fn map(&mut self, code: Code, step: &Step) -> Value {
        let count = Self::operands_of(code);
        let mut values = [step.a, step.b, step.c].map(|_| Value::Equal(0));
        for (value, operand) in values.iter_mut().zip([&step.a, &step.b, &step.c]).take(count) {
            *value = self.operand(operand);
        }
        self.of_lanes(code, &values)
    }

    /// A function of the lanes of its first operands, as many as it has.
    pub(super) fn of_lanes(&mut self, code: Code, values: &[Value; 3]) -> Value {
        let single = self.assembler.writes_singles();
        let one = if single { address(&raw const SINGLE_ONE) } else { address(&raw const ONE) };
        let constant = match code {
            Code::Neg => Some(address(&raw const SIGN[usize::from(single)])),
            Code::Abs => Some(address(&raw const ALL_BUT_SIGN[usize::from(single)])),
            Code::Not | Code::And | Code::Or | Code::Select | Code::Zero => {
                Some(address(&raw const ZERO))
            }
            Code::Factor => Some(address(&raw const FACTORS_LIE[0])),
            Code::Reciprocal | Code::AddThenReciprocal => Some(one),
            Code::Lt | Code::Le | Code::Eq | Code::Ne => Some(one),
            _ => None,
        };
        let constant = constant.map_or(0, |at| self.line(at).half(0));
        // Comparisons give one or zero, of the comparison with zero where there is one operand.
        let one = match code {
            Code::Not | Code::And | Code::Or => self.line(one).half(0),
            Code::Factor => self.line(address(&raw const FACTORS_LIE[1])).half(0),
            _ => constant,
        };
        self.each(&values[..Self::operands_of(code)], |own, target, x| {
            let a = &mut own.assembler;
            match code {
                Code::Zero => a.copy(target, constant),
                Code::Neg => a.operate(XOR, target, x[0], constant),
                Code::Abs => a.operate(AND, target, x[0], constant),
                Code::Sqrt => a.square_root(target, x[0]),
                Code::Square => a.operate(MUL, target, x[0], x[0]),
                Code::Reciprocal => a.operate(DIV, target, constant, x[0]),
                Code::Copy => a.copy(target, x[0]),
                Code::Add => a.operate(ADD, target, x[0], x[1]),
                Code::Sub => a.operate(SUB, target, x[0], x[1]),
                Code::Mul => a.operate(MUL, target, x[0], x[1]),
                Code::Div => a.operate(DIV, target, x[0], x[1]),
                Code::MulAdd => own.fused(MUL_ADD, target, x),
                Code::MulSub => own.fused(MUL_SUB, target, x),
                Code::NegMulAdd => own.fused(NEG_MUL_ADD, target, x),
                Code::AddThenMul => own.then_mul(ADD, target, x),
                Code::SubThenMul => own.then_mul(SUB, target, x),
                Code::MulThenMul => own.then_mul(MUL, target, x),
                Code::AddThenReciprocal => {
                    a.operate(ADD, target, x[0], x[1]);
                    a.operate(DIV, target, constant, target);
                }
                Code::Factor if planted(Fault::ExtremeFactor) => a.copy(target, x[0]),
                Code::Factor => {
                    // A mask's bits are those of NaN.
                    let (least, most, other) = (constant, one, own.fresh());
                    let a = &mut own.assembler;
                    a.compare(Comparison::Less, target, x[0], least);
                    a.compare(Comparison::Less, other, most, x[0]);
                    a.operate(OR, target, target, other);
                    a.operate(OR, target, target, x[0]);
                }
                Code::Select => {
                    a.compare(Comparison::Equal, target, x[0], constant);
                    a.select(target, target, x[2], x[1]);
                }
                Code::Min | Code::Max => {
                    // NaN if either is; the first on ties.
                    let other = own.fresh();
                    let a = &mut own.assembler;
                    a.compare(Comparison::Equal, target, x[0], x[0]);
                    a.select(other, target, x[1], x[0]);
                    let (low, high) = if code == Code::Min { (x[0], x[1]) } else { (x[1], x[0]) };
                    a.compare(Comparison::LessOrEqual, target, low, high);
                    a.select(target, target, x[0], other);
                }
                Code::Not => {
                    let zero = constant;
                    a.compare(Comparison::Equal, target, x[0], zero);
                    a.operate(AND, target, target, one);
                }
                Code::And | Code::Or => {
                    // Neither is zero, or not both are.
                    let (zero, other) = (constant, own.fresh());
                    let a = &mut own.assembler;
                    a.compare(Comparison::Equal, target, x[0], zero);
                    a.compare(Comparison::Equal, other, x[1], zero);
                    a.operate(if code == Code::And { OR } else { AND }, target, target, other);
                    a.operate(AND_NOT, target, target, one);
                }
                Code::Lt => own.truth(Comparison::Less, AND, target, x, one),
                Code::Le => own.truth(Comparison::LessOrEqual, AND, target, x, one),
                Code::Eq => own.truth(Comparison::Equal, AND, target, x, one),
                Code::Ne => own.truth(Comparison::Equal, AND_NOT, target, x, one),
                _ => unreachable!("`has` names the others"),
            }
        })
    }

    /// `a b + c` and the like, from the operands `[a, b, c]`.
    fn fused(&mut self, e: Encoding, target: Register, x: &[Register]) {
        self.assembler.copy(target, x[2]);
        self.assembler.operate(e, target, x[0], x[1]);
    }

    fn then_mul(&mut self, e: Encoding, target: Register, x: &[Register]) {
        self.assembler.operate(e, target, x[0], x[1]);
        self.assembler.operate(MUL, target, target, x[2]);
    }

    /// One where the comparison's mask, or with [`AND_NOT`] its opposite, is set; else zero.
    fn truth(
        &mut self,
        c: Comparison,
        e: Encoding,
        target: Register,
        x: &[Register],
        one: Register,
    ) {
        self.assembler.compare(c, target, x[0], x[1]);
        self.assembler.operate(e, target, target, one);
    }

    /// Applies a function of registers to both halves of its operands, or once if all have equal
    /// lanes.
    fn each(
        &mut self,
        values: &[Value],
        mut f: impl FnMut(&mut Self, Register, &[Register]),
    ) -> Value {
        let mut half = |own: &mut Self, k: usize| {
            let mut registers = [0; 3];
            for (register, value) in registers.iter_mut().zip(values) {
                *register = value.half(k);
            }
            let target = own.fresh();
            f(own, target, &registers);
            target
        };
        if values.iter().all(|value| matches!(value, Value::Equal(_))) {
            return Value::Equal(half(self, 0));
        }
        if values.iter().any(|value| matches!(value, Value::Low(_))) {
            return Value::Low(half(self, 0));
        }
        Value::Lanes([half(self, 0), half(self, 1)])
    }

    /// The sum of the first `len` lanes in the order of all sums.
    fn total(&mut self, len: usize, x: Value) -> Value {
        let rest = len % LANES + usize::from(planted(Fault::WrongTailMask));
        let (mut low, mut high) = (x.half(0), x.half(1));
        if len < LANES {
            let tail = address(&raw const TAILS[rest - 1]);
            for (half, own) in [&mut low, &mut high].into_iter().enumerate() {
                let (mask, masked) = (self.fresh(), self.fresh());
                self.assembler.load(mask, tail.plus(HALF * half));
                self.assembler.operate(AND, masked, *own, mask);
                *own = masked;
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
            let factor = |own: &mut Self, at: *const Lanes| own.line(address(at)).half(0);
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
        let at = self.place(operand);
        if operand.step == 0 {
            return self.line(at);
        }
        match self.cache.find(at) {
            Some(value) if self.short || !matches!(value, Value::Low(_)) => return value,
            _ => {}
        }
        if self.short {
            let value = Value::Low(self.fresh());
            let from = self.origin(at);
            self.assembler.load(value.half(0), from);
            self.cache.know(at, value, None);
            return value;
        }
        let registers = self.parameters(at).unwrap_or_else(|| {
            let registers = [self.fresh(), self.fresh()];
            for (half, register) in registers.into_iter().enumerate() {
                self.assembler.load(register, at.plus(self.bytes() * half));
            }
            registers
        });
        self.cache.know(at, Value::Lanes(registers), None);
        Value::Lanes(registers)
    }

    /// The value of a line of equal numbers.
    pub(super) fn line(&mut self, at: Address) -> Value {
        if let Some(value @ Value::Equal(_)) = self.cache.find(at) {
            return value;
        }
        let register = self.parameter(at).unwrap_or_else(|| {
            let register = self.fresh();
            self.assembler.load(register, at);
            register
        });
        let value = Value::Equal(register);
        self.cache.know(at, value, None);
        value
    }

    /// Writes an instruction's first or second result to its place, unless only this code reads it.
    pub(super) fn define(&mut self, number: usize, out: &Operand, value: Value) {
        self.define_at(number, self.place(out), value);
    }

    pub(super) fn define_at(&mut self, number: usize, at: Address, value: Value) {
        self.cache.overwrite(at);
        match self.readers.get(self.at).map(|readers| readers[number]) {
            Some(Readers::Until(last)) => self.cache.know(at, value, Some(last)),
            _ => {
                self.write(at, value);
                self.cache.know(at, value, None);
            }
        }
    }
}

impl Pages {
    /// Runs the function of a flow that begins there, on a coupled vector and its slope of as many
    /// numbers as it has.
    ///
    /// # Safety
    /// As for [`Self::run`]; both slices are as long as the code was made for.
    #[inline]
    pub(in crate::native) unsafe fn run_flow(&self, at: usize, x: &[f64], dx: &mut [f64]) {
        // SAFETY: as below; it also reads numbers of the vector and writes such of the slope.
        unsafe {
            let code = self.first().add(at);
            std::mem::transmute::<*const u8, extern "sysv64" fn(*const f64, *mut f64)>(code)(
                x.as_ptr(),
                dx.as_mut_ptr(),
            );
        }
    }

    /// Runs the function that begins there, which was emitted for memory that nobody else refers to
    /// meanwhile; of a loop, for a block's first byte, its bytes, and whether a vector that is not
    /// whole comes behind them.
    ///
    /// # Safety
    /// An `Emitter` gave `at` for these pages; the frame whose program it emitted lives, and so do
    /// its packed data, and nothing else refers to the elements that the program writes.
    #[inline]
    pub(in crate::native) unsafe fn run(&self, at: usize, first: usize, bytes: usize, rest: bool) {
        // SAFETY: the code follows the platform's convention and touches only places of the frame
        // that the caller vouches for, each inside of its region with all its elements, as `verify`
        // has checked.
        unsafe {
            let code = self.first().add(at);
            std::mem::transmute::<*const u8, extern "sysv64" fn(usize, usize, usize)>(code)(
                first,
                bytes,
                usize::from(rest),
            );
        }
    }

    /// Runs the function of a whole program that begins there.
    ///
    /// # Safety
    /// As for [`Self::run`].
    #[inline]
    pub(in crate::native) unsafe fn run_whole(
        &self,
        at: usize,
        position: &Position,
        results: &Results,
    ) {
        // SAFETY: as above; it also reads elements of the position and writes elements of the
        // results that the program's inputs and outputs name, and these have been checked for all
        // of them.
        unsafe {
            let code = self.first().add(at);
            std::mem::transmute::<*const u8, extern "sysv64" fn(*const f64, *mut f64)>(code)(
                position.first(),
                results.first(),
            );
        }
    }
}
