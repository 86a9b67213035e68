//! Functions that run loops over vectors: their counters, and jumps over what only some turns do.

use super::Assembler;

/// Bytes of a vector.
const LINE: u8 = 64;

/// A jump forwards, whose end is not known yet: where its distance stands.
#[derive(Debug)]
#[must_use = "it leads nowhere before it lands"]
pub(in crate::native::emit) struct Jump(usize);

impl Assembler {
    /// Keeps the arguments of a function that runs a loop over vectors: the block's first byte in
    /// the loop (rdi), its length in bytes (rsi), and whether a vector that is not whole comes
    /// behind the block's others (rdx).
    ///
    /// With `halves`, counters are in bytes of `f32`, and what is below the stack stands where a
    /// position does.
    pub(in crate::native::emit) fn keep_arguments(&mut self, halves: bool) {
        // mov r10, rdx; mov r9, rdi
        self.bytes.extend([0x49, 0x89, 0xd2, 0x49, 0x89, 0xf9]);
        self.halves = halves;
        if halves {
            // shr r9, 1; shr rsi, 1; lea rdi, [rsp - 128]
            self.bytes.extend([0x49, 0xd1, 0xe9, 0x48, 0xd1, 0xee]);
            self.bytes.extend([0x48, 0x8d, 0x7c, 0x24, 0x80]);
        }
    }

    /// Counters are in bytes of `f64` again.
    pub(in crate::native::emit) fn end_counters(&mut self) {
        self.halves = false;
    }

    /// Bytes that a turn counts.
    fn counted(&self) -> u8 {
        if self.halves { LINE / 2 } else { LINE }
    }

    /// Begins a loop over vectors; where to go back to, and the jump behind the loop of nothing.
    pub(in crate::native::emit) fn begin_loop(&mut self) -> (usize, Jump) {
        // xor r8d, r8d; test rsi, rsi; jz end
        self.bytes.extend([0x45, 0x31, 0xc0, 0x48, 0x85, 0xf6]);
        let none = self.jump(0x84);
        (self.bytes.len(), none)
    }

    /// Ends the loop that begins there.
    pub(in crate::native::emit) fn end_loop(&mut self, start: usize) {
        let counted = self.counted();
        // add r8, counted; add r9, counted; cmp r8, rsi; jb start
        self.bytes.extend([0x49, 0x83, 0xc0, counted, 0x49, 0x83, 0xc1, counted]);
        self.bytes.extend([0x49, 0x39, 0xf0]);
        self.jump_back(start);
    }

    /// jb start
    fn jump_back(&mut self, start: usize) {
        let end = self.bytes.len() + 6;
        let back = i32::try_from(end - start).expect("a loop's body is short");
        self.bytes.extend([0x0f, 0x82]);
        self.bytes.extend((-back).to_le_bytes());
    }

    /// Begins a loop over pairs of vectors; where to go back to, and the jump behind the loop of
    /// nothing.
    pub(in crate::native::emit) fn begin_pairs(&mut self) -> (usize, Jump) {
        // xor r8d, r8d; mov r11, rsi; and r11, -128; jz end
        self.bytes.extend([0x45, 0x31, 0xc0, 0x49, 0x89, 0xf3, 0x49, 0x83, 0xe3, 0x80]);
        let none = self.jump(0x84);
        (self.bytes.len(), none)
    }

    /// Ends the loop over pairs that begins there.
    pub(in crate::native::emit) fn end_pairs(&mut self, start: usize) {
        // sub r8, -128; sub r9, -128; cmp r8, r11; jb start
        self.bytes.extend([0x49, 0x83, 0xe8, 0x80, 0x49, 0x83, 0xe9, 0x80, 0x4d, 0x39, 0xd8]);
        self.jump_back(start);
    }

    /// Goes on only if a vector is left that has no neighbour.
    pub(in crate::native::emit) fn skip_unless_single(&mut self) -> Jump {
        // cmp r8, rsi; je end
        self.bytes.extend([0x49, 0x39, 0xf0]);
        self.jump(0x84)
    }

    /// Ends the turn of a vector without neighbour.
    pub(in crate::native::emit) fn end_single(&mut self) {
        // add r8, 64; add r9, 64
        self.bytes.extend([0x49, 0x83, 0xc0, LINE, 0x49, 0x83, 0xc1, LINE]);
    }

    /// Goes on only in every second turn of a loop over pairs of vectors.
    pub(in crate::native::emit) fn skip_unless_even_pair(&mut self) -> Jump {
        // test r8b, 128; jz end
        self.bytes.extend([0x41, 0xf6, 0xc0, 0x80]);
        self.jump(0x84)
    }

    /// Goes on only in every `period`-th turn of a loop over vectors, a power of two: the last of
    /// so many.
    pub(in crate::native::emit) fn skip_unless_every(&mut self, period: usize) -> Jump {
        let counted = self.counted();
        let mask = u8::try_from(period - 1).ok().and_then(|turns| counted.checked_mul(turns));
        let mask = mask.expect("the period is at most four");
        // lea eax, [r8 + counted]; test al, mask; jnz end
        self.bytes.extend([0x41, 0x8d, 0x40, counted, 0xa8, mask]);
        self.jump(0x85)
    }

    /// Goes on only if there is a vector that is not whole.
    pub(in crate::native::emit) fn skip_unless_rest(&mut self) -> Jump {
        // test r10, r10; jz end
        self.bytes.extend([0x4d, 0x85, 0xd2]);
        self.jump(0x84)
    }

    fn jump(&mut self, condition: u8) -> Jump {
        self.bytes.extend([0x0f, condition, 0, 0, 0, 0]);
        Jump(self.bytes.len() - 4)
    }

    /// The jump ends here.
    pub(in crate::native::emit) fn land(&mut self, jump: Jump) {
        let Jump(displacement) = jump;
        let far =
            i32::try_from(self.bytes.len() - displacement - 4).expect("a loop's body is short");
        self.bytes[displacement..displacement + 4].copy_from_slice(&far.to_le_bytes());
    }
}
