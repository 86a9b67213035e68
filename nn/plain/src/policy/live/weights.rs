//! A checkpoint's tensors -> the numbers of the live pass, by what is in front of their names.

use super::super::checkpoint::Checkpoint;
use super::kernels::{self, Instructions, Weight};
use super::real::Real;

/// Reads tensors.
pub(super) struct Source<'a> {
    pub(super) checkpoint: &'a Checkpoint,
    pub(super) instructions: Instructions,
}

impl Source<'_> {
    pub(super) fn values<R: Real>(&self, name: &str) -> Vec<R> {
        self.checkpoint.values(name).iter().map(|value| R::of(*value)).collect()
    }

    /// Without a bias when there is none.
    pub(super) fn affine<R: Real>(&self, name: &str) -> Affine<R> {
        let bias = self.values(&format!("{name}.bias"));
        let name = format!("{name}.weight");
        let mut tensors = self.checkpoint.tensors();
        let found = tensors.find(|(other, _)| *other == name);
        let columns = found.and_then(|(_, tensor)| tensor.shape.last().copied());
        let weight = Weight::new(&self.values(&name), columns.unwrap_or_default().max(1));
        Affine { weight, bias, instructions: self.instructions }
    }

    pub(super) fn norm<R: Real>(&self, name: &str) -> Norm<R> {
        let scale = self.values(&format!("{name}.scale"));
        Norm { scale, shift: self.values(&format!("{name}.shift")) }
    }
}

/// $xW + b$.
#[derive(Clone, Debug)]
pub(super) struct Affine<R> {
    weight: Weight<R>,
    bias: Vec<R>,
    instructions: Instructions,
}

impl<R: Real> Affine<R> {
    /// Into `y`.
    pub(super) fn apply(&mut self, x: &[R], y: &mut [R]) {
        if self.bias.is_empty() {
            y.fill(R::default());
        } else {
            y.copy_from_slice(&self.bias);
        }
        self.add(x, y);
    }

    /// $y \leftarrow y + xW$.
    pub(super) fn add(&mut self, x: &[R], y: &mut [R]) {
        self.weight.add_product(self.instructions, x, y);
    }
}

/// Layer normalisation.
#[derive(Clone, Debug)]
pub(super) struct Norm<R> {
    scale: Vec<R>,
    shift: Vec<R>,
}

impl<R: Real> Norm<R> {
    pub(super) fn apply(&self, x: &[R], y: &mut [R]) {
        kernels::norm(x, &self.scale, &self.shift, y);
    }
}
