//! Lanes: a program of short loops and its data -> a program in which every number is a few
//! numbers, one for each position.
//!
//! On a small model, a gradient is mostly waiting: a scalar is a line of equal numbers, and a sum
//! adds the lanes of one vector. Here each element of an array, and each scalar, is a vector of its
//! own with a lane for every position. Elementwise instructions become one for each element, sums
//! and products are written out in the order of their routines, with what those round, and what
//! only moves numbers is gone. So each lane has the bits of the program for one position, signs of
//! zeros included: a sum that begins at zero, or that has masked lanes, is never a negative zero.

mod order;
mod sums;

use std::sync::Arc;

use exmc_fault::{Fault, planted};
use exmc_graph::Precision;
use exmc_math::simd::{Level, Line};
use rustc_hash::FxHashMap;

use super::loop_ir::NOTHING;
use crate::native::emit::Emitter;
use crate::native::link::{Targets, is_short};
use crate::native::program::{
    Code, Extra, Instruction, LANES, Loop, Place, Program, Region, Stage, verify,
};
use crate::native::run::Frame;
use crate::native::run::pack::{Packed, read_elements};

/// Positions that are evaluated together: the lanes of a register of generated code.
pub(crate) const BATCH: usize = LANES / 2;

/// Instructions beyond which positions are not evaluated together. What such a program saves is
/// waiting, and one this long has enough to do for each position: four together took 0.8 of the
/// time of four alone at 390, and 1.3 at 1,300.
const MAX_INSTRUCTIONS: usize = 400;

/// A program for a few positions, with its memory.
#[derive(Debug)]
pub(crate) struct BatchProgram {
    instructions: usize,
    frame: Frame,
}

impl BatchProgram {
    /// The program for a few positions of one that has a log density and then its gradient as
    /// roots, `targets` being the gradient's places; nothing where there is no code for all of it.
    pub(crate) fn new(
        level: Level,
        program: &Program,
        packed: &Packed,
        targets: &Targets,
        dim: usize,
    ) -> Option<Self> {
        let covered: usize = targets.iter().map(|&(_, _, len)| len).sum();
        if covered != dim || program.arena > MAX_INSTRUCTIONS * LANES {
            return None;
        }
        let mut writer = Writer::new(program, packed);
        for stage in &program.stages {
            match stage {
                Stage::Loop(l) if is_short(l) => writer.write_loop(l)?,
                _ => return None,
            }
        }
        let (program, packed, targets) = writer.finish(targets)?;
        let checked = verify(&program);
        debug_assert!(checked.is_ok(), "after lanes: {checked:?}");
        checked.ok()?;
        let frame = Frame::new(level, &program, &Arc::new(packed), &targets, 1);
        frame.is_whole().then_some(Self { instructions: program.counts().main, frame })
    }

    /// Instructions for all positions.
    pub(crate) fn instructions(&self) -> usize {
        self.instructions
    }

    /// Evaluates at positions side by side, element k of position c being `[k][c]`, as in the
    /// gradients; the log densities.
    ///
    /// # Panics
    /// If positions or gradients are shorter than the density's dimension.
    #[inline]
    pub(crate) fn run(
        &mut self,
        positions: &[[f64; BATCH]],
        gradients: &mut [[f64; BATCH]],
    ) -> [f64; BATCH] {
        let mut logps =
            self.frame.run_narrow(positions.as_flattened(), gradients.as_flattened_mut());
        if planted(Fault::LanesSwapped) {
            logps.swap(0, 1);
        }
        logps
    }
}

/// A program for a few positions while it is being written.
struct Writer<'a> {
    /// Of the program for one position, the numbers that are only read, and its indices.
    packed: &'a Packed,
    /// What stands for each number of its arena, once it was written.
    numbers: Vec<Option<Place>>,
    inputs: Vec<(usize, usize, Place)>,
    roots: &'a [(Place, usize)],
    /// Constants by their bits, and their lines.
    constants: FxHashMap<u64, Place>,
    lines: Vec<Line>,
    /// Instructions, and what stands for the results of each: elements that are the same are
    /// computed once.
    body: Vec<Instruction>,
    known: FxHashMap<(Code, [Place; 3]), [Place; 2]>,
    /// End of the arena; its first line is nobody's.
    end: usize,
}

impl<'a> Writer<'a> {
    fn new(program: &'a Program, packed: &'a Packed) -> Self {
        let mut writer = Self {
            packed,
            numbers: vec![None; program.arena.next_multiple_of(LANES)],
            inputs: Vec::new(),
            roots: &program.roots,
            constants: FxHashMap::default(),
            lines: Vec::new(),
            body: Vec::new(),
            known: FxHashMap::default(),
            end: LANES,
        };
        for &(from, len, place) in &program.inputs {
            for k in 0..len {
                let number = writer.number();
                writer.write(place, k, number);
                writer.inputs.push((BATCH * (from + k), BATCH, number));
            }
        }
        writer
    }

    /// A place for one number of each position: a line, so that places are apart for who looks at
    /// whole lines.
    fn number(&mut self) -> Place {
        let offset = u32::try_from(self.end).unwrap_or(u32::MAX);
        self.end += LANES;
        Place { region: Region::Arena, stream: true, step: 8, offset }
    }

    fn constant(&mut self, value: f64) -> Place {
        let lines = &mut self.lines;
        *self.constants.entry(value.to_bits()).or_insert_with(|| {
            let offset = u32::try_from(LANES * lines.len()).unwrap_or(u32::MAX);
            lines.push(Line([value; LANES]));
            Place { region: Region::Shared, stream: false, step: 0, offset }
        })
    }

    /// What stands for element `k` of an operand; nothing where that is an `f32`.
    fn read(&mut self, place: Place, k: usize) -> Option<Place> {
        let index = place.offset as usize + if place.step == 0 { 0 } else { k };
        match place.region {
            Region::Arena => self.numbers[index],
            Region::Shared => {
                let value = read_elements(&self.packed.lines)[index];
                Some(self.constant(value))
            }
            _ => None,
        }
    }

    /// From now on, `number` stands for element `k` there.
    fn write(&mut self, place: Place, k: usize, number: Place) {
        let start = place.offset as usize;
        if place.step == 0 {
            self.numbers[start..start + LANES].fill(Some(number));
        } else {
            self.numbers[start + k] = Some(number);
        }
    }

    /// The results of an instruction on numbers; [`Place::NONE`] stands for operands that it does
    /// not have.
    fn results(&mut self, code: Code, operands: [Place; 3]) -> [Place; 2] {
        if let Some(&known) = self.known.get(&(code, operands)) {
            return known;
        }
        let [a, mut b, c] = operands;
        let mut results = [self.number(), Place::NONE];
        if code.results()[0] {
            results[1] = self.number();
            b = results[1];
        }
        let (precision, d, extra) = (Precision::F64, Place::NONE, None);
        self.body.push(Instruction { code, precision, out: results[0], a, b, c, d, extra });
        self.known.insert((code, operands), results);
        results
    }

    /// The result of an instruction that has one.
    fn result(&mut self, code: Code, operands: [Place; 3]) -> Place {
        self.results(code, operands)[0]
    }

    fn write_loop(&mut self, stage: &Loop) -> Option<()> {
        for i in &stage.body {
            if i.precision != Precision::F64 || self.body.len() > MAX_INSTRUCTIONS {
                return None;
            }
            self.instruction(stage, i)?;
        }
        Some(())
    }

    /// Writes out an instruction of the program for one position, if that can be done.
    fn instruction(&mut self, stage: &Loop, i: &Instruction) -> Option<()> {
        // Elements of the result, if that is elementwise.
        let n = if i.out.step == 0 { 1 } else { stage.n };
        let extra = i.extra.map(|k| &stage.extras[k as usize]);
        match (i.code, extra) {
            (Code::Pick, _) => {
                let number = self.read(i.a, 0)?;
                self.write(i.out, 0, number);
            }
            (Code::Copy, _) => {
                for k in 0..n {
                    let number = self.read(i.a, k)?;
                    self.write(i.out, k, number);
                }
            }
            (Code::Zero, _) => {
                let zero = self.constant(0.0);
                (0..n).for_each(|k| self.write(i.out, k, zero));
            }
            (Code::Piece, Some(&Extra::Piece { start, len })) => {
                for k in start..(start + len).min(stage.n) {
                    let number = self.read(i.a, k - start)?;
                    self.write(i.out, k, number);
                }
            }
            (Code::Load | Code::LoadOrZero, Some(Extra::Index { number, .. })) => {
                let index = Arc::clone(&self.packed.indices[*number]);
                for (k, &element) in index.elements.iter().enumerate().take(n) {
                    let number = match element {
                        NOTHING => self.constant(0.0),
                        element => self.read(i.a, element as usize)?,
                    };
                    self.write(i.out, k, number);
                }
            }
            (Code::Scatter, Some(Extra::Index { number, len })) => {
                let index = Arc::clone(&self.packed.indices[*number]);
                self.scatter(&index, stage.n, *len, i)?;
            }
            (Code::Terms, Some(Extra::Terms(terms))) => {
                let sum = self.terms(terms)?;
                self.write(i.out, 0, sum);
            }
            (Code::Sum, _) => {
                let sum = self.sum(stage.n, i.a)?;
                self.write(i.out, 0, sum);
            }
            (Code::Product, _) => {
                let product = self.product(stage.n, i.a)?;
                self.write(i.out, 0, product);
            }
            (Code::Dot, _) => {
                let sum = self.dot(stage.n, [i.a, i.b])?;
                self.write(i.out, 0, sum);
            }
            (Code::MatVec, Some(&Extra::Matrix { offset, columns })) => {
                self.mat_vec(n, (offset, columns), i)?;
            }
            (Code::MatTVec, Some(&Extra::Matrix { offset, columns })) => {
                self.mat_t_vec(stage.n, (offset, columns), i)?;
            }
            (code, None) if Emitter::is_elementwise(code) => {
                let [second, _] = code.results();
                for k in 0..n {
                    let mut operands = [i.a, i.b, i.c];
                    if second {
                        operands[1] = Place::NONE;
                    }
                    for operand in
                        operands.iter_mut().filter(|candidate| **candidate != Place::NONE)
                    {
                        *operand = self.read(*operand, k)?;
                    }
                    let [first, other] = self.results(code, operands);
                    self.write(i.out, k, first);
                    if second {
                        self.write(i.b, k, other);
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// The program, its data, and which of its roots are which results.
    fn finish(mut self, targets: &Targets) -> Option<(Program, Packed, Box<Targets>)> {
        let (mut roots, mut found) = (Vec::new(), Vec::new());
        // The log density, which stays where it is, and the gradient's elements.
        for &(root, start, len) in [(0, 0, 1)].iter().chain(targets) {
            let (place, root_len) = self.roots[root];
            for k in 0..len {
                let number = self.read(place, if root_len == 1 { 0 } else { k })?;
                let number_len = if number.step == 0 { 1 } else { BATCH };
                if !roots.is_empty() {
                    found.push((roots.len(), BATCH * (start + k), BATCH));
                }
                roots.push((number, number_len));
            }
        }
        let body = order::order(&self.body, &roots, self.end);
        if body.is_empty() || body.len() > MAX_INSTRUCTIONS {
            return None;
        }
        let stage = Loop {
            n: BATCH,
            block: LANES,
            body,
            extras: Vec::new(),
            registers: 0,
            single: true,
            shards: 1,
            sink_elements: 0,
            slots: Vec::new(),
        };
        let program = Program {
            stages: vec![Stage::Loop(stage)],
            scans: Vec::new(),
            arena: self.end,
            thread_start: self.end,
            shared: LANES * self.lines.len(),
            parts: Vec::new(),
            constants: Vec::new(),
            indices: Vec::new(),
            inputs: self.inputs,
            roots,
            is_narrow: true,
        };
        Some((program, Packed { lines: self.lines, indices: Vec::new() }, found.into()))
    }
}
