//! The vector reductions: their fixed order, their edges, and one set of bits for all levels.

use exmc_math::random::{ChainRng, Phase};
use exmc_math::simd::{self, Level};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const TINY: f64 = 5e-324;
const TOP: f64 = f64::MAX;

/// All bits of a number, but one NaN for all: the sign and payload of a NaN are left open.
fn bits(x: f64) -> u64 {
    if x.is_nan() { NAN.to_bits() } else { x.to_bits() }
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
        for position in 0..19 {
            let mut x = [1.0; 19];
            x[position] = NAN;
            assert!(simd::max(level, &x).is_nan());
            x[position] = 2.0;
            assert_eq!(simd::max(level, &x), 2.0);
            let mut x = [-0.0; 19];
            x[position] = 0.0;
            let first = if position == 0 { 0 } else { 1 << 63 };
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
