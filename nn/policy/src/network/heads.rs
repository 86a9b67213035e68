//! The trunk's output of each frame -> logits of the 13 components.
//!
//! Autoregressive heads keep a residual $r$, which begins as an affine map of the trunk. Component
//! after component has the logits $O_c\operatorname{relu}(r) + o_c$, and then its true class $y_c$
//! (in play: the class that was drawn) changes the residual: $r \leftarrow r + E_c[y_c]$.
//! Independent heads leave the residual as it is.

use burn::module::{Module, Param};
use burn::tensor::{Int, Tensor, activation::relu};

use super::build::{Affine, Build};

/// Heads of all components.
#[derive(Module, Debug)]
pub(crate) struct Heads {
    pub(crate) input: Affine,
    pub(crate) output: Vec<Affine>,
    /// `[classes, residual]` for each component but the last; none of independent heads.
    pub(crate) embedding: Vec<Param<Tensor<2>>>,
}

impl Heads {
    pub(crate) fn new(
        build: &mut Build<'_>,
        trunk: usize,
        residual: usize,
        classes: &[usize],
        is_autoregressive: bool,
    ) -> Self {
        let input = build.affine(trunk, residual);
        let output = classes.iter().map(|classes| build.affine(residual, *classes)).collect();
        let conditions = if is_autoregressive { classes.len() - 1 } else { 0 };
        let bound = 1.0 / (residual as f64).sqrt();
        let embedding = classes[..conditions].iter();
        let embedding = embedding.map(|c| build.uniform([*c, residual], bound)).collect();
        Self { input, output, embedding }
    }

    pub(crate) fn forward(&self, trunk: Tensor<2>, targets: &[Tensor<2, Int>]) -> Vec<Tensor<2>> {
        let mut residual = self.input.forward(trunk);
        let mut logits = Vec::with_capacity(self.output.len());
        for (component, output) in self.output.iter().enumerate() {
            logits.push(output.forward(relu(residual.clone())));
            if let Some(embedding) = self.embedding.get(component) {
                let classes = targets[component].clone().squeeze_dim(1);
                residual = residual + embedding.val().select(0, classes);
            }
        }
        logits
    }
}
