//! Backward differentiation of stiff problems with sensitivities, against closed forms: a
//! compartment that is filled at one rate and emptied at another, each from 1e-30 to 1e30 (what a
//! sampler's first steps reach), and random linear compartments.
//!
//! States of the first are at rest at values far below every tolerance, where slopes are what
//! rounding leaves of terms that cancel; a solver that waits for corrections to shrink there halves
//! its steps for ever.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

use exmc_math::{OdeControl, OdeFailure, OdeMethod};

use crate::ode::{Coupled, solve};

const DOSE: f64 = 15.0;
const VOLUME: f64 = 2.0;

/// Where $k$ is far above $y \le 15$ the loss is linear, of rate $r = m/2k$:
/// $y = 15 a (e^{-at} - e^{-rt})/(r - a)$, and its derivative by $a$.
fn linear([a, k, m]: [f64; 3], t: f64) -> [f64; 2] {
    let rate = m / VOLUME / k;
    let between = ((-a * t).exp_m1() - (-rate * t).exp_m1()) / (rate - a);
    let by_a = (between - t * (-a * t).exp()) / (rate - a);
    [DOSE * a * between, DOSE * (between + a * by_a)]
}

/// $\dot y = 15 a e^{-at} - (m/2) y / (k + y)$ from 0 with columns for $a$, $k$ and $m$: rows of
/// the state and these, and the slopes asked for.
fn eliminate([a, k, m]: [f64; 3], times: &[f64]) -> (Result<Vec<f64>, OdeFailure>, usize) {
    let slope = |t: f64, y: &[f64], dy: &mut [f64]| {
        dy[0] = DOSE * a * (-a * t).exp() - m / VOLUME * y[0] / (k + y[0]);
    };
    let jacobian = |t: f64, y: &[f64], jacobian: &mut [f64], forcing: &mut [f64]| {
        let y = y[0];
        jacobian[0] = -m / VOLUME * k / (k + y) / (k + y);
        forcing[0] = DOSE * (-a * t).exp() * (1.0 - a * t);
        forcing[1] = m / VOLUME * y / (k + y) / (k + y);
        forcing[2] = -y / (k + y) / VOLUME;
    };
    let mut system =
        Coupled { states: 1, columns: 3, slope: &slope, jacobian: Some(&jacobian), calls: 0 };
    // Explicit methods would need up to 1e30 steps.
    let control = OdeControl { relative: 1e-10, absolute: 1e-10, max_steps: 10_000 };
    let found = solve(OdeMethod::Bdf, &control, &mut system, &[0.0; 4], times);
    (found, system.calls)
}

#[test]
fn a_state_at_rest_costs_few_steps_at_any_magnitude() {
    let exponents = [-30, -24, -16, -12, -8, -3, 0, 1, 3, 8, 12, 20, 24, 30];
    let times: Vec<f64> = (1..=20).map(|k| 0.5 * f64::from(k)).collect();
    let power = |exponent: i32| 10f64.powi(exponent);
    let (mut solutions, mut failures, mut checked) = (0, 0, 0);
    let choices = exponents.len();
    for case in 0..choices.pow(3) {
        let exponent = |k: u32| exponents[case / choices.pow(k) % choices];
        let rates = [1.3 * power(exponent(0)), 1.7 * power(exponent(1)), 2.1 * power(exponent(2))];
        let (found, slopes) = eliminate(rates, &times);
        solutions += 1;
        assert!(slopes < 50_000, "{rates:?}: {slopes} slopes");
        let found = match found {
            // At half-saturations that the state's own rounding reaches.
            Err(OdeFailure::StepTooSmall) if rates[1] < 1e-7 => {
                failures += 1;
                continue;
            }
            found => found.unwrap_or_else(|failure| panic!("{rates:?}: {failure:?}")),
        };
        if rates[1] < 1e12 {
            continue;
        }
        for (t, row) in times.iter().zip(found.chunks_exact(4)) {
            for (found, expected) in row.iter().zip(linear(rates, *t)) {
                let error = (found - expected).abs() / expected.abs().max(1.0);
                checked += 1;
                // A few hundred steps, each allowed 1e-10; $y/k$ is at most 1e-11.
                assert!(error < 2e-8, "{rates:?}, t = {t}: {found}, not {expected}");
            }
        }
    }
    assert!(checked > 10_000 && failures * 20 < solutions, "{failures} of {solutions}");
}

/// What a rate moves at a state, by its place among `n` by `n`: from column to row, on the diagonal
/// out of the model.
fn flow(n: usize, place: usize, rate: f64, y: &[f64], dy: &mut [f64]) {
    let (to, from) = (place / n, place % n);
    dy[from] -= rate * y[from];
    if to != from {
        dy[to] += rate * y[from];
    }
}

/// Against closed forms (`data/generate_compartments.py`): 30 random systems of linear compartments
/// whose slowest and quickest rates lie up to ten powers of ten apart, with sensitivities by the
/// logarithms of these two.
#[test]
fn random_linear_compartments_have_their_closed_form() {
    let lines: Vec<Vec<f64>> = include_str!("data/ode_compartments.csv")
        .lines()
        .map(|line| line.split(',').map(|field| field.parse().unwrap()).collect())
        .collect();
    assert_eq!(lines.len(), 150);
    for (case, rows) in lines.chunks_exact(5).enumerate() {
        let n = rows[0][0] as usize;
        let (rates, rest) = rows[0][1..].split_at(n * n);
        let mut places: Vec<usize> = (0..n * n).filter(|place| rates[*place] > 0.0).collect();
        places.sort_by(|a, b| rates[*a].total_cmp(&rates[*b]));
        let places = [places[places.len() - 1], places[0]];
        let slope = |_: f64, y: &[f64], dy: &mut [f64]| {
            dy.fill(0.0);
            rates.iter().enumerate().for_each(|(place, rate)| flow(n, place, *rate, y, dy));
        };
        let jacobian = |t: f64, y: &[f64], jacobian: &mut [f64], forcing: &mut [f64]| {
            let mut column = vec![0.0; n];
            for j in 0..n {
                let unit: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i == j))).collect();
                slope(t, &unit, &mut column);
                (0..n).for_each(|i| jacobian[i * n + j] = column[i]);
            }
            for (k, place) in places.into_iter().enumerate() {
                column.fill(0.0);
                flow(n, place, rates[place], y, &mut column);
                (0..n).for_each(|i| forcing[2 * i + k] = column[i]);
            }
        };
        let mut system =
            Coupled { states: n, columns: 2, slope: &slope, jacobian: Some(&jacobian), calls: 0 };
        let mut start = rest[..n].to_vec();
        start.resize(3 * n, 0.0);
        let times: Vec<f64> = rows.iter().map(|row| row[1 + n * n + n]).collect();
        let control = OdeControl { relative: 1e-10, absolute: 1e-10, max_steps: 10_000 };
        let found = solve(OdeMethod::Bdf, &control, &mut system, &start, &times).unwrap();
        for (row, found) in rows.iter().zip(found.chunks_exact(3 * n)) {
            for (k, (found, expected)) in found.iter().zip(&row[2 + n * n + n..]).enumerate() {
                let error = (found - expected).abs() / expected.abs().max(1.0);
                // A thousand steps, each allowed 1e-10.
                assert!(error < 2e-8, "case {case}, number {k}: {found}, not {expected}");
            }
        }
        // Explicit methods would need 1e9 steps.
        assert!(system.calls < 20_000, "case {case}: {} slopes", system.calls);
    }
}
