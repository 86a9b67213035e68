//! Prints nanoseconds per call of the streams and of the slower special functions on this machine.
//!
//! `cargo run --release -p exmc-math --example speed`

use std::hint::black_box;
use std::time::Instant;

use exmc_math as m;
use exmc_math::random::{ChainRng, Phase, draws};

/// Best of five rounds, so that a busy machine disturbs little.
#[expect(clippy::print_stdout, reason = "printing is what this example is for")]
fn time(name: &str, calls: u32, mut f: impl FnMut() -> f64) {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(f());
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name:36} {:9.1} ns", best / f64::from(calls) * 1e9);
}

fn main() {
    let mut rng = ChainRng::new(1, 0, Phase::Sampling);
    let n = 1_000_000;
    time("next_u64", n, || rng.next_u64() as f64);
    time("standard_normal", n, || rng.standard_normal());
    time("standard_exponential", n, || rng.standard_exponential());
    time("draws::gamma(2.5)", n, || draws::gamma(&mut rng, 2.5));
    time("draws::poisson(300)", n, || draws::poisson(&mut rng, 300.0));
    time("draws::binomial(2000, 0.3)", n, || draws::binomial(&mut rng, 2000.0, 0.3));
    let v = black_box(2.3);
    time("lgamma", n, || m::lgamma(black_box(v)));
    time("digamma", n, || m::digamma(black_box(v)));
    time("trigamma", n, || m::trigamma(black_box(v)));
    time("std_normal_cdf(-2.3)", n, || m::std_normal_cdf(-black_box(v)));
    time("log_std_normal_cdf(-2.3)", n, || m::log_std_normal_cdf(-black_box(v)));
    time("std_normal_quantile", n, || m::std_normal_quantile(black_box(0.013)));
    time("lbeta(2.3, 4)", n, || m::lbeta(black_box(v), 4.0));
    time("owens_t", n / 10, || m::owens_t(black_box(v), 0.7));
    for a in [2.3, 100.0, 5000.0, 9e4, 1e6] {
        time(&format!("gamma_p({a}, 1.01 a)"), n / 100, || m::gamma_p(black_box(a), 1.01 * a));
        time(&format!("beta_inc({a}, {a}, 0.499)"), n / 100, || {
            m::beta_inc(black_box(a), a, 0.499)
        });
    }
    time("beta_inc(1e6, 1.4, 1 - 1e-6)", n / 100, || m::beta_inc(black_box(1e6), 1.4, 1.0 - 1e-6));
    time("student_t_cdf(-2.3, 4)", n / 10, || m::student_t_cdf(-black_box(v), 4.0));
    time("gamma_p_inverse(2.3, 0.3)", n / 100, || m::gamma_p_inverse(black_box(v), 0.3));
    time("beta_inc_inverse(2.3, 4, 0.3)", n / 100, || m::beta_inc_inverse(black_box(v), 4.0, 0.3));
}
