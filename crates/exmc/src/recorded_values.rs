//! Recorded values of a model with its data -> a program, made when the first draw is recorded.
//!
//! Sampling starts with the density alone, and some runs record nothing. Where data or indices
//! could turn out wrong, the program is made with the density, so that mistakes are found when data
//! are bound.

use std::sync::OnceLock;

use exmc_density::EvaluationError;
use exmc_exec::{BoundFunction, CompileError, Function, FunctionInstance};

use crate::compile::BoundModel;

/// The program, once somebody asked for it.
pub(crate) type LazyFunction = OnceLock<Result<Function, CompileError>>;

/// The same with its data; or why there is none, in words.
pub(crate) type LateBoundFunction = OnceLock<Result<BoundFunction, String>>;

/// What one thread evaluates the recorded values of a [`BoundModel`] with.
#[derive(Debug)]
pub struct TraceInstance {
    model: BoundModel,
    /// None before the first evaluation.
    instance: Option<Box<FunctionInstance>>,
    /// A position with standard normal numbers behind it, for a model that has variables integrated
    /// out.
    point: Vec<f64>,
}

impl TraceInstance {
    pub(crate) fn new(model: &BoundModel) -> Self {
        Self { model: model.clone(), instance: None, point: Vec::new() }
    }

    /// Evaluates the recorded values at `position`, one after the other into `out`; variables that
    /// are integrated out have their mean given the others. The first evaluation of a model
    /// compiles them; other threads wait for it.
    ///
    /// **Shapes**: `position` has as many coordinates as the model, `out` has length
    /// [`trace_width`](BoundModel::trace_width).
    ///
    /// # Errors
    /// [`EvaluationError::Fatal`] when an index that a loop computes leaves its extent, or the
    /// values need more memory than a program has.
    pub fn evaluate(&mut self, position: &[f64], out: &mut [f64]) -> Result<(), EvaluationError> {
        self.evaluate_with(position, |noise| noise.fill(0.0), out)
    }

    /// The same with variables that are integrated out drawn by given standard normal numbers: with
    /// zeros they are as [`Self::evaluate`] has them, and with those of
    /// [`Recording`](crate::advanced::Recording) as a run records them.
    ///
    /// **Shapes**: `noise` has as many numbers as [`BoundModel::integrated_out`] names elements, in
    /// its order.
    ///
    /// # Errors
    /// As [`Self::evaluate`], and when `noise` has another length.
    pub fn evaluate_at_noise(
        &mut self,
        position: &[f64],
        noise: &[f64],
        out: &mut [f64],
    ) -> Result<(), EvaluationError> {
        let (found, expected) = (noise.len(), self.model.noise());
        if found != expected {
            return Err(EvaluationError::Fatal(format!(
                "{found} standard normal numbers are given, expected {expected}"
            )));
        }
        self.evaluate_with(position, |numbers| numbers.copy_from_slice(noise), out)
    }

    /// The same with numbers that `fill` writes.
    pub(crate) fn evaluate_with(
        &mut self,
        position: &[f64],
        fill: impl FnOnce(&mut [f64]),
        out: &mut [f64],
    ) -> Result<(), EvaluationError> {
        let instance = match &mut self.instance {
            Some(instance) => instance,
            none => none.insert(Box::new(self.model.recorded_values()?.instance())),
        };
        let noise = self.model.noise();
        if noise == 0 {
            return instance.evaluate(position, out);
        }
        self.point.clear();
        self.point.extend_from_slice(position);
        self.point.resize(position.len() + noise, 0.0);
        fill(&mut self.point[position.len()..]);
        instance.evaluate(&self.point, out)
    }
}

#[cfg(test)]
mod tests {
    use exmc_graph::{DType, Tensor};
    use exmc_model::distributions::{half_normal, normal};
    use exmc_model::{Expr, ModelBuilder};

    use super::*;
    use crate::compile::{CompileOptions, Values, compile};
    use crate::error::Error;

    fn bound(declare: impl Fn(&mut ModelBuilder), data: &Values) -> Result<BoundModel, Error> {
        let mut model = ModelBuilder::new();
        model.rv("a", half_normal(1.0));
        model.rv("z", normal(0.0, 1.0)).shape([2]);
        declare(&mut model);
        compile(&model.build()?, &CompileOptions::default())?.bind(data)
    }

    #[test]
    fn recorded_values_are_compiled_by_the_first_who_needs_them() {
        let declare = |model: &mut ModelBuilder| {
            model.det("twice", Expr::name("a") * 2.0);
            model.det("swapped", Expr::name("z").gather(vec![1_usize, 0]));
        };
        let model = bound(declare, &Values::new()).unwrap();
        let mut unused = model.clone().trace_instance();
        model.logp_grad(&[0.0; 3]).unwrap();
        assert!(model.trace.get().is_none(), "the density does without");
        // `a` is log(1 + exp(x)), by mpmath; on threads that come at the same time.
        const AT_ZERO: f64 = std::f64::consts::LN_2;
        std::thread::scope(|scope| {
            for (x, a) in [(0.0, AT_ZERO), (1.0, 1.313_261_687_518_222_8), (0.0, AT_ZERO)] {
                let model = &model;
                scope.spawn(move || {
                    let mut out = [f64::NAN; 6];
                    for _ in 0..2 {
                        model.trace_instance().evaluate(&[x, 3.0, 4.0], &mut out).unwrap();
                    }
                    assert!((out[0] - a).abs() < 1e-15, "{out:?}");
                    assert_eq!(out[1..], [4.0, 3.0, 2.0 * out[0], 3.0, 4.0], "{out:?}");
                });
            }
        });
        let program = model.trace.get().unwrap().as_ref().unwrap();
        assert_eq!(program.sizes().iter().sum::<usize>(), model.trace_width());
        // One made before there was a program, of another clone.
        let mut out = [f64::NAN; 6];
        unused.evaluate(&[0.0, 5.0, 6.0], &mut out).unwrap();
        assert_eq!(out[1..], [6.0, 5.0, 2.0 * out[0], 5.0, 6.0], "{out:?}");
        assert!((out[0] - AT_ZERO).abs() < 1e-15, "{out:?}");
    }

    #[test]
    fn indices_of_recorded_values_are_checked_when_data_are_bound() {
        let of_data = |model: &mut ModelBuilder| {
            model.declare_data("group", DType::Int, [2]);
            model.det("chosen", Expr::name("z").gather("group"));
        };
        let group = |last| Values::from([("group".to_owned(), Tensor::vector(&[0.0, last]))]);
        let model = bound(of_data, &group(1.0)).unwrap();
        assert!(model.trace.get().is_some());
        let error = bound(of_data, &group(2.0)).unwrap_err();
        assert!(error.diagnostics()[0].node.is_some(), "{error}");
        assert!(error.to_string().contains("`group`: index 2 is outside 0..2"), "{error}");

        let constant = |model: &mut ModelBuilder| {
            model.det("chosen", Expr::name("z").gather(vec![0_usize, 2]));
        };
        let error = bound(constant, &Values::new()).unwrap_err();
        assert!(error.to_string().contains("a constant: index 2 is outside 0..2"), "{error}");
    }
}
