//! The functions of two arguments against the oracle.
//!
//! Errors of sums whose terms may cancel are measured in units of the last place of the largest
//! term.

use exmc_math::random::{ChainRng, Phase};
use exmc_math::simd::{self, Level};

use super::oracle::{Value, elementary, functions, special};
use super::{ABOVE_ONE, BELOW_ONE, NORMAL, TINY, TOP, requested_points};

type Slices = fn(Level, &[f64], &[f64], &mut [f64]);

/// A function of two arguments with its points.
pub(super) struct Pair {
    pub(super) name: &'static str,
    run: Slices,
    pub(super) oracle: fn(f64, f64) -> Value,
    /// The size below which an error counts in units of that size.
    scale: fn(f64, f64) -> f64,
    pub(super) points: fn(usize) -> Vec<(f64, f64)>,
}

pub(super) const PAIRS: [Pair; 7] = [
    Pair { name: "pow", run: simd::pow, oracle: functions::pow, scale: |_, _| 0.0, points: powers },
    Pair {
        name: "atan2",
        run: simd::atan2,
        oracle: elementary::atan2,
        scale: |_, _| 0.0,
        points: plane,
    },
    Pair {
        name: "log_diff_exp",
        run: simd::log_diff_exp,
        oracle: elementary::log_diff_exp,
        scale: |a, _| a.abs().max(1.0),
        points: differences,
    },
    Pair {
        name: "log_add_exp",
        run: simd::log_add_exp,
        oracle: elementary::log_add_exp,
        scale: |a, b| a.max(b).abs().max(0.5),
        points: sums,
    },
    Pair {
        name: "log_add_exp_share",
        run: simd::log_add_exp_share,
        oracle: elementary::log_add_exp_share,
        // The difference of the logarithms is rounded, which a small share sees in its last places.
        scale: |_, _| 1.0,
        points: sums,
    },
    // An absolute error of an ulp of one is what a log density needs; next to the zeros no more is
    // promised.
    Pair {
        name: "lbeta",
        run: simd::lbeta,
        oracle: special::lbeta,
        scale: |_, _| 1.0,
        points: shapes,
    },
    Pair {
        name: "digamma_rise",
        run: simd::digamma_rise,
        oracle: special::digamma_rise,
        scale: |_, _| 0.0,
        points: steps,
    },
];

fn check(name: &str) {
    let pair = PAIRS.iter().find(|pair| pair.name == name).expect("a function of this name");
    let points = (pair.points)(requested_points());
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let mut z = vec![0.0; x.len()];
    (pair.run)(Level::detect(), &x, &y, &mut z);
    let (mut worst, mut worst_point) = (0.0, (0.0, 0.0));
    for (&(x, y), &z) in points.iter().zip(&z) {
        let ulps: f64 = (pair.oracle)(x, y).ulps_of(z, (pair.scale)(x, y));
        if ulps > worst || ulps.is_nan() {
            (worst, worst_point) = (ulps, (x, y));
        }
    }
    println!("{name:20} {:9} points, {worst:.3} ulp at {worst_point:?}", x.len());
    assert!(worst <= 4.0, "{name}: {worst} ulp at {worst_point:?}");
}

#[test]
fn pow_is_accurate() {
    check("pow");
}

#[test]
fn atan2_is_accurate() {
    check("atan2");
}

#[test]
fn log_diff_exp_is_accurate() {
    check("log_diff_exp");
}

#[test]
fn log_add_exp_is_accurate() {
    check("log_add_exp");
}

#[test]
fn log_add_exp_share_is_accurate() {
    check("log_add_exp_share");
}

#[test]
fn digamma_rise_is_accurate() {
    check("digamma_rise");
}

#[test]
fn lbeta_is_accurate() {
    check("lbeta");
}

fn powers(n: usize) -> Vec<(f64, f64)> {
    let mut rng = ChainRng::new(21, 1, Phase::Sampling);
    let mut points =
        vec![(ABOVE_ONE, 6e18), (BELOW_ONE, 6e18), (TINY, 0.9), (TOP, 0.99), (NORMAL, 1.01)];
    while points.len() < n {
        let base = f64::from_bits(rng.next_u64() >> 1);
        if base > 0.0 && base.is_finite() {
            // Powers that spread the result evenly over all exponents and a little beyond.
            points.push((base, (1600.0 * rng.uniform() - 800.0) / exmc_math::log(base)));
        }
        points.push((4.0 * rng.uniform_open(), 2000.0 * rng.uniform() - 1000.0));
        points.push((1.0 + 1e-3 * rng.standard_normal(), 1e5 * rng.standard_normal()));
    }
    points
}

fn plane(n: usize) -> Vec<(f64, f64)> {
    let mut rng = ChainRng::new(22, 1, Phase::Sampling);
    let mut points = Vec::new();
    for y in [1.0, 0.41421356237309503, 2.414213562373095, 1e-119, 1e119] {
        for x in [1.0, f64::next_up(1.0), f64::next_down(1.0)] {
            points.extend([(y, x), (-y, x), (y, -x), (-y, -x)]);
        }
    }
    while points.len() < n {
        points.push((rng.standard_normal(), rng.standard_normal()));
        let mut far = || {
            let size = exmc_math::pow(10.0, 236.0 * rng.uniform() - 118.0);
            if rng.below(2) == 0 { size } else { -size }
        };
        points.push((far(), far()));
    }
    points
}

/// Pairs of logarithms: near each other, far apart, and such that the result is next to zero.
fn logarithms(seed: u64, n: usize, cancelling: fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut rng = ChainRng::new(seed, 1, Phase::Sampling);
    let mut points = vec![(0.0, -TINY), (1.0, BELOW_ONE), (TOP, -TOP), (1e300, 0.0), (0.0, -745.0)];
    while points.len() < n {
        let a = 50.0 * rng.standard_normal();
        points.push((a, a - 40.0 * rng.uniform_open()));
        points.push((a, a - exmc_math::exp(-30.0 * rng.uniform())));
        points.push((a, a - 1000.0 * rng.uniform_open()));
        let size = 3.0 * rng.uniform_open();
        points.push((size, cancelling(size)));
    }
    points.retain(|(a, b)| a > b);
    points
}

fn differences(n: usize) -> Vec<(f64, f64)> {
    // e^a - e^b = 1 at b = log(e^a - 1).
    logarithms(23, n, |a| exmc_math::log(exmc_math::expm1(a)))
}

fn sums(n: usize) -> Vec<(f64, f64)> {
    // e^a + e^b = 1 at b = log(1 - e^a), for a below zero.
    let mut points = logarithms(24, n, |_| f64::NAN);
    let sizes = (1..3000).map(|k| -1e-3 * f64::from(k));
    points.extend(sizes.map(|a| (a, exmc_math::log1m_exp(a))));
    // The larger one last, too.
    for (a, b) in points.iter_mut().step_by(2) {
        std::mem::swap(a, b);
    }
    points
}

fn shapes(n: usize) -> Vec<(f64, f64)> {
    let mut rng = ChainRng::new(25, 1, Phase::Sampling);
    let mut points = Vec::new();
    for a in [1.0, 2.0, 0.5, 1.5, 6.0, f64::next_down(6.0), 1e12, 1e-139, 2.5] {
        for b in [1.0, 0.5, 6.0, f64::next_down(6.0), 3.0, 1e12, 1e-139] {
            points.push((a, b));
        }
    }
    while points.len() < n {
        let mut any = |low: f64, high: f64| exmc_math::exp(low + (high - low) * rng.uniform());
        points.push((any(-5.0, 5.0), any(-5.0, 5.0)));
        points.push((any(-320.0, 27.0), any(-10.0, 27.0)));
        points.push((any(0.0, 27.0), any(0.0, 27.0)));
        points.push((12.0 * rng.uniform_open(), 12.0 * rng.uniform_open()));
        // Next to the curve B(a, b) = 1.
        let a = 0.2 + 3.0 * rng.uniform();
        points.push((a, 1.0 / a));
    }
    points
}

/// Points below one, between one and thirty, and beyond, with steps of 1e-12 of them to 1e12 times
/// them.
fn steps(n: usize) -> Vec<(f64, f64)> {
    let mut rng = ChainRng::new(27, 1, Phase::Sampling);
    let mut points = Vec::new();
    for x in [1.0, 6.0, f64::next_down(6.0), 0.5, 1e-130, 1e20] {
        for ratio in [1e-12, 0.5, 1.0, 2.0, 1e12] {
            points.push((x, x * ratio));
        }
    }
    while points.len() < n {
        let mut any = |low: f64, high: f64| exmc_math::exp(low + (high - low) * rng.uniform());
        let x = [any(-250.0, 0.0), any(0.0, 3.4), any(-3.0, 50.0), any(1.5, 2.5)][points.len() % 4];
        points.push((x, x * any(-27.6, 27.6)));
    }
    points
}

#[test]
fn lbeta_of_huge_arguments_agrees_with_the_scalar_function() {
    // Two ulp for each of both; the scalar function is double-double or Stirling's leading terms.
    let mut rng = ChainRng::new(26, 1, Phase::Sampling);
    for _ in 0..20_000 {
        let mut any = |low: f64, high: f64| exmc_math::exp(low + (high - low) * rng.uniform());
        let (a, b) = (any(-600.0, 660.0), any(25.0, 660.0));
        let mut z = [0.0];
        simd::lbeta(Level::detect(), &[a], &[b], &mut z);
        let want = exmc_math::lbeta(a, b);
        assert!((z[0] - want).abs() <= 1e-15 * want.abs().max(1.0), "{a:e} {b:e}: {} {want}", z[0]);
    }
}
