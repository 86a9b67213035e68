//! Functions that run loops with carried state: their beginnings, ends, counters and calls.

use super::{ANY, Assembler, COUNTERS, KEPT_BASES};

/// The register of a function's first argument (rdi).
const FIRST_ARGUMENT: u8 = 7;

impl Assembler {
    /// Begins a function that runs a loop with carried state, and may call others.
    pub(in crate::native::emit) fn begin_turns(&mut self, bases: [usize; 2]) {
        // push rbx; push rbp; push r12; push r13; push r14; push r15; sub rsp, 8
        self.bytes.extend([0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57]);
        self.bytes.extend([0x48, 0x83, 0xec, 0x08]);
        (self.bases, self.registers) = (bases, KEPT_BASES);
        for (register, base) in KEPT_BASES.into_iter().zip(bases) {
            self.set(register, base);
        }
    }

    /// Ends the function that [`Assembler::begin_turns`] began.
    pub(in crate::native::emit) fn end_turns(&mut self) {
        // add rsp, 8; pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx
        self.bytes.extend([0x48, 0x83, 0xc4, 0x08]);
        self.bytes.extend([0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b]);
        self.end();
    }

    /// Begins the steps, each counter at so many bytes; where to go back to.
    pub(in crate::native::emit) fn begin_steps(&mut self, counters: &[usize]) -> usize {
        for (&counter, &first) in COUNTERS.iter().zip(counters) {
            // mov counter, first
            self.bytes.extend([0x49, 0xb8 + counter]);
            self.bytes.extend((first as u64).to_le_bytes());
        }
        self.bytes.len()
    }

    /// Ends the steps that begin there: every counter changes by so many bytes, and they go on
    /// until the first one has passed `last`, or, going down, zero.
    pub(in crate::native::emit) fn end_steps(&mut self, start: usize, changes: &[i32], last: i32) {
        for (&counter, &change) in COUNTERS.iter().zip(changes).rev() {
            // add counter, change
            self.bytes.extend([0x49, 0x81, 0xc0 + counter]);
            self.bytes.extend(change.to_le_bytes());
        }
        let up = changes[0] > 0;
        if up {
            // cmp counter, last
            self.bytes.extend([0x49, 0x81, 0xf8 + COUNTERS[0]]);
            self.bytes.extend(last.to_le_bytes());
        }
        let end = self.bytes.len() + 6;
        let back = i32::try_from(end - start).expect("a loop's body is short");
        // jle start; jns start
        self.bytes.extend([0x0f, if up { 0x8e } else { 0x89 }]);
        self.bytes.extend((-back).to_le_bytes());
    }

    /// Calls a function with one argument.
    pub(in crate::native::emit) fn call(&mut self, function: usize, argument: usize) {
        // vzeroupper; mov rdi, argument; mov rax, function; call rax
        self.bytes.extend([0xc5, 0xf8, 0x77]);
        self.set(FIRST_ARGUMENT, argument);
        self.set(ANY, function);
        self.bytes.extend([0xff, 0xd0]);
    }
}
