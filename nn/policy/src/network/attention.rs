//! Windowed attention: each frame sees itself and the frames before it, up to a window.
//!
//! A layer is $x \leftarrow x + \operatorname{attention}(\operatorname{norm}_1 x)$ and
//! $x \leftarrow x + f(\operatorname{norm}_2 x)$ with
//! $f = \operatorname{down} \circ \operatorname{relu} \circ \operatorname{up}$.
//! The score of a frame and one that lies $d$ frames before it is $q \cdot k / \sqrt{w} + b_d$ with
//! a learned $b$ for each head, so only distances count and play can go on without an end.

use burn::module::{Module, Param};
use burn::tensor::{Bool, Device, Int, Tensor, TensorData, activation::softmax};

use super::build::{Affine, Build, Norm};

/// What a masked score is.
const MASKED: f64 = -1e9;

/// One layer.
#[derive(Module, Debug)]
pub(crate) struct Attention {
    norm_1: Norm,
    query_key_value: Affine,
    /// `[heads, window]`.
    distance: Param<Tensor<2>>,
    output: Affine,
    norm_2: Norm,
    up: Affine,
    down: Affine,
}

impl Attention {
    pub(crate) fn new(
        build: &mut Build<'_>,
        hidden: usize,
        heads: usize,
        window: usize,
        feed_forward: usize,
    ) -> Self {
        Self {
            norm_1: build.norm(hidden),
            query_key_value: build.affine(hidden, 3 * hidden),
            distance: build.constant([heads, window], 0.0),
            output: build.affine(hidden, hidden),
            norm_2: build.norm(hidden),
            up: build.affine(hidden, feed_forward),
            down: build.affine(feed_forward, hidden),
        }
    }

    pub(crate) fn forward(&self, x: Tensor<2>, frames: usize) -> Tensor<2> {
        let seen = self.attend(self.norm_1.forward(x.clone()), frames);
        let x = x + self.output.forward(seen);
        let up = self.up.relu(self.norm_2.forward(x.clone()));
        x + self.down.forward(up)
    }

    fn attend(&self, x: Tensor<2>, frames: usize) -> Tensor<2> {
        let [rows, hidden] = x.dims();
        let [heads, window] = self.distance.dims();
        let (windows, width) = (rows / frames, hidden / heads);
        let all = self.query_key_value.forward(x);
        // [frames, windows, heads, width] -> [windows, heads, frames, width]
        let part = |k: usize| {
            let part = all.clone().narrow(1, k * hidden, hidden);
            part.reshape([frames, windows, heads, width]).permute([1, 2, 0, 3])
        };
        let query = part(0).mul_scalar(1.0 / (width as f64).sqrt());
        let scores = query.matmul(part(1).swap_dims(2, 3));
        let (distances, mask) = distances(frames, window, &x_device(&all));
        let bias = self.distance.val().select(1, distances).reshape([1, heads, frames, frames]);
        let mask = mask.expand([windows, heads, frames, frames]);
        let scores = (scores + bias).mask_fill(mask, MASKED);
        let seen = softmax(scores, 3).matmul(part(2));
        seen.permute([2, 0, 1, 3]).reshape([rows, hidden])
    }
}

fn x_device(x: &Tensor<2>) -> Device {
    x.device()
}

/// For each pair of frames how far the second lies before the first, within the window, and whether
/// the first must not see the second.
fn distances(frames: usize, window: usize, device: &Device) -> (Tensor<1, Int>, Tensor<4, Bool>) {
    let pairs = (0..frames).flat_map(|query| (0..frames).map(move |key| (query, key)));
    let (mut distances, mut mask) = (Vec::new(), Vec::new());
    for (query, key) in pairs {
        distances.push(query.saturating_sub(key).min(window - 1) as i32);
        mask.push(key > query || query - key >= window);
    }
    let distances = Tensor::from_data(TensorData::new(distances, [frames * frames]), device);
    let mask = Tensor::from_data(TensorData::new(mask, [1, 1, frames, frames]), device);
    (distances, mask)
}
