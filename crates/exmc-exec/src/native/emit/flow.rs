//! Slopes of coupled vectors: scalar operations and sparse matrices -> one function from a vector to its slope.
//!
//! A scalar is a register of equal lanes. The slopes of sensitivities, `J S + P`, are written row after row, four columns at a
//! time, products added in the order of the entries and `P` last: the operations, and so the bits, of
//! `exmc_graph`'s own loop. A row's last lanes may spill over into the next row, which is written later.

use exmc_graph::{Flow, FlowEntry};

use super::assembler::{ADD, Address, MUL, Register, Source};
use super::cache::{Cache, LINE, Value};
use super::functions::function_of;
use super::line::{Emitter, NUMBER, TAILS, ZERO, address};
use crate::native::lower::code_of;
use crate::native::program::LANES;

/// Lanes of a register.
const WIDTH: usize = LANES / 2;
/// Operations beyond which code would not stay in the processor's caches.
const MOST: usize = 4000;

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
}

impl Emitter {
    /// Whether there is code for all of a flow.
    pub(in crate::native) fn has_flow(flow: &Flow) -> bool {
        let chunks = flow.columns.div_ceil(WIDTH);
        let products = 2 * chunks * (flow.jacobian.len() + flow.states) + flow.forcing.len();
        let known =
            |op| code_of(op).is_ok_and(|c| function_of(c).is_some() || Self::is_of_lanes(c));
        flow.steps.len() + products <= MOST && flow.steps.iter().all(|step| known(&step.op))
    }

    /// Writes a function from a coupled vector to its slope; `frame` has a line for each of the flow's scalars, of which
    /// time and values are read. Where in the code it begins.
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
        self.cache = Cache::default();
        for (k, step) in flow.steps.iter().enumerate() {
            self.at = k;
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
        self.at = end;
        for (k, &slope) in flow.slopes.iter().enumerate() {
            self.cache.begin();
            let slope = self.scalar(&writing, slope);
            self.assembler.store_one(Address::of_results(NUMBER * k), slope);
        }
        for row in 0..flow.states {
            for first in (0..flow.columns).step_by(WIDTH) {
                self.sensitivities(&writing, row, first);
            }
        }
        self.assembler.end();
        self.at = 0;
        start
    }

    /// A scalar in all lanes of a register.
    fn scalar(&mut self, writing: &Writing<'_>, scalar: u32) -> Register {
        let at = writing.place(scalar);
        if let Some(value) = self.cache.find(at) {
            return value.half(0);
        }
        let register = self.fresh();
        let (number, states) = (scalar as usize, writing.flow.states);
        match writing.flow.constants[number] {
            Some(constant) => self.assembler.set_to(register, Source::Literal(constant.to_bits())),
            None if number == 0
                || (1 + states..1 + states + writing.flow.values).contains(&number) =>
            {
                self.assembler.spread(register, at);
            }
            None if number <= states => {
                self.assembler.spread(register, Address::of_position(NUMBER * (number - 1)));
            }
            // A result that gave its register away, and was written then.
            None => self.assembler.load(register, at),
        }
        self.cache.know(at, Value::Equal(register), None);
        register
    }

    /// The slopes of up to four sensitivities of a state.
    fn sensitivities(&mut self, writing: &Writing<'_>, row: usize, first: usize) {
        let &Flow { states, columns, .. } = writing.flow;
        let len = states * (1 + columns);
        let place = |state: usize| states + state * columns + first;
        let mut sum: Option<Register> = None;
        let of_row = |entry: &&FlowEntry| entry.row == row;
        for entry in writing.flow.jacobian.iter().filter(of_row) {
            self.begin_holding(sum);
            let factor = self.scalar(writing, entry.register);
            let from = place(entry.column);
            let at = Address::of_position(NUMBER * from);
            let product = self.fresh();
            if from + WIDTH <= len {
                self.assembler.operate_in_memory(MUL, product, factor, at);
            } else {
                let mask = self.fresh();
                self.assembler.load(mask, address(&raw const TAILS[len - from - 1]));
                self.assembler.load_some(product, mask, at);
                self.assembler.operate(MUL, product, factor, product);
            }
            sum = Some(self.plus(sum, product));
        }
        let mut forcing: Option<Register> = None;
        let here = first..columns.min(first + WIDTH);
        let entries = writing.flow.forcing.iter().filter(of_row);
        for entry in entries.filter(|entry| here.contains(&entry.column)) {
            self.begin_holding(sum);
            forcing.into_iter().for_each(|f| self.cache.hold(Value::Equal(f)));
            let before = forcing.unwrap_or_else(|| self.line(address(&raw const ZERO)).half(0));
            let entry_register = self.scalar(writing, entry.register);
            let target = self.fresh();
            let mut second = [false; WIDTH];
            second[entry.column - first] = true;
            self.assembler.mix(target, before, entry_register, second);
            forcing = Some(target);
        }
        if let Some(forcing) = forcing {
            self.begin_holding(sum);
            self.cache.hold(Value::Equal(forcing));
            sum = Some(self.plus(sum, forcing));
        }
        self.begin_holding(sum);
        let sum = sum.unwrap_or_else(|| self.line(address(&raw const ZERO)).half(0));
        let (to, other) = (place(row), self.fresh());
        let count = if to + WIDTH <= len { WIDTH } else { len - to };
        self.assembler.store_first(Address::of_results(NUMBER * to), sum, count, other);
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
