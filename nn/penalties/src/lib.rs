//! Regularisation penalties for [Burn](burn) that give the same numbers on every backend.
//!
//! Three layers, each usable alone:
//!
//! 1. **Functions** of tensors of any rank: [`l1`], [`l2`], [`elastic_net`], [`kl`], [`js`],
//!    [`entropy`], [`orthogonality`], [`consistency`], [`group_lasso`], [`spectral_norm`],
//!    [`nuclear_norm`], [`total_variation`], [`output_magnitude`], [`gradient_penalty`] and what
//!    belongs to them.
//! 2. **Data**: a [`Penalty`] is a name with settings that files can hold; a [`Recipe`] says which
//!    acts on which parameters or outputs, how strongly ([`Schedule`]) and how ([`Act`]).
//! 3. **Three ways to act**: as a term of the loss, as a decay of gradients without a graph, and as
//!    a proximal step with exact zeros; beside them gradient [`Transforms`] and a moving
//!    [`Average`].
//!
//! Nothing here asks which backend it runs on. Sums go in blocks, `f16` and `bf16` are summed in
//! `f32`, masks come before what they protect and after it, and no tracked tensor is divided by a
//! scalar (Burn 0.22 differentiates that with an `f32` reciprocal).
//!
//! ```
//! use burn::module::{Module, ParamGroup};
//! use burn::nn::LinearConfig;
//! use burn::optim::{GradientsParams, SgdConfig};
//! use burn::tensor::{Device, Distribution, Tensor};
//! use penalties::{Act, Line, Outputs, Penalty, Recipe};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::default().autodiff();
//! let mut model = LinearConfig::new(8, 4).init(&device);
//! let weights = ParamGroup::from_path("weight");
//! let recipe = Recipe::new([
//!     Line::parameters("decay", 1e-4, Penalty::L2, weights.clone()).act(Act::Decay),
//!     Line::parameters("small", 0.1, Penalty::SpectralNorm, weights.clone()),
//!     Line::parameters("sparse", 0.5, Penalty::L1, weights).act(Act::Prox),
//! ]);
//! recipe.check(&model)?;
//! let mut optimiser = SgdConfig::new().init();
//! for step in 0..3 {
//!     let x = Tensor::<2>::random([16, 8], Distribution::Default, &device);
//!     let loss = model.forward(x).powi_scalar(2).mean();
//!     let loss = loss + recipe.evaluate(&model, &Outputs::new(), step)?.total;
//!     let gradients = GradientsParams::from_grads(loss.backward(), &model);
//!     let gradients = recipe.transform(&model, gradients, step)?;
//!     model = recipe.project(optimiser.step(0.1, model, gradients), 0.1, step)?;
//! }
//! # Ok(())
//! # }
//! ```

mod act;
mod average;
mod consistency;
mod divergence;
mod dual;
mod error;
mod evaluate;
#[doc(hidden)]
pub mod fault;
mod gradient;
mod parameters;
mod penalty;
mod pipeline;
mod primitive;
mod prior;
pub mod project;
mod random;
mod recipe;
mod reduce;
mod schedule;
mod spectrum;
mod structure;
#[cfg(feature = "train")]
mod train;
mod transform;

pub use average::Average;
pub use consistency::{Metric, consistency};
pub use divergence::{Direction, EntropyMode, entropy, js, kl};
pub use dual::Dual;
pub use error::Error;
pub use evaluate::{Evaluation, Outputs, Row};
pub use gradient::{
    GradientPenalty, Over, derivative_along, gradient_penalty, gradient_penalty_black_box,
    interpolated, interpolated_gradient_penalty,
};
pub use penalty::{Custom, PairPenalty, Penalty};
pub use pipeline::{Pairs, Pipeline, Validity, validate};
pub use primitive::{Centre, elastic_net, l1, l2};
pub use prior::Prior;
pub use recipe::{Act, Line, Recipe, Term};
pub use reduce::{Reduce, RowReduce, wide};
pub use schedule::Schedule;
pub use spectrum::{nuclear_norm, spectral_norm};
pub use structure::{
    Orthogonality, RowsOf, group_lasso, orthogonality, output_magnitude, total_variation,
};
#[cfg(feature = "train")]
pub use train::{PenaltyInput, PenaltyMetric};
pub use transform::{Transform, Transforms};
