//! Missing values are parameters: regression with holes in the predictor and in the outcome.
//!
//! Body mass index and cholesterol of 25 people (a US health survey; Schafer 1997, Table 6.14;
//! `nhanes` in R's mice). Ten or so of each are missing. Elements that were not seen stay free
//! variables, with the distribution that the model gives them: a missing predictor is drawn from
//! its population and from what the outcome says of it, and no row is thrown away.

#![expect(clippy::print_stdout, reason = "examples print what they teach")]

mod common;

use exmc::distributions::{half_normal, normal};
use exmc::model::Expr;
use exmc::{Error, ModelBuilder, SamplerConfig};

const NA: Option<f64> = None;

#[rustfmt::skip]
const BMI: [Option<f64>; 25] = [
    NA, Some(22.7), NA, NA, Some(20.4), NA, Some(22.5), Some(30.1), Some(22.0), NA, NA, NA, Some(21.7),
    Some(28.7), Some(29.6), NA, Some(27.2), Some(26.3), Some(35.3), Some(25.5), NA, Some(33.2), Some(27.5),
    Some(24.9), Some(27.4),
];
#[rustfmt::skip]
const CHOLESTEROL: [Option<f64>; 25] = [
    NA, Some(187.0), Some(187.0), NA, Some(113.0), Some(184.0), Some(118.0), Some(187.0), Some(238.0), NA,
    NA, NA, Some(206.0), Some(204.0), NA, NA, Some(284.0), Some(199.0), Some(218.0), NA, NA, Some(229.0),
    Some(131.0), NA, Some(186.0),
];

/// Posterior means and standard deviations by quadrature over the five parameters, the missing
/// values integrated in closed form (examples/reference/exact.py).
const EXACT: [(&str, f64, Option<f64>); 7] = [
    ("mean", 26.54019, Some(1.13423)),
    ("sd", 4.520775, Some(0.89317)),
    ("alpha", 191.8738, Some(11.9124)),
    ("beta", 3.274788, Some(2.70571)),
    ("noise", 46.37215, Some(9.35803)),
    ("bmi[2]", 26.40624, None),
    ("cholesterol[14]", 202.0256, None),
];

pub(crate) fn main() -> Result<(), Error> {
    let mut model = ModelBuilder::new();
    model.plate("person", 25);
    model.rv("mean", normal(26.5, 10.0));
    model.rv("sd", half_normal(10.0));
    model.rv("bmi", normal("mean", "sd")).over(["person"]);
    model.observe_partly("bmi_obs", "bmi", &BMI);
    model.rv("alpha", normal(200.0, 50.0));
    model.rv("beta", normal(0.0, 10.0));
    model.rv("noise", half_normal(50.0));
    let line = "alpha" + Expr::name("beta") * (Expr::name("bmi") - 26.5);
    model.rv("cholesterol", normal(line, "noise")).over(["person"]);
    model.observe_partly("cholesterol_obs", "cholesterol", &CHOLESTEROL);

    let fit = exmc::sample(&model.build()?, &SamplerConfig::default().seed(25))?;
    println!("cholesterol = alpha + beta * (bmi - 26.5) + noise:");
    common::check(&fit, &EXACT);
    Ok(())
}
