//! Differential-algebraic equations: solutions and sensitivities against closed forms and against
//! references of `data/generate_dae.py`, and what has no solution.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

use exmc_math::{DaeSystem, OdeControl, OdeFailure, OdeWorkspace, solve_dae};

/// Time, states, slopes -> residual.
type Residual<'a> = &'a dyn Fn(f64, &[f64], &[f64], &mut [f64]);
/// Time, states, slopes -> derivatives by states, by slopes, and by what sensitivities are wanted
/// of.
type Derivatives<'a> = &'a dyn Fn(f64, &[f64], &[f64], [&mut [f64]; 3]);

struct System<'a> {
    states: usize,
    columns: usize,
    residual: Residual<'a>,
    derivatives: Option<Derivatives<'a>>,
}

impl DaeSystem for System<'_> {
    fn states(&self) -> usize {
        self.states
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn residual(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        residual: &mut [f64],
    ) -> Result<(), OdeFailure> {
        (self.residual)(t, y, dy, residual);
        if residual.iter().any(|x| x.is_infinite()) { Err(OdeFailure::Stopped) } else { Ok(()) }
    }

    fn derivatives(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        out: [&mut [f64]; 3],
    ) -> Result<(), OdeFailure> {
        let derivatives = self.derivatives.expect("where sensitivities are wanted");
        derivatives(t, y, dy, out);
        Ok(())
    }
}

const TIGHT: OdeControl = OdeControl { relative: 1e-10, absolute: 1e-12, max_steps: 1_000_000 };

fn solve(
    control: &OdeControl,
    system: &mut impl DaeSystem,
    (state, slope): (&[f64], &[f64]),
    seeds: &[f64],
    times: &[f64],
) -> Result<Vec<f64>, OdeFailure> {
    let mut out = vec![f64::NAN; times.len() * (state.len() + seeds.len())];
    let start = (0.0, state, slope);
    solve_dae(control, system, &mut OdeWorkspace::default(), start, seeds, times, &mut out)?;
    Ok(out)
}

fn compare(name: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / expected.abs().max(1.0);
        assert!(error <= tolerance, "{name}: element {k} is {found}, not {expected}: {error:e}");
    }
}

/// $y_1' = -k y_1$ and $y_2 = a y_1 + t$, mixed into two equations that both have a slope in them,
/// so that no equation is without one before they are combined. Columns: $y_1(0)$, $y_2(0)$, $k$,
/// $a$.
#[test]
fn a_linear_equation_has_the_closed_form_with_its_sensitivities() {
    let (k, a, start) = (1.3, 0.7, 2.0);
    let residual = |t: f64, y: &[f64], dy: &[f64], r: &mut [f64]| {
        let (motion, tie) = (dy[0] + k * y[0], y[1] - a * y[0] - t);
        r[0] = motion + tie;
        r[1] = 3.0 * motion - 2.0 * tie;
    };
    let derivatives = |_: f64, y: &[f64], _: &[f64], [s, d, p]: [&mut [f64]; 3]| {
        s.copy_from_slice(&[k - a, 1.0, 3.0 * k + 2.0 * a, -2.0]);
        d.copy_from_slice(&[1.0, 0.0, 3.0, 0.0]);
        p.copy_from_slice(&[0.0, 0.0, y[0], -y[0], 0.0, 0.0, 3.0 * y[0], 2.0 * y[0]]);
    };
    let times = [0.3, 1.0, 1.0, 4.0];
    let mut expected = Vec::new();
    for t in times {
        let decay = (-k * t).exp();
        let y = start * decay;
        expected.extend([y, a * y + t]);
        // The second state starts where the equation puts it, however it was seeded.
        expected.extend([decay, 0.0, -t * y, 0.0]);
        expected.extend([a * decay, 0.0, -a * t * y, y]);
    }
    let mut system =
        System { states: 2, columns: 4, residual: &residual, derivatives: Some(&derivatives) };
    let seeds = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    let slope = [-k * start, 1.0 - a * k * start];
    let found = solve(&TIGHT, &mut system, (&[start, a * start], &slope), &seeds, &times).unwrap();
    // A few hundred steps, each allowed 1e-10.
    compare("linear", &found, &expected, 1e-8);
    // A slope that does not fulfil the equations is found at the first step.
    let wrong = solve(&TIGHT, &mut system, (&[start, a * start], &[5.0, 0.0]), &seeds, &times);
    compare("with a wrong slope", &wrong.unwrap(), &expected, 1e-8);
    // Without sensitivities, by differences of the residual.
    struct Plain<'a>(System<'a>);
    impl DaeSystem for Plain<'_> {
        fn states(&self) -> usize {
            2
        }
        fn residual(
            &mut self,
            t: f64,
            y: &[f64],
            dy: &[f64],
            residual: &mut [f64],
        ) -> Result<(), OdeFailure> {
            self.0.residual(t, y, dy, residual)
        }
    }
    let mut plain = Plain(system);
    let found = solve(&TIGHT, &mut plain, (&[start, a * start], &slope), &[], &times).unwrap();
    let states: Vec<f64> = expected.chunks(10).flat_map(|row| row[..2].to_vec()).collect();
    compare("by differences", &found, &states, 1e-8);
}

/// Equations without any slope: $y^2 = k + t$.
#[test]
fn equations_without_slopes_are_solved_at_every_time() {
    let k = 2.0;
    let residual = |t: f64, y: &[f64], _: &[f64], r: &mut [f64]| r[0] = y[0] * y[0] - k - t;
    let derivatives = |_: f64, y: &[f64], _: &[f64], [s, d, p]: [&mut [f64]; 3]| {
        (s[0], d[0], p[0]) = (2.0 * y[0], 0.0, -1.0);
    };
    let mut system =
        System { states: 1, columns: 1, residual: &residual, derivatives: Some(&derivatives) };
    let times = [0.5, 2.0, 14.0];
    let start = f64::sqrt(k);
    let found = solve(&TIGHT, &mut system, (&[start], &[0.5 / start]), &[0.0], &times).unwrap();
    let expected: Vec<f64> =
        times.iter().flat_map(|t| [(k + t).sqrt(), 0.5 / (k + t).sqrt()]).collect();
    compare("roots", &found, &expected, 1e-8);
}

#[test]
fn references_of_scipy_and_mpmath_are_met() {
    for line in include_str!("data/dae.csv").lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, time, numbers] = *fields else { panic!("three fields: {line}") };
        let expected: Vec<f64> = numbers.split(';').map(|x| x.parse().unwrap()).collect();
        let times = [time.parse::<f64>().unwrap()];
        let found = match name {
            "robertson" => robertson(&times),
            "pendulum" => pendulum(&times),
            other => panic!("no problem is called {other}"),
        };
        // Thousands of steps to a late time, or half a hundred swings, each step allowed 1e-10.
        compare(&format!("{name} at {time}"), &found, &expected, 2e-7);
    }
}

/// Robertson's kinetics with its conservation law; columns are the three rates.
fn robertson(times: &[f64]) -> Vec<f64> {
    let [a, b, c] = [0.04, 1e4, 3e7];
    let residual = |_: f64, y: &[f64], dy: &[f64], r: &mut [f64]| {
        r[0] = dy[0] + a * y[0] - b * y[1] * y[2];
        r[1] = dy[1] - a * y[0] + b * y[1] * y[2] + c * y[1] * y[1];
        r[2] = y[0] + y[1] + y[2] - 1.0;
    };
    // Sensitivities by the logarithms of the rates, which are of the states' size.
    let derivatives = |_: f64, y: &[f64], _: &[f64], [s, d, p]: [&mut [f64]; 3]| {
        let (u, v) = (b * y[2], b * y[1]);
        s.copy_from_slice(&[a, -u, -v, -a, u + 2.0 * c * y[1], v, 1.0, 1.0, 1.0]);
        d.copy_from_slice(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let (first, second, third) = (a * y[0], b * y[1] * y[2], c * y[1] * y[1]);
        p.copy_from_slice(&[first, -second, 0.0, -first, second, third, 0.0, 0.0, 0.0]);
    };
    let mut system =
        System { states: 3, columns: 3, residual: &residual, derivatives: Some(&derivatives) };
    let start: (&[f64], &[f64]) = (&[1.0, 0.0, 0.0], &[-a, a, 0.0]);
    // The second state is of size 1e-5: the conservation law's rounding is no small share of what
    // it may be off.
    let control = &OdeControl { absolute: 1e-13, ..TIGHT };
    solve(control, &mut system, start, &[0.0; 9], times).unwrap()
}

/// A pendulum of length one at index one: position, velocity, and the rod's force from the
/// constraint's second derivative. The column is gravity.
fn pendulum(times: &[f64]) -> Vec<f64> {
    let g = 9.81;
    let residual = |_: f64, y: &[f64], dy: &[f64], r: &mut [f64]| {
        r[0] = dy[0] - y[2];
        r[1] = dy[1] - y[3];
        r[2] = dy[2] + y[4] * y[0];
        r[3] = dy[3] + y[4] * y[1] + g;
        r[4] = y[2] * y[2] + y[3] * y[3] - y[4] * (y[0] * y[0] + y[1] * y[1]) - g * y[1];
    };
    let derivatives = |_: f64, y: &[f64], _: &[f64], [s, d, p]: [&mut [f64]; 3]| {
        s.fill(0.0);
        d.fill(0.0);
        p.fill(0.0);
        (0..4).for_each(|k| d[k * 6] = 1.0);
        (s[2], s[5 + 3]) = (-1.0, -1.0);
        (s[10], s[14]) = (y[4], y[0]);
        (s[16], s[19]) = (y[4], y[1]);
        s[20..].copy_from_slice(&[
            -2.0 * y[4] * y[0],
            -2.0 * y[4] * y[1] - g,
            2.0 * y[2],
            2.0 * y[3],
            -(y[0] * y[0] + y[1] * y[1]),
        ]);
        (p[3], p[4]) = (1.0, -y[1]);
    };
    let mut system =
        System { states: 5, columns: 1, residual: &residual, derivatives: Some(&derivatives) };
    let start: (&[f64], &[f64]) = (&[1.0, 0.0, 0.0, 0.0, 0.0], &[0.0, 0.0, 0.0, -g, 0.0]);
    solve(&TIGHT, &mut system, start, &[0.0; 5], times).unwrap()
}

#[test]
fn what_has_no_solution_is_told() {
    let residual = |_: f64, y: &[f64], dy: &[f64], r: &mut [f64]| {
        r[0] = dy[0] - y[0] * y[0];
        r[1] = y[1] - y[0];
    };
    let derivatives = |_: f64, y: &[f64], _: &[f64], [s, d, _]: [&mut [f64]; 3]| {
        s.copy_from_slice(&[-2.0 * y[0], 0.0, -1.0, 1.0]);
        d.copy_from_slice(&[1.0, 0.0, 0.0, 0.0]);
    };
    let mut system =
        System { states: 2, columns: 0, residual: &residual, derivatives: Some(&derivatives) };
    let consistent: (&[f64], &[f64]) = (&[1.0, 1.0], &[1.0, 1.0]);
    let mut failure = |control: &OdeControl, start: (&[f64], &[f64]), times: &[f64]| {
        solve(control, &mut system, start, &[], times).unwrap_err()
    };
    // 1 / (1 - t) has no value at 1.
    assert_eq!(failure(&TIGHT, consistent, &[2.0]), OdeFailure::StepTooSmall);
    // A state that the second equation does not allow.
    assert_eq!(failure(&TIGHT, (&[1.0, 2.0], &[1.0, 1.0]), &[0.5]), OdeFailure::StepTooSmall);
    let few = OdeControl { max_steps: 3, ..TIGHT };
    assert_eq!(failure(&few, consistent, &[0.5]), OdeFailure::TooManySteps);
    assert_eq!(failure(&TIGHT, consistent, &[0.5, 0.2]), OdeFailure::TimesNotSorted);
    assert_eq!(failure(&TIGHT, (&[1.0, f64::NAN], &[1.0, 1.0]), &[0.5]), OdeFailure::NotFinite);
    assert_eq!(failure(&TIGHT, (&[1.0, 1.0], &[f64::NAN, 1.0]), &[0.5]), OdeFailure::NotFinite);
    let loose = OdeControl { relative: -1.0, ..TIGHT };
    assert_eq!(failure(&loose, consistent, &[0.5]), OdeFailure::NotFinite);
}
