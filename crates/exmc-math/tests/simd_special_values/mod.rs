//! The vector functions at zeros, infinities, NaN, subnormal numbers and the ends of their domains.

mod elementary;
mod special;

use crate::simd_subjects::{BINARY, INF, TINY, TOP, UNARY, bits};
use elementary::ELEMENTARY;
use exmc_math::simd::{self, Level};
use special::SPECIAL;

const NAN: f64 = f64::NAN;

type Scalar = fn(f64, f64) -> f64;
/// `(function, argument, exact result)`; the results are limits, or values that C99's annex F
/// prescribes.
type Rows = &'static [(&'static str, &'static [(f64, f64)])];

#[test]
fn special_values_are_right() {
    for (name, f) in UNARY {
        let mut rows = ELEMENTARY.iter().chain(SPECIAL);
        let (_, rows) = rows.find(|(row, _)| *row == name).expect("rows for every function");
        for level in Level::available() {
            for &(x, expected) in *rows {
                // Among ordinary neighbours, in the first and in the last lane.
                for lane in [0, 7] {
                    let mut arguments = [1.25; 8];
                    arguments[lane] = x;
                    let mut y = [0.0; 8];
                    f(level, &arguments, &mut y);
                    assert_eq!(
                        bits(y[lane]),
                        bits(expected),
                        "{name}({x:e}) = {:e} at {}, expected {expected:e}",
                        y[lane],
                        level.name()
                    );
                }
            }
        }
    }
}

#[test]
fn special_powers_are_right() {
    let rows = [
        (0.0, 0.0, 1.0),
        (NAN, 0.0, 1.0),
        (1.0, NAN, 1.0),
        (1.0, INF, 1.0),
        (-1.0, INF, 1.0),
        (0.0, 2.0, 0.0),
        (-0.0, 3.0, -0.0),
        (0.0, -1.0, INF),
        (-0.0, -1.0, -INF),
        (2.0, INF, INF),
        (2.0, -INF, 0.0),
        (0.5, INF, 0.0),
        (0.5, -INF, INF),
        (INF, 2.0, INF),
        (INF, -2.0, 0.0),
        (-INF, 3.0, -INF),
        (-2.0, 3.0, -8.0),
        (-2.0, 0.5, NAN),
        (NAN, 1.0, NAN),
        (2.0, NAN, NAN),
        (2.0, -1074.0, TINY),
        (2.0, 1023.0, 8.98846567431158e307),
        (2.0, 1024.0, INF),
        (10.0, 2.0, 100.0),
        (TINY, -1.0, INF),
        (TINY, 1.0, TINY),
        (TOP, 1.0, TOP),
        (3.0, TOP, INF),
        (1.0, TOP, 1.0),
        (0.999, TOP, 0.0),
        (0.999, -TOP, INF),
        (7.0, 1e-320, 1.0),
    ];
    for level in Level::available() {
        for (x, y, expected) in rows {
            let mut z = [0.0];
            simd::pow(level, &[x], &[y], &mut z);
            assert_eq!(bits(z[0]), bits(expected), "{x:e}^{y:e} at {}", level.name());
        }
    }
}

/// Pairs of special numbers for which each function of two arguments must be its scalar one, to the
/// bit where that is 0, infinite or NaN, and to four ulp elsewhere (of the larger argument or of
/// one for sums that may cancel).
#[test]
fn special_pairs_are_those_of_the_scalar_functions() {
    let scalar: [(&str, Scalar); 7] = [
        ("pow", exmc_math::pow),
        ("atan2", exmc_math::atan2),
        ("log_add_exp", exmc_math::log_add_exp),
        ("log_add_exp_share", exmc_math::log_add_exp_share),
        ("log_diff_exp", exmc_math::log_diff_exp),
        ("lbeta", exmc_math::lbeta),
        ("digamma_rise", exmc_math::digamma_rise),
    ];
    let sizes = [0.0, TINY, 1e-300, 1e-20, 0.5, 1.0, 2.0, 700.0, 1e20, 1e300, TOP, INF, NAN];
    for ((name, run), (scalar_name, wanted)) in BINARY.into_iter().zip(scalar) {
        assert_eq!(name, scalar_name);
        for level in Level::available() {
            for a in sizes.into_iter().flat_map(|size| [size, -size]) {
                for b in sizes.into_iter().flat_map(|size| [size, -size]) {
                    // Among ordinary neighbours.
                    let (mut x, mut y, mut z) = ([2.5; 8], [1.25; 8], [0.0; 8]);
                    (x[5], y[5]) = (a, b);
                    run(level, &x, &y, &mut z);
                    let (got, want) = (z[5], wanted(a, b));
                    let ordinary = want != 0.0 && want.is_finite();
                    let size = match name {
                        "log_add_exp" | "log_diff_exp" => a.max(b).abs(),
                        "lbeta" => 1.0,
                        _ => 0.0,
                    };
                    let near = (got - want).abs() <= 4.0 * f64::EPSILON * want.abs().max(size);
                    assert!(
                        if ordinary { near } else { bits(got) == bits(want) },
                        "{name}({a:e}, {b:e}) = {got:e} at {}, expected {want:e}",
                        level.name()
                    );
                }
            }
        }
    }
}

#[test]
fn large_angles_are_the_scalar_functions() {
    let x = [1073741824.0, -1073741825.5, 1e15, -1e22, 1e300, TOP];
    for level in Level::available() {
        let [mut sine, mut cosine, mut tangent] = [[0.0; 6]; 3];
        simd::sin(level, &x, &mut sine);
        simd::cos(level, &x, &mut cosine);
        simd::tan(level, &x, &mut tangent);
        assert_eq!(tangent, x.map(exmc_math::tan));
        assert_eq!(sine, x.map(exmc_math::sin));
        assert_eq!(cosine, x.map(exmc_math::cos));
    }
}
