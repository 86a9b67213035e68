//! Selective scan: a linear recurrence whose decay, input and output depend on the frame.
//!
//! A layer is $x \leftarrow x + W_o\,(y \operatorname{silu}(z))$ with
//! $[u, z] = W_i\operatorname{norm} x$. A convolution over the last frames and
//! $\operatorname{silu}$ turn $u$ into $v$; from it come $[s, B, C] = W_s v$ and
//! $\Delta = \operatorname{softplus}(W_\Delta s + b_\Delta)$. Then, for each channel,
//! $h \leftarrow e^{-\Delta e^a} h + \Delta v B$ and $y = C \cdot h + D v$.

use burn::module::{Module, Param};
use burn::tensor::{
    Tensor,
    activation::{silu, softplus},
};

use super::build::{Affine, Build, Norm, split_frames};
use super::recurrent::Weight;

/// The convolution of each channel with its own last frames.
#[derive(Module, Debug)]
pub(crate) struct Convolution {
    /// `[frames, channels]`, the present frame's weights last.
    weight: Param<Tensor<2>>,
    /// `[channels]`.
    bias: Param<Tensor<1>>,
}

/// One layer.
#[derive(Module, Debug)]
pub(crate) struct Scan {
    norm: Norm,
    input: Weight,
    convolution: Convolution,
    selection: Weight,
    step: Affine,
    /// `[channels, state]`.
    log_decay: Param<Tensor<2>>,
    /// `[channels]`.
    skip: Param<Tensor<1>>,
    output: Weight,
}

/// Sizes of a layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanSizes {
    pub(crate) hidden: usize,
    pub(crate) state: usize,
    pub(crate) inner: usize,
    pub(crate) convolution: usize,
    pub(crate) rank: usize,
}

impl Scan {
    pub(crate) fn new(build: &mut Build<'_>, sizes: ScanSizes) -> Self {
        let ScanSizes { hidden, state, inner, convolution, rank } = sizes;
        let norm = build.norm(hidden);
        let input = Weight { weight: build.weight(hidden, 2 * inner) };
        let bound = 1.0 / (convolution as f64).sqrt();
        let convolution = Convolution {
            weight: build.uniform([convolution, inner], bound),
            bias: build.constant([inner], 0.0),
        };
        let selection = Weight { weight: build.weight(inner, rank + 2 * state) };
        // Steps begin between 0.001 and 0.1, evenly on a logarithmic scale over the channels; the
        // bias is the inverse of softplus there (Gu and Dao 2023, section 3.6).
        let share = |k: usize| k as f64 / (inner.max(2) - 1) as f64;
        let steps = (0..inner).map(|k| 0.001 * 100.0_f64.powf(share(k)));
        let bias = steps.map(|step| step.exp_m1().ln() as f32).collect();
        let step = Affine { weight: build.weight(rank, inner), bias: build.values(bias, [inner]) };
        // Decays 1, 2, ... (S4D-Real).
        let decay = (0..inner * state).map(|k| ((k % state + 1) as f64).ln() as f32).collect();
        let log_decay = build.values(decay, [inner, state]);
        let skip = build.constant([inner], 1.0);
        let output = Weight { weight: build.weight(inner, hidden) };
        Self { norm, input, convolution, selection, step, log_decay, skip, output }
    }

    pub(crate) fn forward(&self, x: Tensor<2>, frames: usize) -> Tensor<2> {
        let [inner, state] = self.log_decay.dims();
        let both = self.norm.forward(x.clone()).matmul(self.input.weight.val());
        let (u, z) = (both.clone().narrow(1, 0, inner), both.narrow(1, inner, inner));
        let v = silu(self.convolve(u, frames));
        let selected = v.clone().matmul(self.selection.weight.val());
        let rank = selected.dims()[1] - 2 * state;
        let step = softplus(self.step.forward(selected.clone().narrow(1, 0, rank)), 1.0);
        let scanned = self.scan(
            &v,
            step,
            selected.clone().narrow(1, rank, state),
            selected.narrow(1, rank + state, state),
            frames,
        );
        let y = scanned + v * self.skip.val().unsqueeze();
        x + (y * silu(z)).matmul(self.output.weight.val())
    }

    fn convolve(&self, u: Tensor<2>, frames: usize) -> Tensor<2> {
        let [rows, inner] = u.dims();
        let taps = self.convolution.weight.dims()[0];
        let windows = rows / frames;
        let mut sum = Tensor::zeros_like(&u) + self.convolution.bias.val().unsqueeze();
        for tap in 0..taps.min(frames) {
            // The frame that lies `tap` frames before the present one; zeros before the window.
            let weight = self.convolution.weight.val().narrow(0, taps - 1 - tap, 1);
            let moved = match tap {
                0 => u.clone(),
                _ => {
                    let before = u.clone().narrow(0, 0, rows - tap * windows);
                    let none = Tensor::zeros_like(&u).narrow(0, 0, tap * windows);
                    Tensor::cat(vec![none, before], 0)
                }
            };
            sum = sum + moved * weight.expand([rows, inner]);
        }
        sum
    }

    fn scan(
        &self,
        v: &Tensor<2>,
        step: Tensor<2>,
        input: Tensor<2>,
        output: Tensor<2>,
        frames: usize,
    ) -> Tensor<2> {
        let [inner, state] = self.log_decay.dims();
        let windows = v.dims()[0] / frames;
        let decay: Tensor<3> = self.log_decay.val().exp().neg().unsqueeze();
        let gained = split_frames(step.clone() * v.clone(), frames);
        let steps = split_frames(step, frames);
        let inputs = split_frames(input, frames);
        let outputs = split_frames(output, frames);
        let mut h: Option<Tensor<3>> = None;
        let mut all = Vec::with_capacity(frames);
        for (((gained, step), input), output) in
            gained.into_iter().zip(steps).zip(inputs).zip(outputs)
        {
            let gained: Tensor<3> = gained.reshape([windows, inner, 1]);
            let gained = gained * input.reshape([windows, 1, state]);
            let now = match h {
                Some(h) => {
                    let step: Tensor<3> = step.reshape([windows, inner, 1]);
                    (step * decay.clone()).exp() * h + gained
                }
                None => gained,
            };
            let output: Tensor<3> = output.reshape([windows, state, 1]);
            all.push(now.clone().matmul(output).reshape([windows, inner]));
            h = Some(now);
        }
        Tensor::cat(all, 0)
    }
}
