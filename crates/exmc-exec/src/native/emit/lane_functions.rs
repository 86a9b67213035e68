//! A function of lanes and its operands in registers -> instructions.

use exmc_fault::{Fault, planted};

use super::assembler::{
    ADD, AND, AND_NOT, Comparison, DIV, Encoding, MUL, MUL_ADD, MUL_SUB, NEG_MUL_ADD, OR, Register,
    SUB, XOR,
};
use super::basic_block::{Bits, Emitter, ZERO, address};
use super::cache::Value;
use crate::native::link::ONE;
use crate::native::program::{Code, LANES};
use crate::native::run::block::{MAX_FACTOR, MIN_FACTOR, Step};

/// Of `f64`, and of twice as many `f32`.
static SIGN: [Bits; 2] = [Bits([1 << 63; LANES]), Bits([(1 << 63) | (1 << 31); LANES])];
static ALL_BUT_SIGN: [Bits; 2] =
    [Bits([!(1 << 63); LANES]), Bits([!((1 << 63) | (1 << 31)); LANES])];
/// Of [`Code::Factor`].
static FACTORS_LIE: [Bits; 2] =
    [Bits([MIN_FACTOR.to_bits(); LANES]), Bits([MAX_FACTOR.to_bits(); LANES])];
static SINGLE_ONE: Bits = Bits([(127 << 55) | (127 << 23); LANES]);

impl Emitter {
    /// How many operands a function of lanes has.
    pub(super) fn operands_of(code: Code) -> usize {
        match code {
            Code::Zero => 0,
            Code::Neg | Code::Abs | Code::Not | Code::Sqrt | Code::Square => 1,
            Code::Reciprocal | Code::Copy | Code::Factor => 1,
            Code::MulAdd | Code::MulSub | Code::NegMulAdd | Code::Select => 3,
            Code::AddThenMul | Code::SubThenMul | Code::MulThenMul => 3,
            _ => 2,
        }
    }

    /// A function of lanes.
    pub(super) fn map(&mut self, code: Code, step: &Step) -> Value {
        let count = Self::operands_of(code);
        let mut values = [step.a, step.b, step.c].map(|_| Value::Equal(0));
        for (value, operand) in values.iter_mut().zip([&step.a, &step.b, &step.c]).take(count) {
            *value = self.operand(operand);
        }
        self.of_lanes(code, &values)
    }

    /// A function of the lanes of its first operands, as many as it has.
    pub(super) fn of_lanes(&mut self, code: Code, values: &[Value; 3]) -> Value {
        let single = self.assembler.writes_singles();
        let one = if single { address(&raw const SINGLE_ONE) } else { address(&raw const ONE) };
        let constant = match code {
            Code::Neg => Some(address(&raw const SIGN[usize::from(single)])),
            Code::Abs => Some(address(&raw const ALL_BUT_SIGN[usize::from(single)])),
            Code::Not | Code::And | Code::Or | Code::Select | Code::Zero => {
                Some(address(&raw const ZERO))
            }
            Code::Factor => Some(address(&raw const FACTORS_LIE[0])),
            Code::Reciprocal | Code::AddThenReciprocal => Some(one),
            Code::Lt | Code::Le | Code::Eq | Code::Ne => Some(one),
            _ => None,
        };
        let constant = constant.map_or(0, |address| self.line(address).half(0));
        // Comparisons give one or zero, of the comparison with zero where there is one operand.
        let one = match code {
            Code::Not | Code::And | Code::Or => self.line(one).half(0),
            Code::Factor => self.line(address(&raw const FACTORS_LIE[1])).half(0),
            _ => constant,
        };
        self.each(&values[..Self::operands_of(code)], |emitter, target, x| {
            let a = &mut emitter.assembler;
            match code {
                Code::Zero => a.copy(target, constant),
                Code::Neg => a.operate(XOR, target, x[0], constant),
                Code::Abs => a.operate(AND, target, x[0], constant),
                Code::Sqrt => a.square_root(target, x[0]),
                Code::Square => a.operate(MUL, target, x[0], x[0]),
                Code::Reciprocal => a.operate(DIV, target, constant, x[0]),
                Code::Copy => a.copy(target, x[0]),
                Code::Add => a.operate(ADD, target, x[0], x[1]),
                Code::Sub => a.operate(SUB, target, x[0], x[1]),
                Code::Mul => a.operate(MUL, target, x[0], x[1]),
                Code::Div => a.operate(DIV, target, x[0], x[1]),
                Code::MulAdd => emitter.fused(MUL_ADD, target, x),
                Code::MulSub => emitter.fused(MUL_SUB, target, x),
                Code::NegMulAdd => emitter.fused(NEG_MUL_ADD, target, x),
                Code::AddThenMul => emitter.then_mul(ADD, target, x),
                Code::SubThenMul => emitter.then_mul(SUB, target, x),
                Code::MulThenMul => emitter.then_mul(MUL, target, x),
                Code::AddThenReciprocal => {
                    a.operate(ADD, target, x[0], x[1]);
                    a.operate(DIV, target, constant, target);
                }
                Code::Factor if planted(Fault::ExtremeFactor) => a.copy(target, x[0]),
                Code::Factor => {
                    // A mask's bits are those of NaN.
                    let (least, most, other) = (constant, one, emitter.fresh());
                    let a = &mut emitter.assembler;
                    a.compare(Comparison::Less, target, x[0], least);
                    a.compare(Comparison::Less, other, most, x[0]);
                    a.operate(OR, target, target, other);
                    a.operate(OR, target, target, x[0]);
                }
                Code::Select => {
                    a.compare(Comparison::Equal, target, x[0], constant);
                    a.select(target, target, x[2], x[1]);
                }
                Code::Min | Code::Max => {
                    // NaN if either is; the first on ties.
                    let other = emitter.fresh();
                    let a = &mut emitter.assembler;
                    a.compare(Comparison::Equal, target, x[0], x[0]);
                    a.select(other, target, x[1], x[0]);
                    let (low, high) = if code == Code::Min { (x[0], x[1]) } else { (x[1], x[0]) };
                    a.compare(Comparison::LessOrEqual, target, low, high);
                    a.select(target, target, x[0], other);
                }
                Code::Not => {
                    let zero = constant;
                    a.compare(Comparison::Equal, target, x[0], zero);
                    a.operate(AND, target, target, one);
                }
                Code::And | Code::Or => {
                    // Neither is zero, or not both are.
                    let (zero, other) = (constant, emitter.fresh());
                    let a = &mut emitter.assembler;
                    a.compare(Comparison::Equal, target, x[0], zero);
                    a.compare(Comparison::Equal, other, x[1], zero);
                    a.operate(if code == Code::And { OR } else { AND }, target, target, other);
                    a.operate(AND_NOT, target, target, one);
                }
                Code::Lt => emitter.truth(Comparison::Less, AND, target, x, one),
                Code::Le => emitter.truth(Comparison::LessOrEqual, AND, target, x, one),
                Code::Eq => emitter.truth(Comparison::Equal, AND, target, x, one),
                Code::Ne => emitter.truth(Comparison::Equal, AND_NOT, target, x, one),
                _ => unreachable!("`has` names the others"),
            }
        })
    }

    /// `a b + c` and the like, from the operands `[a, b, c]`.
    fn fused(&mut self, e: Encoding, target: Register, x: &[Register]) {
        self.assembler.copy(target, x[2]);
        self.assembler.operate(e, target, x[0], x[1]);
    }

    fn then_mul(&mut self, e: Encoding, target: Register, x: &[Register]) {
        self.assembler.operate(e, target, x[0], x[1]);
        self.assembler.operate(MUL, target, target, x[2]);
    }

    /// One where the comparison's mask, or with [`AND_NOT`] its opposite, is set; else zero.
    fn truth(
        &mut self,
        c: Comparison,
        e: Encoding,
        target: Register,
        x: &[Register],
        one: Register,
    ) {
        self.assembler.compare(c, target, x[0], x[1]);
        self.assembler.operate(e, target, target, one);
    }

    /// Applies a function of registers to both halves of its operands, or once if all have equal
    /// lanes.
    pub(super) fn each(
        &mut self,
        values: &[Value],
        mut f: impl FnMut(&mut Self, Register, &[Register]),
    ) -> Value {
        let mut half = |emitter: &mut Self, k: usize| {
            let mut registers = [0; 3];
            for (register, value) in registers.iter_mut().zip(values) {
                *register = value.half(k);
            }
            let target = emitter.fresh();
            f(emitter, target, &registers);
            target
        };
        if values.iter().all(|value| matches!(value, Value::Equal(_))) {
            return Value::Equal(half(self, 0));
        }
        if values.iter().any(|value| matches!(value, Value::Low(_))) {
            return Value::Low(half(self, 0));
        }
        Value::Lanes([half(self, 0), half(self, 1)])
    }
}
