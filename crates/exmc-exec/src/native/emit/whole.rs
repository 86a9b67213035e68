//! Whole programs: a straight line, its part of the position and its results -> one function.
//!
//! Where every instruction of a program has code, the function reads parameters where the caller has them and writes results
//! where the caller wants them. What only the function itself reads goes to memory only when registers run out.

use super::Ends;
use super::assembler::{Address, Register};
use super::cache::{Cache, LINE};
use super::line::{Emitter, HALF, NUMBER, Readers, TAILS, address};
use crate::native::block::{Detail, Operand, Output, Step};
use crate::native::program::{Code, LANES};

/// Results beyond which a number that stands for all of them is not written one by one.
const MANY: usize = 64;

impl Emitter {
    /// Writes a function that runs these instructions from a position to results, if there is code for all of it; where in
    /// the code it begins.
    pub(in crate::native) fn emit_whole(
        &mut self,
        line: &[(Code, Step)],
        ends: Ends<'_>,
    ) -> Option<usize> {
        let part = |output: &Output| match output.scalar {
            true => output.len <= MANY,
            false => output.len <= LANES,
        };
        // What is read by index is read from memory.
        let emitted = |(code, step): &(Code, Step)| {
            Self::has(*code, step) && !matches!(code, Code::Load | Code::Scatter)
        };
        if line.is_empty() || !line.iter().all(emitted) || !ends.outputs.iter().all(part) {
            return None;
        }
        self.inputs = ends.inputs.iter().map(|own| (own.to.addr(), own.len, own.from)).collect();
        if self.position_of(ends.first.addr()).is_some() {
            self.inputs.clear();
            return None;
        }
        let start = self.assembler.bytes.len();
        self.readers = (0..line.len()).map(|k| readers(line, k, ends)).collect();
        self.assembler.begin(self.bases);
        self.cache = Cache::default();
        for (k, (code, step)) in line.iter().enumerate() {
            self.at = k;
            self.cache.begin();
            self.instruction(*code, step);
        }
        self.at = line.len();
        for output in ends.outputs {
            self.cache.begin();
            self.output(output);
        }
        self.assembler.end();
        (self.at, self.readers) = (0, Vec::new());
        self.inputs.clear();
        Some(start)
    }

    /// Which element of the position is there, and how many of its array are from there on.
    fn position_of(&self, at: usize) -> Option<(usize, usize)> {
        let found = self.inputs.iter().find(|&&(to, len, _)| (to..to + NUMBER * len).contains(&at));
        found.map(|&(to, len, from)| {
            let k = (at - to) / NUMBER;
            (from + k, len - k)
        })
    }

    /// Where a number is that the instruction reads there: in the position, if it is a parameter.
    pub(super) fn origin(&self, at: Address) -> Address {
        self.position_of(at.first).map_or(at, |(from, _)| Address::of_position(NUMBER * from))
    }

    /// The scalar there, if it is a parameter.
    pub(super) fn parameter(&mut self, at: Address) -> Option<Register> {
        let (from, _) = self.position_of(at.first)?;
        let target = self.fresh();
        self.assembler.spread(target, Address::of_position(NUMBER * from));
        Some(target)
    }

    /// The vector there, if it is of parameters; lanes beyond the last are zero.
    pub(super) fn parameters(&mut self, at: Address) -> Option<[Register; 2]> {
        let (from, left) = self.position_of(at.first)?;
        let from = Address::of_position(NUMBER * from);
        let registers = [self.fresh(), self.fresh()];
        for (half, &register) in registers.iter().enumerate() {
            let from = from.plus(HALF * half);
            if left >= LANES / 2 * (half + 1) {
                self.assembler.load(register, from);
            } else {
                let mask = self.fresh();
                self.assembler.load(mask, address(&raw const TAILS[left - 1]).plus(HALF * half));
                self.assembler.load_some(register, mask, from);
            }
        }
        Some(registers)
    }

    fn output(&mut self, output: &Output) {
        let &Output { from, scalar, start, len } = output;
        let from = address(from);
        let to = |k: usize| Address::of_results(NUMBER * (start + k));
        let whole = len / (LANES / 2);
        if whole > 0 || scalar {
            let value = if scalar {
                self.line(from)
            } else {
                self.operand(&Operand { first: from.first as *mut f64, step: 8, advance: 0 })
            };
            for part in 0..whole {
                let register = value.half(part % 2);
                self.assembler.store(to(LANES / 2 * part), register);
            }
            if scalar {
                for k in LANES / 2 * whole..len {
                    self.assembler.store_one(to(k), value.half(0));
                }
                return;
            }
        }
        let by = self.fresh();
        for k in LANES / 2 * whole..len {
            let from = self.origin(from.plus(NUMBER * k));
            self.assembler.copy_one(to(k), from, by);
        }
    }
}

/// Who reads the results of instruction `k`.
fn readers(line: &[(Code, Step)], k: usize, ends: Ends<'_>) -> [Readers; 2] {
    let (code, step) = &line[k];
    let results = [Some(&step.out), code.results()[0].then_some(&step.b)];
    results.map(|out| out.map_or(Readers::Others, |out| readers_of(line, k, out, ends)))
}

fn readers_of(line: &[(Code, Step)], k: usize, out: &Operand, ends: Ends<'_>) -> Readers {
    let at = out.first.addr();
    let overlaps = |first: usize, bytes: usize| first < at + LINE && at < first + bytes;
    if matches!(line[k].0, Code::Piece) || overlaps(ends.first.addr(), NUMBER) {
        return Readers::Others;
    }
    let mut last = k;
    for (j, (code, step)) in line.iter().enumerate().skip(k + 1) {
        for (first, bytes) in sources(*code, step) {
            match overlaps(first, bytes) {
                true if first == at && bytes == LINE => last = j,
                true => return Readers::Others,
                false => {}
            }
        }
        let second = code.results()[0].then_some(&step.b);
        for written in [Some(&step.out), second].into_iter().flatten() {
            match written.first.addr() {
                first if first == at && *code != Code::Piece => return Readers::Until(last),
                first if overlaps(first, LINE) => return Readers::Others,
                _ => {}
            }
        }
    }
    for &Output { from, scalar, len, .. } in ends.outputs {
        let bytes = if scalar { NUMBER } else { NUMBER * len };
        // Parts of a register are written from memory.
        let in_registers = from.addr() == at && (scalar || len % (LANES / 2) == 0);
        match overlaps(from.addr(), bytes) {
            true if in_registers => last = line.len(),
            true => return Readers::Others,
            false => {}
        }
    }
    Readers::Until(last)
}

/// What an instruction reads: first byte, and bytes.
fn sources(code: Code, step: &Step) -> Vec<(usize, usize)> {
    match (code, step.detail.as_deref()) {
        (_, Some(Detail::Terms(terms))) => {
            terms.iter().flatten().map(|factor| (factor.addr(), LINE)).collect()
        }
        (Code::Pick, _) => vec![(step.a.first.addr(), NUMBER)],
        (_, Some(&Detail::Piece { len, .. })) => vec![(step.a.first.addr(), NUMBER * len)],
        _ => {
            let operands = [&step.a, &step.b, &step.c].into_iter().zip(code.lanes());
            let read = operands.filter(|(_, is_read)| *is_read);
            read.map(|(operand, _)| (operand.first.addr(), LINE)).collect()
        }
    }
}
