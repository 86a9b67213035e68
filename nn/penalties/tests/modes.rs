//! A minimum under a recipe is the mode of the posterior with the penalties' priors, as `exmc
//! optimize` finds it.
//!
//! The binary is `EXMC_BIN`, or the one that the engine's workspace has built; without one, the
//! test says so and is skipped. It shares no code with what is tested here: it reads a Stan
//! program.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use burn::module::ParamGroup;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor};
use common::model::Weights;
use common::{devices, tensor};
use penalties::{Act, Line, Outputs, Penalty, Recipe, Reduce};

/// The engine's program, if there is one.
fn exmc() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("EXMC_BIN") {
        return Some(PathBuf::from(path));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    ["release", "debug"].iter().map(|kind| root.join(kind).join("exmc")).find(|p| p.is_file())
}

/// Rows of covariates and what was observed.
struct Data {
    x: Vec<f64>,
    y: Vec<f64>,
    n: usize,
    d: usize,
}

impl Data {
    /// 40 rows of 4 covariates; outcomes 0 and 1 for a logistic regression.
    ///
    /// All four matter: where a mode lies on the kink of a Laplace density, a quasi-Newton method
    /// like that of `exmc optimize` stops before it has found the others.
    fn make(logistic: bool) -> Self {
        let (n, d) = (40, 4);
        let mut state = 11u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Three decimals, so that the text that exmc reads is the number used here.
            ((state >> 33) as f64 / f64::from(1u32 << 30) * 1000.0).round() / 1000.0 - 1.0
        };
        let x: Vec<f64> = (0..n * d).map(|_| next()).collect();
        let truth = [1.5, -1.0, 0.75, 0.5];
        let y = (0..n).map(|i| {
            let mean: f64 = (0..d).map(|j| x[i * d + j] * truth[j]).sum();
            let y = mean + 0.6 * next();
            if logistic { f64::from(u8::from(y > 0.0)) } else { (y * 1000.0).round() / 1000.0 }
        });
        Self { y: y.collect(), x, n, d }
    }

    fn json(&self, logistic: bool) -> String {
        let rows: Vec<&[f64]> = self.x.chunks(self.d).collect();
        let y = if logistic {
            serde_json::json!(self.y.iter().map(|y| *y as i64).collect::<Vec<_>>())
        } else {
            serde_json::json!(self.y)
        };
        serde_json::json!({ "n": self.n, "d": self.d, "x": rows, "y": y }).to_string()
    }
}

/// Standard deviation of the linear regression's errors.
const SD: f64 = 0.5;

/// The negative log likelihood, summed over rows, without its constant.
fn loss(model: &Weights, x: &Tensor<2>, y: &Tensor<2>, logistic: bool) -> Tensor<1> {
    let mean = x.clone().matmul(model.beta.val());
    if logistic {
        let signed = mean.clone() * y.clone();
        (burn::tensor::activation::softplus(mean, 1.0) - signed).sum()
    } else {
        let away = y.clone() - mean;
        (away.clone() * away).sum().mul_scalar(0.5 / (SD * SD))
    }
}

/// The minimum by proximal gradient steps, to the last digits.
fn minimum(recipe: &Recipe, data: &Data, logistic: bool, device: &Device) -> Vec<f64> {
    let x = tensor(&data.x, [data.n, data.d], device);
    let y = tensor(&data.y, [data.n, 1], device);
    let largest = plain::spectrum::spectral_norm(&data.x, data.d).value.powi(2);
    let curvature = if logistic { 0.25 * largest } else { largest / (SD * SD) };
    // Decay and loss lines add at most twice their weight to the curvature.
    let rate = 1.0 / (curvature + 10.0);
    let mut model = Weights::new(&vec![0.0; data.d], [data.d, 1], device);
    recipe.check(&model).unwrap();
    let mut optimiser = SgdConfig::new().init();
    for _ in 0..3000 {
        let before = model.values();
        let total = recipe.evaluate(&model, &Outputs::new(), 0).unwrap().total;
        let loss = loss(&model, &x, &y, logistic) + total;
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let gradients = recipe.transform(&model, gradients, 0).unwrap();
        model = recipe.project(optimiser.step(rate, model, gradients), rate, 0).unwrap();
        if model.values() == before {
            break;
        }
    }
    model.values()
}

/// The mode by `exmc optimize`.
fn mode(program: &Path, prior: &str, data: &Data, logistic: bool, name: &str) -> Vec<f64> {
    let (outcome, likelihood) = if logistic {
        ("array[n] int<lower=0, upper=1> y;", "y ~ bernoulli_logit(x * beta);".to_owned())
    } else {
        ("vector[n] y;", format!("y ~ normal(x * beta, {SD});"))
    };
    let source = format!(
        "data {{ int n; int d; matrix[n, d] x; {outcome} }}\nparameters {{ vector[d] beta; }}\nmodel {{\n  {prior}\n  {likelihood}\n}}\n"
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (model, values) =
        (folder.join(format!("{name}.stan")), folder.join(format!("{name}.json")));
    std::fs::write(&model, source).unwrap();
    std::fs::write(&values, data.json(logistic)).unwrap();
    let tight = [
        "--tol-obj",
        "0",
        "--tol-rel-obj",
        "0",
        "--tol-grad",
        "1e-11",
        "--tol-rel-grad",
        "0",
        "--tol-param",
        "0",
    ];
    let output = Command::new(program)
        .arg("optimize")
        .arg(&model)
        .arg("--data")
        .arg(&values)
        .args(tight)
        .arg("--json")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found: serde_json::Value = serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}: {text} {}", String::from_utf8_lossy(&output.stderr)));
    beta(&found).unwrap_or_else(|| panic!("no beta in {text}"))
}

/// The mode of `beta` in the program's answer.
fn beta(answer: &serde_json::Value) -> Option<Vec<f64>> {
    let mode = answer.get("values")?;
    mode.get("beta")?.as_array()?.iter().map(serde_json::Value::as_f64).collect()
}

#[test]
fn a_minimum_under_a_recipe_is_the_mode_under_its_priors() {
    let Some(program) = exmc() else {
        println!("skipped: no exmc program; build it (`cargo build --bin exmc`) or set EXMC_BIN");
        return;
    };
    let elastic = Penalty::ElasticNet { reduce: Reduce::Sum, l1_ratio: 0.4 };
    let about = Penalty::L2 { reduce: Reduce::Sum, centre: penalties::Centre::At(0.5), clip: None };
    let lines = [
        ("laplace", Penalty::L1, 1.0, vec![Act::Prox]),
        ("normal", Penalty::L2, 1.5, vec![Act::Loss, Act::Decay, Act::Prox]),
        ("normal about a half", about, 1.5, vec![Act::Loss, Act::Decay, Act::Prox]),
        ("elastic net", elastic, 3.0, vec![Act::Prox]),
    ];
    let (_, device) = devices().remove(0);
    for logistic in [false, true] {
        let data = Data::make(logistic);
        for (name, penalty, weight, acts) in &lines {
            let prior = penalty.prior(*weight).unwrap().stan("beta");
            let file = format!("{}-{logistic}", name.replace(' ', "-"));
            let expected = mode(&program, &prior, &data, logistic, &file);
            for act in acts {
                let line =
                    Line::parameters("p", *weight, penalty.clone(), ParamGroup::all()).act(*act);
                let found = minimum(&Recipe::new([line]), &data, logistic, &device);
                println!("{name}, logistic {logistic}, {act:?}: {found:?} {expected:?}");
                for (a, b) in found.iter().zip(&expected) {
                    assert!(
                        (a - b).abs() < 1e-6,
                        "{name} {logistic} {act:?}: {found:?} {expected:?}"
                    );
                }
            }
        }
    }
}
