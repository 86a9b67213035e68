//! Initial value problems: the user's right-hand side is walked once with symbolic time and state
//! into a graph of its own, which the solver's operation carries.
//!
//! What the right-hand side gets that depends on data only is known inside it; what depends on
//! parameters becomes one vector of values, of which the operation solves the sensitivities.

use exmc_graph::{
    Binary, DType, Dependence, Graph, NodeId, OdeArguments, Role, Shape, Tensor, Unary, evaluate,
    ode,
};
use exmc_math::{OdeControl, OdeMethod};

use crate::host::environment::Environment;
use crate::lower::Lowering;
use crate::lower::abort::{Abort, LowerResult, runtime, unsupported};
use crate::lower::variables::lane_value::{Form, LaneValue, from_tensor, reals};
use crate::ode::{INITIAL_TIME, OdeForm, START, TIMES, check_times};
use crate::source::Span;
use crate::typed::{Expr, ExprKind, FunctionId, Type};

/// How deep right-hand sides may solve problems of their own.
const MAX_NESTING: usize = 3;

/// A call of a solver.
pub(in crate::lower) struct Call<'c> {
    pub(in crate::lower) name: &'c str,
    pub(in crate::lower) function: FunctionId,
    /// What the function has an element for: states or unknowns.
    pub(in crate::lower) unit: &'static str,
    pub(in crate::lower) span: Span,
}

impl Call<'_> {
    pub(in crate::lower) fn mistake(&self, message: String) -> Abort {
        runtime(self.span, format!("`{}`: {message}", self.name))
    }
}

/// Solves once the arguments are known to have no lanes.
type Solve<'s, 'p> =
    dyn Fn(&mut Lowering<'p>, &Call<'_>, &[(LaneValue, Type)]) -> LowerResult<LaneValue> + 's;
/// Solves in a graph that is the outer one, or one of its own where nothing depends on parameters.
type SolveIn<'s, 'p> = dyn Fn(&mut Lowering<'p>, &mut Graph, &Call<'_>, &[(LaneValue, Type)]) -> LowerResult<NodeId>
    + 's;

impl<'p> Lowering<'p> {
    /// `ode_…(f, y0, t0, ts, …)`, `dae(…)` and their like, `[T, n]`; nothing if `name` is no
    /// solver's.
    pub(in crate::lower) fn ode(
        &mut self,
        name: &str,
        args: &[Expr],
        returns: &Type,
        span: Span,
    ) -> LowerResult<Option<LaneValue>> {
        let Some(form) = OdeForm::of(name, args.len()) else {
            return self.dae(name, args, returns, span);
        };
        let solve = |this: &mut Self, call: &Call<'_>, args: &[(LaneValue, Type)]| {
            let known = |k: usize| args.get(k).and_then(|(value, _)| value.as_known());
            let solver = form.settings(known).map_err(|message| call.mistake(message))?;
            if let (Some(initial), Some(times)) = (known(INITIAL_TIME), known(TIMES)) {
                let initial = initial.as_real().unwrap_or(f64::NAN);
                check_times(initial, &reals(times)).map_err(|message| call.mistake(message))?;
            }
            let lost = "too many steps, or the solution leaves every bound";
            this.solve_with(call, args, lost, &|this, graph, call, args| {
                this.ode_in(graph, call, &form, solver, args)
            })
        };
        self.solver(name, "states", args, returns, span, &solve).map(Some)
    }

    /// Evaluates the arguments of a solver's call, and solves lane by lane where they have lanes.
    pub(in crate::lower) fn solver(
        &mut self,
        name: &str,
        unit: &'static str,
        args: &[Expr],
        returns: &Type,
        span: Span,
        solve: &Solve<'_, 'p>,
    ) -> LowerResult<LaneValue> {
        let Some(ExprKind::Function { function, .. }) = args.first().map(|f| &f.kind) else {
            return Err(unsupported(span, format!("`{name}` of a library function")));
        };
        let call = Call { name, function: *function, unit, span };
        // The function's place is kept, so that positions are those of the call.
        let mut values = vec![(LaneValue::real(0.0), Type::Real)];
        for arg in &args[1..] {
            values.push((self.evaluate(arg)?, arg.ty.clone()));
        }
        if values.iter().any(|(value, _)| has_lanes(value)) {
            let each = |this: &mut Self, args: &[(LaneValue, Type)]| solve(this, &call, args);
            return self.lane_by_lane(&values, returns, span, each);
        }
        solve(self, &call, &values)
    }

    /// Solves in the graph, or at once where nothing depends on parameters; `lost` says why there
    /// may be no solution.
    pub(in crate::lower) fn solve_with(
        &mut self,
        call: &Call<'_>,
        args: &[(LaneValue, Type)],
        lost: &str,
        solve: &SolveIn<'_, 'p>,
    ) -> LowerResult<LaneValue> {
        if self.enclosing.nesting >= MAX_NESTING {
            let message = "a function of a solver that calls a solver itself";
            return Err(unsupported(call.span, message));
        }
        if !args.iter().all(|(value, _)| value.is_known()) {
            let mut graph = std::mem::take(&mut self.sink.graph);
            let solution = solve(self, &mut graph, call, args);
            self.sink.graph = graph;
            return Ok(LaneValue::node(solution?, false));
        }
        let mut scratch = Graph::new();
        let solution = solve(self, &mut scratch, call, args)?;
        let values = evaluate(&scratch, &[solution], &|_| None)
            .map_err(|error| runtime(call.span, error.to_string()))?;
        if values[0].values().iter().any(|value| value.is_nan()) {
            let text = format!("`{}` has no solution for these data: {lost}", call.name);
            return Err(runtime(call.span, text));
        }
        Ok(LaneValue::known(from_tensor(&values[0], false)))
    }

    fn ode_in(
        &mut self,
        graph: &mut Graph,
        call: &Call<'_>,
        form: &OdeForm,
        (method, control): (OdeMethod, OdeControl),
        args: &[(LaneValue, Type)],
    ) -> LowerResult<NodeId> {
        let [start, initial_time, times] =
            [START, INITIAL_TIME, TIMES].map(|k| real_node(graph, &args[k].0));
        let extras: Vec<&LaneValue> =
            args[form.extras.clone()].iter().map(|(value, _)| value).collect();
        let states = graph.shape(start).len();
        let (body, slope, values) = self.body(graph, call, (states, true), &extras)?;
        let arguments = OdeArguments {
            graph: body,
            slope,
            method,
            control,
            start,
            values,
            initial_time,
            times,
        };
        ode(graph, arguments).map_err(|error| unsupported(call.span, error.to_string()))
    }

    /// The function of `count` states (and of time, if `timed`) as a graph of its own with its
    /// value, and what it gets from the outer graph.
    pub(in crate::lower) fn body(
        &mut self,
        graph: &mut Graph,
        call: &Call<'_>,
        (count, timed): (usize, bool),
        extras: &[&LaneValue],
    ) -> LowerResult<(Graph, NodeId, Vec<NodeId>)> {
        let mut inputs = Vec::new();
        if timed {
            inputs.push(("t", Shape::scalar()));
        }
        inputs.push(("y", Shape::from([count])));
        self.walked(graph, call, &inputs, extras, Shape::from([count]))
    }

    /// The function as a graph of its own with these inputs, its value of that shape, and what it
    /// gets from the outer graph.
    pub(in crate::lower) fn walked(
        &mut self,
        graph: &mut Graph,
        call: &Call<'_>,
        inputs: &[(&str, Shape)],
        extras: &[&LaneValue],
        wanted: Shape,
    ) -> LowerResult<(Graph, NodeId, Vec<NodeId>)> {
        let mut passed = Passed::default();
        extras.iter().for_each(|value| passed.collect(graph, value));
        passed.order(graph);

        let environment = Environment::new(self.context.program);
        let full_program = self.context.host.program();
        let mut inner = Lowering::new(
            self.context.program,
            full_program,
            &environment,
            self.context.options.clone(),
        );
        inner.enclosing.nesting = self.enclosing.nesting + 1;
        let declare = |g: &mut Graph, name: &str, shape: Shape| {
            let input = g.input(name, Role::Parameter, shape, DType::Real);
            LaneValue::node(input.expect("a new graph has no input of another kind"), false)
        };
        let mut values = Vec::new();
        for (name, shape) in inputs {
            values.push(declare(&mut inner.sink.graph, name, shape.clone()));
        }
        let mut next = 0;
        for extra in extras {
            values.push(passed.inside(&mut inner.sink.graph, extra, &mut next));
        }
        let slope = inner.call_with(call.function, false, (values, &[]), call.span);
        let slope = slope.map_err(|stop| match stop {
            Abort::Mistake(_) => stop,
            _ => unsupported(call.span, "a loop of this right-hand side"),
        })?;
        let name = &self.context.program.function(call.function).name;
        let Some(slope) = slope else {
            return Err(runtime(call.span, format!("`{name}` ended without returning a value")));
        };
        let mut slope = real_node(&mut inner.sink.graph, &slope);
        if *inner.sink.graph.shape(slope) != wanted {
            let (found, count) = (inner.sink.graph.shape(slope).len(), wanted.len());
            let message = format!("`{name}` returned {found} values for {count} {}", call.unit);
            return Err(runtime(call.span, message));
        }
        // A `reject` under conditions (all that can add to the density here) or an argument of a
        // density that is out of range: no slope there, so no solution.
        for (_, term) in std::mem::take(&mut inner.env.terms.list) {
            let finite = inner.sink.graph.unary(Unary::IsFinite, term);
            inner.env.terms.required.push(finite);
        }
        if let Some(holds) = inner.all_required() {
            let (shape, nan) = (wanted, inner.sink.graph.scalar(f64::NAN));
            let (holds, nan) = (
                inner.sink.graph.broadcast_to(holds, &shape),
                inner.sink.graph.broadcast_to(nan, &shape),
            );
            slope = inner.sink.graph.select(holds, slope, nan);
        }
        self.sink.warnings.append(&mut inner.sink.warnings);
        Ok((inner.sink.graph, slope, passed.vectors(graph)))
    }
}

/// Nodes of the outer graph that a right-hand side gets.
#[derive(Default)]
struct Passed {
    /// In the order of arguments.
    nodes: Vec<NodeId>,
    shapes: Vec<Shape>,
    /// Where each begins in the vector of values, and how long that is.
    offsets: Vec<usize>,
    total: usize,
    /// The same nodes, those that depend on parameters first.
    ordered: Vec<NodeId>,
}

impl Passed {
    fn collect(&mut self, g: &Graph, value: &LaneValue) {
        match &value.form {
            Form::Known(_) => {}
            Form::Node(node) => {
                self.nodes.push(*node);
                self.shapes.push(g.shape(*node).clone());
            }
            Form::Tuple(slots) => slots.iter().for_each(|slot| self.collect(g, slot)),
        }
    }

    fn order(&mut self, g: &Graph) {
        let varies = |k: &usize| g.dependence(self.nodes[*k]) == Dependence::Parameter;
        let (first, last): (Vec<usize>, Vec<usize>) = (0..self.nodes.len()).partition(varies);
        self.offsets = vec![0; self.nodes.len()];
        for k in first.into_iter().chain(last) {
            self.offsets[k] = self.total;
            self.total += self.shapes[k].len();
            self.ordered.push(self.nodes[k]);
        }
    }

    /// The value inside of the right-hand side.
    fn inside(&self, g: &mut Graph, value: &LaneValue, next: &mut usize) -> LaneValue {
        match &value.form {
            Form::Known(_) => value.clone(),
            Form::Node(_) => {
                let k = *next;
                *next += 1;
                let shape = Shape::from([self.total]);
                let all = g.input("values", Role::Parameter, shape, DType::Real);
                let all = all.expect("it is declared one way only");
                let start = self.offsets[k];
                let part = g.slice(all, 0, start, start + self.shapes[k].len());
                LaneValue::node(g.reshape(part, self.shapes[k].clone()), false)
            }
            Form::Tuple(slots) => {
                LaneValue::tuple(slots.iter().map(|slot| self.inside(g, slot, next)).collect())
            }
        }
    }

    /// The values as vectors of the outer graph.
    fn vectors(&self, g: &mut Graph) -> Vec<NodeId> {
        let flat = |node: &NodeId| {
            let length = g.shape(*node).len();
            let node = as_real(g, *node);
            g.reshape(node, [length])
        };
        self.ordered.iter().map(flat).collect()
    }
}

pub(in crate::lower) fn has_lanes(value: &LaneValue) -> bool {
    match &value.form {
        Form::Tuple(slots) => slots.iter().any(has_lanes),
        _ => value.lanes,
    }
}

pub(in crate::lower) fn real_node(g: &mut Graph, value: &LaneValue) -> NodeId {
    let node = value.to_node(g);
    as_real(g, node)
}

/// Integers as real numbers.
fn as_real(g: &mut Graph, node: NodeId) -> NodeId {
    if g.node(node).dtype == DType::Real {
        return node;
    }
    if let Some(tensor) = g.as_constant(node) {
        let real = Tensor::real(tensor.shape().clone(), tensor.values().to_vec());
        return g.constant(real.expect("as many elements as before"));
    }
    let zero = g.scalar(0.0);
    g.binary(Binary::Add, node, zero)
}
