//! A mean of normal data, with known and unknown spread: the first model to write, and to check.
//!
//! With a normal prior and a known spread the posterior is normal, in closed form: precisions add,
//! and the mean is the precision-weighted one. So this is also the first model to test a sampler
//! with. A sampler may get means right and spreads wrong; compare both.

#![expect(clippy::print_stdout, reason = "examples print what they teach")]

mod common;

use exmc::distributions::{beta, binomial, half_normal, normal};
use exmc::{Error, ModelBuilder, SamplerConfig};

const Y: [f64; 5] = [2.1, 2.5, 1.8, 2.3, 2.7];

pub(crate) fn main() -> Result<(), Error> {
    let fit =
        |model: &ModelBuilder| exmc::sample(&model.build()?, &SamplerConfig::default().seed(1));

    println!("mean of five measurements, known spread:");
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 10.0));
    model.rv("y", normal("mu", 1.0)).shape([5]);
    model.observe("y_obs", "y", Y);
    let precision = 1.0 / 100.0 + Y.len() as f64;
    let mean = Y.iter().sum::<f64>() / precision;
    common::check(&fit(&model)?, &[("mu", mean, Some(precision.sqrt().recip()))]);

    println!("unknown spread (exact by quadrature, examples/reference/exact.py):");
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 10.0));
    model.rv("sigma", half_normal(2.0));
    model.rv("y", normal("mu", "sigma")).shape([5]);
    model.observe("y_obs", "y", Y);
    let exact = [("mu", 2.27836, Some(0.26846)), ("sigma", 0.52471, Some(0.29326))];
    common::check(&fit(&model)?, &exact);

    println!("share of lakes with algae, 44 of 274 (uniform prior: a beta posterior):");
    let mut model = ModelBuilder::new();
    model.rv("share", beta(1.0, 1.0));
    model.rv("lakes", binomial(274, "share"));
    model.observe("lakes_obs", "lakes", 44);
    let (a, b): (f64, f64) = (1.0 + 44.0, 1.0 + 230.0);
    let mean = a / (a + b);
    let sd = (mean * (1.0 - mean) / (a + b + 1.0)).sqrt();
    common::check(&fit(&model)?, &[("share", mean, Some(sd))]);
    Ok(())
}
