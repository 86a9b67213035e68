//! Initial value problems: a body graph for $\dot y = f(t, y, v)$, or for a residual $F(t, y, \dot
//! y, v)$ -> the solution and its sensitivities as arrays.
//!
//! The body is made into straight-line scalar code together with its Jacobians once, when the
//! operation is made; a solution runs that code under one of `exmc_math`'s methods and allocates
//! nothing after the first. [`Op::Ode`](crate::Op::Ode) packs solution and forward sensitivities
//! into one array; [`ode`] reads the solution from it by
//! [`Op::OdeSolution`](crate::Op::OdeSolution), whose derivative is a product with the
//! sensitivities of the same array, so one solution serves value and gradient.

mod code;
mod flow;
mod scalars;
mod system;
mod unroll;

use std::sync::{Arc, Mutex};

use exmc_math::{OdeControl, OdeMethod, RootControl, find_root, solve_dae, solve_ode};

pub use self::flow::{CompiledFlow, Flow, FlowEntry, FlowStep};
use self::system::{Compiled, Needs, Run};
use crate::graph::{Dependence, Graph, GraphError, NodeId};
use crate::op::Op;
use crate::tensor::Shape;

/// How the argument and the result of an [`Op::Ode`](crate::Op::Ode) are laid out.
///
/// The argument is one vector: $n$ initial states, $m$ values, the initial time, $T$ output times.
/// The result is `[T, width]`: per time the states, their $n \times s$ sensitivities row-major, and
/// with `times` their slopes. The $s$ columns are, as far as wanted: initial states, the first
/// `varying` values, the initial time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OdeLayout {
    /// Number of states $n$.
    pub states: usize,
    /// Number of values $m$.
    pub values: usize,
    /// How many of the values, from the first on, have sensitivities.
    pub varying: usize,
    /// Whether the initial states have sensitivities.
    pub start: bool,
    /// Whether the initial time has.
    pub initial_time: bool,
    /// Whether the output times have.
    pub times: bool,
}

impl OdeLayout {
    /// Number $s$ of sensitivities of each state.
    pub fn columns(&self) -> usize {
        let start = if self.start { self.states } else { 0 };
        start + self.varying + usize::from(self.initial_time)
    }

    /// Length of the solution's coupled vector.
    fn coupled(&self) -> usize {
        self.states * (1 + self.columns())
    }

    /// Length of a row of the packed result.
    pub fn width(&self) -> usize {
        self.coupled() + if self.times { self.states } else { 0 }
    }

    /// Number of output times, given the argument's length.
    pub(crate) fn output_times(&self, inputs: usize) -> Option<usize> {
        inputs.checked_sub(self.states + self.values + 1)
    }
}

/// What is asked of a body $f(t, y, v)$, and how it is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Solver {
    /// The solution of $\dot y = f$ at each output time.
    Flow(OdeMethod, OdeControl),
    /// The state near the initial one where $f(0, y, v) = 0$; the same for each output time.
    Root(RootControl),
    /// The solution of $F(t, y, \dot y, v) = 0$ at each output time, where the body is $F$ with one
    /// more input `yp` `[n]` for $\dot y$. The last $n$ of the layout's values are the initial
    /// slopes, which the body's `values` do not have.
    Residual(OdeControl),
}

impl Solver {
    /// Everything that matters, for comparison.
    fn key(&self) -> (Option<OdeMethod>, bool, [u64; 3]) {
        let numbers = |control: &OdeControl| {
            [control.relative.to_bits(), control.absolute.to_bits(), control.max_steps]
        };
        match self {
            Self::Flow(method, control) => (Some(*method), false, numbers(control)),
            Self::Root(RootControl { tolerance, max_steps }) => {
                (None, false, [tolerance.to_bits(), 0, *max_steps])
            }
            Self::Residual(control) => (None, true, numbers(control)),
        }
    }

    /// Whether the body is a residual of states and slopes.
    fn is_residual(&self) -> bool {
        matches!(self, Self::Residual(_))
    }
}

/// An initial value problem or equations: the right-hand side with how it is to be solved.
///
/// The body's inputs are `t` (scalar), `y` `[n]` and `values` `[m]` (of a residual also `yp`
/// `[n]`); one that it does not use may be missing.
#[derive(Debug)]
pub struct OdeProblem {
    /// The right-hand side's expressions.
    pub graph: Graph,
    /// The slope, `[n]`.
    pub slope: NodeId,
    /// The solver with its tolerances.
    pub solver: Solver,
    /// Arrangement of argument and result.
    pub layout: OdeLayout,
    compiled: Compiled,
    /// Memory of solutions that are not running.
    idle: Mutex<Vec<Run>>,
}

impl PartialEq for OdeProblem {
    fn eq(&self, other: &Self) -> bool {
        (self.layout, self.slope) == (other.layout, other.slope)
            && self.solver.key() == other.solver.key()
            && self.graph == other.graph
    }
}

impl OdeProblem {
    /// Compiles a right-hand side.
    ///
    /// # Errors
    /// When the body has other inputs or shapes than described, when an operation in it has no
    /// derivative that the layout or the method needs, or when it holds an initial value problem or
    /// a very long loop.
    pub fn new(
        graph: Graph,
        slope: NodeId,
        solver: Solver,
        layout: OdeLayout,
    ) -> Result<Self, GraphError> {
        if layout.varying > layout.values {
            return Err(GraphError::new("ode: more values vary than there are"));
        }
        let needs = match solver {
            Solver::Flow(method, _) if method != OdeMethod::Bdf => Needs::Sensitivities,
            Solver::Flow(..) | Solver::Root(_) => Needs::Jacobian,
            Solver::Residual(_) => Needs::BothJacobians,
        };
        if solver.is_residual() && (layout.values < layout.states || layout.times) {
            return Err(GraphError::new("dae: the layout has no initial slopes, or moves in time"));
        }
        let compiled = Compiled::new(&graph, slope, &layout, needs)?;
        Ok(Self { graph, slope, solver, layout, compiled, idle: Mutex::default() })
    }

    /// What an executor may compile and give to [`solve`](Self::solve), where the method asks for
    /// slopes of coupled vectors at every stage and they are made of elementwise operations alone.
    pub fn flow(&self) -> Option<Flow> {
        let every_stage = match self.solver {
            Solver::Flow(method, _) => method != OdeMethod::Bdf,
            Solver::Root(_) | Solver::Residual(_) => false,
        };
        if every_stage { Flow::new(&self.compiled, &self.layout) } else { None }
    }

    /// Solves into `out`, NaN everywhere where there is no solution, by a compiled [`Flow`] if
    /// there is one.
    ///
    /// **Shapes**: `inputs` and `out` as [`OdeLayout`] says. **Panics** if they are shorter.
    pub fn solve(&self, inputs: &[f64], out: &mut [f64], flow: Option<&dyn CompiledFlow>) {
        let pop = || self.idle.lock().ok()?.pop();
        let mut run = pop().unwrap_or_default();
        if self.solve_with(&mut run, inputs, out, flow).is_err() {
            out.fill(f64::NAN);
        }
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(run);
        }
    }

    fn solve_with(
        &self,
        run: &mut Run,
        inputs: &[f64],
        out: &mut [f64],
        flow: Option<&dyn CompiledFlow>,
    ) -> Result<(), exmc_math::OdeFailure> {
        let layout = &self.layout;
        let (start, rest) = inputs.split_at(layout.states);
        let (values, rest) = rest.split_at(layout.values);
        let [t0, times @ ..] = rest else { return Ok(()) };
        let (registers, coupled_start, work) = run.parts();
        let mut system = self.compiled.system(layout, registers, values, flow);
        system.start(*t0, start, coupled_start);
        let (coupled, width) = (layout.coupled(), layout.width());
        if coupled == 0 {
            return Ok(());
        }
        // The solution is written densely, then spread to make room for the slopes, last row first.
        let solution = &mut out[..times.len() * coupled];
        match &self.solver {
            Solver::Flow(method, control) => {
                let first = (*t0, &**coupled_start);
                solve_ode(*method, control, &mut system, work, first, times, solution)?;
            }
            Solver::Root(control) => {
                let (root, columns) = coupled_start.split_at_mut(layout.states);
                find_root(control, &mut system, work, root, columns)?;
                let rows = solution.chunks_exact_mut(coupled);
                rows.for_each(|row| row.copy_from_slice(coupled_start));
            }
            Solver::Residual(control) => {
                let slopes = &values[values.len() - layout.states..];
                let seeds = &coupled_start[layout.states..];
                let first = (*t0, start, slopes);
                solve_dae(control, &mut system, work, first, seeds, times, solution)?;
            }
        }
        if layout.times {
            for (k, t) in times.iter().enumerate().rev() {
                out.copy_within(k * coupled..(k + 1) * coupled, k * width);
                let row = &mut out[k * width..(k + 1) * width];
                let (states, slopes) = row.split_at_mut(coupled);
                exmc_math::OdeSystem::slope(&mut system, *t, &states[..layout.states], slopes)?;
            }
        }
        Ok(())
    }
}

/// An [`OdeProblem`] shared between graphs; compared by content.
#[derive(Clone, Debug)]
pub struct SharedOde(pub Arc<OdeProblem>);

impl PartialEq for SharedOde {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}
impl Eq for SharedOde {}
impl std::hash::Hash for SharedOde {
    /// Cheap facts only; problems that share them are rare.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.graph.len().hash(state);
        self.0.slope.hash(state);
        self.0.layout.hash(state);
        self.0.solver.key().hash(state);
    }
}

/// What [`ode`] solves: nodes of the outer graph, and the right-hand side's own graph.
#[derive(Clone, Debug)]
pub struct OdeArguments {
    /// The right-hand side; its inputs are `t`, `y` and `values`.
    pub graph: Graph,
    /// Its slope, `[n]`.
    pub slope: NodeId,
    /// The solver.
    pub method: OdeMethod,
    /// How exact.
    pub control: OdeControl,
    /// Initial states, `[n]`.
    pub start: NodeId,
    /// The body's `values`: vectors one after the other, those that depend on parameters first.
    pub values: Vec<NodeId>,
    /// Initial time, scalar.
    pub initial_time: NodeId,
    /// Output times, `[T]`, ascending from the initial time on.
    pub times: NodeId,
}

/// The solution of an initial value problem at its output times.
///
/// **Shapes**: `[T, n]`. **Edges**: NaN everywhere when there is no solution (too many steps, a
/// state that is not finite, a singularity, times that do not ascend). **Numerics**: sensitivities
/// to what depends on parameters are solved with the states, and step sizes control the error of
/// both.
///
/// # Errors
/// As [`OdeProblem::new`], and when shapes do not fit or a value that depends on parameters follows
/// one that does not.
pub fn ode(g: &mut Graph, arguments: OdeArguments) -> Result<NodeId, GraphError> {
    let OdeArguments { graph, slope, method, control, start, values, initial_time, times } =
        arguments;
    let depends = |id: NodeId| g.dependence(id) == Dependence::Parameter;
    for id in values.iter().chain([&start, &times]) {
        if g.shape(*id).rank() != 1 {
            return Err(GraphError::new(format!("ode: {id} is not a vector but {}", g.shape(*id))));
        }
    }
    if !g.shape(initial_time).is_scalar() {
        return Err(GraphError::new("ode: the initial time is not a scalar"));
    }
    let (all, varying) = lengths(g, &values)?;
    let layout = OdeLayout {
        states: g.shape(start).len(),
        values: all,
        varying,
        start: depends(start),
        initial_time: depends(initial_time),
        times: depends(times),
    };
    let problem = OdeProblem::new(graph, slope, Solver::Flow(method, control), layout)?;
    let initial_time = g.reshape(initial_time, [1]);
    let parts: Vec<NodeId> =
        std::iter::once(start).chain(values).chain([initial_time, times]).collect();
    let inputs = g.concat(&parts, 0);
    let packed = g.apply(Op::Ode(SharedOde(Arc::new(problem))), &[inputs])?;
    g.apply(Op::OdeSolution(layout), &[inputs, packed])
}

/// The root of equations $f(x, v) = 0$ near a guess, `[n]`; the body's inputs are `y` and `values`,
/// as of [`ode`].
///
/// **Edges**: NaN everywhere when no root is found or the Jacobian at it is singular. **Numerics**:
/// the root is as exact as rounding allows; its derivatives are those of the implicit function, and
/// none by the guess.
///
/// # Errors
/// As [`ode`].
pub fn root(
    g: &mut Graph,
    (graph, residual): (Graph, NodeId),
    control: RootControl,
    guess: NodeId,
    values: Vec<NodeId>,
) -> Result<NodeId, GraphError> {
    for id in values.iter().chain([&guess]) {
        if g.shape(*id).rank() != 1 {
            return Err(GraphError::new(format!(
                "root: {id} is not a vector but {}",
                g.shape(*id)
            )));
        }
    }
    let (all, varying) = lengths(g, &values)?;
    let states = g.shape(guess).len();
    let layout =
        OdeLayout { states, values: all, varying, start: false, initial_time: false, times: false };
    let problem = OdeProblem::new(graph, residual, Solver::Root(control), layout)?;
    // An initial time and one output time that nothing depends on.
    let times = g.filled(&Shape::from([2]), 0.0);
    let parts: Vec<NodeId> = std::iter::once(guess).chain(values).chain([times]).collect();
    let inputs = g.concat(&parts, 0);
    let packed = g.apply(Op::Ode(SharedOde(Arc::new(problem))), &[inputs])?;
    let found = g.apply(Op::OdeSolution(layout), &[inputs, packed])?;
    Ok(g.reshape(found, [states]))
}

/// What [`dae`] solves: nodes of the outer graph, and the residual's own graph.
#[derive(Clone, Debug)]
pub struct DaeArguments {
    /// The residual; its inputs are `t`, `y`, `yp` and `values`.
    pub graph: Graph,
    /// Its value, `[n]`.
    pub residual: NodeId,
    /// How exact.
    pub control: OdeControl,
    /// Initial states, `[n]`.
    pub start: NodeId,
    /// Initial slopes, `[n]`.
    pub slope: NodeId,
    /// The body's `values`: vectors one after the other, those that depend on parameters first.
    pub values: Vec<NodeId>,
    /// Initial time, scalar, and output times, `[T]`, ascending from there on: both without
    /// parameters.
    pub times: [NodeId; 2],
}

/// The solution of differential-algebraic equations $F(t, y, \dot y, v) = 0$ of index one at their
/// output times.
///
/// **Shapes**: `[T, n]`. **Edges**: NaN everywhere when there is no solution, as [`ode`], or when
/// the initial state does not fulfil the equations without slopes. **Numerics**: as [`ode`]; of how
/// the initial state moves only what keeps it consistent counts, and the initial slope has no
/// derivative: the state determines the solution.
///
/// # Errors
/// As [`ode`].
pub fn dae(g: &mut Graph, arguments: DaeArguments) -> Result<NodeId, GraphError> {
    let DaeArguments { graph, residual, control, start, slope, values, times } = arguments;
    let [initial_time, times] = times;
    for id in values.iter().chain([&start, &slope, &times]) {
        if g.shape(*id).rank() != 1 {
            return Err(GraphError::new(format!("dae: {id} is not a vector but {}", g.shape(*id))));
        }
    }
    let depends = |id: NodeId| g.dependence(id) == Dependence::Parameter;
    if depends(initial_time) || depends(times) {
        return Err(GraphError::new("dae: times that depend on parameters"));
    }
    let states = g.shape(start).len();
    if g.shape(slope).len() != states || !g.shape(initial_time).is_scalar() {
        return Err(GraphError::new("dae: states, slopes and the initial time do not fit"));
    }
    let (all, varying) = lengths(g, &values)?;
    let start_varies = depends(start);
    let layout = OdeLayout {
        states,
        values: all + states,
        varying,
        start: start_varies,
        initial_time: false,
        times: false,
    };
    let problem = OdeProblem::new(graph, residual, Solver::Residual(control), layout)?;
    let initial_time = g.reshape(initial_time, [1]);
    let parts: Vec<NodeId> =
        std::iter::once(start).chain(values).chain([slope, initial_time, times]).collect();
    let inputs = g.concat(&parts, 0);
    let packed = g.apply(Op::Ode(SharedOde(Arc::new(problem))), &[inputs])?;
    g.apply(Op::OdeSolution(layout), &[inputs, packed])
}

/// How many values there are, and how many of them depend on parameters: these must come first.
fn lengths(g: &Graph, values: &[NodeId]) -> Result<(usize, usize), GraphError> {
    let depends = |id: NodeId| g.dependence(id) == Dependence::Parameter;
    let length = |ids: &[NodeId]| ids.iter().map(|&id| g.shape(id).len()).sum();
    let varying = values.iter().take_while(|&&id| depends(id)).count();
    if values[varying..].iter().any(|&id| depends(id)) {
        return Err(GraphError::new("ode: values that depend on parameters must come first"));
    }
    Ok((length(values), length(&values[..varying])))
}
