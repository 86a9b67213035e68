//! Families of normal distributions, by parameters that gradients can follow.

use std::f64::consts::PI;

use exmc_math::linear::dot;
use exmc_math::random::ChainRng;

/// Which normal distributions are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// Independent coordinates.
    #[default]
    MeanField,
    /// Any covariance.
    FullRank,
}

/// A normal distribution over the unconstrained vector: $\zeta=\mu+S\eta$ with $\eta$ standard
/// normal, and $S$ a diagonal $e^\omega$ or lower triangular.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalApproximation {
    family: Family,
    dim: usize,
    /// The mean, then $\omega$ or the rows of $S$ up to its diagonal.
    parameters: Vec<f64>,
}

impl NormalApproximation {
    /// Around a point, with unit variances.
    pub(super) fn around(family: Family, point: &[f64]) -> Self {
        let dim = point.len();
        let mut parameters = point.to_vec();
        match family {
            Family::MeanField => parameters.resize(2 * dim, 0.0),
            Family::FullRank => {
                for i in 0..dim {
                    parameters.extend((0..=i).map(|j| if i == j { 1.0 } else { 0.0 }));
                }
            }
        }
        Self { family, dim, parameters }
    }

    pub(super) fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    pub(super) fn parameters_mut(&mut self) -> &mut [f64] {
        &mut self.parameters
    }

    /// Its mean.
    pub fn mean(&self) -> &[f64] {
        &self.parameters[..self.dim]
    }

    /// A row of the lower triangular scale.
    fn row(&self, i: usize) -> &[f64] {
        let start = self.dim + i * (i + 1) / 2;
        &self.parameters[start..=start + i]
    }

    /// Its covariance, row-major.
    pub fn covariance(&self) -> Vec<f64> {
        let dim = self.dim;
        let mut covariance = vec![0.0; dim * dim];
        for i in 0..dim {
            match self.family {
                Family::MeanField => {
                    covariance[i * dim + i] = libm::exp(2.0 * self.parameters[dim + i]);
                }
                Family::FullRank => {
                    for j in 0..=i {
                        let value = dot(&self.row(i)[..=j], self.row(j));
                        covariance[i * dim + j] = value;
                        covariance[j * dim + i] = value;
                    }
                }
            }
        }
        covariance
    }

    /// Its entropy, $\tfrac d2(1+\log 2\pi)+\log|\det S|$, in nats.
    pub fn entropy(&self) -> f64 {
        let log_det: f64 = match self.family {
            Family::MeanField => self.parameters[self.dim..].iter().sum(),
            Family::FullRank => (0..self.dim).map(|i| libm::log(self.row(i)[i].abs())).sum(),
        };
        0.5 * self.dim as f64 * (1.0 + libm::log(2.0 * PI)) + log_det
    }

    /// Writes $\mu+S\eta$.
    pub(super) fn transform(&self, eta: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.parameters[i]
                + match self.family {
                    Family::MeanField => libm::exp(self.parameters[self.dim + i]) * eta[i],
                    Family::FullRank => dot(self.row(i), &eta[..=i]),
                };
        }
    }

    /// Writes a draw and returns $-\tfrac12\eta^\top\eta$, its log density up to a constant (0 at
    /// the mean), as CmdStan's `log_g__` has it.
    ///
    /// # Panics
    /// When `out` has another length than the mean.
    pub fn draw(&self, rng: &mut ChainRng, out: &mut [f64]) -> f64 {
        assert_eq!(out.len(), self.dim, "a draw has as many coordinates as the mean");
        let mut eta = vec![0.0; self.dim];
        rng.fill_standard_normal(&mut eta);
        self.transform(&eta, out);
        -0.5 * dot(&eta, &eta)
    }

    /// Adds what a draw says of the slope of $\mathrm{E}\log p$ by each parameter: `slope` is
    /// $\nabla\log p$ at $\mu+S\eta$.
    pub(super) fn add_slopes(&self, eta: &[f64], slope: &[f64], out: &mut [f64]) {
        let (of_mean, of_scale) = out.split_at_mut(self.dim);
        of_mean.iter_mut().zip(slope).for_each(|(out, g)| *out += g);
        match self.family {
            Family::MeanField => {
                for (i, out) in of_scale.iter_mut().enumerate() {
                    *out += slope[i] * eta[i] * libm::exp(self.parameters[self.dim + i]);
                }
            }
            Family::FullRank => {
                let mut index = 0;
                for (i, g) in slope.iter().enumerate() {
                    for e in &eta[..=i] {
                        of_scale[index] += g * e;
                        index += 1;
                    }
                }
            }
        }
    }

    /// Adds the slope of the entropy by each parameter.
    pub(super) fn add_entropy_slopes(&self, out: &mut [f64]) {
        match self.family {
            Family::MeanField => out[self.dim..].iter_mut().for_each(|x| *x += 1.0),
            Family::FullRank => {
                for i in 0..self.dim {
                    let diagonal = self.dim + i * (i + 1) / 2 + i;
                    out[diagonal] += 1.0 / self.parameters[diagonal];
                }
            }
        }
    }
}
