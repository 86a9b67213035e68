//! Checking a graph's invariants after a pass: graph -> nothing, or what is wrong and where.

use std::fmt::Write;

use rustc_hash::FxHashSet;

use crate::graph::{Dependence, Graph, NodeId};
use crate::op::{Op, Role};

/// Lines of context before and after the node that a message is about.
const CONTEXT: usize = 5;

/// Whether arguments precede users, shapes, kinds and dependences are those of the operations,
/// input names are unique, and loop bodies are well formed.
///
/// # Errors
/// What is wrong with which node, with the lines around it. That is always a bug of ours.
pub fn verify(graph: &Graph) -> Result<(), String> {
    let mut names = FxHashSet::default();
    for id in graph.ids() {
        let checked = check(graph, id).and_then(|()| match &graph.node(id).op {
            Op::Input { name, .. } if !names.insert(name) => {
                Err(format!("there are two inputs `{name}`"))
            }
            _ => Ok(()),
        });
        checked.map_err(|problem| report(graph, id, &problem))?;
    }
    Ok(())
}

fn check(graph: &Graph, id: NodeId) -> Result<(), String> {
    let node = graph.node(id);
    if let Some(late) = node.args.iter().find(|arg| **arg >= id) {
        return Err(format!("its argument {late} does not precede it"));
    }
    let (shape, dtype, dependence) = match &node.op {
        Op::Constant(tensor) => (tensor.shape().clone(), tensor.dtype(), Dependence::Constant),
        Op::Input { name, role } => {
            if graph.find_input(name) != Some(id) {
                return Err(format!("`{name}` is not found under its name"));
            }
            let dependence = match role {
                Role::Data => Dependence::Data,
                Role::Parameter => Dependence::Parameter,
            };
            (node.shape.clone(), node.dtype, dependence)
        }
        op => {
            let (shape, dtype) =
                graph.infer(op, &node.args).map_err(|error| error.message().to_owned())?;
            let args = node.args.iter().map(|&arg| graph.dependence(arg));
            (shape, dtype, args.max().unwrap_or(Dependence::Constant))
        }
    };
    if (&node.shape, node.dtype, node.dependence) != (&shape, dtype, dependence) {
        return Err(format!("its operation gives {dtype}{shape} {dependence}"));
    }
    if let Op::Scan { body, .. } = &node.op {
        let body = &body.0;
        let outputs = || body.next.iter().chain(&body.stacked);
        if let Some(absent) = outputs().find(|output| output.index() >= body.graph.len()) {
            return Err(format!("its body has no {absent}"));
        }
        verify(&body.graph).map_err(|problem| format!("in its body: {problem}"))?;
    }
    if let Op::Ode(problem) = &node.op {
        verify(&problem.0.graph).map_err(|problem| format!("in its body: {problem}"))?;
    }
    Ok(())
}

fn report(graph: &Graph, id: NodeId, problem: &str) -> String {
    let mut text = format!("{id}: {problem}");
    let start = id.index().saturating_sub(CONTEXT);
    for other in graph.ids().skip(start).take(2 * CONTEXT + 1) {
        let mark = if other == id { ">" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{mark} {}", graph.print_node(other));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Shape};

    fn graph() -> (Graph, NodeId) {
        let mut g = Graph::new();
        let x = g.input("x", Role::Parameter, [3].into(), DType::Real).unwrap();
        let y = g.exp(x);
        let z = g.sum(y);
        assert_eq!(verify(&g), Ok(()));
        (g, z)
    }

    #[test]
    fn a_wrong_shape_is_reported_with_the_lines_around() {
        let (mut g, z) = graph();
        g.node_mut(z).shape = Shape::from([2]);
        let expected = "%2: its operation gives real[] param\n  %0 = input \"x\" : real[3] param\n  \
                        %1 = exp(%0) : real[3] param\n> %2 = sum(%1) {axes=[0]} : real[2] param";
        assert_eq!(verify(&g), Err(expected.to_owned()));
    }

    #[test]
    fn a_late_argument_and_a_wrong_dependence_are_reported() {
        let (mut g, z) = graph();
        g.node_mut(z).args = vec![z];
        assert!(verify(&g).unwrap_err().starts_with("%2: its argument %2 does not precede it"));
        let (mut g, z) = graph();
        g.node_mut(z).dependence = Dependence::Data;
        assert!(verify(&g).unwrap_err().starts_with("%2: its operation gives real[] param"));
    }
}
