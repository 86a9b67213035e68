//! A call of a Laplace approximation at numbers, some of which derivatives are wanted by -> its
//! graph with these as inputs.

use exmc_graph::{DType, Dependence, Graph, NodeId, Role, Shape, Unary};

use super::laplace::{lost, take_apart};
use crate::diagnostic::Diagnostic;
use crate::host::Environment;
use crate::lower::abort::unsupported;
use crate::lower::variables::lane_value::{Form, LaneValue, reals};
use crate::lower::{Lowering, Options};
use crate::source::Span;
use crate::typed::{Expr, Program};
use crate::value::Value;

/// An argument: its value, and marks of the same form that are not 0 where derivatives are wanted.
pub(crate) type Marked = (Value, Option<Value>);

/// The graph of a call.
#[derive(Debug)]
pub(crate) struct LaplaceGraph {
    pub(crate) graph: Graph,
    /// The log of the marginal likelihood.
    pub(crate) marginal: NodeId,
    /// Whether what the functions given require holds.
    pub(crate) holds: NodeId,
    /// Inputs with their offsets, in the order of [`marked_numbers`].
    pub(crate) inputs: Vec<(NodeId, usize)>,
    pub(crate) dim: usize,
}

/// Walks the arrays of a value that have marks; each may be replaced.
fn replaced(
    value: LaneValue,
    marks: &LaneValue,
    replace: &mut dyn FnMut(&Value, &Value) -> Option<LaneValue>,
) -> LaneValue {
    match (value.form, &marks.form) {
        (Form::Tuple(slots), Form::Tuple(marks)) => {
            let pairs = slots.into_iter().zip(marks);
            LaneValue::tuple(pairs.map(|(slot, marks)| replaced(slot, marks, replace)).collect())
        }
        (Form::Known(known), Form::Known(marks)) => {
            let is_int = matches!(known, Value::Int(_) | Value::Ints(_));
            let is_marked = !is_int && reals(marks).iter().any(|mark| *mark != 0.0);
            let new = if is_marked { replace(&known, marks) } else { None };
            new.unwrap_or(LaneValue { form: Form::Known(known), lanes: false })
        }
        (form, _) => LaneValue { form, lanes: value.lanes },
    }
}

/// The numbers of all arrays with marks, and their marks.
pub(crate) fn marked_numbers(args: &[Option<Marked>]) -> (Vec<f64>, Vec<f64>) {
    let (mut numbers, mut all) = (Vec::new(), Vec::new());
    for (value, marks) in args.iter().flatten() {
        let Some(marks) = marks else { continue };
        let (value, marks) = (LaneValue::known(value.clone()), LaneValue::known(marks.clone()));
        replaced(value, &marks, &mut |known, marks| {
            numbers.extend_from_slice(&reals(known));
            all.extend_from_slice(&reals(marks));
            None
        });
    }
    (numbers, all)
}

/// The graph of a call of `laplace_marginal…`; functions have no value among the arguments.
///
/// # Errors
/// What the lowering refuses, and what is wrong with known values.
pub(crate) fn laplace_of_numbers(
    program: &Program,
    name: &str,
    args: &[Expr],
    values: &[Option<Marked>],
    span: Span,
) -> Result<LaplaceGraph, Box<Diagnostic>> {
    let (apart, _) = crate::lower::split_tuples::take_tuples_apart(program);
    let environment = Environment::new(program);
    let mut lowering = Lowering::new(&apart, program, &environment, Options::default());
    let (mut inputs, mut dim) = (Vec::new(), 0);
    let mut all = Vec::with_capacity(values.len());
    for argument in values {
        let Some((value, marks)) = argument else {
            all.push(None);
            continue;
        };
        let value = LaneValue::known(value.clone());
        let Some(marks) = marks else {
            all.push(Some(value));
            continue;
        };
        let graph = &mut lowering.sink.graph;
        let mut declare = |known: &Value, _: &Value| {
            let shape = Shape::from(known.shape());
            let (len, input) = (shape.len(), format!("number{dim}"));
            let node = graph.input(&input, Role::Parameter, shape, DType::Real).ok()?;
            inputs.push((node, dim));
            dim += len;
            Some(LaneValue::node(node, false))
        };
        all.push(Some(replaced(value, &LaneValue::known(marks.clone()), &mut declare)));
    }
    let given = |k: usize, _: &Expr| match all.get(k) {
        Some(Some(value)) => Ok(value.clone()),
        _ => Err(unsupported(span, "an argument without a value")),
    };
    let found = take_apart(name, args, span, given)
        .and_then(|(spec, values)| lowering.approximation(&spec, &values))
        .map_err(|stop| lost(stop, name, span))?;
    for (_, term) in std::mem::take(&mut lowering.env.terms.list) {
        let finite = lowering.sink.graph.unary(Unary::IsFinite, term);
        lowering.env.terms.required.push(finite);
    }
    let holds = match lowering.all_required() {
        Some(holds) => holds,
        None => lowering.sink.graph.scalar(1.0),
    };
    debug_assert!(lowering.sink.graph.dependence(found.marginal) != Dependence::Data);
    let graph = lowering.sink.graph;
    Ok(LaplaceGraph { graph, marginal: found.marginal, holds, inputs, dim })
}
