//! What is left of a hierarchy where its outcomes' scale is tiny: value and gradient against 80
//! digits.
//!
//! The outcomes' residuals are differences of nearly equal numbers there, and slopes divide them by
//! the square of the scale.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc::StanProgram;
use exmc::advanced::{BoundModel, Executor};
use exmc::stan::StanOptions;

const GOLDEN: &str = include_str!("reference/marginal_small_scales.txt");
const EFFECT: [f64; 8] = [2.5, -0.75, 0.375, 1.25, -2.0, 0.5, 3.0, -1.5];

const CENTRED: &str = "data { int N; array[N] int g; vector[N] x; vector[N] y; }
parameters { real mu; real b; real<lower=0> s; real<lower=0> tau; vector[8] z; }
model { target += normal_lpdf(z | mu, tau); target += normal_lpdf(y | z[g] + b * x, s); }";
const STANDARDISED: &str = "data { int N; array[N] int g; vector[N] x; vector[N] y; }
parameters { real mu; real b; real<lower=0> s; real<lower=0> tau; vector[8] z; }
model { target += std_normal_lpdf(z); target += normal_lpdf(y | mu + tau * z[g] + b * x, s); }";

/// The data of `reference/marginal_small_scales.py`.
fn data(kind: &str) -> String {
    let (mut y, mut x, mut g) = (Vec::new(), Vec::new(), Vec::new());
    for (j, effect) in EFFECT.iter().enumerate() {
        for k in 0..if kind == "one" { 1 } else { 3 } {
            let apart = 0.1 * (k as f64 - 1.0) * (1 + j % 3) as f64;
            y.push(effect + if kind == "three" { apart } else { 0.0 });
            let covariate = 0.3 * ((5 * j + 7 * k) % 11) as f64 - 1.5;
            x.push(if kind == "equal" { 0.0 } else { covariate });
            g.push(j + 1);
        }
    }
    format!("{{\"N\": {}, \"g\": {g:?}, \"x\": {x:?}, \"y\": {y:?}}}", y.len())
}

fn bind(program: &str, kind: &str, executor: Executor) -> BoundModel {
    let mut options = StanOptions::default();
    (options.compile.marginalise, options.compile.executor) = (Some(true), executor);
    let program = StanProgram::from_text("hierarchy.stan", program).unwrap();
    let model = program.bind_with("data.json", &data(kind), &options).unwrap().bound().clone();
    assert_eq!(model.integrated_out().collect::<Vec<_>>(), [("z", 8)]);
    model
}

/// Errors are relative, and slopes also have what the rounding of outcomes (1e-16 of numbers of
/// size one) is to differences of them in units of the effects' and outcomes' variance together.
/// What the position itself rounds (log s of -20 by 1e-16 of itself) moves squares over s^2 by
/// 1e-14 of them, and differences of outcomes within a group, of a tenth, are known to 1e-15 of
/// themselves.
#[test]
fn small_scales_lose_no_digits() {
    for executor in [Executor::Native, Executor::Reference] {
        for (form, program) in [("centred", CENTRED), ("standardised", STANDARDISED)] {
            for kind in ["one", "equal", "three"] {
                let model = bind(program, kind, executor);
                let rows = GOLDEN.lines().filter(|row| row.split(' ').next() == Some(kind));
                let rows: Vec<Vec<f64>> = rows
                    .map(|row| row.split(' ').skip(1).map(|x| x.parse().unwrap()).collect())
                    .collect();
                assert_eq!(rows.len(), 10);
                for row in rows {
                    let (position, expected) = row.split_at(4);
                    let (logp, gradient) = model.logp_grad(position).unwrap();
                    let found = [&[logp], &gradient[..]].concat();
                    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
                        let variance = (2.0 * position[2]).exp() + (2.0 * position[3]).exp();
                        let allowed = 1e-11 * (1.0 + expected.abs()) + 1e-14 / variance;
                        assert!(
                            (found - expected).abs() < allowed,
                            "{executor:?} {form} {kind} {position:?}, number {k}: {found}, expected {expected}"
                        );
                    }
                }
            }
        }
    }
}
