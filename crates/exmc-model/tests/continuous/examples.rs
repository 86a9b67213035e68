//! The table: ordinary parameters and outcomes of every family here, on which the general tests
//! run.

use std::collections::BTreeSet;

/// One family with parameters.
pub(crate) struct Example {
    pub(crate) family: &'static str,
    pub(crate) parameters: &'static [f64],
    /// Inner points, in the middle and in both tails, at none of which a derivative jumps.
    pub(crate) outcomes: &'static [f64],
    /// A point of the support to integrate from in both directions (an end where there is one).
    pub(crate) origin: f64,
    /// A typical distance from it.
    pub(crate) scale: f64,
}

const INF: f64 = f64::INFINITY;

macro_rules! examples {
    ($($family:ident($($p:expr),*) from $origin:expr, scale $scale:expr, at $outcomes:expr;)*) => {
        pub(crate) const EXAMPLES: &[Example] = &[$(Example {
            family: stringify!($family),
            parameters: &[$($p),*],
            outcomes: &$outcomes,
            origin: $origin,
            scale: $scale,
        }),*];
    };
}

examples! {
    normal(0.5, 2.0) from 0.5, scale 2.0, at [-7.0, 0.0, 1.5, 6.0];
    std_normal() from 0.0, scale 1.0, at [-4.0, -0.3, 0.7, 3.0];
    half_normal(1.5) from 0.0, scale 1.5, at [0.05, 0.7, 2.0, 6.0];
    student_t(5.0, 1.0, 2.0) from 1.0, scale 2.0, at [-30.0, -0.5, 1.2, 4.0, 25.0];
    student_t(0.8, 0.0, 1.0) from 0.0, scale 1.0, at [-30.0, -0.5, 0.2, 4.0];
    half_student_t(4.5, 0.7) from 0.0, scale 0.7, at [0.03, 0.4, 1.3, 9.0];
    cauchy(-1.0, 0.8) from -1.0, scale 0.8, at [-90.0, -1.3, -0.8, 0.4, 40.0];
    half_cauchy(2.0) from 0.0, scale 2.0, at [0.1, 1.3, 2.6, 50.0];
    laplace(0.5, 1.2) from 0.5, scale 1.2, at [-9.0, 0.1, 0.8, 7.0];
    logistic(1.0, 0.6) from 1.0, scale 0.6, at [-9.0, 0.8, 1.3, 14.0];
    lognormal(0.3, 0.6) from 0.0, scale 1.0, at [0.05, 0.8, 1.6, 9.0];
    exponential(2.5) from 0.0, scale 0.4, at [0.02, 0.4, 3.0];
    gamma(3.2, 2.0) from 0.0, scale 1.5, at [0.05, 0.9, 2.0, 8.0];
    gamma(0.6, 0.5) from 0.0, scale 1.0, at [0.01, 0.9, 12.0];
    inverse_gamma(4.5, 2.0) from 0.0, scale 0.5, at [0.1, 0.4, 1.0, 6.0];
    chi_square(5.0) from 0.0, scale 4.0, at [0.2, 3.0, 7.0, 30.0];
    weibull(1.7, 2.0) from 0.0, scale 2.0, at [0.05, 1.1, 2.7, 7.0];
    gumbel(0.4, 1.3) from 0.4, scale 1.3, at [-3.0, 0.1, 1.3, 12.0];
    pareto(1.5, 4.5) from 1.5, scale 0.5, at [1.6, 2.2, 9.0];
    beta(2.5, 4.0) from 0.0, scale 1.0, at [0.03, 0.3, 0.6, 0.97];
    beta(0.7, 0.6) from 0.0, scale 1.0, at [0.03, 0.3, 0.6, 0.97];
    uniform(-1.0, 3.5) from -1.0, scale 1.0, at [-0.9, 1.0, 3.2];
    von_mises(0.7, 2.3) from 0.7, scale 1.0, at [-3.0, 0.3, 1.0, 2.9];
    skew_normal(0.5, 1.5, 3.0) from 0.5, scale 1.5, at [-3.0, -1.0, 0.4, 0.7, 2.0, 6.0];
    skew_normal(0.0, 1.0, -0.6) from 0.0, scale 1.0, at [-3.0, -0.2, 0.4, 5.0];
    truncated_normal(0.5, 2.0, -1.0, 4.0) from -1.0, scale 1.0, at [-0.9, 0.4, 3.5];
    truncated_normal(0.5, 2.0, 6.0, INF) from 6.0, scale 1.0, at [6.1, 7.0, 11.0];
    truncated_normal(0.5, 2.0, -INF, 0.0) from 0.0, scale 1.0, at [-7.0, -0.5, -0.1];
    truncated_normal(0.5, 2.0, -INF, INF) from 0.5, scale 2.0, at [-3.5, 0.4, 3.0];
    truncated_normal(0.5, 2.0, 0.7, 0.71) from 0.7, scale 1.0, at [0.702, 0.707];
}

#[test]
fn every_registered_continuous_family_has_a_row_and_no_other() {
    let rows: BTreeSet<_> = EXAMPLES.iter().map(|e| e.family).collect();
    let registered: BTreeSet<_> = exmc_model::distribution::FAMILIES
        .iter()
        .filter(|f| f.event_rank() == 0 && !f.support().is_discrete())
        .map(|f| f.name())
        .collect();
    assert_eq!(rows, registered);
}
