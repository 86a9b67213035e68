//! A program's text -> whether lowering and interpreter agree about it.
//!
//! The graph is evaluated by the reference executor, for a share of the programs also by the native
//! one, as users have it. Values are the interpreter's, gradients those of its tape, and at one
//! point the tape's own derivative along a random direction is held against differences of the
//! interpreter's values, which share nothing with any rule of derivatives.

use std::sync::Arc;

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{
    BoundDensity, DensitySource, Executor, FunctionInstance, FunctionSource, compile,
    compile_function,
};
use exmc_graph::{NodeId, differentiate};
use exmc_math::random::{ChainRng, Phase};
use exmc_stan::check::check;
use exmc_stan::data::read_data;
use exmc_stan::diagnostic::{Class, Diagnostic, Severity};
use exmc_stan::host::tape::{self, Evaluator};
use exmc_stan::host::{Densities, Environment, Interpreter, Settings};
use exmc_stan::lower::{Options, StanLowered, lower};
use exmc_stan::source::Sources;
use exmc_stan::syntax::{NoIncludes, parse};
use exmc_stan::typed::{Program, Scope, VariableId};
use exmc_stan::value::Value;

use super::statements::VALUES;

/// Points at which both are evaluated, uniform between -1.5 and 1.5.
const POINTS: usize = 8;

/// Largest difference relative to the size (at least one): sums run in another order.
const TOLERANCE: f64 = 1e-9;

/// The same of gradients, relative to the largest element (at least one): derivatives are sums of
/// more terms, in another order.
const GRADIENT_TOLERANCE: f64 = 1e-8;

/// Step of differences along a direction, which are exact to its fourth power.
const STEP: f64 = 1e-3;

/// How far a derivative and differences may be apart, relative to their size (at least one).
const SLOPE_TOLERANCE: f64 = 1e-6;

/// Larger numbers have products beyond the largest that there is.
const HUGE: f64 = 1e100;
/// Sine and cosine of larger numbers turn more than once within a difference's step.
const OSCILLATING: f64 = 1e8;

/// One block of twenty seeds in so many is run by the native executor too, whose compilation costs
/// three times as much as all the rest.
const NATIVE: u64 = 16;

/// Nodes of a program's graph. The few programs that need more (loops within a `while` of 128
/// iterations on parameters) would take as long as hundreds of others; they are counted as refused.
const MAX_NODES: usize = 20_000;

/// The tape is held against differences in one program of so many: it is the same for all of them,
/// and the other side of every comparison of gradients.
const DIFFERENCES: u64 = 4;

/// What a comparison says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both agree.
    Agrees(Compared),
    /// The lowering refuses it, with these words.
    Refused(String),
    /// They differ, and how.
    Differs(String),
    /// It is no program, which happens while one is made smaller.
    Invalid(String),
}

/// Points at which something was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Values and gradients, of the reference executor.
    pub points: usize,
    /// The same of the native executor.
    pub native: usize,
    /// The tape's derivative and differences; fewer near kinks and jumps.
    pub differences: usize,
    /// Loops that were walked as steps.
    pub steps: usize,
    /// Points at which a variable is too large for derivatives to have digits: values are compared,
    /// gradients are not.
    pub overflows: usize,
    /// Points at which results differ by no more than those of the tape do where the point moves by
    /// a rounding or two: what the program computes there has no digits.
    pub without_digits: usize,
}

impl Compared {
    /// Adds the points of another program.
    pub fn add(&mut self, other: Self) {
        self.points += other.points;
        self.native += other.native;
        self.differences += other.differences;
        self.steps += other.steps;
        self.overflows += other.overflows;
        self.without_digits += other.without_digits;
    }
}

/// Compiled library calls of interpreter and tape, which no program changes, for the next program.
#[derive(Default)]
pub struct Workshop {
    densities: Densities,
    tape: Option<Evaluator>,
}

impl std::fmt::Debug for Workshop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Workshop")
    }
}

pub(super) fn read(text: &str) -> Result<Program, String> {
    let mut sources = Sources::single("random.stan", text);
    let (tree, mistakes) = parse(&mut sources, &mut NoIncludes);
    let words = |all: &[Diagnostic], sources: &Sources| {
        all.iter().find(|d| d.severity == Severity::Error).map_or_else(String::new, |d| {
            let place = sources.file(d.span).place(d.span.start);
            format!("line {}: {}", place.line, d.message)
        })
    };
    if mistakes.iter().any(|d| d.severity == Severity::Error) {
        return Err(words(&mistakes, &sources));
    }
    let (program, mistakes) = check(sources.clone(), &tree);
    program.ok_or_else(|| words(&mistakes, &sources))
}

/// Compares both at some points that a seed gives.
pub(super) fn compare(text: &str, seed: u64, workshop: &mut Workshop) -> Verdict {
    let program = match read(text) {
        Ok(program) => Arc::new(program),
        Err(why) => return Verdict::Invalid(why),
    };
    let Ok(known) = read_data(&program, "random.json", VALUES) else {
        return Verdict::Invalid("its data".to_owned());
    };
    let proportional = seed.is_multiple_of(2);
    let mut options = Options::default();
    options.proportional = proportional;
    options.node_limit = MAX_NODES;
    if (seed / 2).is_multiple_of(2) {
        options.steps_from = 2;
    }
    if seed % 7 == 3 {
        options.most_lanes = 10 + (seed % 40) as usize;
    }
    let lowered = match lower(&program, &known, options) {
        Ok(lowered) => lowered,
        Err(mistakes) => {
            let first = &mistakes[0];
            let line = program.sources.file(first.span).place(first.span.start).line;
            let words = format!("line {line}: {}", first.message);
            return match first.class {
                Class::Unsupported | Class::Limit => Verdict::Refused(first.message.clone()),
                _ => Verdict::Differs(format!("it is refused as a mistake: {words}")),
            };
        }
    };
    let steps = lowered.loops_in_steps;
    let is_native = (seed / 20).is_multiple_of(NATIVE);
    let graph = match Compiled::new(&lowered, is_native) {
        Ok(graph) => graph,
        Err(why) => return Verdict::Differs(why),
    };
    let mut settings = Settings::default();
    settings.fuel = 1_000_000;
    settings.proportional = proportional;
    let mut tape_options = tape::Options::default();
    tape_options.settings = settings.clone();
    tape_options.proportional = proportional;
    let tape = match workshop.tape.take() {
        Some(tape) => tape.for_program(program.clone(), known.clone(), tape_options),
        None => Evaluator::new(program.clone(), known.clone(), tape_options),
    };
    let host = Interpreter::new(&program, settings);
    let host = host.with_densities(std::mem::take(&mut workshop.densities));
    let names: Vec<_> =
        lowered.lowered.trace.iter().map(|entry| variable(&program, &entry.name)).collect();
    let mut both =
        Both { program: &program, known, lowered: &lowered, names: &names, graph, host, tape };
    let found = both.points(seed);
    workshop.densities = both.host.into_densities();
    workshop.tape = Some(both.tape);
    match found {
        Ok(compared) => Verdict::Agrees(Compared { steps, ..compared }),
        Err(why) => Verdict::Differs(why),
    }
}

/// The log density, its gradient and what is recorded, compiled.
struct Compiled {
    /// All of them, in this order.
    reference: FunctionInstance,
    /// The density as a sampler has it, and what is recorded.
    native: Option<(BoundDensity, FunctionInstance)>,
    /// Numbers of each recorded value.
    sizes: Vec<usize>,
}

impl Compiled {
    /// Numbers that the reference writes: the density, its slopes, what is recorded.
    fn outputs(&self, dim: usize) -> usize {
        1 + dim + self.sizes.iter().sum::<usize>()
    }

    fn new(lowered: &StanLowered, is_native: bool) -> Result<Self, String> {
        let l = &lowered.lowered;
        let inputs: Vec<NodeId> = l.layout.iter().map(|entry| entry.input).collect();
        let parameters: Vec<(NodeId, usize)> =
            l.layout.iter().map(|entry| (entry.input, entry.offset)).collect();
        let trace = || l.trace.iter().map(|entry| entry.node);
        let sizes = trace().map(|node| l.graph.shape(node).len()).collect();
        let mut graph = l.graph.clone();
        let slopes = differentiate(&mut graph, l.logp, &inputs)
            .map_err(|e| format!("it has no derivative: {e}"))?;
        let outputs = std::iter::once(l.logp).chain(slopes).chain(trace()).collect();
        let source = FunctionSource { graph, outputs, parameters: parameters.clone(), dim: l.dim };
        let reference = instance(Executor::Reference, &source)?;
        let native = if is_native {
            let graph = l.graph.clone();
            let outputs = trace().collect();
            let source =
                FunctionSource { graph, outputs, parameters: parameters.clone(), dim: l.dim };
            let recorded = instance(Executor::Native, &source)?;
            let graph = source.graph;
            let source = DensitySource { graph, logp: l.logp, parameters, dim: l.dim };
            let program = compile(Executor::Native, &source);
            let program = program.map_err(|e| format!("it is not compiled: {e}"))?;
            let density = program.bind(&|_| None).map_err(|e| format!("it is not bound: {e}"))?;
            Some((density, recorded))
        } else {
            None
        };
        Ok(Self { reference, native, sizes })
    }
}

fn instance(executor: Executor, source: &FunctionSource) -> Result<FunctionInstance, String> {
    let function = compile_function(executor, source);
    let function = function.map_err(|e| format!("it is not compiled: {e}"))?;
    let bound = function.bind(&|_| None).map_err(|e| format!("it is not bound: {e}"))?;
    Ok(bound.instance())
}

/// What both have computed at a point.
struct Found<'a> {
    value: f64,
    gradient: &'a [f64],
    recorded: &'a [f64],
}

struct Both<'p> {
    program: &'p Program,
    known: Environment,
    lowered: &'p StanLowered,
    /// The variables that are recorded.
    names: &'p [Option<VariableId>],
    graph: Compiled,
    host: Interpreter<'p>,
    tape: Evaluator,
}

impl Both<'_> {
    fn points(&mut self, seed: u64) -> Result<Compared, String> {
        let dim = self.lowered.lowered.dim;
        let mut rng = ChainRng::new(seed, 1, Phase::Predictive);
        let mut compared = Compared::default();
        let mut out = vec![0.0; self.graph.outputs(dim)];
        let (mut gradient, mut slopes) = (vec![0.0; dim], vec![0.0; dim]);
        // Another place for each program, so that places of all kinds are looked at.
        let by_differences = (rng.below(DIFFERENCES) == 0).then(|| rng.below(POINTS as u64));
        let mut native = self.graph.native.as_ref().map(|(density, _)| density.instance());
        for k in 0..POINTS as u64 {
            let point: Vec<f64> = (0..dim).map(|_| 3.0 * rng.uniform() - 1.5).collect();
            let located = |why: String| format!("{why} at {point:?}");
            let mut env = self.known.clone();
            let interpreted = match self.host.log_density(&mut env, &point) {
                Ok(interpreted) => interpreted,
                // What is no argument of a density, the lowering rejects too.
                Err(error) => {
                    self.graph.reference.evaluate(&point, &mut out).map_err(|e| e.to_string())?;
                    if out[0].is_finite() {
                        return Err(located(format!("the interpreter says: {}", error.message)));
                    }
                    compared.points += 1;
                    continue;
                }
            };
            let on_tape = self.tape.evaluate(&point, &mut slopes);
            let on_tape = on_tape.map_err(|error| format!("the tape says: {}", error.message))?;
            if apart(interpreted, on_tape) > TOLERANCE {
                return Err(located(format!("on the tape {on_tape}, interpreted {interpreted}")));
            }
            self.graph.reference.evaluate(&point, &mut out).map_err(|e| e.to_string())?;
            let (value, rest) = (out[0], &out[1..]);
            // Loops that go on beyond what is compiled are the interpreter's.
            if !value.is_finite() && !self.lowered.limited_loops.is_empty() {
                self.quantities(&mut env).map_err(located)?;
                compared.points += 1;
                continue;
            }
            // Beyond, infinity times zero is a derivative of one order of factors and not of
            // another.
            let is_huge = !interpreted.is_finite()
                || self.has_variable_beyond(HUGE, &env)
                || self.tape.largest_partial() > HUGE;
            compared.overflows += usize::from(is_huge);
            let slopes: &[f64] = if is_huge { &[] } else { &slopes };
            let found = Found { value, gradient: &rest[..dim], recorded: &rest[dim..] };
            if let Err(why) = self.agree(&found, interpreted, slopes, &env) {
                if !self.has_no_digits(&point, (interpreted, slopes), &found) {
                    return Err(located(why));
                }
                compared.without_digits += 1;
                compared.points += 1;
                continue;
            }
            if let Some((_, recorded)) = &mut self.graph.native
                && let Some(density) = &mut native
            {
                let value = density.logp_grad(&point, &mut gradient).map_err(|e| e.to_string())?;
                recorded.evaluate(&point, &mut out[1 + dim..]).map_err(|e| e.to_string())?;
                let found = Found { value, gradient: &gradient, recorded: &out[1 + dim..] };
                match self.agree(&found, interpreted, slopes, &env) {
                    Err(_) if self.has_no_digits(&point, (interpreted, slopes), &found) => {
                        compared.without_digits += 1;
                    }
                    result => {
                        result.map_err(|why| located(format!("by the native executor: {why}")))?;
                    }
                }
                compared.native += 1;
            }
            self.quantities(&mut env).map_err(located)?;
            compared.points += 1;
            let oscillates = || self.has_variable_beyond(OSCILLATING, &env);
            if Some(k) == by_differences && !is_huge && !oscillates() {
                let direction: Vec<f64> = (0..dim).map(|_| rng.standard_normal()).collect();
                compared.differences += usize::from(
                    self.differences(&point, &direction, (interpreted, slopes)).map_err(located)?,
                );
            }
        }
        Ok(compared)
    }

    /// Whether the tape's own results move at least a tenth as far as `found` is from them when the
    /// point moves by 1e-15 of itself, or the slopes of the graph do, or the tape's are that far
    /// from differences of the interpreter's density (a step that grows roundings need not grow any
    /// where the values are exact); or whether the tape has no finite slope where differences have
    /// that of `found`.
    fn has_no_digits(
        &mut self,
        point: &[f64],
        (interpreted, slopes): (f64, &[f64]),
        found: &Found<'_>,
    ) -> bool {
        let distance = |value: f64, gradient: &[f64]| {
            let slopes = gradient.iter().zip(slopes).map(|(a, b)| (a - b).abs());
            slopes.fold((value - interpreted).abs(), f64::max)
        };
        // Adjoints that overflow on the tape tell nothing, so differences judge those slopes. This
        // excuses no value that is apart, and nothing else that was recorded.
        let is_lost = |k: usize| !slopes[k].is_finite() && found.gradient[k].is_finite();
        if slopes.iter().any(|slope| !slope.is_finite()) {
            if apart(interpreted, found.value) > TOLERANCE || !(0..slopes.len()).any(is_lost) {
                return false;
            }
            let near = |k: usize, expected: f64, tolerance: f64| {
                (found.gradient[k] - expected).abs() <= tolerance * expected.abs().max(1.0)
            };
            return (0..slopes.len()).all(|k| match slopes[k].is_finite() {
                true => near(k, slopes[k], GRADIENT_TOLERANCE),
                // Neither has any, or differences have that of the graph.
                false => {
                    !found.gradient[k].is_finite()
                        || near(k, self.difference(point, k), SLOPE_TOLERANCE)
                }
            });
        }
        let off = distance(found.value, found.gradient);
        // What is apart is something else that was recorded.
        if off <= TOLERANCE * interpreted.abs().max(1.0) {
            return false;
        }
        let apart = found.gradient.iter().zip(slopes).map(|(a, b)| (a - b).abs());
        let (worst, distance_there) =
            apart.enumerate().fold((0, 0.0), |most, (k, d)| if d > most.1 { (k, d) } else { most });
        if distance_there >= off {
            let difference = self.difference(point, worst);
            if (difference - slopes[worst]).abs() >= 0.1 * off {
                return true;
            }
        }
        // Sums may lose their digits on one way only, so the graph is moved too, from itself.
        let dim = point.len();
        let (mut moved, mut out) = (vec![0.0; dim], vec![0.0; self.graph.outputs(dim)]);
        let Ok(()) = self.graph.reference.evaluate(point, &mut out) else { return false };
        let still = out[1..=dim].to_vec();
        (0..6).any(|k| {
            let by = |coordinate: usize| {
                1e-15 * if (coordinate + k).is_multiple_of(k + 2) { -1.0 } else { 1.0 }
            };
            let near: Vec<f64> =
                point.iter().zip(0..).map(|(x, coordinate)| x * (1.0 + by(coordinate))).collect();
            let value = self.tape.evaluate(&near, &mut moved);
            let on_tape = value.is_ok_and(|value| distance(value, &moved) >= 0.1 * off);
            let run = self.graph.reference.evaluate(&near, &mut out);
            let apart = still.iter().zip(&out[1..=dim]).map(|(a, b)| (a - b).abs());
            on_tape || (run.is_ok() && apart.fold(0.0, f64::max) >= 0.1 * off)
        })
    }

    /// The interpreter's density in one coordinate, by a difference.
    fn difference(&mut self, point: &[f64], coordinate: usize) -> f64 {
        let mut density_at = |by: f64| {
            let mut near = point.to_vec();
            near[coordinate] += by;
            self.host.log_density(&mut self.known.clone(), &near).unwrap_or(f64::NAN)
        };
        (density_at(0.1 * STEP) - density_at(-0.1 * STEP)) / (0.2 * STEP)
    }

    /// Whether a variable holds NaN or a number beyond a limit.
    fn has_variable_beyond(&self, limit: f64, env: &Environment) -> bool {
        let is_huge = |x: &f64| x.is_nan() || x.abs() > limit;
        (0..self.program.variables.len()).any(|k| match env.get(VariableId(k as u32)) {
            Some(Value::Real(x)) => is_huge(x),
            Some(Value::Reals(n)) => n.values.iter().any(is_huge),
            _ => false,
        })
    }

    /// Compares everything that is computed at a point.
    fn agree(
        &self,
        found: &Found<'_>,
        interpreted: f64,
        slopes: &[f64],
        env: &Environment,
    ) -> Result<(), String> {
        if apart(interpreted, found.value) > TOLERANCE {
            return Err(format!("lowered {}, interpreted {interpreted}", found.value));
        }
        let size =
            slopes.iter().fold(interpreted.abs().max(1.0), |size, slope| size.max(slope.abs()));
        for (k, (slope, expected)) in found.gradient.iter().zip(slopes).enumerate() {
            let off = (slope - expected).abs() / size;
            let undefined = !slope.is_finite() && !expected.is_finite();
            if !undefined && (off.is_nan() || off > GRADIENT_TOLERANCE) {
                return Err(format!("slope {k} is {slope}, on the tape {expected}"));
            }
        }
        self.transformed(env, found.recorded)
    }

    /// Holds the tape's derivative along a direction against differences of the interpreter's
    /// density; whether these agree with each other, which they do not near a kink or a jump.
    fn differences(
        &mut self,
        point: &[f64],
        direction: &[f64],
        (interpreted, slopes): (f64, &[f64]),
    ) -> Result<bool, String> {
        let mut density_at = |by: f64| {
            let moved: Vec<f64> = point.iter().zip(direction).map(|(p, d)| p + by * d).collect();
            let mut env = self.known.clone();
            let value = self.host.log_density(&mut env, &moved);
            value.map_err(|error| format!("the interpreter says: {}", error.message))
        };
        let mut by = |step: f64| -> Result<f64, String> {
            let near = (density_at(step)? - density_at(-step)?) / (2.0 * step);
            let far = (density_at(2.0 * step)? - density_at(-2.0 * step)?) / (4.0 * step);
            Ok((4.0 * near - far) / 3.0)
        };
        let (wide, narrow) = (by(STEP)?, by(0.5 * STEP)?);
        let agree = (wide - narrow).abs() <= 0.3 * SLOPE_TOLERANCE * narrow.abs().max(1.0);
        if !agree {
            return Ok(false);
        }
        let slope: f64 = slopes.iter().zip(direction).map(|(g, d)| g * d).sum();
        let size = narrow.abs().max(interpreted.abs()).max(1.0);
        let off = (slope - narrow).abs();
        if off.is_nan() || off > SLOPE_TOLERANCE * size {
            return Err(format!("on the tape the slope is {slope}, by differences {narrow}"));
        }
        Ok(true)
    }

    /// Compares parameters and transformed parameters.
    fn transformed(&self, env: &Environment, recorded: &[f64]) -> Result<(), String> {
        let mut rest = recorded;
        for ((entry, id), size) in
            self.lowered.lowered.trace.iter().zip(self.names).zip(&self.graph.sizes)
        {
            let (found, others) = rest.split_at(*size);
            rest = others;
            let Some(value) = id.and_then(|id| env.get(id)) else { continue };
            if !is_near(value, found) {
                return Err(format!("`{}` is {found:?}, interpreted {value:?}", entry.name));
            }
        }
        Ok(())
    }

    /// Compares generated quantities with transformed parameters of the same statements.
    fn quantities(&mut self, env: &mut Environment) -> Result<(), String> {
        if self.program.generated_quantities.is_empty() {
            return Ok(());
        }
        let made = self.host.generate(env, 0, 0).map_err(|e| e.message)?;
        if let Some(why) = made.rejected {
            return Err(format!("generated quantities: {}", why.message));
        }
        for name in ["w", "u", "o", "p"] {
            let value = |mark: &str| env.get(variable(self.program, &format!("{mark}{name}"))?);
            let (Some(before), Some(after)) = (value("t_"), value("g_")) else { continue };
            if !is_same(before, after) {
                return Err(format!("`t_{name}` is {before:?}, `g_{name}` {after:?}"));
            }
        }
        Ok(())
    }
}

/// A variable at the top of a block, by its name.
fn variable(program: &Program, name: &str) -> Option<VariableId> {
    use Scope::{GeneratedQuantities, Parameters, TransformedParameters};
    let mut all = program.variables.iter().enumerate();
    let (k, _) = all.find(|(_, v)| {
        matches!(v.scope, Parameters | TransformedParameters | GeneratedQuantities)
            && &*v.name == name
    })?;
    Some(VariableId(k as u32))
}

/// Whether two values have the same bits, NaN apart.
fn is_same(a: &Value, b: &Value) -> bool {
    let same = |a: &f64, b: &f64| a == b || (a.is_nan() && b.is_nan());
    match (a, b) {
        (Value::Real(a), Value::Real(b)) => same(a, b),
        (Value::Reals(a), Value::Reals(b)) => {
            a.shape == b.shape && a.values.iter().zip(b.values.iter()).all(|(a, b)| same(a, b))
        }
        (a, b) => a == b,
    }
}

/// Whether a value has these numbers.
fn is_near(value: &Value, found: &[f64]) -> bool {
    let near = |numbers: &[f64]| {
        let mut pairs = numbers.iter().zip(found);
        numbers.len() == found.len() && pairs.all(|(a, b)| apart(*a, *b) <= TOLERANCE)
    };
    match value {
        Value::Int(i) => near(&[*i as f64]),
        Value::Real(x) => near(&[*x]),
        Value::Ints(n) => near(&n.values.iter().map(|i| *i as f64).collect::<Vec<f64>>()),
        Value::Reals(n) => near(&n.values),
        // Nothing else is declared at the top of a block here.
        _ => false,
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
