//! Initial value problems: solutions and sensitivities against closed forms and against `scipy` at
//! tight tolerances (`data/generate_ode.py`), against Stan at loose ones
//! (`data/generate_ode_loose.py`), and solutions that cannot be had.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

use exmc_math::interruption::StopFlag;
use exmc_math::{OdeControl, OdeFailure, OdeMethod, OdeSystem, OdeWorkspace, solve_ode};

/// Time, states and slopes.
pub(crate) type Slope<'a> = &'a dyn Fn(f64, &[f64], &mut [f64]);
/// Time, states, Jacobian and forcing.
pub(crate) type Derivatives<'a> = &'a dyn Fn(f64, &[f64], &mut [f64], &mut [f64]);

/// A right-hand side whose coupled slope is given as a whole; counts how often it is asked.
pub(crate) struct Coupled<'a> {
    pub(crate) states: usize,
    pub(crate) columns: usize,
    pub(crate) slope: Slope<'a>,
    pub(crate) jacobian: Option<Derivatives<'a>>,
    pub(crate) calls: usize,
}

impl OdeSystem for Coupled<'_> {
    fn states(&self) -> usize {
        self.states
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn slope(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), OdeFailure> {
        self.calls += 1;
        (self.slope)(t, y, dy);
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
        (self.slope)(t, y, dy);
        (self.jacobian.unwrap())(t, y, jacobian, forcing);
        Ok(())
    }

    fn coupled(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), OdeFailure> {
        self.calls += 1;
        let (n, s) = (self.states, self.columns);
        (self.slope)(t, &x[..n], &mut dx[..n]);
        if s > 0 {
            let (mut j, mut p) = (vec![0.0; n * n], vec![0.0; n * s]);
            (self.jacobian.unwrap())(t, &x[..n], &mut j, &mut p);
            for i in 0..n {
                for k in 0..s {
                    let flow: f64 = (0..n).map(|l| j[i * n + l] * x[n + l * s + k]).sum();
                    dx[n + i * s + k] = flow + p[i * s + k];
                }
            }
        }
        Ok(())
    }
}

const TIGHT: OdeControl = OdeControl { relative: 1e-10, absolute: 1e-10, max_steps: 1_000_000 };

pub(crate) fn solve(
    method: OdeMethod,
    control: &OdeControl,
    system: &mut Coupled<'_>,
    start: &[f64],
    times: &[f64],
) -> Result<Vec<f64>, OdeFailure> {
    let mut out = vec![f64::NAN; times.len() * start.len()];
    solve_ode(
        method,
        control,
        system,
        &mut OdeWorkspace::default(),
        (0.0, start),
        times,
        &mut out,
    )?;
    Ok(out)
}

fn compare(name: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / expected.abs().max(1.0);
        assert!(error <= tolerance, "{name}: element {k} is {found}, not {expected}: {error:e}");
    }
}

/// Logistic growth $\dot y = r y (1 - y)$ with columns for y(0) and r:
/// $y = y_0/(y_0 + (1-y_0)e^{-rt})$.
#[test]
fn logistic_growth_and_its_sensitivities_are_the_closed_form() {
    let rate = 1.7;
    let slope = |_: f64, y: &[f64], dy: &mut [f64]| dy[0] = rate * y[0] * (1.0 - y[0]);
    let jacobian = |_: f64, y: &[f64], j: &mut [f64], p: &mut [f64]| {
        j[0] = rate * (1.0 - 2.0 * y[0]);
        p[1] = y[0] * (1.0 - y[0]);
    };
    let times: Vec<f64> = (0..12).map(|k| 0.45 * f64::from(k)).collect();
    let start = 0.04;
    let mut expected = Vec::new();
    for t in &times {
        let decay = (-rate * t).exp();
        let below = start + (1.0 - start) * decay;
        let by_start = decay / below.powi(2);
        let by_rate = start * (1.0 - start) * t * decay / below.powi(2);
        expected.extend([start / below, by_start, by_rate]);
    }
    for method in OdeMethod::ALL {
        let mut system =
            Coupled { states: 1, columns: 2, slope: &slope, jacobian: Some(&jacobian), calls: 0 };
        let found = solve(method, &TIGHT, &mut system, &[start, 1.0, 0.0], &times).unwrap();
        // A few hundred steps, each allowed 1e-10.
        compare(method.name(), &found, &expected, 2e-8);
    }
}

/// $\ddot x = -\omega^2 x$: errors of a method that loses energy or phase would grow over 16
/// periods.
#[test]
fn an_oscillator_keeps_its_phase() {
    let omega = 2.0;
    let slope = |_: f64, y: &[f64], dy: &mut [f64]| {
        dy[0] = y[1];
        dy[1] = -omega * omega * y[0];
    };
    let jacobian = |_: f64, _: &[f64], j: &mut [f64], _: &mut [f64]| {
        j.copy_from_slice(&[0.0, 1.0, -omega * omega, 0.0]);
    };
    let times: Vec<f64> = (1..=100).map(|k| 0.5 * f64::from(k)).collect();
    let expected: Vec<f64> =
        times.iter().flat_map(|t| [(omega * t).cos(), -omega * (omega * t).sin()]).collect();
    for method in OdeMethod::ALL {
        for relative in [1e-6, 1e-10] {
            let mut system = Coupled {
                states: 2,
                columns: 0,
                slope: &slope,
                jacobian: Some(&jacobian),
                calls: 0,
            };
            let control = OdeControl { relative, absolute: relative, ..TIGHT };
            let found = solve(method, &control, &mut system, &[1.0, 0.0], &times).unwrap();
            // Errors add up over 16 periods; backward differences damp most.
            compare(method.name(), &found, &expected, 3000.0 * relative);
        }
    }
}

/// A right-hand side or its Jacobian.
type Field = fn(&[f64], &mut [f64]);

fn robertson(y: &[f64], dy: &mut [f64]) {
    let (slow, fast, square) = (0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]);
    dy.copy_from_slice(&[fast - slow, slow - fast - square, square]);
}

fn robertson_jacobian(y: &[f64], j: &mut [f64]) {
    let (a, b, c) = (1e4 * y[2], 1e4 * y[1], 6e7 * y[1]);
    j.copy_from_slice(&[-0.04, a, b, 0.04, -a - c, -b, 0.0, c, 0.0]);
}

fn van_der_pol(y: &[f64], dy: &mut [f64]) {
    dy.copy_from_slice(&[y[1], 100.0 * (1.0 - y[0] * y[0]) * y[1] - y[0]]);
}

fn van_der_pol_jacobian(y: &[f64], j: &mut [f64]) {
    j.copy_from_slice(&[0.0, 1.0, -200.0 * y[0] * y[1] - 1.0, 100.0 * (1.0 - y[0] * y[0])]);
}

fn lotka_volterra(y: &[f64], dy: &mut [f64]) {
    let met = y[0] * y[1];
    dy.copy_from_slice(&[0.55 * y[0] - 0.028 * met, -0.84 * y[1] + 0.026 * met]);
}

fn lotka_volterra_jacobian(y: &[f64], j: &mut [f64]) {
    j.copy_from_slice(&[0.55 - 0.028 * y[1], -0.028 * y[0], 0.026 * y[1], -0.84 + 0.026 * y[0]]);
}

/// Times and solution of a problem in `data/ode.csv`.
fn golden(problem: &str) -> (Vec<f64>, Vec<f64>) {
    let (mut times, mut states) = (Vec::new(), Vec::new());
    for line in include_str!("data/ode.csv").lines() {
        let mut fields = line.split(',');
        if fields.next() == Some(problem) {
            let mut numbers = fields.map(|field| field.parse::<f64>().unwrap());
            times.push(numbers.next().unwrap());
            states.extend(numbers);
        }
    }
    assert!(!times.is_empty());
    (times, states)
}

#[test]
fn stiff_and_oscillating_problems_agree_with_scipy() {
    // Problem, states, field, Jacobian, start, whether explicit methods are fit for it.
    type Row = (&'static str, Field, Field, &'static [f64], bool);
    let rows: [Row; 3] = [
        ("robertson", robertson, robertson_jacobian, &[1.0, 0.0, 0.0], false),
        ("van_der_pol", van_der_pol, van_der_pol_jacobian, &[2.0, 0.0], false),
        ("lotka_volterra", lotka_volterra, lotka_volterra_jacobian, &[30.0, 4.0], true),
    ];
    for (problem, field, jacobian, start, gentle) in rows {
        let (times, expected) = golden(problem);
        let slope = |_: f64, y: &[f64], dy: &mut [f64]| field(y, dy);
        let jacobian = |_: f64, y: &[f64], j: &mut [f64], _: &mut [f64]| jacobian(y, j);
        for method in OdeMethod::ALL {
            if !gentle && method != OdeMethod::Bdf {
                continue;
            }
            let mut system = Coupled {
                states: start.len(),
                columns: 0,
                slope: &slope,
                jacobian: Some(&jacobian),
                calls: 0,
            };
            let control = OdeControl { relative: 1e-10, absolute: 1e-13, ..TIGHT };
            let found = solve(method, &control, &mut system, start, &times).unwrap();
            for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let error = (found - expected).abs() / expected.abs();
                // A thousand steps, each allowed 1e-10.
                let name = method.name();
                assert!(error <= 1e-7, "{problem} by {name}: {k} is {found}, not {expected}");
            }
            // A stiff solver's steps grow with the solution's slowness: an explicit one would need
            // 1e8.
            assert!(gentle || system.calls < 20_000, "{problem}: {} calls", system.calls);
        }
    }
}

/// Control of steps, the last step and interpolation are those of Stan, so results agree far below
/// the tolerance: without sensitivities, and with those of four parameters under the same control.
#[test]
fn loose_tolerances_give_the_solutions_of_stan() {
    let rates = [0.55, 0.028, 0.84, 0.026];
    let slope = |_: f64, y: &[f64], dy: &mut [f64]| {
        dy[0] = (rates[0] - rates[1] * y[1]) * y[0];
        dy[1] = (-rates[2] + rates[3] * y[0]) * y[1];
    };
    let jacobian = |_: f64, y: &[f64], j: &mut [f64], p: &mut [f64]| {
        let met = y[0] * y[1];
        let [a, b, c, d] = rates;
        j.copy_from_slice(&[a - b * y[1], -b * y[0], d * y[1], d * y[0] - c]);
        if !p.is_empty() {
            p.copy_from_slice(&[y[0], -met, 0.0, 0.0, 0.0, 0.0, -y[1], met]);
        }
    };
    let table = include_str!("data/ode_loose.csv");
    for method in [OdeMethod::Rk45, OdeMethod::Ckrk] {
        for tolerance in [1e-3, 1e-5] {
            let rows: Vec<Vec<f64>> = table
                .lines()
                .filter_map(|line| line.strip_prefix(&format!("{},{tolerance},", method.name())))
                .map(|line| line.split(',').map(|field| field.parse().unwrap()).collect())
                .collect();
            assert_eq!(rows.len(), 5);
            let times: Vec<f64> = rows.iter().map(|row| row[0]).collect();
            let control = OdeControl { relative: tolerance, absolute: tolerance, ..TIGHT };
            for columns in [0, 4] {
                let jacobian: Option<Derivatives<'_>> = Some(&jacobian);
                let mut system = Coupled { states: 2, columns, slope: &slope, jacobian, calls: 0 };
                let mut start = vec![30.0, 4.0];
                start.resize(2 + 2 * columns, 0.0);
                let found = solve(method, &control, &mut system, &start, &times).unwrap();
                for (row, found) in rows.iter().zip(found.chunks(start.len())) {
                    // Time, states alone, then each state with its sensitivities.
                    let expected = match columns {
                        0 => row[1..3].to_vec(),
                        _ => [&row[3..4], &row[8..9], &row[4..8], &row[9..13]].concat(),
                    };
                    for (found, expected) in found.iter().zip(expected) {
                        let error = (found - expected).abs() / expected.abs().max(1.0);
                        let name = method.name();
                        // Rounding, grown along the solution.
                        assert!(error < 1e-11, "{name} {tolerance}: {found}, not {expected}");
                    }
                }
            }
        }
    }
}

#[test]
fn sensitivities_of_a_stiff_problem_agree_with_differences() {
    let (times, _) = golden("robertson");
    let slope = |_: f64, y: &[f64], dy: &mut [f64]| robertson(y, dy);
    let jacobian = |_: f64, y: &[f64], j: &mut [f64], p: &mut [f64]| {
        robertson_jacobian(y, j);
        // By the first rate, 0.04.
        p.copy_from_slice(&[-y[0], y[0], 0.0]);
    };
    let control = OdeControl { relative: 1e-11, absolute: 1e-14, ..TIGHT };
    let start = [1.0, 0.0, 0.0];
    let mut system =
        Coupled { states: 3, columns: 1, slope: &slope, jacobian: Some(&jacobian), calls: 0 };
    let coupled = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let found = solve(OdeMethod::Bdf, &control, &mut system, &coupled, &times).unwrap();
    let width = 1e-4;
    let moved = |by: f64| {
        let slope = move |_: f64, y: &[f64], dy: &mut [f64]| {
            robertson(y, dy);
            dy[0] -= by * y[0];
            dy[1] += by * y[0];
        };
        let jacobian = move |_: f64, y: &[f64], j: &mut [f64], _: &mut [f64]| {
            robertson_jacobian(y, j);
            j[0] -= by;
            j[3] += by;
        };
        let mut system =
            Coupled { states: 3, columns: 0, slope: &slope, jacobian: Some(&jacobian), calls: 0 };
        solve(OdeMethod::Bdf, &control, &mut system, &start, &times).unwrap()
    };
    let (above, below) = (moved(width), moved(-width));
    for t in 0..times.len() {
        for i in 0..3 {
            let expected = (above[t * 3 + i] - below[t * 3 + i]) / (2.0 * width);
            let found = found[t * 6 + 3 + i];
            // The differences' own error is a third derivative times 1e-8 / 6.
            let error = (found - expected).abs() / expected.abs();
            assert!(error < 1e-4, "state {i} at {}: {found}, not {expected}", times[t]);
        }
    }
}

#[test]
fn a_jacobian_by_differences_does_where_none_is_given() {
    struct Plain;
    impl OdeSystem for Plain {
        fn states(&self) -> usize {
            3
        }
        fn slope(&mut self, _: f64, y: &[f64], dy: &mut [f64]) -> Result<(), OdeFailure> {
            robertson(y, dy);
            Ok(())
        }
        fn coupled(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), OdeFailure> {
            self.slope(t, x, dx)
        }
    }
    let (times, expected) = golden("robertson");
    let mut out = vec![0.0; expected.len()];
    let control = OdeControl { relative: 1e-8, absolute: 1e-12, ..TIGHT };
    let start = (0.0, &[1.0, 0.0, 0.0][..]);
    let mut work = OdeWorkspace::default();
    solve_ode(OdeMethod::Bdf, &control, &mut Plain, &mut work, start, &times, &mut out).unwrap();
    compare("robertson", &out, &expected, 1e-6);
}

/// A solution of 1e8 steps and more ends soon after somebody asks for that.
#[test]
fn an_interrupted_thread_gives_up() {
    let slope = |_: f64, y: &[f64], dy: &mut [f64]| dy.copy_from_slice(&[y[1], -1e12 * y[0]]);
    let jacobian = |_: f64, _: &[f64], j: &mut [f64], _: &mut [f64]| {
        j.copy_from_slice(&[0.0, 1.0, -1e12, 0.0]);
    };
    let stop = StopFlag::default();
    let control = OdeControl { max_steps: 100_000_000, ..TIGHT };
    stop.raise();
    for method in OdeMethod::ALL {
        let mut system =
            Coupled { states: 2, columns: 0, slope: &slope, jacobian: Some(&jacobian), calls: 0 };
        let mut run = || solve(method, &control, &mut system, &[1.0, 0.0], &[0.0, 1e6]);
        assert_eq!(stop.scope(&mut run), Err(OdeFailure::Stopped), "{method:?}");
        assert!(system.calls < 2000, "{method:?}: {} slopes", system.calls);
    }
}

#[test]
fn what_cannot_be_solved_says_why() {
    let growth = |_: f64, y: &[f64], dy: &mut [f64]| dy[0] = y[0] * y[0];
    let jacobian = |_: f64, y: &[f64], j: &mut [f64], _: &mut [f64]| j[0] = 2.0 * y[0];
    let nowhere = |_: f64, _: &[f64], dy: &mut [f64]| dy[0] = f64::NAN;
    for method in OdeMethod::ALL {
        let outcome = |slope: Slope<'_>, control: &OdeControl, start: &[f64], times: &[f64]| {
            let mut system =
                Coupled { states: 1, columns: 0, slope, jacobian: Some(&jacobian), calls: 0 };
            solve(method, control, &mut system, start, times)
        };
        // y = 1 / (1 - t).
        let wall = outcome(&growth, &TIGHT, &[1.0], &[0.5, 2.0]);
        assert!(
            matches!(wall, Err(OdeFailure::StepTooSmall | OdeFailure::TooManySteps)),
            "{method:?}: {wall:?}"
        );
        let few = OdeControl { max_steps: 3, ..TIGHT };
        assert_eq!(outcome(&growth, &few, &[1.0], &[0.9]), Err(OdeFailure::TooManySteps));
        assert_eq!(outcome(&nowhere, &TIGHT, &[1.0], &[1.0]), Err(OdeFailure::StepTooSmall));
        assert_eq!(outcome(&growth, &TIGHT, &[f64::NAN], &[1.0]), Err(OdeFailure::NotFinite));
        assert_eq!(outcome(&growth, &TIGHT, &[1.0], &[0.5, 0.4]), Err(OdeFailure::TimesNotSorted));
        assert_eq!(outcome(&growth, &TIGHT, &[1.0], &[-0.5]), Err(OdeFailure::TimesNotSorted));
        let loose = OdeControl { relative: 0.0, ..TIGHT };
        assert_eq!(outcome(&growth, &loose, &[1.0], &[0.5]), Err(OdeFailure::NotFinite));
        // Times that equal the initial time have the start, and no times no work.
        assert_eq!(outcome(&growth, &TIGHT, &[1.0], &[0.0, 0.0]), Ok(vec![1.0, 1.0]));
        assert_eq!(outcome(&growth, &TIGHT, &[1.0], &[]), Ok(vec![]));
    }
}
