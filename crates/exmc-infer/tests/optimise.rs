//! Maxima of densities that are known in closed form, and what is said when there is none.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::ops::ControlFlow;

use exmc_density::{EvaluationError, LogDensity};
use exmc_infer::{OptimizeConfig, Optimum, Start, Stopped, maximise};

/// A log density written as a function of the position that returns value and gradient.
struct Written<F>(usize, F);

impl<F: FnMut(&[f64], &mut [f64]) -> f64> LogDensity for Written<F> {
    fn dim(&self) -> usize {
        self.0
    }
    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        let value = (self.1)(q, g);
        if value == f64::MAX {
            return Err(EvaluationError::Recoverable("no value here".into()));
        }
        Ok(value)
    }
}

fn run(
    dim: usize,
    start: Start,
    config: &OptimizeConfig,
    f: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Optimum {
    maximise(&mut Written(dim, f), &start, config, |_| ControlFlow::Continue(())).unwrap()
}

/// Runs to tolerances that leave only rounding.
fn tight() -> OptimizeConfig {
    let mut config = OptimizeConfig::default();
    config.objective_change = 0.0;
    config.relative_objective_change = 0.0;
    config.relative_gradient = 1e-2;
    config.position_change = 0.0;
    config
}

#[track_caller]
fn is_at(found: &Optimum, expected: &[f64], tolerance: f64) {
    assert!(found.stopped.is_converged(), "{found:?}");
    for (x, e) in found.position.iter().zip(expected) {
        assert!((x - e).abs() <= tolerance * e.abs().max(1.0), "{found:?}, exactly {expected:?}");
    }
}

/// Minus Rosenbrock's valley in pairs of coordinates: the maximum is at ones (Moré, Garbow and
/// Hillstrom 1981, problem 21).
fn rosenbrock(q: &[f64], g: &mut [f64]) -> f64 {
    let mut total = 0.0;
    for k in (0..q.len()).step_by(2) {
        let (x, y) = (q[k], q[k + 1]);
        let (a, b) = (1.0 - x, y - x * x);
        total -= a * a + 100.0 * b * b;
        g[k] = 2.0 * a + 400.0 * x * b;
        g[k + 1] = -200.0 * b;
    }
    total
}

#[test]
fn curved_valleys_are_followed_to_their_ends() {
    let found = run(2, Start::At(vec![-1.2, 1.0]), &tight(), rosenbrock);
    is_at(&found, &[1.0; 2], 1e-7);
    // Published counts for this start are 30 to 45 iterations; steepest descent takes thousands.
    assert!(found.iterations < 60, "{found:?}");
    let start = [-1.2, 1.0].repeat(50);
    is_at(&run(100, Start::At(start), &tight(), rosenbrock), &[1.0; 100], 1e-7);
    // With CmdStan's tolerances the last digits are left open, and the default settings are these.
    let found = run(2, Start::At(vec![-1.2, 1.0]), &OptimizeConfig::default(), rosenbrock);
    is_at(&found, &[1.0; 2], 1e-4);
}

#[test]
fn wood_and_beale() {
    // Moré, Garbow and Hillstrom 1981, problems 14 and 5, with their starts.
    let wood = |q: &[f64], g: &mut [f64]| {
        let [a, b, c, d] = [q[0], q[1], q[2], q[3]];
        let (r, s) = (b - a * a, d - c * c);
        let (t, u) = (b + d - 2.0, b - d);
        g[0] = 400.0 * a * r + 2.0 * (1.0 - a);
        g[1] = -200.0 * r - 20.0 * t - 0.2 * u;
        g[2] = 360.0 * c * s + 2.0 * (1.0 - c);
        g[3] = -180.0 * s - 20.0 * t + 0.2 * u;
        let squares = [(1.0 - a) * (1.0 - a), (1.0 - c) * (1.0 - c), 10.0 * t * t, 0.1 * u * u];
        -(100.0 * r * r + 90.0 * s * s + squares.iter().sum::<f64>())
    };
    let found = run(4, Start::At(vec![-3.0, -1.0, -3.0, -1.0]), &tight(), wood);
    is_at(&found, &[1.0; 4], 1e-6);
    let beale = |q: &[f64], g: &mut [f64]| {
        let (x, y) = (q[0], q[1]);
        let mut total = 0.0;
        g.fill(0.0);
        for (target, power) in [(1.5, 1), (2.25, 2), (2.625, 3)] {
            let r = target - x * (1.0 - y.powi(power));
            total -= r * r;
            g[0] += 2.0 * r * (1.0 - y.powi(power));
            g[1] -= 2.0 * r * x * f64::from(power) * y.powi(power - 1);
        }
        total
    };
    is_at(&run(2, Start::At(vec![1.0, 1.0]), &tight(), beale), &[3.0, 0.5], 1e-7);
}

#[test]
fn scales_that_differ_by_four_orders_of_magnitude() {
    let sds: Vec<f64> = (-2..=2).map(|k| 10_f64.powi(k)).collect();
    let means: Vec<f64> = sds.iter().enumerate().map(|(k, sd)| sd * (k as f64 - 1.5)).collect();
    let gaussian = |q: &[f64], g: &mut [f64]| {
        let mut total = 1e3;
        for k in 0..5 {
            let z = (q[k] - means[k]) / sds[k];
            total -= 0.5 * z * z;
            g[k] = -z / sds[k];
        }
        total
    };
    let found = run(5, Start::Random, &tight(), gaussian);
    assert!(found.stopped.is_converged(), "{found:?}");
    for k in 0..5 {
        assert!((found.position[k] - means[k]).abs() < 1e-5 * sds[k], "{k}: {found:?}");
    }
    assert!((found.logp - 1e3).abs() < 1e-9);
}

#[test]
fn edges_of_the_support_are_gone_round() {
    // A gamma density of the value itself: minus infinity left of zero, with mode (4 - 1) / 2. One
    // step of the right length from 0.01 jumps far over it, and one from 30 far below zero.
    let gamma = |q: &[f64], g: &mut [f64]| {
        g[0] = 3.0 / q[0] - 2.0;
        if q[0] > 0.0 { 3.0 * libm::log(q[0]) - 2.0 * q[0] } else { f64::NEG_INFINITY }
    };
    for start in [0.01, 0.3, 30.0] {
        is_at(&run(1, Start::At(vec![start]), &tight(), gamma), &[1.5], 1e-8);
    }
    // The same where the density fails, or is NaN.
    for bad in [f64::MAX, f64::NAN] {
        let failing = |q: &[f64], g: &mut [f64]| if q[0] > 0.0 { gamma(q, g) } else { bad };
        is_at(&run(1, Start::At(vec![30.0]), &tight(), failing), &[1.5], 1e-8);
    }
}

#[test]
fn what_has_no_maximum_is_not_said_to_have_one() {
    let line = |q: &[f64], g: &mut [f64]| {
        g[0] = 1.0;
        q[0]
    };
    let found = run(1, Start::At(vec![0.0]), &OptimizeConfig::default(), line);
    assert_eq!(found.stopped, Stopped::Unbounded);
    // A density that reaches infinity at zero.
    let pole = |q: &[f64], g: &mut [f64]| {
        g[0] = -1.0 / q[0];
        -libm::log(q[0].abs())
    };
    let found = run(1, Start::At(vec![1.0]), &OptimizeConfig::default(), pole);
    assert!(!found.stopped.is_converged() || found.gradient_norm() > 1e3, "{found:?}");
    // A gradient with the wrong sign leads nowhere.
    let wrong = |q: &[f64], g: &mut [f64]| {
        g[0] = 2.0 * q[0];
        -q[0] * q[0]
    };
    let found = run(1, Start::At(vec![1.0]), &OptimizeConfig::default(), wrong);
    assert_eq!(found.stopped, Stopped::LineSearch);
    assert!(!found.stopped.is_converged());
    // A maximum at a kink: no step from it is better, and its gradient is not small.
    let kink = |q: &[f64], g: &mut [f64]| {
        g[0] = -q[0].signum();
        -q[0].abs()
    };
    let found = run(1, Start::At(vec![0.7]), &tight(), kink);
    assert_eq!(found.stopped, Stopped::LineSearch);
    assert!(found.position[0].abs() < 1e-6, "{found:?}");
}

#[test]
fn limits_starts_and_observers_are_heeded() {
    let mut config = OptimizeConfig::default();
    config.iterations = 3;
    let found = run(2, Start::At(vec![-1.2, 1.0]), &config, rosenbrock);
    assert_eq!((found.stopped, found.iterations), (Stopped::Iterations, 3));

    let mut seen = Vec::new();
    let stop = maximise(
        &mut Written(2, rosenbrock),
        &Start::At(vec![-1.2, 1.0]),
        &OptimizeConfig::default(),
        |iteration| {
            seen.push(iteration.logp);
            if iteration.number == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    let stop = stop.unwrap();
    assert_eq!((stop.stopped, stop.logp), (Stopped::Interrupted, seen[4]));
    assert!(seen.windows(2).all(|pair| pair[1] > pair[0]), "{seen:?}");

    let random = |seed| {
        let mut config = OptimizeConfig::default();
        (config.seed, config.iterations) = (seed, 0);
        run(2, Start::Random, &config, rosenbrock).position
    };
    assert_eq!(random(1), random(1));
    assert_ne!(random(1), random(2));
    // Given coordinates stay, the rest is random.
    let partly = run(2, Start::At(vec![f64::NAN, 0.25]), &config, |q, g| {
        g.fill(0.0);
        q[1]
    });
    assert_eq!(partly.position[1], 0.25);

    let bad = |config: &OptimizeConfig, start: Start| {
        let quiet = |_: &_| ControlFlow::Continue(());
        maximise(&mut Written(2, rosenbrock), &start, config, quiet).unwrap_err()
    };
    assert!(bad(&OptimizeConfig::default(), Start::At(vec![0.0])).is_config());
    let mut config = OptimizeConfig::default();
    config.gradient_norm = f64::NAN;
    assert!(bad(&config, Start::Random).to_string().contains("gradient_norm"));
    let nowhere = |_: &[f64], _: &mut [f64]| f64::NEG_INFINITY;
    let quiet = |_: &_| ControlFlow::Continue(());
    let error =
        maximise(&mut Written(1, nowhere), &Start::Random, &OptimizeConfig::default(), quiet);
    assert!(error.unwrap_err().is_initial_point());
}

#[test]
fn a_density_without_coordinates_is_at_its_maximum() {
    let found = run(0, Start::Random, &OptimizeConfig::default(), |_, _| -2.5);
    assert!(found.stopped.is_converged());
    assert_eq!((found.logp, found.iterations), (-2.5, 0));
}
