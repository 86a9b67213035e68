//! `laplace_marginal…` on the tape: the graph of the call with the numbers that have places as
//! inputs, compiled with its slopes once for each call and what is known in it.

use std::sync::{Arc, Mutex};

use exmc_exec::{Executor, FunctionInstance, FunctionSource, compile_function};
use exmc_graph::differentiate;

use crate::host::error::{Fault, Outcome};
use crate::host::higher_order::refused;
use crate::lower::laplace_of_numbers;
use crate::lower::{Marked, marked_numbers};
use crate::source::Span;
use crate::typed::Expr;
use crate::value::{Numbers, Value};

use super::Tracer;
use super::higher_order::is_function;
use super::one_call::lock;
use super::record::Id;
use super::traced::Traced;

/// The most calls that are kept compiled.
const MAX_KEPT: usize = 32;

/// A compiled call: its value, whether what it requires holds, and its slopes.
pub(super) struct LaplaceCall {
    name: String,
    span: Span,
    /// What is known of each argument, and which of its arrays are not.
    known: Vec<Option<Marked>>,
    instance: Arc<Mutex<FunctionInstance>>,
}

impl Tracer<'_> {
    /// A call of `laplace_marginal…`, or of what has no derivative: `laplace_latent_…`.
    pub(super) fn laplace(&mut self, name: &str, args: &[Expr], span: Span) -> Outcome<Traced> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(if is_function(arg) { None } else { Some(self.trace(arg)?) });
        }
        // All but the marginal are of data; what may depend on parameters is where their search
        // starts.
        let is_data = !name.starts_with("laplace_marginal");
        if is_data || values.iter().flatten().all(|value| value.ids.is_none()) {
            let values: Vec<_> = values.into_iter().map(|value| Some(value?.value)).collect();
            return self.host.laplace_of(name, args, &values, span).map(Traced::known);
        }
        let values: Vec<Option<Marked>> = values
            .into_iter()
            .map(|value| value.map(|Traced { value, ids }| (value, ids)))
            .collect();
        let (point, places) = marked_numbers(&values);
        let instance = self.compiled_laplace(name, args, &values, span)?;
        let mut out = vec![0.0; 2 + point.len()];
        let located = |message: String| Fault::domain(message).at(span);
        let done = lock(&instance).evaluate(&point, &mut out);
        done.map_err(|error| located(format!("{name}: {error}")))?;
        if out[1] == 0.0 {
            return Err(located(format!(
                "{name}: an argument inside of its functions is not valid"
            )));
        }
        if out[0].is_nan() {
            return Err(located(format!("`{name}` finds no mode for these values")));
        }
        let ids = places.iter().map(|place| *place as Id);
        let id = self.tape.many(ids.zip(out[2..].iter().copied()));
        Ok(Traced::number(out[0], id))
    }

    fn compiled_laplace(
        &mut self,
        name: &str,
        args: &[Expr],
        values: &[Option<Marked>],
        span: Span,
    ) -> Outcome<Arc<Mutex<FunctionInstance>>> {
        let known: Vec<Option<Marked>> = values.iter().map(|arg| arg.as_ref().map(known)).collect();
        let is_it =
            |call: &&LaplaceCall| call.span == span && call.name == name && call.known == known;
        if let Some(call) = self.laplace_calls.iter().find(is_it) {
            return Ok(call.instance.clone());
        }
        let found = laplace_of_numbers(self.host.program(), name, args, values, span);
        let mut found = found.map_err(|diagnostic| refused(*diagnostic))?;
        let broken = |what: &dyn std::fmt::Display| {
            Fault::unsupported(format!("the derivative of `{name}`: {what}")).at(span)
        };
        let inputs: Vec<_> = found.inputs.iter().map(|(node, _)| *node).collect();
        let slopes = differentiate(&mut found.graph, found.marginal, &inputs);
        let mut outputs = vec![found.marginal, found.holds];
        outputs.extend(slopes.map_err(|error| broken(&error.message()))?);
        let source = FunctionSource {
            graph: found.graph,
            outputs,
            parameters: found.inputs,
            dim: found.dim,
        };
        let function =
            compile_function(Executor::default(), &source).map_err(|error| broken(&error))?;
        let bound = function.bind(&|_| None).map_err(|error| broken(&error))?;
        let instance = Arc::new(Mutex::new(bound.instance()));
        if self.laplace_calls.len() >= MAX_KEPT {
            self.laplace_calls.clear();
        }
        let call = LaplaceCall { name: name.to_owned(), span, known, instance: instance.clone() };
        self.laplace_calls.push(call);
        Ok(instance)
    }
}

/// An argument without the numbers of its arrays that have places, which are marked by ones.
fn known((value, places): &Marked) -> Marked {
    let Some(places) = places else { return (value.clone(), None) };
    let (value, marks) = without(value, places);
    (value, Some(marks))
}

fn without(value: &Value, places: &Value) -> (Value, Value) {
    let is_marked = |places: &[f64]| places.iter().any(|place| *place != 0.0);
    match (value, places) {
        (Value::Tuple(slots), Value::Tuple(places)) => {
            let pairs = slots.iter().zip(places).map(|(slot, places)| without(slot, places));
            let (slots, marks) = pairs.unzip();
            (Value::Tuple(slots), Value::Tuple(marks))
        }
        (Value::Tuples(slots), Value::Tuples(places)) => {
            let pairs = slots.values.iter().zip(places.values.iter());
            let (values, marks) = pairs.map(|(slot, places)| without(slot, places)).unzip();
            let tuples_of =
                |values: Vec<Value>| Value::Tuples(Numbers::new(slots.shape.clone(), values));
            (tuples_of(values), tuples_of(marks))
        }
        (Value::Real(_), Value::Real(place)) if *place != 0.0 => {
            (Value::Real(0.0), Value::Real(1.0))
        }
        (Value::Reals(numbers), Value::Reals(places)) if is_marked(&places.values) => {
            let filled = |x: f64| Value::Reals(Numbers::filled(numbers.shape.clone(), x));
            (filled(0.0), filled(1.0))
        }
        (Value::Complex(_), Value::Complex(places)) if is_marked(places) => {
            (Value::Complex([0.0; 2]), Value::Complex([1.0; 2]))
        }
        (Value::Complexes(numbers), Value::Complexes(places))
            if is_marked(places.values.as_flattened()) =>
        {
            let filled = |x: f64| Value::Complexes(Numbers::filled(numbers.shape.clone(), [x; 2]));
            (filled(0.0), filled(1.0))
        }
        (value, _) => (value.clone(), Value::Int(0)),
    }
}
