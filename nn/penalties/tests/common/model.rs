//! Small models of the tests.

use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{DType, Device, Tensor, TensorData};

/// One matrix of parameters, `[rows, columns]`.
#[derive(Module, Debug)]
pub struct Weights {
    /// The matrix.
    pub beta: Param<Tensor<2>>,
}

impl Weights {
    pub fn new(values: &[f64], shape: [usize; 2], device: &Device) -> Self {
        let data = TensorData::new(values.to_vec(), shape);
        let value = Tensor::from_data(data, (device, DType::F64));
        Self { beta: Param::from_tensor(value) }
    }

    pub fn values(&self) -> Vec<f64> {
        super::read(self.beta.val().inner())
    }
}

/// Two vectors, for norms over several tensors.
#[derive(Module, Debug)]
pub struct Two {
    pub first: Param<Tensor<1>>,
    pub second: Param<Tensor<1>>,
}

impl Two {
    pub fn new(first: &[f64], second: &[f64], device: &Device) -> Self {
        let make = |v: &[f64]| {
            let data = TensorData::new(v.to_vec(), [v.len()]);
            Param::from_tensor(Tensor::from_data(data, (device, DType::F64)))
        };
        Self { first: make(first), second: make(second) }
    }

    pub fn values(&self) -> [Vec<f64>; 2] {
        [super::read(self.first.val().inner()), super::read(self.second.val().inner())]
    }
}

/// Two layers with paths `encoder.weight`, `encoder.bias`, `heads.0.weight`, ...
#[derive(Module, Debug)]
pub struct Layers {
    pub encoder: Linear,
    pub heads: Vec<Linear>,
}

impl Layers {
    pub fn new(device: &Device) -> Self {
        Self {
            encoder: LinearConfig::new(4, 6).init(device),
            heads: (0..2).map(|_| LinearConfig::new(6, 3).init(device)).collect(),
        }
    }

    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let hidden = self.encoder.forward(x).tanh();
        self.heads[0].forward(hidden.clone()) + self.heads[1].forward(hidden)
    }
}
