//! Nanoseconds per gradient of the executors, beside a kernel written by hand:
//! `cargo run --release -p exmc-exec --example gradient_time`.
#![allow(clippy::print_stdout, reason = "that is what the example is for")]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{Executor, compile};
use exmc_math::simd::Level;

#[path = "gradient_time/by_hand.rs"]
mod by_hand;
#[path = "../tests/support/models.rs"]
mod models;
#[path = "../tests/support/recurrences.rs"]
mod recurrences;

fn main() -> Result<(), Box<dyn Error>> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    if filter == "print" {
        let wanted = std::env::args().nth(2).unwrap_or_default();
        for model in all().iter().filter(|model| model.name.contains(&wanted)) {
            println!("{}\n{}", model.name, compile(Executor::Native, &model.source)?.print());
        }
        return Ok(());
    }
    let levels = Level::available();
    print!("model                   operations calls compile us  bind us  reference");
    for level in &levels {
        print!(" {:>10}", level.name());
    }
    println!("    by hand  native / by hand");
    for model in all().iter().filter(|model| model.name.contains(&filter)) {
        measure(model, &levels)?;
    }
    Ok(())
}

fn all() -> Vec<models::Model> {
    let mut all = models::all();
    all.extend(recurrences::usual());
    all
}

fn measure(model: &models::Model, levels: &[Level]) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let program = compile(Executor::Native, &model.source)?;
    let compiled = start.elapsed().as_micros();
    let start = Instant::now();
    let bound = program.bind(&|name| model.data(name))?;
    let binding = start.elapsed().as_micros();
    let sections = program.sections();
    let (operations, calls) = (sections.main, sections.calls + sections.one_by_one);
    print!("{:22} {operations:11} {calls:5} {compiled:10} {binding:8}", model.name);
    let mut position = model.position();
    let mut gradient = vec![0.0; position.len()];
    let reference = compile(Executor::Reference, &model.source)?.bind(&|name| model.data(name))?;
    let mut instance = reference.instance();
    let time = best(|| instance.logp_grad(&position, &mut gradient).unwrap_or(f64::NAN));
    print!(" {time:10.1}");
    let mut first = None;
    for &level in levels {
        let mut instance = bound.clone().at_level(level).instance();
        let time = best(|| {
            position[0] += 1e-9;
            instance.logp_grad(&position, &mut gradient).unwrap_or(f64::NAN)
        });
        first.get_or_insert(time);
        print!(" {time:10.1}");
    }
    if let Some(mut kernel) = by_hand::kernel(model) {
        let time = best(|| {
            position[0] += 1e-9;
            kernel(&position, &mut gradient)
        });
        print!(" {time:10.1} {:10.2}", first.unwrap_or(f64::NAN) / time);
    }
    println!();
    Ok(())
}

/// Nanoseconds of a call: the best of several batches, since what is not the program is noise on top.
fn best(mut f: impl FnMut() -> f64) -> f64 {
    let mut best = f64::INFINITY;
    let mut calls = 1;
    for _ in 0..20 {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(f());
        }
        let each = start.elapsed().as_nanos() as f64 / f64::from(calls);
        best = best.min(each);
        calls = (Duration::from_millis(10).as_nanos() as f64 / each).clamp(1.0, 1e6) as u32;
    }
    best
}
