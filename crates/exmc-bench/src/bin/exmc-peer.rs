//! exmc as one of the peers: a benchmark and its data file -> one JSON record of sampling runs.
//!
//! Fields are those of the peers' `run_peer.py`: every seed is one run on one thread, of one chain
//! unless `--chains` says otherwise; `*_cpu_s` is processor time of this process, ESS is the least
//! bulk ESS over the model's parameters on the constrained scale, of all chains together.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use exmc::SamplerConfig;
use exmc::advanced::density::{DensityModel, LogDensity};
use exmc::advanced::{BoundModel, CompileOptions, Executor, sample};
use exmc::diagnose::{Draws, ess_bulk};
use exmc::infer::MetricKind;
use exmc_bench::models::{Benchmark, benchmark};
use exmc_bench::timing::{in_turn, median, process_nanoseconds};
use serde_json::{Map, Value, json};

const USAGE: &str = "\
exmc-peer --model NAME [--data FILE] [--seeds 1,2,3] [--warmup 1000] [--draws 1000] [--delta 0.8]
          [--metric diag|stan|dense|low-rank] [--executor native|reference] [--chains 1] [--grad]
          [--without PASS]...
prints one JSON record; without --data the benchmark's own data are used";
const METRICS: [(&str, MetricKind); 4] = [
    ("diag", MetricKind::Diag),
    ("stan", MetricKind::Stan),
    ("dense", MetricKind::Dense),
    ("low-rank", MetricKind::LowRank),
];
/// Rounds of blocks of two milliseconds for `--grad`.
const ROUNDS: usize = 25;

struct Settings {
    model: String,
    data: Option<PathBuf>,
    seeds: Vec<u64>,
    executor: Executor,
    without: Vec<String>,
    gradient: bool,
    config: SamplerConfig,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match settings(&args).and_then(|settings| run(&settings)) {
        Ok(record) => {
            println!("{record}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn settings(args: &[String]) -> Result<Settings, String> {
    let mut config = SamplerConfig::default();
    (config.chains, config.threads) = (1, 1);
    let mut settings = Settings {
        model: String::new(),
        data: None,
        seeds: vec![1],
        executor: Executor::Native,
        without: Vec::new(),
        gradient: false,
        config,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--grad" {
            settings.gradient = true;
            continue;
        }
        if !arg.starts_with("--") {
            return Err(USAGE.to_owned());
        }
        let value = args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"))?;
        let say = |why: &dyn std::fmt::Display| format!("{arg} {value}: {why}");
        let number = || value.parse::<u64>().map_err(|e| say(&e));
        match arg.as_str() {
            "--model" => settings.model.clone_from(value),
            "--data" => settings.data = Some(PathBuf::from(value)),
            "--seeds" => {
                let seeds = value.split(',').map(|s| s.parse().map_err(|e| say(&e)));
                settings.seeds = seeds.collect::<Result<_, _>>()?;
            }
            "--chains" => settings.config.chains = value.parse().map_err(|e| say(&e))?,
            "--warmup" => settings.config.warmup = number()?,
            "--draws" => settings.config.draws = number()?,
            "--delta" => settings.config.target_accept = value.parse().map_err(|e| say(&e))?,
            "--metric" => {
                let found = METRICS.iter().find(|(name, _)| name == value);
                settings.config.metric = found.ok_or_else(|| say(&"there is no such metric"))?.1;
            }
            "--executor" => {
                let found = Executor::from_name(value);
                settings.executor = found.ok_or_else(|| say(&"there is no such executor"))?;
            }
            "--without" => settings.without.push(value.clone()),
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(settings)
}

fn run(settings: &Settings) -> Result<Value, String> {
    let (began, cpu) = (Instant::now(), process_nanoseconds());
    let model = bind(settings)?;
    let mut record = Map::new();
    let mut put = |name: &str, value: Value| record.insert(name.to_owned(), value);
    put("system", json!("exmc"));
    put("model", json!(settings.model));
    put("executor", json!(settings.executor.name()));
    let metric = METRICS.iter().find(|(_, kind)| *kind == settings.config.metric);
    put("metric", json!(metric.map(|(name, _)| name)));
    put("chains", json!(settings.config.chains));
    put("d", json!(model.compiled().dim()));
    put("load_s", json!(began.elapsed().as_secs_f64()));
    put("load_cpu_s", json!(1e-9 * (process_nanoseconds() - cpu)));
    let (mut runs, mut means) = (Vec::new(), Map::new());
    for &seed in &settings.seeds {
        runs.push(one_run(settings, &model, seed, &mut means)?);
    }
    const SUMMARISED: &[&str] = &[
        "sample_s",
        "sample_cpu_s",
        "leapfrogs_warmup",
        "leapfrogs_draws",
        "divergences",
        "min_ess",
        "step_size",
        "ess_per_cpu_s",
        "us_per_leapfrog",
    ];
    for field in SUMMARISED {
        let values = runs.iter().filter_map(|run| run[*field].as_f64()).collect();
        put(field, json!(median(values)));
    }
    put("runs", json!(runs));
    put("means", Value::Object(means));
    if settings.gradient {
        let nanoseconds = gradient_nanoseconds(benchmark(&settings.model)?, &model)?;
        put("grad_s", json!(1e-9 * nanoseconds));
    }
    Ok(Value::Object(record))
}

fn bind(settings: &Settings) -> Result<BoundModel, String> {
    let benchmark = benchmark(&settings.model)?;
    let data = match &settings.data {
        None => benchmark.made_data(),
        Some(file) => {
            let say = |why: String| format!("{}: {why}", file.display());
            let text = std::fs::read_to_string(file).map_err(|e| say(e.to_string()))?;
            exmc_model::read_data(&text).map_err(|e| say(e.to_string()))?
        }
    };
    let mut options = CompileOptions::default();
    options.executor = settings.executor;
    options.without.clone_from(&settings.without);
    // As `exmc sample` does.
    options.marginalise = Some(true);
    benchmark.bind_to_sample(&data, &options)
}

/// One run; the means of its parameters go to `means`.
fn one_run(
    settings: &Settings,
    model: &BoundModel,
    seed: u64,
    means: &mut Map<String, Value>,
) -> Result<Value, String> {
    let mut config = settings.config.clone();
    config.seed = seed;
    let (began, cpu) = (Instant::now(), process_nanoseconds());
    let posterior = sample(model, &config).map_err(|e| e.to_string())?;
    let (wall, cpu) = (began.elapsed().as_secs_f64(), 1e-9 * (process_nanoseconds() - cpu));
    let chains = &posterior.chains;
    let values: Vec<&[f64]> = chains.iter().map(|chain| chain.values.as_slice()).collect();
    let width = posterior.width();
    let (mut least, mut least_name) = (f64::INFINITY, String::new());
    let full_model = model.whole().map_err(|e| e.to_string())?;
    let layout = &full_model.compiled().lowered().layout;
    let free: Vec<&String> = layout.iter().map(|e| &e.name).collect();
    for variable in posterior.variables.iter().filter(|v| free.contains(&&v.name)) {
        let mut of_variable = Vec::new();
        for (k, name) in variable.column_names().into_iter().enumerate() {
            let draws = Draws::column(&values, width, variable.offset + k);
            let draws = draws.map_err(|e| e.to_string())?;
            let n = draws.n_draws() * chains.len();
            of_variable.push(draws.iter().sum::<f64>() / n as f64);
            // A constant or non-finite parameter is a stuck chain.
            let ess = Some(ess_bulk(&draws)).filter(|ess| ess.is_finite()).unwrap_or(0.0);
            if ess < least {
                (least, least_name) = (ess, name);
            }
        }
        means.insert(variable.name.clone(), json!(of_variable));
    }
    let infos = || chains.iter().flat_map(|chain| &chain.infos);
    let draws: u64 = infos().map(|info| u64::from(info.n_steps)).sum();
    let warmup = chains.iter().map(|chain| chain.leapfrogs).sum::<u64>() - draws;
    Ok(json!({
        "seed": seed,
        "sample_s": wall,
        "sample_cpu_s": cpu,
        "leapfrogs_warmup": warmup,
        "leapfrogs_draws": draws,
        "divergences": infos().filter(|i| i.divergent).count(),
        "min_ess": least,
        "min_ess_param": least_name,
        "step_size": infos().last().map(|i| i.step_size),
        "ess_per_cpu_s": least / cpu,
        "us_per_leapfrog": 1e6 * cpu / (warmup + draws).max(1) as f64,
    }))
}

fn gradient_nanoseconds(benchmark: &Benchmark, model: &BoundModel) -> Result<f64, String> {
    let mut position = benchmark.position(model)?;
    let (mut instance, mut gradient) = (model.instance(), vec![0.0; position.len()]);
    let mut candidates: Vec<Box<dyn FnMut() -> f64 + '_>> = vec![Box::new(|| {
        position[0] += 1e-12;
        instance.logp_grad(&position, &mut gradient).unwrap_or(f64::NAN)
    })];
    Ok(in_turn(&mut candidates, ROUNDS, exmc_bench::timing::thread_nanoseconds)[0].nanoseconds)
}
