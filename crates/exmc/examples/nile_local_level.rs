//! The Nile's level as a random walk: a state-space model without a filter.
//!
//! Each year's flow is a level and noise; the level takes a random step from year to year. The
//! Kalman smoother gives the levels' posterior in closed form when both scales are known (Durbin &
//! Koopman 2012, ch. 2): it is written out below, as the answer to compare with. NUTS samples all
//! hundred levels at once. With unknown scales the levels hold the walk's scale fast: given all of
//! them it is known to seven percent, so it moves slowly. Integrated out first, they leave an easy
//! posterior.

#![expect(clippy::print_stdout, reason = "examples print what they teach")]

mod common;
mod nile;

use std::f64::consts::PI;

use exmc::distributions::{gaussian_random_walk, half_normal, normal};
use exmc::model::{Expr, Tensor, TransformSpec};
use exmc::{Error, ModelBuilder, SamplerConfig};

/// Means and standard deviations of the levels given all flows: filter forward, smooth backward.
fn kalman_smoother(flow: &[f64], noise: f64, step: f64, mean: f64, sd: f64) -> Vec<(f64, f64)> {
    let (mut mean, mut variance) = (mean, sd * sd);
    let mut filtered = Vec::new();
    for y in flow {
        let gain = variance / (variance + noise * noise);
        mean += gain * (y - mean);
        variance *= 1.0 - gain;
        filtered.push((mean, variance));
        variance += step * step;
    }
    let mut smoothed = *filtered.last().expect("there are flows");
    let mut levels = vec![smoothed];
    for &(mean, variance) in filtered.iter().rev().skip(1) {
        let predicted = variance + step * step;
        let gain = variance / predicted;
        smoothed =
            (mean + gain * (smoothed.0 - mean), variance + gain * gain * (smoothed.1 - predicted));
        levels.push(smoothed);
    }
    levels.iter().rev().map(|(mean, variance)| (*mean, variance.sqrt())).collect()
}

pub(crate) fn main() -> Result<(), Error> {
    let settings = SamplerConfig::default().seed(1871).warmup(500).draws(500);
    let fit = |model: &ModelBuilder| exmc::sample(&model.build()?, &settings);

    println!("scales known, a random walk as such:");
    let (noise, step) = (15098.5_f64.sqrt(), 1469.1_f64.sqrt());
    let levels = kalman_smoother(&nile::FLOW, noise, step, 1000.0, 500.0);
    assert!((levels[27].0 - 999.59).abs() < 0.01, "the smoother gives the published level of 1898");
    let mut model = ModelBuilder::new();
    model.plate("year", 100);
    // Standard deviations of a step and of the first value, and the first value's mean.
    let walk = gaussian_random_walk(step, 500).with("initial_mean", 1000);
    model.rv("level", walk).over(["year"]);
    model.rv("flow", normal("level", noise)).over(["year"]);
    model.observe("flow_obs", "flow", nile::FLOW);
    let names: Vec<String> = (0..100).map(|year| format!("level[{year}]")).collect();
    let exact: Vec<(&str, f64, Option<f64>)> =
        [0, 27, 50, 99].map(|t| (names[t].as_str(), levels[t].0, Some(levels[t].1))).to_vec();
    common::check(&fit(&model)?, &exact);

    println!("scales unknown, levels integrated out:");
    // Orthonormal sine waves are the walk's own axes: along each its variance is step^2 * variance,
    // independent of the others, and so is the noise's. What is left has three parameters.
    let n = nile::FLOW.len() - 1;
    let odd = (2 * n + 1) as f64;
    let frequency: Vec<f64> = (0..n).map(|k| (2 * k + 1) as f64 * PI / odd).collect();
    let angle: Vec<f64> =
        frequency.iter().flat_map(|w| (1..=n).map(move |year| w * year as f64)).collect();
    let angle = Tensor::real([n, n], angle).expect("n rows of n");
    let waves = 2.0 / odd.sqrt() * Expr::from(angle).sin();
    let variance = 0.25 / (0.5 * Expr::from(frequency)).sin().square();
    let mut model = ModelBuilder::new();
    model.rv("noise", half_normal(200.0));
    // The default, softplus, is the identity at a scale of tens, with a wall at zero that steps run
    // into.
    model.rv("step", half_normal(100.0)).transform(TransformSpec::Log);
    model.rv("first", normal(1000.0, 500.0)).centred();
    model.rv("flow_1871", normal("first", "noise"));
    model.observe("flow_1871_obs", "flow_1871", nile::FLOW[0]);
    let spread = Expr::name("step").square() * variance + Expr::name("noise").square();
    model.rv("waves", normal(waves.clone().matmul(vec![1.0; n]) * "first", spread.sqrt()));
    model.observe("waves_obs", "waves", waves.matmul(&nile::FLOW[1..]));
    // By quadrature over the filter's likelihood (examples/reference/exact.py).
    let exact = [("noise", 122.1136, Some(12.6452)), ("step", 43.8323, Some(15.9386))];
    common::check(&fit(&model)?, &exact);
    println!("What is normal given the rest can be integrated out: 102 parameters became 3.");
    Ok(())
}
