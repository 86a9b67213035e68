//! Every vector level gives the same bits, and a result depends on its argument alone.

mod simd_subjects;

use exmc_math::random::{ChainRng, Phase};
use exmc_math::simd::{self, Kernel, Level, LogProduct, Simd};
use simd_subjects::{INF, TINY, TOP, UNARY, bits};

const NAN: f64 = f64::NAN;

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
fn every_platform_gives_the_same_bits() {
    // A fingerprint of all results, the same on x86-64 and on ARM. Whoever changes a function on purpose writes the
    // printed one here, after the accuracy tests.
    let x = numbers(9, 20_000);
    let powers: Vec<f64> = x.iter().rev().copied().collect();
    let mut out = vec![0.0; x.len()];
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for (name, f) in UNARY {
        f(Level::detect(), &x, &mut out);
        hash = out.iter().fold(hash, fingerprint);
        println!("{name:12} {hash:#x}");
    }
    simd::pow(Level::detect(), &x, &powers, &mut out);
    assert_eq!(
        out.iter().fold(hash, fingerprint),
        0xd979_92c9_ab12_5e28,
        "the fingerprint has changed"
    );
}

/// One step of FNV-1a, on whole words.
fn fingerprint(hash: u64, x: &f64) -> u64 {
    (hash ^ bits(*x)).wrapping_mul(0x100_0000_01b3)
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
