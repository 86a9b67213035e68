//! Whole programs: a straight line, its part of the position and its results -> one function.
//!
//! Where every instruction of a program has code, the function reads parameters where the caller has them and writes results
//! where the caller wants them. What only the function itself reads goes to memory only when registers run out.

use super::assembler::{Address, Register};
use super::cache::{Cache, LINE};
use super::line::{Emitter, HALF, NUMBER, Readers, TAILS, address};
use super::small::columns;
use super::{Ends, FEW, vector};
use crate::native::block::{Detail, Operand, Output, Step};
use crate::native::program::{Code, LANES};

/// Lanes of a register.
const REGISTER: usize = LANES / 2;
/// Results beyond which a number that stands for all of them is not written one by one.
const MANY: usize = 64;

/// Instructions beyond which who reads what is not worth finding out.
const LONGEST: usize = 256;

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
            false => output.len <= FEW * LANES,
        };
        // What is read by index is read from memory.
        let emitted = |(code, step): &(Code, Step)| {
            Self::has_in_line(*code, step) && !matches!(code, Code::Load | Code::Scatter)
        };
        if !(1..=LONGEST).contains(&line.len())
            || !line.iter().all(emitted)
            || !ends.outputs.iter().all(part)
        {
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
        let to = |k: usize| Address::of_results(NUMBER * (start + k));
        if scalar {
            let value = self.line(address(from));
            for part in 0..len / REGISTER {
                self.assembler.store(to(REGISTER * part), value.half(0));
            }
            for k in len / REGISTER * REGISTER..len {
                self.assembler.store_one(to(k), value.half(0));
            }
            return;
        }
        let array = Operand { first: from.cast_mut(), step: 8, advance: 0, wide: false };
        for first in (0..len).step_by(LANES) {
            self.cache.begin();
            let count = LANES.min(len - first);
            let array = vector(&array, first / LANES);
            let whole = count / REGISTER;
            if whole > 0 {
                let value = self.operand(&array);
                for part in 0..whole {
                    self.assembler.store(to(first + REGISTER * part), value.half(part));
                }
            }
            let by = self.fresh();
            for k in REGISTER * whole..count {
                let from = self.origin(address(array.first).plus(NUMBER * k));
                self.assembler.copy_one(to(first + k), from, by);
            }
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
        for (first, bytes) in written(*code, step) {
            match overlaps(first, bytes) {
                true if first == at && bytes == LINE => return Readers::Until(last),
                true => return Readers::Others,
                false => {}
            }
        }
    }
    for &Output { from, scalar, len, .. } in ends.outputs {
        let bytes = if scalar { NUMBER } else { NUMBER * len };
        // Parts of a register are written from memory.
        let (far, end) = (at.wrapping_sub(from.addr()), bytes / LINE * LINE);
        let in_registers = match scalar {
            true => far == 0,
            false => far % LINE == 0 && (far < end || (bytes - end) % HALF == 0),
        };
        match overlaps(from.addr(), bytes) {
            true if in_registers => last = line.len(),
            true => return Readers::Others,
            false => {}
        }
    }
    Readers::Until(last)
}

/// What an instruction reads: first byte, and bytes; a line where that is read as a vector, or as a scalar.
fn sources(code: Code, step: &Step) -> Vec<(usize, usize)> {
    // Numbers that are read from memory one by one, which are no line even if they fill one.
    let numbers = |first: usize, len: usize| {
        vec![(first, NUMBER.min(NUMBER * len)), (first + NUMBER, NUMBER * len.saturating_sub(1))]
    };
    let lanes = || {
        let operands = [step.a, step.b, step.c].into_iter().zip(code.lanes());
        operands.filter(|(_, is_read)| *is_read).map(|(operand, _)| operand)
    };
    match (code, step.detail.as_deref()) {
        (_, Some(Detail::Terms(terms))) => {
            terms.iter().flatten().map(|factor| (factor.addr(), LINE)).collect()
        }
        (Code::Pick, _) => vec![(step.a.first.addr(), NUMBER)],
        (_, Some(&Detail::Piece { len, .. })) => numbers(step.a.first.addr(), len),
        (Code::MatVec, _) => numbers(step.a.first.addr(), columns(step).unwrap_or(0)),
        (Code::Sum | Code::Dot | Code::MatTVec, _) => {
            let vectors = step.span.len.div_ceil(LANES);
            let of = |operand: Operand| {
                (0..vectors).map(move |v| (vector(&operand, v).first.addr(), LINE))
            };
            lanes().flat_map(of).collect()
        }
        _ => lanes().map(|own| (own.first.addr(), LINE)).collect(),
    }
}

/// What an instruction writes, as above.
fn written(code: Code, step: &Step) -> Vec<(usize, usize)> {
    let out = step.out.first.addr();
    match (code, step.detail.as_deref()) {
        // Before what it writes is read again, all of it is written to memory.
        (_, Some(&Detail::Piece { start, len })) => vec![(out + NUMBER * start, NUMBER * len + 1)],
        (Code::MatTVec, _) if step.out.step != 0 => {
            vec![(out, NUMBER * columns(step).unwrap_or(0) + 1)]
        }
        _ => {
            let second = code.results()[0].then_some(step.b.first.addr());
            std::iter::once(out).chain(second).map(|first| (first, LINE)).collect()
        }
    }
}
