//! When did the Nile's flow drop? A change point, with the discrete year summed out.
//!
//! Gradient samplers need continuous parameters. A year is not, but there are only 99 to choose
//! from, so the likelihood is a sum over them: `log_sum_exp` of the log likelihoods given each.
//! Nothing is lost: given a draw of the rest, the probability of each year is the softmax of the
//! same numbers, and the mean over draws is the posterior of the year, better than drawing years
//! would estimate it.

#![expect(clippy::print_stdout, reason = "examples print what they teach")]

mod common;
mod nile;

use exmc::distributions::{half_normal, normal};
use exmc::model::Expr;
use exmc::{Error, ModelBuilder, SamplerConfig};

/// By quadrature over `sigma`, given which and the year both means are normal
/// (examples/reference/exact.py). `last[k]` is the probability that 1871 + k is the last year
/// before the change.
const EXACT: [(&str, f64, Option<f64>); 7] = [
    ("mu_before", 1094.418, Some(24.730)),
    ("mu_after", 851.215, Some(15.375)),
    ("sigma", 129.819, Some(9.504)),
    ("last[25]", 0.05743, None),
    ("last[26]", 0.12203, None),
    ("last[27]", 0.75875, None),
    ("last[28]", 0.04681, None),
];

/// Log density of each year's flow if its mean is `mu`, as an expression.
fn log_normal(mu: &str) -> Expr {
    let z = ("flow" - Expr::name(mu)) / "sigma";
    -0.5 * z.square() - Expr::name("sigma").log() - 0.5 * Expr::from(std::f64::consts::TAU).log()
}

pub(crate) fn main() -> Result<(), Error> {
    let mut model = ModelBuilder::new();
    model.data("flow", exmc::model::Tensor::vector(&nile::FLOW));
    model.rv("mu_before", normal(919.35, 200.0));
    model.rv("mu_after", normal(919.35, 200.0));
    model.rv("sigma", half_normal(200.0));
    // Log likelihood if the first k + 1 years come before the change, for k = 0 to 98: one running
    // sum gives all of them.
    let (before, after) = (log_normal("mu_before"), log_normal("mu_after"));
    let by_year = (before - &after).cumulative_sum().slice(0, 99) + after.sum();
    model.potential("log_likelihood", by_year.clone().log_sum_exp());
    model.det("last", by_year.softmax());

    let fit = exmc::sample(&model.build()?, &SamplerConfig::default().seed(1898))?;
    println!("flow of the Nile, one change of mean between 1871 and 1970:");
    common::check(&fit, &EXACT);
    println!("The flow dropped after 1898, the year before work on the old Aswan dam began.");
    Ok(())
}
