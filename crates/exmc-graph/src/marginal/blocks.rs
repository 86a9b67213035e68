//! Scalar inputs that a log density reads as one vector, and not otherwise -> one input in their
//! place.
//!
//! What has been written as hundreds of scalars is integrated out as the vector that optimisations
//! have made of it.

use rustc_hash::FxHashSet;

use super::copy;
use crate::graph::{Graph, NodeId};
use crate::op::{Op, Role};
use crate::tensor::{DType, Shape};

/// A vector in the place of scalars.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The vector's input.
    pub input: String,
    /// The scalars' inputs, in the order of its elements.
    pub members: Vec<String>,
}

impl Block {
    /// The vector again as one that is put together from its scalars, in any graph.
    pub fn parts(&self, g: &mut Graph) -> NodeId {
        let mut rows = Vec::with_capacity(self.members.len());
        for name in &self.members {
            let scalar = g.input(name, Role::Parameter, Shape::scalar(), DType::Real);
            let scalar = scalar.expect("our bug: a name stands for one scalar");
            rows.push(g.reshape(scalar, [1]));
        }
        g.concat(&rows, 0)
    }
}

/// Joins scalars of which `may_go` holds; nothing where there are no such vectors.
pub fn join_scalars(
    graph: &Graph,
    logp: NodeId,
    may_go: &dyn Fn(&str) -> bool,
) -> Option<(Graph, NodeId, Vec<Block>)> {
    let live = graph.reachable(&[logp]);
    let mut uses = vec![0_usize; graph.len()];
    for id in graph.ids().filter(|id| live[id.index()]) {
        graph.node(id).args.iter().for_each(|arg| uses[arg.index()] += 1);
    }
    let (mut new, mut blocks, mut replaced) = (Graph::new(), Vec::new(), Vec::new());
    for id in graph.ids().filter(|id| live[id.index()]) {
        let Some(members) = members(graph, &uses, id, may_go) else { continue };
        let mut input = format!("{}..{}", members[0], members[members.len() - 1]);
        while graph.find_input(&input).is_some() || new.find_input(&input).is_some() {
            input.push('.');
        }
        let shape = Shape::from([members.len()]);
        let made = new.input(&input, Role::Parameter, shape, DType::Real);
        replaced.push((id, made.expect("the name is new")));
        blocks.push(Block { input, members });
    }
    if blocks.is_empty() {
        return None;
    }
    let logp = copy(&mut new, graph, logp, &replaced);
    Some((new, logp, blocks))
}

/// Whether an array is read element by element anywhere, so that optimisations may read it as a
/// whole.
pub fn is_read_by_elements(g: &Graph, input: NodeId) -> bool {
    let mut is_view = vec![false; g.len()];
    is_view[input.index()] = true;
    g.ids().any(|id| {
        let node = g.node(id);
        let reads = node.args.first().is_some_and(|arg| is_view[arg.index()]);
        is_view[id.index()] |= reads && matches!(node.op, Op::Reshape(_));
        reads && matches!(node.op, Op::Slice { .. } | Op::Gather) && node.shape.len() == 1
    })
}

/// The scalars of which a vector consists, if nothing else reads them.
fn members(
    g: &Graph,
    uses: &[usize],
    id: NodeId,
    may_go: &dyn Fn(&str) -> bool,
) -> Option<Vec<String>> {
    let node = g.node(id);
    if node.op != (Op::Concat { axis: 0 }) || node.shape.rank() != 1 {
        return None;
    }
    let mut seen = FxHashSet::default();
    let member = |&part: &NodeId| {
        let (Op::Reshape(_), &[scalar]) = (&g.node(part).op, &*g.node(part).args) else {
            return None;
        };
        let Op::Input { name, role: Role::Parameter } = &g.node(scalar).op else { return None };
        let is_alone = uses[part.index()] == 1 && uses[scalar.index()] == 1;
        let fits = is_alone && g.shape(scalar).is_scalar() && seen.insert(scalar) && may_go(name);
        fits.then(|| name.to_string())
    };
    node.args.iter().map(member).collect()
}
