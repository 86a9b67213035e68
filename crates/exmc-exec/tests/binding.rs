//! Binding other data: only the prelude runs. Alone in its process, because it counts compilations.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{BoundDensity, Executor, compilations, compile};
use exmc_graph::{DType, Tensor};

#[path = "support/models.rs"]
mod models;

/// Log density and gradient.
fn evaluate(bound: &BoundDensity, position: &[f64]) -> Vec<f64> {
    let mut values = vec![0.0; position.len() + 1];
    values[0] = bound.instance().logp_grad(position, &mut values[1..]).unwrap();
    values
}

#[test]
fn other_data_of_the_same_shapes_run_only_the_prelude() {
    for model in [models::linear(200, 4), models::groups(120, 3, true), models::radon(300, 20)] {
        let program = compile(Executor::Native, &model.source).unwrap();
        assert!(!program.optimisations().is_empty(), "{}", model.name);
        let oracle = compile(Executor::Reference, &model.source).unwrap();
        let before = compilations();
        let other = |name: &str| {
            let value = model.data(name)?;
            // Integers turn round, numbers become others.
            let values = value.values().iter().rev();
            let shape = value.shape().clone();
            if value.dtype() == DType::Int {
                Tensor::int(shape, values.copied().collect::<Vec<_>>())
            } else {
                let moved = values.enumerate().map(|(k, v)| v + (k % 3) as f64);
                Tensor::real(shape, moved.collect::<Vec<_>>())
            }
        };
        for data in [&other as &dyn Fn(&str) -> Option<Tensor>, &|name| model.data(name)] {
            let position = model.position();
            let found = evaluate(&program.bind(data).unwrap(), &position);
            let expected = evaluate(&oracle.bind(data).unwrap(), &position);
            let size = expected.iter().fold(1.0, |size: f64, v| size.max(v.abs()));
            for (found, expected) in found.iter().zip(&expected) {
                // As for the models above.
                assert!((found - expected).abs() / size < 1e-14, "{found}, not {expected}");
            }
        }
        assert_eq!(compilations(), before);
    }
}
