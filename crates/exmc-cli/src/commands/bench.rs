//! `exmc bench`: how long a model takes to compile, a gradient and a leapfrog step take.

use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::Args;
use exmc::{BoundModel, SamplerConfig, Silent};
use exmc_density::{DensityModel, LogDensity};
use serde_json::json;

use crate::display::{number, put, put_json, seconds};
use crate::failure::{Exit, Failure};
use crate::report::JSON_VERSION;
use crate::settings::CompileArgs;
use crate::source::SourceArgs;

/// Measure compile time, gradient time and leapfrog time of a model
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    compile: CompileArgs,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Batches of which the median counts.
const BATCHES: usize = 101;
/// A batch is as many evaluations as take at least this long, so that the clock does not matter.
const BATCH_TIME: Duration = Duration::from_micros(500);
/// Draws (and as many warmup draws) of the chain whose leapfrog steps are timed.
const DRAWS: u64 = 300;

pub(crate) fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    let source = args.source.read()?;
    let options = args.compile.options();
    let compiled = source.compile(&options)?;
    let bound = &compiled.bound;

    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws, config.threads) = (1, DRAWS, DRAWS, 1);
    let run = exmc_infer::sample(bound, &[], &config, &Silent)?;
    let chain = &run.chains[0];
    let sampling_seconds = chain.warmup_seconds + chain.sampling_seconds;
    let leapfrog_ns = 1e9 * sampling_seconds / chain.leapfrogs as f64;
    let dim = bound.compiled().dim();
    let positions: Vec<&[f64]> = (0..chain.infos.len()).map(|k| chain.draw(k)).collect();
    let gradient_ns = median_gradient_ns(bound, &positions);

    let microseconds = |d: Duration| 1e6 * d.as_secs_f64();
    let (compile_us, bind_us) =
        (microseconds(compiled.compile_time), microseconds(compiled.bind_time));
    let executor = options.executor.name();
    if args.json {
        put_json(&json!({
            "exmc": JSON_VERSION,
            "dim": dim,
            "compile_us": number(compile_us),
            "bind_us": number(bind_us),
            "gradient_ns": number(gradient_ns),
            "leapfrog_ns": number(leapfrog_ns),
            "executor": executor,
        }))?;
    } else {
        put(&format!(
            "dim       {dim}\nexecutor  {executor}\ncompile   {}\nbind      {}\ngradient  {}\nleapfrog  {}\n",
            seconds(compile_us * 1e-6),
            seconds(bind_us * 1e-6),
            seconds(gradient_ns * 1e-9),
            seconds(leapfrog_ns * 1e-9)
        ))?;
    }
    Ok(Exit::Success)
}

/// The median over batches of the mean time of one evaluation, at draws from the posterior in turn.
fn median_gradient_ns(bound: &BoundModel, positions: &[&[f64]]) -> f64 {
    let mut instance = bound.instance();
    let mut gradient = vec![0.0; bound.compiled().dim()];
    let mut turn = positions.iter().cycle();
    let mut batch = |n: u32| {
        let began = Instant::now();
        for _ in 0..n {
            let position = turn.next().copied().unwrap_or_default();
            // A failed evaluation takes its time too.
            let _ = black_box(instance.logp_grad(black_box(position), &mut gradient));
        }
        began.elapsed()
    };
    let mut n = 1;
    while batch(n) < BATCH_TIME && n < 1 << 24 {
        n *= 2;
    }
    let mut times: Vec<f64> =
        (0..BATCHES).map(|_| 1e9 * batch(n).as_secs_f64() / f64::from(n)).collect();
    times.sort_by(f64::total_cmp);
    times[BATCHES / 2]
}
