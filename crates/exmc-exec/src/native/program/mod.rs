//! Programs: what the block interpreter runs, as plain data.
//!
//! All memory that a program writes is one *arena* per instance, all that it only reads (data,
//! constants, packed matrices) one region shared by all. A scalar fills a whole line of eight equal
//! numbers, so that an instruction reads it like an array, only without moving on.

mod print;
mod regions;
mod verify;

use std::sync::Arc;

use exmc_graph::{NodeId, Op, Precision, Shape, Tensor};

use super::compile::loop_ir::{Index, Matrix};
use super::run::kernels::Kernel;
use super::run::linear_scan::LinearScan;
use super::run::log_sum_exp_scan::LogSumExpScan;
use super::run::scan_loop::{Recurrence, ScanLoop};
use crate::plan::{Plan, Source};

pub(super) use verify::verify;

pub(in crate::native) use exmc_math::simd::LANES;

/// Which memory a place is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum Region {
    /// Written by this instance.
    Arena,
    /// Only read.
    Shared,
    /// Only read, `f32`; offsets count numbers of that type.
    Single,
    /// A block register, by number; turned into a part of the arena once registers are assigned.
    Register,
    /// A sink's memory in a loop in shards, by offset behind the registers; turned into a part of
    /// the arena with them.
    Own,
}

/// Where an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) region: Region,
    /// Whether the place is an array of the loop's length, of which a block is seen at a time.
    pub(super) stream: bool,
    /// How far apart neighbouring vectors are: 8, or 0 for a scalar's line.
    pub(super) step: u8,
    /// First element.
    pub(super) offset: u32,
}

impl Place {
    /// A place that is not read.
    pub(super) const NONE: Self = Self { region: Region::Arena, stream: false, step: 0, offset: 0 };
}

/// Instructions; those from `Neg` to `Select` are elementwise functions with vector kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Code {
    Neg,
    Abs,
    Sign,
    Not,
    IsFinite,
    Exp,
    Expm1,
    Log,
    Log1p,
    Sqrt,
    Square,
    Reciprocal,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    InvLogit,
    Softplus,
    Log1mExp,
    Lgamma,
    Digamma,
    Trigamma,
    Tetragamma,
    Erf,
    Erfc,
    LogNormalCdf,
    NormalQuantile,
    LogBesselI0,
    BesselI1I0,
    Floor,
    Ceil,
    Round,
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Min,
    Max,
    LogAddExp,
    LogAddExpShare,
    LogDiffExp,
    Atan2,
    Lbeta,
    DigammaRise,
    Lt,
    Le,
    Eq,
    Ne,
    And,
    Or,
    Select,
    /// a
    Copy,
    /// a b + c, rounded once
    MulAdd,
    /// a b - c, rounded once
    MulSub,
    /// c - a b, rounded once
    NegMulAdd,
    /// (a + b) c
    AddThenMul,
    /// (a - b) c
    SubThenMul,
    /// a b c
    MulThenMul,
    /// 1 / (a + b)
    AddThenReciprocal,
    /// a where that is between 2^-62 and 2^62, NaN elsewhere
    Factor,
    /// exp(a) of a number between -707 and 707
    ExpOfOrdinary,
    /// log(a) of a positive normal number or NaN
    LogOfNormal,
    /// The sum of signed products of scalars
    Terms,
    /// softplus(a) to `out` and inv_logit(a) to `b`
    SoftplusInvLogit,
    /// lgamma(a) to `out` and digamma(a) to `b`
    LgammaDigamma,
    /// sin(a) to `out` and cos(a) to `b`
    SinCos,
    /// log_add_exp_share(a, c) to `out` and log_add_exp_share(c, a) to `b`
    Shares,
    /// log_add_exp(a, c) to `out`, log_add_exp_share(a, c) to `b` and log_add_exp_share(c, a) to
    /// `d`
    LogAddExpShares,
    /// An elementwise function without a vector kernel, one element after the other
    Lane,
    /// One element to a scalar's line
    Pick,
    /// Elements of the array `a` by index
    Load,
    /// The same, with zeros for indices of nothing
    LoadOrZero,
    /// Zeros
    Zero,
    /// The part of the array `a` that falls into the block
    Piece,
    /// Rows of the matrix times the vector `a`
    MatVec,
    /// Sum of `a`, partial sums in `c`
    Sum,
    /// Sum of `a b`, partial sums in `c`
    Dot,
    /// Product of `a`, of one block
    Product,
    /// Sum of log(a), partial sums in `c`
    SumLog,
    /// Sum of log(1 + a), partial sums in `c`
    SumLog1p,
    /// Sum of softplus(a), partial sums in `c`, and inv_logit(a) to `b`
    SumSoftplusInvLogit,
    /// Sum of log_add_exp(a, c), with partial sums in `out` itself, log_add_exp_share(a, c) to `b`
    /// and log_add_exp_share(c, a) to `d`
    SumLogAddExpShares,
    /// Elements of `a` added to the array `out`
    Scatter,
    /// The transpose of the matrix times `a`, partial sums in `c`
    MatTVec,
    /// `a`, which is `f64`, rounded to `f32`
    Narrow,
    /// `a`, which is `f32`, as `f64`
    Widen,
}

impl Code {
    /// Whether the first result is there after the loop's last element only.
    pub(super) fn is_sink(self) -> bool {
        matches!(
            self,
            Self::Sum
                | Self::Dot
                | Self::Product
                | Self::SumLog
                | Self::SumLog1p
                | Self::SumSoftplusInvLogit
                | Self::SumLogAddExpShares
                | Self::Scatter
                | Self::MatTVec
        )
    }

    /// Whether `b` and `d` are results, too.
    pub(super) fn results(self) -> [bool; 2] {
        match self {
            Self::SoftplusInvLogit | Self::LgammaDigamma | Self::SinCos => [true, false],
            Self::SumSoftplusInvLogit | Self::Shares => [true, false],
            Self::LogAddExpShares | Self::SumLogAddExpShares => [true, true],
            _ => [false; 2],
        }
    }

    /// Whether `c` has a sink's partial sums.
    pub(super) fn has_partial_sums(self) -> bool {
        self.is_sink() && !matches!(self, Self::Scatter | Self::SumLogAddExpShares)
    }

    /// Lines of a sum over lanes that `c` has: the sum of the blocks before, and what a block's
    /// product of numbers needs.
    pub(super) fn partial_lines(self) -> usize {
        if matches!(self, Self::SumLog | Self::SumLog1p) { 4 } else { 1 }
    }

    /// Which of `a`, `b` and `c` are read element by element.
    pub(super) fn lanes(self) -> [bool; 3] {
        match self {
            Self::Zero | Self::Terms | Self::Pick | Self::Piece => [false; 3],
            Self::Load | Self::LoadOrZero | Self::MatVec => [false; 3],
            Self::Dot => [true, true, false],
            code => {
                let second = code.results()[0];
                [true, !(code.is_sink() || second), !code.has_partial_sums()]
            }
        }
    }
}

/// One operation on a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) code: Code,
    /// With `f32`, arrays that are read element by element, and results that are, are of that type;
    /// scalars' lines never are.
    pub(super) precision: Precision,
    pub(super) out: Place,
    pub(super) a: Place,
    pub(super) b: Place,
    pub(super) c: Place,
    pub(super) d: Place,
    /// Which of the loop's extras belongs to it, if one does.
    pub(super) extra: Option<u32>,
}

/// What some instructions need besides places.
#[derive(Clone, Debug)]
pub(super) enum Extra {
    /// An elementwise function, with the shapes of a whole block, of the last block, and of a
    /// scalar.
    Lane { op: Op, shapes: [Shape; 2] },
    /// Position of an index in the shared indices; `len` is that of the array that it reads or adds
    /// to.
    Index { number: usize, len: usize },
    /// A piece's first element in the result, and its length.
    Piece { start: usize, len: usize },
    /// Up to three factors (at least one; the others are [`Place::NONE`]), of which a third one
    /// excludes the minus sign.
    Terms(Vec<([Place; 3], bool)>),
    /// A packed matrix: its place in the shared region in `f64`, and its columns.
    Matrix { offset: usize, columns: usize },
}

/// A loop over blocks.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    /// Elements.
    pub(super) n: usize,
    /// Elements of a block, a multiple of eight.
    pub(super) block: usize,
    pub(super) body: Vec<Instruction>,
    pub(super) extras: Vec<Extra>,
    /// Block registers.
    pub(super) registers: usize,
    /// Whether all of it is one vector, to be run as a straight line.
    pub(super) single: bool,
    /// Parts that may run at the same time; 1 if the loop is whole.
    pub(super) shards: usize,
    /// Elements behind the registers that sinks of a shard use.
    pub(super) sink_elements: usize,
    /// Where a loop in shards leaves its sinks' results.
    pub(super) slots: Vec<Slots>,
}

/// The results of a sink in each shard, and their sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    /// Where the instruction leaves its result, in memory of its thread's own.
    pub(super) part: Place,
    pub(super) len: usize,
    /// Offset of the first shard's slot in the arena.
    pub(super) first: u32,
    pub(super) out: Place,
}

impl Slots {
    /// Elements from one shard's slot to the next: whole lines, so that threads do not write to one
    /// line.
    pub(super) fn stride(len: usize) -> usize {
        len.next_multiple_of(LANES)
    }
}

/// A kernel over whole arrays.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) op: Op,
    pub(super) args: Vec<(Place, Shape)>,
    pub(super) out: Place,
    pub(super) shape: Shape,
    /// The kernel that runs it, or the reference machinery if it has none.
    pub(super) kernel: Option<Kernel>,
    pub(super) scratch: Place,
}

/// A loop over a body, run by the reference machinery.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) plan: Plan,
    /// Arguments that are read: slot, place, length.
    pub(super) args: Vec<(usize, Place, usize)>,
    /// Outputs that are read: source in the plan's frame, place, length.
    pub(super) outputs: Vec<(Source, Place, usize)>,
}

/// A part of a program.
#[derive(Debug)]
pub(super) enum Stage {
    Loop(Loop),
    Call(Arc<Call>),
    /// Number in [`Program::scans`].
    Scan(usize),
    Recurrence(Recurrence),
    LogSumExpScan(LogSumExpScan),
    LinearScan(LinearScan),
    ScanLoop(ScanLoop),
}

/// A node that is packed into the shared region when data are bound.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// An array, or a scalar's line; what the node is there stretched to, if it is.
    Array { node: NodeId, offset: usize, stretched: Option<Shape> },
    /// An array of `f32`.
    Singles { node: NodeId, offset: usize, len: usize },
    /// A matrix in tiles of eight rows: element (i, j) at `(i / 8 * columns + j) * 8 + i % 8`; of
    /// `f32`, the same with sixteen for eight.
    Tiles { matrix: Matrix, offset: usize, precision: Precision },
}

/// An index that is packed when data are bound.
#[derive(Clone, Debug)]
pub(super) struct IndexPart {
    pub(super) index: Index,
    /// Elements.
    pub(super) len: usize,
    /// What it points into.
    pub(super) extent: usize,
    /// Length of a block, where runs of equal elements are worth finding.
    pub(super) block: Option<usize>,
}

/// How many instructions and calls a program has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Of one evaluation; a loop with carried state is one.
    pub(crate) main: usize,
    /// In the bodies of such loops.
    pub(crate) loops: usize,
    /// Calls of the reference machinery.
    pub(crate) calls: usize,
    /// Functions without a vector kernel.
    pub(crate) one_by_one: usize,
}

/// A compiled graph.
#[derive(Debug)]
pub(crate) struct Program {
    pub(super) stages: Vec<Stage>,
    pub(super) scans: Vec<Scan>,
    /// Elements of the arena and of the shared region.
    pub(super) arena: usize,
    pub(super) shared: usize,
    /// The end of the arena from here on is of one thread's own: registers, and sinks of shards.
    pub(super) thread_start: usize,
    pub(super) parts: Vec<Part>,
    /// Constants of loops' bodies, with their places in the shared region.
    pub(super) constants: Vec<(Tensor, usize)>,
    pub(super) indices: Vec<IndexPart>,
    /// Parts of the position: offset there, length, place.
    pub(super) inputs: Vec<(usize, usize, Place)>,
    /// Roots: place and number of elements that are there (one stands for any number).
    pub(super) roots: Vec<(Place, usize)>,
    /// Whether every array has at most half a vector's elements, at the beginning of a line of its
    /// own.
    pub(super) is_narrow: bool,
}

impl Program {
    /// The nodes whose values are needed when data are bound.
    pub(crate) fn shared_nodes(&self) -> Vec<NodeId> {
        let of_parts = self.parts.iter().map(|part| match part {
            Part::Array { node, .. } | Part::Singles { node, .. } => *node,
            Part::Tiles { matrix, .. } => matrix.node,
        });
        let of_indices = self.indices.iter().filter_map(|part| match part.index {
            Index::Data { node, .. } => Some(node),
            Index::Static(_) => None,
        });
        of_parts.chain(of_indices).collect()
    }

    /// Whether a loop computes in `f32`. Loops inside of others do not.
    pub(crate) fn rounds(&self) -> bool {
        self.stages.iter().any(|stage| match stage {
            Stage::Loop(l) => l.body.iter().any(|i| i.precision == Precision::F32),
            _ => false,
        })
    }

    /// Elements of the longest array that an instruction works on at once; one where a loop with
    /// carried state takes as many steps, which are then most of the work. Loops that the reference
    /// machinery runs have none.
    pub(crate) fn longest(&self) -> usize {
        /// The longest array and the most steps.
        fn longest_of(stages: &[Stage]) -> [usize; 2] {
            let of_stage = |stage: &Stage| match stage {
                Stage::Loop(l) => [l.n, 0],
                Stage::Call(call) => {
                    let shapes = call.args.iter().map(|(_, shape)| shape).chain([&call.shape]);
                    [shapes.flat_map(Shape::extents).copied().max().unwrap_or(1), 0]
                }
                Stage::Scan(_) => [1, 0],
                Stage::Recurrence(scan) => [scan.width, scan.length],
                Stage::LogSumExpScan(scan) => [scan.width, scan.length],
                Stage::LinearScan(scan) => [scan.width, scan.length],
                Stage::ScanLoop(scan_loop) => [longest_of(&scan_loop.body)[0], scan_loop.length],
            };
            let longer = |a: [usize; 2], b: [usize; 2]| [a[0].max(b[0]), a[1].max(b[1])];
            stages.iter().map(of_stage).fold([1, 0], longer)
        }
        let [longest, steps] = longest_of(&self.stages);
        if steps < longest { longest } else { 1 }
    }

    /// Shards of the loop that has most; 1 if all loops are whole. Loops inside of others are.
    pub(crate) fn shards(&self) -> usize {
        let of_stages = self.stages.iter().map(|stage| match stage {
            Stage::Loop(l) => l.shards,
            _ => 1,
        });
        of_stages.max().unwrap_or(1)
    }

    /// Elements of the arena for so many threads, and how far apart what is of two threads' own is:
    /// whole pairs of lines, so that no two threads write to a pair.
    pub(super) fn arena_of(&self, threads: usize) -> (usize, usize) {
        let apart = (self.arena - self.thread_start).next_multiple_of(2 * LANES);
        (self.thread_start + threads * apart, apart)
    }

    /// Lines of memory of one instance that runs on one thread.
    pub(crate) fn lines(&self) -> usize {
        self.arena.div_ceil(LANES)
    }

    /// Numbers of instructions and calls.
    pub(crate) fn counts(&self) -> Counts {
        fn add(stages: &[Stage], instructions: &mut usize, counts: &mut Counts) {
            for stage in stages {
                *instructions += if let Stage::Loop(l) = stage { l.body.len() } else { 1 };
                match stage {
                    Stage::Loop(l) => {
                        counts.one_by_one += l.body.iter().filter(|i| i.code == Code::Lane).count();
                    }
                    Stage::Call(call) => counts.calls += usize::from(call.kernel.is_none()),
                    Stage::Scan(_) => counts.calls += 1,
                    Stage::Recurrence(_) | Stage::LogSumExpScan(_) | Stage::LinearScan(_) => {}
                    Stage::ScanLoop(repeat) => {
                        let mut inside = 0;
                        add(&repeat.body, &mut inside, counts);
                        counts.loops += inside;
                    }
                }
            }
        }
        let (mut main, mut counts) = (0, Counts::default());
        add(&self.stages, &mut main, &mut counts);
        Counts { main, ..counts }
    }

    /// Names of the operations that the reference machinery runs or that are computed one element
    /// after the other.
    pub(crate) fn fallbacks(&self) -> Vec<&'static str> {
        fn add(stages: &[Stage], names: &mut Vec<&'static str>) {
            for stage in stages {
                match stage {
                    Stage::Loop(l) => {
                        names.extend(l.extras.iter().filter_map(|extra| match extra {
                            Extra::Lane { op, .. } => Some(op.name()),
                            _ => None,
                        }))
                    }
                    Stage::Call(call) if call.kernel.is_none() => names.push(call.op.name()),
                    Stage::Scan(_) => names.push("scan"),
                    Stage::ScanLoop(repeat) => add(&repeat.body, names),
                    Stage::Call(_) => {}
                    Stage::Recurrence(_) | Stage::LogSumExpScan(_) | Stage::LinearScan(_) => {}
                }
            }
        }
        let mut names = Vec::new();
        add(&self.stages, &mut names);
        names
    }
}
