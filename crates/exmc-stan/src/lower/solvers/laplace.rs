//! The embedded Laplace approximation: a log likelihood of latent normal variables and their
//! covariance -> the log of the likelihood with these integrated out, and their conditional normal
//! distribution.
//!
//! The likelihood is walked once into a graph of its own, with its gradient and Hessian by the
//! latent variables. Newton's method on $\log p(y\mid\theta) - \tfrac12\theta^\top K^{-1}\theta$
//! finds the mode in a loop, without inverses of K; steps that do not climb are shortened. One more
//! step, in which only the residual varies, carries the derivatives of the mode (those of the
//! implicit function theorem), so that the gradient of the whole is exact to the order of the
//! approximation itself. **Reference**: Rasmussen and Williams 2006, chapter 3; Margossian et
//! al. 2020.

use std::sync::Arc;

use exmc_graph::{
    DType, Dependence, Graph, GraphError, NodeId, Op, Reduction, Role, ScanBody, Shape, SharedBody,
    Tensor, differentiate, evaluate,
};
use exmc_model::KnownSupports;

use super::ode::{Call, has_lanes, real_node};
use crate::diagnostic::Diagnostic;
use crate::families::{Family, families};
use crate::host::Environment;
use crate::library::{Argument, density};
use crate::lower::abort::{Abort, LowerResult, runtime, unsupported};
use crate::lower::variables::lane_value::{Form, LaneValue, from_tensor, ints};
use crate::lower::{Lowering, Options};
use crate::source::Span;
use crate::typed::{Expr, ExprKind, FunctionId, Program, Type};
use crate::value::Value;

/// Steps of the loop that finds the mode; a handful is enough near it, shortened ones come first.
const STEPS: usize = 60;
/// How far the mode may be from solving its equation, relative to its size (at least one).
const RESIDUAL: f64 = 1e-6;

/// Stan's default tolerance and what follows it among control values; here they are handed on, not
/// used.
const TOLERANCE: f64 = 1.49012e-8;
const CONTROL: [i64; 4] = [500, 1, 1000, 1];

/// What stands for the likelihood.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Likelihood {
    Function(FunctionId),
    /// A family by the name of its density, and how many arguments it takes.
    Family(String, usize),
}

/// A call taken apart: positions among its flat list of values.
pub(in crate::lower) struct Spec<'c> {
    name: &'c str,
    likelihood: Likelihood,
    /// Values that the likelihood gets; then comes the size of blocks.
    given: usize,
    covariance: FunctionId,
    /// Values that the covariance gets.
    passed: usize,
    span: Span,
}

/// What the approximation gives.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Approximation {
    pub(in crate::lower) marginal: NodeId,
    mode: NodeId,
    covariance: NodeId,
}

/// Whether a name is that of one of these functions.
pub(crate) fn is_laplace(name: &str) -> bool {
    name.starts_with("laplace_marginal") || name.starts_with("laplace_latent")
}

/// Whether a name is that of one that gives the mode and the factor of its covariance.
pub(crate) fn is_laplace_solve(name: &str) -> bool {
    name.starts_with("laplace_latent_solve")
}

/// Control values with Stan's defaults: a start (zeros, if it is a number of them), tolerance, most
/// steps, solver, most shortened steps, and whether another solver may take over.
pub(in crate::lower) fn options(start: &LaneValue) -> LaneValue {
    let start = match start.as_known() {
        Some(Value::Int(count)) => {
            LaneValue::known(Value::reals(vec![0.0; usize::try_from(*count).unwrap_or(0)]))
        }
        _ => start.clone(),
    };
    let mut slots = vec![start, LaneValue::real(TOLERANCE)];
    slots.extend(CONTROL.map(|n| LaneValue::known(Value::Int(n))));
    LaneValue::tuple(slots)
}

/// The same on values.
pub(crate) fn options_on_values(start: &Value) -> Value {
    let start = match start {
        Value::Int(count) => Value::reals(vec![0.0; usize::try_from(*count).unwrap_or(0)]),
        start => start.clone(),
    };
    let mut slots = vec![start, Value::Real(TOLERANCE)];
    slots.extend(CONTROL.map(Value::Int));
    Value::Tuple(slots)
}

/// The density of the family that a function of this name is for, and how many arguments the
/// family takes in it.
fn family(name: &str) -> Option<(String, usize)> {
    let argument_count = |family: &Family| family.laplace.filter(|_| name.contains(family.name));
    let (family, count) = families().find_map(|family| Some((family, argument_count(family)?)))?;
    Some((format!("{}_{}", family.name, family.density_suffix()), count))
}

/// The call's form, and its values in a row as `value` gives them for its expressions.
pub(in crate::lower) fn take_apart<'c>(
    name: &'c str,
    args: &[Expr],
    span: Span,
    mut value: impl FnMut(usize, &Expr) -> LowerResult<LaneValue>,
) -> LowerResult<(Spec<'c>, Vec<(LaneValue, Type)>)> {
    let wrong = || unsupported(span, format!("this call of `{name}`"));
    let function = |k: usize| match args.get(k).map(|arg| &arg.kind) {
        Some(ExprKind::Function { function, .. }) => Ok(*function),
        _ => Err(unsupported(span, format!("`{name}` of a library function"))),
    };
    let slots = |k: usize,
                 value: &mut dyn FnMut(usize, &Expr) -> LowerResult<LaneValue>,
                 values: &mut Vec<(LaneValue, Type)>|
     -> LowerResult<usize> {
        let expr = args.get(k).ok_or_else(wrong)?;
        match (value(k, expr)?.form, &expr.ty) {
            (Form::Tuple(slots), Type::Tuple(types)) => {
                let count = slots.len();
                values.extend(slots.into_iter().zip(types.iter().cloned()));
                Ok(count)
            }
            _ => Err(wrong()),
        }
    };
    let mut values = Vec::new();
    let (likelihood, given, next) = match family(name) {
        Some((density, count)) => {
            for (k, expr) in args.iter().take(count).enumerate() {
                values.push((value(k, expr)?, expr.ty.clone()));
            }
            (Likelihood::Family(density, count), count, count)
        }
        None => (Likelihood::Function(function(0)?), slots(1, &mut value, &mut values)?, 2),
    };
    let size = args.get(next).ok_or_else(wrong)?;
    values.push((value(next, size)?, Type::Int));
    let covariance = function(next + 1)?;
    let passed = slots(next + 2, &mut value, &mut values)?;
    if args.len() > next + 3 {
        slots(next + 3, &mut value, &mut values)?;
    }
    Ok((Spec { name, likelihood, given, covariance, passed, span }, values))
}

/// Why a call cannot be made.
pub(in crate::lower) fn lost(stop: Abort, name: &str, span: Span) -> Box<Diagnostic> {
    match stop {
        Abort::Mistake(diagnostic) => diagnostic,
        _ => Box::new(Diagnostic::error(
            crate::diagnostic::Class::Unsupported,
            span,
            format!("a loop of a function given to `{name}`"),
        )),
    }
}

/// The mode and the covariance around it of `laplace_latent_…`, the marginal of
/// `laplace_marginal…`, on values: all three.
///
/// # Errors
/// What the lowering refuses, and what goes wrong with these values.
pub(crate) fn laplace_on_values(
    program: &Program,
    name: &str,
    args: &[Expr],
    values: &[Option<Value>],
    span: Span,
) -> Result<[Value; 3], Box<Diagnostic>> {
    let (apart, _) = crate::lower::split_tuples::take_tuples_apart(program);
    let environment = Environment::new(program);
    let mut lowering = Lowering::new(&apart, program, &environment, Options::default());
    let known = |k: usize, _: &Expr| match values.get(k) {
        Some(Some(value)) => Ok(crate::lower::variables::host_conversion::from_host(value.clone())),
        _ => Err(unsupported(span, "an argument without a value")),
    };
    let found = take_apart(name, args, span, known)
        .and_then(|(spec, values)| lowering.approximation(&spec, &values));
    let diagnostic = |stop| lost(stop, name, span);
    let found = found.map_err(diagnostic)?;
    let all = [found.marginal, found.mode, found.covariance];
    let tensors = evaluate(&lowering.sink.graph, &all, &|_| None)
        .map_err(|error| diagnostic(runtime(span, error.to_string())))?;
    if tensors[0].as_scalar().is_none_or(f64::is_nan) {
        return Err(diagnostic(runtime(span, format!("`{name}` finds no mode for these values"))));
    }
    Ok([0, 1, 2].map(|k: usize| from_tensor(&tensors[k], false)))
}

impl Lowering<'_> {
    /// `laplace_marginal…(…)` and `laplace_latent_solve…(…)`; nothing if `name` is none of these.
    pub(in crate::lower) fn laplace(
        &mut self,
        name: &str,
        args: &[Expr],
        returns: &Type,
        span: Span,
    ) -> LowerResult<Option<LaneValue>> {
        if !name.starts_with("laplace_marginal") && !is_laplace_solve(name) {
            return Ok(None);
        }
        let (spec, values) = take_apart(name, args, span, |_, expr| self.evaluate(expr))?;
        let run = |this: &mut Self, values: &[(LaneValue, Type)]| {
            let found = this.approximation(&spec, values)?;
            let all = match is_laplace_solve(name) {
                // Where no mode is found the marginal is no number.
                true => {
                    let g = &mut this.sink.graph;
                    let scale = g.cholesky(found.covariance);
                    let solved = g.unary(exmc_graph::Unary::IsFinite, found.marginal);
                    let nan = g.scalar(f64::NAN);
                    [found.mode, scale].map(|node| {
                        let shape = g.shape(node).clone();
                        let [solved, nan] = [solved, nan].map(|x| g.broadcast_to(x, &shape));
                        g.select(solved, node, nan)
                    })
                }
                false => [found.marginal; 2],
            };
            let all = &all[usize::from(!is_laplace_solve(name))..];
            let is_known = |g: &Graph, id: &NodeId| g.dependence(*id) == Dependence::Constant;
            if !all.iter().all(|node| is_known(&this.sink.graph, node)) {
                let nodes = all.iter().map(|node| LaneValue::node(*node, false));
                return Ok(one_or_tuple(nodes.collect()));
            }
            let known = evaluate(&this.sink.graph, all, &|_| None);
            let known = known.map_err(|error| runtime(span, error.to_string()))?;
            if known.iter().any(|tensor| tensor.values().iter().any(|x| x.is_nan())) {
                return Err(runtime(span, format!("`{name}` finds no mode for these data")));
            }
            let known = known.iter().map(|tensor| LaneValue::known(from_tensor(tensor, false)));
            Ok(one_or_tuple(known.collect()))
        };
        if values.iter().any(|(value, _)| has_lanes(value)) {
            return self.lane_by_lane(&values, returns, span, run).map(Some);
        }
        run(self, &values).map(Some)
    }

    pub(in crate::lower) fn approximation(
        &mut self,
        spec: &Spec<'_>,
        values: &[(LaneValue, Type)],
    ) -> LowerResult<Approximation> {
        let Spec { name, given, passed, span, .. } = *spec;
        let (of_likelihood, rest) = values.split_at(given);
        let block = rest[0].0.as_known().and_then(ints).and_then(|all| all.first().copied());
        let (of_covariance, options) = rest[1..].split_at(passed);
        let plain = |list: &[(LaneValue, Type)]| -> Vec<LaneValue> {
            list.iter().map(|(value, _)| value.clone()).collect()
        };
        let covariance =
            self.call_with(spec.covariance, false, (plain(of_covariance), &[]), span)?;
        let Some(covariance) = covariance else {
            return Err(runtime(span, format!("the covariance of `{name}` has no value")));
        };
        let covariance = real_node(&mut self.sink.graph, &covariance);
        let n = match *self.sink.graph.shape(covariance).extents() {
            [rows, columns] if rows == columns && rows > 0 => rows,
            _ => {
                let shape = self.sink.graph.shape(covariance);
                let message = format!("`{name}`: the covariance must be square, found {shape}");
                return Err(runtime(span, message));
            }
        };
        let block = block.and_then(|block| usize::try_from(block).ok()).unwrap_or(0);
        if block == 0 || n % block != 0 {
            let message = format!("`{name}`: blocks of {block} do not divide {n} latent variables");
            return Err(runtime(span, message));
        }
        let local = self.local(spec, of_likelihood, n, block)?;
        let start = match options.first() {
            Some((start, _)) => Some(real_node(&mut self.sink.graph, start)),
            None => None,
        };
        if start.is_some_and(|start| *self.sink.graph.shape(start) != Shape::from([n])) {
            let message = format!("`{name}`: the start must have {n} elements");
            return Err(runtime(span, message));
        }
        let g = &mut self.sink.graph;
        let found = approximate(g, &local, covariance, start, n);
        found.map_err(|error| unsupported(span, format!("`{name}`: {error}")))
    }

    /// The log likelihood as a graph of its own.
    fn local(
        &mut self,
        spec: &Spec<'_>,
        values: &[(LaneValue, Type)],
        n: usize,
        block: usize,
    ) -> LowerResult<Local> {
        let span = spec.span;
        let (mut graph, value, passed) = match &spec.likelihood {
            Likelihood::Function(function) => {
                let (name, function) = (spec.name, *function);
                let call = Call { name, function, unit: "likelihoods", span };
                let extras: Vec<&LaneValue> = values.iter().map(|(value, _)| value).collect();
                let mut outer = std::mem::take(&mut self.sink.graph);
                let inputs = [("y", Shape::from([n]))];
                let found = self.walked(&mut outer, &call, &inputs, &extras, Shape::scalar());
                self.sink.graph = outer;
                found?
            }
            Likelihood::Family(density, _) => self.family_likelihood(spec, density, values, n)?,
        };
        let passed = match passed.as_slice() {
            [] => None,
            vectors => Some(self.sink.graph.concat(vectors, 0)),
        };
        let refused = |error: GraphError| unsupported(span, format!("`{}`: {error}", spec.name));
        let theta = graph.input("y", Role::Parameter, Shape::from([n]), DType::Real);
        let theta = theta.map_err(refused)?;
        let gradient = differentiate(&mut graph, value, &[theta]).map_err(refused)?[0];
        // Products with vectors that pick one column of every block give the Hessian's blocks.
        let mut curvature = None;
        for j in 0..block {
            let picks: Vec<f64> = (0..n).map(|k| f64::from(u8::from(k % block == j))).collect();
            let picks = graph.constant(Tensor::vector(&picks));
            let product = graph.mul(gradient, picks);
            let sum = graph.sum(product);
            let column = differentiate(&mut graph, sum, &[theta]).map_err(refused)?[0];
            let column = graph.reshape(column, [n, 1]);
            let place = |index: usize| -> f64 {
                let (row, other) = (index / n, index % n);
                if other == row / block * block + j { -1.0 } else { 0.0 }
            };
            let places: Vec<f64> = (0..n * n).map(place).collect();
            let places = Tensor::real([n, n], places).expect("a square matrix");
            let places = graph.constant(places);
            let part = graph.mul(column, places);
            curvature = Some(curvature.map_or(part, |sum| graph.add(sum, part)));
        }
        let curvature = curvature.expect("a block has a column");
        Ok(Local { graph, outputs: [value, gradient, curvature], passed })
    }

    /// A family's: outcomes, the latent variable of each, (dispersions,) offsets of the latent
    /// variables.
    fn family_likelihood(
        &mut self,
        spec: &Spec<'_>,
        name: &str,
        values: &[(LaneValue, Type)],
        n: usize,
    ) -> LowerResult<(Graph, NodeId, Vec<NodeId>)> {
        let span = spec.span;
        let [(outcomes, _), (index, _), rest @ ..] = values else {
            return Err(unsupported(span, format!("this call of `{}`", spec.name)));
        };
        let known = |value: &LaneValue| value.as_known().and_then(ints).map(|all| all.to_vec());
        let (Some(outcomes), Some(index)) = (known(outcomes), known(index)) else {
            return Err(unsupported(span, "outcomes that depend on parameters"));
        };
        if outcomes.len() != index.len() {
            let (a, b) = (outcomes.len(), index.len());
            let message = format!("`{}`: {a} outcomes, but {b} indices", spec.name);
            return Err(runtime(span, message));
        }
        if let Some(wrong) = index.iter().find(|k| !(1..=n as i64).contains(*k)) {
            let message = format!("`{}`: index {wrong} is out of range 1..{n}", spec.name);
            return Err(runtime(span, message));
        }
        let mut graph = Graph::new();
        let count = outcomes.len();
        let vector = |g: &mut Graph, all: Vec<f64>| {
            let tensor = Tensor::int([all.len()], all).expect("whole numbers");
            g.constant(tensor)
        };
        let y = vector(&mut graph, outcomes.iter().map(|y| *y as f64).collect());
        let index = vector(&mut graph, index.iter().map(|k| (*k - 1) as f64).collect());
        let input = |g: &mut Graph, name: &str, len: usize| {
            let input = g.input(name, Role::Parameter, Shape::from([len]), DType::Real);
            input.expect("a new graph has no input of another kind")
        };
        let theta = input(&mut graph, "y", n);
        let mut passed = Vec::new();
        let mut offset = 0;
        let total: usize = rest
            .iter()
            .map(|(value, _)| value.shape(&self.sink.graph).iter().product::<usize>())
            .sum();
        let all = input(&mut graph, "values", total.max(1));
        let mut parts = Vec::new();
        for (value, _) in rest {
            let node = real_node(&mut self.sink.graph, value);
            let len = self.sink.graph.shape(node).len();
            if len != n && !(len == 1 && parts.is_empty() && rest.len() == 2) {
                let message = format!("`{}`: {len} numbers for {n} latent variables", spec.name);
                return Err(runtime(span, message));
            }
            passed.push(self.sink.graph.reshape(node, [len]));
            let part = graph.slice(all, 0, offset, offset + len);
            parts.push(if len == n { part } else { graph.broadcast_to(part, &Shape::from([n])) });
            offset += len;
        }
        let shift = *parts.last().expect("there are offsets");
        let location = graph.add(theta, shift);
        let location = graph.gather(location, index);
        let argument = |node, ty: Type| Argument { node, ty, batched: false };
        let mut args = vec![argument(y, Type::Int.array(1)), argument(location, Type::Vector)];
        if let [dispersion, _] = parts[..] {
            let dispersions = graph.gather(dispersion, index);
            args.push(argument(dispersions, Type::Vector));
        }
        if count == 0 {
            let zero = graph.scalar(0.0);
            return Ok((graph, zero, passed));
        }
        let found = density(&mut graph, &mut KnownSupports::default(), name, &args);
        let found = found.map_err(|error| unsupported(span, format!("`{name}`: {error}")))?;
        let mut value = found.number(&mut graph).node;
        for check in &found.checks {
            let nan = graph.scalar(f64::NAN);
            value = graph.select(check.holds, value, nan);
        }
        Ok((graph, value, passed))
    }
}

fn one_or_tuple(mut values: Vec<LaneValue>) -> LaneValue {
    if values.len() == 1 { values.remove(0) } else { LaneValue::tuple(values) }
}

/// A log likelihood of latent variables `y`, given one vector `values`.
struct Local {
    graph: Graph,
    /// The log likelihood, its gradient and the negative of its Hessian.
    outputs: [NodeId; 3],
    passed: Option<NodeId>,
}

impl Local {
    fn evaluate_at(
        &self,
        g: &mut Graph,
        theta: NodeId,
        values: Option<NodeId>,
    ) -> Result<[NodeId; 3], GraphError> {
        let found = g.import::<GraphError>(&self.graph, &self.outputs, |_, _, name| {
            Ok(if name == "y" { Some(theta) } else { values })
        })?;
        Ok([found[0], found[1], found[2]])
    }
}

fn dot(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    let product = g.mul(a, b);
    g.sum(product)
}

/// $I + KW$
fn one_plus(g: &mut Graph, covariance: NodeId, curvature: NodeId, n: usize) -> NodeId {
    let identity = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect::<Vec<f64>>();
    let identity = g.constant(Tensor::real([n, n], identity).expect("a square matrix"));
    let product = g.matmul(covariance, curvature);
    g.add(identity, product)
}

/// One step of Newton's method, shortened where the last one did not climb.
fn step(local: &Local, n: usize) -> Result<ScanBody, GraphError> {
    let mut g = Graph::new();
    let vector = Shape::from([n]);
    let mut input =
        |name: &str, shape: &Shape| g.input(name, Role::Parameter, shape.clone(), DType::Real);
    let (theta, a) = (input("carry0", &vector)?, input("carry1", &vector)?);
    let (share, height) = (input("carry2", &Shape::scalar())?, input("carry3", &Shape::scalar())?);
    let covariance = input("fixed0", &Shape::from([n, n]))?;
    let values = match local.graph.find_input("values") {
        Some(values) => Some(input("fixed1", local.graph.shape(values))?),
        None => None,
    };
    let [_, gradient, curvature] = local.evaluate_at(&mut g, theta, values)?;
    let pulled = g.matmul(curvature, theta);
    let b = g.add(pulled, gradient);
    let matrix = one_plus(&mut g, covariance, curvature, n);
    let right = g.matmul(covariance, b);
    let full = g.solve(matrix, right);
    let weighted = g.matmul(curvature, full);
    let full_a = g.sub(b, weighted);
    let part = |g: &mut Graph, from: NodeId, to: NodeId| {
        let difference = g.sub(to, from);
        let moved = g.mul(share, difference);
        g.add(from, moved)
    };
    let (next, next_a) = (part(&mut g, theta, full), part(&mut g, a, full_a));
    let [log, _, _] = local.evaluate_at(&mut g, next, values)?;
    let square = dot(&mut g, next, next_a);
    let half = g.scale(square, 0.5);
    let reached = g.sub(log, half);
    // Rounding makes the last steps go up and down.
    let size = g.abs(height);
    let slack = g.scale(size, 1e-12);
    let slack = g.shift(slack, 1e-12);
    let zero = g.scalar(0.0);
    let is_start = g.unary(exmc_graph::Unary::IsFinite, height);
    let slack = g.select(is_start, slack, zero);
    let least = g.sub(height, slack);
    let climbs = g.le(least, reached);
    let one = g.scalar(1.0);
    let (longer, shorter) = (g.scale(share, 2.0), g.scale(share, 0.25));
    let longer = g.min(longer, one);
    let outputs = [(next, theta), (next_a, a), (longer, shorter), (reached, height)];
    let next = outputs.map(|(new, old)| {
        let shape = g.shape(new).clone();
        let climbs = g.broadcast_to(climbs, &shape);
        g.select(climbs, new, old)
    });
    let fixed = 1 + usize::from(values.is_some());
    Ok(ScanBody { graph: g, next: next.to_vec(), stacked: Vec::new(), counts: [4, 0, fixed] })
}

fn approximate(
    g: &mut Graph,
    local: &Local,
    covariance: NodeId,
    start: Option<NodeId>,
    n: usize,
) -> Result<Approximation, GraphError> {
    let origin = g.filled(&Shape::from([n]), 0.0);
    let (theta, a) = match start {
        Some(start) if g.as_uniform(start) != Some(0.0) => (start, g.solve(covariance, start)),
        _ => (origin, origin),
    };
    let (one, lowest) = (g.scalar(1.0), g.scalar(f64::NEG_INFINITY));
    let mut args = vec![theta, a, one, lowest, covariance];
    args.extend(local.passed);
    let body = SharedBody(Arc::new(step(local, n)?));
    let scan = g.apply(Op::Scan { length: STEPS, reverse: false, body }, &args)?;
    let mode = g.apply(Op::Project(0), &[scan])?;
    let mode = g.apply(Op::Hold, &[mode])?;

    let [_, gradient, curvature] = local.evaluate_at(g, mode, local.passed)?;
    let pulled = g.matmul(covariance, gradient);
    let residual = g.sub(pulled, mode);
    let held = |g: &mut Graph, x: NodeId| g.apply(Op::Hold, &[x]);
    let (fixed, curved, slope) = (held(g, covariance)?, held(g, curvature)?, held(g, gradient)?);
    let matrix = one_plus(g, fixed, curved, n);
    let moved = g.solve(matrix, residual);
    let theta = g.add(mode, moved);
    let [log, _, curvature] = local.evaluate_at(g, theta, local.passed)?;
    // -theta' K^-1 theta / 2 to first order around the mode, where K^-1 theta is the gradient.
    let linear = dot(g, slope, theta);
    let product = g.matmul(covariance, slope);
    let square = dot(g, slope, product);
    let half = g.scale(square, 0.5);
    let matrix = one_plus(g, covariance, curvature, n);
    let log_determinant = g.log_abs_det(matrix);
    let volume = g.scale(log_determinant, 0.5);
    let sum = g.sub(log, linear);
    let sum = g.add(sum, half);
    let sum = g.sub(sum, volume);
    let sizes = [residual, mode].map(|x| {
        let size = g.abs(x);
        g.reduce(Reduction::Max, size, &[0])
    });
    let allowed = g.shift(sizes[1], 1.0);
    let allowed = g.scale(allowed, RESIDUAL);
    let solved = g.le(sizes[0], allowed);
    let nan = g.scalar(f64::NAN);
    let marginal = g.select(solved, sum, nan);
    let around = g.solve(matrix, covariance);
    Ok(Approximation { marginal, mode: theta, covariance: around })
}
