//! A seed and sizes -> parameters with fixed identities and initial values.
//!
//! Values come from our own numbers in the order of construction, so a network of the same
//! architecture and seed begins with equal bits on every device. Identities count from 1, so the
//! optimiser's state of one process fits the network of another.

use burn::module::{Module, Param, ParamId};
use burn::tensor::{DType, Device, Tensor, TensorData, activation::relu};

use crate::random::Random;

/// Makes parameters.
#[derive(Debug)]
pub(crate) struct Build<'a> {
    random: Random,
    device: &'a Device,
    dtype: DType,
    made: u64,
}

impl<'a> Build<'a> {
    pub(crate) fn new(seed: u64, device: &'a Device, dtype: DType) -> Self {
        Self { random: Random::new(seed ^ 0x706f_6c69_6379), device, dtype, made: 0 }
    }

    /// A parameter of these values.
    pub(crate) fn values<const D: usize>(
        &mut self,
        values: Vec<f32>,
        dims: [usize; D],
    ) -> Param<Tensor<D>> {
        self.made += 1;
        let tensor = Tensor::from_data(TensorData::new(values, dims), (self.device, self.dtype));
        Param::initialized(ParamId::from(self.made), tensor).set_require_grad(true)
    }

    /// Values uniform in [-bound, bound).
    pub(crate) fn uniform<const D: usize>(
        &mut self,
        dims: [usize; D],
        bound: f64,
    ) -> Param<Tensor<D>> {
        let count = dims.iter().product();
        let random = &mut self.random;
        let values = (0..count).map(|_| (bound * (2.0 * random.uniform() - 1.0)) as f32).collect();
        self.values(values, dims)
    }

    /// One value for all.
    pub(crate) fn constant<const D: usize>(
        &mut self,
        dims: [usize; D],
        value: f32,
    ) -> Param<Tensor<D>> {
        self.values(vec![value; dims.iter().product()], dims)
    }

    /// Weights uniform within $1/\sqrt{\text{inputs}}$.
    pub(crate) fn weight(&mut self, inputs: usize, outputs: usize) -> Param<Tensor<2>> {
        self.uniform([inputs, outputs], 1.0 / (inputs.max(1) as f64).sqrt())
    }

    /// An affine map whose bias begins at 0.
    pub(crate) fn affine(&mut self, inputs: usize, outputs: usize) -> Affine {
        Affine { weight: self.weight(inputs, outputs), bias: self.constant([outputs], 0.0) }
    }

    /// A normalisation that begins as one.
    pub(crate) fn norm(&mut self, width: usize) -> Norm {
        Norm { scale: self.constant([width], 1.0), shift: self.constant([width], 0.0) }
    }
}

/// $xW + b$.
#[derive(Module, Debug)]
pub(crate) struct Affine {
    /// `[inputs, outputs]`.
    pub(crate) weight: Param<Tensor<2>>,
    /// `[outputs]`.
    pub(crate) bias: Param<Tensor<1>>,
}

impl Affine {
    pub(crate) fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        x.matmul(self.weight.val()) + self.bias.val().unsqueeze()
    }

    pub(crate) fn relu(&self, x: Tensor<2>) -> Tensor<2> {
        relu(self.forward(x))
    }
}

/// Layer normalisation over the last axis.
#[derive(Module, Debug)]
pub(crate) struct Norm {
    /// `[width]`.
    pub(crate) scale: Param<Tensor<1>>,
    /// `[width]`.
    pub(crate) shift: Param<Tensor<1>>,
}

/// Added to variances.
pub(crate) const NORM_EPSILON: f64 = 1e-5;

impl Norm {
    pub(crate) fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let away = x.clone() - x.mean_dim(1);
        let variance = (away.clone() * away.clone()).mean_dim(1);
        let unit = away * variance.add_scalar(NORM_EPSILON).sqrt().recip();
        unit * self.scale.val().unsqueeze() + self.shift.val().unsqueeze()
    }
}

/// The rows of each frame, `count` of them.
///
/// It halves again and again, because the gradient of a slice is as large as what it was taken
/// from: `count` slices of the whole would cost the square of what this does.
pub(crate) fn split_frames(x: Tensor<2>, count: usize) -> Vec<Tensor<2>> {
    if count == 1 {
        return vec![x];
    }
    let rows = x.dims()[0] / count;
    let half = count / 2;
    let first = x.clone().narrow(0, 0, half * rows);
    let last = x.narrow(0, half * rows, (count - half) * rows);
    let mut frames = split_frames(first, half);
    frames.extend(split_frames(last, count - half));
    frames
}
