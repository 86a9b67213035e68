//! Slopes of coupled vectors: scalar operations and sparse matrices -> one function from a vector
//! to its slope.
//!
//! A scalar is a register of equal lanes. Vectors lie in rows, a state with its sensitivities and
//! zeros behind them, of whole registers: what reads them reads what one instruction wrote, which
//! need not wait until it is in memory. The slopes of sensitivities, `J S + P`, are written four
//! lanes at a time, products added in the order of the entries and `P` last: the operations, and so
//! the bits, of `exmc_graph`'s own loop.

use exmc_graph::{Flow, FlowEntry};

use super::assembler::{ADD, Address, MUL, Register, Source};
use super::basic_block::{Emitter, NUMBER, ZERO, address};
use super::cache::{Cache, LINE, Value};
use super::functions::function_of;
use crate::native::compile::lower::code_of;
use crate::native::program::LANES;

/// Lanes of a register.
const WIDTH: usize = LANES / 2;
/// Operations beyond which code would not stay in the processor's caches.
const MAX_OPERATIONS: usize = 4000;

/// A flow that is being written.
struct Writing<'a> {
    flow: &'a Flow,
    /// Where scalars are that have no register: a line each.
    frame: Address,
    /// The last operation that reads each scalar.
    last: Vec<usize>,
}

impl Writing<'_> {
    fn place(&self, scalar: u32) -> Address {
        self.frame.plus(LINE * scalar as usize)
    }

    /// Bytes from a state to the next one.
    fn row(&self) -> usize {
        NUMBER * Emitter::flow_width(self.flow).max(1)
    }
}

impl Emitter {
    /// Whether there is code for all of a flow.
    pub(in crate::native) fn has_flow(flow: &Flow) -> bool {
        let chunks = Self::flow_width(flow) / WIDTH;
        let products = 2 * chunks * (flow.jacobian.len() + flow.states) + flow.forcing.len();
        let known =
            |op| code_of(op).is_ok_and(|c| function_of(c).is_some() || Self::is_of_lanes(c));
        flow.steps.len() + products <= MAX_OPERATIONS
            && flow.steps.iter().all(|step| known(&step.op))
    }

    /// Numbers of a row of a flow's vectors; 0 where there are no sensitivities, and states lie one
    /// after the other.
    pub(in crate::native) fn flow_width(flow: &Flow) -> usize {
        if flow.columns == 0 { 0 } else { (1 + flow.columns).next_multiple_of(WIDTH) }
    }

    /// Writes a function from a coupled vector to its slope; `frame` has a line for each of the
    /// flow's scalars, of which time and values are read. Where in the code it begins.
    pub(in crate::native) fn emit_flow(&mut self, flow: &Flow, frame: *const f64) -> usize {
        let start = self.assembler.bytes.len();
        let end = flow.steps.len();
        let mut last = vec![0; flow.constants.len()];
        for (k, step) in flow.steps.iter().enumerate() {
            step.args.iter().for_each(|&arg| last[arg as usize] = k);
        }
        let entries = flow.jacobian.iter().chain(&flow.forcing).map(|entry| &entry.register);
        entries.chain(&flow.slopes).for_each(|&scalar| last[scalar as usize] = end);
        let writing = Writing { flow, frame: address(frame), last };
        self.assembler.begin([frame.addr(), (&raw const ZERO).addr()]);
        self.cache = Cache::new();
        for (k, step) in flow.steps.iter().enumerate() {
            self.instruction_number = k;
            self.cache.begin();
            let values = step.args.map(|arg| Value::Equal(self.scalar(&writing, arg)));
            let code = code_of(&step.op).expect("`has_flow` was asked");
            let value = match function_of(code) {
                Some(function) => self.function(function, values[0])[0],
                None => self.of_lanes(code, &values),
            };
            let unwritten = writing.last[step.out as usize];
            self.cache.know(writing.place(step.out), value, Some(unwritten));
        }
        self.instruction_number = end;
        for row in 0..flow.states {
            if flow.columns == 0 {
                self.cache.begin();
                let slope = self.scalar(&writing, flow.slopes[row]);
                self.assembler.store_one(Address::of_results(NUMBER * row), slope);
            }
            for first in (0..Self::flow_width(flow)).step_by(WIDTH) {
                self.sensitivities(&writing, row, first);
            }
        }
        self.assembler.end();
        self.instruction_number = 0;
        start
    }

    /// A scalar in all lanes of a register.
    fn scalar(&mut self, writing: &Writing<'_>, scalar: u32) -> Register {
        let address = writing.place(scalar);
        if let Some(value) = self.cache.find(address) {
            return value.half(0);
        }
        let register = self.fresh();
        let (number, states) = (scalar as usize, writing.flow.states);
        match writing.flow.constants[number] {
            Some(constant) => self.assembler.set_to(register, Source::Literal(constant.to_bits())),
            None if number == 0
                || (1 + states..1 + states + writing.flow.values).contains(&number) =>
            {
                self.assembler.spread(register, address);
            }
            None if number <= states => {
                self.assembler.spread(register, Address::of_position(writing.row() * (number - 1)));
            }
            // A result that gave its register away, and was written then.
            None => self.assembler.load(register, address),
        }
        self.cache.know(address, Value::Equal(register), None);
        register
    }

    /// Four lanes of a row's slopes.
    fn sensitivities(&mut self, writing: &Writing<'_>, row: usize, first: usize) {
        let flow = writing.flow;
        let place = |state: usize| writing.row() * state + NUMBER * first;
        let mut sum: Option<Register> = None;
        let of_row = |entry: &&FlowEntry| entry.row == row;
        for entry in flow.jacobian.iter().filter(of_row) {
            self.begin_holding(sum);
            let factor = self.scalar(writing, entry.register);
            let product = self.fresh();
            let address = Address::of_position(place(entry.column));
            self.assembler.operate_in_memory(MUL, product, factor, address);
            sum = Some(self.plus(sum, product));
        }
        let mut forcing: Option<Register> = None;
        let lane = |entry: &FlowEntry| (1 + entry.column).checked_sub(first);
        for entry in flow.forcing.iter().filter(of_row) {
            let Some(lane) = lane(entry).filter(|&lane| lane < WIDTH) else { continue };
            self.begin_holding(sum);
            forcing.into_iter().for_each(|f| self.cache.hold(Value::Equal(f)));
            let before = forcing.unwrap_or_else(|| self.line(address(&raw const ZERO)).half(0));
            forcing = Some(self.with_lanes(writing, before, entry.register, |k| k == lane));
        }
        if let Some(forcing) = forcing {
            self.begin_holding(sum);
            self.cache.hold(Value::Equal(forcing));
            sum = Some(self.plus(sum, forcing));
        }
        self.begin_holding(sum);
        let mut sum = sum.unwrap_or_else(|| self.line(address(&raw const ZERO)).half(0));
        if first == 0 {
            // The state's own slope, in place of a product of it.
            sum = self.with_lanes(writing, sum, flow.slopes[row], |lane| lane == 0);
        }
        if first + WIDTH > 1 + flow.columns {
            // Zeros stay zeros where an entry of `J` is not finite.
            self.begin_holding(Some(sum));
            let zero = self.line(address(&raw const ZERO)).half(0);
            let target = self.fresh();
            let behind = std::array::from_fn(|lane| first + lane > flow.columns);
            self.assembler.mix(target, sum, zero, behind);
            sum = target;
        }
        self.assembler.store(Address::of_results(place(row)), sum);
    }

    /// A register with some of its lanes' numbers replaced by a scalar.
    fn with_lanes(
        &mut self,
        writing: &Writing<'_>,
        before: Register,
        scalar: u32,
        lanes: impl Fn(usize) -> bool,
    ) -> Register {
        let number = self.scalar(writing, scalar);
        let target = self.fresh();
        self.assembler.mix(target, before, number, std::array::from_fn(lanes));
        target
    }

    /// Begins an operation that keeps a register.
    fn begin_holding(&mut self, register: Option<Register>) {
        self.cache.begin();
        register.into_iter().for_each(|register| self.cache.hold(Value::Equal(register)));
    }

    fn plus(&mut self, sum: Option<Register>, term: Register) -> Register {
        let Some(sum) = sum else { return term };
        self.assembler.operate(ADD, sum, sum, term);
        sum
    }
}
