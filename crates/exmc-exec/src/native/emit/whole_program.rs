//! Whole programs: a straight line, its part of the position and its results -> one function.
//!
//! Where every instruction of a program has code, the function reads parameters where the caller
//! has them and writes results where the caller wants them. What only the function itself reads
//! goes to memory only when registers run out. Who reads what is found by lines of memory, so that
//! the work grows with the program's length.

use rustc_hash::FxHashMap;

use super::assembler::{Address, Register};
use super::basic_block::{Emitter, HALF, NUMBER, Readers, TAILS, address};
use super::cache::{Cache, LINE};
use super::unrolled_loop::columns;
use super::{Ends, UNROLL_LIMIT, vector};
use crate::native::program::{Code, LANES};
use crate::native::run::block::{Detail, Operand, Output, Step};

/// Lanes of a register.
const REGISTER: usize = LANES / 2;
/// Results beyond which a number that stands for all of them is not written one by one.
const MIN_MANY_ACCESSES: usize = 64;

/// Instructions beyond which a program is not one function: its code would fill the cache of
/// instructions.
const MAX_INSTRUCTIONS: usize = 2000;

impl Emitter {
    /// Writes a function that runs these instructions from a position to results, if there is code
    /// for all of it; where in the code it begins.
    pub(in crate::native) fn emit_whole(
        &mut self,
        line: &[(Code, Step)],
        ends: Ends<'_>,
    ) -> Option<usize> {
        let part = |output: &Output| match output.scalar {
            true => output.len <= MIN_MANY_ACCESSES,
            false => output.len <= UNROLL_LIMIT * LANES,
        };
        // What is read by index is read from memory.
        let emitted = |(code, step): &(Code, Step)| {
            Self::has_in_line(*code, step) && !matches!(code, Code::Load | Code::Scatter)
        };
        if !(1..=MAX_INSTRUCTIONS).contains(&line.len())
            || !line.iter().all(emitted)
            || !ends.outputs.iter().all(part)
        {
            return None;
        }
        self.inputs =
            ends.inputs.iter().map(|input| (input.to.addr(), input.len, input.from)).collect();
        self.inputs.sort_unstable();
        if self.position_of(ends.first.addr()).is_some() {
            self.inputs.clear();
            return None;
        }
        let start = self.assembler.bytes.len();
        let (at_once, at_end) = split(line, ends);
        let accesses = Accesses::new(line, &at_end);
        self.readers = (0..line.len()).map(|k| readers(line, k, &accesses, ends)).collect();
        self.assembler.begin(self.bases);
        self.cache = Cache::new();
        self.is_narrow = ends.is_narrow;
        let mut at_once = at_once.into_iter().peekable();
        for (k, (code, step)) in line.iter().enumerate() {
            self.instruction_number = k;
            self.cache.begin();
            self.instruction(*code, step);
            while let Some((_, output)) = at_once.next_if(|(writer, _)| *writer == k) {
                self.output(output);
            }
        }
        self.instruction_number = line.len();
        self.short = self.is_narrow;
        for output in at_end {
            self.output(output);
        }
        self.assembler.end();
        (self.instruction_number, self.readers) = (0, Vec::new());
        (self.is_narrow, self.short) = (false, false);
        self.inputs.clear();
        Some(start)
    }

    /// Which element of the position is there, and how many of its array are from there on.
    fn position_of(&self, address: usize) -> Option<(usize, usize)> {
        let behind = self.inputs.partition_point(|&(to, ..)| to <= address);
        let &(to, len, from) = self.inputs[..behind].last()?;
        let k = (address - to) / NUMBER;
        (k < len).then(|| (from + k, len - k))
    }

    /// Where a number is that the instruction reads there: in the position, if it is a parameter.
    pub(super) fn origin(&self, address: Address) -> Address {
        self.position_of(address.first)
            .map_or(address, |(from, _)| Address::of_position(NUMBER * from))
    }

    /// The scalar there, if it is a parameter.
    pub(super) fn parameter(&mut self, address: Address) -> Option<Register> {
        let (from, _) = self.position_of(address.first)?;
        let target = self.fresh();
        self.assembler.spread(target, Address::of_position(NUMBER * from));
        Some(target)
    }

    /// The vector there, if it is of parameters; lanes beyond the last are zero.
    pub(super) fn parameters(&mut self, vector_address: Address) -> Option<[Register; 2]> {
        let (from, left) = self.position_of(vector_address.first)?;
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
        self.cache.begin();
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
            let full_registers = count / REGISTER;
            if full_registers > 0 {
                let value = self.operand(&array);
                for part in 0..full_registers {
                    self.assembler.store(to(first + REGISTER * part), value.half(part));
                }
            }
            if count == REGISTER * full_registers {
                continue;
            }
            let by = self.fresh();
            for k in REGISTER * full_registers..count {
                let from = self.origin(address(array.first).plus(NUMBER * k));
                self.assembler.copy_one(to(first + k), from, by);
            }
        }
    }
}

/// The results that are written as soon as they are there, in the order of the instructions that
/// compute them, and the others. Of arrays that are not narrow, parts are written from memory,
/// after all others may have read them from registers.
fn split<'a>(line: &[(Code, Step)], ends: Ends<'a>) -> (Vec<(usize, &'a Output)>, Vec<&'a Output>) {
    if !ends.is_narrow {
        return (Vec::new(), ends.outputs.iter().collect());
    }
    let mut writers = FxHashMap::default();
    for (k, (code, step)) in line.iter().enumerate() {
        writers.extend(written(*code, step).into_iter().map(|(first, _)| (first, k)));
    }
    let (mut at_once, mut at_end) = (Vec::new(), Vec::new());
    for output in ends.outputs {
        match writers.get(&output.from.addr()) {
            Some(&writer) => at_once.push((writer, output)),
            None => at_end.push(output),
        }
    }
    at_once.sort_by_key(|(writer, _)| *writer);
    (at_once, at_end)
}

/// What an instruction, or an output behind all of them, reads or writes.
#[derive(Clone, Copy)]
struct Access<'a> {
    /// Its number.
    by: usize,
    /// First byte, and bytes; a line where that is a vector or a scalar.
    first: usize,
    bytes: usize,
    how: How<'a>,
}

#[derive(Clone, Copy)]
enum How<'a> {
    Reads,
    Writes,
    Takes(&'a Output),
}

/// All accesses, by the lines of memory that they touch; those of a line in order.
struct Accesses<'a>(FxHashMap<usize, Vec<Access<'a>>>);

impl<'a> Accesses<'a> {
    fn new(line: &[(Code, Step)], outputs: &[&'a Output]) -> Self {
        let mut accesses = Self(FxHashMap::default());
        for (by, (code, step)) in line.iter().enumerate() {
            let mut push = |(first, bytes), how| accesses.push(Access { by, first, bytes, how });
            sources(*code, step).into_iter().for_each(|span| push(span, How::Reads));
            written(*code, step).into_iter().for_each(|span| push(span, How::Writes));
        }
        for output in outputs {
            let bytes = if output.scalar { NUMBER } else { NUMBER * output.len };
            let (by, first, how) = (line.len(), output.from.addr(), How::Takes(output));
            accesses.push(Access { by, first, bytes, how });
        }
        accesses
    }

    fn push(&mut self, access: Access<'a>) {
        if access.bytes > 0 {
            let lines = access.first / LINE..=(access.first + access.bytes - 1) / LINE;
            lines.for_each(|line| self.0.entry(line).or_default().push(access));
        }
    }

    /// Calls a function with every access to the line of memory that begins there, from instruction
    /// `from` on, until it returns something.
    fn find_map<T>(
        &self,
        address: usize,
        from: usize,
        mut f: impl FnMut(Access<'a>) -> Option<T>,
    ) -> Option<T> {
        let accesses_of = |line: usize| {
            let all = self.0.get(&line).map_or(&[][..], Vec::as_slice);
            &all[all.partition_point(|access| access.by < from)..]
        };
        let line_accesses = accesses_of(address / LINE);
        if address.is_multiple_of(LINE) {
            return line_accesses.iter().find_map(|access| f(*access));
        }
        let mut both: Vec<_> =
            line_accesses.iter().chain(accesses_of(address / LINE + 1)).collect();
        both.sort_by_key(|access| (access.by, matches!(access.how, How::Writes)));
        both.into_iter().find_map(|access| f(*access))
    }
}

/// Who reads the results of instruction `k`.
fn readers(
    line: &[(Code, Step)],
    k: usize,
    accesses: &Accesses<'_>,
    ends: Ends<'_>,
) -> [Readers; 2] {
    let (code, step) = &line[k];
    let results = [Some(&step.out), code.results()[0].then_some(&step.b)];
    results.map(|out| match out {
        Some(out) if *code != Code::Piece => readers_of(k, out, accesses, ends),
        _ => Readers::Others,
    })
}

fn readers_of(k: usize, out: &Operand, accesses: &Accesses<'_>, ends: Ends<'_>) -> Readers {
    let address = out.first.addr();
    let overlaps = |first: usize, bytes: usize| first < address + LINE && address < first + bytes;
    if overlaps(ends.first.addr(), NUMBER) {
        return Readers::Others;
    }
    let mut last = k;
    let found = accesses.find_map(address, k + 1, |Access { by, first, bytes, how }| {
        if !overlaps(first, bytes) {
            return None;
        }
        let exact = first == address && bytes == LINE;
        match how {
            How::Reads if exact => last = by,
            How::Writes if exact => return Some(Readers::Until(last)),
            How::Takes(output) if in_registers(address, output) => last = by,
            _ => return Some(Readers::Others),
        }
        None
    });
    found.unwrap_or(Readers::Until(last))
}

/// Whether an output takes what is at `address` from registers: parts of a register are written
/// from memory.
fn in_registers(address: usize, output: &Output) -> bool {
    let far = address.wrapping_sub(output.from.addr());
    let bytes = NUMBER * output.len;
    let end = bytes / LINE * LINE;
    match output.scalar {
        true => far == 0,
        false => far.is_multiple_of(LINE) && (far < end || (bytes - end).is_multiple_of(HALF)),
    }
}

/// What an instruction reads: first byte, and bytes; a line where that is read as a vector, or as a
/// scalar.
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
        (Code::Sum | Code::Dot | Code::Product | Code::MatTVec, _) => {
            let vectors = step.span.len.div_ceil(LANES);
            let lines_of = |operand: Operand| {
                (0..vectors).map(move |v| (vector(&operand, v).first.addr(), LINE))
            };
            lanes().flat_map(lines_of).collect()
        }
        _ => lanes().map(|operand| (operand.first.addr(), LINE)).collect(),
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
