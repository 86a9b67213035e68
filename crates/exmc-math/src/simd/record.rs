//! Recording: a function over [`Simd`] -> the list of its operations, for who generates machine
//! code.
//!
//! The function runs once over a token whose vectors are numbers of operations. So generated code
//! does the very operations that every level does, and has their bits. Where a function leaves work
//! out if all lanes are ordinary, the recording takes the path that is right for every lane; both
//! have the same bits, because no function's bits depend on neighbouring lanes.

use std::cell::RefCell;

use super::lanes::{Simd, sealed::Sealed};
use super::portable::Portable;
use super::single::PortableSingle;
use super::vector;

/// Number of an operation in its recording.
pub type Number = usize;

/// An operation on eight lanes that reads the results of earlier ones; see [`Simd`] for what each
/// gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An argument of the function.
    Argument(usize),
    /// All lanes have this bit pattern.
    Constant(u64),
    /// A function of one vector.
    One(One, Number),
    /// A function of two.
    Two(Two, [Number; 2]),
    /// `a b + c`.
    MulAdd([Number; 3]),
    /// `c - a b`.
    NegMulAdd([Number; 3]),
    /// The second where the mask, which comes first, is set; else the third.
    Select([Number; 3]),
}

/// Functions of one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum One {
    /// Square root.
    Sqrt,
    /// The nearest integer, ties to even.
    Round,
    /// Bits moved up by so many places.
    Left(u32),
    /// Bits moved down by so many places.
    Right(u32),
}

/// Functions of two vectors; comparisons give masks, all bits or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are methods of `Simd`")]
pub enum Two {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    Lt,
    Le,
    Eq,
    And,
    Or,
    Xor,
    AddBits,
    SubBits,
}

/// Functions that can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// [`vector::exp`].
    Exp,
    /// [`vector::exp_of_ordinary`].
    ExpOfOrdinary,
    /// [`vector::expm1`].
    Expm1,
    /// [`vector::log`].
    Log,
    /// [`vector::log_of_normal`].
    LogOfNormal,
    /// [`vector::log1p`].
    Log1p,
    /// [`vector::tanh`].
    Tanh,
    /// [`vector::sigmoid`].
    Sigmoid,
    /// [`vector::softplus`].
    Softplus,
    /// Softplus, then the logistic function, of [`vector::sigmoid_softplus`].
    SoftplusSigmoid,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Exp,
        Self::ExpOfOrdinary,
        Self::Expm1,
        Self::Log,
        Self::LogOfNormal,
        Self::Log1p,
        Self::Tanh,
        Self::Sigmoid,
        Self::Softplus,
        Self::SoftplusSigmoid,
    ];

    /// Its operations.
    pub fn record(self) -> Recording {
        let operations = RefCell::new(vec![Operation::Argument(0)]);
        let (s, x) = (Recorder(&operations), 0);
        let results = match self {
            Self::Exp => vec![vector::exp(s, x)],
            Self::ExpOfOrdinary => vec![vector::exp_of_ordinary(s, x)],
            Self::Expm1 => vec![vector::expm1(s, x)],
            Self::Log => vec![vector::log(s, x)],
            Self::LogOfNormal => vec![vector::log_of_normal(s, x)],
            Self::Log1p => vec![vector::log1p(s, x)],
            Self::Tanh => vec![vector::tanh(s, x)],
            Self::Sigmoid => vec![vector::sigmoid(s, x)],
            Self::Softplus => vec![vector::softplus(s, x)],
            Self::SoftplusSigmoid => {
                let (logistic, softplus) = vector::sigmoid_softplus(s, x);
                vec![softplus, logistic]
            }
        };
        Recording { operations: operations.into_inner(), results }
    }
}

/// A function's operations, each after those that it reads, and which of them are its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// All operations; some may be read by none.
    pub operations: Vec<Operation>,
    /// Numbers of those that are results.
    pub results: Vec<Number>,
}

impl Operation {
    /// What it reads.
    pub fn reads(&self) -> &[Number] {
        match self {
            Self::Argument(_) | Self::Constant(_) => &[],
            Self::One(_, a) => std::slice::from_ref(a),
            Self::Two(_, args) => args,
            Self::MulAdd(args) | Self::NegMulAdd(args) | Self::Select(args) => args,
        }
    }
}

/// The token whose vectors are numbers.
#[derive(Clone, Copy, Debug)]
struct Recorder<'a>(&'a RefCell<Vec<Operation>>);

impl Recorder<'_> {
    fn push(self, operation: Operation) -> Number {
        let mut operations = self.0.borrow_mut();
        operations.push(operation);
        operations.len() - 1
    }

    fn two(self, two: Two, a: Number, b: Number) -> Number {
        self.push(Operation::Two(two, [a, b]))
    }
}

impl Sealed for Recorder<'_> {}

macro_rules! two {
    ($($method:ident => $two:ident),* $(,)?) => {
        $(
            fn $method(self, a: Number, b: Number) -> Number {
                self.two(Two::$two, a, b)
            }
        )*
    };
}

impl Simd for Recorder<'_> {
    type Vector = Number;
    type Bits = Number;
    type Mask = Number;
    type Single = PortableSingle;

    fn single(self) -> PortableSingle {
        PortableSingle::new(Portable::new())
    }

    fn splat(self, x: f64) -> Number {
        self.splat_bits(x.to_bits())
    }

    fn splat_bits(self, x: u64) -> Number {
        let constant = Operation::Constant(x);
        let known = self.0.borrow().iter().position(|operation| *operation == constant);
        known.unwrap_or_else(|| self.push(constant))
    }

    fn load(self, _: &[f64; 8]) -> Number {
        unreachable!("no function that is recorded has lanes that differ")
    }

    fn store(self, _: Number, _: &mut [f64; 8]) {
        unreachable!("no function that is recorded looks at single lanes")
    }

    two! {
        add => Add, sub => Sub, mul => Mul, div => Div, min => Min, max => Max,
        lt => Lt, le => Le, eq => Eq, both => And,
        add_bits => AddBits, sub_bits => SubBits, and_bits => And, or_bits => Or, xor_bits => Xor,
    }

    fn fma(self, a: Number, b: Number, c: Number) -> Number {
        self.push(Operation::MulAdd([a, b, c]))
    }

    fn fnma(self, a: Number, b: Number, c: Number) -> Number {
        self.push(Operation::NegMulAdd([a, b, c]))
    }

    fn sqrt(self, x: Number) -> Number {
        self.push(Operation::One(One::Sqrt, x))
    }

    fn round(self, x: Number) -> Number {
        self.push(Operation::One(One::Round, x))
    }

    fn select(self, mask: Number, a: Number, b: Number) -> Number {
        self.push(Operation::Select([mask, a, b]))
    }

    /// There may be such a lane.
    fn any(self, _: Number) -> bool {
        true
    }

    /// There may be another lane.
    fn all(self, _: Number) -> bool {
        false
    }

    fn to_bits(self, x: Number) -> Number {
        x
    }

    fn with_bits(self, x: Number) -> Number {
        x
    }

    fn shift_left<const N: u32>(self, a: Number) -> Number {
        self.push(Operation::One(One::Left(N), a))
    }

    fn shift_right<const N: u32>(self, a: Number) -> Number {
        self.push(Operation::One(One::Right(N), a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd;

    /// One lane of a recording's results.
    fn run(recording: &Recording, x: f64) -> Vec<f64> {
        let mut lanes: Vec<u64> = Vec::new();
        for operation in &recording.operations {
            let bits = |k: usize| lanes[operation.reads()[k]];
            let number = |k: usize| f64::from_bits(bits(k));
            let mask = |holds: bool| if holds { u64::MAX } else { 0 };
            lanes.push(match *operation {
                Operation::Argument(_) => x.to_bits(),
                Operation::Constant(constant) => constant,
                Operation::One(One::Sqrt, _) => number(0).sqrt().to_bits(),
                Operation::One(One::Round, _) => number(0).round_ties_even().to_bits(),
                Operation::One(One::Left(n), _) => bits(0) << n,
                Operation::One(One::Right(n), _) => bits(0) >> n,
                Operation::Two(two, _) => match two {
                    Two::Add => (number(0) + number(1)).to_bits(),
                    Two::Sub => (number(0) - number(1)).to_bits(),
                    Two::Mul => (number(0) * number(1)).to_bits(),
                    Two::Div => (number(0) / number(1)).to_bits(),
                    Two::Min if number(0) < number(1) => bits(0),
                    Two::Max if number(0) > number(1) => bits(0),
                    Two::Min | Two::Max => bits(1),
                    Two::Lt => mask(number(0) < number(1)),
                    Two::Le => mask(number(0) <= number(1)),
                    Two::Eq => mask(number(0) == number(1)),
                    Two::And => bits(0) & bits(1),
                    Two::Or => bits(0) | bits(1),
                    Two::Xor => bits(0) ^ bits(1),
                    Two::AddBits => bits(0).wrapping_add(bits(1)),
                    Two::SubBits => bits(0).wrapping_sub(bits(1)),
                },
                Operation::MulAdd(_) => libm::fma(number(0), number(1), number(2)).to_bits(),
                Operation::NegMulAdd(_) => libm::fma(-number(0), number(1), number(2)).to_bits(),
                Operation::Select(_) => {
                    if bits(0) >> 63 == 1 {
                        bits(1)
                    } else {
                        bits(2)
                    }
                }
            });
        }
        recording.results.iter().map(|&result| f64::from_bits(lanes[result])).collect()
    }

    #[test]
    fn recordings_have_the_bits_of_the_functions() {
        let edges = [0.0, 1.0, 0.5, 1e-300, 5e-324, 1e300, 709.9, 745.2, 2.5e-8, f64::INFINITY];
        let inner = (1..2000).map(|k| f64::from(k) * 0.371_234_5e-1);
        let points: Vec<f64> = edges.into_iter().chain(inner).flat_map(|x| [x, -x]).collect();
        let level = simd::Level::portable();
        let apply = |f: fn(simd::Level, &[f64], &mut [f64])| {
            let mut y = vec![0.0; points.len()];
            f(level, &points, &mut y);
            y
        };
        for function in Function::ALL {
            let expected = match function {
                Function::Exp | Function::ExpOfOrdinary => vec![apply(simd::exp)],
                Function::Expm1 => vec![apply(simd::expm1)],
                Function::Log | Function::LogOfNormal => vec![apply(simd::log)],
                Function::Log1p => vec![apply(simd::log1p)],
                Function::Tanh => vec![apply(simd::tanh)],
                Function::Sigmoid => vec![apply(simd::sigmoid)],
                Function::Softplus => vec![apply(simd::softplus)],
                Function::SoftplusSigmoid => vec![apply(simd::softplus), apply(simd::sigmoid)],
            };
            let recording = function.record();
            let is_wanted = |x: f64| match function {
                Function::ExpOfOrdinary => x.abs() < vector::ORDINARY,
                Function::LogOfNormal => x > 0.0 && x.is_normal(),
                _ => true,
            };
            for (k, &x) in points.iter().enumerate().filter(|(_, x)| is_wanted(**x)) {
                for (found, expected) in run(&recording, x).into_iter().zip(&expected) {
                    let same = found.to_bits() == expected[k].to_bits();
                    let both_nan = found.is_nan() && expected[k].is_nan();
                    assert!(
                        same || both_nan,
                        "{function:?}({x:e}) = {found:e}, not {:e}",
                        expected[k]
                    );
                }
            }
        }
    }
}
