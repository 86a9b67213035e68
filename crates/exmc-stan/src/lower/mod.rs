//! Lowering: a typed program and its data -> the graph of its log density.
//!
//! The program is walked once, with data known and parameters symbolic: what depends on data only
//! is computed, what depends on parameters becomes nodes, and the iterations of a loop become
//! lanes, one more axis of the nodes (`loops/lanes.rs`). So the graph of a regular loop does not
//! grow with its number of iterations. Which node each element of a variable comes from is kept in
//! `variables/store.rs`; loops whose iterations need each other's results are run iteration by
//! iteration (`loops`), and what the iterations did alike becomes a scan (`reroll`).
//!
//! **Layout**: parameters in declaration order, each one's unconstrained array row-major. Stan has
//! matrices (but for factors, correlations and covariances) column-major instead;
//! [`StanLowered::stan_order`] says where its numbers lie.

mod abort;
mod assign;
mod autodiff_types;
mod branch;
mod call;
mod call_library;
mod checks;
mod expression;
mod generated_quantities;
mod index;
mod loops;
mod non_centre;
mod output_columns;
mod parameters;
mod reroll;
mod slice_functions;
mod solvers;
mod split_tuples;
mod stan_order;
mod statement;
mod symbolic_index;
mod target;
mod variables;

pub use generated_quantities::{LoweredQuantities, is_integer, lower_quantities};
pub use loops::report::{LoopReport, Way, print_loops};
pub(crate) use solvers::laplace::{
    is_laplace, is_laplace_solve, laplace_on_values, options_on_values,
};
pub(crate) use solvers::laplace_of_numbers::{Marked, laplace_of_numbers, marked_numbers};

use exmc_graph::{Graph, NodeId};
use exmc_model::{KnownSupports, LayoutEntry, Lowered, Term};
use rustc_hash::FxHashMap;

use crate::diagnostic::Diagnostic;
use crate::host::{Environment, Interpreter, Settings};
use crate::source::Span;
use crate::typed::{FunctionId, Program, StatementKind, SyntaxId, VariableId};
use abort::{Abort, LowerResult};
use loops::lanes::{IterationLanes, Mask};
use loops::report::LoopReports;
use split_tuples::TupleSlots;
use variables::lane_value::LaneValue;
use variables::store::Storage;

/// Elements along one dimension.
const MAX_RANK_ONE_SIZE: usize = 100_000_000;

/// Settings of [`lower`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Whether the density is over the unconstrained vector, with log Jacobians. Default true.
    pub jacobian: bool,
    /// Nodes that the graph may have; loops whose iterations need each other's results use them up.
    /// Default two million.
    pub node_limit: usize,
    /// Parameters that are sampled as location + scale * z, with standardised z, after a statement
    /// `name ~ family(location, scale)` of the model. Default none.
    pub non_centre: Vec<String>,
    /// Whether `~` and `_lupdf` leave out the terms that Stan leaves out, those in which no
    /// argument is a parameter by its type. Default true.
    pub proportional: bool,
    /// Iterations from which on a loop whose iterations need each other's results is walked side by
    /// side, as the steps of a scan, where that can be done. Default 1000: shorter loops are walked
    /// one by one.
    pub steps_from: usize,
    /// Lanes that are walked at once. Default twenty million; loops that have more are walked in
    /// blocks.
    pub most_lanes: usize,
    /// Whether a call that the host refuses for its arguments makes the density zero, also where
    /// the graph has a number or NaN. Default false.
    pub checked: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            jacobian: true,
            node_limit: 2_000_000,
            non_centre: Vec::new(),
            proportional: true,
            steps_from: 1_000,
            most_lanes: 20_000_000,
            checked: false,
        }
    }
}

/// A program's density.
#[derive(Clone, Debug)]
pub struct StanLowered {
    /// The graph with everything around it.
    pub lowered: Lowered,
    /// What the user should know.
    pub warnings: Vec<Diagnostic>,
    /// For each coordinate of Stan's unconstrained vector, its place in ours.
    pub stan_order: Vec<usize>,
    /// Whether a run may have to end where the density is zero, by a `fatal_error` or an index that
    /// depend on parameters (see
    /// [`RuntimeError::ends_a_run`](crate::host::RuntimeError::ends_a_run)).
    pub may_end: bool,
    /// Conditions of the `while` loops that depend on parameters and are written out for a limited
    /// number of iterations. Where one of them would go on, the density is minus infinity here;
    /// what it is in truth the interpreter knows.
    pub limited_loops: Vec<Span>,
    /// Whether such a loop computes transformed parameters, which are not among the recorded values
    /// then.
    pub values_are_limited: bool,
    /// How often a loop whose iterations need each other's results was walked once, as the steps of
    /// a scan.
    pub loops_in_steps: usize,
    /// How each loop was lowered, in the order of the program.
    pub loops: Vec<LoopReport>,
}

/// Lowers the density of a program over known data (`environment`: data and transformed data).
///
/// # Errors
/// Mistakes that these data bring about (an index out of range, sizes that do not fit, a `reject`
/// that is reached whatever the parameters are), and whatever is valid but cannot be run, with its
/// place.
pub fn lower(
    program: &Program,
    environment: &Environment,
    options: Options,
) -> Result<StanLowered, Vec<Diagnostic>> {
    let (apart, slots) = split_tuples::take_tuples_apart(program);
    Lowering::new(&apart, program, environment, options).finish(environment, &slots).map_err(
        |stop| match stop {
            Abort::Mistake(diagnostic) => vec![*diagnostic],
            Abort::Carried { variable, .. } => {
                let span = variable.map_or_else(Default::default, |id| program.variable(id).span);
                let message = "a variable that is assigned in a way that cannot be followed";
                vec![Diagnostic::error(crate::diagnostic::Class::Unsupported, span, message)]
            }
            // The loops around catch this.
            Abort::Unprepared => {
                let message = "a loop that cannot be walked twice";
                let span = Default::default();
                vec![Diagnostic::error(crate::diagnostic::Class::Unsupported, span, message)]
            }
            Abort::Crowded { total, .. } => {
                let message = format!("{total} iterations side by side");
                vec![Diagnostic::error(
                    crate::diagnostic::Class::Unsupported,
                    Default::default(),
                    message,
                )]
            }
            Abort::Symbolic { span } => {
                let message =
                    "an index that depends on parameters, in an assignment or beside others";
                vec![Diagnostic::error(crate::diagnostic::Class::Unsupported, span, message)]
            }
            Abort::Ragged { span, .. } => {
                let message = "a size that differs between iterations here";
                vec![Diagnostic::error(crate::diagnostic::Class::Unsupported, span, message)]
            }
        },
    )
}

/// What statements change as they run: all that an attempt at a loop which fails must leave as it
/// was. A snapshot is a clone of it.
#[derive(Clone)]
struct Env {
    /// By variable.
    stores: Vec<Option<Storage>>,
    /// Sets of lanes, from the program's one lane inwards.
    levels: Vec<IterationLanes>,
    /// Conditions on parameters under which the current statement runs.
    masks: Vec<Mask>,
    /// Calls of the user's functions.
    frames: Vec<call::Frame>,
    /// What was added to the density.
    terms: target::Terms,
}

/// What is lowered, and how: statements change nothing here.
struct Context<'p> {
    program: &'p Program,
    /// Computes calls whose arguments are known.
    host: Interpreter<'p>,
    /// What the host's calls of the program's functions see: nothing but their arguments.
    scratch: Environment,
    options: Options,
}

/// What comes out, and is only added to. Of attempts that are undone remain nodes that nothing
/// reads, warnings, of which each place has one, and flags that are set once, which do no harm.
#[derive(Default)]
struct Sink {
    graph: Graph,
    supports: KnownSupports,
    layout: Vec<LayoutEntry>,
    warnings: Vec<Diagnostic>,
    /// Whether something that ends a run stands under a condition on parameters.
    may_end: bool,
    /// See [`StanLowered::limited_loops`].
    limited_loops: Vec<Span>,
    /// Whether iterations became a scan, which leaves nodes that nobody uses.
    rolled: bool,
    /// How often a loop was walked as steps, with success.
    loops_in_steps: usize,
    /// Inputs that were made for what earlier steps write.
    placeholders: usize,
    /// What became of each loop.
    loops: LoopReports,
}

/// What stands around the current statement. Who enters something leaves it, also by an abort.
#[derive(Default)]
struct Enclosing {
    /// Loops that run one iteration after the other.
    records: Vec<reroll::LoopTrace>,
    /// The loop that is walked as steps.
    steps: Option<loops::scan::Steps>,
    /// Loops that can begin again.
    guards: usize,
    /// Loops in which parts whose sizes differ are read whole.
    padding: usize,
    /// The level of first iterations that are walked to see what they tell (`probe`).
    probed: Option<usize>,
    /// How many right-hand sides of initial value problems are being walked.
    nesting: usize,
}

/// What was learned of the program's parts by walking them, and holds whatever is undone.
#[derive(Default)]
struct Learned {
    /// Variables that a function declares.
    locals: FxHashMap<FunctionId, std::sync::Arc<[VariableId]>>,
    /// How each loop is to be walked.
    plans: FxHashMap<SyntaxId, loops::LoopPlan>,
    /// By the first argument of an inner product: whether what lay outside of its part was known
    /// and finite the last time (`padded`).
    finite_beside: FxHashMap<SyntaxId, bool>,
    /// Variables of loops over elements: whether they are parameters (`by_type`).
    loop_kinds: FxHashMap<VariableId, bool>,
    /// Whether the iterations of the loop that was unrolled last became a scan.
    has_rerolled: bool,
}

struct Lowering<'p> {
    context: Context<'p>,
    sink: Sink,
    env: Env,
    enclosing: Enclosing,
    learned: Learned,
}

impl<'p> Lowering<'p> {
    /// `full_program` is the program as checked, `program` the same without tuples of its own.
    fn new(
        program: &'p Program,
        full_program: &'p Program,
        environment: &Environment,
        options: Options,
    ) -> Self {
        let mut stores: Vec<Option<Storage>> = vec![None; program.variables.len()];
        for (id, value) in environment.known() {
            let value = LaneValue::known(value.clone());
            let shape = value.full_shape(&Graph::new());
            stores[id.0 as usize] = Some(Storage::from_value(0, 0, shape, value));
        }
        let one_lane =
            IterationLanes { count: 1, up: std::sync::Arc::from([0_u32]), watched: None };
        Self {
            context: Context {
                program,
                host: Interpreter::new(full_program, Settings::default()),
                scratch: Environment::new(program),
                options,
            },
            sink: Sink::default(),
            env: Env {
                stores,
                levels: vec![one_lane],
                masks: Vec::new(),
                frames: Vec::new(),
                terms: target::Terms::default(),
            },
            enclosing: Enclosing::default(),
            learned: Learned::default(),
        }
    }

    fn finish(mut self, environment: &Environment, slots: &TupleSlots) -> LowerResult<StanLowered> {
        let (program, full_program) = (self.context.program, self.context.host.program());
        self.parameters()?;
        let mut trace = Vec::new();
        for declaration in &full_program.parameters {
            self.record(declaration, slots, &mut trace)?;
        }
        self.run_block(&program.transformed_parameters)?;
        for statement in &program.transformed_parameters {
            let StatementKind::Declare(declaration) = &statement.kind else { continue };
            self.check_declared(declaration)?;
        }
        let values_are_limited = !self.sink.limited_loops.is_empty();
        for statement in &full_program.transformed_parameters {
            let StatementKind::Declare(declaration) = &statement.kind else { continue };
            if values_are_limited {
                break;
            }
            self.record(declaration, slots, &mut trace)?;
        }
        self.run_block(&program.model)?;
        let mut inverse =
            Self::new(program, full_program, environment, Options::default()).inverse()?;
        self.non_centre(&mut trace, &mut inverse)?;
        let mut logp = self.sink.graph.scalar(0.0);
        for (_, node) in &self.env.terms.list {
            logp = self.sink.graph.add(logp, *node);
        }
        if let Some(holds) = self.all_required() {
            let never = self.sink.graph.scalar(f64::NEG_INFINITY);
            logp = self.sink.graph.select(holds, logp, never);
        }
        let stan_order = stan_order::stan_order(&self.sink.layout, full_program);
        let mut terms: Vec<Term> =
            self.env.terms.list.into_iter().map(|(name, node)| Term { name, node }).collect();
        if self.sink.rolled {
            let mut named = vec![&mut logp];
            named.extend(terms.iter_mut().map(|term| &mut term.node));
            named.extend(trace.iter_mut().map(|entry| &mut entry.node));
            named.extend(self.sink.layout.iter_mut().map(|entry| &mut entry.input));
            let mut roots: Vec<NodeId> = named.iter().map(|node| **node).collect();
            self.sink.graph.retain(&mut roots);
            named.into_iter().zip(roots).for_each(|(node, new)| *node = new);
        }
        let dim = self.sink.layout.iter().map(|e| e.unconstrained.len()).sum();
        let lowered = Lowered {
            graph: self.sink.graph,
            logp,
            terms,
            layout: self.sink.layout,
            dim,
            noise: Vec::new(),
            trace,
            pointwise: Vec::new(),
            checks: Vec::new(),
            inverse,
        };
        let Sink { warnings, may_end, limited_loops, loops_in_steps, loops, .. } = self.sink;
        Ok(StanLowered {
            lowered,
            warnings,
            stan_order,
            may_end,
            limited_loops,
            values_are_limited,
            loops_in_steps,
            loops: loops.finish(),
        })
    }

    fn all_required(&mut self) -> Option<NodeId> {
        let mut required = self.env.terms.required.clone();
        required.sort_unstable();
        required.dedup();
        let (first, rest) = required.split_first()?;
        let mut all = *first;
        for next in rest {
            all = self.sink.graph.and(all, *next);
        }
        Some(all)
    }
}
