//! An observation of an invertible image of a random variable -> an observation of the variable itself,
//! with the logarithm of the map's Jacobian.
//!
//! For `y = a x + b` seen as v: $\log p_y(v) = \log p_x((v-b)/a) - \log|a|$ by element; for `y = A x + b`
//! with a square matrix: $\log p_x(A^{-1}(v-b)) - \log|\det A|$. Slopes, matrices and offsets may depend on
//! other variables. When several variables enter affinely (a sum of two), the bytewise first one that
//! nothing else refers to is solved for; the joint density is the same whichever it is.

use exmc_graph::{Binary, Dependence, Graph, NodeId, Op, Unary, evaluate};

use crate::diagnostic::{Code, Diagnostic, ModelError};
use crate::model::{Kind, Model};

/// Lifts observed elementwise affine images.
pub(super) fn lift_measurable_affine(model: &Model) -> Result<Model, ModelError> {
    lift(model, |g, value, x| {
        let (slope, offset) = affine_in(g, value, x)?;
        let slope = slope?;
        (g.shape(value) == g.shape(x)).then_some(Image { slope: Slope::Elementwise(slope), offset })
    })
}

/// Lifts observed matrix images.
pub(super) fn lift_measurable_matmul(model: &Model) -> Result<Model, ModelError> {
    lift(model, |g, value, x| {
        let (matrix, offset) = matrix_in(g, value, x)?;
        let square = g.shape(matrix).extents()[0] == g.shape(matrix).extents()[1];
        square.then_some(Image { slope: Slope::Matrix(matrix), offset })
    })
}

/// `slope * x + offset`.
struct Image {
    slope: Slope,
    offset: Option<NodeId>,
}

enum Slope {
    Elementwise(NodeId),
    Matrix(NodeId),
}

fn lift(
    model: &Model,
    recognise: impl Fn(&mut Graph, NodeId, NodeId) -> Option<Image>,
) -> Result<Model, ModelError> {
    let mut rewritten = model.clone();
    let mut mistakes = Vec::new();
    for (name, node) in &model.nodes {
        let Kind::Obs(obs) = &node.kind else { continue };
        let Some(Kind::Det(value)) = model.nodes.get(&obs.target).map(|n| &n.kind) else {
            continue;
        };
        let value = inline_deterministic(model, &mut rewritten.graph, *value);
        let free = rewritten.free_variables().into_iter().map(str::to_owned).collect::<Vec<_>>();
        let mut candidates: Vec<&String> =
            free.iter().filter(|v| rewritten.graph.find_input(v).is_some()).collect();
        // A variable that only the map refers to is solved for first.
        candidates.sort_by_key(|v| (used_elsewhere(model, v, &obs.target), v.as_str()));
        let graph = &mut rewritten.graph;
        let found = candidates.into_iter().find_map(|variable| {
            let x = graph.find_input(variable)?;
            Some((variable.clone(), recognise(graph, value, x)?))
        });
        let Some((variable, Image { slope, offset })) = found else { continue };
        let centred = match offset {
            Some(offset) => graph.sub(obs.value, offset),
            None => obs.value,
        };
        let (solved, log_jacobian, singular) = match slope {
            Slope::Elementwise(slope) => {
                let size = graph.abs(slope);
                let log_size = graph.log(size);
                let log_size = graph.broadcast_to(log_size, &graph.shape(value).clone());
                (graph.div(centred, slope), graph.neg(log_size), log_size)
            }
            Slope::Matrix(matrix) => {
                let log_size = graph.log_abs_det(matrix);
                (graph.solve(matrix, centred), graph.neg(log_size), log_size)
            }
        };
        let joint = matches!(slope, Slope::Matrix(_));
        if graph.dependence(singular) == Dependence::Constant {
            let logs = evaluate(graph, &[singular], &|_| None);
            let invertible = logs.is_ok_and(|v| v[0].values().iter().all(|l| l.is_finite()));
            if !invertible {
                let what = if joint { "matrix is singular" } else { "slope is zero" };
                let message = format!(
                    "the map from `{variable}` to `{}` cannot be inverted: its {what}",
                    obs.target
                );
                let help = "an observed image needs a map that can be undone";
                mistakes.push(
                    Diagnostic::new(Code::SingularMatrix, message)
                        .help(help)
                        .at(name, &node.origin),
                );
                continue;
            }
        }
        if joint && (obs.mask.is_some() || obs.weight.is_some() || !obs.missing.is_empty()) {
            let message = format!(
                "`{}` is one joint observation: its elements take no mask or weight",
                obs.target
            );
            mistakes.push(Diagnostic::new(Code::BadObservation, message).at(name, &node.origin));
            continue;
        }
        if obs.censoring.is_some() || !obs.missing.is_empty() {
            let message = format!(
                "`{}` is an image of `{variable}`: it cannot be censored or partly observed",
                obs.target
            );
            let help = "observe the variable itself";
            mistakes.push(
                Diagnostic::new(Code::BadObservation, message).help(help).at(name, &node.origin),
            );
            continue;
        }
        let node = rewritten.nodes.get_mut(name).expect("the rewritten model has the same nodes");
        let Kind::Obs(lifted) = &mut node.kind else { unreachable!("it was an observation above") };
        lifted.target = variable;
        lifted.value = solved;
        lifted.log_jacobian = Some(log_jacobian);
        lifted.joint = joint;
    }
    ModelError::check(mistakes)?;
    Ok(rewritten)
}

/// The expression with deterministic nodes replaced by what they stand for.
fn inline_deterministic(model: &Model, g: &mut Graph, root: NodeId) -> NodeId {
    // The graphs share all nodes so far, so a reference to another deterministic node is followed by
    // importing that node's expression from the model.
    let source = model.graph.clone();
    fn go(model: &Model, source: &Graph, g: &mut Graph, root: NodeId) -> NodeId {
        g.import(source, &[root], |g, _, name| {
            Ok::<_, exmc_graph::GraphError>(match model.nodes.get(name).map(|n| &n.kind) {
                Some(Kind::Det(value)) => Some(go(model, source, g, *value)),
                _ => None,
            })
        })
        .expect("our bug: building checked all shapes")[0]
    }
    go(model, &source, g, root)
}

fn used_elsewhere(model: &Model, variable: &str, target: &str) -> bool {
    model.nodes.iter().any(|(name, node)| {
        let roots = match &node.kind {
            _ if name == target => return false,
            Kind::Det(value) | Kind::Potential(value) => vec![*value],
            Kind::Rv(rv) => rv.dist.arguments(),
            Kind::Obs(_) | Kind::Data(_) => return false,
        };
        model.references(&roots).contains(variable)
    })
}

/// Slope (nothing for zero) and offset (nothing for zero) of a node that is affine in `x`, or `None`.
fn affine_in(g: &mut Graph, node: NodeId, x: NodeId) -> Option<(Option<NodeId>, Option<NodeId>)> {
    if node == x {
        return Some((Some(g.scalar(1.0)), None));
    }
    if !g.reachable(&[node])[x.index()] {
        return Some((None, Some(node)));
    }
    let found = g.node(node).clone();
    let add = |g: &mut Graph, a: Option<NodeId>, b: Option<NodeId>| match (a, b) {
        (Some(a), Some(b)) => Some(g.add(a, b)),
        (a, b) => a.or(b),
    };
    let negate = |g: &mut Graph, a: Option<NodeId>| a.map(|a| g.neg(a));
    match (&found.op, found.args.as_slice()) {
        (Op::Unary(Unary::Neg), &[a]) => {
            let (slope, offset) = affine_in(g, a, x)?;
            Some((negate(g, slope), negate(g, offset)))
        }
        (Op::Binary(Binary::Add), &[a, b]) => {
            let ((sa, oa), (sb, ob)) = (affine_in(g, a, x)?, affine_in(g, b, x)?);
            Some((add(g, sa, sb), add(g, oa, ob)))
        }
        (Op::Binary(Binary::Sub), &[a, b]) => {
            let ((sa, oa), (sb, ob)) = (affine_in(g, a, x)?, affine_in(g, b, x)?);
            let (sb, ob) = (negate(g, sb), negate(g, ob));
            Some((add(g, sa, sb), add(g, oa, ob)))
        }
        (Op::Binary(Binary::Mul), &[a, b]) => {
            let ((sa, oa), (sb, ob)) = (affine_in(g, a, x)?, affine_in(g, b, x)?);
            let (factor, slope, offset) = match (sa, sb) {
                (None, _) => (a, sb, ob),
                (_, None) => (b, sa, oa),
                _ => return None,
            };
            Some((slope.map(|s| g.mul(factor, s)), offset.map(|o| g.mul(factor, o))))
        }
        (Op::Binary(Binary::Div), &[a, b]) => {
            let ((sa, oa), (sb, _)) = (affine_in(g, a, x)?, affine_in(g, b, x)?);
            if sb.is_some() {
                return None;
            }
            Some((sa.map(|s| g.div(s, b)), oa.map(|o| g.div(o, b))))
        }
        _ => None,
    }
}

/// Matrix and offset (nothing for zero) of `A x + b`, or `None`.
fn matrix_in(g: &mut Graph, node: NodeId, x: NodeId) -> Option<(NodeId, Option<NodeId>)> {
    let found = g.node(node).clone();
    let free_of_x = |g: &Graph, id: NodeId| !g.reachable(&[id])[x.index()];
    match (&found.op, found.args.as_slice()) {
        (Op::MatMul, &[matrix, vector])
            if vector == x && free_of_x(g, matrix) && g.shape(x).rank() == 1 =>
        {
            Some((matrix, None))
        }
        (Op::Binary(Binary::Add), &[a, b]) => {
            let (image, other) = if free_of_x(g, b) { (a, b) } else { (b, a) };
            if !free_of_x(g, other) {
                return None;
            }
            let (matrix, offset) = matrix_in(g, image, x)?;
            let offset = offset.map_or(other, |o| g.add(o, other));
            Some((matrix, Some(offset)))
        }
        (Op::Binary(Binary::Sub), &[a, b]) if free_of_x(g, b) => {
            let (matrix, offset) = matrix_in(g, a, x)?;
            let minus = g.neg(b);
            let offset = offset.map_or(minus, |o| g.add(o, minus));
            Some((matrix, Some(offset)))
        }
        _ => None,
    }
}
