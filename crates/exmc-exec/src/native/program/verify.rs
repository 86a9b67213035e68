//! A program -> whether all that it reads and writes is its own; a broken rule is a bug of ours.
//!
//! Instructions, kernels and generated code read and write at addresses without looking. This is
//! what they rely on:
//!
//! 1. Every place lies inside its region with all elements of its array, and up to the end of the
//!    last vector where vectors are read or written.
//! 2. Nothing is read in a run before it was written there, and elements that are read together
//!    were written by one instruction (pieces of one array count as one).
//! 3. What is read in a loop over several blocks, or once a step, and was written before the loop,
//!    is not written in it. What one instruction of such a loop writes and another one reads is the
//!    same elements of the same array.
//! 4. A result overlaps none of its instruction's operands, or takes the very place of one that is
//!    read before it is written, vector by vector.
//! 5. A short array's place has one writer, since straight lines hold places in registers.
//! 6. Numbers are read as the type that they were written as.
//! 7. Indices have the extent of what they point into, states and pairs of chains their width.
//!
//! That a place still has the value that its reader means shows in comparing two programs of one
//! graph, of which one never gives memory to a second value: [`Reads`] must be equal.

mod chains;
mod loops;
#[cfg(test)]
mod tests;

use std::ops::Range;

use exmc_graph::{Op, Precision, Reduction};

use super::regions::{Region as Memory, Scope};
use super::{Call, LANES, Part, Place, Program, Region, Stage};

/// For every read of a program, in order, who wrote what is read.
pub(in crate::native) type Reads = Vec<u32>;

/// Halves of an `f64`, in which shared memory is counted.
const HALVES: usize = 2;

/// Numbers in a line of the narrower type.
const SINGLES: usize = HALVES * LANES;

/// Checks all rules.
///
/// # Errors
/// When one is broken: which, and by which instruction.
pub(in crate::native) fn verify(program: &Program) -> Result<Reads, String> {
    let mut verifier = Verifier {
        program,
        arena: Memory::new(program.arena),
        shared: Memory::new(program.shared * HALVES),
        is_single: vec![false],
        scopes: Vec::new(),
        reads: Vec::new(),
    };
    verifier.shared_region()?;
    for &(_, len, place) in &program.inputs {
        verifier.result(place, len).map_err(|why| format!("input at {place}: {why}"))?;
    }
    verifier.stages(&program.stages)?;
    for &(place, len) in &program.roots {
        verifier.array(place, len).map_err(|why| format!("result {place}: {why}"))?;
    }
    Ok(verifier.reads)
}

struct Verifier<'a> {
    program: &'a Program,
    arena: Memory,
    /// Counted in halves.
    shared: Memory,
    /// Of every writer, whether it wrote `f32`.
    is_single: Vec<bool>,
    /// Loops that are open, innermost last.
    scopes: Vec<Scope>,
    reads: Reads,
}

/// What a read found: who wrote it, and where that one's array begins.
type Found = super::regions::Found;

impl Verifier<'_> {
    fn writer(&mut self, is_single: bool) -> u32 {
        self.is_single.push(is_single);
        u32::try_from(self.is_single.len() - 1).unwrap_or(u32::MAX)
    }

    /// Everything that is packed when data are bound.
    fn shared_region(&mut self) -> Result<(), String> {
        let program = self.program;
        let mut parts = Vec::new();
        for part in &program.parts {
            parts.push(match part {
                // Their lengths are known with the data; what reads them says how much it needs.
                Part::Array { offset, .. } => (offset * HALVES, None, false),
                Part::Singles { offset, len, .. } => (*offset, Some(*len), true),
                Part::Tiles { matrix, offset, precision } => {
                    let single = *precision == Precision::F32;
                    let height = if single { SINGLES } else { LANES };
                    let numbers = matrix.rows.next_multiple_of(height) * matrix.columns;
                    let halves = if single { numbers } else { numbers * HALVES };
                    (offset * HALVES, Some(halves), single)
                }
            });
        }
        for (tensor, offset) in &program.constants {
            let len = tensor.values().len();
            let len = if len == 1 { LANES } else { len };
            parts.push((offset * HALVES, Some(len * HALVES), false));
        }
        parts.sort_by_key(|part| part.0);
        if parts.is_empty() {
            // A program for several positions has its constants packed already.
            let by = self.writer(false);
            return self.shared.write(&(0..program.shared * HALVES), by, 0);
        }
        for k in 0..parts.len() {
            let (start, len, is_single) = parts[k];
            let next = parts.get(k + 1).map_or(program.shared * HALVES, |next| next.0);
            let end = len.map_or(next, |len| start + len);
            if end > next {
                return Err(format!("shared parts at {start} and {next} overlap"));
            }
            let by = self.writer(is_single);
            self.shared.write(&(start..end), by, start)?;
        }
        Ok(())
    }

    /// Reads elements of a place from `skip` on, which must all be there.
    fn read(&mut self, place: Place, elements: Range<usize>) -> Result<Option<Found>, String> {
        if elements.is_empty() {
            return Ok(None);
        }
        let start = place.offset as usize;
        let (found, single) = match place.region {
            Region::Arena => {
                let range = start + elements.start..start + elements.end;
                let found = self.arena.read(&range)?;
                for scope in self.scopes.iter_mut().filter(|scope| found.by < scope.from) {
                    scope.reads.push(range.clone());
                }
                (found, None)
            }
            Region::Shared => {
                let range = (start + elements.start) * HALVES..(start + elements.end) * HALVES;
                (self.shared.read(&range)?, Some(false))
            }
            Region::Single => {
                let range = start + elements.start..start + elements.end;
                (self.shared.read(&range)?, Some(true))
            }
            Region::Register | Region::Own => return Err(format!("{place} has no memory yet")),
        };
        if single.is_some_and(|single| single != self.is_single[found.by as usize]) {
            return Err(format!("{place} is read as another type"));
        }
        self.reads.push(found.by);
        Ok(Some(found))
    }

    /// Reads an array of `len` elements, or a scalar's line.
    fn array(&mut self, place: Place, len: usize) -> Result<Option<Found>, String> {
        let elements = if place.step == 0 { LANES } else { len };
        self.read(place, 0..elements)
    }

    /// Writes elements of a place for `by`.
    fn write_as(&mut self, place: Place, elements: Range<usize>, by: u32) -> Result<(), String> {
        if place.region != Region::Arena {
            return Err(format!("{place} is not the instance's memory"));
        }
        let start = place.offset as usize;
        if start < LANES && !elements.is_empty() {
            return Err(format!("{place} is the line of nobody"));
        }
        let range = start + elements.start..start + elements.end;
        self.arena.write(&range, by, start)?;
        for scope in &mut self.scopes {
            scope.writes.push(range.clone());
        }
        Ok(())
    }

    /// Writes elements whose values nobody may read.
    fn spoil(&mut self, place: Place, len: usize) -> Result<(), String> {
        let by = self.writer(false);
        self.write_as(place, 0..len, by)?;
        let start = place.offset as usize;
        self.arena.forget(&(start..start + len));
        Ok(())
    }

    /// Writes an array of `len` elements, or a scalar's line.
    fn result(&mut self, place: Place, len: usize) -> Result<(), String> {
        if place.step == 0 && len != 1 {
            return Err(format!("{place} is a line for {len} elements"));
        }
        let by = self.writer(false);
        self.write_as(place, 0..if place.step == 0 { LANES } else { len }, by)
    }

    /// Whether a result is apart from what the same stage reads.
    fn apart(result: (Place, usize), operand: (Place, usize)) -> Result<(), String> {
        let range = |(place, len): (Place, usize)| {
            let start = place.offset as usize;
            start..start + if place.step == 0 { LANES } else { len }
        };
        let (a, b) = (range(result), range(operand));
        let same_region = operand.0.region == Region::Arena && result.0.region == Region::Arena;
        if same_region && a.start < b.end && b.start < a.end {
            return Err(format!("result {} overlaps operand {}", result.0, operand.0));
        }
        Ok(())
    }

    fn stages(&mut self, stages: &[Stage]) -> Result<(), String> {
        for (number, stage) in stages.iter().enumerate() {
            let checked = match stage {
                Stage::Loop(l) => self.loop_over(l),
                Stage::Call(call) => self.call(call),
                Stage::Scan(k) => self.scan(*k),
                Stage::Recurrence(scan) => self.recurrence(scan),
                Stage::LogSumExpScan(scan) => self.markov(scan),
                Stage::LinearScan(scan) => self.mixing(scan),
                Stage::ScanLoop(scan_loop) => self.repeat(scan_loop),
            };
            checked.map_err(|why| format!("stage {number}: {why}"))?;
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<(), String> {
        let name = call.op.name();
        let named = |why: String| format!("call of {name}: {why}");
        let len = call.shape.len();
        for (place, shape) in &call.args {
            self.array(*place, shape.len()).map_err(named)?;
            Self::apart((call.out, len), (*place, shape.len())).map_err(named)?;
            let behind = place.region != Region::Arena || place.offset < call.out.offset;
            if call.kernel.is_none() && !behind {
                return Err(named(format!("argument {place} lies behind the result")));
            }
        }
        if let Op::Reduce(Reduction::LogSumExp, _) | Op::Cholesky = &call.op {
            let scratch = call.kernel.as_ref().map_or(0, |kernel| kernel.scratch());
            for (place, shape) in &call.args {
                Self::apart((call.scratch, scratch), (*place, shape.len())).map_err(named)?;
            }
        }
        if let Some(kernel) = &call.kernel {
            self.spoil(call.scratch, kernel.scratch()).map_err(named)?;
            Self::apart((call.out, len), (call.scratch, kernel.scratch())).map_err(named)?;
        }
        self.result(call.out, len).map_err(named)
    }

    fn scan(&mut self, number: usize) -> Result<(), String> {
        let program = self.program;
        let Some(scan) = program.scans.get(number) else {
            return Err(format!("scan {number} is not there"));
        };
        for &(_, place, len) in &scan.args {
            self.array(place, len)?;
        }
        for &(_, place, len) in &scan.outputs {
            for &(_, arg, arg_len) in &scan.args {
                Self::apart((place, len), (arg, arg_len))?;
            }
            self.result(place, len)?;
        }
        Ok(())
    }
}
