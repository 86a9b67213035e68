//! Eight lanes of `f32` in a register, and the instructions between them and four of `f64`.

use super::{Address, Assembler, Encoding, Register, Source, UPPER, fused, packed};

/// Four lanes of `f64` to the lower half of a register, and such a half to four lanes.
const NARROW: Encoding = packed(0x5a);
const WIDEN: Encoding = Encoding { prefix: 0, ..NARROW };
const WITH_UPPER: Encoding = Encoding { map: 3, ..packed(0x18) };
const SPREAD: Encoding = Encoding { wide: false, ..fused(0x18) };
const STORE_ONE: Encoding = Encoding { prefix: 2, is_256_bit: false, ..packed(0x11) };

impl Encoding {
    /// The same instruction on `f32`, of those that move lanes, compute or compare.
    pub(super) fn of_singles(self) -> Self {
        match self.map {
            1 => Self { prefix: 0, ..self },
            2 => Self { wide: false, ..self },
            // Blending by a mask.
            _ => Self { opcode: self.opcode - 1, ..self },
        }
    }
}

impl Assembler {
    /// Writes instructions whose lanes are `f32`.
    pub(in crate::native::emit) fn begin_singles(&mut self) {
        self.singles = true;
    }

    pub(in crate::native::emit) fn writes_singles(&self) -> bool {
        self.singles
    }

    /// Writes instructions whose lanes are `f64` again.
    pub(in crate::native::emit) fn end_singles(&mut self) {
        self.singles = false;
    }

    /// Four lanes of `f64`, rounded; the upper half of the target is zero.
    pub(in crate::native::emit) fn narrow(&mut self, target: Register, from: Register) {
        self.instruction(NARROW, target, 0, Source::Register(from));
    }

    /// The lower four lanes of `f32` as four of `f64`.
    pub(in crate::native::emit) fn widen(&mut self, target: Register, from: Register) {
        self.instruction(WIDEN, target, 0, Source::Register(from));
    }

    /// Four numbers of `f32` in memory as four lanes of `f64`.
    pub(in crate::native::emit) fn widen_from(&mut self, target: Register, from: Address) {
        let from = self.memory(from);
        self.instruction(WIDEN, target, 0, from);
    }

    /// The upper half of a register becomes the lower one of the target.
    pub(in crate::native::emit) fn upper(&mut self, target: Register, from: Register) {
        self.with_byte(UPPER, from, 0, Source::Register(target), Some(1));
    }

    /// The lower halves of two registers, as the halves of one.
    pub(in crate::native::emit) fn join(
        &mut self,
        target: Register,
        low: Register,
        high: Register,
    ) {
        self.with_byte(WITH_UPPER, target, low, Source::Register(high), Some(1));
    }

    /// All eight lanes of the target become the `f32` there.
    pub(in crate::native::emit) fn spread_single(&mut self, target: Register, from: Address) {
        let from = self.memory(from);
        self.instruction(SPREAD, target, 0, from);
    }

    /// Writes the first lane of `f32`.
    pub(in crate::native::emit) fn store_one_single(&mut self, to: Address, from: Register) {
        let to = self.memory(to);
        self.instruction(STORE_ONE, from, 0, to);
    }
}
