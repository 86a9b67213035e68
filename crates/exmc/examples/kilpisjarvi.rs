//! Do summers at Kilpisjärvi get warmer? A linear trend, with the probability that it rises.
//!
//! Summer (June to August) mean temperatures 1952 to 2013 in degrees Celsius, measured by the
//! Finnish Meteorological Institute (open data, CC BY 4.0), as in the demonstrations of Gelman et
//! al. 2013. Years are centred: intercept and slope are then all but independent, which samplers
//! and readers like.

#![expect(clippy::print_stdout, reason = "examples print what they teach")]

mod common;

use exmc::distributions::{half_normal, normal};
use exmc::model::Expr;
use exmc::{Error, ModelBuilder, SamplerConfig};

const TEMPERATURE: [f64; 62] = [
    8.3, 10.9, 9.4, 8.1, 8.1, 7.7, 8.6, 9.1, 11.0, 10.1, 7.6, 8.8, 8.3, 7.2, 9.3, 8.8, 7.6, 10.5,
    11.0, 8.9, 11.3, 10.0, 10.1, 6.4, 8.2, 8.4, 9.5, 9.9, 10.6, 7.6, 7.7, 8.1, 8.4, 9.7, 9.5, 7.3,
    10.3, 9.6, 10.3, 9.8, 9.0, 9.1, 9.5, 8.7, 9.9, 10.5, 9.4, 9.0, 9.0, 9.7, 11.4, 10.7, 10.1,
    10.8, 10.4, 10.3, 8.8, 9.8, 8.8, 10.8, 8.6, 11.1,
];

/// Posterior means and standard deviations by quadrature (examples/reference/exact.py). Least
/// squares has 9.312903, 0.020503 and 1.108: the priors pull little.
const EXACT: [(&str, f64, Option<f64>); 4] = [
    ("alpha", 9.313472, Some(0.143884)),
    ("beta", 0.0203714, Some(0.0080169)),
    ("sigma", 1.128532, Some(0.105287)),
    ("rises", 0.993879, None),
];

pub(crate) fn main() -> Result<(), Error> {
    let year: Vec<f64> = (0..62).map(|k| f64::from(k) - 30.5).collect();
    let mut model = ModelBuilder::new();
    model.plate("year", 62);
    model.rv("alpha", normal(10.0, 5.0));
    model.rv("beta", normal(0.0, 0.1));
    model.rv("sigma", half_normal(2.0));
    model.rv("temperature", normal("alpha" + Expr::name("beta") * year, "sigma")).over(["year"]);
    model.observe("temperature_obs", "temperature", TEMPERATURE);
    // 1 in draws where the trend rises, 0 elsewhere: its mean is a probability.
    model.det("rises", Expr::from(0.0).lt("beta"));

    let fit = exmc::sample(&model.build()?, &SamplerConfig::default().seed(1952).draws(4000))?;
    println!("temperature = alpha + beta * (year - 1982.5) + noise:");
    common::check(&fit, &EXACT);
    println!("Summers warm by 0.2 degrees a decade, with probability 0.99 by more than nothing.");
    Ok(())
}
