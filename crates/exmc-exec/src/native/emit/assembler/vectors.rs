//! Functions that run loops over vectors: their counters, and jumps over what only some turns do.

use super::Assembler;

/// Bytes of a vector.
const LINE: usize = 64;

/// A jump forwards, whose end is not known yet: where its distance stands.
#[derive(Debug)]
#[must_use = "it leads nowhere before it lands"]
pub(in crate::native::emit) struct Jump(usize);

impl Assembler {
    /// Keeps a function's third argument (rdx): whether a vector that is not whole comes behind the block's others.
    pub(in crate::native::emit) fn keep_rest(&mut self) {
        // mov r10, rdx
        self.bytes.extend([0x49, 0x89, 0xd2]);
    }

    /// Begins a loop over vectors, of a function whose arguments are the block's first byte in the loop (rdi) and its length
    /// in bytes (rsi); where to go back to, and the jump behind the loop of nothing.
    pub(in crate::native::emit) fn begin_loop(&mut self) -> (usize, Jump) {
        // xor r8d, r8d; mov r9, rdi; test rsi, rsi; jz end
        self.bytes.extend([0x45, 0x31, 0xc0, 0x49, 0x89, 0xf9, 0x48, 0x85, 0xf6]);
        let none = self.jump(0x84);
        (self.bytes.len(), none)
    }

    /// Ends the loop that begins there.
    pub(in crate::native::emit) fn end_loop(&mut self, start: usize) {
        // add r8, 64; add r9, 64; cmp r8, rsi; jb start
        self.bytes.extend([0x49, 0x83, 0xc0, 0x40, 0x49, 0x83, 0xc1, 0x40, 0x49, 0x39, 0xf0]);
        let end = self.bytes.len() + 6;
        let back = i32::try_from(end - start).expect("a loop's body is short");
        self.bytes.extend([0x0f, 0x82]);
        self.bytes.extend((-back).to_le_bytes());
    }

    /// Goes on only in every `period`-th turn of a loop over vectors, a power of two: the last of so many.
    pub(in crate::native::emit) fn skip_unless_every(&mut self, period: usize) -> Jump {
        let mask = u8::try_from(LINE * (period - 1)).expect("the period is at most four");
        // lea eax, [r8 + 64]; test al, mask; jnz end
        self.bytes.extend([0x41, 0x8d, 0x40, 0x40, 0xa8, mask]);
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
        let Jump(at) = jump;
        let far = i32::try_from(self.bytes.len() - at - 4).expect("a loop's body is short");
        self.bytes[at..at + 4].copy_from_slice(&far.to_le_bytes());
    }
}
