//! Seed -> a sound random model -> does every path through exmc agree about its density.
//!
//! A model is a few variables that refer to earlier ones, in location, scale or both, as numbers or
//! vectors, some observed. For each: the gradient against differences, the order of declaration and
//! the JSON form to the bit, and the rewritten against the plain density of the same values.

use std::collections::BTreeMap;

use exmc::advanced::{BoundModel, CompileOptions, compile};
use exmc::distributions::{
    exponential, gamma, half_normal, logistic, lognormal, normal, student_t, uniform,
};
use exmc::model::{DistSpec, Expr, Tensor, Values};
use exmc::{Model, ModelBuilder};
use exmc_math::random::{ChainRng, Phase};
use exmc_model::{read_json, write_json};

/// Half-width of the cube that positions are drawn from: transforms stay far from over- and
/// underflow.
const RADIUS: f64 = 1.5;
/// Step of the five-point rule: truncation near 1e-12, rounding near 1e-12 for densities of
/// size 1000.
const STEP: f64 = 1e-3;
/// Relative error that a gradient may have; three orders above what the rule promises for smooth
/// densities whose fifth derivative is large.
const TOLERANCE: f64 = 1e-6;

/// One declaration, so that a model can be declared in any order.
#[derive(Clone, Debug)]
struct Declaration {
    name: String,
    dist: DistSpec,
    len: Option<usize>,
    centred: bool,
    observed: Option<Vec<f64>>,
    /// A deterministic node `name_det` that later nodes may refer to.
    det: Option<Expr>,
}

/// Makes the model of a seed and compares all paths to its density. Returns the dimension of the
/// model.
///
/// # Errors
/// The first disagreement, with the model's JSON form.
pub fn check(seed: u64) -> Result<usize, String> {
    let mut rng = ChainRng::new(seed, 0, Phase::Predictive);
    let declarations = declarations(&mut rng);
    let model = declare(&declarations, false)?;
    let outcome = compare(&mut rng, &declarations, &model);
    outcome.map_err(|why| format!("seed {seed}: {why}\n{}", write_json(&model)))
}

fn compare(
    rng: &mut ChainRng,
    declarations: &[Declaration],
    model: &Model,
) -> Result<usize, String> {
    let bound = bind(model, true, &[])?;
    let dim = bound.compiled().dim();
    let point: Vec<f64> = (0..dim).map(|_| RADIUS * (2.0 * rng.uniform() - 1.0)).collect();
    let evaluate_at = |bound: &BoundModel, q: &[f64]| bound.logp_grad(q).map_err(|e| e.to_string());
    let (logp, gradient) = evaluate_at(&bound, &point)?;
    if !logp.is_finite() {
        return Err(format!("log density {logp} at {point:?}"));
    }

    compare_gradient(&bound, &point)?;

    let same = |what: &str, other: &BoundModel| {
        let (other_logp, other_gradient) = evaluate_at(other, &point)?;
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let equal =
            logp.to_bits() == other_logp.to_bits() && bits(&gradient) == bits(&other_gradient);
        if equal { Ok(()) } else { Err(format!("{what}: {other_logp}, expected {logp}")) }
    };
    same("declared backwards", &bind(&declare(declarations, true)?, true, &[])?)?;
    let read = read_json(&write_json(model)).map_err(|e| format!("JSON form: {e}"))?;
    same("read from its JSON form", &bind(&read, true, &[])?)?;

    // The density of the same values, with and without the passes that change coordinates.
    let values = bound.constrain(&point).map_err(|e| e.to_string())?;
    let values: Values = values
        .into_iter()
        .filter(|(name, _)| model.free_variables().contains(&name.as_str()))
        .collect();
    let density = |without: &[&str]| {
        let bound = bind(model, false, without)?;
        let position = bound.unconstrain(&values).map_err(|e| e.to_string())?;
        evaluate_at(&bound, &position).map(|(logp, _)| logp)
    };
    let (rewritten, plain) = (density(&[])?, density(&["non-centre"])?);
    // Two roundings of values, one through location + scale * z.
    if (rewritten - plain).abs() > 1e-9 * (1.0 + plain.abs()) {
        return Err(format!("{rewritten} when non-centred, {plain} when not"));
    }
    Ok(dim)
}

/// The gradient at a point against five-point differences.
///
/// # Errors
/// The first coordinate where they differ by more than 1e-6 of the derivative and the density.
pub fn compare_gradient(bound: &BoundModel, point: &[f64]) -> Result<(), String> {
    let evaluate_at = |q: &[f64]| bound.logp_grad(q).map_err(|e| e.to_string());
    let (logp, gradient) = evaluate_at(point)?;
    for (i, found) in gradient.iter().enumerate() {
        let moved = |steps: f64| {
            let mut q = point.to_vec();
            q[i] += steps * STEP;
            evaluate_at(&q).map(|(logp, _)| logp)
        };
        let inner = moved(1.0)? - moved(-1.0)?;
        let outer = moved(2.0)? - moved(-2.0)?;
        let expected = (8.0 * inner - outer) / (12.0 * STEP);
        let within = (found - expected).abs() <= TOLERANCE * (1.0 + expected.abs() + logp.abs());
        if !within {
            return Err(format!("gradient {i} is {found}, differences say {expected}"));
        }
    }
    Ok(())
}

fn bind(model: &Model, jacobian: bool, without: &[&str]) -> Result<BoundModel, String> {
    let mut options = CompileOptions::default();
    options.jacobian = jacobian;
    options.without = without.iter().map(|name| (*name).to_owned()).collect();
    let compiled = compile(model, &options).map_err(|e| e.to_string())?;
    compiled.bind(&Values::new()).map_err(|e| e.to_string())
}

fn declare(declarations: &[Declaration], backwards: bool) -> Result<Model, String> {
    let mut model = ModelBuilder::new();
    let mut order: Vec<&Declaration> = declarations.iter().collect();
    if backwards {
        order.reverse();
    }
    for d in order {
        let rv = model.rv(&d.name, d.dist.clone());
        let rv = match d.len {
            Some(n) => rv.shape([n]),
            None => rv,
        };
        if d.centred {
            rv.centred();
        }
        if let Some(values) = &d.observed {
            let value = match d.len {
                Some(_) => Tensor::vector(values),
                None => Tensor::scalar(values[0]),
            };
            model.observe(&format!("{}_obs", d.name), &d.name, value);
        }
        if let Some(det) = &d.det {
            model.det(&format!("{}_det", d.name), det.clone());
        }
    }
    model.build().map_err(|e| e.to_string())
}

fn declarations(rng: &mut ChainRng) -> Vec<Declaration> {
    let n = 2 + below(rng, 5);
    // Every name that later nodes may refer to, and whether its values are positive.
    let mut names: BTreeMap<String, bool> = BTreeMap::new();
    let mut declared = Vec::new();
    for k in 0..n {
        // Random first letters, so that order of names and of declaration differ.
        let letter = char::from(b'A' + below(rng, 26) as u8);
        let name = format!("{letter}{k}");
        let len = if below(rng, 3) == 0 { Some(3) } else { None };
        let (dist, positive) = family(rng, &names);
        let values = 1 + below(rng, 1000);
        let observed = (k > 0 && below(rng, 3) == 0).then(|| {
            let value = |i: usize| 0.1 + ((values + 7 * i) % 13) as f64 / 6.0;
            (0..len.unwrap_or(1)).map(value).collect()
        });
        let det = (below(rng, 3) == 0).then(|| expression(rng, &Expr::name(&name)).sum());
        let free = observed.is_none();
        let centred = below(rng, 2) == 0;
        declared.push(Declaration { name: name.clone(), dist, len, centred, observed, det });
        if free {
            // Vectors are referred to by their sum, so that shapes stay as declared.
            if len.is_none() {
                names.insert(name.clone(), positive);
            }
            if declared[k].det.is_some() {
                names.insert(format!("{name}_det"), false);
            }
        }
    }
    declared
}

/// A family with random arguments, and whether its values are positive.
fn family(rng: &mut ChainRng, names: &BTreeMap<String, bool>) -> (DistSpec, bool) {
    match below(rng, 8) {
        0 | 1 => (normal(location(rng, names), scale(rng, names)), false),
        2 => (student_t(4.0, location(rng, names), scale(rng, names)), false),
        3 => (logistic(location(rng, names), scale(rng, names)), false),
        4 => (half_normal(scale(rng, names)), true),
        5 => (exponential(scale(rng, names)), true),
        6 => (lognormal(location(rng, names), scale(rng, names)), true),
        _ if below(rng, 2) == 0 => (gamma(2.5, scale(rng, names)), true),
        // Observed values lie between 0.1 and 2.1.
        _ => (uniform(-1.0, 3.0), false),
    }
}

fn location(rng: &mut ChainRng, names: &BTreeMap<String, bool>) -> Expr {
    match pick(rng, names, false) {
        Some(name) => {
            let reference = Expr::name(&name);
            if below(rng, 2) == 0 { reference } else { expression(rng, &reference) }
        }
        None => Expr::from(0.5),
    }
}

fn scale(rng: &mut ChainRng, names: &BTreeMap<String, bool>) -> Expr {
    match below(rng, 3) {
        0 => pick(rng, names, true).map_or(Expr::from(1.5), Expr::name),
        1 => pick(rng, names, false)
            .map_or(Expr::from(0.7), |name| (0.3 * Expr::name(name).tanh()).exp()),
        _ => Expr::from(2.0),
    }
}

/// A smooth function with values of moderate size.
fn expression(rng: &mut ChainRng, x: &Expr) -> Expr {
    let x = x.clone();
    match below(rng, 6) {
        0 => 0.5 * x + 1.0,
        1 => x.sin(),
        2 => x.inv_logit(),
        3 => x.softplus() - 1.0,
        4 => (1.0 + x.square()).log(),
        _ => -x.tanh(),
    }
}

fn pick(rng: &mut ChainRng, names: &BTreeMap<String, bool>, positive: bool) -> Option<String> {
    let fitting: Vec<&String> =
        names.iter().filter(|(_, p)| **p || !positive).map(|(name, _)| name).collect();
    if fitting.is_empty() { None } else { Some(fitting[below(rng, fitting.len())].clone()) }
}

fn below(rng: &mut ChainRng, n: usize) -> usize {
    ((rng.uniform() * n as f64) as usize).min(n - 1)
}
