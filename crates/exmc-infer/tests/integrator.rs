//! The leapfrog integrator on systems with known answers: values, order, reversibility, volume.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use crate::common::{correlated, log_exponential, normal, standard_normal};
use exmc_density::LogDensity;
use exmc_infer::integrator::leapfrog::{Endpoint, Step, depart};
use exmc_infer::{AlignedVec, InverseMetric, Metric, State};

/// Where a trajectory is: position and whitened momentum.
struct At {
    position: AlignedVec,
    momentum: AlignedVec,
}

/// Runs `n` steps from (position, whitened momentum), backward in time if the step size is
/// negative.
fn integrate(
    density: &mut impl LogDensity,
    metric: &Metric,
    step_size: f64,
    n: usize,
    position: &[f64],
    momentum: &[f64],
) -> (At, Step) {
    let dim = position.len();
    let state = State::evaluate(density, position.to_vec()).unwrap();
    let (mut backward, mut forward) = (Endpoint::new(dim), Endpoint::new(dim));
    let mut momentum = AlignedVec::from(momentum);
    depart(&mut backward, &mut forward, &state, &momentum, metric, step_size.abs());
    let end = if step_size > 0.0 { &mut forward } else { &mut backward };
    let mut last = None;
    for _ in 0..n {
        last = Some(end.step(density, metric, &mut momentum).unwrap());
    }
    (At { position: end.leaf().position.clone(), momentum }, last.unwrap())
}

fn identity(dim: usize) -> Metric {
    Metric::new(InverseMetric::identity(dim)).unwrap()
}

/// By hand: p = -.05, q = 1 - .005 = .995, p = -.05 - .04975; energy is .5 up to third order.
#[test]
fn one_step_on_the_standard_normal_has_the_known_values() {
    let (end, step) = integrate(&mut standard_normal(1), &identity(1), 0.1, 1, &[1.0], &[0.0]);
    assert!((end.position[0] - 0.995).abs() < 1e-15);
    assert!((end.momentum[0] + 0.09975).abs() < 1e-15);
    assert!((step.kinetic - step.logp - 0.499_987_531_25).abs() < 1e-15);
}

/// Halving the step at a fixed time divides the energy error by four (order two).
#[test]
fn energy_error_is_of_second_order() {
    let mut density = log_exponential();
    let error = |density: &mut _, n: usize| {
        let (_, step) = integrate(density, &identity(1), 0.8 / n as f64, n, &[-0.3], &[0.7]);
        let start = 0.5 * 0.49 - (-0.3 - 2.0 * (-0.3_f64).exp());
        (step.kinetic - step.logp - start).abs()
    };
    let (coarse, fine) = (error(&mut density, 64), error(&mut density, 128));
    assert!((coarse / fine - 4.0).abs() < 0.05, "{coarse} {fine}");
}

/// Every metric: forward, flip the sign of the step, back to the start.
#[test]
fn steps_are_reversible() {
    let s = 0.5_f64.sqrt();
    let dense = vec![1.0, 0.9, 0.9, 1.0];
    for inverse in [
        InverseMetric::Diagonal(vec![1.3, 0.4]),
        InverseMetric::Dense { dim: 2, covariance: dense },
        InverseMetric::LowRank { scale: vec![1.2, 0.7], vectors: vec![s, s], values: vec![5.0] },
    ] {
        let metric = Metric::new(inverse).unwrap();
        let mut density = correlated(2, 0.9);
        let (q, p) = ([0.4, -1.1], [0.8, 0.3]);
        let (far, _) = integrate(&mut density, &metric, 0.1, 100, &q, &p);
        let (back, _) = integrate(&mut density, &metric, -0.1, 100, &far.position, &far.momentum);
        for i in 0..2 {
            assert!((back.position[i] - q[i]).abs() < 1e-10);
            assert!((back.momentum[i] - p[i]).abs() < 1e-10);
        }
    }
}

/// The Jacobian of the flow, by central differences, has determinant one and keeps the symplectic
/// form.
#[test]
fn the_flow_keeps_volume_and_the_symplectic_form() {
    let metric = Metric::new(InverseMetric::Diagonal(vec![0.8])).unwrap();
    let flow = |q: f64, p: f64| {
        let (end, _) = integrate(&mut log_exponential(), &metric, 0.3, 7, &[q], &[p]);
        [end.position[0], end.momentum[0]]
    };
    let h = 1e-5;
    let (q, p) = (-0.4, 0.9);
    let by_q: Vec<f64> =
        flow(q + h, p).iter().zip(flow(q - h, p)).map(|(a, b)| (a - b) / (2.0 * h)).collect();
    let by_p: Vec<f64> =
        flow(q, p + h).iter().zip(flow(q, p - h)).map(|(a, b)| (a - b) / (2.0 * h)).collect();
    // Central differences at h = 1e-5 are good to about 1e-9 here.
    assert!((by_q[0] * by_p[1] - by_q[1] * by_p[0] - 1.0).abs() < 1e-8);
}

/// On a normal target the metric with the target's scales makes the flow that of a standard normal.
#[test]
fn the_metric_rescales_the_flow() {
    let metric = Metric::new(InverseMetric::Diagonal(vec![1.0, 4.0, 9.0])).unwrap();
    let z = [0.3, -1.2, 0.8];
    let p = [1.0, 0.2, -0.5];
    let q: Vec<f64> = z.iter().zip([1.0, 2.0, 3.0]).map(|(z, s)| z * s).collect();
    let (scaled, _) = integrate(&mut normal(3), &metric, 0.2, 9, &q, &p);
    let (plain, _) = integrate(&mut standard_normal(3), &identity(3), 0.2, 9, &z, &p);
    for i in 0..3 {
        assert!((scaled.position[i] - (i + 1) as f64 * plain.position[i]).abs() < 1e-13);
        assert!((scaled.momentum[i] - plain.momentum[i]).abs() < 1e-13);
    }
}

#[test]
fn kinetic_energy_has_the_known_value() {
    let metric = InverseMetric::Diagonal(vec![0.5, 2.0]);
    assert!((metric.kinetic_energy(&[2.0, 3.0]).unwrap() - 10.0).abs() < 1e-13);
    assert!(metric.kinetic_energy(&[2.0]).is_err());
}
