//! The vector functions at zeros, infinities, NaN, subnormal numbers and the ends of their domains.

mod simd_subjects;

use exmc_math::simd::{self, Level};
use simd_subjects::{INF, TINY, TOP, UNARY, bits};

const NAN: f64 = f64::NAN;

/// `(function, argument, exact result)`; the results are limits, or values that C99's annex F prescribes.
const SPECIAL: &[(&str, &[(f64, f64)])] = &[
    (
        "exp",
        &[
            (0.0, 1.0),
            (-0.0, 1.0),
            (INF, INF),
            (-INF, 0.0),
            (NAN, NAN),
            (TINY, 1.0),
            (-TINY, 1.0),
            (710.0, INF),
            (TOP, INF),
            (-TOP, 0.0),
            (-746.0, 0.0),
            (-745.0, TINY),
        ],
    ),
    (
        "expm1",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, INF),
            (-INF, -1.0),
            (NAN, NAN),
            (TINY, TINY),
            (-TINY, -TINY),
            (TOP, INF),
            (-TOP, -1.0),
            (1e-310, 1e-310),
            (-50.0, -1.0),
        ],
    ),
    (
        "tanh",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, 1.0),
            (-INF, -1.0),
            (NAN, NAN),
            (TINY, TINY),
            (-TINY, -TINY),
            (TOP, 1.0),
            (-TOP, -1.0),
            (1e-310, 1e-310),
            (30.0, 1.0),
        ],
    ),
    (
        "sigmoid",
        &[
            (0.0, 0.5),
            (-0.0, 0.5),
            (INF, 1.0),
            (-INF, 0.0),
            (NAN, NAN),
            (TINY, 0.5),
            (TOP, 1.0),
            (-TOP, 0.0),
            (-745.0, TINY),
        ],
    ),
    (
        "softplus",
        &[
            (0.0, std::f64::consts::LN_2),
            (-0.0, std::f64::consts::LN_2),
            (INF, INF),
            (-INF, 0.0),
            (NAN, NAN),
            (TOP, TOP),
            (-TOP, 0.0),
            (-745.0, TINY),
            (1e10, 1e10),
        ],
    ),
    (
        "log",
        &[
            (0.0, -INF),
            (-0.0, -INF),
            (INF, INF),
            (-INF, NAN),
            (NAN, NAN),
            (1.0, 0.0),
            (-1.0, NAN),
            (-TINY, NAN),
            (TINY, -744.4400719213812),
            (TOP, 709.782712893384),
        ],
    ),
    (
        "log1p",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, INF),
            (-INF, NAN),
            (NAN, NAN),
            (-1.0, -INF),
            (-1.0000000000000002, NAN),
            (TINY, TINY),
            (-TINY, -TINY),
            (1e-310, 1e-310),
            (TOP, 709.782712893384),
        ],
    ),
    (
        "sqrt",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, INF),
            (-INF, NAN),
            (NAN, NAN),
            (-TINY, NAN),
            (4.0, 2.0),
            (TINY, 2.2227587494850775e-162),
        ],
    ),
    (
        "reciprocal",
        &[
            (0.0, INF),
            (-0.0, -INF),
            (INF, 0.0),
            (-INF, -0.0),
            (NAN, NAN),
            (TINY, INF),
            (TOP, 5.562684646268003e-309),
        ],
    ),
    (
        "erf",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, 1.0),
            (-INF, -1.0),
            (NAN, NAN),
            (TINY, TINY),
            (-TINY, -TINY),
            (TOP, 1.0),
            (-TOP, -1.0),
            (7.0, 1.0),
        ],
    ),
    (
        "erfc",
        &[
            (0.0, 1.0),
            (-0.0, 1.0),
            (INF, 0.0),
            (-INF, 2.0),
            (NAN, NAN),
            (TINY, 1.0),
            (TOP, 0.0),
            (-TOP, 2.0),
            (28.0, 0.0),
            (-7.0, 2.0),
        ],
    ),
    (
        "lgamma",
        &[
            (0.0, INF),
            (-0.0, INF),
            (INF, INF),
            (-INF, INF),
            (NAN, NAN),
            (1.0, 0.0),
            (2.0, 0.0),
            (-1.0, INF),
            (TINY, 744.4400719213812),
            (TOP, INF),
        ],
    ),
    (
        "digamma",
        &[
            (0.0, NAN),
            (-0.0, NAN),
            (INF, INF),
            (-INF, NAN),
            (NAN, NAN),
            (-1.0, NAN),
            (TINY, -INF),
            (TOP, 709.782712893384),
        ],
    ),
    (
        "sin",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, NAN),
            (-INF, NAN),
            (NAN, NAN),
            (TINY, TINY),
            (-TINY, -TINY),
            (1e22, -0.8522008497671888),
        ],
    ),
    ("cos", &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (TINY, 1.0)]),
];

#[test]
fn special_values_are_right() {
    for (name, f) in UNARY {
        let (_, rows) =
            SPECIAL.iter().find(|(row, _)| *row == name).expect("rows for every function");
        for level in Level::available() {
            for &(x, expected) in *rows {
                // Among ordinary neighbours, in the first and in the last lane.
                for at in [0, 7] {
                    let mut arguments = [1.25; 8];
                    arguments[at] = x;
                    let mut y = [0.0; 8];
                    f(level, &arguments, &mut y);
                    assert_eq!(
                        bits(y[at]),
                        bits(expected),
                        "{name}({x:e}) = {:e} at {}, expected {expected:e}",
                        y[at],
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

#[test]
fn large_angles_are_the_scalar_functions() {
    let x = [1073741824.0, -1073741825.5, 1e15, -1e22, 1e300, TOP];
    for level in Level::available() {
        let [mut sine, mut cosine] = [[0.0; 6]; 2];
        simd::sin(level, &x, &mut sine);
        simd::cos(level, &x, &mut cosine);
        assert_eq!(sine, x.map(exmc_math::sin));
        assert_eq!(cosine, x.map(exmc_math::cos));
    }
}
