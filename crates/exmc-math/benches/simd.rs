//! Nanoseconds per element of the vector functions, for each level of this machine, on blocks that
//! stay in L1.
//!
//! `cargo bench -p exmc-math --bench simd [-- name]`; the best of many rounds, so that a busy
//! machine disturbs little.
#![expect(clippy::print_stdout, reason = "printing is what a benchmark is for")]

use std::hint::black_box;
use std::time::Instant;

use exmc_math::random::{ChainRng, Phase};
use exmc_math::simd::{self, Level};

const BLOCK: usize = 256;

type Unary = fn(Level, &[f64], &mut [f64]);
type Binary = fn(Level, &[f64], &[f64], &mut [f64]);
type Pair = fn(Level, &[f64], &mut [f64], &mut [f64]);
type Reduction = fn(Level, &[f64]) -> f64;

/// Nanoseconds per element of one call on a block.
fn time(mut f: impl FnMut()) -> f64 {
    let calls = 200;
    let mut best = f64::INFINITY;
    for _ in 0..300 {
        let start = Instant::now();
        for _ in 0..calls {
            f();
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    best / f64::from(calls) / BLOCK as f64 * 1e9
}

fn main() {
    // Cargo hands `--bench` to the program.
    let wanted = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    let functions: &[(&str, Unary, [f64; 2])] = &[
        ("exp", simd::exp, [-20.0, 20.0]),
        ("expm1", simd::expm1, [-20.0, 20.0]),
        ("tanh", simd::tanh, [-5.0, 5.0]),
        ("sigmoid", simd::sigmoid, [-20.0, 20.0]),
        ("softplus", simd::softplus, [-20.0, 20.0]),
        ("log", simd::log, [1e-3, 1e3]),
        ("log1p", simd::log1p, [-0.999, 100.0]),
        ("sqrt", simd::sqrt, [0.0, 10.0]),
        ("reciprocal", simd::reciprocal, [1.0, 10.0]),
        ("erf", simd::erf, [-3.0, 3.0]),
        ("erfc", simd::erfc, [-3.0, 3.0]),
        ("lgamma", simd::lgamma, [0.1, 20.0]),
        ("digamma", simd::digamma, [0.1, 20.0]),
        ("sin", simd::sin, [-10.0, 10.0]),
        ("cos", simd::cos, [-10.0, 10.0]),
        ("tan", simd::tan, [-10.0, 10.0]),
        ("asin", simd::asin, [-1.0, 1.0]),
        ("acos", simd::acos, [-1.0, 1.0]),
        ("atan", simd::atan, [-10.0, 10.0]),
        ("sinh", simd::sinh, [-20.0, 20.0]),
        ("cosh", simd::cosh, [-20.0, 20.0]),
        ("floor", simd::floor, [-20.0, 20.0]),
        ("round", simd::round, [-20.0, 20.0]),
        ("log1m_exp", simd::log1m_exp, [-20.0, 0.0]),
        ("trigamma", simd::trigamma, [0.1, 20.0]),
        ("tetragamma", simd::tetragamma, [0.1, 20.0]),
        ("log_std_normal_cdf", simd::log_std_normal_cdf, [-10.0, 5.0]),
        ("std_normal_quantile", simd::std_normal_quantile, [0.0, 1.0]),
        ("log_bessel_i0", simd::log_bessel_i0, [0.0, 20.0]),
        ("bessel_i1_i0_ratio", simd::bessel_i1_i0_ratio, [0.0, 20.0]),
    ];
    let reductions: &[(&str, Reduction)] = &[
        ("sum", simd::sum),
        ("max", simd::max),
        ("sum_log", simd::sum_log),
        ("log_sum_exp", simd::log_sum_exp),
    ];
    let levels = Level::available();
    print!("{:20}", "ns per element");
    for level in &levels {
        print!("{:>10}", level.name());
    }
    println!();
    let mut rng = ChainRng::new(1, 0, Phase::Sampling);
    let mut numbers = |[low, high]: [f64; 2]| -> Vec<f64> {
        (0..BLOCK).map(|_| low + (high - low) * rng.uniform()).collect()
    };
    let row = |name: &str, f: &mut dyn FnMut(Level)| {
        if name.contains(&wanted) {
            print!("{name:20}");
            for &level in &levels {
                print!("{:10.2}", time(|| f(level)));
            }
            println!();
        }
    };
    let mut out = vec![0.0; BLOCK];
    for (name, f, range) in functions {
        let x = numbers(*range);
        row(name, &mut |level| f(level, black_box(&x), black_box(&mut out)));
    }
    let (x, y) = (numbers([0.0, 10.0]), numbers([-5.0, 5.0]));
    let binary: [(&str, Binary, &[f64]); 6] = [
        ("pow", simd::pow, &y),
        ("atan2", simd::atan2, &y),
        ("log_add_exp", simd::log_add_exp, &y),
        ("log_diff_exp", simd::log_diff_exp, &y),
        ("lbeta", simd::lbeta, &x),
        ("digamma_rise", simd::digamma_rise, &x),
    ];
    for (name, f, y) in binary {
        row(name, &mut |level| f(level, black_box(&x), black_box(y), black_box(&mut out)));
    }
    let mut second = vec![0.0; BLOCK];
    let pairs: [(&str, Pair, &[f64]); 3] = [
        ("sigmoid_softplus", simd::sigmoid_softplus, &y),
        ("sin_cos", simd::sin_cos, &y),
        ("lgamma_digamma", simd::lgamma_digamma, &x),
    ];
    for (name, f, x) in pairs {
        row(name, &mut |level| f(level, black_box(x), black_box(&mut out), black_box(&mut second)));
    }
    for (name, f) in reductions {
        row(name, &mut |level| {
            black_box(f(level, black_box(&x)));
        });
    }
    row("dot", &mut |level| {
        black_box(simd::dot(level, black_box(&x), black_box(&y)));
    });
}
