//! Building, rewriting and lowering in one go, and densities at constrained values.

use std::collections::BTreeMap;

use exmc_graph::{Tensor, evaluate};
use exmc_model::{LowerOptions, Lowered, ModelBuilder, ModelError, lower, rewrite};

pub(crate) type Values = BTreeMap<String, Tensor>;

/// Builder calls -> the lowered density, all passes run.
pub(crate) fn lowered(change: impl FnOnce(&mut ModelBuilder)) -> Result<Lowered, ModelError> {
    lowered_with(true, change)
}

/// The same, with or without Jacobians.
pub(crate) fn lowered_with(
    jacobian: bool,
    change: impl FnOnce(&mut ModelBuilder),
) -> Result<Lowered, ModelError> {
    let mut m = ModelBuilder::new();
    change(&mut m);
    let mut options = LowerOptions::default();
    options.jacobian = jacobian;
    lower(&rewrite(&m.build()?, &[])?, options)
}

/// The log density at constrained values and data, through the lowered inverse.
pub(crate) fn logp_at(lowered: &Lowered, values: &Values) -> f64 {
    let position = position(lowered, values);
    at_position(lowered, &position, values)
}

/// The position of constrained values.
pub(crate) fn position(lowered: &Lowered, values: &Values) -> Vec<f64> {
    let inverse = &lowered.inverse;
    let found = evaluate(&inverse.graph, &inverse.outputs, &|n| values.get(n).cloned()).unwrap();
    found.iter().flat_map(|t| t.values().to_vec()).collect()
}

/// The log density at a position.
pub(crate) fn at_position(lowered: &Lowered, position: &[f64], data: &Values) -> f64 {
    let look_up = |name: &str| {
        let entry = lowered.layout.iter().find(|e| e.name == name);
        let parameter = entry.map(|e| {
            let values = &position[e.offset..e.offset + e.unconstrained.len()];
            Tensor::real(e.unconstrained.clone(), values).unwrap()
        });
        parameter.or_else(|| data.get(name).cloned())
    };
    evaluate(&lowered.graph, &[lowered.logp], &look_up).unwrap()[0].as_scalar().unwrap()
}

/// The log density without Jacobians of a model at constrained values.
pub(crate) fn joint(
    values: &[(&str, Tensor)],
    change: impl FnOnce(&mut ModelBuilder),
) -> Result<f64, ModelError> {
    let values = values.iter().map(|(n, t)| ((*n).to_owned(), t.clone())).collect();
    Ok(logp_at(&lowered_with(false, change)?, &values))
}

/// A number as a scalar tensor.
pub(crate) fn s(value: f64) -> Tensor {
    Tensor::scalar(value)
}

/// Eleven digits: sums of a few terms of size ten.
pub(crate) fn close(found: f64, expected: f64) {
    assert!(
        found == expected || (found - expected).abs() <= 1e-11 * (1.0 + expected.abs()),
        "{found} against {expected}"
    );
}
