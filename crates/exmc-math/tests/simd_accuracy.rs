//! The vector functions against a double-double oracle, in units of the last place.
//!
//! Half of each function's points are uniform over its interesting interval, half have uniform
//! exponents. `EXMC_ORACLE_POINTS` sets their number (default 1e5 per function); the reached
//! errors are printed and stand in the documentation of `exmc_math::simd`.
#![expect(clippy::print_stdout, reason = "the reached errors are read from the test's output")]

mod simd_oracle;

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, PI, SQRT_2};
use std::fmt::Write;

use exmc_math::random::{ChainRng, Phase};
use exmc_math::simd::{self, Level};
use simd_oracle::{Value, functions as oracle};

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

const SUBJECTS: &[Subject] = &[
    Subject {
        name: "exp",
        run: simd::exp,
        oracle: oracle::exp,
        limit: 1.0,
        uniform: [-746.0, 710.0],
        domain: [-TOP, TOP],
        edges: &[
            709.782712893384,
            709.7827128933841,
            -708.3964185322641,
            -745.1332191019411,
            -745.1332191019412,
            0.34657359027997264,
            -0.34657359027997264,
        ],
    },
    Subject {
        name: "expm1",
        run: simd::expm1,
        oracle: oracle::expm1,
        limit: 4.0,
        uniform: [-40.0, 40.0],
        domain: [-TOP, TOP],
        edges: &[
            709.782712893384,
            709.7827128933841,
            709.4,
            0.34657359027997264,
            -0.34657359027997264,
            -37.0,
            36.7,
        ],
    },
    Subject {
        name: "tanh",
        run: simd::tanh,
        oracle: oracle::tanh,
        limit: 4.0,
        uniform: [-22.0, 22.0],
        domain: [-TOP, TOP],
        edges: &[0.17328679513998632, 22.0],
    },
    Subject {
        name: "sigmoid",
        run: simd::sigmoid,
        oracle: oracle::sigmoid,
        limit: 4.0,
        uniform: [-746.0, 40.0],
        domain: [-TOP, TOP],
        edges: &[-708.3964185322641, -745.1332191019411, -745.1332191019412, 36.7],
    },
    Subject {
        name: "softplus",
        run: simd::softplus,
        oracle: oracle::softplus,
        limit: 4.0,
        uniform: [-746.0, 40.0],
        domain: [-TOP, TOP],
        edges: &[-708.3964185322641, -745.1332191019411, -745.1332191019412, 36.7],
    },
    Subject {
        name: "log",
        run: simd::log,
        oracle: oracle::log,
        limit: 1.0,
        uniform: [0.0, 4.0],
        domain: [TINY, TOP],
        edges: &[FRAC_1_SQRT_2, SQRT_2],
    },
    Subject {
        name: "log1p",
        run: simd::log1p,
        oracle: oracle::log1p,
        limit: 1.0,
        uniform: [-1.0, 3.0],
        domain: [-BELOW_ONE, TOP],
        edges: &[
            -0.2928932188134524,
            0.41421356237309503,
            0.41421356237309515,
            9007199254740992.0,
            1.2711610061536462e308,
        ],
    },
    Subject {
        name: "sqrt",
        run: simd::sqrt,
        oracle: oracle::sqrt,
        limit: 0.5,
        uniform: [0.0, 4.0],
        domain: [0.0, TOP],
        edges: &[],
    },
    Subject {
        name: "reciprocal",
        run: simd::reciprocal,
        oracle: oracle::reciprocal,
        limit: 0.5,
        uniform: [-4.0, 4.0],
        domain: [-TOP, TOP],
        edges: &[5.562684646268003e-309, 5.56268464626801e-309],
    },
    Subject {
        name: "erf",
        run: simd::erf,
        oracle: oracle::erf,
        limit: 4.0,
        uniform: [-6.0, 6.0],
        domain: [-TOP, TOP],
        edges: &[5.9, 6.0],
    },
    Subject {
        name: "erfc",
        run: simd::erfc,
        oracle: oracle::erfc,
        limit: 4.0,
        uniform: [-6.0, 27.5],
        domain: [-TOP, TOP],
        edges: &[26.5, 26.54, 27.2, 27.22, 27.3, 28.0, -5.9, 4.0],
    },
    Subject {
        name: "lgamma",
        run: simd::lgamma,
        oracle: oracle::lgamma,
        limit: 4.0,
        uniform: [0.0, 20.0],
        domain: [TINY, TOP],
        edges: &[
            0.5,
            1.5,
            2.5,
            8.0,
            7.999999999999999,
            1.4616321449683623,
            2.5563481638716906e305,
            2.556348163871691e305,
        ],
    },
    Subject {
        name: "digamma",
        run: simd::digamma,
        oracle: oracle::digamma,
        limit: 4.0,
        uniform: [0.0, 20.0],
        domain: [TINY, TOP],
        edges: &[0.5, 8.0, 7.999999999999999, 1.4616, 1.4617],
    },
    Subject {
        name: "sin",
        run: simd::sin,
        oracle: oracle::sin,
        limit: 4.0,
        uniform: [-100.0, 100.0],
        domain: [-1073741823.0, 1073741823.0],
        edges: &[
            FRAC_PI_2,
            PI,
            FRAC_PI_4,
            6381956970095103.0 / 16777216.0,
            52175.50410007611,
            710.0,
        ],
    },
    Subject {
        name: "cos",
        run: simd::cos,
        oracle: oracle::cos,
        limit: 4.0,
        uniform: [-100.0, 100.0],
        domain: [-1073741823.0, 1073741823.0],
        edges: &[FRAC_PI_2, PI, FRAC_PI_4, 4.71238898038469, 11.0, 573204.0],
    },
];

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
    let subject = SUBJECTS.iter().find(|s| s.name == name).expect("a subject of this name");
    let x = points(subject, requested_points());
    let mut y = vec![0.0; x.len()];
    (subject.run)(Level::detect(), &x, &mut y);
    let (mut worst, mut at) = (0.0, 0.0);
    for (&x, &y) in x.iter().zip(&y) {
        let ulps: f64 = (subject.oracle)(x).ulps(y);
        if ulps > worst || ulps.is_nan() {
            (worst, at) = (ulps, x);
        }
    }
    println!("{name:12} {:9} points, {worst:.3} ulp at {at:e}", x.len());
    // A hundred-thousandth for the oracle's own error.
    assert!(worst <= subject.limit + 1e-5, "{name}: {worst} ulp at {at:e}");
}

/// Writes points and oracle values for `scripts/check_simd_oracle.py`, if `EXMC_ORACLE_DUMP` names a file.
#[test]
fn the_oracle_can_be_written_out() {
    let mut text = String::new();
    for subject in SUBJECTS {
        for x in points(subject, 10_000) {
            let Value { m, e } = (subject.oracle)(x);
            assert!(m.0.is_finite() && m.1.is_finite(), "{}({x:e})", subject.name);
            writeln!(text, "{} {x:e} {:e} {:e} {e}", subject.name, m.0, m.1)
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
}

#[test]
fn pow_is_accurate() {
    let n = requested_points();
    let mut rng = ChainRng::new(21, 1, Phase::Sampling);
    let (mut x, mut y) =
        (vec![ABOVE_ONE, BELOW_ONE, TINY, TOP, NORMAL], vec![6e18, 6e18, 0.9, 0.99, 1.01]);
    while x.len() < n {
        let base = f64::from_bits(rng.next_u64() >> 1);
        if base > 0.0 && base.is_finite() {
            // Powers that spread the result evenly over all exponents and a little beyond.
            x.push(base);
            y.push((1600.0 * rng.uniform() - 800.0) / exmc_math::log(base));
        }
        x.push(4.0 * rng.uniform_open());
        y.push(2000.0 * rng.uniform() - 1000.0);
        x.push(1.0 + 1e-3 * rng.standard_normal());
        y.push(1e5 * rng.standard_normal());
    }
    let mut z = vec![0.0; x.len()];
    simd::pow(Level::detect(), &x, &y, &mut z);
    let (mut worst, mut at) = (0.0, (0.0, 0.0));
    for ((&x, &y), &z) in x.iter().zip(&y).zip(&z) {
        let ulps: f64 = oracle::pow(x, y).ulps(z);
        if ulps > worst || ulps.is_nan() {
            (worst, at) = (ulps, (x, y));
        }
    }
    println!("pow          {:9} points, {worst:.3} ulp at {at:?}", x.len());
    assert!(worst <= 4.0, "pow: {worst} ulp at {at:?}");
}
