//! Assembling: vector instructions of AVX2 and FMA -> bytes.
//!
//! Every instruction has a three-byte VEX prefix, so that one function writes them all; those on
//! whole vectors, where there is AVX-512, are in `wide`. Reference: Intel's Software Developer's
//! Manual, volume 2, section 2.3 and the instructions' own pages.

mod frames;
mod singles;
#[cfg(test)]
mod tests;
mod vectors;
mod wide;

/// A vector register, 0 to 15, or, of whole vectors, to 31.
pub(super) type Register = u8;

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) first: usize,
    pub(super) moves: Moves,
}

/// How a place moves while a loop runs, or whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moves {
    Never,
    /// From the first vector of every block on.
    InBlock,
    /// From the first vector of the loop on.
    InLoop,
    /// The same of arrays of `f32`.
    SingleInBlock,
    SingleInLoop,
    /// By the steps of a loop with carried state: which of its counters says how far.
    BySteps(u8),
    /// Bytes from the first of the position.
    OfPosition,
    /// Bytes from the first of the results.
    OfResults,
}

impl Address {
    pub(super) fn fixed(first: usize) -> Self {
        Self { first, moves: Moves::Never }
    }

    pub(super) fn of_position(first: usize) -> Self {
        Self { first, moves: Moves::OfPosition }
    }

    pub(super) fn of_results(first: usize) -> Self {
        Self { first, moves: Moves::OfResults }
    }

    pub(super) fn plus(self, bytes: usize) -> Self {
        Self { first: self.first + bytes, ..self }
    }
}

/// Which opcode table, mandatory prefix and width an instruction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoding {
    map: u8,
    prefix: u8,
    wide: bool,
    /// Whether it works on 256 bits.
    is_256_bit: bool,
    opcode: u8,
}

const fn packed(opcode: u8) -> Encoding {
    Encoding { map: 1, prefix: 1, wide: false, is_256_bit: true, opcode }
}

const fn fused(opcode: u8) -> Encoding {
    Encoding { map: 2, prefix: 1, wide: true, is_256_bit: true, opcode }
}

pub(super) const ADD: Encoding = packed(0x58);
pub(super) const SUB: Encoding = packed(0x5c);
pub(super) const MUL: Encoding = packed(0x59);
pub(super) const DIV: Encoding = packed(0x5e);
pub(super) const SQRT: Encoding = packed(0x51);
pub(super) const AND: Encoding = packed(0x54);
/// not a, and b
pub(super) const AND_NOT: Encoding = packed(0x55);
pub(super) const OR: Encoding = packed(0x56);
pub(super) const XOR: Encoding = packed(0x57);
/// a where it is below b, else b
pub(super) const MIN: Encoding = packed(0x5d);
/// a where it is above b, else b
pub(super) const MAX: Encoding = packed(0x5f);
pub(super) const ADD_BITS: Encoding = packed(0xd4);
pub(super) const SUB_BITS: Encoding = packed(0xfb);
const COMPARE: Encoding = packed(0xc2);
const LOAD: Encoding = packed(0x10);
const STORE: Encoding = packed(0x11);
const MOVE: Encoding = packed(0x28);
/// d + a b, rounded once, to d
pub(super) const MUL_ADD: Encoding = fused(0xb8);
/// a b - d
pub(super) const MUL_SUB: Encoding = fused(0xba);
/// d - a b
pub(super) const NEG_MUL_ADD: Encoding = fused(0xbc);
/// d a + b, rounded once, to d
pub(super) const TIMES_THEN_ADD: Encoding = fused(0xa8);
/// b - d a
pub(super) const TIMES_THEN_SUB_FROM: Encoding = fused(0xac);
const SHIFT: Encoding = packed(0x73);
const ROUND: Encoding = Encoding { map: 3, ..packed(0x09) };
/// To the nearest integer, ties to even, without an exception where it was none.
const NEAREST: u8 = 8;
const SPREAD: Encoding = Encoding { wide: false, ..fused(0x19) };
const LOAD_SOME: Encoding = Encoding { wide: false, ..fused(0x2d) };
const BLEND: Encoding = Encoding { map: 3, ..packed(0x4b) };
const UPPER: Encoding = Encoding { map: 3, ..packed(0x19) };
const ADD_HALVES: Encoding = Encoding { is_256_bit: false, ..packed(0x58) };
const HIGH_LANES: Encoding = Encoding { is_256_bit: false, ..packed(0x15) };
const ADD_ONE: Encoding = Encoding { prefix: 3, ..ADD_HALVES };
const MUL_HALVES: Encoding = Encoding { is_256_bit: false, ..packed(0x59) };
const MUL_ONE: Encoding = Encoding { prefix: 3, ..MUL_HALVES };
const LOAD_ONE: Encoding = Encoding { prefix: 3, is_256_bit: false, ..packed(0x10) };
const STORE_ONE: Encoding = Encoding { prefix: 3, is_256_bit: false, ..packed(0x11) };
const STORE_TWO: Encoding = Encoding { is_256_bit: false, ..STORE };
/// Lanes by number.
const PERMUTE: Encoding = Encoding { map: 3, wide: true, ..packed(0x01) };
/// Lanes of either, by a mask that is known.
const MIX: Encoding = Encoding { map: 3, ..packed(0x0d) };

/// Comparisons, false for NaN.
#[derive(Clone, Copy, Debug)]
pub(super) enum Comparison {
    Equal = 0x00,
    Less = 0x11,
    LessOrEqual = 0x12,
    GreaterOrEqual = 0x1d,
    Greater = 0x1e,
}

/// The base registers that [`Assembler::begin`] sets (rdx and rcx), those of loops with carried
/// state, which calls leave as they are (rbx and rbp), and the one that any address may be put into
/// (rax).
const BASES: [u8; 2] = [2, 1];
const KEPT_BASES: [u8; 2] = [3, 5];
const ANY: u8 = 0;
/// Counters of loops with carried state (r12 to r15), which calls leave as they are, without their
/// fourth bits.
const COUNTERS: [u8; 4] = [4, 5, 6, 7];
/// How many counters there are.
pub(super) const MAX_COUNTERS: usize = COUNTERS.len();
/// The arguments of a whole program (rdi and rsi).
const POSITION: u8 = 7;
const RESULTS: u8 = 6;
/// What a loop counts in: bytes from the first vector of the block (r8) and of the loop (r9),
/// without their fourth bits.
const IN_BLOCK: u8 = 0;
const IN_LOOP: u8 = 1;
/// What an index that counts bytes of `f32` has besides, where the place is one of `f64`.
const TWICE: u8 = 8;
/// Stands where a base does: a base and an index follow.
const WITH_INDEX: u8 = 4;
/// Stands where a base does: the place is that far behind the instruction.
const RELATIVE: u8 = 5;

/// What stands where an instruction's second source does.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Register(Register),
    /// A number in all lanes, by its bits.
    Literal(u64),
    Memory {
        base: u8,
        index: Option<u8>,
        offset: i32,
    },
}

impl From<Register> for Source {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

/// Machine code that is being written.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    pub(super) bytes: Vec<u8>,
    bases: [usize; 2],
    /// The registers that hold them.
    registers: [u8; 2],
    /// Whether loops count bytes of `f32`.
    halves: bool,
    /// Whether lanes are `f32`.
    singles: bool,
    /// Whether registers have whole vectors.
    wide: bool,
    /// Bit patterns that stand behind the code, and the instructions that read them.
    literals: Vec<u64>,
    readers: Vec<LiteralReader>,
}

/// An instruction that reads a literal.
#[derive(Clone, Copy, Debug)]
struct LiteralReader {
    /// Where the literal's distance from the instruction's end stands, four bytes.
    displacement: usize,
    end: usize,
    literal: usize,
}

/// Bytes of a literal: four lanes.
const LITERAL: usize = 32;

impl Assembler {
    /// Begins a function; addresses near the bases are the cheap ones.
    pub(super) fn begin(&mut self, bases: [usize; 2]) {
        (self.bases, self.registers) = (bases, BASES);
        for (register, base) in BASES.into_iter().zip(bases) {
            self.set(register, base);
        }
    }

    /// Ends the function.
    pub(super) fn end(&mut self) {
        // vzeroupper, ret
        self.bytes.extend([0xc5, 0xf8, 0x77, 0xc3]);
    }

    fn set(&mut self, register: u8, value: usize) {
        self.bytes.extend([0x48, 0xb8 + register]);
        self.bytes.extend((value as u64).to_le_bytes());
    }

    fn memory(&mut self, address: Address) -> Source {
        let index = match address.moves {
            Moves::Never => None,
            Moves::InBlock if self.halves => Some(IN_BLOCK | TWICE),
            Moves::InLoop if self.halves => Some(IN_LOOP | TWICE),
            Moves::InBlock | Moves::SingleInBlock => Some(IN_BLOCK),
            Moves::InLoop | Moves::SingleInLoop => Some(IN_LOOP),
            Moves::BySteps(counter) => Some(COUNTERS[usize::from(counter)]),
            Moves::OfPosition | Moves::OfResults => {
                let base = if address.moves == Moves::OfPosition { POSITION } else { RESULTS };
                let offset = i32::try_from(address.first).expect("programs of one line are short");
                return Source::Memory { base, index: None, offset };
            }
        };
        for (base, value) in self.registers.into_iter().zip(self.bases) {
            let far = address.first.cast_signed().wrapping_sub(value.cast_signed());
            if let Ok(offset) = i32::try_from(far) {
                return Source::Memory { base, index, offset };
            }
        }
        self.set(ANY, address.first);
        Source::Memory { base: ANY, index, offset: 0 }
    }

    /// An instruction with up to three operands; `first` is 0 where there is none in its place.
    fn instruction(&mut self, e: Encoding, target: Register, first: Register, second: Source) {
        self.with_byte(e, target, first, second, None);
    }

    /// The same, with a byte behind it.
    fn with_byte(
        &mut self,
        e: Encoding,
        target: Register,
        first: Register,
        second: Source,
        byte: Option<u8>,
    ) {
        if self.wide {
            return self.wide_instruction(e, target, first, second, byte);
        }
        let e = if self.singles { e.of_singles() } else { e };
        let far = match second {
            Source::Register(register) => register >> 3,
            Source::Memory { .. } | Source::Literal(_) => 0,
        };
        let indexed = u8::from(matches!(second, Source::Memory { index: Some(_), .. }));
        // The registers' fourth bits and the second operand are stored inverted.
        let high = ((!(target >> 3) & 1) << 7) | ((!indexed & 1) << 6) | ((!far & 1) << 5) | e.map;
        let middle = (u8::from(e.wide) << 7)
            | ((!first & 15) << 3)
            | (u8::from(e.is_256_bit) << 2)
            | e.prefix;
        self.bytes.extend([0xc4, high, middle, e.opcode]);
        self.operands(target, second, byte);
    }

    /// What follows an instruction's code.
    fn operands(&mut self, target: Register, second: Source, byte: Option<u8>) {
        match second {
            Source::Register(register) => {
                self.bytes.push(0xc0 | ((target & 7) << 3) | (register & 7));
            }
            Source::Literal(bits) => {
                self.bytes.push(RELATIVE | ((target & 7) << 3));
                let known = self.literals.iter().position(|candidate| *candidate == bits);
                let literal = known.unwrap_or(self.literals.len());
                if known.is_none() {
                    self.literals.push(bits);
                }
                let displacement = self.bytes.len();
                let end = displacement + 4 + usize::from(byte.is_some());
                self.readers.push(LiteralReader { displacement, end, literal });
                self.bytes.extend([0; 4]);
            }
            Source::Memory { base, index, offset } => {
                let modes = 0x80 | ((target & 7) << 3);
                match index {
                    None => self.bytes.push(modes | base),
                    Some(index) => self.bytes.extend([modes | WITH_INDEX, (index << 3) | base]),
                }
                self.bytes.extend(offset.to_le_bytes());
            }
        }
        self.bytes.extend(byte);
    }

    /// The code with its literals behind it.
    pub(super) fn finished(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let first = bytes.len().next_multiple_of(LITERAL);
        bytes.resize(first, 0);
        for literal in &self.literals {
            (0..LITERAL / 8).for_each(|_| bytes.extend(literal.to_le_bytes()));
        }
        for &LiteralReader { displacement, end, literal } in &self.readers {
            let far = i32::try_from(first + LITERAL * literal - end).expect("code is short");
            bytes[displacement..displacement + 4].copy_from_slice(&far.to_le_bytes());
        }
        bytes
    }

    /// The target becomes the source.
    pub(super) fn set_to(&mut self, target: Register, source: Source) {
        let e = if matches!(source, Source::Register(_)) { MOVE } else { LOAD };
        self.instruction(e, target, 0, source);
    }

    pub(super) fn square_root(&mut self, target: Register, x: impl Into<Source>) {
        self.instruction(SQRT, target, 0, x.into());
    }

    /// The nearest integers, ties to even.
    pub(super) fn round(&mut self, target: Register, x: impl Into<Source>) {
        self.with_byte(ROUND, target, 0, x.into(), Some(NEAREST));
    }

    /// Bits of each lane moved up or down by so many places.
    pub(super) fn shift(&mut self, target: Register, x: Register, up: bool, by: u8) {
        // The operation stands where a target does.
        let operation = if up { 6 } else { 2 };
        self.with_byte(SHIFT, operation, target, Source::Register(x), Some(by));
    }

    /// `target = a op b`; of fused operations, with the target's old value.
    pub(super) fn operate(
        &mut self,
        e: Encoding,
        target: Register,
        a: Register,
        b: impl Into<Source>,
    ) {
        self.instruction(e, target, a, b.into());
    }

    /// The same, with a second operand in memory.
    pub(super) fn operate_in_memory(
        &mut self,
        e: Encoding,
        target: Register,
        a: Register,
        b: Address,
    ) {
        let b = self.memory(b);
        self.instruction(e, target, a, b);
    }

    pub(super) fn copy(&mut self, target: Register, from: Register) {
        self.instruction(MOVE, target, 0, Source::Register(from));
    }

    pub(super) fn load(&mut self, target: Register, from: Address) {
        let from = self.memory(from);
        self.instruction(LOAD, target, 0, from);
    }

    pub(super) fn store(&mut self, to: Address, from: Register) {
        let to = self.memory(to);
        self.instruction(STORE, from, 0, to);
    }

    /// Lanes whose mask is set, zeros for the others.
    pub(super) fn load_some(&mut self, target: Register, mask: Register, from: Address) {
        let from = self.memory(from);
        self.instruction(LOAD_SOME, target, mask, from);
    }

    /// Writes the first lane.
    pub(super) fn store_one(&mut self, to: Address, from: Register) {
        let to = self.memory(to);
        self.instruction(STORE_ONE, from, 0, to);
    }

    /// All lanes of the target become the number there.
    pub(super) fn spread(&mut self, target: Register, from: Address) {
        let from = self.memory(from);
        self.instruction(SPREAD, target, 0, from);
    }

    /// The first lane of a register becomes all lanes of the target.
    pub(super) fn spread_first(&mut self, target: Register, from: Register) {
        self.instruction(SPREAD, target, 0, Source::Register(from));
    }

    /// Writes the first `count` lanes, at most four; `other` is overwritten.
    pub(super) fn store_first(
        &mut self,
        to: Address,
        from: Register,
        count: usize,
        other: Register,
    ) {
        match count {
            0 => {}
            1 => self.store_one(to, from),
            4.. => self.store(to, from),
            _ => {
                let place = self.memory(to);
                self.instruction(STORE_TWO, from, 0, place);
                if count == 3 {
                    self.with_byte(UPPER, from, 0, Source::Register(other), Some(1));
                    self.store_one(to.plus(16), other);
                }
            }
        }
    }

    /// Lane k of the target becomes lane `lanes[k]`.
    pub(super) fn permute(&mut self, target: Register, from: Register, lanes: [u8; 4]) {
        let bits = (0..4).fold(0, |bits, k| bits | (lanes[k] << (2 * k)));
        self.with_byte(PERMUTE, target, 0, Source::Register(from), Some(bits));
    }

    /// Lane k of the target is that of `b` where `second[k]`, else that of `a`.
    pub(super) fn mix(&mut self, target: Register, a: Register, b: Register, second: [bool; 4]) {
        let bits = (0..4).fold(0, |bits, k| bits | (u8::from(second[k]) << k));
        self.with_byte(MIX, target, a, Source::Register(b), Some(bits));
    }

    /// Copies one number by way of a register.
    pub(super) fn copy_one(&mut self, to: Address, from: Address, by: Register) {
        let from = self.memory(from);
        self.instruction(LOAD_ONE, by, 0, from);
        let to = self.memory(to);
        self.instruction(STORE_ONE, by, 0, to);
    }

    pub(super) fn compare(
        &mut self,
        comparison: Comparison,
        target: Register,
        a: Register,
        b: impl Into<Source>,
    ) {
        if self.wide {
            return self.wide_compare(comparison, target, a, b.into());
        }
        self.with_byte(COMPARE, target, a, b.into(), Some(comparison as u8));
    }

    /// In each lane `yes` where the mask is set, else `no`.
    pub(super) fn select(
        &mut self,
        target: Register,
        mask: Register,
        yes: impl Into<Source>,
        no: Register,
    ) {
        if self.wide {
            return self.wide_select(target, mask, yes.into(), no);
        }
        self.with_byte(BLEND, target, no, yes.into(), Some(mask << 4));
    }

    /// All lanes of `x` become their sum `(0 + 2) + (1 + 3)`; `other` is overwritten.
    pub(super) fn total(&mut self, x: Register, other: Register) {
        self.fold([ADD_HALVES, ADD_ONE], x, other);
    }

    /// All lanes of `x` become their product `(0 * 2) * (1 * 3)`; `other` is overwritten.
    pub(super) fn product(&mut self, x: Register, other: Register) {
        self.fold([MUL_HALVES, MUL_ONE], x, other);
    }

    fn fold(&mut self, [halves, one]: [Encoding; 2], x: Register, other: Register) {
        // The upper two lanes to `other`, whose register stands where a source does.
        self.with_byte(UPPER, x, 0, Source::Register(other), Some(1));
        self.operate(halves, x, x, other);
        self.operate(HIGH_LANES, other, x, x);
        self.operate(one, x, x, other);
        self.instruction(SPREAD, x, 0, Source::Register(x));
    }
}
