//! Numbers with a tangent: a function of tensors -> its directional derivative, in one forward
//! pass.
//!
//! A function written over [`Dual`] is differentiated forward, and Burn differentiates what comes
//! out backward: reverse over forward gives the second derivatives that Burn's autodiff lacks.

use burn::tensor::{Tensor, activation};

use crate::divergence::rows;
use crate::reduce::sum_rows;

/// A tensor and its derivative along one direction.
///
/// Each method maps a value `p` and its tangent `t` as the chain rule says. Elementwise ones have
/// any shape; [`Dual::map`] adds a function that is not here.
#[derive(Clone, Debug)]
pub struct Dual<const D: usize> {
    /// The value.
    pub p: Tensor<D>,
    /// Its derivative along the direction.
    pub t: Tensor<D>,
}

impl<const D: usize> Dual<D> {
    /// A value with its tangent.
    pub fn new(p: Tensor<D>, t: Tensor<D>) -> Self {
        Self { p, t }
    }

    /// A value that does not depend on the input.
    pub fn constant(p: Tensor<D>) -> Self {
        let t = p.zeros_like();
        Self { p, t }
    }

    /// An elementwise function: `value` gives $f(p)$ and `derivative` $f'(p)$, both from $p$.
    pub fn map(
        self,
        value: impl FnOnce(Tensor<D>) -> Tensor<D>,
        derivative: impl FnOnce(Tensor<D>) -> Tensor<D>,
    ) -> Self {
        let slope = derivative(self.p.clone());
        Self { p: value(self.p), t: slope * self.t }
    }

    /// Hyperbolic tangent.
    pub fn tanh(self) -> Self {
        let p = self.p.tanh();
        let slope = (p.clone() * p.clone()).neg().add_scalar(1.0);
        Self { p, t: slope * self.t }
    }

    /// Logistic function.
    pub fn sigmoid(self) -> Self {
        let p = activation::sigmoid(self.p);
        let slope = p.clone() * p.clone().neg().add_scalar(1.0);
        Self { p, t: slope * self.t }
    }

    /// $\max(x, 0)$, whose derivative at 0 is 0.
    pub fn relu(self) -> Self {
        let off = self.p.clone().detach().lower_equal_scalar(0.0);
        Self { p: activation::relu(self.p), t: self.t.mask_fill(off, 0.0) }
    }

    /// $\log(1 + e^x)$.
    pub fn softplus(self) -> Self {
        self.map(|x| activation::softplus(x, 1.0), activation::sigmoid)
    }

    /// $x\,\sigma(x)$.
    pub fn silu(self) -> Self {
        let gate = Self { p: self.p.clone(), t: self.t.clone() }.sigmoid();
        self * gate
    }

    /// $e^x$.
    pub fn exp(self) -> Self {
        let p = self.p.exp();
        Self { t: p.clone() * self.t, p }
    }

    /// $x^2$.
    pub fn square(self) -> Self {
        let t = (self.p.clone() * self.t).mul_scalar(2.0);
        Self { p: self.p.clone() * self.p, t }
    }

    /// Times a number.
    pub fn mul_scalar(self, factor: f64) -> Self {
        Self { p: self.p.mul_scalar(factor), t: self.t.mul_scalar(factor) }
    }

    /// Both parts in another shape.
    pub fn reshape<const E: usize>(self, shape: [usize; E]) -> Dual<E> {
        Dual { p: self.p.reshape(shape), t: self.t.reshape(shape) }
    }

    /// The sum over all axes but the first. **Shape**: `[batch, ...]` to `[batch]`.
    pub fn sum_each(self) -> Dual<1> {
        let batch = self.p.dims()[0];
        let width = self.p.shape().num_elements().checked_div(batch).unwrap_or(0);
        let sum = |x: Tensor<D>| sum_rows(x.reshape([batch, width]));
        Dual { p: sum(self.p), t: sum(self.t) }
    }

    /// Normalises each row of the last axis to mean 0 and variance 1, then scales and shifts it, as
    /// Burn's `LayerNorm` does with `epsilon` under the root.
    pub fn layer_norm(self, scale: Tensor<1>, shift: Tensor<1>, epsilon: f64) -> Self {
        let dims = self.p.dims();
        let (p, t) = (rows(self.p), rows(self.t));
        let [count, width] = p.dims();
        let mean = |x: Tensor<2>| sum_rows(x).mul_scalar(1.0 / width as f64).reshape([count, 1]);
        let centred = p.clone() - mean(p);
        let moved = t.clone() - mean(t);
        let variance = mean(centred.clone() * centred.clone()).add_scalar(epsilon);
        let root = variance.clone().sqrt();
        let normal = centred / root.clone();
        let along = mean(normal.clone() * moved.clone());
        let tangent = (moved - normal.clone() * along) / root;
        let scale = scale.reshape([1, width]);
        let p = normal * scale.clone() + shift.reshape([1, width]);
        Self { p: p.reshape(dims), t: (tangent * scale).reshape(dims) }
    }
}

impl Dual<2> {
    /// $xW + b$, as Burn's `Linear`: weight `[inputs, outputs]`.
    pub fn linear(self, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Self {
        let p = self.p.matmul(weight.clone());
        let p = match bias {
            Some(bias) => {
                let width = bias.dims()[0];
                p + bias.reshape([1, width])
            }
            None => p,
        };
        Self { p, t: self.t.matmul(weight) }
    }
}

impl<const D: usize> std::ops::Add for Dual<D> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { p: self.p + other.p, t: self.t + other.t }
    }
}

impl<const D: usize> std::ops::Sub for Dual<D> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { p: self.p - other.p, t: self.t - other.t }
    }
}

impl<const D: usize> std::ops::Mul for Dual<D> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let t = self.t * other.p.clone() + self.p.clone() * other.t;
        Self { p: self.p * other.p, t }
    }
}
