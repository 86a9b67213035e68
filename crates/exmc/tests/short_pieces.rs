//! Small Stan programs that read parts of short vectors: parts of gradients are put together in
//! registers, which serve several arrays one after the other.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc::StanProgram;
use exmc::advanced::{CompileOptions, Executor};
use exmc::stan::StanOptions;

const PARAMETERS: &str = "parameters { real y; vector[4] v; vector[4] w; }\n";
const PRIORS: &str = "v ~ normal(0, 1); w ~ normal(0, 1); y ~ normal(0, 1);\n";

/// A part of a gradient is zero but for one element; that of another array, in the same register,
/// begins with its other elements.
const MODELS: [&str; 4] = [
    "target += (0.8 > y ? w[4] : v[2]); target += dot_product(w[2:4], v[2:]) + v[3] * y;",
    "target += (0.8 > y ? w[4] : v[2]); target += normal_lpdf(y | dot_product(w[2:4], v[2:]), exp(v[3]));",
    "target += (0.8 > y ? w[4] : v[2]); target += dot_product(w[2:4], v[2:]) * exp(v[3]);",
    "target += (0.8 > y ? w[1] : v[3]); target += dot_product(w[1:3], v[2:]) * exp(v[4]) + v[1] * w[2];",
];

fn evaluate_at(text: &str, executor: Executor, point: &[f64]) -> (f64, Vec<f64>) {
    let mut compile = CompileOptions::default();
    compile.executor = executor;
    let mut options = StanOptions::default();
    options.compile = compile;
    let program = StanProgram::from_text("short.stan", text).unwrap();
    let model = program.bind_with("data.json", "{}", &options).unwrap();
    model.bound().logp_grad(point).unwrap()
}

#[test]
fn parts_of_gradients_are_put_together_in_the_same_register() {
    for model in MODELS {
        let text = format!("{PARAMETERS}model {{ {PRIORS}{model} }}");
        for y in [0.3, 1.7] {
            let point = [y, 0.4, -0.3, 0.2, 0.9, -1.1, 0.6, 0.5, -0.7];
            let (expected, slopes) = evaluate_at(&text, Executor::Reference, &point);
            let (found, found_slopes) = evaluate_at(&text, Executor::Native, &point);
            // Some ten terms, in another order.
            assert!((found - expected).abs() < 1e-13, "{model}: {found}, {expected}");
            for (k, (found_slope, slope)) in found_slopes.iter().zip(&slopes).enumerate() {
                assert!(
                    (found_slope - slope).abs() < 1e-13,
                    "{model}: slope {k} is {found_slope}, {slope}"
                );
            }
        }
    }
}
