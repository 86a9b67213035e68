//! A loop over vectors: elementwise instructions in a row -> one function, called for each block.
//!
//! What only this function reads is never written to memory, unless registers run out. Elements
//! that do not fill a vector have a turn of their own, in which sums leave out what lies behind
//! them. Where some instructions work on `f32`, a turn is over eight elements all the same: a
//! vector of `f64` in two registers is one of `f32` in one. With AVX-512 and without `f32`, a
//! vector of `f64` has one register, and a turn is over two vectors, whose operations fill each
//! other's waits.

use exmc_fault::{Fault, planted};

use super::Item;
use super::basic_block::{Emitter, Readers, place};
use super::cache::{Cache, REGISTERS, WIDE_REGISTERS};
use super::functions::function_of;
use super::single_precision::{MAX_NUMBERS, needs_single, numbers};
use super::sums::{is_sum, kept, needs};
use crate::native::program::Code;
use crate::native::run::block::{Detail, Operand, Step};

impl Emitter {
    /// How many instructions of a loop over more than one vector, from the first on, are one run:
    /// there is code for them, and registers for their sums.
    pub(super) fn run_in_loop(&self, body: &[Item]) -> usize {
        let (mut held, mut needed, mut slots) = (0, 0, 0);
        let registers = if self.has_whole_vectors(body) { WIDE_REGISTERS } else { REGISTERS };
        let fits = |item: &&Item| {
            let code = match (item.code, item.single) {
                (Some(code), _) if Self::has_in_loop(code, &item.step) => {
                    needed = needed.max(needs(code));
                    code
                }
                (_, Some(code)) if Self::has_single(code, &item.step) => {
                    needed = needed.max(needs_single(code, &item.step));
                    slots += numbers(code, &item.step).count();
                    code
                }
                _ => return false,
            };
            held += kept(code);
            held + needed <= registers && slots <= MAX_NUMBERS
        };
        body.iter().take_while(fits).count()
    }

    /// Whether registers have whole vectors in a loop with these instructions.
    fn has_whole_vectors(&self, body: &[Item]) -> bool {
        self.has_wide && !body.iter().any(is_of_singles)
    }

    fn has_in_loop(code: Code, step: &Step) -> bool {
        if is_sum(code) {
            return !planted(Fault::LostLane);
        }
        // A long chain of operations is better off in a loop of its own, of which several turns run
        // at once.
        let alone = function_of(code).is_some()
            || matches!(code, Code::Piece | Code::Terms | Code::Pick)
            || matches!(code, Code::Load | Code::Scatter);
        let converts = matches!(code, Code::Narrow | Code::Widen);
        !alone && step.out.step != 0 && (converts || Self::has(code, step))
    }

    /// Writes a function that runs these instructions for every vector of a block; `after` are the
    /// instructions that follow in the loop's body, `rest` the elements of its last vector if that
    /// is not whole. Where in the code it begins.
    pub(super) fn emit_loop(&mut self, body: &[Item], after: &[Item], rest: usize) -> usize {
        let start = self.assembler.bytes.len();
        let readers = (0..body.len()).map(|k| [readers(body, k, after), Readers::Others]);
        self.readers = readers.collect();
        self.in_loop = true;
        self.assembler.keep_arguments(body.iter().any(is_of_singles));
        self.assembler.begin(self.bases);
        if self.has_whole_vectors(body) {
            self.assembler.begin_wide();
            self.cache = Cache::wide();
        } else {
            self.cache = Cache::new();
        }
        self.begin_numbers(body);
        self.begin_sums(body);
        if self.assembler.is_wide() {
            let (first, none) = self.assembler.begin_pairs();
            self.in_pairs = true;
            self.turn(body, None);
            self.in_pairs = false;
            self.assembler.end_pairs(first);
            self.assembler.land(none);
            let none = self.assembler.skip_unless_single();
            self.turn(body, None);
            self.assembler.end_single();
            self.assembler.land(none);
        } else {
            let (first, none) = self.assembler.begin_loop();
            self.turn(body, None);
            self.assembler.end_loop(first);
            self.assembler.land(none);
        }
        if rest > 0 {
            let skip = self.assembler.skip_unless_rest();
            self.turn(body, Some(rest));
            self.assembler.land(skip);
        }
        self.end_sums();
        self.assembler.end_wide();
        self.assembler.end_counters();
        self.assembler.end();
        (self.instruction_number, self.readers, self.in_loop, self.short) =
            (0, Vec::new(), false, false);
        start
    }

    /// Writes one turn, over a whole vector, a pair of them or the rest.
    fn turn(&mut self, body: &[Item], rest: Option<usize>) {
        self.cache.forget();
        self.short = self.assembler.is_wide() && !self.in_pairs;
        for (k, Item { code, single, step }) in body.iter().enumerate() {
            self.instruction_number = k;
            self.cache.begin();
            match (*code, *single) {
                (Some(code), _) if is_sum(code) => self.add_up(code, step, rest),
                (Some(Code::Widen), _) => self.widen(step),
                (Some(Code::Narrow), _) => self.narrow(step),
                (Some(code), _) => self.instruction(code, step),
                (_, Some(code)) if is_sum(code) => self.add_up_singles(code, step, rest),
                (_, Some(code)) => self.singles(code, step),
                _ => unreachable!("`run_in_loop` looked at it"),
            }
        }
    }
}

/// Whether an instruction works on `f32`, or between it and `f64`.
fn is_of_singles(item: &Item) -> bool {
    item.single.is_some() || matches!(item.code, Some(Code::Narrow | Code::Widen))
}

/// Whether an instruction reads what is there, or leaves a part of it as it is.
fn reads(step: &Step, operand: &Operand) -> bool {
    let keeps = matches!(step.detail.as_deref(), Some(Detail::Piece { .. }));
    (keeps && place(&step.out) == place(operand))
        || [&step.a, &step.b, &step.c, &step.d]
            .into_iter()
            .any(|source| place(source) == place(operand))
}

/// Who reads the result of instruction `k`. Registers of blocks mean nothing after the loop's body.
fn readers(body: &[Item], k: usize, after: &[Item]) -> Readers {
    let out = &body[k].step.out;
    // The logarithms of a block may have to be added one by one after all.
    let again = body.iter().chain(after).any(|Item { code, step, .. }| {
        matches!(code, Some(Code::SumLog | Code::SumLog1p)) && place(&step.a) == place(out)
    });
    if out.step == 0 || out.advance != 0 || again {
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
