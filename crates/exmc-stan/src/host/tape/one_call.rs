//! A single library call as a graph: its value and derivatives, compiled once for a name, types,
//! sizes and integers.
//!
//! The graph has the one call and nothing of the program: what the program does with its result is
//! the tape's business.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use exmc_exec::{Executor, FunctionInstance, FunctionSource, compile_function};
use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor, differentiate};
use exmc_model::Transform;
use rustc_hash::{FxHashMap, FxHasher};

use crate::check::types::is_complex;
use crate::host::error::Fault;
use crate::host::library::Call;
use crate::host::library::density::{density_nodes, is_compiled, normalised, unnormalised_nodes};
use crate::library::{self, Argument, LibraryError};
use crate::typed::Type;
use crate::value::Value;

use super::Tracer;
use super::arithmetic::reals;
use super::record::Id;
use super::traced::{Traced, flatten};

/// The most calls that are kept compiled.
const MAX_KEPT: usize = 512;

/// What a call must have in common with another to share its program.
#[derive(Clone, Debug, PartialEq)]
struct Signature {
    name: String,
    types: Vec<Type>,
    shapes: Vec<Vec<usize>>,
    /// Values that the graph has as constants: integers, mostly.
    constants: Vec<Option<Value>>,
    /// Which arguments derivatives are taken by.
    traced: Vec<bool>,
    /// Of a density that leaves constant terms out, which arguments are of the type of parameters.
    varies: Option<Vec<bool>>,
}

/// A compiled call.
struct Compiled {
    signature: Signature,
    /// Of a density: its value, then checks, then slopes. Of a function: slopes given adjoints
    /// behind the arguments.
    instance: Arc<Mutex<FunctionInstance>>,
    checks: Vec<String>,
}

/// Calls that were compiled so far.
#[derive(Default)]
pub(super) struct Calls {
    compiled: Vec<Arc<Compiled>>,
    places: FxHashMap<u64, Vec<usize>>,
    point: Vec<f64>,
    out: Vec<f64>,
}

impl Calls {
    fn get(
        &mut self,
        c: &Call<'_>,
        constants: &dyn Fn(usize) -> bool,
        (traced, varies): (&[bool], Option<&[bool]>),
        make: impl FnOnce(&Signature) -> Result<Compiled, Fault>,
    ) -> Result<Arc<Compiled>, Fault> {
        let mut hasher = FxHasher::default();
        c.name.hash(&mut hasher);
        (traced, varies).hash(&mut hasher);
        for (k, value) in c.args.iter().enumerate() {
            c.types[k].hash(&mut hasher);
            value.shape().hash(&mut hasher);
            if constants(k) {
                for x in reals(value) {
                    x.to_bits().hash(&mut hasher);
                }
            }
        }
        let key = hasher.finish();
        for &place in self.places.get(&key).into_iter().flatten() {
            let known_signature = &self.compiled[place].signature;
            let is_it = known_signature.name == c.name
                && known_signature.traced == traced
                && known_signature.varies.as_deref() == varies
                && known_signature.types.iter().eq(c.types.iter().copied())
                && c.args.iter().enumerate().all(|(k, value)| {
                    known_signature.shapes[k] == value.shape()
                        && (!constants(k) || known_signature.constants[k].as_ref() == Some(value))
                });
            if is_it {
                return Ok(self.compiled[place].clone());
            }
        }
        let constant = |(k, value): (usize, &Value)| constants(k).then(|| value.clone());
        let signature = Signature {
            name: c.name.to_owned(),
            types: c.types.iter().map(|ty| (*ty).clone()).collect(),
            shapes: c.args.iter().map(|arg| arg.shape().to_vec()).collect(),
            constants: c.args.iter().enumerate().map(constant).collect(),
            traced: traced.to_vec(),
            varies: varies.map(<[bool]>::to_vec),
        };
        let compiled = Arc::new(make(&signature)?);
        if self.compiled.len() >= MAX_KEPT {
            self.compiled.clear();
            self.places.clear();
        }
        self.places.entry(key).or_default().push(self.compiled.len());
        self.compiled.push(compiled.clone());
        Ok(compiled)
    }
}

pub(super) fn lock(
    instance: &Mutex<FunctionInstance>,
) -> std::sync::MutexGuard<'_, FunctionInstance> {
    instance.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_whole(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Ints(_))
}

/// The graph of a call so far.
struct Building {
    graph: Graph,
    args: Vec<Argument>,
    parameters: Vec<(NodeId, usize)>,
    dim: usize,
    wanted: Vec<NodeId>,
}

impl Building {
    fn new(signature: &Signature) -> Result<Self, Fault> {
        let (mut graph, mut args) = (Graph::new(), Vec::new());
        let (mut parameters, mut dim, mut wanted) = (Vec::new(), 0, Vec::new());
        for (k, ty) in signature.types.iter().enumerate() {
            let mut shape = signature.shapes[k].clone();
            shape.extend(is_complex(ty).then_some(2));
            let shape = Shape::from(shape.as_slice());
            let node = match &signature.constants[k] {
                Some(value) => {
                    let mut values = reals(value);
                    let tensor = match is_whole(value) {
                        true => Tensor::int(shape, values),
                        false => Tensor::real(shape, std::mem::take(&mut values)),
                    };
                    let wrong = || Fault::unsupported(format!("`{}`: an argument", signature.name));
                    graph.constant(tensor.ok_or_else(wrong)?)
                }
                None => {
                    let len = shape.len();
                    let node = graph.input(&format!("x{k}"), Role::Parameter, shape, DType::Real);
                    let node = node.map_err(|error| Fault::unsupported(error.message()))?;
                    parameters.push((node, dim));
                    dim += len;
                    if signature.traced[k] {
                        wanted.push(node);
                    }
                    node
                }
            };
            args.push(Argument { node, ty: ty.clone(), batched: false });
        }
        Ok(Self { graph, args, parameters, dim, wanted })
    }

    /// Compiles outputs, and the slopes of a scalar behind them.
    fn compile(
        self,
        signature: Signature,
        mut outputs: Vec<NodeId>,
        scalar: NodeId,
        checks: Vec<String>,
    ) -> Result<Compiled, Fault> {
        let Self { mut graph, parameters, dim, wanted, .. } = self;
        let name = signature.name.clone();
        let broken = |what: &dyn std::fmt::Display| {
            Fault::unsupported(format!("the derivative of `{name}`: {what}"))
        };
        outputs
            .extend(differentiate(&mut graph, scalar, &wanted).map_err(|e| broken(&e.message()))?);
        let source = FunctionSource { graph, outputs, parameters, dim };
        let function = compile_function(Executor::default(), &source).map_err(|e| broken(&e))?;
        let bound = function.bind(&|_| None).map_err(|e| broken(&e))?;
        let instance = Arc::new(Mutex::new(bound.instance()));
        Ok(Compiled { signature, instance, checks })
    }
}

fn refused(name: &str, error: &LibraryError) -> Fault {
    match error {
        LibraryError::Mistake(message) => Fault::size(format!("{name}: {message}")),
        other => Fault::unsupported(format!("the derivative of `{name}`: {other}")),
    }
}

/// A density with its checks and slopes.
fn density(signature: &Signature) -> Result<Compiled, Fault> {
    let mut building = Building::new(signature)?;
    let (outputs, checks) = match &signature.varies {
        None => {
            let name = normalised(&signature.name);
            density_nodes(&name, &mut building.graph, &building.args)?
        }
        Some(varies) => {
            unnormalised_nodes(&signature.name, &mut building.graph, &building.args, varies)?
        }
    };
    let scalar = outputs[0];
    building.compile(signature.clone(), outputs, scalar, checks)
}

/// The slopes of a function, given adjoints of its elements.
fn function(signature: &Signature) -> Result<Compiled, (Option<usize>, Fault)> {
    let mut building = Building::new(signature).map_err(|fault| (None, fault))?;
    let name = &signature.name;
    let output = library::function(&mut building.graph, name, &building.args);
    let output = output.map_err(|error| {
        let unknown = match error {
            LibraryError::Unknown(k) | LibraryError::Varies(k) => Some(k),
            _ => None,
        };
        (unknown, refused(name, &error))
    })?;
    let scalar = building.contracted(output.node, "adjoint").map_err(|fault| (None, fault))?;
    building
        .compile(signature.clone(), Vec::new(), scalar, Vec::new())
        .map_err(|fault| (None, fault))
}

impl Building {
    /// The sum of a node's elements, each times an adjoint that is one more input.
    fn contracted(&mut self, node: NodeId, name: &str) -> Result<NodeId, Fault> {
        let shape = self.graph.shape(node).clone();
        let len = shape.len();
        let adjoint = self.graph.input(name, Role::Parameter, shape, DType::Real);
        let adjoint = adjoint.map_err(|error| Fault::unsupported(error.message()))?;
        self.parameters.push((adjoint, self.dim));
        self.dim += len;
        let product = self.graph.mul(node, adjoint);
        Ok(self.graph.sum(product))
    }
}

impl Tracer<'_> {
    /// A density or distribution function with its slopes; given which arguments are of the type of
    /// parameters, without constant terms.
    pub(super) fn density(
        &mut self,
        name: &str,
        args: &[Traced],
        types: &[&Type],
        varies: Option<&[bool]>,
    ) -> Result<Traced, Fault> {
        let values: Vec<Value> = args.iter().map(|arg| arg.value.clone()).collect();
        let c = Call { name, args: &values, types, returns: &Type::Real };
        if varies.is_some_and(|varies| !varies.contains(&true)) {
            // Nothing is left of it, but its arguments are checked.
            self.host.call_library(name, &values, types, &Type::Real)?;
            return Ok(Traced::known(Value::Real(0.0)));
        }
        let traced: Vec<bool> = args.iter().map(|arg| arg.ids.is_some()).collect();
        let picks = !is_compiled(name);
        let is_constant = |k: usize| picks && is_whole(&values[k]);
        let compiled = self.calls.get(&c, &is_constant, (&traced, varies), density)?;
        let Calls { point, out, .. } = &mut self.calls;
        point.clear();
        let mut count = 0;
        for (k, value) in values.iter().enumerate() {
            if !is_constant(k) {
                push_reals(value, point);
            }
            if traced[k] {
                count += elements(value);
            }
        }
        out.clear();
        out.resize(1 + compiled.checks.len() + count, 0.0);
        let wrong = |what: &dyn std::fmt::Display| Fault::domain(format!("{name}: {what}"));
        let done = lock(&compiled.instance).evaluate(point, out);
        done.map_err(|error| wrong(&error))?;
        let (results, slopes) = out.split_at(1 + compiled.checks.len());
        if let Some(k) = results[1..].iter().position(|holds| *holds == 0.0) {
            return Err(wrong(&compiled.checks[k]));
        }
        let mut ids = Vec::with_capacity(count);
        for arg in args {
            if let Some(places) = &arg.ids {
                flatten(places, &mut ids);
            }
        }
        let edges = ids.iter().map(|id| *id as Id).zip(slopes.iter().copied());
        let id = self.tape.many(edges);
        Ok(Traced::number(results[0], id))
    }

    /// The slopes of a call whose value is known.
    pub(super) fn by_graph(
        &mut self,
        name: &str,
        args: &[Traced],
        types: &[&Type],
        returns: &Type,
        value: Value,
    ) -> Result<Traced, Fault> {
        let values: Vec<Value> = args.iter().map(|arg| arg.value.clone()).collect();
        let c = Call { name, args: &values, types, returns };
        let mut constant: Vec<bool> = values.iter().map(is_whole).collect();
        let traced: Vec<bool> = args.iter().map(|arg| arg.ids.is_some()).collect();
        let compiled = loop {
            let mut unknown = None;
            let make = |signature: &Signature| {
                function(signature).map_err(|(argument, fault)| {
                    unknown = argument;
                    fault
                })
            };
            let found = self.calls.get(&c, &|k| constant[k], (&traced, None), make);
            match (found, unknown) {
                // It must be known before any parameter, and no derivative is asked for by it.
                (Err(_), Some(k)) if !constant[k] && !traced[k] => constant[k] = true,
                (found, _) => break found?,
            }
        };
        let mut point = Vec::new();
        for (k, arg_value) in values.iter().enumerate() {
            if !constant[k] {
                push_reals(arg_value, &mut point);
            }
        }
        let mut ids = Vec::new();
        for arg in args {
            if let Some(places) = &arg.ids {
                flatten(places, &mut ids);
            }
        }
        let ids: Vec<Id> = ids.into_iter().map(|id| id as Id).collect();
        if let Value::Real(x) = value {
            point.push(1.0);
            let out = &mut self.calls.out;
            out.clear();
            out.resize(ids.len(), 0.0);
            let done = lock(&compiled.instance).evaluate(&point, out);
            done.map_err(|error| Fault::domain(format!("{name}: {error}")))?;
            let id = self.tape.many(ids.into_iter().zip(out.iter().copied()));
            return Ok(Traced::number(x, id));
        }
        let instance = compiled.instance.clone();
        let count = elements(&value);
        let held = point.len() + ids.len();
        let pull = pull_by(instance, point, ids);
        let first = self.tape.group(count, held, pull);
        Ok(Traced::following(value, first))
    }

    /// The value of a change of variables with its log Jacobian, at numbers with places.
    pub(super) fn transform(
        &mut self,
        transform: &Transform,
        numbers: &[f64],
        places: &[Id],
        (unconstrained, inner): (&Shape, &Shape),
    ) -> Result<(Vec<f64>, Id, f64, Id), Fault> {
        let value = Value::reals(numbers.to_vec());
        let name = format!("{transform:?} {inner:?}");
        let (args, types) = ([value], [&Type::Vector]);
        let c = Call { name: &name, args: &args, types: &types, returns: &Type::Vector };
        let failed = |error: &dyn std::fmt::Display| Fault::domain(error.to_string());
        let build = |signature: &Signature, pulled: bool| -> Result<Compiled, Fault> {
            let mut graph = Graph::new();
            let z = graph.input("z", Role::Parameter, unconstrained.clone(), DType::Real);
            let z = z.map_err(|error| failed(&error.message()))?;
            let (value, log) = transform.constrain(&mut graph, z, inner);
            let log = log.unwrap_or_else(|| graph.scalar(0.0));
            let dim = unconstrained.len();
            let parameters = vec![(z, 0)];
            let mut building =
                Building { graph, args: Vec::new(), parameters, dim, wanted: vec![z] };
            if !pulled {
                building.wanted.clear();
                return building.compile(signature.clone(), vec![value, log], log, Vec::new());
            }
            let scalar = building.contracted(value, "value")?;
            let by_log = building.contracted(log, "log")?;
            let scalar = building.graph.add(scalar, by_log);
            building.compile(signature.clone(), Vec::new(), scalar, Vec::new())
        };
        let constant = |_: usize| false;
        let forward = self.calls.get(&c, &constant, (&[false], None), |s| build(s, false))?;
        let back = self.calls.get(&c, &constant, (&[true], None), |s| build(s, true))?;
        let mut out = vec![0.0; inner.len() + 1];
        lock(&forward.instance).evaluate(numbers, &mut out).map_err(|error| failed(&error))?;
        let log = out.pop().unwrap_or(f64::NAN);
        let count = out.len() + 1;
        let pull = pull_by(back.instance.clone(), numbers.to_vec(), places.to_vec());
        let first = self.tape.group(count, numbers.len() + places.len(), pull);
        Ok((out, first, log, first + (count - 1) as Id))
    }
}

/// Hands adjoints on by a compiled function of arguments and adjoints.
fn pull_by(
    instance: Arc<Mutex<FunctionInstance>>,
    point: Vec<f64>,
    ids: Vec<Id>,
) -> super::record::Pull {
    Box::new(move |adjoints: &[f64], below: &mut [f64]| {
        let inputs = [&point, adjoints].concat();
        let mut slopes = vec![0.0; ids.len()];
        if lock(&instance).evaluate(&inputs, &mut slopes).is_err() {
            slopes.fill(f64::NAN);
        }
        for (id, slope) in ids.iter().zip(&slopes) {
            if *id != 0 {
                below[*id as usize] += slope;
            }
        }
    })
}

/// How many real numbers a value has.
fn elements(value: &Value) -> usize {
    match value {
        Value::Int(_) | Value::Ints(_) => 0,
        Value::Complex(_) => 2,
        Value::Complexes(n) => 2 * n.len(),
        other => other.shape().iter().product(),
    }
}

fn push_reals(value: &Value, out: &mut Vec<f64>) {
    match value {
        Value::Int(i) => out.push(*i as f64),
        Value::Ints(n) => out.extend(n.values.iter().map(|i| *i as f64)),
        other => flatten(other, out),
    }
}
