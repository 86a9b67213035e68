//! Variables that iterations assign to under conditions on parameters: what is left is what the
//! last of them whose condition held wrote.
//!
//! Programs are those in which an audit found wrong values; real Stan's numbers are its own, the
//! rest is judged by the host interpreter, which follows the statements one by one.

use exmc_math::random::{ChainRng, Phase};
use exmc_stan::value::Value;

use super::harness::{assert_gradient, assert_host, assert_logp};

const PROGRAMS: &[(&str, usize)] = &[
    (include_str!("programs/carry_conditional_assign.stan"), 5),
    (include_str!("programs/carry_gq.stan"), 5),
    (include_str!("programs/carry_d4.stan"), 7),
    (include_str!("programs/carry_d5.stan"), 7),
    (include_str!("programs/carry_d8.stan"), 7),
    (include_str!("programs/carry_d12.stan"), 7),
    (include_str!("programs/carry_after.stan"), 21),
    (include_str!("programs/b_flag2.stan"), 7),
    (include_str!("programs/b_lastidx.stan"), 7),
    (include_str!("programs/b_locf.stan"), 7),
    (include_str!("programs/b_pos.stan"), 7),
    (include_str!("programs/c_fn.stan"), 7),
    (include_str!("programs/c_tp.stan"), 7),
];

fn point(rng: &mut ChainRng, dim: usize) -> Vec<f64> {
    (0..dim).map(|_| 3.0 * rng.uniform() - 1.5).collect()
}

#[test]
fn what_is_assigned_under_a_condition_stays_until_it_is_assigned_again() {
    let mut rng = ChainRng::new(19, 0, Phase::Predictive);
    for (text, dim) in PROGRAMS {
        for _ in 0..6 {
            let position = point(&mut rng, *dim);
            assert_host(text, &[], &position);
            assert_gradient(text, &[], &position, 1e-6);
        }
    }
}

#[test]
fn slices_are_carried_too() {
    let data = [
        ("k", Value::ints(vec![3, 1, 6, 2, 2, 5])),
        ("yd", Value::reals(vec![0.5, -1.2, 0.3, -0.7, 1.1, 0.9])),
    ];
    let text = include_str!("programs/carry_slice_fuzz.stan");
    let mut rng = ChainRng::new(20, 0, Phase::Predictive);
    for _ in 0..4 {
        assert_host(text, &data, &point(&mut rng, 50));
    }
}

/// Real Stan (2.35): -1.545, and 0.3 along `w`.
#[test]
fn the_last_iteration_alone_does_not_count() {
    let text = include_str!("programs/carry_conditional_assign.stan");
    assert_logp(text, &[], &[1.0, 1.0, 1.0, -1.0, 0.7], -1.545);
    assert_gradient(text, &[], &[1.0, 1.0, 1.0, -1.0, 0.7], 1e-8);
    assert_logp(text, &[], &[-1.0, -1.0, -1.0, -1.0, 0.7], -2.0 - 0.245);
}

/// The level stays until the next crossing: with `tau` between data the outcomes after it have the
/// last one's.
#[test]
fn a_regime_stays() {
    let text = include_str!("programs/carry_regime.stan");
    let (x, y) = ([0.5, -1.0, 0.2, -0.3, 1.0], [1.0, 1.2, 0.4, 0.5, 2.0]);
    let data =
        [("T", Value::Int(5)), ("x", Value::reals(x.to_vec())), ("y", Value::reals(y.to_vec()))];
    for (tau, mu, log_sigma) in [(0.1_f64, 0.7_f64, 0.3_f64), (-0.4, -1.2, -0.5), (0.8, 1.1, 0.0)] {
        let sigma = log_sigma.exp();
        let (mut level, mut expected) = (0.0, -0.5 * tau * tau - 0.5 * (mu / 5.0).powi(2));
        expected += -sigma + log_sigma;
        for (x, y) in x.iter().zip(y) {
            if *x > tau {
                level = mu * x;
            }
            expected += -0.5 * ((y - level) / sigma).powi(2) - log_sigma;
        }
        assert_logp(text, &data, &[tau, mu, log_sigma], expected);
        assert_host(text, &data, &[tau, mu, log_sigma]);
    }
}

/// What both branches assign needs nothing of other iterations, so that these stay side by side.
#[test]
fn branches_that_both_assign_stay_side_by_side() {
    let text = "data { int N; }
        parameters { vector[N] v; real w; }
        model {
          real s; real kept = 0;
          for (n in 1:N) {
            if (v[n] > 0) { if (w > 0) s = v[n]; else s = 2; } else if (v[n] < -1) s = w; else s = v[n] * w;
            if (v[n] < 0.1) continue;
            kept += s;
          }
          target += kept - s;
        }";
    assert_no_growth(text);
}

/// What one branch assigns goes from iteration to iteration, in a scan.
#[test]
fn a_branch_that_assigns_becomes_a_scan() {
    let text = "data { int N; }
        parameters { vector[N] v; real w; }
        model {
          real m = 0; real s;
          for (n in 1:N) {
            if (v[n] > 1) { s = w; m += s; }
            if (v[n] < 0.1) continue;
            if (v[n] < 0.3) m = v[n];
          }
          target += m;
        }";
    assert_no_growth(text);
}

/// That the graph is no larger for more iterations, and right.
fn assert_no_growth(text: &str) {
    let size = |n: i64| {
        let lowered = super::harness::lowered(text, &[("N", Value::Int(n))]);
        let points = [0.3, -1.2, 1.4, -0.6, 0.05];
        let position: Vec<f64> = (0..n as usize + 1).map(|k| points[k % 5]).collect();
        assert_host(text, &[("N", Value::Int(n))], &position);
        super::harness::size(&lowered)
    };
    assert_eq!(size(40), size(80));
}

/// One element is read of an array that is written whole in every iteration.
#[test]
fn a_part_of_what_iterations_write_is_carried() {
    let text = "parameters { real x; vector[4] v; vector[4] w; }
        model {
          real q = 0; vector[4] a = v; vector[4] b = rep_vector(0.2, 4);
          for (i in 1:3) {
            for (j in 2:23) {
              q = tanh((a[4] > w[i] ? q : a[i]) * tanh(v[4] * x));
              a[{2, 4, 1, 3}] = (v .* b[{2, 4, 1, 3}]);
            }
          }
          target += q + dot_self(a);
        }";
    let mut rng = ChainRng::new(22, 0, Phase::Predictive);
    for _ in 0..4 {
        assert_host(text, &[], &point(&mut rng, 9));
    }
}
