//! Every vector level gives the same bits, and a result depends on its argument alone.

use crate::simd_subjects::{BINARY, INF, TINY, TOP, UNARY, Unary, bits};
use exmc_math::random::{ChainRng, Phase};
use exmc_math::simd::{self, Kernel, Level, LogProduct, Simd, vector};

const NAN: f64 = f64::NAN;

type Pair = fn(Level, &[f64], &mut [f64], &mut [f64]);

/// Functions that share work, each with its members.
const PAIRS: [(Pair, [(&str, Unary); 2]); 3] = [
    (simd::sigmoid_softplus, [("sigmoid", simd::sigmoid), ("softplus", simd::softplus)]),
    (simd::sin_cos, [("sin", simd::sin), ("cos", simd::cos)]),
    (simd::lgamma_digamma, [("lgamma", simd::lgamma), ("digamma", simd::digamma)]),
];

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

/// Special numbers first, then uniform bit patterns and ordinary numbers; an odd count, so that
/// there is a tail.
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
    let other: Vec<f64> = other.iter().rev().copied().collect();
    // Arguments of like size, too, which independent ones seldom are.
    let near: Vec<f64> = x.iter().zip(&other).map(|(x, y)| x + 1e-3 * y.clamp(-1e3, 1e3)).collect();
    for (name, f) in BINARY {
        for second in [&other, &near] {
            f(Level::portable(), &x, second, &mut expected);
            for &level in &others {
                f(level, &x, second, &mut got);
                assert_same(name, level, &expected, &got, &x);
            }
        }
    }
    for (f, [(first_name, _), (second_name, _)]) in PAIRS {
        f(Level::portable(), &x, &mut expected, &mut second);
        for &level in &others {
            f(level, &x, &mut got, &mut got_second);
            assert_same(first_name, level, &expected, &got, &x);
            assert_same(second_name, level, &second, &got_second, &x);
        }
    }
}

#[test]
fn every_platform_gives_the_same_bits() {
    // Fingerprints of all results, the same on x86-64 and on ARM. Whoever changes a function on
    // purpose writes the printed one here, after the accuracy tests.
    let x = numbers(9, 20_000);
    let other: Vec<f64> = x.iter().rev().copied().collect();
    let mut out = vec![0.0; x.len()];
    let mut got = Vec::new();
    for (name, f) in UNARY {
        f(Level::detect(), &x, &mut out);
        got.push((name, out.iter().fold(BASIS, fingerprint)));
    }
    for (name, f) in BINARY {
        f(Level::detect(), &x, &other, &mut out);
        got.push((name, out.iter().fold(BASIS, fingerprint)));
    }
    for (name, hash) in &got {
        println!("    (\"{name}\", {hash:#018x}),");
    }
    assert_eq!(got, FINGERPRINTS, "a fingerprint has changed");
}

/// What FNV-1a begins with.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

const FINGERPRINTS: [(&str, u64); 38] = [
    ("exp", 0x5f57d6be727ee29a),
    ("expm1", 0xb331ee7c575da281),
    ("tanh", 0xdb3e93ee08606adc),
    ("sigmoid", 0x393f8feef41f5cf8),
    ("softplus", 0x63c31a1c3d504748),
    ("log", 0x22545be8c6e92eb8),
    ("log1p", 0x3f3b118019bdbfb2),
    ("sqrt", 0x033c5d878e18bded),
    ("reciprocal", 0x3ddf8f47bf43b41e),
    ("erf", 0xdd56ce6da4d845cd),
    ("erfc", 0x5986e79477cb26eb),
    ("lgamma", 0xa8daa6f9a00acf3a),
    ("digamma", 0xadbff28edd12571b),
    ("sin", 0x48ddb2529a3d188e),
    ("cos", 0x5e9746ed2b4a3ed4),
    ("tan", 0xea1ba2c19e8bed15),
    ("asin", 0x98f9e155ff5c5083),
    ("acos", 0x8b45324bcef631b2),
    ("atan", 0xfd68bcd05cdd93e3),
    ("sinh", 0xabaa1c320e80725a),
    ("cosh", 0x70de718c48d96898),
    ("floor", 0x0d682b99fd4ca08e),
    ("ceil", 0x9e77dd659080c5c0),
    ("round", 0x586e02d287c66880),
    ("log1m_exp", 0x40ea71ee885bc2db),
    ("trigamma", 0x922a30c5a4cfd1f2),
    ("tetragamma", 0x1b4e27976e3fdd0b),
    ("log_std_normal_cdf", 0x65d9059d52375cd3),
    ("std_normal_quantile", 0xbdbab4e6dc31570a),
    ("log_bessel_i0", 0x21511adf0583bdda),
    ("bessel_i1_i0_ratio", 0x5e9772059422bf0d),
    ("pow", 0xd9c3923e2b0a4f54),
    ("atan2", 0x2a26a43bb01ba365),
    ("log_add_exp", 0xfd629316368d6f71),
    ("log_add_exp_share", 0xb5bcdf320e1e2698),
    ("log_diff_exp", 0x5a6baa3bc59a9fd0),
    ("lbeta", 0x03720aeadcb50c63),
    ("digamma_rise", 0x866828d8446dcf14),
];

/// One step of FNV-1a, on whole words.
fn fingerprint(hash: u64, x: &f64) -> u64 {
    (hash ^ bits(*x)).wrapping_mul(0x100_0000_01b3)
}

#[test]
fn pairs_have_the_bits_of_their_members() {
    let x = numbers(3, 1003);
    let [mut first, mut second, mut alone] = [(); 3].map(|()| vec![0.0; 1003]);
    for (f, members) in PAIRS {
        f(Level::detect(), &x, &mut first, &mut second);
        for ((name, member), got) in members.iter().zip([&first, &second]) {
            member(Level::detect(), &x, &mut alone);
            assert_same(name, Level::detect(), &alone, got, &x);
        }
    }
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
    let other: Vec<f64> = x.iter().rev().copied().collect();
    for (name, f) in BINARY {
        let mut together = vec![0.0; x.len()];
        f(Level::detect(), &x, &other, &mut together);
        for ((&x, &y), &z) in x.iter().zip(&other).zip(&together) {
            let mut alone = [0.0];
            f(Level::detect(), &[x], &[y], &mut alone);
            assert_eq!(bits(alone[0]), bits(z), "{name}({x:e}, {y:e})");
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

/// `exp` or `log` of eight numbers for which there is a shorter way, and by that.
struct Shorter<'a>(&'a [f64; 8], bool);

impl Kernel for Shorter<'_> {
    type Output = [[f64; 8]; 2];
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> [[f64; 8]; 2] {
        let x = s.load(self.0);
        let both = match self.1 {
            true => [vector::exp_of_ordinary(s, x), vector::exp(s, x)],
            false => [vector::log_of_normal(s, x), vector::log(s, x)],
        };
        both.map(|x| s.to_array(x))
    }
}

#[test]
fn the_shorter_way_for_ordinary_numbers_has_the_same_bits() {
    let most = vector::ORDINARY.next_down();
    let ordinary = |x: &f64| x.abs() < vector::ORDINARY;
    let normal = |x: &f64| x.is_normal() && *x > 0.0 || x.is_nan();
    let numbers: Vec<f64> = [most, -most].into_iter().chain(numbers(5, 100_000)).collect();
    let (mut exponentials, mut logarithms) = (numbers.clone(), numbers);
    exponentials.retain(ordinary);
    logarithms.retain(normal);
    assert!(exponentials.len().min(logarithms.len()) > 30_000);
    for level in Level::available() {
        for (numbers, is_exp) in [(&exponentials, true), (&logarithms, false)] {
            for x in numbers.as_chunks().0 {
                let [found, expected] = level.run(Shorter(x, is_exp)).map(|y| y.map(bits));
                assert_eq!(found, expected, "{x:?} at {}", level.name());
            }
        }
    }
}
