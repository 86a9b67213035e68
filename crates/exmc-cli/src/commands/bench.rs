//! `exmc bench`: how long a model takes to compile, a gradient and a leapfrog step take.

use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::Args;
use exmc::SamplerConfig;
use exmc::advanced::text::table;
use exmc::advanced::{BoundModel, CompileOptions, Executor, executor_name};
use exmc::infer::Silent;
use exmc_density::{DensityModel, LogDensity};
use exmc_graph::{Applied, cost};
use exmc_infer::ChainResult;
use serde_json::{Value, json};

use crate::display::{number, put, put_json, seconds};
use crate::failure::{Exit, Failure};
use crate::report::JSON_VERSION;
use crate::settings::CompileArgs;
use crate::source::{Source, SourceArgs};

/// Measure compile time, gradient time and leapfrog time of a model
///
/// They are those of the density that `exmc sample` samples: without variables that are normal
/// given all others, unless `--without marginalise` keeps them.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    compile: CompileArgs,
    /// Also say what each optimisation of the density did, and measure what it saves
    #[arg(long)]
    explain: bool,
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
    let mut options = args.compile.options();
    options.marginalise = Some(true);
    if args.explain && options.executor == Executor::Reference {
        let message =
            "`--explain` is about optimisations, which the executor `reference` has none of";
        return Err(Failure::new(Exit::Usage, message).hint("add `--executor native`"));
    }
    let compiled = source.compile(&options)?;
    let bound = &compiled.bound;
    if args.explain && bound.is_interpreted() {
        let message =
            "`--explain` is about optimisations, which an interpreted program has none of";
        return Err(Failure::new(Exit::Usage, message).hint("leave `--explain` out"));
    }

    let chain = chain(bound)?;
    let sampling_seconds = chain.warmup_seconds + chain.sampling_seconds;
    let leapfrog_ns = 1e9 * sampling_seconds / chain.leapfrogs as f64;
    let dim = bound.compiled().dim();
    let gradient_ns = median_gradient_ns(bound, &positions(&chain));
    let gone: Vec<(&str, usize)> = bound.integrated_out().collect();

    let microseconds = |d: Duration| 1e6 * d.as_secs_f64();
    let (compile_us, bind_us) =
        (microseconds(compiled.compile_time), microseconds(compiled.bind_time));
    let executor = executor_name(bound);
    let steps = if args.explain {
        let mut steps = explain(&source, &options)?;
        steps.extend(of_marginal(&source, &options, &steps, &gone, gradient_ns)?);
        steps
    } else {
        Vec::new()
    };
    if args.json {
        let mut report = json!({
            "exmc": JSON_VERSION,
            "dim": dim,
            "integrated_out": gone.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            "compile_us": number(compile_us),
            "bind_us": number(bind_us),
            "gradient_ns": number(gradient_ns),
            "leapfrog_ns": number(leapfrog_ns),
            "executor": executor,
        });
        if args.explain {
            report["explain"] = steps.iter().map(Step::json).collect();
        }
        put_json(&report)?;
    } else {
        let names: Vec<String> = gone.iter().map(|(name, n)| format!("{name} ({n})")).collect();
        let without = match names.as_slice() {
            [] => String::new(),
            names => format!(", without what is integrated out: {}", names.join(", ")),
        };
        put(&format!(
            "dim       {dim}{without}\nexecutor  {executor}\ncompile   {}\nbind      {}\ngradient  {}\nleapfrog  {}\n",
            seconds(compile_us * 1e-6),
            seconds(bind_us * 1e-6),
            seconds(gradient_ns * 1e-9),
            seconds(leapfrog_ns * 1e-9)
        ))?;
        if args.explain {
            let head = ["optimisation", "places", "estimate", "then", "gradient", "then", "data"];
            put("\n")?;
            put(&table(&head, &steps.iter().map(Step::cells).collect::<Vec<_>>()))?;
        }
    }
    Ok(Exit::Success)
}

/// What one optimisation did.
struct Step {
    applied: Applied,
    before_ns: f64,
    after_ns: f64,
}

impl Step {
    fn json(&self) -> Value {
        let Applied { pass, data, places, before, after } = &self.applied;
        json!({
            "pass": pass,
            "data": data,
            "places": places,
            "estimate_before": number(*before),
            "estimate_after": number(*after),
            "gradient_ns_before": number(self.before_ns),
            "gradient_ns_after": number(self.after_ns),
        })
    }

    /// The estimate has no unit: it compares densities, without gradient, with each other.
    fn cells(&self) -> Vec<String> {
        let Applied { pass, data, places, before, after } = &self.applied;
        let time = |ns: f64| seconds(ns * 1e-9);
        vec![
            (*pass).to_owned(),
            places.to_string(),
            format!("{before:.0}"),
            format!("{after:.0}"),
            time(self.before_ns),
            time(self.after_ns),
            data.join(", "),
        ]
    }
}

/// Every optimisation of the density of all coordinates that found something, measured with those
/// before it and without those after it.
fn explain(source: &Source, options: &CompileOptions) -> Result<Vec<Step>, Failure> {
    let options = of_all_coordinates(options);
    let applied = source.compile_only(&options)?.program().optimisations().to_vec();
    let chain = chain(&source.compile(&options)?.bound)?;
    let positions = positions(&chain);
    let measure = |done: usize| -> Result<f64, Failure> {
        let mut options = options.clone();
        options.without.extend(applied[done..].iter().map(|step| step.pass.to_owned()));
        Ok(median_gradient_ns(&source.compile(&options)?.bound, &positions))
    };
    let mut steps = Vec::with_capacity(applied.len());
    let mut before_ns = measure(0)?;
    for (k, applied) in applied.iter().enumerate() {
        let after_ns = measure(k + 1)?;
        steps.push(Step { applied: applied.clone(), before_ns, after_ns });
        before_ns = after_ns;
    }
    Ok(steps)
}

/// What it costs to leave coordinates out of the density that was optimised in these steps, if any
/// are left out: what that saves is steps of the sampler.
fn of_marginal(
    source: &Source,
    options: &CompileOptions,
    steps: &[Step],
    gone: &[(&str, usize)],
    after_ns: f64,
) -> Result<Option<Step>, Failure> {
    if gone.is_empty() {
        return Ok(None);
    }
    let sampling_all = of_all_coordinates(options);
    let before_ns = match steps.last() {
        Some(step) => step.after_ns,
        None => {
            let bound = source.compile(&sampling_all)?.bound;
            median_gradient_ns(&bound, &positions(&chain(&bound)?))
        }
    };
    let estimate = |options: &CompileOptions| -> Result<f64, Failure> {
        let compiled = source.compile_only(options)?;
        let lowered = compiled.lowered();
        let plain = || cost(&lowered.graph, &[lowered.logp]);
        Ok(compiled.program().optimisations().last().map_or_else(plain, |last| last.after))
    };
    let applied = Applied {
        pass: "marginalise",
        data: gone.iter().map(|(name, _)| (*name).to_owned()).collect(),
        places: gone.len(),
        before: estimate(&sampling_all)?,
        after: estimate(options)?,
    };
    Ok(Some(Step { applied, before_ns, after_ns }))
}

fn of_all_coordinates(options: &CompileOptions) -> CompileOptions {
    let mut options = options.clone();
    options.marginalise = Some(false);
    options
}

/// A short chain.
fn chain(bound: &BoundModel) -> Result<ChainResult, Failure> {
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws, config.threads) = (1, DRAWS, DRAWS, 1);
    let mut run = exmc_infer::sample(bound, &[], &config, &Silent)?;
    Ok(run.chains.swap_remove(0))
}

fn positions(chain: &ChainResult) -> Vec<&[f64]> {
    (0..chain.infos.len()).map(|k| chain.draw(k)).collect()
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
