//! The vector functions against a double-double oracle, in units of the last place.
//!
//! Half of each function's points are uniform over its interesting interval, half have uniform
//! exponents. `EXMC_ORACLE_POINTS` sets their number (default 1e5 per function); the reached
//! errors are printed and stand in the documentation of `exmc_math::simd`.
#![expect(clippy::print_stdout, reason = "the reached errors are read from the test's output")]

mod elementary_subjects;
mod oracle;
mod pairs;
mod special_subjects;

use std::fmt::Write;

use elementary_subjects::ELEMENTARY;
use exmc_math::random::{ChainRng, Phase};
use exmc_math::simd::Level;
use oracle::Value;
use pairs::PAIRS;
use special_subjects::SPECIAL;

type Slices = fn(Level, &[f64], &mut [f64]);

/// A function, its limit in ulp, the interval of the uniform points, the domain, and extra points.
struct Subject {
    name: &'static str,
    run: Slices,
    oracle: fn(f64) -> Value,
    limit: f64,
    uniform: [f64; 2],
    domain: [f64; 2],
    edges: &'static [f64],
}

const TOP: f64 = f64::MAX;
const TINY: f64 = 5e-324;
const NORMAL: f64 = f64::MIN_POSITIVE;
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;
const ABOVE_ONE: f64 = 1.0 + f64::EPSILON;

/// The points of one subject: edges with their signs and neighbours, then random ones.
fn points(subject: &Subject, n: usize) -> Vec<f64> {
    let [low, high] = subject.domain;
    let common = [0.0, TINY, NORMAL, TOP, 1.0, BELOW_ONE, ABOVE_ONE, 2.0, 1e-300, 1e-20, 1e300];
    let mut x = Vec::with_capacity(n);
    for &edge in common.iter().chain(subject.edges) {
        for signed in [edge, -edge] {
            x.extend([signed.next_down(), signed, signed.next_up()]);
        }
    }
    let mut rng = ChainRng::new(20, 1, Phase::Sampling);
    while x.len() < n {
        let [from, to] = subject.uniform;
        x.push(from + (to - from) * rng.uniform());
        x.push(f64::from_bits(rng.next_u64()));
        // Ordinary sizes, which few bit patterns have: 2^-30 to 2^30.
        let exponent = (rng.below(60) + 1023 - 30) << 52;
        x.push(f64::from_bits(rng.next_u64() & 0x800f_ffff_ffff_ffff | exponent));
    }
    // The reciprocal of zero stands with the special values.
    x.retain(|x| (low..=high).contains(x) && (*x != 0.0 || subject.name != "reciprocal"));
    x
}

fn requested_points() -> usize {
    std::env::var("EXMC_ORACLE_POINTS").map_or(100_000, |n| n.parse().expect("a number of points"))
}

fn check(name: &str) {
    let subject =
        ELEMENTARY.iter().chain(SPECIAL).find(|s| s.name == name).expect("a subject of this name");
    let x = points(subject, requested_points());
    let mut y = vec![0.0; x.len()];
    (subject.run)(Level::detect(), &x, &mut y);
    let (mut worst, mut worst_x) = (0.0, 0.0);
    for (&x, &y) in x.iter().zip(&y) {
        let ulps: f64 = (subject.oracle)(x).ulps(y);
        if ulps > worst || ulps.is_nan() {
            (worst, worst_x) = (ulps, x);
        }
    }
    println!("{name:20} {:9} points, {worst:.3} ulp at {worst_x:e}", x.len());
    // A hundred-thousandth for the oracle's own error.
    assert!(worst <= subject.limit + 1e-5, "{name}: {worst} ulp at {worst_x:e}");
}

/// Writes points and oracle values for `scripts/check_simd_oracle.py`, if `EXMC_ORACLE_DUMP` names
/// a file.
#[test]
fn the_oracle_can_be_written_out() {
    let mut text = String::new();
    for subject in ELEMENTARY.iter().chain(SPECIAL) {
        for x in points(subject, 10_000) {
            let Value { m, e } = (subject.oracle)(x);
            assert!(m.0.is_finite() && m.1.is_finite(), "{}({x:e})", subject.name);
            writeln!(text, "{} {x:e} {:e} {:e} {e}", subject.name, m.0, m.1)
                .expect("a string takes all");
        }
    }
    for pair in &PAIRS {
        for (x, y) in (pair.points)(3_000) {
            let Value { m, e } = (pair.oracle)(x, y);
            assert!(m.0.is_finite() && m.1.is_finite(), "{}({x:e}, {y:e})", pair.name);
            writeln!(text, "{} {x:e} {y:e} {:e} {:e} {e}", pair.name, m.0, m.1)
                .expect("a string takes all");
        }
    }
    if let Ok(path) = std::env::var("EXMC_ORACLE_DUMP") {
        std::fs::write(path, text).expect("the named file can be written");
    }
}

macro_rules! accurate {
    ($($test:ident, $name:literal;)*) => {$(
        #[test]
        fn $test() {
            check($name);
        }
    )*};
}

accurate! {
    exp_is_accurate, "exp";
    expm1_is_accurate, "expm1";
    tanh_is_accurate, "tanh";
    sigmoid_is_accurate, "sigmoid";
    softplus_is_accurate, "softplus";
    log_is_accurate, "log";
    log1p_is_accurate, "log1p";
    sqrt_is_correctly_rounded, "sqrt";
    reciprocal_is_correctly_rounded, "reciprocal";
    erf_is_accurate, "erf";
    erfc_is_accurate, "erfc";
    lgamma_is_accurate, "lgamma";
    digamma_is_accurate, "digamma";
    sin_is_accurate, "sin";
    cos_is_accurate, "cos";
    tan_is_accurate, "tan";
    asin_is_accurate, "asin";
    acos_is_accurate, "acos";
    atan_is_accurate, "atan";
    sinh_is_accurate, "sinh";
    cosh_is_accurate, "cosh";
    log1m_exp_is_accurate, "log1m_exp";
    trigamma_is_accurate, "trigamma";
    tetragamma_is_accurate, "tetragamma";
    log_std_normal_cdf_is_accurate, "log_std_normal_cdf";
    std_normal_quantile_is_accurate, "std_normal_quantile";
    log_bessel_i0_is_accurate, "log_bessel_i0";
    bessel_i1_i0_ratio_is_accurate, "bessel_i1_i0_ratio";
}
