//! Constructors of distributions for the builder: `normal("mu", 2.0)`.
//!
//! Parameters are in the order of the family's table and take names, numbers, arrays and
//! expressions. Those that have a default are given by name: [`DistSpec::with`].

use crate::expr::{Expr, ExprKind};
use crate::spec::{DistKind, DistSpec};
use crate::support::Support;

macro_rules! constructors {
    ($($(#[$meta:meta])* $name:ident($($arg:ident),*)),* $(,)?) => {
        $($(#[$meta])*
        pub fn $name($($arg: impl Into<Expr>),*) -> DistSpec {
            family(stringify!($name), vec![$($arg.into()),*])
        })*

        /// Names of the families that have a constructor.
        #[cfg(test)]
        const CONSTRUCTED: &[(&str, &[&str])] =
            &[$((stringify!($name), &[$(stringify!($arg)),*])),*];
    };
}

constructors!(
    /// Normal with mean 0 and standard deviation 1.
    std_normal(),
    /// Normal with mean and standard deviation.
    normal(mu, sigma),
    /// Half of a normal with location 0.
    half_normal(sigma),
    /// Student's t with degrees of freedom, location and scale.
    student_t(nu, mu, sigma),
    /// Half of a Student's t with location 0.
    half_student_t(nu, sigma),
    /// Cauchy with location and scale.
    cauchy(mu, sigma),
    /// Half of a Cauchy with location 0.
    half_cauchy(sigma),
    /// Laplace (double exponential) with location and scale.
    laplace(mu, sigma),
    /// Logistic with location and scale.
    logistic(mu, sigma),
    /// Lognormal: the logarithm is normal.
    lognormal(mu, sigma),
    /// Exponential with rate.
    exponential(rate),
    /// Gamma with shape and rate.
    gamma(alpha, beta),
    /// Inverse gamma with shape and scale.
    inverse_gamma(alpha, beta),
    /// Chi-square with degrees of freedom.
    chi_square(nu),
    /// Weibull with shape and scale.
    weibull(alpha, sigma),
    /// Gumbel with location and scale.
    gumbel(mu, beta),
    /// Pareto with lower limit and shape.
    pareto(y_min, alpha),
    /// Beta with two shapes.
    beta(alpha, beta),
    /// Uniform between two limits.
    uniform(lower, upper),
    /// Von Mises with mean direction and concentration.
    von_mises(mu, kappa),
    /// Skew normal with location, scale and shape.
    skew_normal(xi, omega, alpha),
    /// Normal restricted to an interval.
    truncated_normal(mu, sigma, lower, upper),
    /// 0 or 1 with probability.
    bernoulli(theta),
    /// 0 or 1 with log odds.
    bernoulli_logit(alpha),
    /// Successes in n trials with probability.
    binomial(n, theta),
    /// Successes in n trials with log odds.
    binomial_logit(n, alpha),
    /// Poisson with mean.
    poisson(lambda),
    /// Poisson with log mean.
    poisson_log(alpha),
    /// Negative binomial with mean and dispersion: variance `mu + mu^2 / phi`.
    negative_binomial(mu, phi),
    /// Categories from 0 with probabilities.
    categorical(theta),
    /// Categories from 0 with logits.
    categorical_logit(beta),
    /// Ordered categories from 0 with predictor and cut points.
    ordered_logistic(eta, cutpoints),
    /// Dirichlet with concentrations.
    dirichlet(alpha),
    /// Counts of n trials with probabilities.
    multinomial(n, theta),
    /// Multivariate normal with mean and covariance matrix.
    multi_normal(mu, covariance),
    /// Multivariate normal with mean and lower Cholesky factor of the covariance.
    multi_normal_cholesky(mu, cholesky),
    /// Cholesky factors of correlation matrices, with shape (declare `[n, n]`).
    lkj_corr_cholesky(eta),
);

/// Gaussian random walk with the standard deviation of a step and of the first value (declare
/// `[t]`).
pub fn gaussian_random_walk(sigma: impl Into<Expr>, initial_scale: impl Into<Expr>) -> DistSpec {
    family("gaussian_random_walk", vec![sigma.into(), initial_scale.into()])
}

/// Autoregression: coefficients (nearest lag first) and the innovations' standard deviation
/// (declare `[t]`).
pub fn ar(coefficients: impl Into<Expr>, sigma: impl Into<Expr>) -> DistSpec {
    family("ar", vec![coefficients.into(), sigma.into()])
}

impl DistSpec {
    /// Another parameter by its name: those that have a default are not among a constructor's
    /// arguments. Only families have parameters by name; that a wrapper has none is reported by
    /// building.
    ///
    /// ```
    /// use exmc_model::distributions::{ar, gaussian_random_walk};
    /// let series = ar([0.5, 0.2], "sigma").with("constant", "mu").with("initial_scale", 10);
    /// let walk = gaussian_random_walk("step", 5).with("initial_mean", 100);
    /// # let _ = (series, walk);
    /// ```
    #[must_use]
    pub fn with(mut self, parameter: &str, value: impl Into<Expr>) -> Self {
        let (name, value) = (parameter.to_owned(), value.into());
        match &mut self.0 {
            DistKind::Family { args, .. } => args.push((Some(name), value)),
            DistKind::Custom { args, .. } => args.push((name, value)),
            DistKind::Mixture { weights: argument, .. }
            | DistKind::ZeroInflated { probability: argument, .. } => {
                *argument = no_parameter(&name);
            }
            DistKind::Truncated { lower, .. } | DistKind::Censored { lower, .. } => {
                *lower = Some(no_parameter(&name));
            }
        }
        self
    }
}

fn no_parameter(name: &str) -> Expr {
    let message =
        format!("a wrapper has no parameter `{name}`: give it to the distribution inside");
    Expr::of(ExprKind::Mistake(message))
}

/// A family by name with positional arguments, as the JSON form has it.
pub fn family(name: &str, args: Vec<Expr>) -> DistSpec {
    DistSpec(DistKind::Family {
        name: name.to_owned(),
        args: args.into_iter().map(|a| (None, a)).collect(),
    })
}

/// A family by name with named arguments.
pub fn family_named<'a>(name: &str, args: impl IntoIterator<Item = (&'a str, Expr)>) -> DistSpec {
    DistSpec(DistKind::Family {
        name: name.to_owned(),
        args: args.into_iter().map(|(n, a)| (Some(n.to_owned()), a)).collect(),
    })
}

/// A mixture: `weights` is a simplex (or one per element, last axis) over the components.
pub fn mixture(weights: impl Into<Expr>, components: impl Into<Vec<DistSpec>>) -> DistSpec {
    DistSpec(DistKind::Mixture { weights: weights.into(), components: components.into() })
}

/// `base` given that the outcome lies within the limits.
pub fn truncated(base: DistSpec, lower: Option<Expr>, upper: Option<Expr>) -> DistSpec {
    DistSpec(DistKind::Truncated { base: Box::new(base), lower, upper })
}

/// `base` with outcomes beyond a limit recorded as the limit.
pub fn censored(base: DistSpec, lower: Option<Expr>, upper: Option<Expr>) -> DistSpec {
    DistSpec(DistKind::Censored { base: Box::new(base), lower, upper })
}

/// Counts of `base` that are replaced by 0 with a probability.
pub fn zero_inflated(base: DistSpec, probability: impl Into<Expr>) -> DistSpec {
    DistSpec(DistKind::ZeroInflated { base: Box::new(base), probability: probability.into() })
}

/// A density of your own, as an expression over its parameters' names and `value`. With a
/// `quantile` expression over the parameters and `u` (uniform on (0, 1)) it can also be drawn from.
pub fn custom<'a>(
    args: impl IntoIterator<Item = (&'a str, Expr)>,
    support: Support,
    logp: impl Into<Expr>,
    quantile: Option<Expr>,
) -> DistSpec {
    let args = args.into_iter().map(|(n, e)| (n.to_owned(), e)).collect();
    DistSpec(DistKind::Custom { args, logp: logp.into(), quantile, support })
}

#[cfg(test)]
mod tests {
    use super::CONSTRUCTED;
    use crate::distribution::{FAMILIES, find_family};

    /// Those with parameters that have a default, and so constructors of their own.
    const WITH_DEFAULTS: [&str; 2] = ["ar", "gaussian_random_walk"];

    #[test]
    fn every_family_has_a_constructor() {
        for family in FAMILIES {
            let name = family.name();
            let constructed = CONSTRUCTED.iter().any(|(known, _)| *known == name);
            assert!(constructed || WITH_DEFAULTS.contains(&name), "no constructor of `{name}`");
        }
    }

    #[test]
    fn every_constructor_has_a_family_with_as_many_parameters() {
        for (name, parameters) in CONSTRUCTED {
            let family = find_family(name).unwrap_or_else(|| panic!("no family `{name}`"));
            assert_eq!(family.parameters().len(), parameters.len(), "{name}");
        }
    }
}
