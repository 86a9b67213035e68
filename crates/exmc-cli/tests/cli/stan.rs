//! Stan programs on the command line: draws, generated quantities, mistakes, stages.

use crate::harness::{Folder, parameter};

/// Two heads in ten: the posterior is beta(3, 9), with mean 1/4; `seen` is theta + 1 and `next` a coin toss.
const COIN: &str = "data { int<lower=0> N; array[N] int<lower=0, upper=1> y; }
parameters { real<lower=0, upper=1> theta; }
model { y ~ bernoulli(theta); theta ~ beta(1, 1); }
generated quantities {
  real above = theta + 1;
  int next = bernoulli_rng(theta);
  array[2] vector[3] grid;
  for (i in 1:2) for (j in 1:3) grid[i, j] = 10 * i + j;
}
";
const TOSSES: &str = r#"{"N": 10, "y": [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]}"#;

fn coin() -> Folder {
    let folder = Folder::new();
    folder.write("coin.stan", COIN);
    folder.write("coin.json", TOSSES);
    folder
}

fn sampled(folder: &Folder, out: &str, more: &[&str]) -> serde_json::Value {
    let mut args = vec![
        "sample",
        "coin.stan",
        "--data",
        "coin.json",
        "--seed",
        "7",
        "--quiet",
        "--json",
        "--out",
        out,
    ];
    args.extend_from_slice(more);
    folder.exmc(&args).ends_with(0).json()
}

#[test]
fn a_program_samples_with_its_generated_quantities() {
    let summary = sampled(&coin(), "run", &[]);
    let mean = |name: &str| parameter(&summary, name)["mean"].as_f64().unwrap();
    let error = |name: &str| parameter(&summary, name)["mcse_mean"].as_f64().unwrap();
    // Five standard errors: a false alarm in two million runs, and the seed is fixed.
    assert!((mean("theta") - 0.25).abs() < 5.0 * error("theta"), "{}", mean("theta"));
    assert!((mean("above") - mean("theta") - 1.0).abs() < 1e-12);
    assert!((mean("next") - 0.25).abs() < 5.0 * error("next"), "{}", mean("next"));
    assert_eq!(mean("grid[2,3]"), 23.0);
}

#[test]
fn quantities_do_not_depend_on_threads_or_on_stored_warmup() {
    let folder = coin();
    let one = sampled(&folder, "one", &["--threads", "1"]);
    let two = sampled(&folder, "two", &["--threads", "2", "--save-warmup"]);
    assert_eq!(one["parameters"], two["parameters"]);
}

#[test]
fn mistakes_in_data_name_variable_and_place() {
    let folder = coin();
    folder.write("bad.json", r#"{"N": 3, "y": [0, 2, 0]}"#);
    let ran = folder.exmc(&["sample", "coin.stan", "--data", "bad.json"]).ends_with(1);
    for words in ["y[2]", "bad.json:1:"] {
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
    let ran = folder.exmc(&["sample", "coin.stan"]).ends_with(1);
    assert!(ran.stderr.contains("--data FILE"), "{}", ran.stderr);
}

#[test]
fn a_draw_whose_quantities_are_rejected_stays_and_is_told() {
    let folder = Folder::new();
    let text = "parameters { real x; } model { x ~ std_normal(); }
        generated quantities { real y = x; if (x > 0) reject(\"x is positive\"); }";
    folder.write("half.stan", text);
    let args = ["sample", "half.stan", "--seed", "1", "--draws", "50", "--json", "--out", "run"];
    let ran = folder.exmc(&args).ends_with(0);
    assert!(ran.stderr.contains("no generated quantities"), "{}", ran.stderr);
    assert!(ran.stderr.contains("x is positive"), "{}", ran.stderr);
    let summary = ran.json();
    assert!(parameter(&summary, "x")["mean"].as_f64().is_some_and(f64::is_finite));
}

#[test]
fn stages_of_a_program_are_shown() {
    let folder = coin();
    let dump = |stage: &str, code: i32| {
        folder.exmc(&["dump", "coin.stan", "--data", "coin.json", "--stage", stage]).ends_with(code)
    };
    assert!(dump("ast", 0).stdout.starts_with("data {\n"));
    assert!(dump("typed", 0).stdout.contains("theta"));
    assert!(dump("graph", 0).stdout.contains("input \"theta\""));
    assert!(dump("model", 2).stderr.contains("its stages are ast, typed"));
}
