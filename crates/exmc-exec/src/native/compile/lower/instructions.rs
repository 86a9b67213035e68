//! The members of a loop -> its instructions.

use exmc_graph::{Binary, Op, Precision, Shape, Unary};
use rustc_hash::FxHashSet;

use super::codes::code_of;
use super::fuse::Fused;
use super::{Lowering, MAX_TAKEN, narrow};
use crate::native::compile::loop_ir::{Compute, Index, NOTHING};
use crate::native::program::{Code, Extra, Instruction, LANES, Loop, Place, Region};

impl Lowering<'_> {
    pub(super) fn emit(&mut self, builder: &mut Builder, k: usize, fused: &Fused) {
        let value = &self.values[k];
        let operand = |lowering: &Self, j: usize| lowering.place(value.operands[j].0);
        let none = Place::NONE;
        match &value.work {
            Compute::Map(op) => {
                if let Some(shares) = fused.shares.get(&k) {
                    builder.precision = Precision::F64;
                    self.emit_shares(builder, shares);
                } else if let Some(terms) = fused.terms.get(&k) {
                    let extra = self.terms(terms);
                    let out = self.target(builder, k);
                    builder.push(Code::Terms, out, [none; 3], Some(extra));
                } else if let Some(pair) = fused.pairs.get(&k) {
                    let a = operand(self, 0);
                    if self.precisions[pair.other] == Precision::F64 {
                        builder.precision = Precision::F64;
                    }
                    if let Some(&sum) = fused.sums.get(&k) {
                        let logistic = if pair.other_first { k } else { pair.other };
                        let b = self.target(builder, logistic);
                        let c = self.reserve(1);
                        let out = self.allocate(sum);
                        builder.push(Code::SumSoftplusInvLogit, out, [a, b, c], None);
                        return;
                    }
                    let target = self.target(builder, k);
                    let other = self.target(builder, pair.other);
                    let (out, b) = if pair.other_first { (other, target) } else { (target, other) };
                    builder.push(pair.code, out, [a, b, none], None);
                } else if let Some(&(inner, side)) = fused.inner.get(&k) {
                    let [a, b] = self.inner_operands(inner);
                    let other = value.operands.get(1 - side);
                    let c = other.map_or(none, |operand| self.place(operand.0));
                    let code = match (op, &self.values[inner].work, side) {
                        (Op::Binary(Binary::Add), _, _) => Code::MulAdd,
                        (Op::Binary(Binary::Sub), _, 0) => Code::MulSub,
                        (Op::Binary(Binary::Sub), _, _) => Code::NegMulAdd,
                        (Op::Unary(_), _, _) => Code::AddThenReciprocal,
                        (_, Compute::Map(Op::Binary(Binary::Add)), _) => Code::AddThenMul,
                        (_, Compute::Map(Op::Binary(Binary::Sub)), _) => Code::SubThenMul,
                        _ => Code::MulThenMul,
                    };
                    let out = self.target(builder, k);
                    builder.push(code, out, [a, b, c], None);
                } else {
                    let mut args = [none; 3];
                    for (j, arg) in args.iter_mut().enumerate().take(value.operands.len()) {
                        *arg = operand(self, j);
                    }
                    let out = self.target(builder, k);
                    let code = match op {
                        Op::Unary(Unary::Exp)
                            if builder.precision == Precision::F64
                                && self.ordinary.contains(&value.operands[0].0.value) =>
                        {
                            Code::ExpOfOrdinary
                        }
                        op => code_of(op).expect("`lower` has asked for all functions' codes"),
                    };
                    let extra = (code == Code::Lane).then(|| {
                        let shapes = builder.shapes(value.len);
                        Extra::Lane { op: op.clone(), shapes }
                    });
                    builder.push(code, out, args, extra);
                }
            }
            Compute::Copy => {
                let a = operand(self, 0);
                let out = self.target(builder, k);
                builder.push(Code::Copy, out, [a, none, none], None);
            }
            Compute::Pick => {
                let a = operand(self, 0);
                let out = self.target(builder, k);
                builder.push(Code::Pick, out, [a, none, none], None);
            }
            Compute::Load(index) => {
                let a = operand(self, 0);
                let table = value.operands[0].0.len;
                let holes = matches!(index, Index::Static(index) if index.contains(&NOTHING));
                let code = if holes { Code::LoadOrZero } else { Code::Load };
                let block = (!holes && value.len > 1).then_some(builder.stage.block);
                let extra = self.index(index, value.len, table, block);
                let out = self.target(builder, k);
                builder.push(code, out, [a, none, none], Some(extra));
            }
            Compute::Pieces { starts, zero } => {
                let out = self.target(builder, k);
                if *zero {
                    builder.push(Code::Zero, out, [none; 3], None);
                }
                for (j, &start) in starts.iter().enumerate() {
                    let (a, len) = (operand(self, j), value.operands[j].0.len);
                    builder.push(
                        Code::Piece,
                        out,
                        [a, none, none],
                        Some(Extra::Piece { start, len }),
                    );
                }
            }
            Compute::MatVec(matrix) => {
                let a = operand(self, 0);
                let extra = self.matrix(k, *matrix);
                let out = self.target(builder, k);
                builder.push(Code::MatVec, out, [a, none, none], Some(extra));
            }
            Compute::Sum => {
                let (code, a, b) = match fused.inner.get(&k) {
                    Some(&(inner, _)) => {
                        let [a, b] = self.inner_operands(inner);
                        match self.values[inner].work {
                            Compute::Map(Op::Unary(Unary::Log)) => (Code::SumLog, a, none),
                            Compute::Map(Op::Unary(Unary::Log1p)) => (Code::SumLog1p, a, none),
                            _ => (Code::Dot, a, b),
                        }
                    }
                    None => (Code::Sum, operand(self, 0), none),
                };
                let c = self.reserve_lines(code.partial_lines());
                let out = self.allocate(k);
                builder.push(code, out, [a, b, c], None);
            }
            Compute::Factor => {
                let a = operand(self, 0);
                let out = self.target(builder, k);
                builder.push(Code::Factor, out, [a, none, none], None);
            }
            Compute::LogOfFactors => {
                let a = operand(self, 0);
                let out = self.target(builder, k);
                builder.push(Code::LogOfNormal, out, [a, none, none], None);
            }
            Compute::Product => {
                let (a, c) = (operand(self, 0), self.reserve_lines(1));
                let out = self.allocate(k);
                builder.push(Code::Product, out, [a, none, c], None);
            }
            Compute::Scatter(index) => {
                let a = operand(self, 0);
                let block = Some(builder.stage.block);
                let extra = self.index(index, value.space, value.len, block);
                let out = self.allocate(k);
                builder.push(Code::Scatter, out, [a, none, none], Some(extra));
            }
            Compute::MatTVec(matrix) => {
                let a = operand(self, 0);
                let extra = self.matrix(k, *matrix);
                let c = self.reserve(matrix.columns * LANES);
                let out = self.allocate(k);
                builder.push(Code::MatTVec, out, [a, none, c], Some(extra));
            }
            _ => unreachable!("only members and sinks are in a loop"),
        }
    }

    /// The operands of a member that is not computed by itself; of a square, its argument twice.
    fn inner_operands(&self, inner: usize) -> [Place; 2] {
        let operands = &self.values[inner].operands;
        let a = self.place(operands[0].0);
        [a, operands.get(1).map_or(a, |operand| self.place(operand.0))]
    }
}

/// A loop whose instructions are being written.
pub(super) struct Builder {
    pub(super) stage: Loop,
    pub(super) members: FxHashSet<usize>,
    /// Of the value whose instructions come next.
    pub(super) precision: Precision,
}

impl Builder {
    pub(super) fn register(&mut self) -> Place {
        let offset = narrow(self.stage.registers);
        self.stage.registers += 1;
        Place { region: Region::Register, stream: false, step: 8, offset }
    }

    pub(super) fn push(&mut self, code: Code, out: Place, args: [Place; 3], extra: Option<Extra>) {
        let extra = extra.map(|extra| {
            self.stage.extras.push(extra);
            narrow(self.stage.extras.len() - 1)
        });
        let ([a, b, c], d, precision) = (args, Place::NONE, self.precision);
        self.stage.body.push(Instruction { code, precision, out, a, b, c, d, extra });
    }

    /// Puts elementwise instructions in a row, so that generated code has them all.
    ///
    /// What is read from other arrays as a whole is there before the loop, so it can be taken
    /// first, if it is not too much for the nearest cache. Sums come last, and those over lanes
    /// before others, because generated code takes them with what they sum.
    pub(super) fn order(&mut self) {
        let body = &mut self.stage.body;
        let is_taken =
            |code: Code| matches!(code, Code::Zero | Code::Piece | Code::Load | Code::LoadOrZero);
        let few = body.iter().filter(|i| is_taken(i.code)).count() <= MAX_TAKEN;
        body.sort_by_key(|i| match i.code {
            Code::Scatter | Code::MatTVec => 3,
            code if code.is_sink() && code.results() == [false; 2] => 2,
            code if few && is_taken(code) => 0,
            _ => 1,
        });
    }

    /// The instruction that was pushed last.
    pub(super) fn last(&mut self) -> &mut Instruction {
        self.stage.body.last_mut().expect("an instruction was pushed before")
    }

    /// Shapes of a whole block and of the last one.
    pub(super) fn shapes(&self, len: usize) -> [Shape; 2] {
        let Loop { n, block, .. } = self.stage;
        if len == 1 {
            return [Shape::from([1]), Shape::from([1])];
        }
        let last = n - n.saturating_sub(1) / block * block;
        [Shape::from([block]), Shape::from([last])]
    }
}
