//! What storing draws costs: eight schools sampled with its draws thrown away, kept in memory and
//! put into a run directory -> one JSON object a line, with processor time a draw.
//!
//! Each way records every draw's values, as `exmc sample` does. The ways take turns, round by
//! round, and ratios are taken within a round.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use exmc::SamplerConfig;
use exmc::advanced::{
    BoundModel, CompileOptions, Recorder, compile, coordinates, executor_name, learn_coordinates,
    sample_with, variables,
};
use exmc::infer::{Draw, Observer, RunPhase, Silent};
use exmc::model::Values;
use exmc_bench::timing::{median, process_nanoseconds};
use exmc_draws::{
    ChainWriter, Method, ModelText, Origin, RunDirectory, RunRecord, RunStatus, RunTexts,
};
use exmc_model::read_json;
use serde_json::json;

const USAGE: &str = "exmc-storage DIR [--draws N] [--rounds N]
exmc-storage profile thrown|memory|directory DIR
samples eight schools with a run in DIR, which is removed, and without one; `profile` one way only";
const SCHOOLS: &str = r#"{"exmc": 1, "nodes": [
  {"rv": "mu", "dist": "normal", "params": {"mu": 0, "sigma": 5}},
  {"rv": "tau", "dist": "half_normal", "params": {"sigma": 5}},
  {"rv": "theta", "dist": "normal", "params": {"mu": "mu", "sigma": "tau"}, "shape": [8]},
  {"rv": "y", "dist": "normal", "params": {"mu": "theta", "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}},
  {"obs": "y_obs", "of": "y", "value": [28, 8, -3, 7, -1, 1, 18, 12]}
]}
"#;
/// Draws of each of four chains.
const DRAWS: u64 = 500_000;
const ROUNDS: usize = 5;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<(), String> {
    let (mut draws, mut rounds) = (DRAWS, ROUNDS);
    if let ["profile", way, folder] = args {
        let way = ["thrown", "memory", "directory"].iter().position(|name| name == way);
        let (bound, config) = schools(&[], draws)?;
        let time = measure(way.ok_or(USAGE)?, &bound, &config, Path::new(folder))?;
        println!("{}", time / draws_of(&config));
        return Ok(());
    }
    let [folder, rest @ ..] = args else { return Err(USAGE.to_owned()) };
    let mut rest = rest;
    loop {
        let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{text}: {e}"));
        rest = match rest {
            [] => break,
            ["--draws", n, more @ ..] => {
                draws = number(n)?;
                more
            }
            ["--rounds", n, more @ ..] => {
                rounds = number(n)?.max(1) as usize;
                more
            }
            _ => return Err(USAGE.to_owned()),
        };
    }
    // Without the rewrite the sampler has all ten variables; with it two.
    for (form, without) in [("integrated out", &[][..]), ("sampled", &["marginalise"][..])] {
        let (bound, config) = schools(without, draws)?;
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..rounds {
            for (way, times) in times.iter_mut().enumerate() {
                times.push(measure(way, &bound, &config, Path::new(folder))?);
            }
        }
        let [thrown, memory, directory] = times;
        let each = draws_of(&config);
        let ratios =
            |of: &[f64], to: &[f64]| median(of.iter().zip(to).map(|(a, b)| a / b).collect());
        let record = json!({
            "form": form, "draws": draws, "chains": config.chains, "rounds": rounds,
            "thrown_ns": median(thrown.clone()) / each, "memory_ns": median(memory.clone()) / each,
            "directory_ns": median(directory.clone()) / each,
            "over_thrown": ratios(&directory, &thrown), "over_memory": ratios(&directory, &memory),
        });
        println!("{record}");
    }
    Ok(())
}

/// The model, and settings of a run on one thread.
fn schools(without: &[&str], draws: u64) -> Result<(BoundModel, SamplerConfig), String> {
    let mut options = CompileOptions::default();
    options.without = without.iter().map(|pass| (*pass).to_owned()).collect();
    options.marginalise = Some(true);
    let model = read_json(SCHOOLS).map_err(|e| e.to_string())?;
    let compiled = compile(&model, &options).map_err(|e| e.to_string())?;
    let bound = compiled.bind(&Values::new()).map_err(|e| e.to_string())?;
    let mut config = SamplerConfig::default();
    (config.draws, config.threads, config.seed) = (draws, 1, 7);
    let bound = learn_coordinates(&bound, &config, &[], &|| false).map_err(|e| e.to_string())?;
    Ok((bound, config))
}

/// Draws of all chains, warmup included.
fn draws_of(config: &SamplerConfig) -> f64 {
    (u64::from(config.chains) * (config.warmup + config.draws)) as f64
}

/// Processor nanoseconds of a run: draws thrown away, in memory, in a directory.
fn measure(
    way: usize,
    bound: &BoundModel,
    config: &SamplerConfig,
    folder: &Path,
) -> Result<f64, String> {
    let mut config = config.clone();
    config.keep_draws = way == 1;
    let mut made = None;
    let began = process_nanoseconds();
    match way {
        0 => {
            let record = |_: &Draw<'_>, _: Result<&[f64], exmc::Error>| ControlFlow::Continue(());
            let recorder = Recorder::new(bound, config.chains, config.seed, record);
            let recorder = recorder.map_err(|e| e.to_string())?;
            sample_with(bound, &config, &[], &AfterWarmup(&recorder)).map_err(|e| e.to_string())?;
        }
        1 => drop(sample_with(bound, &config, &[], &Silent).map_err(|e| e.to_string())?),
        _ => made = Some(stored(bound, &config, folder)?),
    }
    let time = process_nanoseconds() - began;
    if let Some(path) = made {
        std::fs::remove_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(time)
}

/// Draws in a new run directory, with checkpoints, as `exmc sample` writes them.
fn stored(bound: &BoundModel, config: &SamplerConfig, folder: &Path) -> Result<PathBuf, String> {
    let text = |error: exmc_draws::RunError| error.to_string();
    let path: PathBuf = folder.join(format!("exmc-storage-{}", std::process::id()));
    let texts = RunTexts::model(ModelText::Json("{}"));
    let (mut directory, writers) =
        RunDirectory::create(&path, record(bound, config), &texts).map_err(text)?;
    let writers: Vec<Mutex<ChainWriter>> = writers.into_iter().map(Mutex::new).collect();
    let append = |draw: &Draw<'_>, values: Result<&[f64], exmc::Error>| {
        let (Some(writer), Ok(values)) = (writers.get(draw.chain as usize), values) else {
            return ControlFlow::Break(());
        };
        let Ok(mut writer) = writer.lock() else { return ControlFlow::Break(()) };
        match writer.append(draw.phase, draw.index, draw.info, values) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    };
    let recorder = Recorder::new(bound, config.chains, config.seed, append);
    let recorder = recorder.map_err(|e| e.to_string())?;
    let observer = WithCheckpoints { recorder: AfterWarmup(&recorder), writers: &writers, config };
    let posterior = sample_with(bound, config, &[], &observer).map_err(|e| e.to_string())?;
    for writer in &writers {
        writer.lock().map_err(|e| e.to_string())?.finish().map_err(text)?;
    }
    directory.finish(RunStatus::Completed, None, &posterior).map_err(text)?;
    Ok(path)
}

fn record(bound: &BoundModel, config: &SamplerConfig) -> RunRecord {
    RunRecord {
        program: "exmc-storage".to_owned(),
        method: Method::Sample,
        model: "eight_schools".to_owned(),
        started: 0,
        status: RunStatus::Running,
        error: None,
        config: config.clone(),
        executor: executor_name(bound),
        without: Vec::new(),
        save_warmup: false,
        variables: variables(bound),
        coordinates: coordinates(bound),
        warnings: Vec::new(),
        seconds: 0.0,
        chains: Vec::new(),
        origin: Some(Origin::here("")),
    }
}

/// Hands on what is not warmup.
struct AfterWarmup<'a>(&'a dyn Observer);

impl Observer for AfterWarmup<'_> {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        match draw.phase {
            RunPhase::Warmup => ControlFlow::Continue(()),
            RunPhase::Sampling => self.0.draw(draw),
        }
    }
}

/// Stores where a chain stands behind its draw, when it is time for that.
struct WithCheckpoints<'a> {
    recorder: AfterWarmup<'a>,
    writers: &'a [Mutex<ChainWriter>],
    config: &'a SamplerConfig,
}

impl Observer for WithCheckpoints<'_> {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        self.recorder.draw(draw)?;
        let writer = self.writers.get(draw.chain as usize).and_then(|writer| writer.lock().ok());
        let Some(mut writer) = writer else { return ControlFlow::Break(()) };
        let is_last = draw.phase == RunPhase::Sampling && draw.index + 1 == self.config.draws;
        if !is_last && !writer.is_checkpoint_due() {
            return ControlFlow::Continue(());
        }
        match writer.checkpoint(self.config.warmup, || draw.checkpoint()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
