//! A program's text -> whether lowering and interpreter agree about it.

use exmc_graph::{Graph, NodeId, Tensor, differentiate, evaluate};
use exmc_math::random::{ChainRng, Phase};
use exmc_stan::check::check;
use exmc_stan::data::read_data;
use exmc_stan::diagnostic::{Class, Diagnostic};
use exmc_stan::host::{Environment, Interpreter, Settings};
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

/// Step of differences along a direction, which are exact to its fourth power.
const STEP: f64 = 1e-3;

/// How far derivatives may be apart, relative to their size (at least one).
const SLOPE_TOLERANCE: f64 = 1e-6;

/// What a comparison says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both agree at so many points, and about derivatives at so many.
    Agrees {
        /// Points where values were compared.
        points: usize,
        /// Points where derivatives were.
        slopes: usize,
    },
    /// The lowering refuses it, with these words.
    Refused(String),
    /// They differ, and how.
    Differs(String),
    /// It is no program, which happens while one is made smaller.
    Invalid(String),
}

pub(super) fn read(text: &str) -> Result<Program, String> {
    let mut sources = Sources::single("random.stan", text);
    let (tree, mistakes) = parse(&mut sources, &mut NoIncludes);
    let words = |all: &[Diagnostic]| {
        all.first().map_or_else(String::new, |d| {
            let place = sources.file(d.span).place(d.span.start);
            format!("line {}: {}", place.line, d.message)
        })
    };
    if mistakes.iter().any(|d| d.severity == exmc_stan::diagnostic::Severity::Error) {
        return Err(words(&mistakes));
    }
    let (program, mistakes) = check(sources.clone(), &tree);
    program.ok_or_else(|| words(&mistakes))
}

/// Compares both at some points that a seed gives.
pub(super) fn compare(text: &str, seed: u64) -> Verdict {
    let program = match read(text) {
        Ok(program) => program,
        Err(why) => return Verdict::Invalid(why),
    };
    let Ok(known) = read_data(&program, "random.json", VALUES) else {
        return Verdict::Invalid("its data".to_owned());
    };
    let proportional = seed.is_multiple_of(2);
    let mut options = Options::default();
    options.proportional = proportional;
    let mut lowered = match lower(&program, &known, options) {
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
    let slopes = gradient(&mut lowered);
    let mut settings = Settings::default();
    settings.fuel = 1_000_000;
    settings.proportional = proportional;
    let host = Interpreter::new(&program, settings);
    let mut both = Both { program: &program, known, lowered, host };
    let slopes = match slopes {
        Ok(slopes) => slopes,
        Err(why) => return Verdict::Differs(format!("it has no derivative: {why}")),
    };
    match both.points(&slopes, seed) {
        Ok((points, slopes)) => Verdict::Agrees { points, slopes },
        Err(why) => Verdict::Differs(why),
    }
}

fn gradient(lowered: &mut StanLowered) -> Result<Vec<NodeId>, String> {
    let l = &mut lowered.lowered;
    let inputs: Vec<NodeId> = l.layout.iter().map(|entry| entry.input).collect();
    differentiate(&mut l.graph, l.logp, &inputs).map_err(|e| e.to_string())
}

struct Both<'p> {
    program: &'p Program,
    known: Environment,
    lowered: StanLowered,
    host: Interpreter<'p>,
}

impl Both<'_> {
    fn points(&mut self, slopes: &[NodeId], seed: u64) -> Result<(usize, usize), String> {
        let dim = self.lowered.lowered.dim;
        let mut rng = ChainRng::new(seed, 1, Phase::Predictive);
        let (mut compared, mut smooth) = (0, 0);
        for _ in 0..POINTS {
            let point: Vec<f64> = (0..dim).map(|_| 3.0 * rng.uniform() - 1.5).collect();
            let direction: Vec<f64> = (0..dim).map(|_| rng.standard_normal()).collect();
            let mut nodes = vec![self.lowered.lowered.logp];
            nodes.extend(slopes);
            nodes.extend(self.lowered.lowered.trace.iter().map(|entry| entry.node));
            let found = self.evaluate(&nodes, &point)?;
            let value = found[0].as_scalar().unwrap_or(f64::NAN);
            let mut env = self.known.clone();
            let own = self.host.log_density(&mut env, &point);
            let own = own.map_err(|error| format!("the interpreter says: {}", error.message))?;
            if apart(own, value) > TOLERANCE {
                return Err(format!("lowered {value}, interpreted {own} at {point:?}"));
            }
            self.transformed(&env, &found[1 + slopes.len()..], &point)?;
            self.quantities(&mut env, &point)?;
            compared += 1;
            let Some(expected) = self.slope_along(&point, &direction)? else { continue };
            let gradient = found[1..=slopes.len()].iter().flat_map(|t| t.values().iter());
            let slope: f64 = gradient.zip(&direction).map(|(g, d)| g * d).sum();
            let size = expected.abs().max(own.abs()).max(1.0);
            let off = (slope - expected).abs();
            if off.is_nan() || off > SLOPE_TOLERANCE * size {
                return Err(format!("slope {slope}, by differences {expected} at {point:?}"));
            }
            smooth += 1;
        }
        Ok((compared, smooth))
    }

    fn evaluate(&self, nodes: &[NodeId], point: &[f64]) -> Result<Vec<Tensor>, String> {
        let l = &self.lowered.lowered;
        let inputs = |name: &str| {
            let entry = l.layout.iter().find(|e| e.name == name)?;
            let values = &point[entry.offset..entry.offset + entry.unconstrained.len()];
            Tensor::real(entry.unconstrained.clone(), values)
        };
        let graph: &Graph = &l.graph;
        evaluate(graph, nodes, &inputs).map_err(|e| e.to_string())
    }

    /// The derivative of the interpreter's density along a direction, by differences; nothing where they do not agree
    /// with each other, near a kink or a jump.
    fn slope_along(&mut self, point: &[f64], direction: &[f64]) -> Result<Option<f64>, String> {
        let mut at = |by: f64| {
            let moved: Vec<f64> = point.iter().zip(direction).map(|(p, d)| p + by * d).collect();
            let mut env = self.known.clone();
            let value = self.host.log_density(&mut env, &moved);
            value.map_err(|error| format!("the interpreter says: {}", error.message))
        };
        let mut by = |step: f64| -> Result<f64, String> {
            let near = (at(step)? - at(-step)?) / (2.0 * step);
            let far = (at(2.0 * step)? - at(-2.0 * step)?) / (4.0 * step);
            Ok((4.0 * near - far) / 3.0)
        };
        let (wide, narrow) = (by(STEP)?, by(0.5 * STEP)?);
        let agree = (wide - narrow).abs() <= 0.3 * SLOPE_TOLERANCE * narrow.abs().max(1.0);
        Ok(agree.then_some(narrow))
    }

    /// Compares parameters and transformed parameters.
    fn transformed(
        &self,
        env: &Environment,
        found: &[Tensor],
        point: &[f64],
    ) -> Result<(), String> {
        for (entry, tensor) in self.lowered.lowered.trace.iter().zip(found) {
            let Some(own) = self.value(env, &entry.name) else { continue };
            let same = own.len() == tensor.values().len()
                && own.iter().zip(tensor.values()).all(|(a, b)| apart(*a, *b) <= TOLERANCE);
            if !same {
                let name = &entry.name;
                return Err(format!(
                    "`{name}` is {:?}, interpreted {own:?} at {point:?}",
                    tensor.values()
                ));
            }
        }
        Ok(())
    }

    /// Compares generated quantities with transformed parameters of the same statements.
    fn quantities(&mut self, env: &mut Environment, point: &[f64]) -> Result<(), String> {
        if self.program.generated_quantities.is_empty() {
            return Ok(());
        }
        let made = self.host.generate(env, 0, 0).map_err(|e| e.message)?;
        if let Some(why) = made.rejected {
            return Err(format!("generated quantities: {}", why.message));
        }
        for name in ["w", "u", "o", "p"] {
            let pair = ["t_", "g_"].map(|mark| self.value(env, &format!("{mark}{name}")));
            let [Some(before), Some(after)] = pair else { continue };
            if before != after {
                return Err(format!("`t_{name}` is {before:?}, `g_{name}` {after:?} at {point:?}"));
            }
        }
        Ok(())
    }

    /// The elements of a variable at the top of a block.
    fn value(&self, env: &Environment, name: &str) -> Option<Vec<f64>> {
        use Scope::{GeneratedQuantities, Parameters, TransformedParameters};
        let mut all = self.program.variables.iter().enumerate();
        let (k, _) = all.find(|(_, v)| {
            matches!(v.scope, Parameters | TransformedParameters | GeneratedQuantities)
                && &*v.name == name
        })?;
        match env.get(VariableId(k as u32))? {
            Value::Int(i) => Some(vec![*i as f64]),
            Value::Real(x) => Some(vec![*x]),
            Value::Ints(n) => Some(n.values.iter().map(|i| *i as f64).collect()),
            Value::Reals(n) => Some(n.values.to_vec()),
            _ => None,
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
