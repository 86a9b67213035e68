//! Gradient penalties: a function and its input -> $(\lVert\nabla f\rVert - t)^2$ and a surrogate
//! to train with.
//!
//! Burn differentiates once. With $n = \lVert\nabla f(x)\rVert$ and $d = \nabla f(x)/n$ held
//! constant, the gradient of $(n - t)^2$ with respect to the parameters and to $x$ is that of the
//! surrogate $2(n - t)\, D_d f(x)$, where $D_d f$ is the derivative of $f$ along $d$: because
//! $\partial n = d\cdot\partial\nabla f$ and $n$'s change through $d$ vanishes. One derivative
//! along a direction costs one pass over [`Dual`], or four passes of any other function.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::dual::Dual;
use crate::error::Error;
use crate::fault;
use crate::primitive::flatten;
use crate::random::Random;
use crate::reduce::{constant, norm_rows, sum, wide};

/// What the norm of a gradient is taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// The whole input, the default: one norm.
    #[default]
    Whole,
    /// Each index of the first axis; the penalty is the mean over them, as in WGAN-GP. The function
    /// must not mix samples.
    Sample,
}

/// A gradient penalty: what it is and what to differentiate.
#[derive(Clone, Debug)]
pub struct GradientPenalty {
    /// $(n - t)^2$, or its mean over samples, without a graph.
    pub value: Tensor<1>,
    /// A tensor whose gradient is the penalty's. Its own value means nothing.
    pub surrogate: Tensor<1>,
    /// The norms $n$, without a graph: `[1]`, or `[batch]`.
    pub norms: Tensor<1>,
}

impl GradientPenalty {
    /// The penalty's value with the penalty's gradient, to be added to a loss.
    pub fn term(&self) -> Tensor<1> {
        self.surrogate.clone() - self.surrogate.clone().detach()
            + lift(self.value.clone(), &self.surrogate)
    }
}

/// The exact gradient penalty of a function written over [`Dual`].
///
/// `f` maps `[batch, ...]` to one number a sample, or to one for all; their sum is differentiated.
/// It is called twice, and the first call's graph is used up: so `f` must make what it uses from
/// the parameters itself, and not capture what was computed from them before. **Shapes**: any `x`
/// to `[1]`. **Gradient**: exact, with respect to `x` (if it is tracked) and to everything `f`
/// uses; where $\nabla f = 0$ the direction is 0 and so is the gradient. **Cost**: one backward
/// pass and one forward pass of `f` with tangents, on top of the step. **Errors**: a target that is
/// not a finite number. **Reference**: Gulrajani et al. 2017; surrogate: Pearlmutter 1994.
pub fn gradient_penalty<const D: usize>(
    f: impl Fn(Dual<D>) -> Dual<1>,
    x: Tensor<D>,
    target: f64,
    over: Over,
) -> Result<GradientPenalty, Error> {
    let slope = Slope::at(|x| f(Dual::constant(x)).p, &x, target, over)?;
    let direction = lift(slope.direction.clone(), &slope.tracked);
    let weight = lift(slope.weights.clone(), &slope.tracked);
    let along = direction * weight;
    let surrogate = sum(wide(f(Dual::new(slope.tracked.clone(), along)).t));
    Ok(slope.penalty(surrogate))
}

/// The gradient penalty of any function, by a stencil of fourth order.
///
/// $D_d f \approx \bigl(8[f(x+hd) - f(x-hd)] - [f(x+2hd) - f(x-2hd)]\bigr)/12h$, wrong by $h^4
/// |f^{(5)}|/30$ plus rounding of about $1.5\,\varepsilon|f|/h$: `step` near 0.03 suits `f32`
/// (error about $2\cdot10^{-5}$) and 0.003 suits `f64` ($10^{-10}$ for a smooth network). The value
/// is exact. With [`Over::Sample`], `f` must give one number a sample. **Cost**: four forward
/// passes. **Errors**: a step that is not positive, a target that is not finite.
pub fn gradient_penalty_black_box<const D: usize>(
    f: impl Fn(Tensor<D>) -> Tensor<1>,
    x: Tensor<D>,
    target: f64,
    over: Over,
    step: f64,
) -> Result<GradientPenalty, Error> {
    if !(step > 0.0 && step.is_finite()) {
        return Err(Error::Setting {
            name: "step",
            value: step.to_string(),
            expected: "a positive number",
        });
    }
    let slope = Slope::at(&f, &x, target, over)?;
    let direction = lift(slope.direction.clone(), &slope.tracked);
    let value_at =
        |times: f64| f(slope.tracked.clone() + direction.clone().mul_scalar(times * step));
    let near = (value_at(1.0) - value_at(-1.0)).mul_scalar(8.0);
    let derivative = (near - (value_at(2.0) - value_at(-2.0))).mul_scalar(1.0 / (12.0 * step));
    let count = slope.weights.shape().num_elements();
    let weights = lift(slope.weights.clone(), &slope.tracked).reshape([count]);
    let surrogate = sum(wide(derivative * weights));
    Ok(slope.penalty(surrogate))
}

/// A point between a sample and a reference: $\hat x = \varepsilon x + (1 - \varepsilon) r$.
///
/// One $\varepsilon$ from U(0, 1) for the whole tensor, or ([`Over::Sample`]) one for each index of
/// the first axis. The same `seed` gives the same points on every device. Give the result to
/// [`gradient_penalty`]. **Errors**: different shapes. **Reference**: Gulrajani et al. 2017.
pub fn interpolated<const D: usize>(
    x: Tensor<D>,
    reference: Tensor<D>,
    over: Over,
    seed: u64,
) -> Result<Tensor<D>, Error> {
    crate::divergence::same_shape("interpolation", &x, &reference)?;
    let mut random = Random::new(seed);
    let count = if over == Over::Sample { x.dims()[0] } else { 1 };
    let mixes: Vec<f64> = (0..count).map(|_| random.uniform()).collect();
    let mut shape = [1; D];
    shape[0] = count;
    let (x, reference) = (wide(x), wide(reference));
    let mix: Tensor<D> = constant(mixes, shape, &x);
    Ok(reference.clone() + (x - reference) * mix)
}

/// The gradient penalty at a point between `x` and `reference`: [`interpolated`], then
/// [`gradient_penalty`].
///
/// **Errors**: those of both.
pub fn interpolated_gradient_penalty<const D: usize>(
    f: impl Fn(Dual<D>) -> Dual<1>,
    x: Tensor<D>,
    reference: Tensor<D>,
    target: f64,
    over: Over,
    seed: u64,
) -> Result<GradientPenalty, Error> {
    gradient_penalty(f, interpolated(x, reference, over, seed)?, target, over)
}

/// The first derivative of a function at a point, and what the surrogate needs of it.
struct Slope<const D: usize> {
    /// The point, on a device that differentiates.
    tracked: Tensor<D>,
    /// $d$, without a graph.
    direction: Tensor<D>,
    /// $2(n - t)$ over the number of norms, shaped to multiply `direction`.
    weights: Tensor<D>,
    value: Tensor<1>,
    norms: Tensor<1>,
}

impl<const D: usize> Slope<D> {
    fn at(
        f: impl Fn(Tensor<D>) -> Tensor<1>,
        x: &Tensor<D>,
        target: f64,
        over: Over,
    ) -> Result<Self, Error> {
        if !target.is_finite() {
            let value = target.to_string();
            return Err(Error::Setting { name: "target", value, expected: "a finite number" });
        }
        let tracked = x.clone().autodiff();
        let leaf = tracked.clone().detach().require_grad();
        let output = sum(wide(f(leaf.clone())));
        // A function that ignores its input has no graph and a gradient of zero.
        let grads = output.is_tracked().then(|| output.backward());
        let slope = match grads.and_then(|grads| leaf.grad(&grads)) {
            Some(slope) => wide(slope.inner()),
            None => wide(leaf.inner().zeros_like()),
        };
        let dims = slope.dims();
        let samples = if over == Over::Sample { dims[0] } else { 1 };
        let width = slope.shape().num_elements().checked_div(samples).unwrap_or(0);
        let norms = norm_rows(slope.clone().reshape([samples, width]));
        let mut each = [1; D];
        each[0] = samples;
        let flat = norms.clone().equal_scalar(0.0);
        let lengths = norms.clone().mask_fill(flat, 1.0).reshape(each);
        let away = norms.clone().sub_scalar(target);
        let value = sum(away.clone() * away.clone()).mul_scalar(1.0 / samples as f64);
        let weights = away.mul_scalar(2.0 / samples as f64).reshape(each);
        let (direction, weights) = ((slope / lengths).cast(x.dtype()), weights.cast(x.dtype()));
        Ok(Self { tracked, direction, weights, value, norms })
    }

    fn penalty(self, mut surrogate: Tensor<1>) -> GradientPenalty {
        if fault::planted("surrogate-half") {
            surrogate = surrogate.mul_scalar(0.5);
        }
        GradientPenalty { value: self.value, surrogate, norms: self.norms }
    }
}

/// A constant where `like` lives.
fn lift<const D: usize, const E: usize>(x: Tensor<D>, like: &Tensor<E>) -> Tensor<D> {
    if like.device().is_autodiff() { x.autodiff() } else { x }
}

/// The derivative of `f` along `direction` at `x`, by the chain rule: for tests and for users who
/// want it.
pub fn derivative_along<const D: usize>(
    f: impl Fn(Dual<D>) -> Dual<1>,
    x: Tensor<D>,
    direction: Tensor<D>,
) -> Tensor<1> {
    flatten(f(Dual::new(x, direction)).t)
}
