//! Loops over a few vectors: the instructions of one -> a straight line, vector after vector.
//!
//! A call for each instruction takes longer than what it does for a few vectors. Elementwise
//! instructions are one for every vector; sums, products with matrices and pieces stay one, and are
//! written here. Terms are added in the order of the routines, which begin at zero.

use exmc_fault::{Fault, planted};

use super::assembler::{ADD, AND, MUL, MUL_ADD, Register, XOR};
use super::basic_block::{Emitter, HALF, NUMBER, TAILS, address};
use super::cache::{LINE, Value};
use super::sums::ONE;
use super::vector;
use crate::native::program::{Code, LANES};
use crate::native::run::block::{Detail, Step};

/// Columns of a matrix up to which its products are written out.
const MAX_COLUMNS: usize = 64;
/// Instructions for the transpose's product, which adds up lanes for every column.
const MAX_SUMS: usize = 32;

/// The columns of an instruction's matrix.
pub(super) fn columns(step: &Step) -> Option<usize> {
    match step.detail.as_deref() {
        Some(&Detail::Matrix { columns }) => Some(columns),
        _ => None,
    }
}

impl Emitter {
    /// Whether there is code for an instruction of a straight line.
    pub(super) fn has_in_line(code: Code, step: &Step) -> bool {
        match (code, columns(step)) {
            (Code::MatVec, Some(columns)) => columns <= MAX_COLUMNS,
            (Code::MatTVec, Some(columns)) => columns <= MAX_SUMS,
            _ => Self::has(code, step),
        }
    }

    /// Writes a sum, or a product with a matrix, if the instruction is one over more than a vector;
    /// its result, of which there is none if it was written to memory.
    pub(super) fn over_vectors(&mut self, code: Code, step: &Step) -> Option<Option<Value>> {
        match (code, columns(step)) {
            (Code::Sum | Code::Dot, _) if step.span.len > LANES => Some(Some(self.sum(code, step))),
            (Code::Product, _) => Some(Some(self.product(step))),
            (Code::MatVec, Some(columns)) => Some(Some(self.mat_vec(columns, step))),
            (Code::MatTVec, Some(columns)) => Some(self.mat_t_vec(columns, step)),
            _ => None,
        }
    }

    fn zeros(&mut self) -> [Register; 2] {
        let registers = [self.fresh(), self.fresh()];
        self.set_to_zero(registers);
        registers
    }

    fn set_to_zero(&mut self, registers: [Register; 2]) {
        for register in registers {
            self.assembler.operate(XOR, register, register, register);
        }
    }

    /// The total of both halves' lanes, in the first register; the other one is overwritten.
    fn total_of(&mut self, [low, high]: [Register; 2]) -> Value {
        self.assembler.operate(ADD, low, low, high);
        self.assembler.total(low, high);
        Value::Equal(low)
    }

    /// Makes lanes that are no elements zero, if the vector with that number is the last one and
    /// not whole.
    fn only_elements_of(&mut self, len: usize, number: usize, x: [Register; 2]) {
        let tail = address(&raw const TAILS[rest(len) - 1]);
        debug_assert!(is_rest(len, number), "whole vectors need no mask");
        for (half, x) in x.into_iter().enumerate() {
            self.assembler.operate_in_memory(AND, x, x, tail.plus(HALF * half));
        }
    }

    fn sum(&mut self, code: Code, step: &Step) -> Value {
        let len = step.span.len;
        let sum = self.zeros();
        for v in 0..len.div_ceil(LANES) {
            self.cache.begin();
            self.cache.hold(Value::Lanes(sum));
            let a = self.operand(&vector(&step.a, v));
            let b = (code == Code::Dot).then(|| self.operand(&vector(&step.b, v)));
            let last = is_rest(len, v);
            let terms = last.then(|| [self.fresh(), self.fresh()]);
            for half in 0..2 {
                let (assembler, sum, a) = (&mut self.assembler, sum[half], a.half(half));
                match (b.map(|b| b.half(half)), terms.map(|terms| terms[half])) {
                    (None, None) => assembler.operate(ADD, sum, sum, a),
                    (Some(b), None) => assembler.operate(MUL_ADD, sum, a, b),
                    (None, Some(term)) => assembler.copy(term, a),
                    (Some(b), Some(term)) => assembler.operate(MUL, term, a, b),
                }
            }
            if let Some(terms) = terms {
                self.only_elements_of(len, v, terms);
                for (sum, term) in sum.into_iter().zip(terms) {
                    self.assembler.operate(ADD, sum, sum, term);
                }
            }
        }
        self.total_of(sum)
    }

    /// The product of all elements, whatever their number.
    fn product(&mut self, step: &Step) -> Value {
        let len = step.span.len;
        let product = [self.fresh(), self.fresh()];
        for v in 0..len.div_ceil(LANES) {
            self.cache.begin();
            self.cache.hold(Value::Lanes(product));
            let x = self.operand(&vector(&step.a, v));
            let mut factors = [x.half(0), x.half(1)];
            if is_rest(len, v) {
                let copies = [self.fresh(), self.fresh()];
                (0..2).for_each(|half| self.assembler.copy(copies[half], factors[half]));
                self.only_elements(len % LANES, Value::Lanes(copies), ONE);
                factors = copies;
            }
            for (product, factor) in product.into_iter().zip(factors) {
                match v {
                    0 => self.assembler.copy(product, factor),
                    _ => self.assembler.operate(MUL, product, product, factor),
                }
            }
        }
        let [low, high] = product;
        self.assembler.operate(MUL, low, low, high);
        self.assembler.product(low, high);
        Value::Equal(low)
    }

    /// A vector of rows of a matrix, which `b` begins with, times the vector `a` of numbers in
    /// memory.
    fn mat_vec(&mut self, columns: usize, step: &Step) -> Value {
        let sum = self.zeros();
        let factor = self.fresh();
        for k in 0..columns {
            let from = self.origin(address(step.a.first).plus(NUMBER * k));
            self.assembler.spread(factor, from);
            let tile = address(step.b.first).plus(LINE * k);
            for (half, sum) in sum.into_iter().enumerate() {
                self.assembler.operate_in_memory(MUL_ADD, sum, factor, tile.plus(HALF * half));
            }
        }
        Value::Lanes(sum)
    }

    /// The transpose of a matrix times the loop's vectors: a sum over lanes for every column.
    fn mat_t_vec(&mut self, columns: usize, step: &Step) -> Option<Value> {
        let len = step.span.len;
        let vectors = len.div_ceil(LANES);
        // The vectors without what lies behind the last element.
        let mut rows = Vec::with_capacity(vectors);
        for v in 0..vectors {
            let value = self.operand(&vector(&step.a, v));
            let mut row = [value.half(0), value.half(1)];
            if is_rest(len, v) {
                let copies = [self.fresh(), self.fresh()];
                (0..2).for_each(|half| self.assembler.copy(copies[half], row[half]));
                self.only_elements_of(len, v, copies);
                row = copies;
            }
            rows.push(row);
        }
        let sum = self.zeros();
        for k in 0..columns {
            if k > 0 {
                self.set_to_zero(sum);
            }
            for (v, row) in rows.iter().enumerate() {
                let tile = address(step.b.first).plus(LINE * (v * columns + k));
                for half in 0..2 {
                    let from = tile.plus(HALF * half);
                    self.assembler.operate_in_memory(MUL_ADD, sum[half], row[half], from);
                }
            }
            let total = self.total_of(sum);
            if step.out.step == 0 {
                return Some(total);
            }
            self.assembler.store_one(address(step.out.first).plus(NUMBER * k), total.half(0));
        }
        self.cache.overwrite_bytes(address(step.out.first), NUMBER * columns);
        None
    }
}

/// Elements of the last vector, as it is masked.
fn rest(len: usize) -> usize {
    (len % LANES + usize::from(planted(Fault::WrongTailMask))).clamp(1, LANES)
}

/// Whether a vector of a loop has lanes that are no elements.
fn is_rest(len: usize, number: usize) -> bool {
    (number + 1) * LANES > len
}
