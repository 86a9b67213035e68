//! `exmc demo`: eight schools, from model to summary, to see what the program does.

use std::time::Instant;

use clap::Args;
use exmc::advanced::{CompileOptions, compile, sample_with};
use exmc::distributions::{half_normal, normal};
use exmc::model::DataSet;
use exmc::{Model, ModelBuilder, SamplerConfig};
use exmc_model::write_json;
use indicatif::MultiProgress;

use crate::display::{put, put_json, seconds};
use crate::failure::{Exit, Failure};
use crate::progress::{Progress, Style};
use crate::report::Report;
use crate::signals::Stop;
use crate::watch::Watch;

/// Sample a small hierarchical model and show every step (stores nothing)
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Seed of every random stream
    #[arg(long, value_name = "S", default_value_t = SamplerConfig::default().seed)]
    seed: u64,
    /// Write the summary as JSON, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on standard error
    #[arg(long, short)]
    quiet: bool,
    /// Write the model as JSON, as `exmc sample` takes it, and do nothing else
    #[arg(long, conflicts_with_all = ["json", "quiet", "seed"])]
    print_model: bool,
}

const INTRODUCTION: &str = "\
Eight schools (Rubin 1981): each school reports the effect of a coaching programme on test scores, with
its standard error. How large is each effect, if the schools are alike but not the same?

The model says that the effects theta scatter around a common mean mu with standard deviation tau:

";

const NEXT: &str = "
What to read next:
  exmc demo --print-model    this model as JSON, to start from
  exmc sample --help         sample a model of your own
  exmc distributions         the distributions that a model may use
  docs/model-json.md         how to write a model and its data
  docs/cli.md                every command, its output and its exit codes
";

pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    let stop = Stop::on_signals()?;
    let model = eight_schools()?;
    if args.print_model {
        put(&write_json(&model))?;
        return Ok(Exit::Success);
    }
    let mut config = SamplerConfig::default();
    config.seed = args.seed;
    if !args.json {
        put(&format!("exmc {}\n\n{INTRODUCTION}", env!("CARGO_PKG_VERSION")))?;
        put(&indented(&model.print()))?;
        put(&format!(
            "\nSampling with NUTS: {} chains, each {} warmup draws and {} draws, seed {}.\n\n",
            config.chains, config.warmup, config.draws, config.seed
        ))?;
    }

    let began = Instant::now();
    let mut options = CompileOptions::default();
    options.marginalise = Some(true);
    let compiled = compile(&model, &options)?;
    let bound = compiled.bind(DataSet::new())?;
    let compile_seconds = began.elapsed().as_secs_f64();
    let style = Style::choose(args.quiet || args.json);
    let all: Vec<u32> = (0..config.chains).collect();
    let progress = Progress::new(style, &config, &all, &[], &MultiProgress::new());
    let watch = Watch::new(progress, &stop, config.chains);
    let posterior = sample_with(&bound, &config, &[], &watch)?;

    let status = if stop.is_asked() { "interrupted" } else { "completed" };
    let sampling_seconds = posterior.seconds;
    let report = Report::of(posterior, status);
    if args.json {
        put_json(&report.to_json())?;
    } else {
        put(&report.to_text(usize::MAX))?;
        put(&format!(
            "compiled in {}, sampled in {}\n{NEXT}",
            seconds(compile_seconds),
            seconds(sampling_seconds)
        ))?;
    }
    Ok(if stop.is_asked() { Exit::Interrupted } else { Exit::Success })
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn eight_schools() -> Result<Model, Failure> {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 5.0));
    model.rv("tau", half_normal(5.0));
    model.rv("theta", normal("mu", "tau")).shape([8]);
    model.rv("y", normal("theta", [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]));
    model.observe("y_obs", "y", [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]);
    Ok(model.build()?)
}
