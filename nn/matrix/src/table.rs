//! The rows: a penalty over tensors beside the same penalty as plain loops.

use burn::tensor::{Tensor, TensorData};
use penalties::{
    Centre, Direction, Dual, EntropyMode, Metric, Orthogonality, Over, PairPenalty, Penalty,
    Reduce, RowsOf, gradient_penalty, gradient_penalty_black_box, project,
};
use plain::network::Network;
use plain::{Answer, divergence, element, proximal, spectrum, structure};

use crate::inputs::Kind;

/// Which shape a row's inputs have for a number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `[n]`.
    Flat,
    /// `[n / width, width]`, or `[1, n]` for fewer elements than `width`.
    Rows(usize),
    /// `[width, n / width]`, or `[1, n]`.
    Columns(usize),
    /// `[2, 4, n / 8]`, or `[1, 1, n]`.
    Cube,
}

impl Shape {
    /// The shape of about `count` elements: what does not divide is left out.
    #[must_use]
    pub fn of(self, count: usize) -> Vec<usize> {
        match self {
            Self::Flat => vec![count],
            Self::Rows(width) if count >= width => vec![count / width, width],
            Self::Columns(width) if count >= width => vec![width, count / width],
            Self::Cube if count >= 8 => vec![2, 4, count / 8],
            Self::Rows(_) | Self::Columns(_) => vec![1, count],
            Self::Cube => vec![1, 1, count],
        }
    }
}

/// A penalty over tensors whose elements are in one axis.
pub type OverTensors = fn(Vec<Tensor<1>>, &[usize]) -> Tensor<1>;
/// The same penalty over slices.
pub type OverSlices = fn(&[Vec<f64>], &[usize]) -> Answer;

/// One row: a penalty with a value and gradients.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Its inputs, all of one shape.
    pub inputs: &'static [Kind],
    /// Their shape.
    pub shape: Shape,
    /// Over tensors.
    pub tensors: OverTensors,
    /// Over slices.
    pub slices: OverSlices,
    /// Whether gradients stay within the range of `f16` at every size; means do not.
    pub half: bool,
}

/// A proximal operator or projection.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    /// Its name.
    pub name: &'static str,
    /// The shape of its input, which has elements of either sign.
    pub shape: Shape,
    /// Over tensors.
    pub tensors: fn(Tensor<1>, &[usize]) -> Tensor<1>,
    /// Over slices.
    pub slices: fn(&[f64], &[usize]) -> Vec<f64>,
    /// Most elements that are tried: what reads back to the host is slow beyond.
    pub largest: usize,
}

const ONE: &[Kind] = &[Kind::Signed];
const POSITIVE: &[Kind] = &[Kind::Positive];
const TWO: &[Kind] = &[Kind::Signed, Kind::Signed];
const LOG: &[Kind] = &[Kind::LogProbabilities];
const LOGS: &[Kind] = &[Kind::LogProbabilities, Kind::LogProbabilities];

fn ranked(penalty: Penalty, x: Tensor<1>, dims: &[usize]) -> Tensor<1> {
    let value = match *dims {
        [n] => penalty.value(x.reshape([n])),
        [a, b] => penalty.value(x.reshape([a, b])),
        [a, b, c] => penalty.value(x.reshape([a, b, c])),
        _ => unreachable!("shapes of the table have one to three axes"),
    };
    value.expect("the table's penalties suit their shapes")
}

fn single(mut x: Vec<Tensor<1>>, dims: &[usize], penalty: Penalty) -> Tensor<1> {
    ranked(penalty, x.remove(0), dims)
}

fn paired(mut x: Vec<Tensor<1>>, dims: &[usize], penalty: PairPenalty) -> Tensor<1> {
    let (b, a) = (x.remove(1), x.remove(0));
    let value = match *dims {
        [n] => penalty.value(a.reshape([n]), b.reshape([n])),
        [r, c] => penalty.value(a.reshape([r, c]), b.reshape([r, c])),
        _ => unreachable!("pairs of the table have one or two axes"),
    };
    value.expect("the table's pairs have one shape")
}

fn l2(reduce: Reduce, centre: Centre, clip: Option<f64>) -> Penalty {
    Penalty::L2 { reduce, centre, clip }
}

fn entropy(mode: EntropyMode, normalise: bool, temperature: f64) -> Penalty {
    Penalty::Entropy { mode, normalise, temperature, reduce: Reduce::Sum }
}

fn orthogonal(mode: Orthogonality, normalise: bool, rows_of: RowsOf) -> Penalty {
    Penalty::Orthogonality { mode, normalise, rows_of }
}

fn width(dims: &[usize]) -> usize {
    dims.last().copied().unwrap_or(1)
}

fn count(dims: &[usize]) -> f64 {
    dims.iter().product::<usize>() as f64
}

/// A cube's rows by another axis: the penalty of the reordered matrix, its gradient in the cube's
/// order.
fn reordered(x: &[f64], dims: &[usize], axis: usize, mode: structure::Mode) -> Answer {
    let order = structure::rows_of_axis([dims[0], dims[1], dims[2]], axis);
    let matrix: Vec<f64> = order.iter().map(|i| x[*i]).collect();
    let answer = structure::orthogonality(&matrix, x.len() / dims[axis], mode, true);
    let mut gradient = vec![0.0; x.len()];
    order.iter().zip(&answer.gradients[0]).for_each(|(i, g)| gradient[*i] = *g);
    Answer::one(answer.value, gradient)
}

/// Inputs and hidden units of the network of the gradient penalties.
const WIDTH: usize = 8;

/// Its weights, exact in every type.
fn network() -> Network {
    let weight = |k: usize, by: usize| ((k * by) % 17) as f64 / 16.0 - 0.5;
    Network {
        w: (0..WIDTH * WIDTH).map(|k| weight(k, 7)).collect(),
        b: (0..WIDTH).map(|k| weight(k, 5)).collect(),
        v: (0..WIDTH).map(|k| weight(k, 3) + 0.0625).collect(),
    }
}

/// The network over tensors, with its width cut down to the inputs that there are.
fn weights(like: &Tensor<1>, inputs: usize) -> (Tensor<2>, Tensor<1>, Tensor<2>) {
    let network = network();
    let options = (&like.device(), like.dtype());
    let w = TensorData::new(network.w[..inputs * WIDTH].to_vec(), [inputs, WIDTH]);
    (
        Tensor::from_data(w, options),
        Tensor::from_data(TensorData::new(network.b, [WIDTH]), options),
        Tensor::from_data(TensorData::new(network.v, [WIDTH, 1]), options),
    )
}

fn exact_gradient_penalty(mut x: Vec<Tensor<1>>, dims: &[usize], over: Over) -> Tensor<1> {
    let x = x.remove(0);
    let (w, b, v) = weights(&x, dims[1]);
    let f =
        |x: Dual<2>| x.linear(w.clone(), Some(b.clone())).tanh().linear(v.clone(), None).sum_each();
    let x = x.reshape([dims[0], dims[1]]);
    gradient_penalty(f, x, 0.25, over).expect("the target is finite").term()
}

fn black_box_gradient_penalty(mut x: Vec<Tensor<1>>, dims: &[usize]) -> Tensor<1> {
    let x = x.remove(0);
    let (w, b, v) = weights(&x, dims[1]);
    let bias = b.reshape([1, WIDTH]);
    let f = |x: Tensor<2>| {
        let rows = x.dims()[0];
        let y = (x.matmul(w.clone()) + bias.clone()).tanh().matmul(v.clone());
        y.reshape([rows])
    };
    let x = x.reshape([dims[0], dims[1]]);
    let penalty = gradient_penalty_black_box(f, x, 0.25, Over::Sample, STEP);
    penalty.expect("the settings are fine").term()
}

/// Step of the black box's stencil: large enough for `f32`.
pub const STEP: f64 = 0.05;

fn plain_gradient_penalty(x: &[Vec<f64>], dims: &[usize], each: bool) -> Answer {
    let mut network = network();
    network.w.truncate(dims[1] * WIDTH);
    let answer = network.penalty(&x[0], dims[1], 0.25, each);
    Answer::one(answer.value, answer.gradients[0].clone())
}

macro_rules! case {
    ($name:literal, $inputs:expr, $shape:expr, $half:literal, |$x:ident, $d:ident| $tensors:expr, |$s:ident, $e:ident| $slices:expr) => {
        Case {
            name: $name,
            inputs: $inputs,
            shape: $shape,
            tensors: |$x, $d| $tensors,
            slices: |$s, $e| $slices,
            half: $half,
        }
    };
}

use Shape::{Columns, Cube, Flat, Rows};

/// Every penalty.
pub const CASES: &[Case] = &[
    case!("l1", ONE, Flat, true, |x, d| single(x, d, Penalty::L1), |x, _d| element::l1(&x[0])),
    case!(
        "l1 mean",
        ONE,
        Flat,
        false,
        |x, d| single(x, d, Penalty::L1 { reduce: Reduce::Mean }),
        |x, d| element::l1(&x[0]).times(1.0 / count(d))
    ),
    case!("l2", ONE, Flat, true, |x, d| single(x, d, Penalty::L2), |x, _d| element::l2(
        &x[0],
        element::Centre::At(0.0),
        None
    )),
    case!(
        "l2 about 0.25, clipped",
        ONE,
        Flat,
        true,
        |x, d| single(x, d, l2(Reduce::Sum, Centre::At(0.25), Some(0.7))),
        |x, _d| element::l2(&x[0], element::Centre::At(0.25), Some(0.7))
    ),
    case!(
        "l2 about the mean",
        ONE,
        Flat,
        true,
        |x, d| single(x, d, l2(Reduce::Sum, Centre::Mean, None)),
        |x, _d| element::l2(&x[0], element::Centre::Mean, None)
    ),
    case!(
        "l2 about the mean, clipped, mean",
        ONE,
        Flat,
        false,
        |x, d| single(x, d, l2(Reduce::Mean, Centre::Mean, Some(0.5))),
        |x, d| element::l2(&x[0], element::Centre::Mean, Some(0.5)).times(1.0 / count(d))
    ),
    case!(
        "elastic net",
        ONE,
        Flat,
        true,
        |x, d| single(x, d, Penalty::ElasticNet { reduce: Reduce::Sum, l1_ratio: 0.25 }),
        |x, _d| element::elastic_net(&x[0], 0.25)
    ),
    case!(
        "kl",
        LOGS,
        Rows(64),
        true,
        |x, d| paired(x, d, PairPenalty::Kl { direction: Direction::Forward, reduce: Reduce::Sum }),
        |x, _d| divergence::kl(&x[0], &x[1])
    ),
    case!(
        "kl reverse",
        LOGS,
        Rows(64),
        true,
        |x, d| paired(x, d, PairPenalty::Kl { direction: Direction::Reverse, reduce: Reduce::Sum }),
        |x, _d| {
            let mut answer = divergence::kl(&x[1], &x[0]);
            answer.gradients.swap(0, 1);
            answer
        }
    ),
    case!(
        "kl symmetric, mean",
        LOGS,
        Rows(64),
        false,
        |x, d| paired(
            x,
            d,
            PairPenalty::Kl { direction: Direction::Symmetric, reduce: Reduce::Mean }
        ),
        |x, d| divergence::symmetric(&x[0], &x[1]).times(1.0 / d[0] as f64)
    ),
    case!(
        "kl, many classes",
        LOGS,
        Columns(4),
        false,
        |x, d| paired(x, d, PairPenalty::Kl { direction: Direction::Forward, reduce: Reduce::Sum }),
        |x, _d| divergence::kl(&x[0], &x[1])
    ),
    case!(
        "js",
        LOGS,
        Rows(64),
        true,
        |x, d| paired(x, d, PairPenalty::Js { reduce: Reduce::Sum }),
        |x, _d| divergence::js(&x[0], &x[1])
    ),
    case!(
        "entropy bonus",
        LOG,
        Rows(64),
        true,
        |x, d| single(x, d, entropy(EntropyMode::Bonus, false, 1.0)),
        |x, d| divergence::entropy(&x[0], width(d), 1.0)
    ),
    case!(
        "entropy penalty at 2, normalised",
        LOG,
        Rows(64),
        true,
        |x, d| single(x, d, entropy(EntropyMode::Penalty, true, 2.0)),
        |x, d| {
            let k = width(d) as f64;
            divergence::entropy(&x[0], width(d), 2.0).times(if k > 1.0 {
                -1.0 / k.ln()
            } else {
                0.0
            })
        }
    ),
    case!(
        "entropy at 0.7",
        LOG,
        Rows(64),
        true,
        |x, d| single(x, d, entropy(EntropyMode::Bonus, false, 0.7)),
        |x, d| divergence::entropy(&x[0], width(d), 0.7)
    ),
    case!(
        "group lasso by rows",
        ONE,
        Rows(64),
        true,
        |x, d| single(x, d, Penalty::GroupLasso { axis: 0, size_weighted: false }),
        |x, d| structure::group_lasso(&x[0], d, 0, false)
    ),
    case!(
        "group lasso by columns, weighted",
        ONE,
        Rows(4),
        true,
        |x, d| single(x, d, Penalty::GroupLasso { axis: 1, size_weighted: true }),
        |x, d| structure::group_lasso(&x[0], d, 1, true)
    ),
    case!(
        "total variation",
        ONE,
        Cube,
        true,
        |x, d| single(x, d, Penalty::TotalVariation { axis: 1, reduce: Reduce::Sum }),
        |x, d| structure::total_variation(&x[0], d, 1)
    ),
    case!(
        "output magnitude, mean",
        ONE,
        Flat,
        false,
        |x, d| single(x, d, Penalty::OutputMagnitude { target: 2.0, reduce: Reduce::Mean }),
        |x, _d| structure::magnitude(&x[0], 2.0, true)
    ),
    case!(
        "output magnitude, sum",
        ONE,
        Flat,
        false,
        |x, d| single(x, d, Penalty::OutputMagnitude { target: 7.0, reduce: Reduce::Sum }),
        |x, _d| structure::magnitude(&x[0], 7.0, false)
    ),
    case!(
        "orthogonality soft",
        POSITIVE,
        Columns(16),
        false,
        |x, d| single(x, d, orthogonal(Orthogonality::Soft, true, RowsOf::Rows)),
        |x, d| structure::orthogonality(&x[0], width(d), structure::Mode::Soft, true)
    ),
    case!(
        "orthogonality hard",
        POSITIVE,
        Columns(16),
        false,
        |x, d| single(x, d, orthogonal(Orthogonality::Hard, false, RowsOf::Rows)),
        |x, d| structure::orthogonality(&x[0], width(d), structure::Mode::Hard, false)
    ),
    case!(
        "orthogonality spectral",
        POSITIVE,
        Columns(16),
        false,
        |x, d| single(x, d, orthogonal(Orthogonality::Spectral, false, RowsOf::Rows)),
        |x, d| structure::orthogonality(&x[0], width(d), structure::Mode::Spectral, false)
    ),
    case!(
        "orthogonality of a sequence",
        POSITIVE,
        Cube,
        false,
        |x, d| single(x, d, orthogonal(Orthogonality::Soft, true, RowsOf::Sequence)),
        |x, d| reordered(&x[0], d, 1, structure::Mode::Soft)
    ),
    case!(
        "consistency mse",
        TWO,
        Flat,
        true,
        |x, d| paired(x, d, PairPenalty::Consistency { metric: Metric::Mse, reduce: Reduce::Sum }),
        |x, _d| divergence::squared_difference(&x[0], &x[1])
    ),
    case!(
        "consistency l1",
        TWO,
        Flat,
        true,
        |x, d| paired(x, d, PairPenalty::Consistency { metric: Metric::L1, reduce: Reduce::Sum }),
        |x, _d| divergence::absolute_difference(&x[0], &x[1])
    ),
    case!(
        "consistency cosine",
        TWO,
        Flat,
        false,
        |x, d| paired(
            x,
            d,
            PairPenalty::Consistency { metric: Metric::Cosine, reduce: Reduce::Mean }
        ),
        |x, _d| divergence::cosine_distance(&x[0], &x[1])
    ),
    case!(
        "consistency kl",
        LOGS,
        Rows(64),
        true,
        |x, d| paired(x, d, PairPenalty::Consistency { metric: Metric::Kl, reduce: Reduce::Sum }),
        |x, _d| divergence::symmetric(&x[0], &x[1])
    ),
    case!(
        "spectral norm",
        POSITIVE,
        Rows(16),
        false,
        |x, d| single(x, d, Penalty::SpectralNorm),
        |x, d| spectrum::spectral_norm(&x[0], width(d))
    ),
    case!(
        "nuclear norm",
        ONE,
        Rows(16),
        true,
        |x, d| single(x, d, Penalty::NuclearNorm),
        |x, d| spectrum::nuclear_norm(&x[0], width(d))
    ),
    case!(
        "gradient penalty",
        ONE,
        Rows(8),
        false,
        |x, d| exact_gradient_penalty(x, d, Over::Whole),
        |x, d| plain_gradient_penalty(x, d, false)
    ),
    case!(
        "gradient penalty, each sample",
        ONE,
        Rows(8),
        false,
        |x, d| exact_gradient_penalty(x, d, Over::Sample),
        |x, d| plain_gradient_penalty(x, d, true)
    ),
    case!(
        "gradient penalty, black box",
        ONE,
        Rows(8),
        false,
        |x, d| black_box_gradient_penalty(x, d),
        |x, d| plain_gradient_penalty(x, d, true)
    ),
];

/// Every proximal operator and projection.
pub const MAPS: &[Map] = &[
    Map {
        name: "soft threshold",
        shape: Flat,
        largest: usize::MAX,
        tensors: |x, _| project::soft_threshold(x, 0.3),
        slices: |x, _| proximal::soft_threshold(x, 0.3),
    },
    Map {
        name: "shrink",
        shape: Flat,
        largest: usize::MAX,
        tensors: |x, _| project::shrink(x, 0.25, 0.3),
        slices: |x, _| proximal::shrink(x, 0.25, 0.3),
    },
    Map {
        name: "elastic net",
        shape: Flat,
        largest: usize::MAX,
        tensors: |x, _| {
            let penalty = Penalty::ElasticNet { reduce: Reduce::Sum, l1_ratio: 0.25 };
            penalty.prox(x, 0.3).expect("it has a proximal step")
        },
        slices: |x, _| proximal::elastic_net(x, 0.25, 0.3),
    },
    Map {
        name: "block soft threshold",
        shape: Rows(16),
        largest: usize::MAX,
        tensors: |x, d| project::block_soft_threshold(x.reshape([d[0], d[1]]), 2.0).reshape([-1]),
        slices: |x, d| proximal::block_soft_threshold(x, d[1], 2.0),
    },
    Map {
        name: "max norm",
        shape: Rows(16),
        largest: usize::MAX,
        tensors: |x, d| project::max_norm(x.reshape([d[0], d[1]]), 2.0).reshape([-1]),
        slices: |x, d| proximal::max_norm(x, d[1], 2.0),
    },
    Map {
        name: "simplex",
        shape: Rows(16),
        largest: usize::MAX,
        tensors: |x, d| project::simplex(x.reshape([d[0], d[1]])).reshape([-1]),
        slices: |x, d| proximal::simplex(x, d[1]),
    },
    Map {
        name: "nuclear",
        shape: Rows(16),
        largest: 1 << 14,
        tensors: |x, d| project::nuclear(x.reshape([d[0], d[1]]), 0.5).reshape([-1]),
        slices: |x, d| proximal::nuclear(x, d[1], 0.5),
    },
];
