//! A program with its data -> whether the graph of its log density and its gradient agree with the
//! host interpreter, which runs the same statements one after the other on values, and on its tape.

use std::sync::Arc;

use exmc_graph::{Graph, NodeId, Tensor, differentiate, evaluate};
use exmc_math::random::{ChainRng, Phase};
use exmc_stan::data::read_data;
use exmc_stan::host::tape::{self, Evaluator};
use exmc_stan::host::{Environment, Interpreter, Settings};
use exmc_stan::lower::{Options, StanLowered, lower};
use exmc_stan::typed::{Program, VariableId};
use exmc_stan::value::Value;

/// Points at which both are evaluated: uniform between -2 and 2.
const POINTS: usize = 4;

/// Largest difference that counts as agreement, relative to the size of what is compared (at least
/// one). Sums run in another order, and solutions of differential equations choose other steps.
const TOLERANCE: f64 = 1e-9;

/// The same for gradients, relative to the largest element (at least one): solutions of equations
/// are as exact as their tolerances.
const GRADIENT_TOLERANCE: f64 = 1e-8;

/// How many times a slope's own rounding is forgiven: the graph simplifies what the tape computes
/// as it is written, and the logarithm of a probability that was rounded beside one has only so
/// many digits.
const NOISE: f64 = 10.0;

/// Differences between graph and host.
#[derive(Clone, Debug, Default)]
pub struct HostAgreement {
    /// Points where both are finite.
    pub finite: usize,
    /// Points where one of both rejects and the other does not, with why.
    pub disputed: Vec<String>,
    /// Largest difference of log densities with all constants.
    pub value: f64,
    /// Largest difference between points of what leaving out constants takes away.
    pub constant: f64,
    /// Largest difference of an element of the gradient on the tape, and which, in words.
    pub gradient: (f64, String),
    /// Largest difference of a transformed parameter, and which.
    pub transformed: (f64, String),
}

impl HostAgreement {
    /// Whether every difference is small.
    pub fn holds(&self) -> bool {
        self.within(TOLERANCE)
            && self.constant <= TOLERANCE
            && self.gradient.0 <= GRADIENT_TOLERANCE
    }

    /// Whether values differ by no more than this. Where a branch that parameters decide drops
    /// constants, these differ between points, in Stan too.
    pub fn within(&self, tolerance: f64) -> bool {
        self.disputed.is_empty() && self.value <= tolerance && self.transformed.0 <= tolerance
    }
}

impl std::fmt::Display for HostAgreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = if self.holds() { "agrees" } else { "DIFFERS" };
        write!(f, "{word}: {} finite, value {:.0e}", self.finite, self.value)?;
        write!(f, ", constant {:.0e}, gradient {:.0e}", self.constant, self.gradient.0)?;
        if self.gradient.0 > GRADIENT_TOLERANCE {
            write!(f, " ({})", self.gradient.1)?;
        }
        let (worst, name) = &self.transformed;
        if !name.is_empty() {
            write!(f, ", `{name}` {worst:.0e}")?;
        }
        self.disputed.first().map_or(Ok(()), |why| write!(f, ", disputed: {why}"))
    }
}

/// Compares both at a few points.
///
/// # Errors
/// What keeps either from evaluating the program at all, as a sentence.
pub fn compare(
    program: &Program,
    data: &str,
    settings: &Settings,
) -> Result<HostAgreement, String> {
    let first = |all: &[exmc_stan::diagnostic::Diagnostic]| {
        all.first().map_or_else(String::new, |d| d.message.clone())
    };
    let mut known = read_data(program, "data", data).map_err(|e| first(&e.diagnostics))?;
    Interpreter::new(program, settings.clone())
        .transform_data(&mut known)
        .map_err(|e| e.message)?;
    let dropped = lower(program, &known, Options::default()).map_err(|e| first(&e))?;
    let mut options = Options::default();
    options.proportional = false;
    let full = lower(program, &known, options).map_err(|e| first(&e))?;
    let slopes = Slopes::new(&full);
    let mut tape_options = tape::Options::default();
    tape_options.settings = settings.clone();
    let mut on_tape = Evaluator::new(Arc::new(program.clone()), known.clone(), tape_options);
    let mut rng = ChainRng::new(20_261_122, 0, Phase::Predictive);
    let mut found = HostAgreement::default();
    let mut base = None;
    let mut host = Interpreter::new(program, settings.clone());
    for _ in 0..POINTS {
        let point: Vec<f64> = (0..full.lowered.dim).map(|_| 4.0 * rng.uniform() - 2.0).collect();
        let (graph, transformed) = outputs(&full, &point)?;
        let mut env = known.clone();
        let on_host = match host.log_density(&mut env, &point) {
            Ok(value) => Ok(value),
            Err(error) if error.is_recoverable() => Err(error.message),
            Err(error) => return Err(format!("on the host: {}", error.message)),
        };
        match (&on_host, graph.is_finite()) {
            (Ok(host_value), true) if host_value.is_finite() => {
                found.finite += 1;
                found.value = found.value.max(apart(*host_value, graph));
                found.note_transformed(program, &env, &full, &transformed);
                if let Some(slopes) = &slopes {
                    found.note_gradient(&mut on_tape, *host_value, slopes, &full, &point)?;
                }
                let (proportional, _) = outputs(&dropped, &point)?;
                let constant = graph - proportional;
                // Each constant is as exact as the densities that it is the difference of.
                let (base, size) = *base.get_or_insert((constant, graph.abs()));
                let difference = (constant - base).abs() / graph.abs().max(size).max(1.0);
                found.constant = found.constant.max(difference);
            }
            (Ok(host_value), true) => {
                found.disputed.push(format!("the graph has {graph}, the host {host_value}"))
            }
            (Ok(host_value), false) if host_value.is_finite() => {
                found.disputed.push(format!("the graph has {graph}, the host {host_value}"));
            }
            (Err(why), true) => {
                found.disputed.push(format!("the graph has {graph}, the host {why}"))
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The nodes of a gradient.
struct Slopes {
    graph: Graph,
    nodes: Vec<NodeId>,
}

impl Slopes {
    /// Nothing for a density with a function that has no derivative.
    fn new(lowered: &StanLowered) -> Option<Self> {
        let l = &lowered.lowered;
        let mut graph = l.graph.clone();
        let inputs: Vec<NodeId> = l.layout.iter().map(|entry| entry.input).collect();
        let nodes = differentiate(&mut graph, l.logp, &inputs).ok()?;
        Some(Self { graph, nodes })
    }
}

/// How much of each slope is rounding: what is left of its differences to both sides, a line taken
/// away, at distances at which what is smooth is straight.
fn rounding(on_tape: &mut Evaluator, point: &[f64], gradient: &[f64]) -> Vec<f64> {
    let mut moved = vec![0.0; point.len()];
    let mut noise = vec![0.0; point.len()];
    for step in [1e-8, 2e-8, 3e-8] {
        let mut bend: Vec<f64> = gradient.iter().map(|slope| -2.0 * slope).collect();
        let mut both = true;
        for step in [step, -step] {
            let near: Vec<f64> = point.iter().map(|x| x + step).collect();
            both &= on_tape.evaluate(&near, &mut moved).is_ok();
            bend.iter_mut().zip(&moved).for_each(|(bend, moved)| *bend += moved);
        }
        for (noise, bend) in noise.iter_mut().zip(&bend).filter(|_| both) {
            *noise = f64::max(*noise, bend.abs());
        }
    }
    noise
}

impl HostAgreement {
    fn note_gradient(
        &mut self,
        on_tape: &mut Evaluator,
        host_value: f64,
        slopes: &Slopes,
        full: &StanLowered,
        point: &[f64],
    ) -> Result<(), String> {
        let mut gradient = vec![0.0; point.len()];
        let value = match on_tape.evaluate(point, &mut gradient) {
            Ok(value) => value,
            Err(error) => {
                self.disputed
                    .push(format!("the host has {host_value}, its tape {}", error.message));
                return Ok(());
            }
        };
        if apart(host_value, value) > TOLERANCE {
            self.disputed.push(format!("the host has {host_value}, its tape {value}"));
        }
        let graph = evaluate(&slopes.graph, &slopes.nodes, &|name| input(full, point, name));
        let graph = graph.map_err(|e| e.to_string())?;
        let expected = graph.iter().flat_map(|tensor| tensor.values().iter().copied());
        let size = gradient.iter().fold(1.0_f64, |size, slope| size.max(slope.abs()));
        let noise = rounding(on_tape, point, &gradient);
        for (k, (slope, expected)) in gradient.iter().zip(expected).enumerate() {
            if !slope.is_finite() && !expected.is_finite() {
                continue;
            }
            let off = ((slope - expected).abs() - NOISE * noise[k]).max(0.0) / size;
            let off = if off.is_nan() { f64::INFINITY } else { off };
            if off > self.gradient.0 {
                let what = format!("coordinate {k}: {slope} on the tape, {expected} in the graph");
                self.gradient = (off, what);
            }
        }
        Ok(())
    }

    fn note_transformed(
        &mut self,
        program: &Program,
        env: &Environment,
        full: &StanLowered,
        transformed: &[Tensor],
    ) {
        for (entry, tensor) in full.lowered.trace.iter().zip(transformed) {
            let is_it = |(_, v): &(usize, &exmc_stan::typed::Variable)| {
                use exmc_stan::typed::Scope::{Parameters, TransformedParameters};
                matches!(v.scope, Parameters | TransformedParameters) && *v.name == *entry.name
            };
            let id = program.variables.iter().enumerate().find(is_it);
            let Some(value) = id.and_then(|(k, _)| env.get(VariableId(k as u32))) else { continue };
            let numbers: Vec<f64> = match value {
                Value::Int(i) => vec![*i as f64],
                Value::Real(x) => vec![*x],
                Value::Ints(n) => n.values.iter().map(|i| *i as f64).collect(),
                Value::Reals(n) => n.values.to_vec(),
                _ => continue,
            };
            let mut worst =
                if numbers.len() == tensor.values().len() { 0.0 } else { f64::INFINITY };
            for (a, b) in numbers.iter().zip(tensor.values()) {
                worst = f64::max(worst, apart(*a, *b));
            }
            if worst > self.transformed.0 {
                self.transformed = (worst, entry.name.clone());
            }
        }
    }
}

/// A difference relative to the size (at least one); two that are NaN, or the same infinity, do not
/// differ.
fn apart(a: f64, b: f64) -> f64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0.0;
    }
    let difference = (a - b).abs() / a.abs().max(1.0);
    if difference.is_nan() { f64::INFINITY } else { difference }
}

/// A parameter's coordinates.
fn input(lowered: &StanLowered, point: &[f64], name: &str) -> Option<Tensor> {
    let entry = lowered.lowered.layout.iter().find(|e| e.name == name)?;
    let values = &point[entry.offset..entry.offset + entry.unconstrained.len()];
    Tensor::real(entry.unconstrained.clone(), values)
}

/// The log density and everything that is recorded with a draw.
fn outputs(lowered: &StanLowered, point: &[f64]) -> Result<(f64, Vec<Tensor>), String> {
    let l = &lowered.lowered;
    let inputs = |name: &str| input(lowered, point, name);
    let mut nodes = vec![l.logp];
    nodes.extend(l.trace.iter().map(|entry| entry.node));
    let mut all = evaluate(&l.graph, &nodes, &inputs).map_err(|e| e.to_string())?;
    let transformed = all.split_off(1);
    Ok((all[0].as_scalar().unwrap_or(f64::NAN), transformed))
}
