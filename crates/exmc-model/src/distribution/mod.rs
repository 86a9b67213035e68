//! Distribution families: a name -> parameters, support, log density, distribution functions,
//! draws.
//!
//! One file a family. A family is a unit struct that implements [`Distribution`]; [`FAMILIES`]
//! lists them all. Wrappers that take other distributions (mixtures, truncation …) are in `dist`.
//!
//! # Add a distribution
//! 1. A file here with a unit struct and its `Distribution` impl; its `mod` line and a line in
//!    [`FAMILIES`].
//! 2. A constructor in `distributions.rs`.
//! 3. Golden values: a generator's row in `tests/data/continuous.py` (`discrete.py`,
//!    `multivariate.csv`), and a row of example arguments in `tests/continuous/examples.rs`
//!    (`tests/discrete_multivariate/examples.rs`). The tests in that folder check normalisation,
//!    gradient, draws against the distribution function and edges, and fail until the family has
//!    its rows.
//! 4. A line in the tables of docs/model-json.md.
//! 5. If Stan has it: a row in `exmc-stan/src/families`, as docs/recipes.md shows.

use std::fmt;

use exmc_graph::{Graph, NodeId, Shape};
use exmc_math::random::ChainRng;

use crate::support::Support;
use crate::transform::Transform;

mod autoregressive;
mod bernoulli;
mod bernoulli_logit;
mod beta;
mod binomial;
mod binomial_logit;
mod categorical;
mod categorical_logit;
mod categories;
mod cauchy;
mod chi_square;
mod counts;
mod dirichlet;
mod events;
mod exponential;
mod gamma;
mod gaussian_random_walk;
mod gumbel;
mod half_cauchy;
mod half_normal;
mod half_student_t;
mod inverse_gamma;
mod laplace;
mod lkj_corr_cholesky;
mod logistic;
mod lognormal;
mod multi_normal;
mod multi_normal_cholesky;
mod multinomial;
mod negative_binomial;
mod normal;
mod ordered_logistic;
mod pareto;
mod poisson;
mod poisson_log;
mod skew_normal;
mod std_normal;
mod student_t;
mod tails;
mod truncated_normal;
mod uniform;
mod von_mises;
mod weibull;

/// One parameter of a family.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name, as Stan's manual has it where Stan has the distribution.
    pub name: &'static str,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// Where its values must lie.
    pub support: Support,
    /// Axes that one event uses up: 0 for a number, 1 for a vector, 2 for a matrix.
    pub rank: usize,
    /// The value when it is left out.
    pub default: Option<f64>,
    /// The parameter, by position and before this one, whose value it takes when it is left out.
    pub same_as: Option<usize>,
}

impl Parameter {
    /// A scalar parameter that must be given.
    pub const fn new(name: &'static str, support: Support) -> Self {
        Self { name, aliases: &[], support, rank: 0, default: None, same_as: None }
    }

    /// The same, with other accepted names.
    pub const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// The same, for vectors (1) or matrices (2).
    pub const fn rank(self, rank: usize) -> Self {
        Self { rank, ..self }
    }

    /// The same, with a value for when it is left out.
    pub const fn default(self, value: f64) -> Self {
        Self { default: Some(value), ..self }
    }

    /// The same, taking the value of an earlier parameter when it is left out.
    pub const fn same_as(self, position: usize) -> Self {
        Self { same_as: Some(position), ..self }
    }
}

/// How a location-scale family shifts and stretches: `x = location + scale * z`, where z has the
/// same family with location 0 and scale 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocationScale {
    /// Position of the location parameter; `None` for a pure scale family.
    pub location: Option<usize>,
    /// Position of the scale parameter.
    pub scale: usize,
}

/// A family of distributions. All densities are natural logs.
///
/// **Shapes**: `y` and `args` of a univariate family have shapes that broadcast; the result has the
/// broadcast shape. A family with [`event_rank`](Self::event_rank) r reduces the last r axes of
/// `y`. Arguments were checked by [`outcome_shape`](Self::outcome_shape) before, so broadcasting
/// cannot fail.
///
/// **Edges**: a log density is written for values inside the support; callers guard everything else
/// (with `Support::predicate`), so a formula may give anything there.
pub trait Distribution: fmt::Debug + Sync + Send {
    /// Name, lower case, as Stan's where Stan has it.
    fn name(&self) -> &'static str;

    /// Other accepted names.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Parameters, in argument order.
    fn parameters(&self) -> &'static [Parameter];

    /// Where outcomes lie.
    fn support(&self) -> Support;

    /// Axes that one outcome uses up.
    fn event_rank(&self) -> usize {
        0
    }

    /// The shape of the outcome, from the parameters' shapes and the declared shape if there is
    /// one.
    ///
    /// # Errors
    /// A sentence when these do not fit together.
    fn outcome_shape(&self, args: &[&Shape], declared: Option<&Shape>) -> Result<Shape, String> {
        univariate_shape(args, declared)
    }

    /// The map from the real line that a free variable of this family uses unless told otherwise.
    fn default_transform(&self, args: &[NodeId]) -> Transform {
        default_transform(self.support(), args)
    }

    /// Log density (or log mass) of `y`.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId;

    /// $\log P(Y \le y)$, where there is a formula; `y` may be anywhere on the real line or
    /// infinite.
    fn lcdf(&self, _g: &mut Graph, _y: NodeId, _args: &[NodeId]) -> Option<NodeId> {
        None
    }

    /// $\log P(Y > y)$, where there is a formula; `y` may be anywhere on the real line or infinite.
    fn lccdf(&self, _g: &mut Graph, _y: NodeId, _args: &[NodeId]) -> Option<NodeId> {
        None
    }

    /// One outcome into `out`, given one event's arguments (a slice of length one for a number).
    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]);

    /// Mean and variance of one outcome, where they exist and have a formula (univariate families).
    fn mean_variance(&self, _args: &[f64]) -> Option<(f64, f64)> {
        None
    }

    /// Which parameters are location and scale, for families that have them.
    fn location_scale(&self) -> Option<LocationScale> {
        None
    }
}

/// Every family, by name.
pub const FAMILIES: &[&dyn Distribution] = &[
    &autoregressive::Autoregressive,
    &bernoulli::Bernoulli,
    &bernoulli_logit::BernoulliLogit,
    &beta::Beta,
    &binomial::Binomial,
    &binomial_logit::BinomialLogit,
    &categorical::Categorical,
    &categorical_logit::CategoricalLogit,
    &cauchy::Cauchy,
    &chi_square::ChiSquare,
    &dirichlet::Dirichlet,
    &exponential::Exponential,
    &gamma::Gamma,
    &gaussian_random_walk::GaussianRandomWalk,
    &gumbel::Gumbel,
    &half_cauchy::HalfCauchy,
    &half_normal::HalfNormal,
    &half_student_t::HalfStudentT,
    &inverse_gamma::InverseGamma,
    &laplace::Laplace,
    &lkj_corr_cholesky::LkjCorrCholesky,
    &logistic::Logistic,
    &lognormal::Lognormal,
    &multi_normal::MultiNormal,
    &multi_normal_cholesky::MultiNormalCholesky,
    &multinomial::Multinomial,
    &negative_binomial::NegativeBinomial,
    &normal::Normal,
    &ordered_logistic::OrderedLogistic,
    &pareto::Pareto,
    &poisson::Poisson,
    &poisson_log::PoissonLog,
    &skew_normal::SkewNormal,
    &std_normal::StdNormal,
    &student_t::StudentT,
    &truncated_normal::TruncatedNormal,
    &uniform::Uniform,
    &von_mises::VonMises,
    &weibull::Weibull,
];

/// The family of that name or alias.
pub fn find_family(name: &str) -> Option<&'static dyn Distribution> {
    FAMILIES.iter().copied().find(|f| f.name() == name || f.aliases().contains(&name))
}

/// The broadcast shape of a univariate family's arguments, which must stretch to the declared
/// shape.
pub(crate) fn univariate_shape(args: &[&Shape], declared: Option<&Shape>) -> Result<Shape, String> {
    let mut common = Shape::scalar();
    for shape in args {
        common = common.broadcast(shape).ok_or_else(|| {
            format!("its parameters have shapes {common} and {shape}, which do not broadcast")
        })?;
    }
    match declared {
        None => Ok(common),
        Some(declared) if common.broadcasts_to(declared) => Ok(declared.clone()),
        Some(declared) => {
            Err(format!("its declared shape is {declared}, but its parameters have shape {common}"))
        }
    }
}

/// The usual map from the real line to a support.
pub(crate) fn default_transform(support: Support, args: &[NodeId]) -> Transform {
    match support {
        Support::Positive | Support::NonNegative => Transform::Log,
        Support::Unit | Support::UnitOpen => Transform::Logit,
        Support::Between { lower, upper } => match (lower, upper) {
            (Some(a), Some(b)) => Transform::Interval(args[a], args[b]),
            (Some(a), None) => Transform::Lower(args[a]),
            (None, Some(b)) => Transform::Upper(args[b]),
            (None, None) => Transform::Identity,
        },
        Support::Circle => Transform::Circle,
        Support::Simplex => Transform::Simplex,
        Support::Ordered => Transform::Ordered,
        Support::CorrelationCholesky => Transform::CorrelationCholesky,
        Support::CholeskyFactor => Transform::CovarianceCholesky,
        _ => Transform::Identity,
    }
}
