//! A position in Stan's order -> log density, gradient, Hessian; or what is wrong there.

use std::sync::{Mutex, PoisonError};

use exmc::advanced::ModelInstance;
use exmc::infer::{DensityModel, EvaluationError, LogDensity};
use exmc::stan::{Depth, Printer, StanModel};
use exmc_infer::laplace::hessian;

/// A density with or without constants, with or without Jacobians.
#[derive(Debug)]
pub struct Density {
    model: StanModel,
    /// What threads evaluate with, while none does.
    idle: Mutex<Vec<ModelInstance>>,
    printer: Printer,
}

/// Steps in units of the density's width along a direction; the same rule, with the same errors, as
/// that of [`hessian`].
const STEP: f64 = 2e-3;

impl Density {
    /// That of a model, whose `print` statements write to `printer`.
    pub fn new(model: StanModel, printer: Printer) -> Self {
        Self { model, idle: Mutex::default(), printer }
    }

    /// The log density, with its gradient in `gradient`, at a position in Stan's order. What the
    /// program prints there is printed.
    ///
    /// # Errors
    /// What is wrong with the position, with its place in the program.
    pub fn logp_grad(&self, theta: &[f64], gradient: &mut [f64]) -> Result<f64, String> {
        let position = self.position(theta);
        if self.model.prints() {
            self.run_statements(&position, Some(&self.printer))?;
        }
        let mut model_gradient = vec![0.0; position.len()];
        let found =
            self.with_instance(|instance| instance.logp_grad(&position, &mut model_gradient));
        for (to, place) in gradient.iter_mut().zip(self.model.stan_order()) {
            *to = model_gradient[*place];
        }
        match found {
            Ok(logp) if logp.is_finite() => Ok(logp),
            // A compiled density has no words for what is wrong: the statements have.
            Ok(logp) => self.run_statements(&position, None).map(|()| logp),
            Err(error) => {
                self.run_statements(&position, None)?;
                Err(error.to_string())
            }
        }
    }

    /// The Hessian, row by row; its error is that of [`hessian`], some 1e-10.
    ///
    /// # Errors
    /// Where the density is not finite, at the position or in its neighbourhood.
    pub fn hessian(&self, theta: &[f64], out: &mut [f64]) -> Result<(), String> {
        let position = self.position(theta);
        let rows = self.with_instance(|instance| hessian(instance, &position));
        let rows = rows.map_err(|error| error.to_string())?;
        let (order, dim) = (self.model.stan_order(), theta.len());
        for (i, from) in order.iter().enumerate() {
            for (j, to) in order.iter().enumerate() {
                out[i * dim + j] = rows[from * dim + to];
            }
        }
        Ok(())
    }

    /// The Hessian's product with a vector: five-point differences of gradients along it.
    ///
    /// # Errors
    /// As [`Self::hessian`].
    pub fn hessian_product(
        &self,
        theta: &[f64],
        vector: &[f64],
        out: &mut [f64],
    ) -> Result<(), String> {
        let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length == 0.0 {
            out.fill(0.0);
            return Ok(());
        }
        let centre = self.position(theta);
        let direction: Vec<f64> = self.position(vector).iter().map(|v| v / length).collect();
        let product = self.with_instance(|instance| {
            let mut line = Line { density: instance, centre: &centre, direction: &direction };
            let curvature = hessian(&mut line, &[0.0]).map_err(|e| e.to_string())?[0].abs();
            let width = if curvature > 0.0 { 1.0 / curvature.sqrt() } else { 1.0 };
            let step = STEP * width;
            let mut gradient_at = |t: f64| line.gradient(t).map_err(|e| e.to_string());
            let gradients = [
                gradient_at(-2.0 * step)?,
                gradient_at(-step)?,
                gradient_at(step)?,
                gradient_at(2.0 * step)?,
            ];
            let slope = |j: usize| {
                let inner = (gradients[2][j] - gradients[1][j]) / (2.0 * step);
                let outer = (gradients[3][j] - gradients[0][j]) / (4.0 * step);
                length * (4.0 * inner - outer) / 3.0
            };
            Ok::<Vec<f64>, String>((0..centre.len()).map(slope).collect())
        })?;
        for (to, place) in out.iter_mut().zip(self.model.stan_order()) {
            *to = product[*place];
        }
        Ok(())
    }

    fn position(&self, theta: &[f64]) -> Vec<f64> {
        let mut position = vec![0.0; theta.len()];
        theta.iter().zip(self.model.stan_order()).for_each(|(x, place)| position[*place] = *x);
        position
    }

    fn run_statements(&self, position: &[f64], printer: Option<&Printer>) -> Result<(), String> {
        let ran = self.model.values_at(position, Depth::Density, 0, printer);
        ran.map(drop).map_err(|error| error.to_string())
    }

    fn with_instance<T>(&self, f: impl FnOnce(&mut ModelInstance) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle().pop();
        let mut instance = found.unwrap_or_else(|| self.model.bound().instance());
        let result = f(&mut instance);
        idle().push(instance);
        result
    }
}

/// A density along a line through a position.
struct Line<'a> {
    density: &'a mut ModelInstance,
    centre: &'a [f64],
    /// Of length one.
    direction: &'a [f64],
}

impl Line<'_> {
    fn evaluate(&mut self, t: f64, gradient: &mut [f64]) -> Result<f64, EvaluationError> {
        let moved = self.centre.iter().zip(self.direction).map(|(x, d)| x + t * d);
        let position: Vec<f64> = moved.collect();
        self.density.logp_grad(&position, gradient)
    }

    fn gradient(&mut self, t: f64) -> Result<Vec<f64>, EvaluationError> {
        let mut gradient = vec![0.0; self.centre.len()];
        self.evaluate(t, &mut gradient)?;
        Ok(gradient)
    }
}

impl LogDensity for Line<'_> {
    fn dim(&self) -> usize {
        1
    }

    fn logp_grad(
        &mut self,
        position: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, EvaluationError> {
        let mut full_gradient = vec![0.0; self.centre.len()];
        let logp = self.evaluate(position[0], &mut full_gradient)?;
        gradient[0] = full_gradient.iter().zip(self.direction).map(|(g, d)| g * d).sum();
        Ok(logp)
    }
}
