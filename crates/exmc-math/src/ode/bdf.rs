//! Backward differentiation formulas of orders 1 to 5: a stiff initial value problem -> its
//! solution.
//!
//! The same steps serve slopes $\dot y = f(t, y)$ and residuals $F(t, y, \dot y) = 0$ (`dae.rs`):
//! what a step has to solve is the trait [`Equations`].
//!
//! Numerical differentiation formulas (a BDF whose leading error term is reduced) on steps of one
//! length, whose backward differences are recomputed when the length changes. The states solve the
//! implicit equation by a simplified Newton iteration; sensitivities, whose equation is linear,
//! then solve it directly with the Jacobian at the solution.
//!
//! **Reference**: Shampine and Reichelt 1997, section 2; Byrne and Hindmarsh 1975.

use super::factors::Factors;
use super::{Clock, OdeFailure, OdeSystem, OdeWorkspace, Problem};
use crate::elementary::pow;

pub(super) const HIGHEST: usize = 5;
const ITERATIONS: i32 = 4;
/// By how much each order's leading error term is reduced (Shampine and Reichelt 1997, table 1).
const KAPPA: [f64; HIGHEST + 1] = [0.0, -0.1850, -1.0 / 9.0, -0.0823, -0.0415, 0.0];
/// $\sum_{i \le k} 1/i$.
const GAMMA: [f64; HIGHEST + 1] = [0.0, 1.0, 1.5, 11.0 / 6.0, 25.0 / 12.0, 137.0 / 60.0];

/// The factor of the slope's step at an order.
fn alpha(order: usize) -> f64 {
    (1.0 - KAPPA[order]) * GAMMA[order]
}

/// The local error's factor of the difference of one order more.
fn error_constant(order: usize) -> f64 {
    KAPPA[order] * GAMMA[order] + 1.0 / (order as f64 + 1.0)
}

/// Backward differences for steps that are `factor` times as long.
fn rescale(differences: &mut [Vec<f64>], order: usize, factor: f64) {
    type Matrix = [[f64; HIGHEST + 1]; HIGHEST + 1];
    let table = |factor: f64| {
        let mut m: Matrix = [[0.0; HIGHEST + 1]; HIGHEST + 1];
        m[0] = [1.0; HIGHEST + 1];
        for i in 1..=order {
            m[i] = std::array::from_fn(|j| match j {
                0 => 0.0,
                _ => m[i - 1][j] * (i as f64 - 1.0 - factor * j as f64) / i as f64,
            });
        }
        m
    };
    let (r, u) = (table(factor), table(1.0));
    let mut product: Matrix = [[0.0; HIGHEST + 1]; HIGHEST + 1];
    for i in 0..=order {
        for j in 0..=order {
            product[i][j] = (0..=order).map(|k| r[i][k] * u[k][j]).sum();
        }
    }
    for k in 0..differences[0].len() {
        let mut column = [0.0; HIGHEST + 1];
        for (j, value) in column.iter_mut().enumerate().take(order + 1) {
            *value = (0..=order).map(|i| product[i][j] * differences[i][k]).sum();
        }
        for (j, value) in column.into_iter().enumerate().take(order + 1) {
            differences[j][k] = value;
        }
    }
}

/// The rows of coupled vectors that a solution needs.
pub(super) type Rows = [Vec<f64>; HIGHEST + 8];

/// The implicit equations of a step. A step of length $h$ from the past `psi` to the state $y$,
/// which is `change` from the predicted one, has the slope $(\psi + \text{change}) / c$ with $c =
/// h/\alpha$.
pub(super) trait Equations {
    /// Number of states.
    fn states(&self) -> usize;

    /// Number of sensitivities of each state.
    fn columns(&self) -> usize;

    /// A correction that counts as none, in units of what is allowed of an error: rounding may keep
    /// them from vanishing.
    fn negligible(&self, _relative: f64) -> f64 {
        0.0
    }

    /// Corrections that may be taken for rounding when they do not become smaller, in the same
    /// units.
    fn rounding(&self) -> f64;

    /// The slope of the coupled vector at the start, and the derivatives there; `scratch` has a
    /// number for each state.
    fn begin(
        &mut self,
        t: f64,
        start: &[f64],
        slope: &mut [f64],
        scratch: &mut [f64],
    ) -> Result<(), OdeFailure>;

    /// The derivatives at a state.
    fn refresh(
        &mut self,
        step: (f64, f64),
        y: &[f64],
        past: [&[f64]; 2],
        scratch: &mut [f64],
    ) -> Result<(), OdeFailure>;

    /// Factors of the step's matrix by the derivatives of the last refresh; whether it is regular.
    fn factor(&mut self, c: f64) -> bool;

    /// What Newton's method adds to a state.
    fn correction(
        &mut self,
        step: (f64, f64),
        y: &[f64],
        past: [&[f64]; 2],
        scratch: &mut [f64],
        update: &mut [f64],
    ) -> Result<(), OdeFailure>;

    /// The change of the predicted sensitivities, whose equation is linear; whether its matrix is
    /// regular.
    fn sensitivities(&mut self, c: f64, columns: &[f64], psi: &[f64], change: &mut [f64]) -> bool;
}

pub(super) fn solve(
    problem: &Problem<'_>,
    system: &mut impl OdeSystem,
    work: &mut OdeWorkspace,
    out: &mut [f64],
) -> Result<(), OdeFailure> {
    let (len, n, s) = (problem.start.len(), system.states(), system.columns());
    let [mut jacobian, mut forcing, mut lu, mut pivots] = std::mem::take(&mut work.matrices);
    for (matrix, size) in
        [(&mut jacobian, n * n), (&mut forcing, n * s), (&mut lu, n * n), (&mut pivots, n)]
    {
        matrix.clear();
        matrix.resize(size, 0.0);
    }
    let mut equations = Slopes { system, n, s, jacobian, forcing, lu, pivots };
    let outcome = step_through(problem, &mut equations, work.rows(len), out);
    let Slopes { jacobian, forcing, lu, pivots, .. } = equations;
    work.matrices = [jacobian, forcing, lu, pivots];
    outcome
}

/// Equations of a right-hand side: $\text{change} = c f(t, y) - \psi$.
struct Slopes<'s, S> {
    system: &'s mut S,
    n: usize,
    s: usize,
    jacobian: Vec<f64>,
    forcing: Vec<f64>,
    lu: Vec<f64>,
    pivots: Vec<f64>,
}

impl<S: OdeSystem> Slopes<'_, S> {
    fn back(&mut self, b: &mut [f64], width: usize) {
        let Self { n, lu, pivots, .. } = self;
        Factors { n: *n, matrix: lu, pivots }.solve(b, width);
    }
}

impl<S: OdeSystem> Equations for Slopes<'_, S> {
    fn states(&self) -> usize {
        self.n
    }

    fn columns(&self) -> usize {
        self.s
    }

    /// At rest a step's correction is what rounding leaves of slopes that cancel, and does not
    /// shrink.
    fn rounding(&self) -> f64 {
        1e-3
    }

    fn begin(
        &mut self,
        t: f64,
        start: &[f64],
        slope: &mut [f64],
        scratch: &mut [f64],
    ) -> Result<(), OdeFailure> {
        self.system.coupled(t, start, slope)?;
        self.refresh((t, 0.0), &start[..self.n], [&[], &[]], scratch)
    }

    fn refresh(
        &mut self,
        (t, _): (f64, f64),
        y: &[f64],
        _: [&[f64]; 2],
        scratch: &mut [f64],
    ) -> Result<(), OdeFailure> {
        self.system.jacobian(t, y, scratch, &mut self.jacobian, &mut self.forcing)
    }

    fn factor(&mut self, c: f64) -> bool {
        let Self { n, jacobian, lu, pivots, .. } = self;
        Factors { n: *n, matrix: lu, pivots }.compute(jacobian, c)
    }

    fn correction(
        &mut self,
        (t, c): (f64, f64),
        y: &[f64],
        [psi, change]: [&[f64]; 2],
        scratch: &mut [f64],
        update: &mut [f64],
    ) -> Result<(), OdeFailure> {
        self.system.slope(t, y, scratch)?;
        for (k, update) in update.iter_mut().enumerate() {
            *update = c * scratch[k] - psi[k] - change[k];
        }
        self.back(update, 1);
        Ok(())
    }

    /// `(I - cJ) change = c (J S + P) - psi` at the predicted sensitivities S.
    fn sensitivities(&mut self, c: f64, columns: &[f64], psi: &[f64], change: &mut [f64]) -> bool {
        let (n, s) = (self.n, self.s);
        if !self.factor(c) {
            return false;
        }
        for (change, (forcing, psi)) in change.iter_mut().zip(self.forcing.iter().zip(psi)) {
            *change = c * forcing - psi;
        }
        for i in 0..n {
            for j in 0..n {
                let factor = c * self.jacobian[i * n + j];
                if factor != 0.0 {
                    for k in 0..s {
                        change[i * s + k] += factor * columns[j * s + k];
                    }
                }
            }
        }
        self.back(change, s);
        true
    }
}

/// Steps from the start over all output times.
pub(super) fn step_through(
    problem: &Problem<'_>,
    equations: &mut impl Equations,
    rows: &mut Rows,
    out: &mut [f64],
) -> Result<(), OdeFailure> {
    let (n, len) = (equations.states(), problem.start.len());
    let [x, psi, change, slope, update, differences @ ..] = rows;
    differences[0].copy_from_slice(problem.start);
    equations.begin(problem.t0, problem.start, &mut differences[1], &mut slope[..n])?;
    let (mut t, mut h) = (problem.t0, problem.first_step(problem.start, &differences[1]));
    differences[1].iter_mut().for_each(|d| *d *= h);
    let (mut order, mut equal_steps) = (1, 0);
    let mut clock = Clock::new(problem.control);
    let mut rows = out.chunks_exact_mut(len).zip(problem.times).peekable();
    while let Some((row, _)) = rows.next_if(|(_, time)| **time <= t) {
        row.copy_from_slice(problem.start);
    }
    // Whether the derivatives are those of this step, and whether its factors are those of this
    // length.
    let (mut current, mut factored) = (false, false);
    while rows.peek().is_some() {
        clock.tick(t, h)?;
        let (ahead, c) = (t + h, h / alpha(order));
        for k in 0..len {
            x[k] = differences[..=order].iter().map(|d| d[k]).sum();
            let past: f64 = (1..=order).map(|j| differences[j][k] * GAMMA[j]).sum();
            psi[k] = past / alpha(order);
        }
        if !factored {
            factored = equations.factor(c);
        }
        let iterations = match factored {
            true => newton(problem, equations, (ahead, c), [x, psi, change, slope, update])?,
            false => None,
        };
        let Some(iterations) = iterations else {
            if current {
                h *= 0.5;
                rescale(&mut differences[..], order, 0.5);
                equal_steps = 0;
            } else {
                let predicted = &mut update[..n];
                for (k, y) in predicted.iter_mut().enumerate() {
                    *y = differences[..=order].iter().map(|d| d[k]).sum();
                }
                change[..n].fill(0.0);
                let past = [&psi[..n], &change[..n]];
                equations.refresh((ahead, c), predicted, past, &mut slope[..n])?;
                current = true;
            }
            factored = false;
            continue;
        };
        if equations.columns() > 0 {
            // The derivatives at the solution make the linear equation exact.
            let (states, columns) = x.split_at_mut(n);
            let (state_change, others) = change.split_at_mut(n);
            equations.refresh((ahead, c), states, [&psi[..n], state_change], &mut slope[..n])?;
            if !equations.sensitivities(c, columns, &psi[n..], others) {
                h *= 0.5;
                rescale(&mut differences[..], order, 0.5);
                (equal_steps, factored) = (0, false);
                continue;
            }
            for (column, change) in columns.iter_mut().zip(others.iter()) {
                *column += change;
            }
            (current, factored) = (true, true);
        }
        let effort = f64::from(2 * ITERATIONS + 1);
        let safety = 0.9 * effort / (effort - 1.0 + f64::from(iterations));
        let constant = error_constant(order);
        let error = problem.norm(x, |k| constant * change[k]);
        if error.is_nan() || error > 1.0 {
            let factor = safety * pow(error, -1.0 / (order as f64 + 1.0));
            let factor = if factor.is_finite() { factor.clamp(0.2, 0.9) } else { 0.2 };
            h *= factor;
            rescale(&mut differences[..], order, factor);
            (equal_steps, factored) = (0, false);
            continue;
        }
        equal_steps += 1;
        clock.count();
        (t, current) = (ahead, false);
        for k in 0..len {
            differences[order + 2][k] = change[k] - differences[order + 1][k];
            differences[order + 1][k] = change[k];
            for j in (0..=order).rev() {
                differences[j][k] += differences[j + 1][k];
            }
        }
        while let Some((row, time)) = rows.next_if(|(_, time)| **time <= t) {
            interpolate((*time - t) / h, order, differences, row);
            clock.restart();
        }
        if equal_steps <= order {
            continue;
        }
        let size = |error: f64, order: usize| pow(error.max(1e-10), -1.0 / (order as f64 + 1.0));
        let judge = |order: usize, difference: usize| {
            size(problem.norm(x, |k| error_constant(order) * differences[difference][k]), order)
        };
        let mut factor = size(error, order);
        let mut best = order;
        if order > 1 && judge(order - 1, order) > factor {
            (best, factor) = (order - 1, judge(order - 1, order));
        }
        if order < HIGHEST && judge(order + 1, order + 2) > factor {
            (best, factor) = (order + 1, judge(order + 1, order + 2));
        }
        let factor = (safety * factor).min(10.0);
        // A small gain is not worth new factors.
        if best != order || !(1.0..1.2).contains(&factor) {
            order = best;
            h *= factor;
            rescale(&mut differences[..], order, factor);
            (equal_steps, factored) = (0, false);
        } else {
            equal_steps = 0;
        }
    }
    Ok(())
}

/// Solves the step's equations for the states; the number of iterations, or `None` without
/// convergence.
fn newton(
    problem: &Problem<'_>,
    equations: &mut impl Equations,
    step: (f64, f64),
    [x, psi, change, slope, update]: [&mut Vec<f64>; 5],
) -> Result<Option<i32>, OdeFailure> {
    let n = equations.states();
    change[..n].fill(0.0);
    let relative = problem.control.relative;
    let tolerance = (10.0 * f64::EPSILON / relative).max(relative.sqrt().min(0.03));
    let negligible = equations.negligible(relative);
    let rounding = equations.rounding();
    let mut last: Option<f64> = None;
    for iteration in 1..=ITERATIONS {
        let past = [&psi[..n], &change[..n]];
        equations.correction(step, &x[..n], past, &mut slope[..n], &mut update[..n])?;
        let size = problem.norm(&x[..n], |k| update[k]);
        if !size.is_finite() {
            return Ok(None);
        }
        let rate = last.map(|last| size / last);
        let left = ITERATIONS - iteration;
        if size > negligible
            && let Some(rate) = rate
            && (rate >= 1.0 || pow(rate, f64::from(left)) / (1.0 - rate) * size > tolerance)
        {
            // Corrections that neither matter nor shrink are rounding.
            let is_rounding = size <= rounding && last.is_some_and(|last| last <= rounding);
            return Ok((rate >= 0.5 && is_rounding).then_some(iteration));
        }
        for k in 0..n {
            x[k] += update[k];
            change[k] += update[k];
        }
        if size <= negligible || rate.is_some_and(|rate| rate / (1.0 - rate) * size < tolerance) {
            return Ok(Some(iteration));
        }
        last = Some(size);
    }
    Ok(None)
}

/// The solution `elapsed` steps after the last point (not positive).
fn interpolate(elapsed: f64, order: usize, differences: &[Vec<f64>], out: &mut [f64]) {
    out.copy_from_slice(&differences[0]);
    let mut weight = 1.0;
    for (j, row) in (1..=order).zip(&differences[1..]) {
        weight *= (elapsed + j as f64 - 1.0) / j as f64;
        for (out, difference) in out.iter_mut().zip(row) {
            *out += weight * difference;
        }
    }
}
