//! Densities and distribution functions on values -> one number an outcome, compiled once for each
//! name and shape of arguments.

use exmc_exec::{Executor, FunctionInstance, FunctionSource, compile_function};
use exmc_graph::{DType, Graph, Role, Shape, Tensor};
use exmc_model::KnownSupports;
use rustc_hash::FxHashMap;

use crate::host::Fault;
use crate::host::library::Call;
use crate::host::library::density::needs_known_counts;
use crate::host::numeric;
use crate::library::{self, Argument};
use crate::typed::Type;

/// Functions that were compiled so far.
#[derive(Debug, Default)]
pub(crate) struct Elements {
    compiled: FxHashMap<Key, Compiled>,
    position: Vec<f64>,
    out: Vec<f64>,
}

/// What a function was compiled for.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    name: String,
    types: Vec<Type>,
    shapes: Vec<Vec<usize>>,
    /// The whole numbers that the graph has to know.
    known: Vec<i64>,
}

#[derive(Debug)]
struct Compiled {
    instance: FunctionInstance,
    /// How many numbers come before the conditions.
    count: usize,
    /// What the conditions' outputs must satisfy: not zero, or else this sentence.
    checks: Vec<String>,
}

/// The most functions that are kept.
const MAX_KEPT: usize = 4096;

impl Elements {
    /// The function's value at each outcome. It may be smaller than the outcome where all of it is
    /// one event.
    pub(super) fn of(&mut self, c: &Call<'_>) -> Result<Vec<f64>, Fault> {
        let knows = needs_known_counts(c.name);
        let is_known = |ty: &Type| knows && ty.array_parts().1 == &Type::Int;
        let mut known = Vec::new();
        self.position.clear();
        for (value, ty) in c.args.iter().zip(c.types) {
            if is_known(ty) {
                known.extend_from_slice(numeric::int_slice(value)?);
            } else {
                self.position.extend_from_slice(&numeric::real_slice(value)?);
            }
        }
        let key = Key {
            name: c.name.to_owned(),
            types: c.types.iter().map(|ty| (*ty).clone()).collect(),
            shapes: c.args.iter().map(|arg| arg.shape().to_vec()).collect(),
            known,
        };
        if self.compiled.len() >= MAX_KEPT && !self.compiled.contains_key(&key) {
            self.compiled.clear();
        }
        let entry = match self.compiled.entry(key) {
            std::collections::hash_map::Entry::Occupied(found) => found.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => free.insert(compile(c, &is_known)?),
        };
        self.out.resize(entry.count + entry.checks.len(), 0.0);
        let wrong = |what: &dyn std::fmt::Display| Fault::domain(format!("{}: {what}", c.name));
        let done = entry.instance.evaluate(&self.position, &mut self.out);
        done.map_err(|error| wrong(&error))?;
        let (terms, holds) = self.out.split_at(entry.count);
        if let Some(k) = holds.iter().position(|holds| *holds == 0.0) {
            return Err(wrong(&entry.checks[k]));
        }
        Ok(terms.to_vec())
    }
}

fn compile(c: &Call<'_>, is_known: &dyn Fn(&Type) -> bool) -> Result<Compiled, Fault> {
    let broken = |error: &dyn std::fmt::Display| Fault::unsupported(format!("{}: {error}", c.name));
    let mut graph = Graph::new();
    let (mut parameters, mut args, mut dim) = (Vec::new(), Vec::new(), 0);
    for (k, (value, ty)) in c.args.iter().zip(c.types).enumerate() {
        let shape = Shape::from(value.shape());
        let node = if is_known(ty) {
            let numbers: Vec<f64> = numeric::int_slice(value)?.iter().map(|i| *i as f64).collect();
            let tensor = Tensor::int(shape, numbers).ok_or_else(|| broken(&"no whole number"))?;
            graph.constant(tensor)
        } else {
            let len = shape.len();
            let node = graph.input(&format!("x{k}"), Role::Parameter, shape, DType::Real);
            let node = node.map_err(|error| broken(&error.message()))?;
            parameters.push((node, dim));
            dim += len;
            node
        };
        args.push(Argument { node, ty: (*ty).clone(), batched: false });
    }
    let mut supports = KnownSupports::default();
    let found = library::density(&mut graph, &mut supports, c.name, &args);
    let found = found.map_err(|error| broken(&error))?;
    let count = graph.shape(found.value.node).len();
    let mut outputs = vec![found.value.node];
    outputs.extend(found.checks.iter().map(|check| check.holds));
    let checks = found.checks.into_iter().map(|check| check.message).collect();
    let source = FunctionSource { graph, outputs, parameters, dim };
    let function = compile_function(Executor::default(), &source).map_err(|e| broken(&e))?;
    let bound = function.bind(&|_| None).map_err(|e| broken(&e))?;
    Ok(Compiled { instance: bound.instance(), count, checks })
}
