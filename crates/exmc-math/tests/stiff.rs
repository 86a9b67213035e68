//! Backward differentiation of stiff problems with sensitivities, against closed forms: a
//! compartment that is filled at one rate and emptied at another, each from 1e-30 to 1e30 (what a
//! sampler's first steps reach), and random linear compartments.
//!
//! States of the first are at rest at values far below every tolerance, where slopes are what
//! rounding leaves of terms that cancel; a solver that waits for corrections to shrink there halves
//! its steps for ever.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

use exmc_math::{OdeControl, OdeFailure, OdeMethod, OdeSystem, OdeWorkspace, solve_ode};

const DOSE: f64 = 15.0;
const VOLUME: f64 = 2.0;
/// Slopes that a solution may ask for. Explicit methods would need up to 1e30.
const MOST_SLOPES: u64 = 50_000;

/// $\dot y = 15 a e^{-at} - (m/2) y / (k + y)$ with columns for $a$, $k$ and $m$.
struct Elimination {
    a: f64,
    k: f64,
    m: f64,
    slopes: u64,
}

impl OdeSystem for Elimination {
    fn states(&self) -> usize {
        1
    }

    fn columns(&self) -> usize {
        3
    }

    fn slope(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), OdeFailure> {
        self.slopes += 1;
        if self.slopes > MOST_SLOPES {
            return Err(OdeFailure::Stopped);
        }
        let Self { a, k, m, .. } = *self;
        dy[0] = DOSE * a * (-a * t).exp() - m / VOLUME * y[0] / (k + y[0]);
        Ok(())
    }

    fn jacobian(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &mut [f64],
        jacobian: &mut [f64],
        forcing: &mut [f64],
    ) -> Result<(), OdeFailure> {
        self.slope(t, y, dy)?;
        let Self { a, k, m, .. } = *self;
        let y = y[0];
        jacobian[0] = -m / VOLUME * k / (k + y) / (k + y);
        forcing[0] = DOSE * (-a * t).exp() * (1.0 - a * t);
        forcing[1] = m / VOLUME * y / (k + y) / (k + y);
        forcing[2] = -y / (k + y) / VOLUME;
        Ok(())
    }

    fn coupled(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), OdeFailure> {
        let (mut jacobian, mut forcing) = ([0.0], [0.0; 3]);
        let (dy, columns) = dx.split_at_mut(1);
        self.jacobian(t, &x[..1], dy, &mut jacobian, &mut forcing)?;
        for (column, (x, forcing)) in columns.iter_mut().zip(x[1..].iter().zip(forcing)) {
            *column = jacobian[0] * x + forcing;
        }
        Ok(())
    }
}

/// Where $k$ is far above $y \le 15$ the loss is linear, of rate $r = m/2k$:
/// $y = 15 a (e^{-at} - e^{-rt})/(r - a)$, and its derivative by $a$.
fn linear(Elimination { a, k, m, .. }: &Elimination, t: f64) -> [f64; 2] {
    let rate = m / VOLUME / k;
    let between = ((-a * t).exp_m1() - (-rate * t).exp_m1()) / (rate - a);
    let by_a = (between - t * (-a * t).exp()) / (rate - a);
    [DOSE * a * between, DOSE * (between + a * by_a)]
}

#[test]
fn a_state_at_rest_costs_few_steps_at_any_magnitude() {
    let exponents = [-30, -24, -16, -12, -8, -3, 0, 1, 3, 8, 12, 20, 24, 30];
    let times: Vec<f64> = (1..=20).map(|k| 0.5 * f64::from(k)).collect();
    let control = OdeControl { relative: 1e-10, absolute: 1e-10, max_steps: 100_000_000 };
    let mut out = vec![0.0; 4 * times.len()];
    let (mut solutions, mut failures, mut checked) = (0, 0, 0);
    for a in exponents {
        for k in exponents {
            for m in exponents {
                let power = |exponent: i32| 10f64.powi(exponent);
                let (a, k, m) = (1.3 * power(a), 1.7 * power(k), 2.1 * power(m));
                let mut system = Elimination { a, k, m, slopes: 0 };
                let start = (0.0, &[0.0; 4][..]);
                let mut work = OdeWorkspace::default();
                let found = solve_ode(
                    OdeMethod::Bdf,
                    &control,
                    &mut system,
                    &mut work,
                    start,
                    &times,
                    &mut out,
                );
                solutions += 1;
                match found {
                    // At half-saturations that the state's own rounding reaches.
                    Err(OdeFailure::StepTooSmall) if k < 1e-7 => failures += 1,
                    found => assert_eq!(found, Ok(()), "a = {a}, k = {k}, m = {m}"),
                }
                if k < 1e12 {
                    continue;
                }
                for (t, row) in times.iter().zip(out.chunks_exact(4)) {
                    for (found, expected) in row.iter().zip(linear(&system, *t)) {
                        let error = (found - expected).abs() / expected.abs().max(1.0);
                        checked += 1;
                        // A few hundred steps, each allowed 1e-10; $y/k$ is at most 1e-11.
                        assert!(
                            error < 2e-8,
                            "a = {a}, k = {k}, m = {m}, t = {t}: {found}, not {expected}"
                        );
                    }
                }
            }
        }
    }
    assert!(checked > 10_000 && failures * 20 < solutions, "{failures} of {solutions}");
}

/// Linear compartments with rates from 1e-4 to 1e6.
struct Compartments {
    n: usize,
    /// From column to row; on the diagonal out of the model.
    rates: Vec<f64>,
    /// Those by whose logarithms the columns are.
    places: [usize; 2],
    slopes: u64,
}

impl Compartments {
    /// What a rate moves at a state, by its place.
    fn flow(&self, place: usize, rate: f64, y: &[f64], dy: &mut [f64]) {
        let (to, from) = (place / self.n, place % self.n);
        dy[from] -= rate * y[from];
        if to != from {
            dy[to] += rate * y[from];
        }
    }
}

impl OdeSystem for Compartments {
    fn states(&self) -> usize {
        self.n
    }

    fn columns(&self) -> usize {
        2
    }

    fn slope(&mut self, _: f64, y: &[f64], dy: &mut [f64]) -> Result<(), OdeFailure> {
        self.slopes += 1;
        dy.fill(0.0);
        for (place, rate) in self.rates.iter().enumerate() {
            self.flow(place, *rate, y, dy);
        }
        Ok(())
    }

    fn jacobian(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &mut [f64],
        jacobian: &mut [f64],
        forcing: &mut [f64],
    ) -> Result<(), OdeFailure> {
        self.slope(t, y, dy)?;
        jacobian.fill(0.0);
        for (place, rate) in self.rates.iter().enumerate() {
            let (to, from) = (place / self.n, place % self.n);
            jacobian[from * self.n + from] -= rate;
            if to != from {
                jacobian[to * self.n + from] += rate;
            }
        }
        for (k, place) in self.places.into_iter().enumerate() {
            let mut column = vec![0.0; self.n];
            self.flow(place, self.rates[place], y, &mut column);
            for (i, moved) in column.into_iter().enumerate() {
                forcing[2 * i + k] = moved;
            }
        }
        Ok(())
    }

    fn coupled(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), OdeFailure> {
        let n = self.n;
        let (mut jacobian, mut forcing) = (vec![0.0; n * n], vec![0.0; 2 * n]);
        let (dy, columns) = dx.split_at_mut(n);
        self.jacobian(t, &x[..n], dy, &mut jacobian, &mut forcing)?;
        for i in 0..n {
            for k in 0..2 {
                let flow: f64 = (0..n).map(|j| jacobian[i * n + j] * x[n + 2 * j + k]).sum();
                columns[2 * i + k] = flow + forcing[2 * i + k];
            }
        }
        Ok(())
    }
}

/// Against closed forms (`data/generate_compartments.py`): 30 random systems whose slowest and
/// quickest rates lie up to ten powers of ten apart, with two columns of sensitivities.
#[test]
fn random_linear_compartments_have_their_closed_form() {
    let lines: Vec<Vec<f64>> = include_str!("data/ode_compartments.csv")
        .lines()
        .map(|line| line.split(',').map(|field| field.parse().unwrap()).collect())
        .collect();
    assert_eq!(lines.len(), 150);
    let (mut worst, mut most) = (0.0f64, 0);
    for (case, rows) in lines.chunks_exact(5).enumerate() {
        let n = rows[0][0] as usize;
        let (rates, rest) = rows[0][1..].split_at(n * n);
        let mut places: Vec<usize> = (0..n * n).filter(|place| rates[*place] > 0.0).collect();
        places.sort_by(|a, b| rates[*a].total_cmp(&rates[*b]));
        let places = [places[places.len() - 1], places[0]];
        let mut system = Compartments { n, rates: rates.to_vec(), places, slopes: 0 };
        let mut start = rest[..n].to_vec();
        start.resize(3 * n, 0.0);
        let times: Vec<f64> = rows.iter().map(|row| row[1 + n * n + n]).collect();
        let mut out = vec![0.0; rows.len() * 3 * n];
        let control = OdeControl { relative: 1e-10, absolute: 1e-10, max_steps: 1_000_000 };
        let mut work = OdeWorkspace::default();
        let first = (0.0, &start[..]);
        solve_ode(OdeMethod::Bdf, &control, &mut system, &mut work, first, &times, &mut out)
            .unwrap();
        for (row, found) in rows.iter().zip(out.chunks_exact(3 * n)) {
            for (k, (found, expected)) in found.iter().zip(&row[2 + n * n + n..]).enumerate() {
                let error = (found - expected).abs() / expected.abs().max(1.0);
                worst = worst.max(error);
                assert!(error < 2e-8, "case {case}, number {k}: {found}, not {expected}");
            }
        }
        most = most.max(system.slopes);
    }
    // A thousand steps, each allowed 1e-10; explicit methods would need 1e9 steps.
    assert!(most < 20_000, "{most} slopes, error {worst:e}");
}
