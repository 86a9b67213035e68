//! Every model's log density with Jacobian is the Stan program's up to a constant.
//!
//! `reference/densities.json` holds small data, points and values that `reference/densities.py`
//! made with numpy and scipy from the Stan programs, and compared with those programs themselves.

use exmc::advanced::{CompileOptions, Executor};
use exmc::model::{Tensor, Values};
use exmc_bench::models::{ALL, benchmark};
use exmc_model::read_data;
use serde_json::Value;

/// A number, a vector, or rows of a matrix.
fn tensor(value: &Value) -> Tensor {
    match value {
        Value::Array(elements) => {
            let numbers: Vec<f64> =
                elements.iter().map(|e| e.as_f64().expect("a number")).collect();
            Tensor::vector(&numbers)
        }
        number => Tensor::scalar(number.as_f64().expect("a number")),
    }
}

#[test]
fn differences_between_points_are_those_of_the_stan_programs() {
    let stored: Value = serde_json::from_str(include_str!("reference/densities.json")).unwrap();
    let stored = stored.as_object().unwrap();
    for (name, case) in stored {
        let data = read_data(&case["data"].to_string()).unwrap();
        for executor in [Executor::Reference, Executor::Native] {
            let mut options = CompileOptions::default();
            options.executor = executor;
            let model = benchmark(name).unwrap().bind(&data, &options).unwrap();
            let points = case["points"].as_array().unwrap();
            assert!(points.len() >= 4);
            let mut first = None;
            for point in points {
                let values = point["values"].as_object().unwrap().iter();
                let values: Values = values.map(|(k, v)| (k.clone(), tensor(v))).collect();
                let position = model.unconstrain(&values).unwrap();
                let (logp, _) = model.logp_grad(&position).unwrap();
                let wanted = point["logp"].as_f64().unwrap();
                let (logp_0, wanted_0) = *first.get_or_insert((logp, wanted));
                let (found, wanted) = (logp - logp_0, wanted - wanted_0);
                // Sums of some hundred rounded terms, on either side.
                let tolerance = 1e-11 * wanted_0.abs().max(wanted.abs()).max(100.0);
                assert!(
                    (found - wanted).abs() <= tolerance,
                    "{name} by {}: the log density rises by {found}, expected {wanted}",
                    executor.name()
                );
            }
        }
    }
    // Larger versions of a model are the same function of their data.
    for benchmark in ALL {
        let rows = benchmark.name.split_once("_1e").map(|(family, _)| family);
        let known = match rows {
            Some("logistic") => "logistic",
            Some("regression") => "regression_1e3",
            _ => benchmark.name,
        };
        assert!(stored.contains_key(known), "no density is stored for {}", benchmark.name);
    }
}

#[test]
fn missing_and_wrong_data_are_named() {
    let refused = |name: &str, data: &str| {
        let data = read_data(data).unwrap();
        benchmark(name).unwrap().bind(&data, &CompileOptions::default()).unwrap_err()
    };
    assert_eq!(refused("sv", r#"{"T": 3}"#), "sv: the data have no `r`");
    let data = r#"{"N": 2, "J": 2, "g": [1, 3], "y": [0.5, 1.5]}"#;
    let wrong = "medium: `g[2]` is 3, expected an integer from 1 to 2";
    assert_eq!(refused("medium", data), wrong);
    let of_program = refused("lotka_volterra", r#"{"N": 3}"#);
    assert!(of_program.contains("`ts`"), "{of_program}");
    assert!(benchmark("no_such_model").unwrap_err().contains("there is no benchmark"));
}

#[test]
fn made_data_fit_every_model_and_are_the_same_again() {
    for benchmark in ALL.iter().filter(|b| !b.name.ends_with("1e6") && !b.name.ends_with("1e5")) {
        let data = benchmark.made_data();
        let bound = benchmark.bind(&data, &CompileOptions::default()).unwrap();
        let (logp, gradient) = bound.logp_grad(&benchmark.position(&bound).unwrap()).unwrap();
        assert!(logp.is_finite() && gradient.iter().all(|g| g.is_finite()), "{}", benchmark.name);
        let again = benchmark.made_data();
        for ((name, a), (_, b)) in data.iter().zip(again.iter()) {
            assert_eq!(a.values(), b.values(), "{} {name}", benchmark.name);
        }
    }
}
