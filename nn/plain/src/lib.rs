//! What needs no Burn: penalties, divergences and proximal operators as plain loops over `f64`
//! (slices in, value and gradient out), and [`policy`] (checkpoints, networks, live play).
//!
//! It is the reference that every backend is compared with. It shares no code with what it judges,
//! and writes each gradient down in closed form; its own tests compare those
//! with finite differences. Arguments that make no sense (an axis that is not there) are the
//! caller's to avoid: this is a yardstick.

pub mod divergence;
pub mod element;
pub mod network;
pub mod policy;
pub mod proximal;
pub mod spectrum;
pub mod structure;

/// A penalty's value and its gradient with respect to each input.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The value.
    pub value: f64,
    /// For each input, the derivative with respect to each element.
    pub gradients: Vec<Vec<f64>>,
}

impl Answer {
    /// The answer of a penalty of one input.
    #[must_use]
    pub fn one(value: f64, gradient: Vec<f64>) -> Self {
        Self { value, gradients: vec![gradient] }
    }

    /// Value and gradients times a number.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        self.value *= factor;
        for gradient in &mut self.gradients {
            gradient.iter_mut().for_each(|g| *g *= factor);
        }
        self
    }
}

/// A sum whose error does not grow with its length (Neumaier 1974); infinities and NaN as in a
/// plain sum.
#[must_use]
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut total, mut lost, mut naive) = (0.0, 0.0, 0.0);
    for value in values {
        naive += value;
        let next: f64 = total + value;
        lost += if f64::abs(total) >= f64::abs(value) {
            (total - next) + value
        } else {
            (value - next) + total
        };
        total = next;
    }
    if f64::is_finite(naive) { total + lost } else { naive }
}

/// The Euclidean norm, without overflow or underflow.
#[must_use]
pub fn norm(values: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return if values.iter().any(|x| x.is_nan()) { f64::NAN } else { largest };
    }
    largest * sum(values.iter().map(|x| (x / largest).powi(2))).sqrt()
}

/// The sign of a number, 0 for 0 and NaN for NaN.
#[must_use]
pub fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { x.signum() }
}

/// A tensor seen from one axis: (before, length, after).
pub(crate) fn around(dims: &[usize], axis: usize) -> (usize, usize, usize) {
    (dims[..axis].iter().product(), dims[axis], dims[axis + 1..].iter().product())
}
