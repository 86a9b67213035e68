//! A library call at many points -> values and derivatives by an executor: one lane a point,
//! compiled once.

use exmc_exec::{Executor, FunctionSource, compile_function};
use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor, differentiate};
use exmc_model::KnownSupports;
use exmc_stan::library::{Argument, LibraryError, density, function};
use exmc_stan::typed::Type;

use crate::functions::table::Kind;

/// A call's result at one point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) value: f64,
    /// Whether a condition on the arguments does not hold.
    pub(crate) rejected: bool,
    /// By the real arguments.
    pub(crate) slopes: Vec<f64>,
}

/// The value at every point, with conditions (not zero where they hold).
type Nodes = (NodeId, Vec<NodeId>);

fn nodes(g: &mut Graph, name: &str, args: &[Argument]) -> Result<Nodes, LibraryError> {
    let lanes = args.iter().find(|a| a.batched).map_or(1, |a| g.shape(a.node).extents()[0]);
    let all = Shape::from([lanes]);
    let is_density =
        ["_lpdf", "_lpmf", "_cdf", "_lcdf", "_lccdf"].iter().any(|s| name.ends_with(s));
    if !is_density {
        let output = function(g, name, args)?;
        return Ok((g.broadcast_to(output.node, &all), Vec::new()));
    }
    let found = density(g, &mut KnownSupports::default(), name, args)?;
    let number = found.number(g);
    let checks = found.checks.iter().map(|check| g.broadcast_to(check.holds, &all)).collect();
    Ok((g.broadcast_to(number.node, &all), checks))
}

/// The call at the points, which are lanes; integers are data and the same in all of them where
/// `same` says so.
fn together(
    executor: Executor,
    name: &str,
    kinds: &[Kind],
    points: &[&[f64]],
    same: bool,
) -> Result<Vec<Found>, LibraryError> {
    let lanes = points.len();
    // One point alone is no lane, for functions that work on one.
    let batched = lanes > 1;
    let of_lanes = if batched { Shape::from([lanes]) } else { Shape::scalar() };
    let mut g = Graph::new();
    let (mut args, mut parameters, mut dim) = (Vec::new(), Vec::new(), 0);
    for (k, kind) in kinds.iter().enumerate() {
        let shape = of_lanes.clone();
        args.push(match kind {
            Kind::Int if same => {
                let one = Tensor::int(Shape::scalar(), vec![points[0][k]]).expect("an integer");
                Argument { node: g.constant(one), ty: Type::Int, batched: false }
            }
            Kind::Int => {
                let each = Tensor::int(shape, points.iter().map(|p| p[k]).collect::<Vec<_>>());
                let node = g.constant(each.expect("integers"));
                Argument { node, ty: Type::Int, batched }
            }
            Kind::Real => {
                let node = g.input(&format!("p{k}"), Role::Parameter, shape, DType::Real);
                let node = node.expect("a new name");
                parameters.push((node, dim));
                dim += lanes;
                Argument { node, ty: Type::Real, batched }
            }
        });
    }
    let (value, checks) = nodes(&mut g, name, &args)?;
    let total = g.sum(value);
    let wrt: Vec<NodeId> = parameters.iter().map(|(node, _)| *node).collect();
    let slopes = differentiate(&mut g, total, &wrt).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    let outputs: Vec<NodeId> = std::iter::once(value).chain(slopes).chain(checks).collect();
    let count = outputs.len();
    let value_lanes = g.shape(value).len();
    let source = FunctionSource { graph: g, outputs, parameters, dim };
    let compiled = compile_function(executor, &source).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut instance = compiled.bind(&|_| None).expect("nothing to bind").instance();
    let reals = kinds.iter().enumerate().filter(|(_, kind)| **kind == Kind::Real);
    let position: Vec<f64> =
        reals.flat_map(|(k, _)| points.iter().map(move |p| p[k]).collect::<Vec<_>>()).collect();
    let mut out = vec![0.0; count * value_lanes];
    instance.evaluate(&position, &mut out).unwrap_or_else(|e| panic!("{name}: {e}"));
    let output_at =
        |output: usize, lane: usize| out[output * value_lanes + lane.min(value_lanes - 1)];
    let reals = wrt.len();
    let found = |lane: usize| Found {
        value: output_at(0, lane),
        rejected: (1 + reals..count).any(|k| output_at(k, lane) == 0.0),
        slopes: (1..=reals).map(|k| output_at(k, lane)).collect(),
    };
    Ok((0..lanes).map(found).collect())
}

/// The call at the points, all at once where integers may differ among lanes, else for each of
/// their values.
pub(crate) fn evaluate(
    executor: Executor,
    name: &str,
    kinds: &[Kind],
    points: &[&[f64]],
) -> Result<Vec<Found>, LibraryError> {
    match together(executor, name, kinds, points, kinds.is_empty()) {
        Err(LibraryError::Varies(_) | LibraryError::Unbatchable | LibraryError::Mistake(_)) => {}
        done => return done,
    }
    let ints = |p: &[f64]| -> Vec<f64> {
        let of_kind = p.iter().zip(kinds).filter(|(_, kind)| **kind == Kind::Int);
        of_kind.map(|(x, _)| *x).collect()
    };
    let mut found: Vec<Option<Found>> = vec![None; points.len()];
    for first in 0..points.len() {
        if found[first].is_some() {
            continue;
        }
        let group: Vec<usize> =
            (first..points.len()).filter(|k| ints(points[*k]) == ints(points[first])).collect();
        let group_points: Vec<&[f64]> = group.iter().map(|k| points[*k]).collect();
        let done = match together(executor, name, kinds, &group_points, true) {
            Err(LibraryError::Unbatchable) => {
                let alone = group_points
                    .iter()
                    .map(|point| together(executor, name, kinds, &[*point], true));
                alone.collect::<Result<Vec<_>, _>>()?.concat()
            }
            // A mistake of the program's: no number.
            Err(LibraryError::Mistake(_)) => {
                let none = Found { value: f64::NAN, rejected: true, slopes: Vec::new() };
                vec![none; group_points.len()]
            }
            done => done?,
        };
        for (k, each) in group.into_iter().zip(done) {
            found[k] = Some(each);
        }
    }
    Ok(found.into_iter().map(|f| f.expect("every point is in a group")).collect())
}
