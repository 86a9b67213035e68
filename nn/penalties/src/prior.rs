//! What a penalty means to a Bayesian: a penalty with its weight -> the prior whose negative log
//! density it is.
//!
//! Minimising loss + penalty is then finding the mode of a posterior, if the loss is a negative log
//! likelihood **summed** over observations. Penalties that are means, clipped or about outputs are
//! potentials, not priors, and have none here.

use std::f64::consts::PI;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::penalty::Penalty;
use crate::primitive::Centre;
use crate::reduce::Reduce;

/// The prior of independent elements, or of independent groups, that a weighted penalty stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prior {
    /// Each element Laplace(0, scale).
    Laplace {
        /// Scale $b = 1/\lambda$.
        scale: f64,
    },
    /// Each element Normal(mean, standard deviation).
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation $1/\sqrt{2\lambda}$.
        sd: f64,
    },
    /// Each element with density proportional to $e^{-a|x| - bx^2}$.
    ElasticNet {
        /// $a = \lambda\alpha$.
        absolute: f64,
        /// $b = \lambda(1 - \alpha)$.
        square: f64,
    },
    /// Each group with density proportional to $e^{-\lambda w\lVert x_g\rVert}$: multivariate
    /// Laplace.
    GroupLaplace {
        /// Axis whose indices are the groups.
        axis: usize,
        /// $\lambda$.
        rate: f64,
        /// Whether $w$ is the root of a group's size, else 1.
        size_weighted: bool,
    },
}

impl Penalty {
    /// The prior of a penalty with this weight; `None` for what is no proper prior.
    ///
    /// ```
    /// use penalties::{Penalty, Prior};
    ///
    /// assert_eq!(Penalty::L1.prior(2.0), Some(Prior::Laplace { scale: 0.5 }));
    /// assert_eq!(Penalty::SpectralNorm.prior(2.0), None);
    /// ```
    #[must_use]
    pub fn prior(&self, weight: f64) -> Option<Prior> {
        if !(weight > 0.0 && weight.is_finite()) {
            return None;
        }
        match *self {
            Self::L1 { reduce: Reduce::Sum } => Some(Prior::Laplace { scale: 1.0 / weight }),
            Self::L2 { reduce: Reduce::Sum, centre, clip: None } => {
                let mean = match centre {
                    Centre::Zero => 0.0,
                    Centre::At(mean) => mean,
                    Centre::Mean => return None,
                };
                Some(Prior::Normal { mean, sd: 1.0 / (2.0 * weight).sqrt() })
            }
            Self::ElasticNet { reduce: Reduce::Sum, l1_ratio } => Some(Prior::ElasticNet {
                absolute: weight * l1_ratio,
                square: weight * (1.0 - l1_ratio),
            }),
            Self::GroupLasso { axis, size_weighted } => {
                Some(Prior::GroupLaplace { axis, rate: weight, size_weighted })
            }
            _ => None,
        }
    }
}

impl Prior {
    /// Log density, in nats and with its constant, of elements in row-major order with this shape.
    ///
    /// **Edges**: a shape without the axis of groups, or of another size than `x`, gives NaN.
    #[must_use]
    pub fn log_density(&self, x: &[f64], dims: &[usize]) -> f64 {
        let count = x.len() as f64;
        match *self {
            Self::Laplace { scale } => {
                let absolute: f64 = x.iter().map(|x| x.abs()).sum();
                -absolute / scale - count * (2.0 * scale).ln()
            }
            Self::Normal { mean, sd } => {
                let square: f64 = x.iter().map(|x| ((x - mean) / sd).powi(2)).sum();
                -0.5 * square - count * (sd.ln() + 0.5 * (2.0 * PI).ln())
            }
            Self::ElasticNet { absolute, square } => {
                let exponent: f64 = x.iter().map(|x| absolute * x.abs() + square * x * x).sum();
                -exponent - count * elastic_constant(absolute, square)
            }
            Self::GroupLaplace { axis, rate, size_weighted } => {
                if axis >= dims.len() || dims.iter().product::<usize>() != x.len() {
                    return f64::NAN;
                }
                group_log_density(x, dims, axis, rate, size_weighted)
            }
        }
    }

    /// The statement of a Stan program that gives the vector or array `name` this prior, up to a
    /// constant.
    #[must_use]
    pub fn stan(&self, name: &str) -> String {
        let mut line = String::new();
        let written = match *self {
            Self::Laplace { scale } => write!(line, "{name} ~ double_exponential(0, {scale:?});"),
            Self::Normal { mean, sd } => write!(line, "{name} ~ normal({mean:?}, {sd:?});"),
            Self::ElasticNet { absolute, square } => write!(
                line,
                "target += -{absolute:?} * sum(abs({name})) - {square:?} * dot_self({name});"
            ),
            Self::GroupLaplace { rate, size_weighted, .. } => {
                let weight =
                    if size_weighted { format!(" * sqrt(size({name}))") } else { String::new() };
                write!(line, "target += -{rate:?}{weight} * sqrt(dot_self({name}));")
            }
        };
        written.expect("writing to a string succeeds");
        line
    }
}

/// $\ln\int e^{-a|x| - bx^2}dx = \tfrac12\ln(\pi/b) + \ln\bigl(e^{z^2}\operatorname{erfc} z\bigr)$
/// with $z = a/2\sqrt b$; $\ln(2/a)$ without squares.
fn elastic_constant(absolute: f64, square: f64) -> f64 {
    if square == 0.0 {
        return (2.0 / absolute).ln();
    }
    let z = absolute / (2.0 * square.sqrt());
    0.5 * (PI / square).ln() + ln_erfcx(z)
}

/// $\ln(e^{z^2}\operatorname{erfc} z)$ for $z \ge 0$.
fn ln_erfcx(z: f64) -> f64 {
    if z < 6.0 {
        return z * z + libm::erfc(z).ln();
    }
    // The continued fraction z + (1/2)/(z + 1/(z + (3/2)/(z + ...))), whose 40 terms are exact
    // here.
    let mut tail = z;
    for k in (1..=40).rev() {
        tail = z + 0.5 * f64::from(k) / tail;
    }
    -(tail * PI.sqrt()).ln()
}

/// $\sum_g d\ln\lambda + \ln\Gamma(d/2) - \ln 2 - \tfrac d2\ln\pi - \ln\Gamma(d) - \lambda\lVert
/// x_g\rVert$.
fn group_log_density(x: &[f64], dims: &[usize], axis: usize, rate: f64, weighted: bool) -> f64 {
    let after: usize = dims[axis + 1..].iter().product();
    let length = dims[axis];
    if x.is_empty() {
        return 0.0;
    }
    let size = (x.len() / length) as f64;
    let rate = if weighted { rate * size.sqrt() } else { rate };
    let mut squares = vec![0.0; length];
    for (i, x) in x.iter().enumerate() {
        squares[i / after % length] += x * x;
    }
    let constant = size * rate.ln() + libm::lgamma(0.5 * size)
        - 2f64.ln()
        - 0.5 * size * PI.ln()
        - libm::lgamma(size);
    squares.iter().map(|square: &f64| constant - rate * square.sqrt()).sum()
}
