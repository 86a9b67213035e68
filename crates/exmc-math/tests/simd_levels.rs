//! Every vector level gives the same bits, special values are right, and reductions keep their order.

use exmc_math::random::{ChainRng, Phase};
use exmc_math::simd::{self, Kernel, Level, LogProduct, Simd};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const TINY: f64 = 5e-324;
const TOP: f64 = f64::MAX;

type Unary = fn(Level, &[f64], &mut [f64]);

const UNARY: [(&str, Unary); 15] = [
    ("exp", simd::exp),
    ("expm1", simd::expm1),
    ("tanh", simd::tanh),
    ("sigmoid", simd::sigmoid),
    ("softplus", simd::softplus),
    ("log", simd::log),
    ("log1p", simd::log1p),
    ("sqrt", simd::sqrt),
    ("reciprocal", simd::reciprocal),
    ("erf", simd::erf),
    ("erfc", simd::erfc),
    ("lgamma", simd::lgamma),
    ("digamma", simd::digamma),
    ("sin", simd::sin),
    ("cos", simd::cos),
];

/// All bits of a number, but one NaN for all: the sign and payload of a NaN are left open.
fn bits(x: f64) -> u64 {
    if x.is_nan() { NAN.to_bits() } else { x.to_bits() }
}

fn assert_same(name: &str, level: Level, expected: &[f64], got: &[f64], arguments: &[f64]) {
    for ((e, g), x) in expected.iter().zip(got).zip(arguments) {
        assert_eq!(
            bits(*e),
            bits(*g),
            "{name} at {}: {x:e} gives {e:e} portably, {g:e} here",
            level.name()
        );
    }
}

/// Special numbers first, then uniform bit patterns and ordinary numbers; an odd count, so that there is a tail.
fn numbers(seed: u64, n: usize) -> Vec<f64> {
    let mut x = vec![0.0, -0.0, INF, -INF, NAN, -NAN];
    for size in [
        TINY,
        f64::MIN_POSITIVE,
        1e-300,
        1e-10,
        0.25,
        0.5,
        1.0,
        1.5,
        2.0,
        8.0,
        709.78,
        745.2,
        1073741824.0,
        1e300,
        TOP,
    ] {
        x.extend([size, -size, size.next_down(), -size.next_up()]);
    }
    let mut rng = ChainRng::new(seed, 0, Phase::Sampling);
    while x.len() < n {
        x.push(f64::from_bits(rng.next_u64()));
        x.push(40.0 * rng.uniform() - 20.0);
        x.push(1500.0 * rng.uniform() - 750.0);
        x.push(20.0 * rng.uniform());
    }
    x.truncate(n);
    x
}

#[test]
fn every_level_gives_the_same_bits() {
    let n = 40_003;
    let (x, other) = (numbers(1, n), numbers(2, n));
    let [mut expected, mut second, mut got, mut got_second] = [(); 4].map(|()| vec![0.0; n]);
    let others = Level::available();
    println!("levels here: {:?}", others.iter().map(|l| l.name()).collect::<Vec<_>>());
    assert_eq!(others[0], Level::detect());
    assert_eq!(others.last(), Some(&Level::portable()));
    for (name, f) in UNARY {
        f(Level::portable(), &x, &mut expected);
        for &level in &others {
            f(level, &x, &mut got);
            assert_same(name, level, &expected, &got, &x);
        }
    }
    let powers: Vec<f64> = other.iter().rev().copied().collect();
    simd::pow(Level::portable(), &x, &powers, &mut expected);
    for &level in &others {
        simd::pow(level, &x, &powers, &mut got);
        assert_same("pow", level, &expected, &got, &x);
    }
    simd::sigmoid_softplus(Level::portable(), &x, &mut expected, &mut second);
    for &level in &others {
        simd::sigmoid_softplus(level, &x, &mut got, &mut got_second);
        assert_same("sigmoid", level, &expected, &got, &x);
        assert_same("softplus", level, &second, &got_second, &x);
    }
}

#[test]
fn the_pair_has_the_bits_of_its_members() {
    let x = numbers(3, 1003);
    let [mut sigmoid, mut softplus, mut alone] = [(); 3].map(|()| vec![0.0; 1003]);
    simd::sigmoid_softplus(Level::detect(), &x, &mut sigmoid, &mut softplus);
    simd::sigmoid(Level::detect(), &x, &mut alone);
    assert_same("sigmoid", Level::detect(), &alone, &sigmoid, &x);
    simd::softplus(Level::detect(), &x, &mut alone);
    assert_same("softplus", Level::detect(), &alone, &softplus, &x);
}

#[test]
fn a_result_does_not_depend_on_its_neighbours() {
    // Lanes outside the fast path must not change the others, nor must the tail.
    let x = numbers(4, 803);
    for (name, f) in UNARY {
        let mut together = vec![0.0; x.len()];
        f(Level::detect(), &x, &mut together);
        for (&x, &y) in x.iter().zip(&together) {
            let mut alone = [0.0];
            f(Level::detect(), &[x], &mut alone);
            assert_eq!(bits(alone[0]), bits(y), "{name}({x:e})");
        }
    }
}

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

/// The order of `exmc_graph`'s scalar reference: number k to lane k mod 8, then a fixed tree.
fn in_eight_lanes(terms: impl Iterator<Item = f64>) -> f64 {
    let mut l = [0.0; 8];
    for (k, term) in terms.enumerate() {
        l[k % 8] += term;
    }
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

#[test]
fn sums_keep_the_scalar_order() {
    let mut rng = ChainRng::new(5, 0, Phase::Sampling);
    for n in (0..40).chain([255, 256, 1000]) {
        let a: Vec<f64> = (0..n).map(|_| rng.standard_normal()).collect();
        let b: Vec<f64> = (0..n).map(|_| rng.standard_normal()).collect();
        for level in Level::available() {
            assert_eq!(simd::sum(level, &a).to_bits(), in_eight_lanes(a.iter().copied()).to_bits());
            let products = a.iter().zip(&b).map(|(a, b)| a * b);
            assert_eq!(simd::dot(level, &a, &b).to_bits(), in_eight_lanes(products).to_bits());
        }
    }
    assert_eq!(simd::sum(Level::detect(), &[-0.0; 3]).to_bits(), 0);
}

#[test]
fn the_maximum_is_the_first_of_equals_and_passes_nan() {
    for level in Level::available() {
        assert_eq!(simd::max(level, &[]), -INF);
        assert_eq!(simd::max(level, &[-INF; 9]), -INF);
        assert_eq!(simd::max(level, &[1.0, 3.0, 2.0]), 3.0);
        for at in 0..19 {
            let mut x = [1.0; 19];
            x[at] = NAN;
            assert!(simd::max(level, &x).is_nan());
            x[at] = 2.0;
            assert_eq!(simd::max(level, &x), 2.0);
            let mut x = [-0.0; 19];
            x[at] = 0.0;
            let first = if at == 0 { 0 } else { 1 << 63 };
            assert_eq!(simd::max(level, &x).to_bits(), first);
        }
    }
}

#[test]
fn log_sum_exp_agrees_with_the_scalar_function() {
    let mut rng = ChainRng::new(6, 0, Phase::Sampling);
    for n in [1, 2, 7, 8, 9, 64, 301] {
        let x: Vec<f64> = (0..n).map(|_| 300.0 * rng.standard_normal()).collect();
        let expected = exmc_math::log_sum_exp(&x);
        let first = simd::log_sum_exp(Level::portable(), &x);
        // Both add rounded exponentials; the result's own size decides, so a few ulp.
        assert!((first - expected).abs() <= 1e-15 * expected.abs(), "{first:e} {expected:e}");
        for level in Level::available() {
            assert_eq!(simd::log_sum_exp(level, &x).to_bits(), first.to_bits());
        }
    }
    for level in Level::available() {
        assert_eq!(simd::log_sum_exp(level, &[]), -INF);
        assert_eq!(simd::log_sum_exp(level, &[-INF, -INF]), -INF);
        assert_eq!(simd::log_sum_exp(level, &[0.0, INF]), INF);
        assert!(simd::log_sum_exp(level, &[0.0, NAN]).is_nan());
        assert_eq!(simd::log_sum_exp(level, &[0.0, -INF]), 0.0);
        // A small other term counts, also behind eight equal ones.
        assert_eq!(simd::log_sum_exp(level, &[0.0, -40.0]), exmc_math::exp(-40.0));
        assert_eq!(simd::log_sum_exp(level, &[5.0; 16]), 5.0 + exmc_math::log(16.0));
    }
}

#[test]
fn a_sum_of_logs_is_the_log_of_the_product() {
    let mut rng = ChainRng::new(7, 0, Phase::Sampling);
    // More than a thousand per lane, so that the product is brought back to one on the way.
    for n in [0, 1, 7, 8, 100, 20_000] {
        let x: Vec<f64> = (0..n)
            .map(|_| f64::from_bits(rng.next_u64() >> 1))
            .map(|x| if x.is_finite() { x } else { 1.0 })
            .collect();
        let expected: f64 = x.iter().map(|&x| exmc_math::log(x)).sum();
        let scale: f64 = 1.0 + x.iter().map(|&x| exmc_math::log(x).abs()).sum::<f64>();
        let first = simd::sum_log(Level::portable(), &x);
        // The reference is a sum of n rounded logarithms.
        assert!((first - expected).abs() <= 1e-15 * scale, "{n}: {first:e} {expected:e}");
        for level in Level::available() {
            assert_eq!(simd::sum_log(level, &x).to_bits(), first.to_bits(), "{}", level.name());
        }
    }
}

#[test]
fn a_sum_of_logs_has_the_edges_of_its_terms() {
    let cases = [
        (vec![2.0, 0.0, 3.0], -INF),
        (vec![2.0, -0.0], -INF),
        (vec![2.0, INF], INF),
        (vec![INF, 0.0], NAN),
        (vec![-1.0, 2.0], NAN),
        (vec![-1.0, -1.0], NAN),
        (vec![NAN, 2.0], NAN),
        (vec![0.0; 20], -INF),
        (vec![1.0; 20], 0.0),
        (vec![TINY], -744.4400719213812),
        (vec![TOP], 709.782712893384),
        (vec![-INF], NAN),
        (vec![TINY, TINY, 8.98846567431158e307, 8.98846567431158e307], -70.70101241711443),
    ];
    for level in Level::available() {
        for (x, expected) in &cases {
            assert_eq!(bits(simd::sum_log(level, x)), bits(*expected), "{x:?} at {}", level.name());
        }
    }
}

/// A kernel from outside the crate: what the executor's fused kernels do.
struct LogisticLikelihood<'a>(&'a [[f64; 8]]);

impl Kernel for LogisticLikelihood<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let mut product = LogProduct::new(s);
        for eta in self.0 {
            let e = simd::vector::exp(s, s.load(eta));
            product.multiply(s, s.add(s.splat(1.0), e));
        }
        product.finish(s)
    }
}

#[test]
fn kernels_of_other_crates_fuse_functions() {
    let mut rng = ChainRng::new(8, 0, Phase::Sampling);
    let eta: Vec<[f64; 8]> = (0..50).map(|_| [(); 8].map(|()| rng.standard_normal())).collect();
    let expected: f64 = eta.iter().flatten().map(|&x| exmc_math::log1p_exp(x)).sum();
    let results = Level::available().into_iter().map(|level| level.run(LogisticLikelihood(&eta)));
    for got in results {
        // 400 terms of about one, each rounded once.
        assert!((got / expected - 1.0).abs() < 1e-14);
    }
}
