//! Statements of generated quantities and what a draw records -> the graph of the block's
//! variables.
//!
//! Unlike a density's, the graph's inputs are constrained values as they are recorded: parameters,
//! then transformed parameters. The graph also tells whether all went well: where a `reject` is
//! reached, an argument lies outside of a function's domain or an index outside of its range, the
//! host runs the block and says what is wrong.

use std::borrow::Cow;
use std::collections::BTreeSet;

use exmc_graph::{DType, Graph, NodeId, Reduction, Role, Shape};

use super::abort::{Abort, LowerResult, unsupported};
use super::split_tuples;
use super::split_tuples::TupleSlots;
use super::variables::lane_value::LaneValue;
use super::variables::store::Storage;
use super::{Lowering, Options};
use crate::host::Environment;
use crate::library::Check;
use crate::number::number;
use crate::source::Span;
use crate::split::{Split, split, statement_at};
use crate::typed::{Declaration, DeclaredType, Program, Scope, Type, VariableId};
use crate::value::Value;

/// The graph of compiled quantities.
#[derive(Clone, Debug)]
pub struct LoweredQuantities {
    /// The graph.
    pub graph: Graph,
    /// Inputs, each with its place in a recorded draw. They tile it.
    pub parameters: Vec<(NodeId, usize)>,
    /// Length of what a draw records.
    pub dim: usize,
    /// Zero where all went well, and any other number where the host has to run the block.
    pub failed: NodeId,
    /// The variables' numbers, in the order of [`Split::outputs`] and, of each, of CmdStan's
    /// columns.
    pub outputs: Vec<NodeId>,
}

/// What could not be lowered.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    /// The place of the trouble.
    place: Span,
    /// The outermost statement that it is in.
    statement: Span,
}

/// How often statements that cannot be lowered are taken out before all is left to the host.
const MAX_ATTEMPTS: usize = 16;

/// Nodes that the graph may have: beyond, the time to compile it is no longer that of a few draws.
const MAX_NODES: usize = 60_000;

/// Lowers what can be of a program's generated quantities: its two parts and the graph of the
/// first. Nothing, where nothing can. `environment` holds data and transformed data; `recorded` are
/// the variables that a draw records, each with a value of its shape.
pub fn lower_quantities(
    program: &Program,
    environment: &Environment,
    recorded: &[(VariableId, Value)],
) -> Option<(Split, LoweredQuantities)> {
    let is_absent = |(_, value): &&(VariableId, Value)| !is_readable(value);
    let absent = recorded.iter().filter(is_absent).map(|(id, _)| *id).collect();
    let block = &program.generated_quantities;
    let mut refused = BTreeSet::new();
    for _ in 0..MAX_ATTEMPTS {
        let parts = split(program, &refused, &absent);
        if parts.outputs.is_empty() {
            return None;
        }
        match lower_part(program, environment, recorded, &parts) {
            Ok(lowered) => return Some((parts, lowered)),
            Err(refusal) => {
                let inner = statement_at(block, refusal.place).map(|s| s.span);
                let outer = statement_at(block, refusal.statement).map(|s| s.span);
                let places = [inner, outer, Some(refusal.statement)];
                // The innermost statement that was not yet taken out.
                let next = places.into_iter().flatten().find(|place| !refused.contains(place));
                refused.insert(next?);
            }
        }
    }
    None
}

fn lower_part(
    program: &Program,
    environment: &Environment,
    recorded: &[(VariableId, Value)],
    split: &Split,
) -> Result<LoweredQuantities, Refusal> {
    let mut block = program.clone();
    block.parameters = Vec::new();
    block.transformed_parameters = Vec::new();
    block.generated_quantities = Vec::new();
    block.model.clone_from(&split.compiled);
    for variable in &mut block.variables {
        if variable.scope == Scope::GeneratedQuantities {
            variable.scope = Scope::Model;
        }
    }
    number(&mut block);
    let (apart, slots) = split_tuples::take_tuples_apart(&block);
    let apart: Cow<'_, Program> = apart;
    let options =
        Options { node_limit: MAX_NODES, proportional: false, checked: true, ..Options::default() };
    let mut lowering = Lowering::new(&apart, program, environment, options);
    let (parameters, dim) = lowering.recorded(recorded);
    for statement in &apart.model {
        if let Err(stop) = lowering.run(statement) {
            return Err(Refusal {
                place: place_of(&stop, statement.span),
                statement: statement.span,
            });
        }
    }
    lowering.outputs(split, &slots, (parameters, dim))
}

fn place_of(stop: &Abort, statement_span: Span) -> Span {
    match stop {
        Abort::Mistake(diagnostic) => diagnostic.span,
        Abort::Symbolic { span } | Abort::Ragged { span, .. } => *span,
        Abort::Carried { .. } | Abort::Unprepared | Abort::Crowded { .. } => statement_span,
    }
}

/// Whether a recorded variable can be read by compiled statements.
fn is_readable(value: &Value) -> bool {
    match value {
        Value::Real(_) | Value::Reals(_) | Value::Complex(_) => true,
        // Matrices are recorded column by column.
        Value::Complexes(n) => n.shape.len() < 2,
        _ => false,
    }
}

/// Functions that the host refuses for some arguments for which the graph has numbers; starts of
/// names.
const CHECKED_BY_HOST: &[&str] = &[
    "cholesky_decompose",
    "choose",
    "csr_",
    "eigendecompose_sym",
    "eigenvalues_sym",
    "eigenvectors_sym",
    "gp_",
    "inverse_spd",
    "linspaced_",
    "log_determinant_spd",
    "mdivide_left_spd",
    "mdivide_right_spd",
    "quad_form_sym",
    "quantile",
    "rank",
    "sort_",
    "to_int",
];

impl Lowering<'_> {
    /// Requires of arguments what the host does. A NaN that nothing reads would go unseen
    /// otherwise.
    pub(super) fn require_as_host(
        &mut self,
        name: &str,
        args: &[(LaneValue, Type)],
        span: Span,
    ) -> LowerResult<()> {
        // Known arguments are the host's already.
        if args.iter().all(|(value, _)| value.is_known()) {
            return Ok(());
        }
        if CHECKED_BY_HOST.iter().any(|start| name.starts_with(start)) {
            return Err(unsupported(span, format!("`{name}` is checked by the host")));
        }
        let (lower, upper) = match crate::host::library::limits(name) {
            Some(limits) => limits,
            None if name == "log_mix" => (0.0, 1.0),
            None => return Ok(()),
        };
        let Some((value, _)) = args.first() else { return Ok(()) };
        let x = value.to_node(&mut self.sink.graph);
        let g = &mut self.sink.graph;
        let (lower, upper) = (g.scalar(lower), g.scalar(upper));
        let (above, below) = (g.le(lower, x), g.le(x, upper));
        let inside = g.and(above, below);
        let axes: Vec<usize> = (usize::from(value.lanes)..g.shape(inside).rank()).collect();
        let holds = g.reduce(Reduction::Min, inside, &axes);
        let check = Check {
            holds,
            message: format!("{name}: an argument outside of its domain"),
            batched: value.lanes,
        };
        if let Some(holds) = self.requirement(&check, span)? {
            self.env.terms.required.push(holds);
        }
        Ok(())
    }

    /// Declares what a draw records as inputs.
    fn recorded(&mut self, recorded: &[(VariableId, Value)]) -> (Vec<(NodeId, usize)>, usize) {
        let (mut parameters, mut offset) = (Vec::new(), 0);
        for (id, value) in recorded {
            let mut shape = value.shape().to_vec();
            let name = &self.context.program.variable(*id).name;
            let readable = is_readable(value);
            if readable {
                shape.extend(matches!(value, Value::Complex(_) | Value::Complexes(_)).then_some(2));
            } else {
                shape = vec![count(value)];
            }
            let len: usize = shape.iter().product();
            let input = self.sink.graph.input(
                name,
                Role::Parameter,
                Shape::from(shape.clone()),
                DType::Real,
            );
            let Ok(input) = input else { continue };
            parameters.push((input, offset));
            offset += len;
            let value = LaneValue::node(input, false);
            self.env.stores[id.0 as usize] =
                readable.then(|| Storage::from_value(0, 0, shape, value));
        }
        (parameters, offset)
    }

    fn outputs(
        mut self,
        split: &Split,
        slots: &TupleSlots,
        (parameters, dim): (Vec<(NodeId, usize)>, usize),
    ) -> Result<LoweredQuantities, Refusal> {
        let mut trace = Vec::new();
        for id in &split.outputs {
            let span = self.context.program.variable(*id).span;
            // Only name and place are asked for.
            let ty = DeclaredType::Tuple(Vec::new());
            let declaration = Declaration { variable: *id, ty, initial: None, span };
            if let Err(stop) = self.record(&declaration, slots, &mut trace) {
                let place = place_of(&stop, span);
                return Err(Refusal { place, statement: span });
            }
        }
        let mut failed = self.sink.graph.scalar(0.0);
        for (_, node) in &self.env.terms.list {
            failed = self.sink.graph.add(failed, *node);
        }
        if let Some(holds) = self.all_required() {
            let never = self.sink.graph.scalar(f64::NEG_INFINITY);
            failed = self.sink.graph.select(holds, failed, never);
        }
        let mut roots: Vec<NodeId> = vec![failed];
        roots.extend(trace.iter().map(|entry| entry.node));
        let first_parameter = roots.len();
        roots.extend(parameters.iter().map(|(node, _)| *node));
        if self.sink.rolled {
            self.sink.graph.retain(&mut roots);
        }
        let parameters = roots[first_parameter..]
            .iter()
            .copied()
            .zip(parameters.iter().map(|(_, offset)| *offset))
            .collect();
        let outputs = roots[1..first_parameter].to_vec();
        Ok(LoweredQuantities { graph: self.sink.graph, parameters, dim, failed: roots[0], outputs })
    }
}

/// How many numbers a value records.
fn count(value: &Value) -> usize {
    match value {
        Value::Tuple(slots) => slots.iter().map(count).sum(),
        Value::Tuples(n) => n.values.iter().map(count).sum(),
        Value::Complex(_) => 2,
        Value::Complexes(n) => 2 * n.len(),
        other => other.shape().iter().product(),
    }
}

/// Whether a type holds integers, which are recorded as real numbers.
pub fn is_integer(ty: &Type) -> bool {
    matches!(ty.array_parts().1, Type::Int)
}
