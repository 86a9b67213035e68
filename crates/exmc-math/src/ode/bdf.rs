//! Backward differentiation formulas of orders 1 to 5: a stiff initial value problem -> its solution.
//!
//! Numerical differentiation formulas (a BDF whose leading error term is reduced) on steps of one length, whose
//! backward differences are recomputed when the length changes. The states solve the implicit equation by a
//! simplified Newton iteration; sensitivities, whose equation is linear, then solve it directly with the Jacobian
//! at the solution.
//!
//! **Reference**: Shampine and Reichelt 1997, section 2; Byrne and Hindmarsh 1975.

use super::factors::Factors;
use super::{Clock, OdeFailure, OdeSystem, OdeWorkspace, Problem};
use crate::elementary::pow;

const HIGHEST: usize = 5;
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
    let mut stepper = Stepper { n, s, jacobian, forcing, lu, pivots };
    let rows: &mut [Vec<f64>; HIGHEST + 8] = work.rows(len);
    let outcome = stepper.solve(problem, system, rows, out);
    work.matrices = [stepper.jacobian, stepper.forcing, stepper.lu, stepper.pivots];
    outcome
}

struct Stepper {
    n: usize,
    s: usize,
    jacobian: Vec<f64>,
    forcing: Vec<f64>,
    lu: Vec<f64>,
    pivots: Vec<f64>,
}

impl Stepper {
    fn factor(&mut self, c: f64) -> bool {
        let Self { n, jacobian, lu, pivots, .. } = self;
        Factors { n: *n, matrix: lu, pivots }.compute(jacobian, c)
    }

    fn back(&mut self, b: &mut [f64], width: usize) {
        let Self { n, lu, pivots, .. } = self;
        Factors { n: *n, matrix: lu, pivots }.solve(b, width);
    }

    fn solve(
        &mut self,
        problem: &Problem<'_>,
        system: &mut impl OdeSystem,
        rows: &mut [Vec<f64>; HIGHEST + 8],
        out: &mut [f64],
    ) -> Result<(), OdeFailure> {
        let (n, len) = (self.n, problem.start.len());
        let [x, psi, change, slope, update, differences @ ..] = rows;
        differences[0].copy_from_slice(problem.start);
        system.coupled(problem.t0, problem.start, &mut differences[1])?;
        let (mut t, mut h) = (problem.t0, problem.first_step(problem.start, &differences[1]));
        differences[1].iter_mut().for_each(|d| *d *= h);
        let (mut order, mut equal_steps) = (1, 0);
        let mut clock = Clock::new(problem.control);
        let mut rows = out.chunks_exact_mut(len).zip(problem.times).peekable();
        while let Some((row, _)) = rows.next_if(|(_, time)| **time <= t) {
            row.copy_from_slice(problem.start);
        }
        // Whether the Jacobian is that of this step, and whether its factors are those of this length.
        let (mut current, mut factored) = (false, false);
        system.jacobian(
            t,
            &problem.start[..n],
            &mut slope[..n],
            &mut self.jacobian,
            &mut self.forcing,
        )?;
        while rows.peek().is_some() {
            clock.tick(t, h)?;
            let (ahead, c) = (t + h, h / alpha(order));
            for k in 0..len {
                x[k] = differences[..=order].iter().map(|d| d[k]).sum();
                let past: f64 = (1..=order).map(|j| differences[j][k] * GAMMA[j]).sum();
                psi[k] = past / alpha(order);
            }
            if !factored {
                factored = self.factor(c);
            }
            let iterations = match factored {
                true => {
                    self.newton(problem, system, (ahead, c), [x, psi, change, slope, update])?
                }
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
                    let (jacobian, forcing) = (&mut self.jacobian, &mut self.forcing);
                    system.jacobian(ahead, predicted, &mut slope[..n], jacobian, forcing)?;
                    current = true;
                }
                factored = false;
                continue;
            };
            if self.s > 0 {
                // The Jacobian at the solution makes the linear equation exact.
                let (states, columns) = x.split_at_mut(n);
                let (jacobian, forcing) = (&mut self.jacobian, &mut self.forcing);
                system.jacobian(ahead, states, &mut slope[..n], jacobian, forcing)?;
                if !self.sensitivities(c, columns, &psi[n..], &mut change[n..]) {
                    h *= 0.5;
                    rescale(&mut differences[..], order, 0.5);
                    (equal_steps, factored) = (0, false);
                    continue;
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
            let size =
                |error: f64, order: usize| pow(error.max(1e-10), -1.0 / (order as f64 + 1.0));
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

    /// Solves `change = c f(x) - psi` for the states; the number of iterations, or `None` without convergence.
    fn newton(
        &mut self,
        problem: &Problem<'_>,
        system: &mut impl OdeSystem,
        (t, c): (f64, f64),
        [x, psi, change, slope, update]: [&mut Vec<f64>; 5],
    ) -> Result<Option<i32>, OdeFailure> {
        let n = self.n;
        change[..n].fill(0.0);
        let relative = problem.control.relative;
        let tolerance = (10.0 * f64::EPSILON / relative).max(relative.sqrt().min(0.03));
        let mut last: Option<f64> = None;
        for iteration in 1..=ITERATIONS {
            system.slope(t, &x[..n], &mut slope[..n])?;
            for k in 0..n {
                update[k] = c * slope[k] - psi[k] - change[k];
            }
            self.back(&mut update[..n], 1);
            let size = problem.norm(&x[..n], |k| update[k]);
            if !size.is_finite() {
                return Ok(None);
            }
            let rate = last.map(|last| size / last);
            let left = ITERATIONS - iteration;
            if let Some(rate) = rate
                && (rate >= 1.0 || pow(rate, f64::from(left)) / (1.0 - rate) * size > tolerance)
            {
                return Ok(None);
            }
            for k in 0..n {
                x[k] += update[k];
                change[k] += update[k];
            }
            if size == 0.0 || rate.is_some_and(|rate| rate / (1.0 - rate) * size < tolerance) {
                return Ok(Some(iteration));
            }
            last = Some(size);
        }
        Ok(None)
    }

    /// `(I - cJ) change = c (J S + P) - psi` at the predicted sensitivities S, which it then corrects.
    fn sensitivities(
        &mut self,
        c: f64,
        columns: &mut [f64],
        psi: &[f64],
        change: &mut [f64],
    ) -> bool {
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
        for (column, change) in columns.iter_mut().zip(change.iter()) {
            *column += change;
        }
        true
    }
}

/// The solution `at` steps after the last point (not positive).
fn interpolate(at: f64, order: usize, differences: &[Vec<f64>], out: &mut [f64]) {
    out.copy_from_slice(&differences[0]);
    let mut weight = 1.0;
    for (j, row) in (1..=order).zip(&differences[1..]) {
        weight *= (at + j as f64 - 1.0) / j as f64;
        for (out, difference) in out.iter_mut().zip(row) {
            *out += weight * difference;
        }
    }
}
