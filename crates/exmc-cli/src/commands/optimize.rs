//! `exmc optimize`: a model and data -> the mode of its density.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use exmc::advanced::text::table;
use exmc::advanced::{BoundModel, DrawNumber, Recording, on_the_edge, optimize, variables};
use exmc::infer::{OptimizeConfig, Optimum, RunPhase, Stopped};
use exmc::model::Values;
use exmc_draws::{OptimizeArguments, Provenance, write_mode_csv};
use serde_json::{Map, Value, json};

use crate::commands::sample::{PROGRAM, now};
use crate::display::{array, count, number, put, put_json, say, significant};
use crate::failure::{Exit, Failure};
use crate::report::JSON_VERSION;
use crate::settings::{CentringArgs, CompileArgs, whole_number};
use crate::signals::Stop;
use crate::source::{Compiled, SourceArgs};

/// Find the mode of a model's density
///
/// The mode is that of the constrained values; with `--jacobian` it is that of the unconstrained
/// vector, which is what `laplace` approximates. Hierarchical variables are taken as declared,
/// never standardised but on request (`--non-centre`, which with `--jacobian` has a mode of its
/// own). Exit code 3 means that it did not converge: what is shown is then no mode.
#[derive(Args, Debug)]
pub(crate) struct OptimizeArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    search: SearchArgs,
    /// Count the log Jacobians of the transforms
    #[arg(long)]
    jacobian: bool,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    centring: CentringArgs,
    /// Write the mode, where there is one, to this file too, which must not exist yet, in the form
    /// of CmdStan's CSV
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a mode is searched. The names and defaults of tolerances are CmdStan's.
#[derive(Args, Clone, Debug)]
pub(crate) struct SearchArgs {
    /// Start where this JSON file says: an object name -> value; what is left out starts at random
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// Seed of the random start
    #[arg(long, value_name = "S", default_value_t = OptimizeConfig::default().seed,
          allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) seed: u64,
    /// How it is done
    #[arg(long, value_name = "A", default_value = "lbfgs",
          value_parser = PossibleValuesParser::new(["lbfgs"]))]
    algorithm: String,
    /// Largest number of iterations
    #[arg(long, value_name = "N", default_value_t = OptimizeConfig::default().iterations,
          allow_negative_numbers = true, value_parser = whole_number)]
    iterations: u64,
    /// How many steps the curvature is taken from
    #[arg(long, value_name = "N", default_value_t = OptimizeConfig::default().history)]
    history_size: usize,
    /// Multiple of the gradient that the first line search starts with
    #[arg(long, value_name = "X", default_value_t = OptimizeConfig::default().initial_step)]
    init_alpha: f64,
    /// Converged when the log density changes by less
    #[arg(long, value_name = "X", default_value_t = OptimizeConfig::default().objective_change)]
    tol_obj: f64,
    /// Converged when it changes by at most so many units of rounding
    #[arg(long, value_name = "X", default_value_t = OptimizeConfig::default().relative_objective_change)]
    tol_rel_obj: f64,
    /// Converged when the norm of the gradient is less
    #[arg(long, value_name = "X", default_value_t = OptimizeConfig::default().gradient_norm)]
    tol_grad: f64,
    /// Converged when the gradient in the metric of the curvature is at most so many units of
    /// rounding
    #[arg(long, value_name = "X", default_value_t = OptimizeConfig::default().relative_gradient)]
    tol_rel_grad: f64,
    /// Converged when the norm of a step is less
    #[arg(long, value_name = "X", default_value_t = OptimizeConfig::default().position_change)]
    tol_param: f64,
}

/// The library's limit.
const MAX_HISTORY: usize = 10_000;

impl SearchArgs {
    pub(crate) fn config(&self) -> OptimizeConfig {
        let mut config = OptimizeConfig::default();
        config.seed = self.seed;
        config.iterations = self.iterations;
        config.history = self.history_size;
        config.initial_step = self.init_alpha;
        config.objective_change = self.tol_obj;
        config.relative_objective_change = self.tol_rel_obj;
        config.gradient_norm = self.tol_grad;
        config.relative_gradient = self.tol_rel_grad;
        config.position_change = self.tol_param;
        config
    }

    /// Checks the settings: errors name the flag.
    fn check(&self) -> Result<(), Failure> {
        let tolerances = [
            ("--tol-obj", self.tol_obj),
            ("--tol-rel-obj", self.tol_rel_obj),
            ("--tol-grad", self.tol_grad),
            ("--tol-rel-grad", self.tol_rel_grad),
            ("--tol-param", self.tol_param),
        ];
        let wrong = |flag: &str, expected: &str, found: &dyn std::fmt::Display| {
            let message = format!("invalid value for `{flag}`: expected {expected}, found {found}");
            Err(Failure::new(Exit::Usage, message))
        };
        for (flag, value) in tolerances {
            if !(value >= 0.0 && value.is_finite()) {
                return wrong(flag, "a finite number that is not negative", &value);
            }
        }
        if !(self.init_alpha > 0.0 && self.init_alpha.is_finite()) {
            return wrong("--init-alpha", "a positive number", &self.init_alpha);
        }
        if !(1..=MAX_HISTORY).contains(&self.history_size) {
            let expected = format!("1 to {MAX_HISTORY}");
            return wrong("--history-size", &expected, &self.history_size);
        }
        Ok(())
    }

    /// Searches, until it converges or is told to stop.
    pub(crate) fn run(
        &self,
        compiled: &Compiled,
        config: &OptimizeConfig,
        stop: &Stop,
    ) -> Result<Optimum, Failure> {
        let bound = &compiled.bound;
        self.check()?;
        let start = match &self.init {
            Some(path) => one_point(compiled, path)?,
            None => Values::new(),
        };
        let watch = |_: &_| match stop.is_asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        Ok(optimize(bound, &start, config, watch)?)
    }
}

fn one_point(compiled: &Compiled, path: &Path) -> Result<Values, Failure> {
    let mut points = compiled.read_points(path)?;
    match points.len() {
        1 => Ok(points.remove(0)),
        n => {
            let message = format!("in `{}`: expected one point, found {n}", path.display());
            Err(Failure::new(Exit::Model, message))
        }
    }
}

/// Why an optimum is no mode, as a failure; none when it is one.
pub(crate) fn no_mode(bound: &BoundModel, optimum: &Optimum) -> Option<Failure> {
    if optimum.stopped == Stopped::Interrupted {
        return Some(Failure::new(Exit::Interrupted, "the optimisation was interrupted"));
    }
    let edge = on_the_edge(bound, optimum);
    let no_mode = |message: String| Failure::new(Exit::Diagnostics, message);
    if !edge.is_empty() {
        let names: Vec<_> = edge.iter().map(|name| format!("`{name}`")).collect();
        let message =
            format!("there is no mode: {} goes to the edge of its support", names.join(", "));
        let help = "the density is largest, or infinite, where a scale is zero or a probability is 0 or 1: a prior that \
                    avoids the edge helps, or `sample`";
        return Some(no_mode(message).hint(help));
    }
    if optimum.stopped.is_converged() {
        return None;
    }
    let help = match optimum.stopped {
        Stopped::Iterations => "allow more `--iterations`, or give an `--init` nearer to the mode",
        Stopped::Unbounded => "check that every variable has a proper prior",
        _ => {
            "try another `--seed` or `--init`; a density that jumps has no mode that gradients find"
        }
    };
    let message = format!("the optimisation did not converge: {}", optimum.stopped.describe());
    Some(no_mode(message).hint(help))
}

/// The recorded values at a position.
pub(crate) fn recorded_at(
    bound: &BoundModel,
    seed: u64,
    position: &[f64],
) -> Result<Vec<f64>, Failure> {
    let mut recording = Recording::new(bound, seed);
    let mut row = vec![0.0; recording.width()];
    let number = DrawNumber { chain: 0, phase: RunPhase::Sampling, index: 0 };
    recording.draw(number, position, &mut row)?;
    Ok(row)
}

pub(crate) fn run(args: &OptimizeArgs) -> Result<Exit, Failure> {
    let stop = Stop::on_signals()?;
    let started = now();
    if let Some(path) = &args.out {
        refuse_existing(path)?;
    }
    let mut source = args.source.read()?;
    source.stop = Some(stop.flag());
    let mut options = args.compile.options_in_f64()?;
    options.jacobian = args.jacobian;
    options.non_centre.clone_from(&args.centring.non_centre);
    leave_declared(&mut options.without);
    let compiled = source.compile(&options)?;
    let bound = &compiled.bound;
    let config = args.search.config();
    let optimum = args.search.run(&compiled, &config, &stop)?;
    let row = recorded_at(bound, config.seed, &optimum.position)?;
    let failure = no_mode(bound, &optimum);

    // What is no mode is not stored as one.
    if let (Some(path), None) = (&args.out, &failure) {
        let mode = Mode { bound, config: &config, jacobian: args.jacobian };
        mode.write(path, (&args.source.model_name(), started), (optimum.logp, &row))?;
    }
    if args.json {
        let mut json = to_json(bound, &optimum, &row, failure.is_none());
        if let Some(failure) = &failure {
            json["error"] = failure.to_json()["error"].take();
        }
        put_json(&json)?;
    } else {
        put(&to_text(bound, &optimum, &row))?;
    }
    match failure {
        // The object above stands for the failure too: standard output holds one document.
        Some(failure) => {
            say(&failure.to_string());
            Ok(failure.exit)
        }
        None => Ok(Exit::Success),
    }
}

/// What a mode's file says of its search.
pub(crate) struct Mode<'a> {
    pub(crate) bound: &'a BoundModel,
    pub(crate) config: &'a OptimizeConfig,
    pub(crate) jacobian: bool,
}

impl Mode<'_> {
    /// Writes the file: the model's name, when the search began, the log density and the recorded
    /// values.
    pub(crate) fn write(
        &self,
        path: &Path,
        (model, started): (&str, u64),
        mode: (f64, &[f64]),
    ) -> Result<(), Failure> {
        let seed = self.config.seed;
        let (program, id, data) = (PROGRAM, 1, None);
        let (mode_file, recovered) = (None, false);
        let provenance =
            Provenance { program, model, started, id, data, mode: mode_file, seed, recovered };
        let arguments = arguments(self.config, self.jacobian);
        refuse_existing(path)?;
        let is_new = path.symlink_metadata().is_err();
        let file = OpenOptions::new().write(true).create_new(is_new).open(path);
        let written = file.map(BufWriter::new).and_then(|mut out| {
            write_mode_csv(&provenance, &arguments, &variables(self.bound), mode, &mut out)?;
            out.flush()
        });
        written.map_err(|error| {
            Failure::new(Exit::Io, format!("cannot write `{}`: {error}", path.display()))
        })
    }
}

/// Files are never overwritten, also not by mistake with the data that a command has read. What is
/// no file (a terminal, a pipe) may be written to.
pub(crate) fn refuse_existing(path: &Path) -> Result<(), Failure> {
    let exists = match path.symlink_metadata() {
        // A link to a terminal is one; a link that leads nowhere would be followed.
        Ok(found) if found.is_symlink() => path.metadata().map_or(true, |found| found.is_file()),
        Ok(found) => found.is_file() || found.is_dir(),
        Err(_) => false,
    };
    if !exists {
        return Ok(());
    }
    let failure = Failure::new(Exit::Io, format!("`{}` exists already", path.display()));
    Err(failure.hint("choose another name: files are never overwritten"))
}

/// Hierarchical variables stay as declared: standardising them would move the mode.
pub(crate) fn leave_declared(without: &mut Vec<String>) {
    if !without.iter().any(|pass| pass == "non-centre") {
        without.push("non-centre".to_owned());
    }
}

fn arguments(config: &OptimizeConfig, jacobian: bool) -> OptimizeArguments {
    OptimizeArguments {
        init_alpha: config.initial_step,
        tol_obj: config.objective_change,
        tol_rel_obj: config.relative_objective_change,
        tol_grad: config.gradient_norm,
        tol_rel_grad: config.relative_gradient,
        tol_param: config.position_change,
        history_size: config.history,
        jacobian,
        iter: config.iterations,
    }
}

fn to_json(bound: &BoundModel, optimum: &Optimum, row: &[f64], is_mode: bool) -> Value {
    let values: Map<String, Value> = variables(bound)
        .iter()
        .map(|v| (v.name.clone(), array(&v.shape, &row[v.offset..v.offset + v.len()])))
        .collect();
    json!({
        "exmc": JSON_VERSION,
        "values": values,
        "lp": number(optimum.logp),
        "gradient_norm": number(optimum.gradient_norm()),
        "iterations": optimum.iterations,
        "evaluations": optimum.evaluations,
        "converged": is_mode,
        "stopped": optimum.stopped.describe(),
    })
}

fn to_text(bound: &BoundModel, optimum: &Optimum, row: &[f64]) -> String {
    let names = variables(bound).into_iter().flat_map(|v| v.column_names());
    let rows: Vec<Vec<String>> =
        names.zip(row).map(|(name, x)| vec![name, significant(*x, 6)]).collect();
    let mut text = table(&["parameter", "mode"], &rows);
    text.push_str(&format!(
        "\nlog density {}, norm of its gradient {}\n{}, {}: {}\n",
        significant(optimum.logp, 10),
        significant(optimum.gradient_norm(), 3),
        count(optimum.iterations, "iteration"),
        count(optimum.evaluations, "evaluation"),
        optimum.stopped.describe(),
    ));
    text
}
