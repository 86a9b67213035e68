//! Known targets: models built as a user would, with exact moments of what they record.
//!
//! Nothing here is a hand-written density: transforms, Jacobians, lowering, gradients, executor and
//! sampler all lie between a [`Target`] and its verdict.

mod conjugate;
mod families;
mod hierarchies;
mod multivariate;

use exmc::advanced::{BoundModel, CompileOptions, compile};
use exmc::diagnose::gate::KnownMoments;
use exmc::model::Values;
use exmc::{Model, ModelBuilder};

/// A model with a known posterior.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its name on command lines and in reports.
    pub name: &'static str,
    /// The model, data included.
    pub model: Model,
    /// What is known of it.
    pub known: Vec<Known>,
    /// Where all chains start; nowhere in particular when empty.
    pub start: Values,
    /// The acceptance statistic to adapt to; 0.8 unless the geometry asks for smaller steps.
    pub target_accept: f64,
    /// Whether variables that are normal given all others are integrated out.
    pub marginalise: bool,
}

/// The moments of one recorded scalar.
#[derive(Clone, Debug)]
pub struct Known {
    /// The variable or deterministic node.
    pub variable: &'static str,
    /// Its element, row-major.
    pub element: usize,
    /// Mean, variance and kurtosis.
    pub moments: KnownMoments,
}

impl Target {
    fn new(name: &'static str, known: Vec<Known>, declare: impl FnOnce(&mut ModelBuilder)) -> Self {
        let mut model = ModelBuilder::new();
        declare(&mut model);
        let model = model.build().expect("a known target is a sound model");
        let (start, target_accept, marginalise) = (Values::new(), 0.8, false);
        Self { name, model, known, start, target_accept, marginalise }
    }

    /// The same posterior, sampled with variables integrated out.
    fn marginalised(self, name: &'static str) -> Self {
        Self { name, marginalise: true, ..self }
    }

    /// The model compiled and bound.
    ///
    /// # Panics
    /// When the model does not compile, which is a bug of exmc's or of this file's.
    pub fn bind(&self) -> BoundModel {
        let mut options = CompileOptions::default();
        options.marginalise = Some(self.marginalise);
        compile(&self.model, &options)
            .and_then(|compiled| compiled.bind(&Values::new()))
            .unwrap_or_else(|error| panic!("target {}: {error}", self.name))
    }
}

/// Every target.
pub fn targets() -> Vec<Target> {
    let mut all = Vec::new();
    all.extend(families::targets());
    all.extend(multivariate::targets());
    all.extend(conjugate::targets());
    all.extend(hierarchies::targets());
    all
}

/// The target of that name.
pub fn target(name: &str) -> Option<Target> {
    targets().into_iter().find(|t| t.name == name)
}

fn known(variable: &'static str, element: usize, moments: (f64, f64, f64)) -> Known {
    let (mean, variance, kurtosis) = moments;
    Known { variable, element, moments: KnownMoments { mean, variance, kurtosis: Some(kurtosis) } }
}

fn known_normal(variable: &'static str, element: usize, mean: f64, variance: f64) -> Known {
    known(variable, element, (mean, variance, 3.0))
}

/// Mean, variance and kurtosis of a beta distribution.
fn beta_moments(a: f64, b: f64) -> (f64, f64, f64) {
    let n = a + b;
    let variance = a * b / (n * n * (n + 1.0));
    let excess =
        6.0 * ((a - b) * (a - b) * (n + 1.0) - a * b * (n + 2.0)) / (a * b * (n + 2.0) * (n + 3.0));
    (a / n, variance, 3.0 + excess)
}

/// Mean, variance and kurtosis of a gamma distribution with shape and rate.
fn gamma_moments(shape: f64, rate: f64) -> (f64, f64, f64) {
    (shape / rate, shape / (rate * rate), 3.0 + 6.0 / shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_known_scalar_exists() {
        let all = targets();
        let mut names: Vec<_> = all.iter().map(|t| t.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        for target in &all {
            let variables = exmc::advanced::variables(&target.bind());
            assert!(!target.known.is_empty(), "{}", target.name);
            let integrated_out = target.bind().integrated_out().count();
            assert_eq!(integrated_out > 0, target.marginalise, "{}", target.name);
            for known in &target.known {
                let found = variables.iter().find(|v| v.name == known.variable);
                let fits = found.is_some_and(|v| known.element < v.len());
                assert!(fits, "{}: {}[{}]", target.name, known.variable, known.element);
            }
        }
    }
}
