//! GRU and LSTM: inputs of all frames -> states of all frames, each window from zero.
//!
//! Rows are frame by frame. One product takes the inputs of all frames; the states follow one after
//! the other.

use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, activation::sigmoid};

use super::build::{Affine, Build, split_frames};
use super::host::{Cell, Recurrent, Slopes};

/// A weight without a bias.
#[derive(Module, Debug)]
pub(crate) struct Weight {
    /// `[inputs, outputs]`.
    pub(crate) weight: Param<Tensor<2>>,
}

/// Gated recurrent units with the gates $r, z, n$:
/// $n = \tanh(x W_n + b_n + r\,(h U_n + c_n))$, $h' = (1 - z)\,n + z\,h$.
#[derive(Module, Debug)]
pub(crate) struct Gru {
    input: Affine,
    recurrent: Affine,
}

/// Long short-term memory with the gates $i, f, g, o$: $c' = f c + i g$, $h' = o\tanh c'$.
#[derive(Module, Debug)]
pub(crate) struct Lstm {
    input: Affine,
    recurrent: Weight,
}

fn gate(x: &Tensor<2>, number: usize, hidden: usize) -> Tensor<2> {
    x.clone().narrow(1, number * hidden, hidden)
}

impl Gru {
    pub(crate) fn new(build: &mut Build<'_>, inputs: usize, hidden: usize) -> Self {
        let input = build.affine(inputs, 3 * hidden);
        Self { input, recurrent: build.affine(hidden, 3 * hidden) }
    }

    /// The inputs of all gates, and the recurrent part for the host.
    pub(super) fn on_host(&self, x: Tensor<2>) -> (Tensor<2>, Recurrent) {
        let Affine { weight, bias } = &self.recurrent;
        let (weight, bias) = (weight.val().inner(), Some(bias.val().inner()));
        (self.input.forward(x), Recurrent { cell: Cell::Gru, weight, bias })
    }

    /// Puts what the host found where an optimiser looks for it.
    pub(super) fn register(&self, slopes: Slopes, gradients: &mut GradientsParams) {
        gradients.register(self.recurrent.weight.id, slopes.weight);
        if let Some(bias) = slopes.bias {
            gradients.register(self.recurrent.bias.id, bias);
        }
    }

    pub(crate) fn forward(&self, x: Tensor<2>, frames: usize) -> Tensor<2> {
        let hidden = self.recurrent.bias.dims()[0] / 3;
        let inputs = split_frames(self.input.forward(x), frames);
        let (weight, bias) = (self.recurrent.weight.val(), self.recurrent.bias.val());
        let bias: Tensor<2> = bias.unsqueeze();
        let mut states: Vec<Tensor<2>> = Vec::with_capacity(frames);
        for input in inputs {
            let recurrent = match states.last() {
                Some(h) => h.clone().matmul(weight.clone()) + bias.clone(),
                None => bias.clone().repeat_dim(0, input.dims()[0]),
            };
            let gates = sigmoid(
                input.clone().narrow(1, 0, 2 * hidden) + recurrent.clone().narrow(1, 0, 2 * hidden),
            );
            let (r, z) = (gate(&gates, 0, hidden), gate(&gates, 1, hidden));
            let n = (gate(&input, 2, hidden) + r * gate(&recurrent, 2, hidden)).tanh();
            // (1 - z) n + z h
            let h = match states.last() {
                Some(h) => n.clone() + z * (h.clone() - n),
                None => n.clone() - z * n,
            };
            states.push(h);
        }
        Tensor::cat(states, 0)
    }
}

impl Lstm {
    pub(crate) fn new(build: &mut Build<'_>, inputs: usize, hidden: usize) -> Self {
        let input = build.affine(inputs, 4 * hidden);
        Self { input, recurrent: Weight { weight: build.weight(hidden, 4 * hidden) } }
    }

    /// The inputs of all gates, and the recurrent part for the host.
    pub(super) fn on_host(&self, x: Tensor<2>) -> (Tensor<2>, Recurrent) {
        let weight = self.recurrent.weight.val().inner();
        (self.input.forward(x), Recurrent { cell: Cell::Lstm, weight, bias: None })
    }

    /// Puts what the host found where an optimiser looks for it.
    pub(super) fn register(&self, slopes: Slopes, gradients: &mut GradientsParams) {
        gradients.register(self.recurrent.weight.id, slopes.weight);
    }

    pub(crate) fn forward(&self, x: Tensor<2>, frames: usize) -> Tensor<2> {
        let weight = self.recurrent.weight.val();
        let hidden = weight.dims()[0];
        let inputs = split_frames(self.input.forward(x), frames);
        let mut memory: Option<Tensor<2>> = None;
        let mut states: Vec<Tensor<2>> = Vec::with_capacity(frames);
        for input in inputs {
            let gates = match states.last() {
                Some(h) => input + h.clone().matmul(weight.clone()),
                None => input,
            };
            let first = sigmoid(gates.clone().narrow(1, 0, 2 * hidden));
            let (i, f) = (gate(&first, 0, hidden), gate(&first, 1, hidden));
            let g = gate(&gates, 2, hidden).tanh();
            let o = sigmoid(gate(&gates, 3, hidden));
            let c = match memory {
                Some(c) => f * c + i * g,
                None => i * g,
            };
            states.push(o * c.clone().tanh());
            memory = Some(c);
        }
        Tensor::cat(states, 0)
    }
}
