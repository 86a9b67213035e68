//! Times gradients: names of benchmarks -> one JSON object a line.
//!
//! Each line has the model, its dimension and observations, nanoseconds a gradient of every
//! executor and of the kernel written by hand, and ratios that were taken within rounds.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use exmc::advanced::density::{BATCH, DensityModel, LogDensity};
use exmc::advanced::{CompileOptions, Executor, Precision};
use exmc::model::DataSet;
use exmc_bench::models::{ALL, Benchmark, benchmark};
use exmc_bench::{by_hand, timing};
use exmc_math::simd::Level;
use serde_json::{Map, json};

const USAGE: &str = "exmc-kernels list | [--models DIR] [--rounds N] [NAME ...]
exmc-kernels print NAME
exmc-kernels bulk NAME
exmc-kernels threads
exmc-kernels memory
exmc-kernels precision [NAME ...]
exmc-kernels lanes [NAME ...]
exmc-kernels level";
/// What `threads` measures: loops long enough to be shared.
const SHARED: [&str; 3] = ["logistic_1e4", "logistic_1e5", "logistic_1e6"];
/// What `memory` reads: 160 MB, ten times what a processor's caches hold for one of its cores.
const NUMBERS: usize = 20_000_000;
/// What `precision` measures: long elementwise loops, with a matrix and with groups.
const SINGLE: [&str; 2] = ["logistic_1e5", "student_groups"];
/// Rounds of blocks of two milliseconds.
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<(), String> {
    let (mut folder, mut rounds, mut names) = (None, ROUNDS, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
        match arg.as_str() {
            "list" => {
                ALL.iter().for_each(|b| println!("{}", b.name));
                return Ok(());
            }
            "threads" => {
                for name in SHARED {
                    println!("{}", measure_threads(benchmark(name)?, rounds)?);
                }
                return Ok(());
            }
            "memory" => {
                println!("{}", measure_memory(rounds));
                return Ok(());
            }
            "precision" => {
                let selected: Vec<&str> = args.map(String::as_str).collect();
                for name in if selected.is_empty() { SINGLE.to_vec() } else { selected } {
                    println!("{}", measure_precision(benchmark(name)?, rounds)?);
                }
                return Ok(());
            }
            "lanes" => {
                let benchmarks = args.map(|name| benchmark(name)).collect::<Result<Vec<_>, _>>()?;
                for benchmark in
                    if benchmarks.is_empty() { ALL.iter().collect() } else { benchmarks }
                {
                    if let Some(found) = measure_lanes(benchmark, rounds)? {
                        println!("{found}");
                    }
                }
                return Ok(());
            }
            "level" => {
                println!("{}", Level::detect().name());
                return Ok(());
            }
            "bulk" => {
                let bulk = benchmark(args.next().ok_or(USAGE)?)?.bulk();
                let values: Map<_, _> =
                    bulk.iter().map(|&(name, values)| (name.to_owned(), json!(values))).collect();
                println!("{}", json!(values));
                return Ok(());
            }
            "print" => {
                let name = args.next().ok_or(USAGE)?;
                let benchmark = benchmark(name)?;
                let model = benchmark.bind(&benchmark.made_data(), &CompileOptions::default())?;
                println!("{}", model.compiled().program().print());
                return Ok(());
            }
            "--models" => folder = Some(PathBuf::from(value()?)),
            "--rounds" => rounds = value()?.parse().map_err(|e| format!("--rounds: {e}"))?,
            name if name.starts_with('-') => return Err(USAGE.to_owned()),
            name => names.push(benchmark(name)?),
        }
    }
    if names.is_empty() {
        names.extend(ALL);
    }
    for benchmark in names {
        println!("{}", measure(benchmark, folder.as_deref(), rounds)?);
    }
    Ok(())
}

/// The data of a file `DIR/NAME/data.json` where there is one, else those made here; and which.
fn data_of(
    benchmark: &Benchmark,
    folder: Option<&Path>,
) -> Result<(DataSet, &'static str), String> {
    let file = folder.map(|folder| folder.join(benchmark.name).join("data.json"));
    match file.filter(|file| file.exists()) {
        None => Ok((benchmark.made_data(), "made")),
        Some(file) => {
            let say = |why: String| format!("{}: {why}", file.display());
            let text = std::fs::read_to_string(&file).map_err(|e| say(e.to_string()))?;
            Ok((exmc_model::read_data(&text).map_err(|e| say(e.to_string()))?, "file"))
        }
    }
}

fn measure(
    benchmark: &Benchmark,
    folder: Option<&Path>,
    rounds: usize,
) -> Result<serde_json::Value, String> {
    let (data, source) = data_of(benchmark, folder)?;
    let mut kernel = by_hand::kernel(benchmark.name, &data, Level::detect())?;
    let mut instances = Vec::new();
    let mut position = Vec::new();
    for executor in [Executor::Native, Executor::Reference] {
        let mut options = CompileOptions::default();
        options.executor = executor;
        let bound = benchmark.bind(&data, &options)?;
        position = benchmark.position(&bound)?;
        instances.push(bound.instance());
    }
    let dim = position.len();
    let mut candidates: Vec<Box<dyn FnMut() -> f64 + '_>> = Vec::new();
    for instance in &mut instances {
        // Positions that differ in the last places, so that nothing can be kept from call to call.
        let (mut position, mut gradient) = (position.clone(), vec![0.0; dim]);
        candidates.push(Box::new(move || {
            position[0] += 1e-12;
            instance.logp_grad(&position, &mut gradient).unwrap_or(f64::NAN)
        }));
    }
    if let Some(kernel) = &mut kernel {
        let (mut position, mut gradient) = (position.clone(), vec![0.0; dim]);
        candidates.push(Box::new(move || {
            position[0] += 1e-12;
            kernel(&position, &mut gradient)
        }));
    }
    let times = timing::in_turn(&mut candidates, rounds, timing::thread_nanoseconds);
    let (native, reference, by_hand) = (&times[0], &times[1], times.get(2));
    Ok(json!({
        "model": benchmark.name,
        "data": source,
        "dim": dim,
        "elements": benchmark.elements(&data)?,
        "native_ns": native.nanoseconds,
        "reference_ns": reference.nanoseconds,
        "by_hand_ns": by_hand.map(|t| t.nanoseconds),
        "native_over_by_hand": by_hand.map(|t| native.over(t)),
        "native_over_reference": native.over(reference),
    }))
}

/// Bytes a nanosecond that one thread and all read from memory at most: the bound of gradients of
/// data that no cache holds.
fn measure_memory(rounds: usize) -> serde_json::Value {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (numbers, level) = (vec![1.0; NUMBERS], Level::detect());
    let read = |threads: usize| {
        let parts = numbers.chunks(NUMBERS.div_ceil(threads));
        let sums = std::thread::scope(|scope| {
            let readers: Vec<_> =
                parts.map(|part| scope.spawn(move || exmc_math::simd::sum(level, part))).collect();
            readers.into_iter().map(|reader| reader.join().unwrap_or(f64::NAN)).sum()
        });
        assert_eq!(sums, NUMBERS as f64, "every number was read once");
        sums
    };
    let mut candidates: Vec<Box<dyn FnMut() -> f64 + '_>> =
        vec![Box::new(|| read(1)), Box::new(|| read(threads))];
    let times = timing::in_turn(&mut candidates, rounds, timing::wall_nanoseconds);
    let speed = |k: usize| 8.0 * NUMBERS as f64 / times[k].nanoseconds;
    json!({
        "bytes": 8 * NUMBERS,
        "threads": threads,
        "one_bytes_per_ns": speed(0),
        "all_bytes_per_ns": speed(1),
        "one_over_all": times[0].over(&times[1]),
    })
}

/// One gradient in `f64` and in `f32`, and by hand in `f64`.
fn measure_precision(benchmark: &Benchmark, rounds: usize) -> Result<serde_json::Value, String> {
    let data = benchmark.made_data();
    let mut kernel = by_hand::kernel(benchmark.name, &data, Level::detect())?
        .ok_or_else(|| format!("{} has no kernel by hand", benchmark.name))?;
    let mut candidates: Vec<Box<dyn FnMut() -> f64 + '_>> = Vec::new();
    let mut dim = 0;
    for precision in [Precision::F64, Precision::F32] {
        let mut options = CompileOptions::default();
        options.precision = precision;
        let bound = benchmark.bind(&data, &options)?;
        dim = bound.compiled().dim();
        let mut instance = bound.instance();
        let (mut position, mut gradient) = (vec![0.1; dim], vec![0.0; dim]);
        candidates.push(Box::new(move || {
            position[0] += 1e-12;
            instance.logp_grad(&position, &mut gradient).unwrap_or(f64::NAN)
        }));
    }
    let (mut position, mut gradient) = (vec![0.1; dim], vec![0.0; dim]);
    candidates.push(Box::new(move || {
        position[0] += 1e-12;
        kernel(&position, &mut gradient)
    }));
    let times = timing::in_turn(&mut candidates, rounds, timing::thread_nanoseconds);
    Ok(json!({
        "model": benchmark.name,
        "double_ns": times[0].nanoseconds,
        "single_ns": times[1].nanoseconds,
        "by_hand_ns": times[2].nanoseconds,
        "double_over_single": times[0].over(&times[1]),
        "by_hand_over_single": times[2].over(&times[1]),
    }))
}

/// One gradient alone, and per chain with four chains in lanes, of a model that has lanes.
fn measure_lanes(
    benchmark: &Benchmark,
    rounds: usize,
) -> Result<Option<serde_json::Value>, String> {
    /// Of making instances, the quickest of so many.
    const TIMES: usize = 20;
    let bound = benchmark.bind(&benchmark.made_data(), &CompileOptions::default())?;
    let data = |name: &str| bound.data().get(name).cloned();
    let density = bound.compiled().program().bind(&data).map_err(|e| e.to_string())?;
    let Some(first) = density.lanes() else { return Ok(None) };
    let quickest = |make: &dyn Fn()| {
        let times = (0..TIMES).map(|_| {
            let began = Instant::now();
            make();
            began.elapsed().as_secs_f64() * 1e6
        });
        times.fold(f64::INFINITY, f64::min)
    };
    let make_lanes_us = quickest(&|| drop(density.lanes()));
    let make_alone_us = quickest(&|| drop(density.instance()));
    let position = benchmark.position(&bound)?;
    let mut instance = density.instance();
    let (mut point, mut gradient) = (position.clone(), vec![0.0; position.len()]);
    let mut candidates: Vec<Box<dyn FnMut() -> f64 + '_>> = vec![Box::new(move || {
        point[0] += 1e-12;
        instance.logp_grad(&point, &mut gradient).unwrap_or(f64::NAN)
    })];
    let mut lanes = density.lane_instance().ok_or("a density has lanes or has none")?;
    let mut together: Vec<_> = position.iter().map(|x| [*x; BATCH]).collect();
    let (mut gradients, mut logps) = (together.clone(), [f64::NAN; BATCH]);
    candidates.push(Box::new(move || {
        together[0].iter_mut().for_each(|x| *x += 1e-12);
        lanes.logp_grads(&together, &mut gradients, &mut logps, [true; BATCH]);
        logps.iter().sum()
    }));
    let times = timing::in_turn(&mut candidates, rounds, timing::thread_nanoseconds);
    Ok(Some(json!({
        "model": benchmark.name,
        "dim": position.len(),
        "alone_ns": times[0].nanoseconds,
        "four_ns_per_chain": times[1].nanoseconds / 4.0,
        "alone_over_four": 4.0 * times[0].over(&times[1]),
        "instructions": first.instructions(),
        "make_alone_us": make_alone_us,
        "make_lanes_us": make_lanes_us,
    })))
}

/// One gradient on one thread and on all, by the clock on the wall.
fn measure_threads(benchmark: &Benchmark, rounds: usize) -> Result<serde_json::Value, String> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let bound = benchmark.bind(&benchmark.made_data(), &CompileOptions::default())?;
    let dim = bound.compiled().dim();
    let mut candidates: Vec<Box<dyn FnMut() -> f64 + '_>> = Vec::new();
    for threads in [1, threads] {
        let mut instance = bound.threaded_instance(threads);
        let (mut position, mut gradient) = (vec![0.1; dim], vec![0.0; dim]);
        candidates.push(Box::new(move || {
            position[0] += 1e-12;
            instance.logp_grad(&position, &mut gradient).unwrap_or(f64::NAN)
        }));
    }
    // Long against the tenth of a millisecond that sleeping threads may take to wake: a chain's
    // gradients follow each other.
    const BLOCK_NANOSECONDS: f64 = 40e6;
    let clock = timing::wall_nanoseconds;
    let times = timing::in_blocks(BLOCK_NANOSECONDS, &mut candidates, rounds, clock);
    Ok(json!({
        "model": benchmark.name,
        "threads": threads,
        "one_ns": times[0].nanoseconds,
        "all_ns": times[1].nanoseconds,
        "one_over_all": times[0].over(&times[1]),
    }))
}
