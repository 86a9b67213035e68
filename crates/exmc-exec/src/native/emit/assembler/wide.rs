//! All eight lanes of `f64` in one register: vector instructions of AVX-512 -> bytes.
//!
//! Every instruction has the four-byte EVEX prefix and a displacement of 32 bits. A literal is one
//! number, which the instruction itself spreads over the lanes. Comparisons leave bits in a mask
//! register, which become lanes at once, as those of AVX2 are. Reference: Intel's Software
//! Developer's Manual, volume 2, section 2.7 and the instructions' own pages.

use super::{
    Assembler, COMPARE, Comparison, Encoding, LOAD, ROUND, Register, SPREAD, Source, fused,
};

const SELECT: Encoding = fused(0x65);
/// A mask's bits to lanes, and back.
const MASK_TO_LANES: Encoding = Encoding { prefix: 2, ..fused(0x38) };
const LANES_TO_MASK: Encoding = Encoding { prefix: 2, ..fused(0x39) };
/// The one mask register that is used; number 0 means none.
const MASK: u8 = 1;

impl Assembler {
    /// Writes instructions on whole vectors.
    pub(in crate::native::emit) fn begin_wide(&mut self) {
        self.wide = true;
    }

    pub(in crate::native::emit) fn is_wide(&self) -> bool {
        self.wide
    }

    /// Writes instructions on halves of vectors again.
    pub(in crate::native::emit) fn end_wide(&mut self) {
        self.wide = false;
    }

    /// The instruction of AVX-512 that does on eight lanes what that one does on four.
    pub(super) fn wide_instruction(
        &mut self,
        e: Encoding,
        target: Register,
        first: Register,
        second: Source,
        byte: Option<u8>,
    ) {
        debug_assert!(e.map < 3 || e == ROUND, "instructions that move lanes work on halves");
        // A literal is a number, not a vector.
        let number = e == LOAD && matches!(second, Source::Literal(_));
        let e = if number { SPREAD } else { e };
        self.prefixed(e, target, first, second, byte, 0);
    }

    pub(super) fn wide_compare(
        &mut self,
        comparison: Comparison,
        target: Register,
        a: Register,
        b: Source,
    ) {
        self.prefixed(COMPARE, MASK, a, b, Some(comparison as u8), 0);
        self.prefixed(MASK_TO_LANES, target, 0, Source::Register(MASK), None, 0);
    }

    pub(super) fn wide_select(
        &mut self,
        target: Register,
        mask: Register,
        yes: Source,
        no: Register,
    ) {
        self.prefixed(LANES_TO_MASK, MASK, 0, Source::Register(mask), None, 0);
        self.prefixed(SELECT, target, no, yes, None, MASK);
    }

    /// An instruction on 512 bits, whose lanes are those of a mask, or all for none.
    fn prefixed(
        &mut self,
        e: Encoding,
        target: Register,
        first: Register,
        second: Source,
        byte: Option<u8>,
        mask: u8,
    ) {
        debug_assert!(
            e.is_256_bit && !self.singles,
            "there are no others in loops over whole vectors"
        );
        let (third, fourth) = match second {
            Source::Register(register) => ((register >> 3) & 1, register >> 4),
            Source::Memory { index, .. } => (0, u8::from(index.is_some())),
            Source::Literal(_) => (0, 0),
        };
        let literal = matches!(second, Source::Literal(_));
        // Bits of registers' numbers are stored inverted.
        let of_target = ((!(target >> 3) & 1) << 7) | ((!(target >> 4) & 1) << 4);
        let of_second = ((!fourth & 1) << 6) | ((!third & 1) << 5);
        let lanes_of_64 = 1 << 7;
        let eight_lanes = 2 << 5;
        let spread = u8::from(literal && e.opcode != SPREAD.opcode) << 4;
        self.bytes.extend([
            0x62,
            of_target | of_second | e.map,
            lanes_of_64 | ((!first & 15) << 3) | (1 << 2) | e.prefix,
            eight_lanes | spread | ((!(first >> 4) & 1) << 3) | mask,
            e.opcode,
        ]);
        self.operands(target, second, byte);
    }
}
