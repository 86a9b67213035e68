//! Stan's names of distributions -> exmc-model's families, and how the two differ.

use exmc_graph::{Graph, NodeId};
use exmc_model::Support;
use exmc_model::distribution::{Distribution, Parameter, find_family};

use super::distributions::{self, Formula, Tail};

/// A family under its name in Stan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Its formulas.
    pub(super) formulas: Formulas,
    /// Outcomes count from one, where ours count from zero.
    pub(super) one_based: bool,
    /// What an outcome outside of the support means.
    pub(super) outside: Outside,
}

/// Where a distribution's formulas are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Formulas {
    /// In exmc-model.
    Family(&'static dyn Distribution),
    /// In this crate.
    Own(&'static Formula),
}

impl Formulas {
    pub(super) fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::Family(family) => family.parameters(),
            Self::Own(formula) => formula.parameters,
        }
    }

    pub(super) fn support(self) -> Support {
        match self {
            Self::Family(family) => family.support(),
            Self::Own(formula) => formula.support,
        }
    }

    pub(super) fn event_rank(self) -> usize {
        match self {
            Self::Family(family) => family.event_rank(),
            Self::Own(formula) => formula.event_rank,
        }
    }

    pub(super) fn lpdf(self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        match self {
            Self::Family(family) => family.lpdf(g, y, args),
            Self::Own(formula) => (formula.lpdf)(g, y, args),
        }
    }

    pub(super) fn tail(
        self,
        g: &mut Graph,
        y: NodeId,
        args: &[NodeId],
        tail: Tail,
    ) -> Option<NodeId> {
        match self {
            Self::Family(family) if family.name() == "von_mises" => {
                Some(distributions::von_mises::tail(g, y, args, tail))
            }
            Self::Family(family) if tail == Tail::Lower => family.lcdf(g, y, args),
            Self::Family(family) => family.lccdf(g, y, args),
            Self::Own(formula) if !distributions::has_tails(g, formula, y, args) => None,
            Self::Own(formula) => formula.tails.map(|f| f(g, y, args, tail)),
        }
    }
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
    let ours = other.or_else(|| SAME.iter().find(|same| **same == name).copied());
    let formulas = match ours {
        Some(ours) => Formulas::Family(find_family(ours)?),
        None => Formulas::Own(distributions::find(name)?),
    };
    let one_based =
        matches!(name, "categorical" | "categorical_logit" | "ordered_logistic" | "ordered_probit");
    let outside = match name {
        "uniform"
        | "pareto"
        | "inv_gamma"
        | "inv_chi_square"
        | "scaled_inv_chi_square"
        | "discrete_range"
        | "beta_binomial" => Outside::Impossible,
        "von_mises" => Outside::Anywhere,
        _ => Outside::Rejects,
    };
    Some(Entry { formulas, one_based, outside })
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
