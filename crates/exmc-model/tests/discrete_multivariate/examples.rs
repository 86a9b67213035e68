//! One row a family: ordinary arguments at which gradients, draws and shapes are checked.

use exmc_model::distribution::FAMILIES;

/// Arguments of one family, and outcomes in its support.
pub(crate) struct Example {
    pub(crate) family: &'static str,
    pub(crate) parameters: &'static [&'static [f64]],
    pub(crate) outcomes: &'static [&'static [f64]],
}

const fn row(
    family: &'static str,
    parameters: &'static [&'static [f64]],
    outcomes: &'static [&'static [f64]],
) -> Example {
    Example { family, parameters, outcomes }
}

pub(crate) const EXAMPLES: &[Example] = &[
    row(
        "ar",
        &[&[0.5, -0.25], &[0.7], &[0.1], &[0.2], &[2.0]],
        &[&[0.3, 0.8, -0.1, 0.4, 1.0], &[0.0, 0.0, 0.0, 0.0, 0.0], &[3.0, -1.0, 2.0, 1.0, 0.5]],
    ),
    row("bernoulli", &[&[0.3]], &[&[0.0], &[1.0]]),
    row("bernoulli_logit", &[&[-0.7]], &[&[0.0], &[1.0]]),
    row("binomial", &[&[12.0], &[0.3]], &[&[0.0], &[4.0], &[12.0]]),
    row("binomial_logit", &[&[12.0], &[-0.7]], &[&[0.0], &[4.0], &[12.0]]),
    row("categorical", &[&[0.2, 0.3, 0.5]], &[&[0.0], &[1.0], &[2.0]]),
    row("categorical_logit", &[&[1.0, -2.0, 0.5]], &[&[0.0], &[1.0], &[2.0]]),
    row(
        "dirichlet",
        &[&[0.3, 2.0, 5.0]],
        &[&[0.2, 0.3, 0.5], &[0.05, 0.05, 0.9], &[0.5, 0.25, 0.25]],
    ),
    row("gaussian_random_walk", &[&[0.5], &[3.0], &[0.2]], &[&[0.5, 1.0, 0.7], &[0.0, -2.0, 1.0]]),
    row(
        "lkj_corr_cholesky",
        &[&[1.5]],
        &[
            &[1.0, 0.0, 0.0, 0.6, 0.8, 0.0, 0.48, 0.6, 0.64],
            &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -0.28, 0.96],
        ],
    ),
    row(
        "multi_normal",
        &[&[0.5, -1.0], &[2.0, 0.5, 0.5, 1.0]],
        &[&[1.0, 2.0], &[0.5, -1.0], &[-4.0, 0.25]],
    ),
    row(
        "multi_normal_cholesky",
        &[&[0.5, -1.0], &[1.5, 0.0, -0.5, 0.25]],
        &[&[1.0, 2.0], &[0.5, -1.0], &[-4.0, 0.25]],
    ),
    row("multinomial", &[&[4.0], &[0.2, 0.3, 0.5]], &[&[1.0, 2.0, 1.0], &[0.0, 0.0, 4.0]]),
    row("negative_binomial", &[&[3.0], &[2.0]], &[&[0.0], &[4.0], &[40.0]]),
    row("ordered_logistic", &[&[0.7], &[-2.0, -0.5, 0.25, 3.0]], &[&[0.0], &[2.0], &[4.0]]),
    row("poisson", &[&[6.5]], &[&[0.0], &[4.0], &[40.0]]),
    row("poisson_log", &[&[1.3]], &[&[0.0], &[4.0], &[40.0]]),
];

/// The row of a family.
pub(crate) fn example(family: &str) -> &'static Example {
    EXAMPLES.iter().find(|e| e.family == family).unwrap()
}

#[test]
fn every_family_has_a_row() {
    // All families that are discrete or have vectors or matrices as outcomes belong here.
    let ours: Vec<_> = FAMILIES
        .iter()
        .filter(|f| f.support().is_discrete() || f.event_rank() > 0)
        .map(|f| f.name())
        .collect();
    let rows: Vec<_> = EXAMPLES.iter().map(|e| e.family).collect();
    for name in &ours {
        assert!(rows.contains(name), "{name} has no row in EXAMPLES");
    }
    assert_eq!(rows.len(), ours.len(), "a row without a registered family");
    for e in EXAMPLES {
        let f = super::harness::family(e.family);
        assert_eq!(f.parameters().len(), e.parameters.len(), "{}", e.family);
    }
}

#[test]
fn other_names_find_the_same_families() {
    for (alias, name) in [
        ("grw", "gaussian_random_walk"),
        ("mv_normal", "multi_normal"),
        ("neg_binomial_2", "negative_binomial"),
        ("lkj_cholesky", "lkj_corr_cholesky"),
        ("autoregressive", "ar"),
    ] {
        assert_eq!(super::harness::family(alias).name(), name);
    }
}
