//! Stan's names of distributions -> exmc-model's families, and how the two differ.

use exmc_model::distribution::{Distribution, find_family};

/// A family under its name in Stan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The family.
    pub(super) family: &'static dyn Distribution,
    /// Outcomes count from one, where ours count from zero.
    pub(super) one_based: bool,
    /// What an outcome outside of the support means.
    pub(super) outside: Outside,
}

/// What Stan does with an outcome outside of the support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outside {
    /// An error, which rejects the draw.
    Rejects,
    /// A density of zero.
    Impossible,
    /// The formula holds there too.
    Anywhere,
}

/// Names that are the same in Stan.
const SAME: &[&str] = &[
    "normal",
    "std_normal",
    "student_t",
    "cauchy",
    "logistic",
    "gumbel",
    "lognormal",
    "chi_square",
    "exponential",
    "gamma",
    "weibull",
    "pareto",
    "beta",
    "uniform",
    "von_mises",
    "skew_normal",
    "bernoulli",
    "bernoulli_logit",
    "binomial",
    "binomial_logit",
    "poisson",
    "poisson_log",
    "categorical",
    "categorical_logit",
    "ordered_logistic",
    "dirichlet",
    "multinomial",
    "multi_normal",
    "multi_normal_cholesky",
    "lkj_corr_cholesky",
];

/// Names in Stan of families that go by another name here.
const OTHER: &[(&str, &str)] = &[
    ("double_exponential", "laplace"),
    ("inv_gamma", "inverse_gamma"),
    ("neg_binomial_2", "negative_binomial"),
];

/// The family that Stan calls `name`.
pub(super) fn find(name: &str) -> Option<Entry> {
    let other = OTHER.iter().find(|(stan, _)| *stan == name).map(|(_, ours)| *ours);
    let ours = other.or_else(|| SAME.iter().find(|same| **same == name).copied())?;
    let family = find_family(ours)?;
    let one_based = matches!(name, "categorical" | "categorical_logit" | "ordered_logistic");
    let outside = match name {
        "uniform" | "pareto" | "inv_gamma" => Outside::Impossible,
        "von_mises" => Outside::Anywhere,
        _ => Outside::Rejects,
    };
    Some(Entry { family, one_based, outside })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_family() {
        for name in SAME.iter().copied().chain(OTHER.iter().map(|(stan, _)| *stan)) {
            assert!(find(name).is_some(), "{name}");
        }
    }
}
