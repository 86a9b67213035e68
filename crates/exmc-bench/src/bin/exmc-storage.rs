//! What storing draws costs: eight schools sampled with its draws thrown away, kept in memory and
//! put into a run directory -> one JSON object a line, with times a draw.
//!
//! Each way records every draw's values, as `exmc sample` does. The ways take turns, round by
//! round, and ratios are taken within a round. Three times are taken: processor time of the whole
//! process, from before the directory is made until all is on the disk; processor time of the
//! thread that samples, from its first draw to its last, which is its wall time on an idle machine;
//! and wall time of the whole. The last object is what a directory costs without a draw.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use exmc::SamplerConfig;
use exmc::advanced::{
    BoundModel, CompileOptions, Recorder, compile, coordinates, executor_name, learn_coordinates,
    sample_with, variables,
};
use exmc::infer::{Draw, Observer, RunPhase, Silent};
use exmc::model::Values;
use exmc_bench::timing::{median, process_nanoseconds, thread_nanoseconds, wall_nanoseconds};
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
/// Directories that are made without a draw.
const EMPTY: usize = 51;

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
        println!("{}", time.process / draws_of(&config));
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
        let mut record = json!({
            "form": form, "draws": draws, "chains": config.chains, "rounds": rounds,
        });
        type Kind = (&'static str, fn(&Times) -> f64, f64);
        let of_one_kind: [Kind; 3] = [
            ("process", |t| t.process, draws_of(&config)),
            ("thread", |t| t.thread, f64::from(config.chains) * draws as f64),
            ("wall", |t| t.wall, draws_of(&config)),
        ];
        for (kind, time, each) in of_one_kind {
            let [thrown, memory, directory] =
                times.each_ref().map(|of_way| of_way.iter().map(time).collect::<Vec<f64>>());
            let over = |to: &[f64]| median(directory.iter().zip(to).map(|(a, b)| a / b).collect());
            record[kind] = json!({
                "over_thrown": over(&thrown), "over_memory": over(&memory),
                "thrown_ns": median(thrown) / each, "memory_ns": median(memory) / each,
                "directory_ns": median(directory) / each,
            });
        }
        println!("{record}");
    }
    let (bound, config) = schools(&[], 1)?;
    let posterior = sample_with(&bound, &config, &[], &Silent).map_err(|e| e.to_string())?;
    let (mut process, mut wall) = (Vec::new(), Vec::new());
    for _ in 0..EMPTY {
        let began = (process_nanoseconds(), wall_nanoseconds());
        let path = empty(&bound, &config, &posterior, Path::new(folder))?;
        process.push((process_nanoseconds() - began.0) / 1e3);
        wall.push((wall_nanoseconds() - began.1) / 1e3);
        removed(&path)?;
    }
    println!(
        "{}",
        json!({"form": "empty", "process_us": median(process), "wall_us": median(wall)})
    );
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

/// Nanoseconds of a run.
#[derive(Default)]
struct Times {
    process: f64,
    thread: f64,
    wall: f64,
}

/// A run whose draws are thrown away, kept in memory, or put in a directory.
fn measure(
    way: usize,
    bound: &BoundModel,
    config: &SamplerConfig,
    folder: &Path,
) -> Result<Times, String> {
    let mut config = config.clone();
    config.keep_draws = way == 1;
    let span = Mutex::new(None);
    let mut made = None;
    let began = (process_nanoseconds(), wall_nanoseconds());
    match way {
        0 => {
            let record = |_: &Draw<'_>, _: Result<&[f64], exmc::Error>| ControlFlow::Continue(());
            let recorder = Recorder::new(bound, config.chains, config.seed, record);
            let recorder = AfterWarmup(&recorder.map_err(|e| e.to_string())?, config.draws, &span);
            sample_with(bound, &config, &[], &recorder).map_err(|e| e.to_string())?;
        }
        1 => {
            let silent = AfterWarmup(&Silent, config.draws, &span);
            drop(sample_with(bound, &config, &[], &silent).map_err(|e| e.to_string())?);
        }
        _ => made = Some(stored(bound, &config, &span, folder)?),
    }
    let process = process_nanoseconds() - began.0;
    let wall = wall_nanoseconds() - began.1;
    made.iter().try_for_each(|path| removed(path))?;
    let span = span.into_inner().map_err(|e| e.to_string())?;
    let thread = span.map_or(f64::NAN, |(first, last)| last - first);
    Ok(Times { process, thread, wall })
}

fn removed(path: &Path) -> Result<(), String> {
    std::fs::remove_dir_all(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// A new run directory, until it is on the disk.
fn empty(
    bound: &BoundModel,
    config: &SamplerConfig,
    posterior: &exmc::runs::Posterior,
    folder: &Path,
) -> Result<PathBuf, String> {
    let text = |error: exmc_draws::RunError| error.to_string();
    let (path, mut directory, mut writers) = begun(bound, config, folder)?;
    writers.iter_mut().try_for_each(ChainWriter::finish).map_err(text)?;
    directory.finish(RunStatus::Completed, None, posterior).map_err(text)?;
    Ok(path)
}

fn begun(
    bound: &BoundModel,
    config: &SamplerConfig,
    folder: &Path,
) -> Result<(PathBuf, RunDirectory, Vec<ChainWriter>), String> {
    let path: PathBuf = folder.join(format!("exmc-storage-{}", std::process::id()));
    let texts = RunTexts::model(ModelText::Json("{}"));
    let made = RunDirectory::create(&path, record(bound, config), &texts);
    let (directory, writers) = made.map_err(|e| e.to_string())?;
    Ok((path, directory, writers))
}

/// Draws in a new run directory, with checkpoints, as `exmc sample` writes them.
fn stored(
    bound: &BoundModel,
    config: &SamplerConfig,
    span: &Span,
    folder: &Path,
) -> Result<PathBuf, String> {
    let text = |error: exmc_draws::RunError| error.to_string();
    let (path, mut directory, writers) = begun(bound, config, folder)?;
    let writers: Vec<Chain> = writers.into_iter().map(|w| (Mutex::new(w), false.into())).collect();
    let append = |draw: &Draw<'_>, values: Result<&[f64], exmc::Error>| {
        let (Some((writer, is_due)), Ok(values)) = (writers.get(draw.chain as usize), values)
        else {
            return ControlFlow::Break(());
        };
        let Ok(mut writer) = writer.lock() else { return ControlFlow::Break(()) };
        match writer.append(draw.phase, draw.index, draw.info, values) {
            Ok(()) => {
                is_due.store(writer.is_checkpoint_due(), Ordering::Relaxed);
                ControlFlow::Continue(())
            }
            Err(_) => ControlFlow::Break(()),
        }
    };
    let recorder = Recorder::new(bound, config.chains, config.seed, append);
    let recorder = recorder.map_err(|e| e.to_string())?;
    let checkpoints = WithCheckpoints { recorder: &recorder, writers: &writers, config };
    let observer = AfterWarmup(&checkpoints, config.draws, span);
    let posterior = sample_with(bound, config, &[], &observer).map_err(|e| e.to_string())?;
    for (writer, _) in &writers {
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

/// When the thread that samples made its first draw and its last, by its own clock.
type Span = Mutex<Option<(f64, f64)>>;

/// Looks at the clock of the thread that samples before the first draw after warmup, and after the
/// last of a chain.
struct AfterWarmup<'a>(&'a dyn Observer, u64, &'a Span);

impl Observer for AfterWarmup<'_> {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let Self(inner, draws, span) = self;
        let is_last = draw.index + 1 == *draws;
        if draw.phase == RunPhase::Warmup || draw.index > 0 && !is_last {
            return inner.draw(draw);
        }
        let Ok(mut span) = span.lock() else { return ControlFlow::Break(()) };
        let (_, last) = span.get_or_insert_with(|| (thread_nanoseconds(), f64::NAN));
        if is_last {
            *last = thread_nanoseconds();
        }
        drop(span);
        inner.draw(draw)
    }
}

/// A chain's writer, and whether it was time for a checkpoint when it got a draw last.
type Chain = (Mutex<ChainWriter>, AtomicBool);

/// Stores where a chain stands behind its draw, when it is time for that.
struct WithCheckpoints<'a> {
    recorder: &'a dyn Observer,
    writers: &'a [Chain],
    config: &'a SamplerConfig,
}

impl Observer for WithCheckpoints<'_> {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let is_sampling = draw.phase == RunPhase::Sampling;
        if is_sampling {
            self.recorder.draw(draw)?;
        }
        let is_last = is_sampling && draw.index + 1 == self.config.draws;
        let Some((writer, is_due)) = self.writers.get(draw.chain as usize) else {
            return ControlFlow::Break(());
        };
        if !is_last && is_sampling && !is_due.load(Ordering::Relaxed) {
            return ControlFlow::Continue(());
        }
        let Ok(mut writer) = writer.lock() else { return ControlFlow::Break(()) };
        if !is_last && !writer.is_checkpoint_due() {
            return ControlFlow::Continue(());
        }
        match writer.checkpoint(self.config.warmup, || draw.checkpoint()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
