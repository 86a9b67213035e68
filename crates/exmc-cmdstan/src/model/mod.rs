//! A model executable: command line, program and data -> CmdStan's files and console lines.
//!
//! | method | file |
//! |---|---|
//! | `sample` | `sample`, `fixed` (no sampler), `chain` (what is written of one), `rejections` |
//! | `optimize` | `optimize` |
//! | `laplace` | `laplace` |
//! | `pathfinder`, `variational` | `pathfinder`, `variational` |
//! | `generate_quantities` | `generate` |
//! | `log_prob`, `diagnose` | `log_prob`, `gradient` |

mod chain;
mod columns;
mod csv;
mod fixed;
mod generate;
mod gradient;
mod inputs;
mod laplace;
mod log_prob;
mod metric;
mod optimize;
mod pathfinder;
mod profile;
mod rejections;
mod sample;
mod variational;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use exmc::StanProgram;
use exmc::advanced::{CompileOptions, RECENTRE};
use exmc::stan::{Printer, StanModel, StanOptions};
use exmc_draws::date_time;
use serde_json::{Map, Value};

use crate::console::{complain, say};
use crate::failure::Failure;
use crate::grammar::{Arguments, Asked, read};
use crate::install::SWITCHES;
use crate::number::Digits;
use crate::program::Payload;
use crate::{PROGRAM, VERSION};
use csv::file_names;
use inputs::{DataText, read_data};

/// Everything that a method is given.
pub(super) struct Run<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) payload: &'a Payload,
    pub(super) program: StanProgram,
    data: DataText,
    pub(super) seed: u32,
    /// Number of the first chain.
    pub(super) id: u64,
    pub(super) digits: Digits,
    /// Seconds since the start of 1970.
    started: u64,
}

/// How a program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Density {
    /// Over all parameters as the program has them; with log Jacobians or without.
    Written { jacobian: bool },
    /// The same with log Jacobians and the constants that Stan leaves out of `~` statements
    /// elsewhere: bounds of the evidence, which tolerances are relative to, count them.
    Normalised,
    /// As exmc samples best: what is normal given the rest is integrated out, and coordinates may
    /// be learned.
    Sampled,
}

/// Runs a model executable. `name` is how it was called.
pub(crate) fn run(payload: &Payload, name: &str, args: &[String]) -> Result<(), Failure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let clock = since.as_nanos() as u32 ^ std::process::id().rotate_left(16);
    let arguments = match read(name, args, clock) {
        Asked::Run(arguments) => arguments,
        Asked::Help(text) => {
            say(text.trim_end_matches('\n'));
            return Ok(());
        }
        Asked::Info => {
            info_lines(payload).iter().for_each(|line| say(line));
            return Ok(());
        }
        Asked::Version => {
            say(&format!("{PROGRAM}, with the interface of CmdStan {VERSION}"));
            return Ok(());
        }
        Asked::Wrong { errors, usage } => {
            usage.iter().for_each(|text| say(text));
            return Err(Failure::new(errors.join("\n")));
        }
    };
    let mut arguments = arguments;
    check_threads(&arguments)?;
    if let Some(n) = threads_of_environment()
        && !arguments.is_given("num_threads")
    {
        // As in CmdStan, the files tell of it.
        arguments.set_int("num_threads", n);
    }
    let arguments = &*arguments;
    csv::check_names(arguments)?;
    arguments.lines().iter().for_each(|line| say(line));
    say("");
    let run = Run {
        arguments,
        payload,
        program: payload.program()?,
        data: read_data(arguments.text("data/file"))?,
        seed: arguments.seed(),
        id: arguments.count("id"),
        digits: Digits::of_option(arguments.int("output/sig_figs")),
        started: since.as_secs(),
    };
    if arguments.flag("output/save_cmdstan_config") {
        run.write_config()?;
    }
    profile::write(&run)?;
    match arguments.method() {
        "sample" => sample::run(&run),
        "optimize" => optimize::run(&run),
        "variational" => variational::run(&run),
        "pathfinder" => pathfinder::run(&run),
        "laplace" => laplace::run(&run),
        "generate_quantities" => generate::run(&run),
        "log_prob" => log_prob::run(&run),
        _ => gradient::run(&run),
    }
}

/// `STAN_NUM_THREADS`.
fn threads_of_environment() -> Option<i64> {
    std::env::var("STAN_NUM_THREADS").ok()?.parse().ok()
}

/// The environment and the argument must not say different things, as in CmdStan.
fn check_threads(arguments: &Arguments) -> Result<(), Failure> {
    let threads = arguments.int("num_threads");
    match threads_of_environment() {
        Some(other) if arguments.is_given("num_threads") && other != threads && other != 1 => {
            Err(Failure::new(format!(
                "STAN_NUM_THREADS= {other} but argument num_threads= {threads}. Please either only \
                 set one or make sure they are equal."
            )))
        }
        _ => Ok(()),
    }
}

fn version_lines() -> Vec<String> {
    let parts = ["major", "minor", "patch"].into_iter().zip(VERSION.split('.'));
    parts.map(|(part, number)| format!("stan_version_{part} = {number}")).collect()
}

/// What `info` says: clients look for the switches.
fn info_lines(payload: &Payload) -> Vec<String> {
    let mut lines = version_lines();
    for switch in SWITCHES {
        let is_on = payload.switches.iter().any(|active_switch| active_switch == switch);
        lines.push(format!("{switch}={is_on}"));
    }
    lines
}

impl Run<'_> {
    /// The program with its data.
    pub(super) fn bind(&self, density: Density) -> Result<StanModel, Failure> {
        let mut compile = CompileOptions::default();
        match density {
            Density::Written { jacobian } => compile.jacobian = jacobian,
            Density::Normalised => compile.proportional = false,
            Density::Sampled => compile.marginalise = Some(true),
        }
        if density != Density::Sampled {
            compile.without.push(RECENTRE.to_owned());
        }
        let mut options = StanOptions::default();
        options.compile = compile;
        options.seed = u64::from(self.seed);
        options.printer = Some(Printer::new(say));
        let (name, text) = (&self.data.name, &self.data.text);
        self.program
            .bind_with(name, text, &options)
            .map_err(|error| inputs::explain(error, &self.program, "data initialization"))
    }

    /// Seed of a chain: the run's and the chain's number, so that a chain's draws are the same
    /// whether its process runs others or not.
    pub(super) fn chain_seed(&self, id: u64) -> u64 {
        (id << 32) | u64::from(self.seed)
    }

    /// Threads that there are, as `num_threads` or `STAN_NUM_THREADS` say.
    pub(super) fn threads(&self) -> usize {
        let asked = self.arguments.int("num_threads");
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        usize::try_from(asked).ok().filter(|n| *n > 0).unwrap_or_else(all)
    }

    /// The comment lines at the top of a CSV file, without their marks.
    pub(super) fn header(&self) -> Vec<String> {
        let mut lines = version_lines();
        lines.push(format!("model = {}", self.payload.name));
        lines.push(format!("start_datetime = {}", date_time(self.started)));
        lines.extend(self.arguments.lines());
        lines.push(format!("stanc_version = stanc3 v{VERSION} ({PROGRAM})"));
        lines.push(format!("stancflags = {}", self.payload.stanc_flags));
        lines
    }

    /// `OUTPUT_config.json`.
    fn write_config(&self) -> Result<(), Failure> {
        let mut json = Map::new();
        let parts = ["major", "minor", "patch"].into_iter().zip(VERSION.split('.'));
        for (part, number) in parts {
            json.insert(format!("stan_{part}_version"), number.into());
        }
        json.insert("model_name".to_owned(), self.payload.name.as_str().into());
        json.insert("start_datetime".to_owned(), date_time(self.started).into());
        self.arguments.json(&mut json);
        json.insert("mpi_enabled".to_owned(), false.into());
        json.insert("stanc_version".to_owned(), format!("stanc3 v{VERSION} ({PROGRAM})").into());
        json.insert("stancflags".to_owned(), self.payload.stanc_flags.as_str().into());
        let path = csv::config_name(self.arguments.text("output/file"));
        let text = format!("{:#}\n", Value::Object(json));
        std::fs::write(&path, text).map_err(|e| Failure::unwritable(Path::new(&path), &e))
    }

    /// Paths of the draws of `n` chains.
    pub(super) fn output_names(&self, n: u64) -> Vec<String> {
        file_names(self.arguments.text("output/file"), "", ".csv", n, self.id)
    }

    /// Warnings of the program with its data.
    pub(super) fn warn(&self, model: &StanModel) {
        model.warnings().iter().for_each(|warning| complain(warning));
    }
}
