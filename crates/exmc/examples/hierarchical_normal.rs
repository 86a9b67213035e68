//! A hierarchy with one group: what it says, and how to sample it when non-centring is not enough.
//!
//! One group has data, so its mean `alpha` is well known, but the population it comes from is not:
//! one draw says little about a mean and less about a spread. Priors decide.
//!
//! Centred, the model is a funnel: where `sigma_group` is small, `mu_group` must be close to
//! `alpha`. Non-centred, `alpha = mu_group + sigma_group * z` must still meet the data, so the
//! three lie on a thin curved sheet. Turned around it is easy: with `mu_group` integrated out,
//! `alpha` has its own prior, and `mu_group` given `alpha` is normal, in closed form. All are one
//! posterior.

#![expect(clippy::print_stdout, reason = "examples print what they teach")]

mod common;

use exmc::distributions::{half_normal, normal};
use exmc::model::Expr;
use exmc::{Error, ModelBuilder, SamplerConfig};

const Y: [f64; 5] = [4.1, 3.8, 4.5, 4.2, 3.9];

/// Posterior means and standard deviations by quadrature over `sigma_group`, given which the other
/// two are normal (examples/reference/exact.py).
const EXACT: [(&str, f64, Option<f64>); 3] = [
    ("alpha", 4.098243, Some(0.223559)),
    ("mu_group", 3.513650, Some(3.831395)),
    ("sigma_group", 3.717080, Some(2.835085)),
];

pub(crate) fn main() -> Result<(), Error> {
    for form in ["non-centred", "turned around"] {
        let mut model = ModelBuilder::new();
        model.rv("sigma_group", half_normal(5.0));
        if form == "turned around" {
            // Variances add; the conditional mean takes the share that the population's mean
            // explains.
            let variance = 100.0 + Expr::name("sigma_group").square();
            model.rv("alpha", normal(0.0, variance.clone().sqrt())).centred();
            let explained = 100.0 / variance;
            let left_over = 10.0 * (1.0 - explained.clone()).sqrt();
            model.rv("mu_group", normal(explained * "alpha", left_over)).non_centred();
        } else {
            model.rv("mu_group", normal(0.0, 10.0));
            model.rv("alpha", normal("mu_group", "sigma_group")).non_centred();
        }
        model.rv("y", normal("alpha", 0.5)).shape([Y.len()]);
        model.observe("y_obs", "y", Y);

        let mut settings = SamplerConfig::default().seed(3);
        // A thin sheet needs small steps, and many draws: at 0.95 the spread comes out too small.
        if form == "non-centred" {
            settings = settings.target_accept(0.99).draws(4000);
        }
        let fit = exmc::sample(&model.build()?, &settings)?;
        println!("{form}:");
        common::check(&fit, &EXACT);
    }
    println!(
        "Compare effective draws to leapfrog steps: the form of a model is worth more than its sampler."
    );
    Ok(())
}
