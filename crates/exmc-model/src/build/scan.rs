//! A declared loop -> a graph's scan over a body of its own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use exmc_graph::{DType, Graph, GraphError, NodeId, Op, Role, ScanBody, Shape, SharedBody};

use super::expression::lower_expr;
use crate::diagnostic::{Code, Diagnostic};
use crate::expr::Expr;
use crate::function::fits_in_memory;
use crate::scan::{Output, Scan};

/// The loop's result as a node. `before` gives the nodes of expressions outside of the steps, and
/// `value_of` the node that stands for a name there.
pub(super) fn lower_scan(
    g: &mut Graph,
    (scan, output): (&Scan, &Output),
    before: &mut dyn FnMut(&mut Graph, &Expr) -> Result<NodeId, Diagnostic>,
    value_of: &dyn Fn(&mut Graph, &str) -> Option<NodeId>,
) -> Result<NodeId, Diagnostic> {
    let mut body = Graph::new();
    let mut locals: BTreeMap<String, NodeId> = BTreeMap::new();
    let mut args = Vec::new();
    for (k, (name, start, _)) in scan.carries.iter().enumerate() {
        let start = before(g, start)?;
        let start = real(g, start, || format!("the start of `{name}`"))?;
        let shape = g.shape(start).clone();
        let state = input(&mut body, format!("carry{k}"), shape, DType::Real)?;
        declare(&mut locals, name, state)?;
        args.push(start);
    }
    let mut length = scan.length.map(|length| ("`steps`".to_owned(), length));
    for (k, (name, rows)) in scan.sequences.iter().enumerate() {
        let rows = before(g, rows)?;
        let (shape, dtype) = (g.shape(rows).clone(), g.node(rows).dtype);
        let Some((&steps, row)) = shape.extents().split_first() else {
            let message = format!("the sequence `{name}` is a number");
            let help =
                "a sequence has a row for each step; what is the same in all needs no declaration";
            return Err(Diagnostic::new(Code::ShapeMismatch, message).help(help));
        };
        if let Some((first, known)) = &length
            && *known != steps
        {
            let message = format!("`{name}` has {steps} rows, {first} says {known} steps");
            return Err(Diagnostic::new(Code::ShapeMismatch, message)
                .help("all sequences of a scan have a row for each step"));
        }
        length.get_or_insert((format!("`{name}`"), steps));
        let row = input(&mut body, format!("x{k}"), Shape::from(row.to_vec()), dtype)?;
        declare(&mut locals, name, row)?;
        args.push(rows);
    }
    let Some((_, length)) = length else {
        let message = "a scan without sequences does not say how many steps it has";
        return Err(Diagnostic::new(Code::BadArguments, message).help("give it a number of steps"));
    };
    let fixed = RefCell::new((g, Vec::new()));
    let locals = RefCell::new(locals);
    let of_step = |body: &mut Graph, name: &str| {
        if let Some(&known) = locals.borrow().get(name) {
            return Some(known);
        }
        let (outer, fixed) = &mut *fixed.borrow_mut();
        let value = value_of(outer, name)?;
        let (shape, dtype) = (outer.shape(value).clone(), outer.node(value).dtype);
        let known = input(body, format!("fixed{}", fixed.len()), shape, dtype).ok()?;
        fixed.push(value);
        locals.borrow_mut().insert(name.to_owned(), known);
        Some(known)
    };
    for (name, value) in &scan.values {
        let value = lower_expr(&mut body, value, &of_step)?;
        declare(&mut locals.borrow_mut(), name, value)?;
    }
    let mut next = Vec::new();
    for (k, (name, _, value)) in scan.carries.iter().enumerate() {
        let value = lower_expr(&mut body, value, &of_step)?;
        let value = real(&mut body, value, || format!("the next `{name}`"))?;
        let state = body.find_input(&format!("carry{k}")).expect("it was made above");
        let (from, to) = (body.shape(state), body.shape(value));
        if from != to {
            let message =
                format!("`{name}` starts with shape {from}, and a step gives it shape {to}");
            return Err(Diagnostic::new(Code::ShapeMismatch, message)
                .help("a state keeps its shape; write the start in the shape of the steps"));
        }
        next.push(value);
    }
    let (stacked, number) = match output {
        Output::Last(name) => {
            let number = scan.carries.iter().position(|(carry, ..)| carry == name);
            let unknown = || {
                let names: Vec<_> = scan.carries.iter().map(|(name, ..)| name.as_str()).collect();
                let message = format!("the scan carries no `{name}`");
                Diagnostic::new(Code::UnknownReference, message)
                    .help(format!("it carries {}", names.join(", ")))
            };
            (Vec::new(), number.ok_or_else(unknown)?)
        }
        Output::Each(value) => {
            let value = lower_expr(&mut body, value, &of_step)?;
            let value = real(&mut body, value, || "what each step gives".to_owned())?;
            let stacked_shape = Shape::from([length]).join(body.shape(value).extents());
            if !fits_in_memory(&stacked_shape) {
                let message = format!(
                    "what the steps give has shape {stacked_shape}: more than 2^27 elements"
                );
                return Err(Diagnostic::new(Code::ShapeMismatch, message));
            }
            (vec![value], next.len())
        }
    };
    let (g, fixed) = fixed.into_inner();
    let counts = [scan.carries.len(), scan.sequences.len(), fixed.len()];
    args.extend(fixed);
    let body = SharedBody(Arc::new(ScanBody { graph: body, next, stacked, counts }));
    let loops = g.apply(Op::Scan { length, reverse: scan.reverse, body }, &args);
    loops.and_then(|loops| g.apply(Op::Project(number), &[loops])).map_err(unfit)
}

fn input(body: &mut Graph, name: String, shape: Shape, dtype: DType) -> Result<NodeId, Diagnostic> {
    let role = if dtype == DType::Int { Role::Data } else { Role::Parameter };
    body.input(&name, role, shape, dtype).map_err(unfit)
}

fn unfit(error: GraphError) -> Diagnostic {
    Diagnostic::new(Code::BadArguments, error.message().to_owned())
}

/// Gives a node a name in the steps.
fn declare(
    locals: &mut BTreeMap<String, NodeId>,
    name: &str,
    node: NodeId,
) -> Result<(), Diagnostic> {
    if locals.insert(name.to_owned(), node).is_none() {
        return Ok(());
    }
    let message = format!("`{name}` means two things in a scan's steps");
    let help = "carries, sequences and values have names of their own, and a value is named before it is used";
    Err(Diagnostic::new(Code::DuplicateName, message).help(help))
}

/// A node as a real number or array; integers are only taken where they are constants.
fn real(g: &mut Graph, id: NodeId, what: impl Fn() -> String) -> Result<NodeId, Diagnostic> {
    if g.node(id).dtype == DType::Real {
        return Ok(id);
    }
    match g.as_constant(id).cloned() {
        Some(tensor) => Ok(g.constant(tensor.into_real())),
        None => Err(Diagnostic::new(Code::BadArguments, format!("{} is of integers", what()))
            .help("what a scan carries or gives is of real numbers; multiply by 1.0")),
    }
}
