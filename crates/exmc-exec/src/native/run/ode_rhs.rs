//! Initial value problems whose slope is machine code: a call of `Op::Ode` -> its solution.
#![expect(
    unsafe_code,
    reason = "generated code reads time and values where this writes them, at an address that is found once"
)]

use std::sync::{Arc, OnceLock};

use exmc_graph::{CompiledFlow, OdeProblem, Op, SharedOde};
use exmc_math::simd::Line;

use super::pack::zeros;
use crate::native::emit::{Emitter, Pages};
use crate::native::program::{Call, LANES};

/// A call with the code of its slope.
#[derive(Debug)]
pub(in crate::native) struct OdeRhs {
    pub(in crate::native) call: Arc<Call>,
    problem: Arc<OdeProblem>,
    /// Where in the pages the code begins.
    entry: usize,
    pages: Arc<OnceLock<Pages>>,
    /// Numbers of a row of coupled vectors and of all rows, and the lines of the first value and
    /// behind the last.
    width: usize,
    len: usize,
    values: [usize; 2],
    /// Lines that the code reads and writes: time, states, values, results.
    frame: *mut f64,
    #[expect(dead_code, reason = "kept for the code")]
    lines: Vec<Line>,
}

impl OdeRhs {
    /// Writes the code of a call's slope, if the call is such a problem and there is code for it.
    pub(in crate::native) fn new(
        call: &Arc<Call>,
        emitter: &mut Emitter,
        pages: &Arc<OnceLock<Pages>>,
    ) -> Option<Self> {
        let Op::Ode(SharedOde(problem)) = &call.op else { return None };
        let flow = problem.flow().filter(Emitter::has_flow)?;
        let mut lines = zeros(flow.constants.len() * LANES);
        let frame = lines.as_mut_ptr().cast::<f64>();
        let entry = emitter.emit_flow(&flow, frame);
        let first = 1 + flow.states;
        let width = Emitter::flow_width(&flow);
        Some(Self {
            call: Arc::clone(call),
            problem: Arc::clone(problem),
            entry,
            pages: Arc::clone(pages),
            width,
            len: flow.states * width.max(1),
            values: [first, first + flow.values],
            frame,
            lines,
        })
    }

    /// Solves into `out`.
    pub(in crate::native) fn solve(&self, inputs: &[f64], out: &mut [f64]) {
        let flow: Option<&dyn CompiledFlow> = self.pages.get().map(|_| self as _);
        self.problem.solve(inputs, out, flow);
    }

    /// Writes the first number of a line.
    fn set(&self, line: usize, value: f64) {
        // SAFETY: the frame has a line for each of the flow's scalars, and nobody refers to it but
        // this and the code, which does not run now.
        unsafe { *self.frame.add(LANES * line) = value };
    }
}

impl CompiledFlow for OdeRhs {
    fn begin(&self, values: &[f64]) {
        let [first, end] = self.values;
        (first..end).zip(values).for_each(|(line, &value)| self.set(line, value));
    }

    fn row_width(&self) -> usize {
        self.width
    }

    fn slope(&self, t: f64, x: &[f64], dx: &mut [f64]) {
        assert!(
            x.len() == self.len && dx.len() == self.len,
            "the solver's vectors have this length"
        );
        self.set(0, t);
        let pages = self.pages.get().expect("solved with the code only where it is there");
        // SAFETY: the vectors' lengths have just been checked; the code has memory of its own, in
        // this flow.
        unsafe { pages.run_flow(self.entry, x, dx) };
    }
}
