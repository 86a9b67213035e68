//! Straight-line scalar code: operations on numbered registers, made with common subexpressions
//! shared and constants folded -> values of the registers.

use exmc_math::simd::{self, Level};
use rustc_hash::FxHashMap;

use crate::kernels::{Arg, evaluate_into, scalar};
use crate::op::{Binary, Op, Ternary, Unary};
use crate::tensor::Shape;

/// Number of a register.
pub(super) type Register = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Code {
    Unary(Unary),
    Binary(Binary),
    Ternary(Ternary),
    /// A kernel over arrays, by its number in [`Builder::calls`].
    Call(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) code: Code,
    pub(super) args: [Register; 3],
    /// The register, or the first one of a call's.
    pub(super) out: Register,
}

/// A kernel that is not made of scalar operations.
#[derive(Clone, Debug)]
struct Call {
    op: Op,
    args: Vec<(Shape, Vec<Register>)>,
    shape: Shape,
}

/// Makes code.
#[derive(Debug)]
pub(super) struct Builder {
    /// Every register's number where it is known.
    known: Vec<Option<f64>>,
    constants: FxHashMap<u64, Register>,
    made: FxHashMap<(Code, [Register; 3]), Register>,
    instructions: Vec<Instruction>,
    calls: Vec<Call>,
}

impl Builder {
    /// Code whose first registers are given from outside.
    pub(super) fn new(inputs: usize) -> Self {
        Self {
            known: vec![None; inputs],
            constants: FxHashMap::default(),
            made: FxHashMap::default(),
            instructions: Vec::new(),
            calls: Vec::new(),
        }
    }

    pub(super) fn constant(&mut self, value: f64) -> Register {
        if let Some(&register) = self.constants.get(&value.to_bits()) {
            return register;
        }
        let register = self.fresh(Some(value));
        self.constants.insert(value.to_bits(), register);
        register
    }

    /// The value of a register that is a constant.
    pub(super) fn known(&self, register: Register) -> Option<f64> {
        self.known[register as usize]
    }

    fn fresh(&mut self, value: Option<f64>) -> Register {
        self.known.push(value);
        Register::try_from(self.known.len() - 1).expect("a body has fewer than 2^32 scalars")
    }

    pub(super) fn unary(&mut self, f: Unary, x: Register) -> Register {
        match self.known(x) {
            Some(value) => self.constant(scalar::unary(f, value)),
            None => self.push(Code::Unary(f), [x; 3]),
        }
    }

    pub(super) fn binary(&mut self, f: Binary, a: Register, b: Register) -> Register {
        let (left, right) = (self.known(a), self.known(b));
        if let (Some(left), Some(right)) = (left, right) {
            return self.constant(scalar::binary(f, left, right));
        }
        match (f, left, right) {
            (Binary::Add, Some(0.0), _) => b,
            (Binary::Add | Binary::Sub, _, Some(0.0)) => a,
            (Binary::Mul, Some(1.0), _) => b,
            (Binary::Mul | Binary::Div | Binary::Pow, _, Some(1.0)) => a,
            // A derivative that is zero by structure.
            (Binary::Mul | Binary::Div, Some(0.0), _) => a,
            (Binary::Mul, _, Some(0.0)) => b,
            (Binary::Sub, Some(0.0), _) => self.unary(Unary::Neg, b),
            (Binary::Pow, _, Some(2.0)) => self.unary(Unary::Square, a),
            _ => self.push(Code::Binary(f), [a, b, b]),
        }
    }

    pub(super) fn ternary(&mut self, f: Ternary, args: [Register; 3]) -> Register {
        let [a, b, c] = args;
        match (f, self.known(a)) {
            (Ternary::Select, Some(condition)) => return if condition != 0.0 { b } else { c },
            (Ternary::Select, None) if b == c => return b,
            _ => {}
        }
        match args.map(|arg| self.known(arg)) {
            [Some(a), Some(b), Some(c)] => self.constant(scalar::ternary(f, a, b, c)),
            _ => self.push(Code::Ternary(f), args),
        }
    }

    /// A kernel's results.
    pub(super) fn call(
        &mut self,
        op: &Op,
        args: Vec<(Shape, Vec<Register>)>,
        shape: &Shape,
    ) -> Vec<Register> {
        let registers: Vec<Register> = (0..shape.len()).map(|_| self.fresh(None)).collect();
        if let Some(&out) = registers.first() {
            self.calls.push(Call { op: op.clone(), args, shape: shape.clone() });
            let code = Code::Call(self.calls.len() - 1);
            self.instructions.push(Instruction { code, args: [out; 3], out });
        }
        registers
    }

    fn push(&mut self, code: Code, args: [Register; 3]) -> Register {
        if let Some(&register) = self.made.get(&(code, args)) {
            return register;
        }
        let out = self.fresh(None);
        self.instructions.push(Instruction { code, args, out });
        self.made.insert((code, args), out);
        out
    }

    /// What computes these registers.
    pub(super) fn program(&self, outputs: &[Register]) -> Program {
        let mut needed = vec![false; self.known.len()];
        for &output in outputs {
            needed[output as usize] = true;
        }
        let mut instructions = Vec::new();
        for instruction in self.instructions.iter().rev() {
            let out = instruction.out as usize;
            if let Code::Call(call) = instruction.code {
                let call = &self.calls[call];
                if needed[out..out + call.shape.len()].contains(&true) {
                    call.args
                        .iter()
                        .flat_map(|arg| &arg.1)
                        .for_each(|&r| needed[r as usize] = true);
                    instructions.push(*instruction);
                }
            } else if needed[out] {
                instruction.args.iter().for_each(|&r| needed[r as usize] = true);
                instructions.push(*instruction);
            }
        }
        instructions.reverse();
        Program { instructions, calls: self.calls.clone() }
    }

    /// All registers, constants in place.
    pub(super) fn registers(&self) -> Vec<f64> {
        self.known.iter().map(|value| value.unwrap_or(0.0)).collect()
    }
}

/// Code that computes some registers.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) instructions: Vec<Instruction>,
    calls: Vec<Call>,
}

impl Program {
    /// Runs it on the registers of the builder that made it.
    pub(super) fn run(&self, registers: &mut [f64]) {
        for &Instruction { code, args: [a, b, c], out } in &self.instructions {
            let get = |register: Register| registers[register as usize];
            let value = match code {
                Code::Binary(Binary::Add) => get(a) + get(b),
                Code::Binary(Binary::Sub) => get(a) - get(b),
                Code::Binary(Binary::Mul) => get(a) * get(b),
                Code::Binary(Binary::Div) => get(a) / get(b),
                Code::Binary(f) => scalar::binary(f, get(a), get(b)),
                Code::Unary(Unary::Neg) => -get(a),
                Code::Unary(Unary::Square) => get(a) * get(a),
                Code::Unary(Unary::Reciprocal) => 1.0 / get(a),
                Code::Unary(f) => function(f, get(a)),
                Code::Ternary(f) => scalar::ternary(f, get(a), get(b), get(c)),
                Code::Call(call) => {
                    self.calls[call].run(registers, out as usize);
                    continue;
                }
            };
            registers[out as usize] = value;
        }
    }
}

/// A function of a number. Those that executors generate code for are the vector kernels, whose
/// bits the code has.
fn function(f: Unary, x: f64) -> f64 {
    let kernel = match f {
        Unary::Exp => simd::exp,
        Unary::Expm1 => simd::expm1,
        Unary::Log => simd::log,
        Unary::Log1p => simd::log1p,
        Unary::Tanh => simd::tanh,
        Unary::InvLogit => simd::sigmoid,
        Unary::Softplus => simd::softplus,
        _ => return scalar::unary(f, x),
    };
    let mut out = [0.0];
    kernel(Level::detect(), &[x], &mut out);
    out[0]
}

impl Call {
    /// Gathers its arguments into memory of their own; rare in right-hand sides.
    fn run(&self, registers: &mut [f64], out: usize) {
        let gathered: Vec<Vec<f64>> = self
            .args
            .iter()
            .map(|(_, numbers)| numbers.iter().map(|&r| registers[r as usize]).collect())
            .collect();
        let shapes = self.args.iter().map(|(shape, _)| shape);
        let args: Vec<Arg<'_>> =
            shapes.zip(&gathered).map(|(shape, values)| Arg { shape, values }).collect();
        let out = &mut registers[out..out + self.shape.len()];
        if evaluate_into(&self.op, &args, &self.shape, out).is_err() {
            // Indices were checked when the code was made.
            out.fill(f64::NAN);
        }
    }
}
