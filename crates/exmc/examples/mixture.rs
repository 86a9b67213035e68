//! Two kinds of eruptions: a mixture with ordered means, on counts.
//!
//! Minutes between eruptions of Old Faithful (272 of them; Azzalini & Bowman 1990; R's `faithful`).
//! Swapping the two components leaves the likelihood unchanged, so without more said the posterior
//! has two modes that are one; ordered means keep one of them. Equal waiting times have equal
//! densities, so 54 counts as weights do the work of 272 observations.

#![expect(clippy::print_stdout, reason = "examples print what they teach")]

mod common;

use exmc::distributions::{dirichlet, half_normal, mixture, normal};
use exmc::model::{Expr, TransformSpec};
use exmc::{Error, ModelBuilder, SamplerConfig};

/// How often 43, 44, ... 96 minutes passed.
const COUNT: [f64; 54] = [
    1.0, 0.0, 3.0, 5.0, 4.0, 3.0, 5.0, 5.0, 6.0, 5.0, 7.0, 9.0, 6.0, 4.0, 3.0, 4.0, 7.0, 6.0, 0.0,
    4.0, 3.0, 4.0, 3.0, 2.0, 1.0, 1.0, 2.0, 4.0, 5.0, 1.0, 7.0, 6.0, 8.0, 9.0, 12.0, 15.0, 10.0,
    8.0, 13.0, 12.0, 14.0, 10.0, 6.0, 6.0, 2.0, 6.0, 3.0, 6.0, 1.0, 1.0, 2.0, 1.0, 0.0, 1.0,
];

/// Posterior means and standard deviations by quadrature in five dimensions
/// (examples/reference/exact.py).
const EXACT: [(&str, f64, Option<f64>); 5] = [
    ("mu[0]", 54.6643, Some(0.744584)),
    ("mu[1]", 80.07828, Some(0.522)),
    ("sigma[0]", 6.026539, Some(0.590531)),
    ("sigma[1]", 5.945884, Some(0.420285)),
    ("weight[0]", 0.3632839, Some(0.0313944)),
];

pub(crate) fn main() -> Result<(), Error> {
    let minutes: Vec<f64> = (43..=96).map(f64::from).collect();
    let mut model = ModelBuilder::new();
    model.rv("weight", dirichlet([2.0, 2.0]));
    model.rv("mu", normal(70.0, 20.0)).shape([2]).transform(TransformSpec::Ordered);
    model.rv("sigma", half_normal(20.0)).shape([2]);
    let component = |k| normal(Expr::name("mu").at(k), Expr::name("sigma").at(k));
    model.rv("wait", mixture("weight", [component(0), component(1)])).shape([minutes.len()]);
    model.observe("wait_obs", "wait", minutes).weight(COUNT);

    let fit = exmc::sample(&model.build()?, &SamplerConfig::default().seed(272))?;
    println!("waiting times, short and long:");
    common::check(&fit, &EXACT);
    Ok(())
}
