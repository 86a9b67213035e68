//! Integrated-out variables whose location depends on parameters: a position -> the mean and
//! deviation of what is recorded.
//!
//! Priors without likelihoods, missing outcomes, new groups, chains of latents and hierarchies
//! without data: what is recorded at a position is an affine function of standard normal numbers,
//! whose constant and columns have closed forms.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc::advanced::{BoundModel, CompileOptions, compile, sample, variables};
use exmc::model::{Tensor, Values};
use exmc::stan::StanOptions;
use exmc::{SamplerConfig, StanProgram};
use exmc_model::read_json;

fn program(text: &str, data: &str) -> BoundModel {
    let mut options = StanOptions::default();
    options.compile.marginalise = Some(true);
    let program = StanProgram::from_text("model.stan", text).unwrap();
    program.bind_with("data.json", data, &options).unwrap().bound().clone()
}

/// Every recorded element's mean and deviation at a position: its value at zero noise, and the root
/// of the sum of squares of its columns.
fn drawn(model: &BoundModel, given: &[(&str, f64)], name: &str) -> Vec<(f64, f64)> {
    let given: Values =
        given.iter().map(|(name, x)| ((*name).to_owned(), Tensor::scalar(*x))).collect();
    let position = model.unconstrain(&given).unwrap();
    assert!(position.iter().all(|x| !x.is_nan()), "a variable is not given");
    let columns = variables(model);
    let column = columns.iter().find(|v| v.name == name).unwrap();
    let range = column.offset..column.offset + column.len();
    let len: usize = model.integrated_out().map(|(_, len)| len).sum();
    let mut trace = model.trace_instance();
    let mut row = vec![0.0; model.trace_width()];
    let mut noise = vec![0.0; len];
    trace.evaluate_at_noise(&position, &noise, &mut row).unwrap();
    let mean = row[range.clone()].to_vec();
    let mut variance = vec![0.0; mean.len()];
    for k in 0..len {
        noise[k] = 1.0;
        trace.evaluate_at_noise(&position, &noise, &mut row).unwrap();
        noise[k] = 0.0;
        let moved = row[range.clone()].iter().zip(&mean).zip(&mut variance);
        moved.for_each(|((x, mean), variance)| *variance += (x - mean) * (x - mean));
    }
    mean.into_iter().zip(variance).map(|(mean, variance)| (mean, variance.sqrt())).collect()
}

#[track_caller]
fn all_are(found: &[(f64, f64)], mean: f64, deviation: f64) {
    assert!(!found.is_empty());
    for (k, (a, b)) in found.iter().enumerate() {
        let near =
            (a - mean).abs() < 1e-13 * (1.0 + mean.abs()) && (b / deviation - 1.0).abs() < 1e-13;
        assert!(near, "element {k}: mean {a}, deviation {b}; expected {mean} and {deviation}");
    }
}

fn out(model: &BoundModel) -> Vec<&str> {
    model.integrated_out().map(|(name, _)| name).collect()
}

const PRIOR: &str = "parameters { real mu; vector[8] z; }
model { mu ~ normal(5, 1); z ~ normal(mu, 1); }";

#[test]
fn a_prior_alone() {
    let model = program(PRIOR, "{}");
    assert_eq!(out(&model), ["z"]);
    all_are(&drawn(&model, &[("mu", 5.25)], "z"), 5.25, 1.0);
    // Marginally normal(5, sqrt 2): means within 5 of their standard errors, a false alarm in a
    // million runs; the seed is fixed.
    let mut config = SamplerConfig::default();
    (config.draws, config.seed, config.threads) = (1000, 1, 1);
    let draws = sample(&model, &config).unwrap().draws_of("z", 0).unwrap().concat();
    let n = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / n;
    let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    // mu alone has half of the variance, and at least a fifth of the draws are effective.
    assert!((mean - 5.0).abs() < 5.0 * (2.0 / (0.2 * n)).sqrt(), "{mean}");
    assert!((variance / 2.0 - 1.0).abs() < 5.0 * (2.0 / (0.2 * n)).sqrt(), "{variance}");
}

#[test]
fn a_centred_variable_of_a_json_model() {
    let text = r#"{"exmc": 1, "nodes": [
        {"rv": "mu", "dist": "normal", "params": [5, 1]},
        {"rv": "z", "dist": "normal", "params": ["mu", 1], "shape": [8], "centring": "centred"}]}"#;
    let mut options = CompileOptions::default();
    options.marginalise = Some(true);
    let model = compile(&read_json(text).unwrap(), &options).unwrap().bind(&Values::new()).unwrap();
    assert_eq!(out(&model), ["z"]);
    all_are(&drawn(&model, &[("mu", 5.25)], "z"), 5.25, 1.0);
}

#[test]
fn a_prior_whose_scale_is_a_parameter() {
    let text = "parameters { real mu; real<lower=0> s; vector[8] z; }
        model { mu ~ normal(5, 1); s ~ lognormal(0, 0.2); z ~ normal(mu, s); }";
    let model = program(text, "{}");
    assert_eq!(out(&model), ["z"]);
    all_are(&drawn(&model, &[("mu", 5.25), ("s", 0.75)], "z"), 5.25, 0.75);
}

#[test]
fn a_vector_without_outcomes_beside_one_with() {
    let text = "data { vector[8] y; } parameters { real mu; vector[8] z; vector[9] zz; }
        model { mu ~ normal(5, 1); z ~ normal(mu, 1); zz ~ normal(mu, 1); y ~ normal(z, 0.5); }";
    let model = program(text, r#"{"y": [6, 6, 6, 6, 6, 6, 6, 6]}"#);
    assert_eq!(model.integrated_out().count(), 2);
    all_are(&drawn(&model, &[("mu", 5.0)], "zz"), 5.0, 1.0);
    // Precisions 1 and 4.
    all_are(&drawn(&model, &[("mu", 5.0)], "z"), 5.8, (0.2_f64).sqrt());
}

const MISSING: &str = "data { vector[16] y; vector[12] x; array[16] int g; array[12] int gm; }
    parameters { real mu; real b; real<lower=0> tau; vector[8] th; vector[12] ym; }
    model { mu ~ normal(0, 3); b ~ normal(0, 1); tau ~ normal(0, 1); th ~ normal(mu, tau);
      y ~ normal(th[g], 2); ym ~ normal(th[gm] + b * x, 2); }";

#[test]
fn missing_outcomes_as_parameters() {
    let data = r#"{"y": [5, 7, 5, 7, 5, 7, 5, 7, 5, 7, 5, 7, 5, 7, 5, 7], "x": [3,3,3,3,3,3,3,3,3,3,3,3],
        "g": [1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8], "gm": [1,2,3,4,5,6,7,8,1,2,3,4]}"#;
    let model = program(MISSING, data);
    assert_eq!(model.integrated_out().count(), 2);
    let given = [("mu", 2.0), ("b", 0.5), ("tau", 1.0)];
    // Two outcomes of variance 4 and a prior of variance 1: precision 3/2, mean (2 + 12/4)/(3/2).
    all_are(&drawn(&model, &given, "th"), 10.0 / 3.0, (2.0_f64 / 3.0).sqrt());
    all_are(&drawn(&model, &given, "ym"), 10.0 / 3.0 + 1.5, (2.0_f64 / 3.0 + 4.0).sqrt());
}

#[test]
fn new_groups_beside_fitted_ones() {
    let text = "data { vector[8] y; } parameters { real mu; real<lower=0> tau; vector[8] th; vector[10] nw; }
        model { mu ~ normal(5, 1); tau ~ normal(0, 1); th ~ normal(mu, tau); nw ~ normal(mu, tau);
          y ~ normal(th, 1); }";
    let model = program(text, r#"{"y": [6, 6, 6, 6, 6, 6, 6, 6]}"#);
    assert_eq!(model.integrated_out().count(), 2);
    all_are(&drawn(&model, &[("mu", -4.0), ("tau", 0.5)], "nw"), -4.0, 0.5);
}

#[test]
fn a_hierarchy_without_data() {
    let text = "data { int N; vector[N] y; array[N] int g; }
        parameters { real mu; real<lower=0> tau; real<lower=0> s; vector[8] th; }
        model { mu ~ normal(3, 1); tau ~ normal(0, 1); s ~ normal(0, 1); th ~ normal(mu, tau); y ~ normal(th[g], s); }";
    let model = program(text, r#"{"N": 0, "y": [], "g": []}"#);
    assert_eq!(out(&model), ["th"]);
    all_are(&drawn(&model, &[("mu", 3.5), ("tau", 2.0), ("s", 1.0)], "th"), 3.5, 2.0);
}

#[test]
fn three_groups_in_a_chain() {
    let text = "data { vector[8] y; array[9] int gb; array[10] int gc; }
        parameters { real mu; vector[8] a; vector[9] b; vector[10] c; }
        model { mu ~ normal(5, 1); a ~ normal(mu, 1); b ~ normal(a[gb], 1); c ~ normal(b[gc], 1); y ~ normal(a, 1); }";
    let data = r#"{"y": [4, 4, 4, 4, 4, 4, 4, 4], "gb": [1,2,3,4,5,6,7,8,1], "gc": [9,8,7,6,5,4,3,2,1,1]}"#;
    let model = program(text, data);
    assert_eq!(model.integrated_out().count(), 3);
    let given = [("mu", 5.0)];
    all_are(&drawn(&model, &given, "a"), 4.5, 0.5_f64.sqrt());
    all_are(&drawn(&model, &given, "b"), 4.5, 1.5_f64.sqrt());
    all_are(&drawn(&model, &given, "c"), 4.5, 2.5_f64.sqrt());
}

#[test]
fn noise_of_another_length_is_refused() {
    let model = program(PRIOR, "{}");
    let mut row = vec![0.0; model.trace_width()];
    let error = model.trace_instance().evaluate_at_noise(&[1.0], &[0.0; 7], &mut row).unwrap_err();
    assert!(
        error.to_string().contains("7 standard normal numbers are given, expected 8"),
        "{error}"
    );
}
