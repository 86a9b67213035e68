//! Measures the sampler's own cost per leapfrog step: `cargo run --release -p exmc-infer --example overhead`
//! (dimensions may follow after `--`).
//!
//! The density is a standard normal, whose gradient costs next to nothing; its cost is measured alone
//! and subtracted.
#![allow(clippy::print_stdout, reason = "a program that prints a table")]

use std::hint::black_box;
use std::time::Instant;

use exmc_density::{EvaluationError, LogDensity};
use exmc_infer::nuts::{Scratch, TreeLimits, transition};
use exmc_infer::{InverseMetric, Metric, State};
use exmc_math::random::{ChainRng, Phase};

struct Normal(usize);

impl LogDensity for Normal {
    fn dim(&self) -> usize {
        self.0
    }

    #[inline(never)]
    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        let mut lanes = [0.0; 8];
        let (q, q_rest) = q.as_chunks::<8>();
        let (g, g_rest) = g.as_chunks_mut::<8>();
        for (q, g) in q.iter().zip(g) {
            for i in 0..8 {
                g[i] = -q[i];
                lanes[i] += q[i] * q[i];
            }
        }
        for ((lane, q), g) in lanes.iter_mut().zip(q_rest).zip(g_rest) {
            *g = -q;
            *lane += q * q;
        }
        Ok(-0.5 * lanes.iter().sum::<f64>())
    }
}

fn main() {
    println!(
        "{:>6} {:>6} {:>12} {:>12} {:>12}",
        "dim", "step", "steps/draw", "gradient ns", "sampler ns"
    );
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let dims = if asked.is_empty() { vec![2, 10, 100, 1000] } else { asked };
    for dim in dims {
        for step_size in [0.4, 0.1] {
            let (steps, gradient, total) = measure(dim, step_size);
            println!(
                "{dim:>6} {step_size:>6} {steps:>12.1} {gradient:>12.1} {:>12.1}",
                total - gradient
            );
        }
    }
}

/// Steps per transition, ns per gradient alone, ns per leapfrog step; each the best of several rounds,
/// because other work on a shared machine only ever adds time.
fn measure(dim: usize, step_size: f64) -> (f64, f64, f64) {
    let mut density = Normal(dim);
    let metric = Metric::new(InverseMetric::identity(dim)).expect("the identity is a metric");
    let mut rng = ChainRng::new(1, 0, Phase::Sampling);
    let position = (0..dim).map(|_| rng.standard_normal()).collect();
    let mut state = State::evaluate(&mut density, position).expect("a normal density never fails");
    let mut scratch = Scratch::new(dim, 10);
    let limits = TreeLimits { max_depth: 10, max_energy_error: 1000.0 };
    let transitions = 2_000_000 / (dim + 20);
    let mut gradients = Vec::new();
    let mut totals = Vec::new();
    let mut steps_per_draw = 0.0;
    for _ in 0..15 {
        let began = Instant::now();
        let mut steps = 0_u64;
        for _ in 0..transitions / 10 {
            let info = transition(
                &mut state,
                &mut density,
                &metric,
                step_size,
                limits,
                &mut rng,
                &mut scratch,
            )
            .expect("a normal density never fails");
            steps += u64::from(info.n_steps);
        }
        totals.push(began.elapsed().as_nanos() as f64 / steps as f64);
        steps_per_draw = steps as f64 / (transitions / 10) as f64;

        let mut gradient = vec![0.0; dim];
        let began = Instant::now();
        for _ in 0..transitions {
            let logp = density.logp_grad(black_box(&state.position), black_box(&mut gradient));
            black_box(logp).expect("a normal density never fails");
        }
        gradients.push(began.elapsed().as_nanos() as f64 / transitions as f64);
    }
    (steps_per_draw, least(&gradients), least(&totals))
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}
