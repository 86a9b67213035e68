//! Kernels over whole arrays: an operation that is no loop over elements -> a routine compiled for
//! every level.
//!
//! Inner loops are multiply-adds or functions of neighbouring elements, eight lanes or one after
//! the other in an order that does not depend on the level, so the bits do not either. A routine
//! allocates nothing: what it needs beside its result is reserved when the program is lowered.
#![expect(unsafe_code, reason = "arguments and results are found once, when memory is made")]

mod factors;
mod layout;
mod products;
mod reduce;
mod small;

use exmc_graph::{Op, Reduction, Shape};
use exmc_math::simd::{Address, Level, Routine, Simd};

use crate::native::link::Linker;
use crate::native::program::{Call, LANES};

/// What a call runs.
#[derive(Clone, Debug)]
pub(in crate::native) enum Kernel {
    /// Rows times columns, and the length of both.
    MatMul([usize; 3]),
    /// Side of the matrix.
    Cholesky(usize),
    CholeskyAdjoint(usize),
    /// Side of the triangle, and columns of the right-hand side.
    TriangularSolve {
        sizes: [usize; 2],
        transposed: bool,
    },
    Lu(usize),
    LuSolve {
        sizes: [usize; 2],
        transposed: bool,
    },
    LogAbsDet(usize),
    /// Elements before the axis, along it, and after it.
    Reduce(Reduction, [usize; 3]),
    CumSum {
        around: [usize; 3],
        reverse: bool,
    },
    /// Blocks, and for every piece the length of its part of a block.
    Concat {
        blocks: usize,
        widths: Vec<usize>,
    },
}

impl Kernel {
    /// The kernel of an operation, if it has one.
    pub(in crate::native) fn of(op: &Op, args: &[Shape], shape: &Shape) -> Option<Self> {
        let extent = |k: usize, axis: usize| args[k].extents().get(axis).copied().unwrap_or(1);
        Some(match op {
            Op::MatMul => Self::MatMul([extent(0, 0), extent(0, 1), extent(1, 1)]),
            Op::Cholesky => Self::Cholesky(extent(0, 0)),
            Op::CholeskyAdjoint => Self::CholeskyAdjoint(extent(0, 0)),
            &Op::TriangularSolve { transposed } => {
                Self::TriangularSolve { sizes: [extent(0, 0), extent(1, 1)], transposed }
            }
            Op::Lu => Self::Lu(extent(0, 0)),
            &Op::LuSolve { transposed } => {
                Self::LuSolve { sizes: [extent(0, 0), extent(2, 1)], transposed }
            }
            Op::LogAbsDet => Self::LogAbsDet(extent(0, 0)),
            Op::Reduce(reduction, axes) => {
                let (&first, &last) = (axes.first()?, axes.last()?);
                if last - first + 1 != axes.len() {
                    return None;
                }
                let extents = args[0].extents();
                let count = |part: &[usize]| part.iter().product();
                let middle = count(&extents[first..=last]);
                Self::Reduce(
                    *reduction,
                    [count(&extents[..first]), middle, count(&extents[last + 1..])],
                )
            }
            &Op::CumSum { axis, reverse } => {
                Self::CumSum { around: around(&args[0], axis), reverse }
            }
            &Op::Concat { axis } => {
                let [blocks, _, _] = around(shape, axis);
                let width = |arg: &Shape| {
                    let [_, n, inner] = around(arg, axis);
                    n * inner
                };
                Self::Concat { blocks, widths: args.iter().map(width).collect() }
            }
            _ => return None,
        })
    }

    /// Numbers that the kernel needs beside its result.
    pub(in crate::native) fn scratch(&self) -> usize {
        match self {
            Self::Cholesky(n) => *n,
            Self::Reduce(Reduction::LogSumExp, [_, _, inner]) if *inner > 1 => *inner,
            _ => 0,
        }
    }

    fn address(&self, level: Level) -> Address<Self, Arrays> {
        match self {
            Self::MatMul(_) => level.address::<Run<products::MatMul>>(),
            Self::Cholesky(_) => level.address::<Run<factors::Cholesky>>(),
            Self::CholeskyAdjoint(_) => level.address::<Run<factors::CholeskyAdjoint>>(),
            Self::TriangularSolve { .. } => level.address::<Run<factors::TriangularSolve>>(),
            Self::Lu(_) => level.address::<Run<factors::Lu>>(),
            Self::LuSolve { .. } => level.address::<Run<factors::LuSolve>>(),
            Self::LogAbsDet(_) => level.address::<Run<factors::LogAbsDet>>(),
            Self::Reduce(..) => level.address::<Run<reduce::Reduce>>(),
            Self::CumSum { .. } => level.address::<Run<layout::CumSum>>(),
            Self::Concat { .. } => level.address::<Run<layout::Concat>>(),
        }
    }
}

/// How many blocks before an axis, its extent, how many elements after it.
fn around(shape: &Shape, axis: usize) -> [usize; 3] {
    let extents = shape.extents();
    [extents[..axis].iter().product(), extents[axis], extents[axis + 1..].iter().product()]
}

/// A kernel's algorithm.
trait Algorithm {
    /// Computes `out` from the arguments; `scratch` has [`Kernel::scratch`] elements of any value.
    ///
    /// Mark the implementation `#[inline(always)]`, and everything that it calls.
    fn run<S: Simd>(
        s: S,
        kernel: &Kernel,
        args: &Arguments<'_>,
        out: &mut [f64],
        scratch: &mut [f64],
    );
}

/// The arguments of a call as arrays.
struct Arguments<'a>(&'a [(*const f64, usize)]);

impl Arguments<'_> {
    #[inline(always)]
    fn get(&self, k: usize) -> &[f64] {
        let (first, len) = self.0[k];
        // SAFETY: every argument has its shape's elements, which nobody writes while a kernel runs.
        unsafe { std::slice::from_raw_parts(first, len) }
    }
}

/// Where a call's arguments and result are in an instance's memory.
#[derive(Debug)]
struct Arrays {
    args: Vec<(*const f64, usize)>,
    out: (*mut f64, usize),
    scratch: (*mut f64, usize),
    /// Whether the result is a scalar's line.
    line: bool,
}

struct Run<A>(A);

impl<A: Algorithm> Routine for Run<A> {
    type Context = Kernel;
    type Step = Arrays;

    #[inline(always)]
    unsafe fn run<S: Simd>(s: S, kernel: &Kernel, arrays: &Arrays) {
        let args = Arguments(&arrays.args);
        // SAFETY: the result and the scratch memory have so many elements and are nobody's else:
        // they are reserved for this call.
        let (out, scratch) = unsafe {
            (
                std::slice::from_raw_parts_mut(arrays.out.0, arrays.out.1),
                std::slice::from_raw_parts_mut(arrays.scratch.0, arrays.scratch.1),
            )
        };
        A::run(s, kernel, &args, out, scratch);
        if arrays.line {
            // SAFETY: a scalar has a line.
            unsafe {
                let value = *arrays.out.0;
                *arrays.out.0.cast::<[f64; LANES]>() = [value; LANES];
            }
        }
    }
}

/// A call with its addresses.
#[derive(Debug)]
pub(in crate::native) struct LinkedKernel {
    routine: Address<Kernel, Arrays>,
    kernel: Kernel,
    arrays: Arrays,
}

impl LinkedKernel {
    /// A call of a kernel, where its operation has one.
    pub(in crate::native) fn new(level: Level, call: &Call, memory: &Linker<'_>) -> Option<Self> {
        let kernel = call.kernel.clone()?;
        let args = call.args.iter().map(|(place, shape)| (*place, shape.len()));
        let args = args.map(|(place, len)| (memory.first(place).cast_const(), len)).collect();
        let arrays = Arrays {
            args,
            out: (memory.first(call.out), call.shape.len()),
            scratch: (memory.first(call.scratch), kernel.scratch()),
            line: call.out.step == 0,
        };
        Some(Self { routine: kernel.address(level), kernel, arrays })
    }

    /// # Safety
    /// The frame whose memory the task was made for lives, and nothing else refers to what the call
    /// writes.
    pub(in crate::native) unsafe fn run(&self) {
        // SAFETY: the caller vouches for the frame; the arrays are inside of its regions, as
        // `verify` has checked.
        unsafe { self.routine.call(&self.kernel, &self.arrays) };
    }
}
