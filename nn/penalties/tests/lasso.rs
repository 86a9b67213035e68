//! A whole lasso path by proximal gradient steps under a recipe, against scikit-learn's coordinate
//! descent.
//!
//! `data/lasso_path.py` made the data and the path; its duality gap is below 1e-15.

mod common;

use burn::module::ParamGroup;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::Tensor;
use common::model::Weights;
use common::{devices, tensor};
use penalties::{Act, Line, Penalty, Recipe, Schedule};
use serde::Deserialize;

#[derive(Deserialize)]
struct Path {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    alphas: Vec<f64>,
    coefficients: Vec<Vec<f64>>,
}

/// $X^\top X/n$ and $X^\top y/n$.
fn moments(path: &Path) -> (Vec<f64>, Vec<f64>) {
    let (n, d) = (path.x.len(), path.x[0].len());
    let mean = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
    let gram = (0..d * d).map(|k| mean(&|i| path.x[i][k / d] * path.x[i][k % d])).collect();
    let right = (0..d).map(|j| mean(&|i| path.x[i][j] * path.y[i])).collect();
    (gram, right)
}

#[test]
fn a_path_of_100_is_that_of_scikit_learn_with_equal_supports() {
    let path: Path = serde_json::from_str(include_str!("data/lasso_path.json")).unwrap();
    assert_eq!(path.alphas.len(), 100);
    let (gram, right) = moments(&path);
    let d = right.len();
    // The largest eigenvalue of the Gram matrix bounds the steps that descend.
    let rate = 1.0 / plain::spectrum::spectral_norm(&gram, d).value;
    let (_, device) = devices().remove(0);
    let inner = device.clone().inner();
    let (g, c): (Tensor<2>, Tensor<2>) =
        (tensor(&gram, [d, d], &inner), tensor(&right, [d, 1], &inner));
    let mut model = Weights::new(&vec![0.0; d], [d, 1], &device);
    let mut optimiser = SgdConfig::new().init();
    let schedule = path.alphas.iter().enumerate().map(|(k, a)| (k as u64, *a)).collect();
    let line =
        Line::parameters("lasso", Schedule::Piecewise(schedule), Penalty::L1, ParamGroup::all());
    let recipe = Recipe::new([line.act(Act::Prox)]);
    for (k, expected) in path.coefficients.iter().enumerate() {
        let mut before = model.values();
        for round in 0..20_000 {
            let slope = g.clone().matmul(model.beta.val().inner()) - c.clone();
            let mut gradients = GradientsParams::new();
            gradients.register(model.beta.id, slope);
            model = recipe.project(optimiser.step(rate, model, gradients), rate, k as u64).unwrap();
            if round % 50 == 49 {
                let now = model.values();
                let moved = now.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                before = now;
                if moved < 1e-12 {
                    break;
                }
            }
        }
        for (j, (found, expected)) in before.iter().zip(expected).enumerate() {
            assert!((found - expected).abs() < 1e-8, "alpha {k}, {j}: {found} {expected}");
            assert_eq!(*found == 0.0, *expected == 0.0, "support at alpha {k}, coefficient {j}");
        }
    }
}
