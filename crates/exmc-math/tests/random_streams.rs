//! Streams and the two base samplers: goldens that pin the bits, and distances from the exact
//! distributions.

use exmc_math::random::{ChainRng, Phase};

/// FNV-1a over the bits of `n` values: any changed bit changes the hash.
fn hash(n: usize, mut next: impl FnMut() -> u64) -> u64 {
    (0..n).fold(0xcbf2_9ce4_8422_2325, |hash, _| {
        next()
            .to_le_bytes()
            .iter()
            .fold(hash, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    })
}

/// Kolmogorov distance of `draws` from `cdf`, times the square root of the count.
fn kolmogorov(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    draws.sort_unstable_by(f64::total_cmp);
    let n = draws.len() as f64;
    let distance = draws.iter().enumerate().fold(0.0_f64, |worst, (i, &x)| {
        let p = cdf(x);
        worst.max((p - i as f64 / n).abs()).max(((i + 1) as f64 / n - p).abs())
    });
    distance * n.sqrt()
}

/// By the DKW inequality P(distance * sqrt(n) > t) <= 2 exp(-2 t^2): this t makes it 1e-6.
const DKW_ONE_IN_A_MILLION: f64 = 2.6935;

#[test]
fn frozen_streams_keep_their_bits() {
    let rng = || ChainRng::new(20_240_917, 2, Phase::Sampling);
    let mut words = rng();
    let mut normals = rng();
    let mut exponentials = rng();
    let mut integers = rng();
    let hashes = [
        hash(1000, || words.next_u64()),
        hash(10_000, || normals.standard_normal().to_bits()),
        hash(10_000, || exponentials.standard_exponential().to_bits()),
        hash(1000, || integers.below(1_000_003)),
    ];
    let golden = [
        0xf00e_0953_4efb_5c57,
        0x8eaf_ad92_8dbc_8bf5,
        0x1a7f_d350_ccde_64f5,
        0xdc4a_3afb_4ce0_e58d,
    ];
    assert_eq!(hashes, golden, "{hashes:#x?}");
}

#[test]
fn draws_that_are_made_together_are_those_of_one_after_the_other() {
    let stream = || ChainRng::new(20_240_918, 1, Phase::Sampling);
    let (mut together, mut single) = (stream(), stream());
    // Of every length at every place of the words that are at hand, among them some hundred beyond
    // the next layer.
    for round in 0..400_u64 {
        let mut draws = vec![f64::NAN; (round * round % 83) as usize];
        together.fill_standard_normal(&mut draws);
        for (k, draw) in draws.iter().enumerate() {
            assert_eq!(
                draw.to_bits(),
                single.standard_normal().to_bits(),
                "{k} of {}",
                draws.len()
            );
        }
        assert_eq!(together.word_position(), single.word_position());
        if round % 3 == 0 {
            assert_eq!(together.next_u64(), single.next_u64());
        }
    }
}

#[test]
fn words_are_those_of_an_independent_chacha8() {
    // Written by scripts/chacha8_words.py, which shares no code with the generator used here.
    let mut rng = ChainRng::new(20_240_917, 2, Phase::Sampling);
    let stream: Vec<u64> = (0..41).map(|_| rng.next_u64()).collect();
    assert_eq!(
        [stream[0], stream[1], stream[40]],
        [0xc95e_fb29_168c_cdb4, 0x7b94_957d_a7bc_7ceb, 0x7517_4e2c_6836_8589]
    );
}

#[test]
fn uniforms_normals_and_exponentials_follow_their_distributions() {
    let n = 1_000_000;
    let mut rng = ChainRng::new(1, 0, Phase::Sampling);
    let uniforms = (0..n).map(|_| rng.uniform()).collect();
    assert!(kolmogorov(uniforms, |x| x) < DKW_ONE_IN_A_MILLION);
    let open: Vec<f64> = (0..n).map(|_| rng.uniform_open()).collect();
    assert!(open.iter().all(|&u| 0.0 < u && u < 1.0));
    assert!(kolmogorov(open, |x| x) < DKW_ONE_IN_A_MILLION);
    let normals = (0..n).map(|_| rng.standard_normal()).collect();
    let phi = |x: f64| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
    assert!(kolmogorov(normals, phi) < DKW_ONE_IN_A_MILLION);
    let exponentials = (0..n).map(|_| rng.standard_exponential()).collect();
    assert!(kolmogorov(exponentials, |x| -libm::expm1(-x)) < DKW_ONE_IN_A_MILLION);
}

#[test]
fn the_distance_test_sees_a_standard_deviation_of_1_01() {
    // What the test above could have detected: a 1 % error of scale moves the cdf by 0.0024, 2.4
    // sqrt-n units plus noise.
    let mut rng = ChainRng::new(1, 0, Phase::Sampling);
    let normals = (0..4_000_000).map(|_| 1.01 * rng.standard_normal()).collect();
    let phi = |x: f64| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
    assert!(kolmogorov(normals, phi) > DKW_ONE_IN_A_MILLION);
}

#[test]
fn normal_and_exponential_tails_have_the_right_mass() {
    // The tails come from code that the distance test hardly weighs. Counts beyond the ziggurat
    // edges are Poisson; z = 5.2 two-sided is a false-alarm rate of 2e-7 each (four checks: below
    // 1e-6).
    let n = 20_000_000;
    let mut rng = ChainRng::new(5, 1, Phase::Predictive);
    let (mut beyond_edge, mut beyond_four, mut far_exponential, mut farther_exponential) =
        (0.0, 0.0, 0.0, 0.0);
    for _ in 0..n {
        let x = rng.standard_normal().abs();
        beyond_edge += f64::from(u8::from(x > 3.654_152_885_361_009));
        beyond_four += f64::from(u8::from(x > 4.3));
        let e = rng.standard_exponential();
        far_exponential += f64::from(u8::from(e > 7.697_117_470_131_05));
        farther_exponential += f64::from(u8::from(e > 10.0));
    }
    let two_sided = |x: f64| libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2);
    for (count, p) in [
        (beyond_edge, two_sided(3.654_152_885_361_009)),
        (beyond_four, two_sided(4.3)),
        (far_exponential, libm::exp(-7.697_117_470_131_05)),
        (farther_exponential, libm::exp(-10.0)),
    ] {
        let expected: f64 = f64::from(n) * p;
        let z = (count - expected) / expected.sqrt();
        assert!(z.abs() < 5.2, "count {count}, expected {expected}");
    }
}
