//! Frozen samplers: goldens that pin the bits, and distances of 250,000 draws from the exact
//! distributions.
//!
//! Distances are Kolmogorov's; by the DKW inequality a correct sampler exceeds [`LIMIT`] with
//! probability below 1e-6 (for discrete distributions far below). A shift of the cdf by 0.012
//! anywhere is found almost surely.

use exmc_math as m;
use exmc_math::random::{ChainRng, Phase, draws};

const DRAWS: usize = 250_000;
/// sqrt(n) times the distance: 2 exp(-2 t^2) = 1e-6.
const LIMIT: f64 = 2.6935;

fn rng(seed: u64) -> ChainRng {
    ChainRng::new(seed, 0, Phase::Predictive)
}

fn sample(seed: u64, mut draw: impl FnMut(&mut ChainRng) -> f64) -> Vec<f64> {
    let mut rng = rng(seed);
    let mut draws: Vec<f64> = (0..DRAWS).map(|_| draw(&mut rng)).collect();
    draws.sort_unstable_by(f64::total_cmp);
    draws
}

/// Distance of a continuous distribution, times sqrt(n).
fn distance(draws: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let n = draws.len() as f64;
    let gap = |(i, &x): (usize, &f64)| {
        let p = cdf(x);
        assert!(!p.is_nan(), "cdf at {x}");
        (p - i as f64 / n).abs().max(((i + 1) as f64 / n - p).abs())
    };
    // The cdfs are slow and monotone: each tenth point misses at most 10/n, 0.02 of the scaled
    // distance.
    draws.iter().enumerate().step_by(10).map(gap).fold(0.0, f64::max) * n.sqrt()
}

/// Distance of a distribution on the integers, times sqrt(n); compared at each value that occurred.
fn discrete_distance(draws: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let n = draws.len() as f64;
    let mut worst = 0.0_f64;
    for (i, pair) in draws.windows(2).enumerate() {
        assert!(pair[0] >= 0.0 && pair[0].floor() == pair[0]);
        if pair[1] > pair[0] {
            worst = worst.max(((i + 1) as f64 / n - cdf(pair[0])).abs());
        }
    }
    worst * n.sqrt()
}

fn follows(name: &str, distance: f64) {
    assert!(distance < LIMIT, "{name}: scaled distance {distance}");
}

#[test]
fn frozen_samplers_keep_their_bits() {
    // FNV-1a over the bits of 2000 draws each. A change here changes users' results: it needs a
    // changelog line.
    let hash = |draw: &mut dyn FnMut(&mut ChainRng) -> f64| {
        let mut rng = rng(99);
        (0..2000).fold(0xcbf2_9ce4_8422_2325_u64, |hash, _| {
            let bytes = draw(&mut rng).to_bits().to_le_bytes();
            bytes.iter().fold(hash, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
        })
    };
    let mut three = [0.0; 3];
    let mut next = |f: &mut dyn FnMut(&mut ChainRng, &mut [f64])| {
        hash(&mut |rng| {
            f(rng, &mut three);
            three[0] + 2.0 * three[1]
        })
    };
    let dirichlet = next(&mut |rng, out| draws::dirichlet(rng, &[0.1, 2.0, 1.0], out));
    let multinomial = next(&mut |rng, out| draws::multinomial(rng, 100.0, &[0.2, 0.3, 0.5], out));
    let hashes = [
        hash(&mut |rng| draws::gamma(rng, 2.5)),
        hash(&mut |rng| draws::log_gamma(rng, 0.01)),
        hash(&mut |rng| draws::chi_square(rng, 3.0)),
        hash(&mut |rng| draws::student_t(rng, 4.0)),
        hash(&mut |rng| draws::beta(rng, 0.5, 2.0)),
        dirichlet,
        hash(&mut |rng| draws::poisson(rng, 3.0)),
        hash(&mut |rng| draws::poisson(rng, 300.0)),
        hash(&mut |rng| draws::binomial(rng, 20.0, 0.2)),
        hash(&mut |rng| draws::binomial(rng, 2000.0, 0.7)),
        multinomial,
        hash(&mut |rng| draws::categorical(rng, &[1.0, 0.0, 3.0]).map_or(f64::NAN, |i| i as f64)),
        hash(&mut |rng| {
            draws::categorical_log(rng, &[0.0, -1.0, 0.5]).map_or(f64::NAN, |i| i as f64)
        }),
        hash(&mut |rng| draws::von_mises(rng, 2.0)),
        hash(&mut |rng| draws::truncated_normal(rng, 1.0, 3.0)),
        hash(&mut |rng| draws::truncated_normal(rng, -0.5, 1.0)),
        hash(&mut |rng| draws::truncated_normal(rng, -9.0, -8.0)),
    ];
    let golden = [
        0x07a3_ecaa_8ab8_12f9,
        0x91f4_0107_69da_493d,
        0xba6e_8dee_dda4_9be9,
        0x55ab_5d50_2c06_9319,
        0xc9a0_a7a2_5a1a_0d5b,
        0xdcc3_ad1a_5971_423f,
        0x33b1_7e81_75f1_cd65,
        0x743b_c982_d92f_c0e0,
        0xae9d_a9df_17c7_0c8f,
        0xca93_9bce_4ed6_8b7b,
        0xf163_e249_6079_dcb5,
        0x82ba_8174_fc6a_33e5,
        0x6aca_9e8e_c6bd_8525,
        0xbd72_c632_e3a2_f306,
        0x0769_d644_28ee_4e8f,
        0x32bb_3da3_ad08_1fb6,
        0x43af_d90a_01cc_14c5,
    ];
    assert_eq!(hashes, golden, "{hashes:#x?}");
}

#[test]
fn gamma_family_follows_its_cdfs() {
    for (i, shape) in [0.05, 0.7, 1.0, 3.5, 400.0].into_iter().enumerate() {
        let draws = sample(i as u64, |rng| draws::gamma(rng, shape));
        follows("gamma", distance(&draws, |x| m::gamma_p(shape, x)));
    }
    follows(
        "chi square",
        distance(&sample(10, |rng| draws::chi_square(rng, 3.0)), |x| m::gamma_p(1.5, 0.5 * x)),
    );
    for nu in [1.0, 3.5, 200.0] {
        follows(
            "student t",
            distance(&sample(11, |rng| draws::student_t(rng, nu)), |x| m::student_t_cdf(x, nu)),
        );
    }
    for (a, b) in [(0.5, 0.5), (2.0, 5.0), (0.02, 3.0)] {
        follows(
            "beta",
            distance(&sample(12, |rng| draws::beta(rng, a, b)), |x| m::beta_inc(a, b, x)),
        );
    }
}

#[test]
fn tiny_shapes_do_not_underflow_on_the_log_scale() {
    // As the shape goes to zero, shape * log gamma goes to minus a standard exponential.
    let scaled = sample(13, |rng| -1e-10 * draws::log_gamma(rng, 1e-10));
    assert!(scaled.iter().all(|x| x.is_finite()));
    follows("log gamma", distance(&scaled, |x| -m::expm1(-x)));
}

#[test]
fn counts_follow_their_cdfs() {
    for (i, rate) in [0.3, 9.9, 10.0, 55.0, 1e4].into_iter().enumerate() {
        let draws = sample(20 + i as u64, |rng| draws::poisson(rng, rate));
        follows("poisson", discrete_distance(&draws, |k| m::gamma_q(k + 1.0, rate)));
    }
    for (i, (n, p)) in
        [(1.0, 0.3), (30.0, 0.9), (40.0, 0.25), (500.0, 0.5), (1e6, 0.003)].into_iter().enumerate()
    {
        let draws = sample(30 + i as u64, |rng| draws::binomial(rng, n, p));
        let cdf = |k: f64| if k >= n { 1.0 } else { m::beta_inc_upper(k + 1.0, n - k, p) };
        follows("binomial", discrete_distance(&draws, cdf));
    }
}

#[test]
fn large_counts_keep_their_mean_and_spread() {
    // A mean of 1e12 is beyond the cdfs' comfort; z = 5 two-sided is a false-alarm rate of 6e-7 for
    // each of four checks.
    let n = 100_000.0;
    for (name, mean, variance, draw) in [
        ("poisson", 1e12, 1e12, (|rng| draws::poisson(rng, 1e12)) as fn(&mut ChainRng) -> f64),
        ("binomial", 3e11, 2.1e11, |rng| draws::binomial(rng, 1e12, 0.3)),
    ] {
        let mut rng = rng(40);
        let z: Vec<f64> =
            (0..n as usize).map(|_| (draw(&mut rng) - mean) / f64::sqrt(variance)).collect();
        let average = z.iter().sum::<f64>() / n;
        let spread = z.iter().map(|z| z * z).sum::<f64>() / n;
        assert!(average.abs() * f64::sqrt(n) < 5.0, "{name}: mean off by {average}");
        assert!((spread - 1.0).abs() * f64::sqrt(n / 2.0) < 5.0, "{name}: variance {spread}");
    }
}

#[test]
fn categories_come_with_their_weights() {
    // Chi-square with 3 degrees of freedom: 30.66 is its upper 1e-6 point, for each of the two
    // checks.
    let weights = [0.1, 0.0, 0.2, 0.4, 0.3];
    let logs = weights.map(|w: f64| 700.0 + m::log(w));
    let mut rng = rng(50);
    let mut counts = [[0.0; 5]; 2];
    for _ in 0..DRAWS {
        counts[0][draws::categorical(&mut rng, &weights).unwrap()] += 1.0;
        counts[1][draws::categorical_log(&mut rng, &logs).unwrap()] += 1.0;
    }
    for counts in counts {
        assert_eq!(counts[1], 0.0);
        let expected = weights.map(|w| w * DRAWS as f64);
        let terms = counts.iter().zip(expected).filter(|(_, e)| *e > 0.0);
        let statistic: f64 = terms.map(|(c, e)| (c - e) * (c - e) / e).sum();
        assert!(statistic < 30.66, "chi-square {statistic}");
    }
}

#[test]
fn vectors_have_the_right_margins() {
    let alpha = [0.3, 2.0, 0.7];
    let mut out = [0.0; 3];
    let mut margin = |i: usize| {
        sample(60 + i as u64, |rng| {
            draws::dirichlet(rng, &alpha, &mut out);
            out[i]
        })
    };
    for (i, a) in alpha.into_iter().enumerate() {
        follows("dirichlet", distance(&margin(i), |x| m::beta_inc(a, 3.0 - a, x)));
    }
    let weights = [2.0, 3.0, 5.0];
    let mut margin = |i: usize| {
        sample(70 + i as u64, |rng| {
            draws::multinomial(rng, 60.0, &weights, &mut out);
            assert_eq!(out.iter().sum::<f64>(), 60.0);
            out[i]
        })
    };
    for (i, p) in [0.2, 0.3, 0.5].into_iter().enumerate() {
        let cdf = |k: f64| if k >= 60.0 { 1.0 } else { m::beta_inc_upper(k + 1.0, 60.0 - k, p) };
        follows("multinomial", discrete_distance(&margin(i), cdf));
    }
}

#[test]
fn angles_follow_the_von_mises_cdf() {
    // The cdf by Simpson's rule on 4000 panels of the density: error below 1e-9 at these
    // concentrations.
    for kappa in [0.0, 1e-6, 0.5, 4.0, 100.0] {
        let density = |x: f64| m::exp(kappa * (m::cos(x) - 1.0));
        let h = std::f64::consts::PI / 2000.0;
        let mut table = vec![0.0];
        for i in 0..4000 {
            let x = -std::f64::consts::PI + h * f64::from(i);
            let panel = h / 6.0 * (density(x) + 4.0 * density(x + 0.5 * h) + density(x + h));
            table.push(table[i as usize] + panel);
        }
        let total = table[4000];
        let cdf = |x: f64| {
            let place = (x + std::f64::consts::PI) / h;
            let i = (place.floor() as usize).min(3999);
            (table[i] + (place - i as f64) * (table[i + 1] - table[i])) / total
        };
        follows("von mises", distance(&sample(80, |rng| draws::von_mises(rng, kappa)), cdf));
    }
}

#[test]
fn truncated_normals_follow_their_cdfs() {
    let inf = f64::INFINITY;
    let bounds = [
        (-inf, inf),
        (0.5, inf),
        (-inf, -8.0),
        (1.0, 1.3),
        (-0.2, 0.3),
        (-1.0, 6.0),
        (30.0, 30.01),
        (30.0, 31.0),
    ];
    for (i, (low, high)) in bounds.into_iter().enumerate() {
        let draws = sample(90 + i as u64, |rng| draws::truncated_normal(rng, low, high));
        assert!(low <= draws[0] && draws[DRAWS - 1] <= high);
        // On the side where tails are small: differences of their logs lose nothing.
        let flip = low > 0.0;
        let log_tail = |x: f64| m::log_std_normal_cdf(if flip { -x } else { x });
        let (top, bottom) =
            if flip { (log_tail(low), log_tail(high)) } else { (log_tail(high), log_tail(low)) };
        let log_mass = m::log_diff_exp(top, bottom);
        let cdf = |x: f64| {
            let below = m::exp(m::log_diff_exp(log_tail(x).max(bottom), bottom) - log_mass);
            if flip { 1.0 - below } else { below }
        };
        follows("truncated normal", distance(&draws, cdf));
    }
}

#[test]
fn invalid_parameters_are_nan_and_take_no_words() {
    let mut rng = rng(1);
    let start = rng.word_position();
    let nan = f64::NAN;
    for value in [
        draws::gamma(&mut rng, -1.0),
        draws::gamma(&mut rng, nan),
        draws::log_gamma(&mut rng, nan),
        draws::student_t(&mut rng, 0.0),
        draws::beta(&mut rng, 0.0, 1.0),
        draws::beta(&mut rng, 1.0, f64::INFINITY),
        draws::poisson(&mut rng, -1.0),
        draws::poisson(&mut rng, f64::INFINITY),
        draws::binomial(&mut rng, 2.5, 0.5),
        draws::binomial(&mut rng, 2.0, nan),
        draws::von_mises(&mut rng, -1.0),
        draws::truncated_normal(&mut rng, 2.0, 1.0),
        draws::truncated_normal(&mut rng, f64::INFINITY, f64::INFINITY),
    ] {
        assert!(value.is_nan());
    }
    assert_eq!(draws::categorical(&mut rng, &[]), None);
    assert_eq!(draws::categorical(&mut rng, &[1.0, -1.0]), None);
    assert_eq!(draws::categorical_log(&mut rng, &[f64::NEG_INFINITY]), None);
    assert_eq!(draws::categorical_log(&mut rng, &[0.0, nan]), None);
    let mut out = [0.0; 2];
    draws::dirichlet(&mut rng, &[1.0, 0.0], &mut out);
    assert!(out.iter().all(|x| x.is_nan()));
    draws::multinomial(&mut rng, 3.0, &[0.0, 0.0], &mut out);
    assert!(out.iter().all(|x| x.is_nan()));
    assert_eq!(rng.word_position(), start);
}
