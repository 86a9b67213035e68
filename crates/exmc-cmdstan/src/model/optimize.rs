//! `method=optimize`: a start -> the mode, or every step on the way to it.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use exmc::advanced::density::{DensityModel, EvaluationError, LogDensity};
use exmc::advanced::{BoundModel, Recording};
use exmc::infer::{Iteration, OptimizeConfig, Optimum, Stopped};
use exmc_infer::{Start, maximise};

use super::columns::{Columns, number, record};
use super::csv::Csv;
use super::inputs::{Inits, unconstrain};
use super::{Density, Run};
use crate::console::say;
use crate::failure::Failure;
use crate::grammar::Arguments;
use crate::number::general;

/// Steps that BFGS without limits remembers: as many as its matrix of so many coordinates has
/// rows, and more than any search has use for.
const FULL_HISTORY: usize = 1000;

/// `converged__` of a step before the last one.
const STEP: f64 = 0.0;

/// `converged__` of a search that failed.
const FAILED: f64 = -1.0;

/// `converged__` of a last point: Stan's number of the reason why a search ended.
fn termination(stopped: Stopped) -> f64 {
    match stopped {
        Stopped::Position => 10.0,
        Stopped::Objective => 20.0,
        Stopped::RelativeObjective => 21.0,
        Stopped::Gradient => 30.0,
        Stopped::RelativeGradient => 31.0,
        Stopped::Iterations => 40.0,
        _ => FAILED,
    }
}

/// Settings of a search as CmdStan names them; `path` is the category that holds them.
pub(super) fn search_config(arguments: &Arguments, path: &str) -> OptimizeConfig {
    let real = |name: &str| arguments.real(&format!("{path}/{name}"));
    let mut config = OptimizeConfig::default();
    config.initial_step = real("init_alpha");
    config.objective_change = real("tol_obj");
    config.relative_objective_change = real("tol_rel_obj");
    config.gradient_norm = real("tol_grad");
    config.relative_gradient = real("tol_rel_grad");
    config.position_change = real("tol_param");
    config
}

/// Points with their log densities, in the order of their evaluation.
type Seen = Rc<RefCell<Vec<(f64, Vec<f64>)>>>;

/// A density that keeps the points of a search, so that an iteration's can be told.
struct Watched<L> {
    density: L,
    seen: Seen,
}

impl<L: LogDensity> LogDensity for Watched<L> {
    fn dim(&self) -> usize {
        self.density.dim()
    }

    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        let logp = self.density.logp_grad(q, g)?;
        self.seen.borrow_mut().push((logp, q.to_vec()));
        Ok(logp)
    }
}

pub(super) fn run(run: &Run<'_>) -> Result<(), Failure> {
    let args = run.arguments;
    let jacobian = args.flag("method/optimize/jacobian");
    let model = run.bind(Density::Written { jacobian })?;
    run.warn(&model);
    let bound = model.bound();
    let algorithm = args.choice("method/optimize/algorithm");
    let settings = format!("method/optimize/algorithm/{algorithm}");
    let mut config = match algorithm {
        "newton" => {
            say("Newton's method is done by L-BFGS, which ends at the same mode.");
            OptimizeConfig::default()
        }
        _ => search_config(args, &settings),
    };
    config.history = match algorithm {
        "lbfgs" => args.count(&format!("{settings}/history_size")) as usize,
        _ => bound.compiled().dim().clamp(5, FULL_HISTORY),
    };
    config.iterations = args.count("method/optimize/iter");
    let inits = Inits::read(args.text("init"));
    (config.seed, config.initial_radius) = (run.chain_seed(run.id), inits.radius);
    let values = inits.one(&model, run.id, &run.program)?;
    let start = match values.is_empty() {
        true => Start::Random,
        false => Start::At(unconstrain(bound, &values)?),
    };
    let columns = Columns::of_model(bound);
    let mut writer = Writer {
        file: Csv::create(args.text("output/file"), run.digits, &run.header())?,
        recording: Recording::new(bound, config.seed),
        row: vec![0.0; columns.order.len()],
        columns,
    };
    writer.file.names(&writer.columns.behind(&["lp__", "converged__"]))?;
    let save = args.flag("method/optimize/save_iterations");
    let optimum =
        search(bound, &start, &config, args.count("output/refresh"), |logp, position| {
            if save { writer.write(logp, STEP, position) } else { Ok(()) }
        })?;
    let edge = exmc::advanced::on_the_edge(bound, &optimum);
    let stopped = optimum.stopped;
    let code = if edge.is_empty() { termination(stopped) } else { FAILED };
    writer.write(optimum.logp, code, &optimum.position)?;
    writer.file.flush()?;
    if edge.is_empty() && stopped == Stopped::Iterations {
        say("Optimization terminated normally: ");
        say("  Maximum number of iterations hit, may not be at an optima");
        return Ok(());
    }
    if edge.is_empty() && stopped.is_converged() {
        say("Optimization terminated normally: ");
        say(&format!("  Convergence detected: {}", stopped.describe()));
        return Ok(());
    }
    let why = match edge.is_empty() {
        true => stopped.describe().to_owned(),
        // Clients look for the first words where a point that is no mode may be had all the same.
        false => format!(
            "Line search failed to end at a mode: there is none, at the edge of its support is {}",
            edge.join(", ")
        ),
    };
    // On standard output, where CmdStanR learns from it that there is a point to be had.
    say("Optimization terminated with error: ");
    Err(Failure::new(format!("  {why}")))
}

/// Searches, with a line of progress every `refresh` iterations; `see` is given the start and every
/// step.
fn search(
    bound: &BoundModel,
    start: &Start,
    config: &OptimizeConfig,
    refresh: u64,
    mut see: impl FnMut(f64, &[f64]) -> Result<(), Failure>,
) -> Result<Optimum, Failure> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let mut watched = Watched { density: bound.instance(), seen: seen.clone() };
    let mut failed = None;
    // The start is told too, so it is found first: a search of no step.
    let mut still = config.clone();
    still.iterations = 0;
    let quiet = |_: &Iteration| ControlFlow::Break(());
    let first = maximise(&mut watched, start, &still, quiet).map_err(exmc::Error::from)?;
    say(&format!("Initial log joint probability = {}", general(first.logp, 6)));
    see(first.logp, &first.position)?;
    let head = format!("{:>8}{:>14}{:>14}  Notes ", "Iter", "log prob", "||grad||");
    let from = Start::At(first.position);
    let result = maximise(&mut watched, &from, config, |iteration| {
        let points = seen.take();
        let accepted = points.iter().rev().find(|(logp, _)| *logp == iteration.logp);
        let told = accepted.map_or(Ok(()), |(logp, position)| see(*logp, position));
        if refresh > 0 && (iteration.number == 1 || iteration.number.is_multiple_of(refresh)) {
            let [logp, norm] = [iteration.logp, iteration.gradient_norm].map(|x| general(x, 6));
            say(&head);
            say(&format!("{:>8}{logp:>14}{norm:>14}", iteration.number));
        }
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                failed = Some(failure);
                ControlFlow::Break(())
            }
        }
    });
    match failed {
        Some(failure) => Err(failure),
        None => Ok(result.map_err(exmc::Error::from)?),
    }
}

struct Writer {
    file: Csv,
    columns: Columns,
    recording: Recording,
    row: Vec<f64>,
}

impl Writer {
    fn write(&mut self, logp: f64, converged: f64, position: &[f64]) -> Result<(), Failure> {
        record(&mut self.recording, number(0), position, &mut self.row, "")?;
        self.file.row([logp, converged].into_iter().chain(self.columns.values(&self.row)))
    }
}
