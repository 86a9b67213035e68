//! Constructors of distributions for the builder: `normal("mu", 2.0)`.
//!
//! Parameters are in the order of the family's table and take names, numbers, arrays and
//! expressions. Those that have a default are given by name: [`DistSpec::with`].

use crate::distribution::family_table;
use crate::expr::{Expr, ExprKind};
use crate::spec::{DistKind, DistSpec};
use crate::support::Support;

macro_rules! constructors {
    ($($(#[doc = $line:literal])+ $module:ident::$family:ident: $name:ident($($arg:ident),*);)*) => {
        $($(#[doc = $line])+
        pub fn $name($($arg: impl Into<Expr>),*) -> DistSpec {
            family(stringify!($name), vec![$($arg.into()),*])
        })*

        /// The constructors with their arguments.
        #[cfg(test)]
        const CONSTRUCTED: &[(&str, &[&str])] =
            &[$((stringify!($name), &[$(stringify!($arg)),*])),*];
    };
}

family_table!(constructors);

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
    use crate::distribution::FAMILIES;

    /// Arguments are the parameters of the family, in order, but for those that have a default.
    #[test]
    fn constructors_take_what_their_families_need() {
        for (family, (name, arguments)) in FAMILIES.iter().zip(CONSTRUCTED) {
            assert_eq!(family.name(), *name);
            let parameters = family.parameters();
            assert!(arguments.len() <= parameters.len(), "{name}");
            let is_optional = |k: usize| {
                let parameter = &parameters[k];
                parameter.default.is_some() || parameter.same_as.is_some()
            };
            for (k, parameter) in parameters.iter().enumerate() {
                match arguments.get(k) {
                    Some(argument) => {
                        let is_known = parameter.name == *argument;
                        assert!(is_known || parameter.aliases.contains(argument), "{name}");
                    }
                    None => assert!(is_optional(k), "{name} cannot give `{}`", parameter.name),
                }
            }
        }
    }
}
