//! A loop over vectors: elementwise instructions in a row -> one function, called for each block.
//!
//! What only this function reads is never written to memory, unless registers run out.

use super::Item;
use super::cache::Cache;
use super::functions::function_of;
use super::line::{Emitter, Readers, place};
use crate::native::block::{Detail, Operand, Step};
use crate::native::program::Code;

impl Emitter {
    /// Whether there is code for an instruction of a loop over more than one vector.
    pub(super) fn has_in_loop(code: Code, step: &Step) -> bool {
        // A long chain of operations is better off in a loop of its own, of which several turns run at once.
        let whole = function_of(code).is_some()
            || matches!(code, Code::Sum | Code::Dot | Code::Piece | Code::Terms | Code::Pick)
            || matches!(code, Code::Load | Code::Scatter);
        !whole && step.out.step != 0 && Self::has(code, step)
    }

    /// Writes a function that runs these instructions for every vector of a block; `after` are the instructions that follow
    /// in the loop's body. Where in the code it begins.
    pub(super) fn emit_loop(&mut self, body: &[Item], after: &[Item]) -> usize {
        let start = self.assembler.bytes.len();
        let readers = (0..body.len()).map(|k| [readers(body, k, after), Readers::Others]);
        self.readers = readers.collect();
        self.in_loop = true;
        self.assembler.begin(self.bases);
        let first = self.assembler.begin_loop();
        self.cache = Cache::default();
        for (k, Item { code, step }) in body.iter().enumerate() {
            self.at = k;
            self.cache.begin();
            self.instruction(code.expect("`has_in_loop` looked at it"), step);
        }
        self.assembler.end_loop(first);
        self.assembler.end();
        (self.at, self.readers, self.in_loop) = (0, Vec::new(), false);
        start
    }
}

/// Whether an instruction reads what is there, or leaves a part of it as it is.
fn reads(step: &Step, operand: &Operand) -> bool {
    let keeps = matches!(step.detail.as_deref(), Some(Detail::Piece { .. }));
    (keeps && place(&step.out) == place(operand))
        || [&step.a, &step.b, &step.c, &step.d].into_iter().any(|own| place(own) == place(operand))
}

/// Who reads the result of instruction `k`. Registers of blocks mean nothing after the loop's body.
fn readers(body: &[Item], k: usize, after: &[Item]) -> Readers {
    let out = &body[k].step.out;
    if out.step == 0 || out.advance != 0 {
        return Readers::Others;
    }
    let mut last = k;
    for (j, Item { step, .. }) in body.iter().enumerate().skip(k + 1) {
        if reads(step, out) {
            last = j;
        }
        if place(&step.out) == place(out) {
            return Readers::Until(last);
        }
    }
    // The first that mentions it: a read, unless it only writes there.
    let mut after = after.iter().map(|item| &item.step);
    match after.find(|step| reads(step, out) || place(&step.out) == place(out)) {
        Some(step) if reads(step, out) => Readers::Others,
        _ => Readers::Until(last),
    }
}
