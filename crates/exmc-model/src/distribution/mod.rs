//! Distribution families: a name -> parameters, support, log density, distribution functions,
//! draws.
//!
//! One file a family. A family is a unit struct that implements [`Distribution`]; [`FAMILIES`]
//! lists them all. Wrappers that take other distributions (mixtures, truncation …) are in `dist`.
//!
//! # Add a distribution
//! 1. A file here with a unit struct and its `Distribution` impl.
//! 2. Its `mod` line and its row in `family_table` below, from which the list of families, the
//!    constructor and the row in docs/model-json.md are made (`EXMC_BLESS=1` writes the latter).
//! 3. Golden values and example arguments: rows in `tests/data/continuous.py` (`discrete.py`;
//!    `multivariate.csv` and `tests/discrete_multivariate/examples.rs`). The tests in these folders
//!    check normalisation, gradient, draws against the distribution function and edges, and fail
//!    until the family has its rows.
//! 4. If Stan has it: a row in `exmc-stan/src/families`, as docs/recipes.md shows.

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

/// Hands the rows of all families to a macro: what it is, its type, and its constructor with the
/// parameters that have no default.
macro_rules! family_table {
    ($use:ident) => {
        $use! {
            /// Autoregressive series of fixed order with normal noise.
            ///
            /// Coefficients have the nearest lag first, `sigma` is the innovations' standard
            /// deviation; declare the shape `[t]`.
            autoregressive::Autoregressive: ar(coefficients, sigma);
            /// Bernoulli distribution: the probability of a 1.
            bernoulli::Bernoulli: bernoulli(theta);
            /// Bernoulli distribution of which the log odds are given.
            bernoulli_logit::BernoulliLogit: bernoulli_logit(alpha);
            /// Beta distribution: two shapes.
            beta::Beta: beta(alpha, beta);
            /// Binomial distribution: number of trials and probability of success.
            binomial::Binomial: binomial(n, theta);
            /// Binomial distribution of which the log odds of success are given.
            binomial_logit::BinomialLogit: binomial_logit(n, alpha);
            /// Categorical distribution: categories counted from 0, by their probabilities.
            categorical::Categorical: categorical(theta);
            /// Categorical distribution: categories counted from 0, by their log odds.
            categorical_logit::CategoricalLogit: categorical_logit(beta);
            /// Cauchy distribution: location and scale; it has no mean.
            cauchy::Cauchy: cauchy(mu, sigma);
            /// Chi-square distribution: degrees of freedom.
            chi_square::ChiSquare: chi_square(nu);
            /// Dirichlet distribution over probability vectors.
            dirichlet::Dirichlet: dirichlet(alpha);
            /// Exponential distribution: the **rate** (not the mean), as in Stan.
            exponential::Exponential: exponential(rate);
            /// Gamma distribution: shape and **rate** (not scale), as in Stan.
            gamma::Gamma: gamma(alpha, beta);
            /// Gaussian random walk: a series of which the steps are independent and normal.
            ///
            /// The standard deviations are those of a step and of the first value; declare the
            /// shape `[t]`.
            gaussian_random_walk::GaussianRandomWalk: gaussian_random_walk(sigma, initial_scale);
            /// Gumbel distribution (largest extreme value): location and scale.
            gumbel::Gumbel: gumbel(mu, beta);
            /// Half-Cauchy distribution: the size of a Cauchy with location 0.
            half_cauchy::HalfCauchy: half_cauchy(sigma);
            /// Half-normal distribution: the size of a normal with location 0.
            half_normal::HalfNormal: half_normal(sigma);
            /// Half Student's t distribution: the size of a Student's t with location 0.
            half_student_t::HalfStudentT: half_student_t(nu, sigma);
            /// Inverse gamma distribution: shape and scale; its reciprocal is gamma with that shape
            /// and rate.
            inverse_gamma::InverseGamma: inverse_gamma(alpha, beta);
            /// Laplace (double exponential) distribution: location and scale.
            laplace::Laplace: laplace(mu, sigma);
            /// LKJ distribution of correlation matrices, on their lower Cholesky factors.
            ///
            /// Declare the shape `[n, n]`.
            lkj_corr_cholesky::LkjCorrCholesky: lkj_corr_cholesky(eta);
            /// Logistic distribution: location and scale.
            logistic::Logistic: logistic(mu, sigma);
            /// Lognormal distribution: location and standard deviation of the logarithm.
            lognormal::Lognormal: lognormal(mu, sigma);
            /// Multivariate normal distribution by its mean and **covariance** matrix.
            multi_normal::MultiNormal: multi_normal(mu, covariance);
            /// Multivariate normal distribution by its mean and the **Cholesky factor** of its
            /// covariance.
            multi_normal_cholesky::MultiNormalCholesky: multi_normal_cholesky(mu, cholesky);
            /// Multinomial distribution: counts of categories in a number of trials.
            multinomial::Multinomial: multinomial(n, theta);
            /// Negative binomial distribution by its **mean** and **dispersion**: variance $\mu +
            /// \mu^2/\phi$.
            negative_binomial::NegativeBinomial: negative_binomial(mu, phi);
            /// Normal distribution: location and **standard deviation** (not variance), as in Stan.
            normal::Normal: normal(mu, sigma);
            /// Ordered logistic distribution: a latent logistic variable cut into categories
            /// counted from 0.
            ordered_logistic::OrderedLogistic: ordered_logistic(eta, cutpoints);
            /// Pareto distribution: smallest outcome and shape.
            pareto::Pareto: pareto(y_min, alpha);
            /// Poisson distribution: the rate is the mean.
            poisson::Poisson: poisson(lambda);
            /// Poisson distribution of which the log of the rate is given.
            poisson_log::PoissonLog: poisson_log(alpha);
            /// Skew normal distribution: location, scale and shape (0 is the normal).
            skew_normal::SkewNormal: skew_normal(xi, omega, alpha);
            /// Standard normal distribution: no parameters, so that no time goes into a location
            /// and a scale.
            std_normal::StdNormal: std_normal();
            /// Student's t distribution: degrees of freedom, location and scale.
            student_t::StudentT: student_t(nu, mu, sigma);
            /// Truncated normal distribution: location and standard deviation of the whole, lower
            /// and upper limit.
            truncated_normal::TruncatedNormal: truncated_normal(mu, sigma, lower, upper);
            /// Uniform distribution between two limits, 0 and 1 unless given.
            uniform::Uniform: uniform(lower, upper);
            /// Von Mises distribution of an angle: mean direction and concentration.
            von_mises::VonMises: von_mises(mu, kappa);
            /// Weibull distribution: shape and scale.
            weibull::Weibull: weibull(alpha, sigma);
        }
    };
}
pub(crate) use family_table;

macro_rules! families {
    ($($(#[doc = $line:literal])+ $module:ident::$family:ident: $name:ident($($arg:ident),*);)*) => {
        /// Every family, by name.
        pub const FAMILIES: &[&dyn Distribution] = &[$(&$module::$family),*];

        /// What each of [`FAMILIES`] is: lines of text, the first paragraph in one sentence.
        pub const SUMMARIES: &[&[&str]] = &[$(&[$($line),+]),*];
    };
}

family_table!(families);

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
