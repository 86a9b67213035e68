//! Densities and distribution functions on values: graphs of the one source of formulas, compiled once
//! for each name and shape of arguments.

use std::hash::{Hash, Hasher};

use exmc_exec::{Executor, FunctionInstance, FunctionSource, compile_function};
use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor, evaluate};
use exmc_model::KnownSupports;
use rustc_hash::{FxHashMap, FxHasher};

use super::Call;
use crate::host::error::Fault;
use crate::host::numeric;
use crate::library::{self, Argument, LibraryError};
use crate::typed::Type;
use crate::value::{Numbers, Value};

/// Densities that were compiled so far.
#[derive(Debug, Default)]
pub struct Densities {
    compiled: FxHashMap<u64, Vec<Compiled>>,
    count: usize,
    position: Vec<f64>,
    out: Vec<f64>,
}

/// One density at arguments of certain types and shapes.
#[derive(Debug)]
struct Compiled {
    name: String,
    types: Vec<Type>,
    shapes: Vec<Vec<usize>>,
    instance: FunctionInstance,
    /// What the outputs after the first must satisfy: not zero, or else this sentence.
    checks: Vec<String>,
}

/// The most densities that are kept; a loop over vectors of ever other lengths would fill memory.
const MOST_KEPT: usize = 256;

const SUFFIXES: &[(&str, &str)] = &[
    ("_lpdf", "_lpdf"),
    ("_lpmf", "_lpmf"),
    ("_lupdf", "_lpdf"),
    ("_lupmf", "_lpmf"),
    ("_lcdf", "_lcdf"),
    ("_lccdf", "_lccdf"),
    ("_cdf", "_cdf"),
];

/// Distributions whose outcome picks an element of a parameter, so that it must be known to the graph.
const PICKING: &[&str] = &["categorical", "ordered_", "discrete_range", "hmm_"];

/// Whether a name is that of a density or distribution function.
pub(crate) fn is_density(name: &str) -> bool {
    SUFFIXES.iter().any(|(suffix, _)| name.ends_with(suffix))
}

/// Whether it is one that is compiled for the types and shapes of its arguments alone.
pub(crate) fn is_compiled(name: &str) -> bool {
    is_density(name) && !PICKING.iter().any(|start| name.starts_with(start))
}

impl Densities {
    /// The function's value. Unnormalised forms keep all terms: on values there is no parameter that they
    /// could be constant in.
    pub(crate) fn call(&mut self, c: &Call<'_>) -> Result<Value, Fault> {
        if !is_compiled(c.name) {
            return once(c);
        }
        let shape = |k: usize| c.args[k].shape();
        let place = match self.find(c.name, c.types, &shape) {
            Ok(place) => place,
            Err(key) => self.insert(key, compile(c)?),
        };
        self.position.clear();
        for arg in c.args {
            match arg {
                Value::Real(x) => self.position.push(*x),
                Value::Int(i) => self.position.push(*i as f64),
                other => self.position.extend_from_slice(&numeric::real_slice(other)?),
            }
        }
        self.run(c.name, place)
    }

    /// The same of single numbers.
    pub(crate) fn call_on_scalars(
        &mut self,
        name: &str,
        point: &[f64],
        types: &[&Type],
    ) -> Result<Value, Fault> {
        let place = match self.find(name, types, &|_| &[]) {
            Ok(place) => place,
            Err(key) => {
                let value = |(x, ty): (&f64, &&Type)| match ty {
                    Type::Int => Value::Int(*x as i64),
                    _ => Value::Real(*x),
                };
                let args: Vec<Value> = point.iter().zip(types).map(value).collect();
                let entry = compile(&Call { name, args: &args, types, returns: &Type::Real })?;
                self.insert(key, entry)
            }
        };
        self.position.clear();
        self.position.extend_from_slice(point);
        self.run(name, place)
    }

    /// The place of a density that was compiled for these types and shapes, or the key for it.
    fn find<'s>(
        &self,
        name: &str,
        types: &[&Type],
        shape: &dyn Fn(usize) -> &'s [usize],
    ) -> Result<(u64, usize), u64> {
        let mut hasher = FxHasher::default();
        name.hash(&mut hasher);
        for (k, ty) in types.iter().enumerate() {
            ty.hash(&mut hasher);
            shape(k).hash(&mut hasher);
        }
        let key = hasher.finish();
        let same = |entry: &Compiled| {
            entry.name == name
                && entry.types.iter().eq(types.iter().copied())
                && entry.shapes.iter().enumerate().all(|(k, own)| own == shape(k))
        };
        let at = self.compiled.get(&key).and_then(|list| list.iter().position(same));
        at.map(|at| (key, at)).ok_or(key)
    }

    fn insert(&mut self, key: u64, entry: Compiled) -> (u64, usize) {
        if self.count >= MOST_KEPT {
            self.compiled.clear();
            self.count = 0;
        }
        self.count += 1;
        let list = self.compiled.entry(key).or_default();
        list.push(entry);
        (key, list.len() - 1)
    }

    /// Evaluates a density at the position that was filled in.
    fn run(&mut self, name: &str, (key, at): (u64, usize)) -> Result<Value, Fault> {
        let entry = self.compiled.get_mut(&key).and_then(|list| list.get_mut(at));
        let entry = entry.expect("callers have just found or inserted it");
        self.out.clear();
        self.out.resize(1 + entry.checks.len(), 0.0);
        let wrong = |what: &dyn std::fmt::Display| Fault::domain(format!("{name}: {what}"));
        let done = entry.instance.evaluate(&self.position, &mut self.out);
        done.map_err(|error| wrong(&error))?;
        if let Some(k) = self.out[1..].iter().position(|holds| *holds == 0.0) {
            return Err(wrong(&entry.checks[k]));
        }
        Ok(Value::Real(self.out[0]))
    }
}

/// The name that keeps all terms.
fn normalised(name: &str) -> String {
    let found = SUFFIXES.iter().find_map(|(suffix, full)| Some((name.strip_suffix(suffix)?, full)));
    found.map_or_else(|| name.to_owned(), |(base, full)| format!("{base}{full}"))
}

fn fault(c: &Call<'_>, error: &LibraryError) -> Fault {
    match error {
        LibraryError::Mistake(message) => c.size(message),
        LibraryError::Unsupported(_) => {
            Fault::unsupported(format!("`{}` is not there yet for known values", c.name))
        }
        other => Fault::unsupported(format!("`{}`: {other}", c.name)),
    }
}

/// Number, then conditions, each with its sentence.
fn density(
    c: &Call<'_>,
    g: &mut Graph,
    args: &[Argument],
) -> Result<(Vec<NodeId>, Vec<String>), Fault> {
    let mut supports = KnownSupports::default();
    let found = library::density(g, &mut supports, &normalised(c.name), args);
    let found = found.map_err(|error| fault(c, &error))?;
    let number = found.number(g);
    let mut outputs = vec![number.node];
    let mut checks = Vec::new();
    for check in found.checks {
        outputs.push(check.holds);
        checks.push(check.message);
    }
    Ok((outputs, checks))
}

fn compile(c: &Call<'_>) -> Result<Compiled, Fault> {
    let mut g = Graph::new();
    let (mut parameters, mut args, mut dim) = (Vec::new(), Vec::new(), 0);
    for (k, (value, ty)) in c.args.iter().zip(c.types).enumerate() {
        let shape = Shape::from(value.shape());
        let len = shape.len();
        let node = g.input(&format!("x{k}"), Role::Parameter, shape, DType::Real);
        let node = node.map_err(|error| c.domain(error.message()))?;
        parameters.push((node, dim));
        dim += len;
        args.push(Argument { node, ty: (*ty).clone(), batched: false });
    }
    let (outputs, checks) = density(c, &mut g, &args)?;
    let source = FunctionSource { graph: g, outputs, parameters, dim };
    let broken = |error: &dyn std::fmt::Display| Fault::unsupported(format!("{}: {error}", c.name));
    let function = compile_function(Executor::default(), &source).map_err(|e| broken(&e))?;
    let bound = function.bind(&|_| None).map_err(|e| broken(&e))?;
    Ok(Compiled {
        name: c.name.to_owned(),
        types: c.types.iter().map(|ty| (*ty).clone()).collect(),
        shapes: c.args.iter().map(|arg| arg.shape().to_vec()).collect(),
        instance: bound.instance(),
        checks,
    })
}

/// The value as a constant of a graph.
fn constant(c: &Call<'_>, g: &mut Graph, value: &Value) -> Result<NodeId, Fault> {
    let shape = Shape::from(value.shape());
    let tensor = match value {
        Value::Int(_) | Value::Ints(_) => {
            let values: Vec<f64> = numeric::int_slice(value)?.iter().map(|i| *i as f64).collect();
            Tensor::int(shape, values)
        }
        _ => Tensor::real(shape, numeric::real_slice(value)?.into_owned()),
    };
    Ok(g.constant(tensor.ok_or_else(|| c.missing())?))
}

fn constants(c: &Call<'_>, g: &mut Graph) -> Result<Vec<Argument>, Fault> {
    let mut args = Vec::new();
    for (value, ty) in c.args.iter().zip(c.types) {
        let node = constant(c, g, value)?;
        args.push(Argument { node, ty: (*ty).clone(), batched: false });
    }
    Ok(args)
}

/// A density whose arguments are constants of a graph that is evaluated and thrown away.
fn once(c: &Call<'_>) -> Result<Value, Fault> {
    let mut g = Graph::new();
    let args = constants(c, &mut g)?;
    let (outputs, checks) = density(c, &mut g, &args)?;
    let values = evaluate(&g, &outputs, &|_| None).map_err(|error| c.domain(error.message()))?;
    let number = |tensor: &Tensor| tensor.values().first().copied().unwrap_or(f64::NAN);
    if let Some(k) = values[1..].iter().position(|holds| number(holds) == 0.0) {
        return Err(c.domain(&checks[k]));
    }
    Ok(Value::Real(number(&values[0])))
}

/// A function that only the library on graphs has, of real values.
pub(crate) fn function_once(c: &Call<'_>) -> Result<Value, Fault> {
    let mut g = Graph::new();
    let args = constants(c, &mut g)?;
    let output = library::function(&mut g, c.name, &args).map_err(|error| fault(c, &error))?;
    let values = evaluate(&g, &[output.node], &|_| None);
    let values = values.map_err(|error| c.domain(error.message()))?;
    let numbers = Numbers::new(values[0].shape().extents(), values[0].values().to_vec());
    if c.returns.array_parts().1 == &Type::Int {
        let ints = numbers.values.iter().map(|x| *x as i64).collect();
        return Ok(numeric::from_ints(Numbers::new(numbers.shape, ints)));
    }
    Ok(numeric::from_reals(numbers))
}
