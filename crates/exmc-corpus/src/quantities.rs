//! A program with its data -> whether the same statements give the same values in transformed
//! parameters and in generated quantities, compiled and by the host interpreter.
//!
//! Transformed parameters are compiled with the density. Here they are moved to generated
//! quantities and compiled as such, from the parameters that a draw records, and the interpreter
//! runs them too: three values of each variable. Generated quantities of the program itself are
//! compared between compiled code and interpreter.

use exmc_graph::{Tensor, evaluate};
use exmc_math::random::{ChainRng, Phase};
use exmc_stan::data::read_data;
use exmc_stan::host::{Environment, Interpreter, Settings, unset};
use exmc_stan::lower::{LoweredQuantities, Options, StanLowered, lower, lower_quantities};
use exmc_stan::typed::{Declaration, Program, Scope, StatementKind, VariableId};
use exmc_stan::value::Value;

/// Points at which values are compared: uniform between -2 and 2.
const POINTS: usize = 4;

/// What was compared.
#[derive(Clone, Debug, Default)]
pub struct QuantitiesAgreement {
    /// Numbers that were compared, those of all points together.
    pub compared: usize,
    /// Points where compiled code left the block to the interpreter.
    pub left: usize,
    /// The largest difference relative to the size (at least one), and of which variable.
    pub worst: (f64, String),
}

impl QuantitiesAgreement {
    fn note(&mut self, name: &str, found: &[f64], expected: &[f64]) {
        let apart = |(a, b): (&f64, &f64)| match a == b || (a.is_nan() && b.is_nan()) {
            true => 0.0,
            false => {
                let difference = (a - b).abs() / b.abs().max(1.0);
                if difference.is_nan() { f64::INFINITY } else { difference }
            }
        };
        let same_length = found.len() == expected.len();
        let worst = found.iter().zip(expected).map(apart).fold(0.0, f64::max);
        let worst = if same_length { worst } else { f64::INFINITY };
        self.compared += found.len();
        if worst > self.worst.0 {
            self.worst = (worst, name.to_owned());
        }
    }
}

/// Compares at a few points.
///
/// # Errors
/// What keeps either from evaluating the program at all, as a sentence.
pub fn compare_quantities(program: &Program, data: &str) -> Result<QuantitiesAgreement, String> {
    let mut known = read_data(program, "data", data)
        .map_err(|e| e.diagnostics.first().map_or_else(String::new, |d| d.message.clone()))?;
    let settings = Settings::default();
    Interpreter::new(program, settings.clone())
        .transform_data(&mut known)
        .map_err(|e| e.message)?;
    let lowered = lower(program, &known, Options::default())
        .map_err(|all| all.first().map_or_else(String::new, |d| d.message.clone()))?;
    let transformed = declarations(&program.transformed_parameters);
    let parameters = unset_values(program, &known, &program.parameters)?;
    let all = program.parameters.iter().chain(&transformed).cloned().collect::<Vec<_>>();
    let recorded = unset_values(program, &known, &all)?;
    let moved = moved(program);
    let blocks = [
        Block { program: &moved, recorded: parameters.clone() },
        Block { program, recorded: recorded.clone() },
    ];
    let compiled =
        blocks.each_ref().map(|block| lower_quantities(block.program, &known, &block.recorded));

    let mut rng = ChainRng::new(20_261_123, 0, Phase::Predictive);
    let mut found = QuantitiesAgreement::default();
    for draw in 0..POINTS {
        let point: Vec<f64> = (0..lowered.lowered.dim).map(|_| 4.0 * rng.uniform() - 2.0).collect();
        let trace = recorded_at(&lowered, &point)?;
        let Some(values) = split_values(&recorded, &trace) else { continue };
        for (block, compiled) in blocks.iter().zip(&compiled) {
            let Some((parts, graph)) = compiled else { continue };
            let mut host = known.clone();
            let recorded_ids = block.recorded.iter().map(|(id, _)| *id);
            for (id, value) in
                values.iter().filter(|(id, _)| recorded_ids.clone().any(|other| other == *id))
            {
                host.set(*id, value.clone());
            }
            let mut interpreter = Interpreter::new(block.program, settings.clone());
            let ran = interpreter.generate_in_place(&mut host, 0, draw as u64);
            let Some(outputs) = evaluate_block(graph, &trace)? else {
                found.left += 1;
                continue;
            };
            if !matches!(ran, Ok(None)) {
                // What the host cannot do, it says; the compiled numbers must not be finite then,
                // unless an error of the host's own statements came first.
                if parts.rest.is_empty() {
                    found.worst = (f64::INFINITY, format!("compiled, but {ran:?}"));
                }
                continue;
            }
            let mut rest = &outputs[..];
            for id in &parts.outputs {
                let Some(expected) = host.get(*id).and_then(numbers) else { break };
                if rest.len() < expected.len() {
                    found.worst = (f64::INFINITY, "too few numbers".to_owned());
                    break;
                }
                let (elements, others) = rest.split_at(expected.len());
                rest = others;
                let variable = block.program.variable(*id);
                found.note(&variable.name, elements, &expected);
            }
        }
        // The third value: transformed parameters as they were compiled with the density.
        let mut host = known.clone();
        values.iter().take(parameters.len()).for_each(|(id, v)| host.set(*id, v.clone()));
        let mut interpreter = Interpreter::new(program, settings.clone());
        if interpreter.transform_parameters(&mut host).is_ok() {
            for (id, value) in values.iter().skip(parameters.len()) {
                let (Some(computed), Some(expected)) =
                    (numbers(value), host.get(*id).and_then(numbers))
                else {
                    continue;
                };
                found.note(&program.variable(*id).name, &computed, &expected);
            }
        }
    }
    Ok(found)
}

/// A program whose generated quantities are compared, with what they are computed from.
struct Block<'p> {
    program: &'p Program,
    recorded: Vec<(VariableId, Value)>,
}

/// The program with its transformed parameters as generated quantities.
fn moved(program: &Program) -> Program {
    let mut moved = program.clone();
    moved.generated_quantities = std::mem::take(&mut moved.transformed_parameters);
    moved.model = Vec::new();
    for variable in &mut moved.variables {
        if variable.scope == Scope::TransformedParameters {
            variable.scope = Scope::GeneratedQuantities;
        }
    }
    moved
}

fn declarations(block: &[exmc_stan::typed::Statement]) -> Vec<Declaration> {
    let declared = |statement: &exmc_stan::typed::Statement| match &statement.kind {
        StatementKind::Declare(declaration) => Some(declaration.clone()),
        _ => None,
    };
    block.iter().filter_map(declared).collect()
}

fn unset_values(
    program: &Program,
    known: &Environment,
    declarations: &[Declaration],
) -> Result<Vec<(VariableId, Value)>, String> {
    let mut interpreter = Interpreter::new(program, Settings::default());
    let mut environment = known.clone();
    let each = declarations.iter().map(|declaration| {
        let extents = interpreter.extents(&mut environment, &declaration.ty);
        let extents = extents.map_err(|error| error.message)?;
        let ty = &program.variable(declaration.variable).ty;
        Ok((declaration.variable, unset(ty, &extents)))
    });
    each.collect()
}

/// What a draw records at an unconstrained position.
fn recorded_at(lowered: &StanLowered, point: &[f64]) -> Result<Vec<f64>, String> {
    let l = &lowered.lowered;
    let inputs = |name: &str| {
        let entry = l.layout.iter().find(|e| e.name == name)?;
        let values = &point[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), values)
    };
    let nodes: Vec<_> = l.trace.iter().map(|entry| entry.node).collect();
    let all = evaluate(&l.graph, &nodes, &inputs).map_err(|e| e.to_string())?;
    Ok(all.iter().flat_map(|tensor| tensor.values().to_vec()).collect())
}

/// Recorded numbers as values; nothing where a variable is a tuple or complex, whose columns have
/// another order.
fn split_values(
    recorded: &[(VariableId, Value)],
    trace: &[f64],
) -> Option<Vec<(VariableId, Value)>> {
    let mut rest = trace;
    let each = recorded.iter().map(|(id, unset)| {
        let len = numbers(unset)?.len();
        let (elements, others) = rest.split_at_checked(len)?;
        rest = others;
        let value = match unset {
            Value::Real(_) => Value::Real(*elements.first()?),
            Value::Reals(n) => {
                let mut n = n.clone();
                n.make_mut().copy_from_slice(elements);
                Value::Reals(n)
            }
            _ => return None,
        };
        Some((*id, value))
    });
    each.collect()
}

/// The compiled variables' numbers; nothing where the interpreter has to run the block.
fn evaluate_block(graph: &LoweredQuantities, trace: &[f64]) -> Result<Option<Vec<f64>>, String> {
    let name = |node| match &graph.graph.node(node).op {
        exmc_graph::Op::Input { name, .. } => name.to_string(),
        _ => String::new(),
    };
    let inputs = |wanted: &str| {
        let (node, offset) = graph.parameters.iter().find(|(node, _)| name(*node) == wanted)?;
        let shape = graph.graph.shape(*node).clone();
        let values = trace.get(*offset..*offset + shape.len())?;
        Tensor::real(shape, values)
    };
    let mut nodes = vec![graph.failed];
    nodes.extend(&graph.outputs);
    let all = evaluate(&graph.graph, &nodes, &inputs).map_err(|e| e.to_string())?;
    let values: Vec<f64> = all[1..].iter().flat_map(|tensor| tensor.values().to_vec()).collect();
    let failed = all[0].as_scalar() != Some(0.0) || values.iter().any(|x| x.is_nan());
    Ok((!failed).then_some(values))
}

/// The numbers of a value that is neither a tuple nor complex.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    Some(match value {
        Value::Int(i) => vec![*i as f64],
        Value::Real(x) => vec![*x],
        Value::Ints(n) => n.values.iter().map(|i| *i as f64).collect(),
        Value::Reals(n) => n.values.to_vec(),
        _ => return None,
    })
}
