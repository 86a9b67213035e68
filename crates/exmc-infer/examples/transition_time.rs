//! A target, a dimension and a metric -> the sampler's own CPU time per leapfrog step, gradient
//! excluded.
//!
//! `cargo run --release -p exmc-infer --example transition_time -- [--json] [--rounds N]
//! [dimension | target | metric]...`
//!
//! As in `shared/peers/nutsrs`: one chain of 1000 + 1000 draws (200 + 200 beyond a thousand
//! dimensions), start, adaptation and momenta included, less its gradients times the cost of one
//! gradient in a loop of its own. A round repeats such chains for 50 ms at least; the median of the
//! rounds is printed, as a table or one JSON object a line.
#![allow(clippy::print_stdout, reason = "a program that prints a table")]

use std::hint::black_box;
use std::time::Instant;

use exmc_density::{EvaluationError, LogDensity};
use exmc_infer::{Chain, MetricKind, SamplerConfig, Start};

#[derive(Clone, Copy)]
enum Target {
    /// Independent standard normals.
    Independent,
    /// A stationary autoregression of order one, with coefficient 0.9 and unit innovations.
    Autoregressive,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::Independent => "iid",
            Self::Autoregressive => "ar0.9",
        }
    }

    #[inline(never)]
    fn logp_grad(self, q: &[f64], g: &mut [f64]) -> f64 {
        let mut logp = 0.0;
        match self {
            Self::Independent => {
                for (q, g) in q.iter().zip(g) {
                    *g = -q;
                    logp -= 0.5 * q * q;
                }
            }
            Self::Autoregressive => {
                const RHO: f64 = 0.9;
                logp -= 0.5 * (1.0 - RHO * RHO) * q[0] * q[0];
                g[0] = -(1.0 - RHO * RHO) * q[0];
                for i in 1..q.len() {
                    let innovation = q[i] - RHO * q[i - 1];
                    logp -= 0.5 * innovation * innovation;
                    g[i] = -innovation;
                    g[i - 1] += RHO * innovation;
                }
            }
        }
        logp
    }
}

/// A target that counts its gradients.
struct Counted<'a> {
    target: Target,
    dim: usize,
    gradients: &'a mut u64,
}

impl LogDensity for Counted<'_> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        *self.gradients += 1;
        Ok(self.target.logp_grad(q, g))
    }
}

/// One round: CPU seconds, chains, and per chain gradients, leapfrog steps and divergences after
/// warmup.
#[derive(Clone, Copy, Default)]
struct Round {
    seconds: f64,
    chains: u64,
    gradients: u64,
    steps: u64,
    divergences: u64,
}

fn main() {
    let (mut json, mut rounds, mut dims, mut names) = (false, 5, Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--rounds" => rounds = number(arguments.next()).max(1),
            word if word.starts_with(char::is_alphabetic) => names.push(argument),
            _ => dims.push(number(Some(argument)).max(1)),
        }
    }
    if dims.is_empty() {
        dims = vec![2, 10, 100, 1000, 10_000];
    }
    if !json {
        println!("target    dim  metric   steps/draw  gradient ns  sampler ns");
    }
    for dim in dims {
        for target in [Target::Independent, Target::Autoregressive] {
            for (kind, name) in [
                (MetricKind::Diag, "diag"),
                (MetricKind::Stan, "stan"),
                (MetricKind::Dense, "dense"),
                (MetricKind::LowRank, "lowrank"),
            ] {
                let is_asked = |list: &[&str], name: &str| {
                    names.iter().any(|n| n == name) || !names.iter().any(|n| list.contains(&&n[..]))
                };
                if is_asked(&["iid", "ar0.9"], target.name())
                    && is_asked(&["diag", "stan", "dense", "lowrank"], name)
                    && (dim <= 100 || kind == MetricKind::Diag)
                {
                    report(target, dim, kind, name, rounds, json);
                }
            }
        }
    }
}

fn number(argument: Option<String>) -> usize {
    let text = argument.unwrap_or_default();
    text.parse().unwrap_or_else(|_| panic!("expected a number, found '{text}'"))
}

fn report(target: Target, dim: usize, kind: MetricKind, name: &str, rounds: usize, json: bool) {
    let mut config = SamplerConfig::default();
    config.metric = kind;
    if dim > 1000 {
        (config.warmup, config.draws) = (200, 200);
    }
    let gradient = gradient_seconds(target, dim);
    let overhead_seconds = |round: &Round| {
        (round.seconds - round.gradients as f64 * gradient) / round.gradients as f64
    };
    let mut found: Vec<Round> = (0..rounds).map(|_| run(target, dim, &mut config)).collect();
    found.sort_by(|a, b| overhead_seconds(a).total_cmp(&overhead_seconds(b)));
    let round = found[found.len() / 2];
    let iterations = config.warmup + config.draws;
    let steps_per_draw = round.steps as f64 / (iterations * round.chains) as f64;
    let (overhead, gradient) = (overhead_seconds(&round) * 1e9, gradient * 1e9);
    let target = target.name();
    if json {
        println!(
            "{{\"target\":\"{target}_{dim}\",\"d\":{dim},\"metric\":\"{name}\",\"iters\":{iterations},\
             \"cpu_s\":{:.6},\"grads\":{},\"steps\":{},\"div\":{},\"grad_ns\":{gradient:.2},\
             \"total_ns_per_grad\":{:.2},\"overhead_ns_per_grad\":{overhead:.2}}}",
            round.seconds / round.chains as f64,
            round.gradients / round.chains,
            round.steps / round.chains,
            round.divergences / round.chains,
            overhead + gradient,
        );
    } else {
        println!(
            "{target:<6} {dim:>6}  {name:<7} {steps_per_draw:>11.1} {gradient:>12.1} \
             {overhead:>11.1}"
        );
    }
}

/// Chains with the seeds 0, 1, ... until 50 ms have passed.
fn run(target: Target, dim: usize, config: &mut SamplerConfig) -> Round {
    let init = (0..dim).map(|i| 0.1 * (i % 5) as f64 + 0.05).collect();
    let start = Start::At(init);
    let mut round = Round::default();
    let began = cpu_seconds();
    while round.seconds < 0.05 {
        config.seed = round.chains;
        let density = Counted { target, dim, gradients: &mut round.gradients };
        let mut chain =
            Chain::start(density, config, 0, &start).expect("a normal density has usable points");
        while let Some(info) = chain.advance().expect("a normal density never fails") {
            black_box(chain.state());
            if info.divergent && chain.iteration() > config.warmup {
                round.divergences += 1;
            }
        }
        round.steps += chain.leapfrogs();
        round.chains += 1;
        round.seconds = cpu_seconds() - began;
    }
    round
}

/// Seconds per gradient in a loop: the least of several short rounds, because other work only ever
/// adds time.
fn gradient_seconds(target: Target, dim: usize) -> f64 {
    let position: Vec<f64> = (0..dim).map(|i| 0.3 * ((i * 7 % 11) as f64 - 5.0) / 5.0).collect();
    let mut gradient = vec![0.0; dim];
    let repeats = 4_000_000 / (dim + 8);
    (0..7)
        .map(|_| {
            let began = cpu_seconds();
            for _ in 0..repeats {
                black_box(target.logp_grad(black_box(&position), black_box(&mut gradient)));
            }
            (cpu_seconds() - began) / repeats as f64
        })
        .fold(f64::INFINITY, f64::min)
}

/// CPU time of this thread where the system tells (Linux), else the time of day.
fn cpu_seconds() -> f64 {
    thread_local!(static BEGAN: Instant = Instant::now());
    // The kernel brings its account up to date when it is asked for another thread to run.
    std::thread::yield_now();
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok())
        .filter(|time| *time > 0.0);
    nanoseconds.map_or_else(|| BEGAN.with(Instant::elapsed).as_secs_f64(), |time| time * 1e-9)
}
