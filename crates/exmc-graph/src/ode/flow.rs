//! The slope of a coupled vector: a compiled right-hand side -> scalar operations that an executor
//! may compile further.
//!
//! Registers are numbers by index: time, the $n$ states, the values, and from there on constants
//! and results. The states' slopes are registers; those of the $n \times s$ sensitivities are $J
//! S + P$ with the entries of $J$ and $P$ that are not zero by structure.

use super::OdeLayout;
use super::code::Code;
use super::system::{Compiled, Entry};
use crate::op::Op;

/// A scalar operation.
#[derive(Clone, Debug)]
pub struct FlowStep {
    /// An elementwise operation of one, two or three arguments.
    pub op: Op,
    /// Registers of its arguments; those beyond the last repeat others.
    pub args: [u32; 3],
    /// Register of its result, which nothing else writes.
    pub out: u32,
}

/// An entry of $J$ or $P$.
#[derive(Clone, Copy, Debug)]
pub struct FlowEntry {
    /// State whose slope it belongs to.
    pub row: usize,
    /// State, or for $P$ sensitivity.
    pub column: usize,
    /// Register of the entry.
    pub register: u32,
}

/// What computes the slope of a coupled vector.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Number $n$ of states.
    pub states: usize,
    /// Number $s$ of sensitivities of each state.
    pub columns: usize,
    /// Number of values.
    pub values: usize,
    /// The registers' numbers, where they are constants.
    pub constants: Vec<Option<f64>>,
    /// Operations, arguments before users.
    pub steps: Vec<FlowStep>,
    /// Registers of the states' slopes.
    pub slopes: Vec<u32>,
    /// $J$, in the order in which products are added.
    pub jacobian: Vec<FlowEntry>,
    /// $P$, which is added last.
    pub forcing: Vec<FlowEntry>,
}

/// A [`Flow`] that an executor compiled.
pub trait CompiledFlow {
    /// Values until the next call of this.
    fn begin(&self, values: &[f64]);
    /// Numbers of a row of coupled vectors, as [`exmc_math::OdeSystem::row_width`] says; 0 without
    /// sensitivities.
    fn row_width(&self) -> usize;
    /// The slope `dx` of the coupled vector `x`, both in such rows.
    fn slope(&self, t: f64, x: &[f64], dx: &mut [f64]);
}

impl Flow {
    /// The operations of a right-hand side; nothing if it has others than elementwise ones.
    pub(super) fn new(compiled: &Compiled, layout: &OdeLayout) -> Option<Self> {
        let columns = layout.columns();
        let program = if columns == 0 { &compiled.slope } else { &compiled.all };
        let mut constants: Vec<Option<f64>> =
            compiled.registers.iter().copied().map(Some).collect();
        constants[..1 + layout.states + layout.values].fill(None);
        let mut steps = Vec::with_capacity(program.instructions.len());
        for instruction in &program.instructions {
            let op = match instruction.code {
                Code::Unary(f) => Op::Unary(f),
                Code::Binary(f) => Op::Binary(f),
                Code::Ternary(f) => Op::Ternary(f),
                Code::Call(_) => return None,
            };
            constants[instruction.out as usize] = None;
            steps.push(FlowStep { op, args: instruction.args, out: instruction.out });
        }
        let first = if layout.start { layout.states } else { 0 };
        let entries = |entries: &[Entry], first: usize| -> Vec<FlowEntry> {
            let entry = |e: &Entry| {
                let &Entry { row, column, register } = e;
                FlowEntry { row, column: first + column, register }
            };
            if columns == 0 { Vec::new() } else { entries.iter().map(entry).collect() }
        };
        Some(Self {
            states: layout.states,
            columns,
            values: layout.values,
            constants,
            steps,
            slopes: compiled.slopes.clone(),
            jacobian: entries(&compiled.jacobian, 0),
            forcing: entries(&compiled.forcing, first),
        })
    }
}
