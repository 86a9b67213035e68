//! A program with its data -> whether the graph of its log density agrees with the host interpreter, which
//! runs the same statements one after the other on values.

use exmc_graph::{Tensor, evaluate};
use exmc_math::random::{ChainRng, Phase};
use exmc_stan::data::read_data;
use exmc_stan::host::{Environment, Interpreter, Settings};
use exmc_stan::lower::{Options, StanLowered, lower};
use exmc_stan::typed::{Program, VariableId};
use exmc_stan::value::Value;

/// Points at which both are evaluated: uniform between -2 and 2.
const POINTS: usize = 4;

/// Largest difference that counts as agreement, relative to the size of what is compared (at least one).
/// Sums run in another order, and solutions of differential equations choose other steps.
const TOLERANCE: f64 = 1e-9;

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
    /// Largest difference of a transformed parameter, and which.
    pub transformed: (f64, String),
}

impl HostAgreement {
    /// Whether every difference is small.
    pub fn holds(&self) -> bool {
        self.within(TOLERANCE) && self.constant <= TOLERANCE
    }

    /// Whether values differ by no more than this. Where a branch that parameters decide drops constants, these
    /// differ between points, in Stan too.
    pub fn within(&self, tolerance: f64) -> bool {
        self.disputed.is_empty() && self.value <= tolerance && self.transformed.0 <= tolerance
    }
}

impl std::fmt::Display for HostAgreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = if self.holds() { "agrees" } else { "DIFFERS" };
        write!(f, "{word}: {} finite, value {:.0e}", self.finite, self.value)?;
        write!(f, ", constant {:.0e}", self.constant)?;
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
            (Ok(own), true) if own.is_finite() => {
                found.finite += 1;
                found.value = found.value.max(apart(*own, graph));
                found.note_transformed(program, &env, &full, &transformed);
                let (proportional, _) = outputs(&dropped, &point)?;
                let constant = graph - proportional;
                // Each constant is as exact as the densities that it is the difference of.
                let (base, size) = *base.get_or_insert((constant, graph.abs()));
                let difference = (constant - base).abs() / graph.abs().max(size).max(1.0);
                found.constant = found.constant.max(difference);
            }
            (Ok(own), true) => {
                found.disputed.push(format!("the graph has {graph}, the host {own}"))
            }
            (Ok(own), false) if own.is_finite() => {
                found.disputed.push(format!("the graph has {graph}, the host {own}"));
            }
            (Err(why), true) => {
                found.disputed.push(format!("the graph has {graph}, the host {why}"))
            }
            _ => {}
        }
    }
    Ok(found)
}

impl HostAgreement {
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
            let own: Vec<f64> = match value {
                Value::Int(i) => vec![*i as f64],
                Value::Real(x) => vec![*x],
                Value::Ints(n) => n.values.iter().map(|i| *i as f64).collect(),
                Value::Reals(n) => n.values.to_vec(),
                _ => continue,
            };
            let mut worst = if own.len() == tensor.values().len() { 0.0 } else { f64::INFINITY };
            for (a, b) in own.iter().zip(tensor.values()) {
                worst = f64::max(worst, apart(*a, *b));
            }
            if worst > self.transformed.0 {
                self.transformed = (worst, entry.name.clone());
            }
        }
    }
}

/// A difference relative to the size (at least one); two that are NaN, or the same infinity, do not differ.
fn apart(a: f64, b: f64) -> f64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0.0;
    }
    let difference = (a - b).abs() / a.abs().max(1.0);
    if difference.is_nan() { f64::INFINITY } else { difference }
}

/// The log density and everything that is recorded with a draw.
fn outputs(lowered: &StanLowered, point: &[f64]) -> Result<(f64, Vec<Tensor>), String> {
    let l = &lowered.lowered;
    let inputs = |name: &str| {
        let entry = l.layout.iter().find(|e| e.name == name)?;
        let values = &point[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), values)
    };
    let mut nodes = vec![l.logp];
    nodes.extend(l.trace.iter().map(|entry| entry.node));
    let mut all = evaluate(&l.graph, &nodes, &inputs).map_err(|e| e.to_string())?;
    let transformed = all.split_off(1);
    Ok((all[0].as_scalar().unwrap_or(f64::NAN), transformed))
}
