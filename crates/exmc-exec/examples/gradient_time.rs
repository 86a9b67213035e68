//! Nanoseconds per gradient of the reference executor: `cargo run --release --example gradient_time`.
#![allow(clippy::print_stdout, reason = "that is what the example is for")]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{DensitySource, Executor, compile};
use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor};

fn main() -> Result<(), Box<dyn Error>> {
    println!("model               compile us  bind us  operations  ns/gradient  ns/operation");
    measure("eight schools", &eight_schools()?, &schools_data)?;
    measure("logistic 500x20", &logistic(500, 20)?, &|name| logistic_data(name, 500, 20))?;
    measure("logistic 10000x20", &logistic(10_000, 20)?, &|name| logistic_data(name, 10_000, 20))?;
    Ok(())
}

fn measure(
    name: &str,
    source: &DensitySource,
    data: &dyn Fn(&str) -> Option<Tensor>,
) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let program = compile(Executor::Reference, source)?;
    let compiled = start.elapsed();
    let start = Instant::now();
    let bound = program.bind(data)?;
    let binding = start.elapsed();
    let mut instance = bound.instance();
    let mut position = vec![0.1; source.dim];
    let mut gradient = vec![0.0; source.dim];
    // The best of several batches: what is not the program is noise on top.
    let mut best = Duration::MAX;
    let mut calls = 1;
    for _ in 0..20 {
        let start = Instant::now();
        for _ in 0..calls {
            position[0] += 1e-9;
            black_box(instance.logp_grad(&position, &mut gradient)?);
        }
        let each = start.elapsed() / calls;
        best = best.min(each);
        calls = (20_000_000 / each.as_nanos().max(1)).clamp(1, 1_000_000) as u32;
    }
    let operations = program.sections().main;
    let nanoseconds = best.as_nanos();
    let per_operation = nanoseconds / operations.max(1) as u128;
    let (compiled, binding) = (compiled.as_micros(), binding.as_micros());
    println!(
        "{name:18} {compiled:11} {binding:8} {operations:11} {nanoseconds:12} {per_operation:13}"
    );
    Ok(())
}

fn normal(g: &mut Graph, y: NodeId, mean: NodeId, sigma: NodeId) -> NodeId {
    let residual = g.sub(y, mean);
    let z = g.div(residual, sigma);
    let square = g.square(z);
    let half = g.scale(square, -0.5);
    let log_sigma = g.log(sigma);
    let terms = g.sub(half, log_sigma);
    g.sum(terms)
}

/// Non-centred, with half-Cauchy tau on the log scale.
fn eight_schools() -> Result<DensitySource, Box<dyn Error>> {
    let mut graph = Graph::new();
    let g = &mut graph;
    let mu = g.input("mu", Role::Parameter, Shape::scalar(), DType::Real)?;
    let log_tau = g.input("log_tau", Role::Parameter, Shape::scalar(), DType::Real)?;
    let raw = g.input("raw", Role::Parameter, [8].into(), DType::Real)?;
    let y = g.input("y", Role::Data, [8].into(), DType::Real)?;
    let sigma = g.input("sigma", Role::Data, [8].into(), DType::Real)?;
    let tau = g.exp(log_tau);
    let effect = g.mul(tau, raw);
    let theta = g.add(mu, effect);
    let likelihood = normal(g, y, theta, sigma);
    let (zero, one, five) = (g.scalar(0.0), g.scalar(1.0), g.scalar(5.0));
    let of_raw = normal(g, raw, zero, one);
    let of_mu = normal(g, mu, zero, five);
    let ratio = g.div(tau, five);
    let square = g.square(ratio);
    let cauchy = g.log1p(square);
    let of_tau = g.sub(log_tau, cauchy);
    let mut logp = likelihood;
    for part in [of_raw, of_mu, of_tau] {
        logp = g.add(logp, part);
    }
    Ok(DensitySource { graph, logp, parameters: vec![(mu, 0), (log_tau, 1), (raw, 2)], dim: 10 })
}

fn schools_data(name: &str) -> Option<Tensor> {
    Some(Tensor::vector(match name {
        "y" => &[28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0],
        _ => &[15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0],
    }))
}

fn logistic(n: usize, k: usize) -> Result<DensitySource, Box<dyn Error>> {
    let mut graph = Graph::new();
    let g = &mut graph;
    let beta = g.input("beta", Role::Parameter, [k].into(), DType::Real)?;
    let x = g.input("x", Role::Data, [n, k].into(), DType::Real)?;
    let y = g.input("y", Role::Data, [n].into(), DType::Int)?;
    let eta = g.matmul(x, beta);
    let chosen = g.mul(y, eta);
    let normaliser = g.softplus(eta);
    let terms = g.sub(chosen, normaliser);
    let likelihood = g.sum(terms);
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let prior = normal(g, beta, zero, one);
    let logp = g.add(likelihood, prior);
    Ok(DensitySource { graph, logp, parameters: vec![(beta, 0)], dim: k })
}

fn logistic_data(name: &str, n: usize, k: usize) -> Option<Tensor> {
    let fraction = |i: usize| (i as f64 * 0.618_033_988_749_894_9).fract();
    if name == "x" {
        let values: Vec<f64> = (0..n * k).map(|i| fraction(i) * 2.0 - 1.0).collect();
        return Tensor::real([n, k], values);
    }
    let values: Vec<f64> = (0..n).map(|i| f64::from(fraction(3 * i) < 0.4)).collect();
    Tensor::int([n], values)
}
