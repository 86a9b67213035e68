//! Lanes and Stan's vectorisation: arguments of different ranks -> nodes that broadcast.

use exmc_graph::{Dependence, Graph, NodeId, Op, Reduction, Shape, evaluate};
use rustc_hash::FxHashMap;

use super::{Argument, LibraryError, Output};

/// Arguments stretched to meet each other.
pub(super) struct Aligned {
    /// One node an argument; all broadcast to `[lanes] ++ elements` (then the argument's event).
    pub(super) nodes: Vec<NodeId>,
    /// `[lanes] ++ elements`, what an elementwise result has.
    pub(super) shape: Shape,
    /// Whether any argument differs among lanes.
    pub(super) batched: bool,
}

impl Argument {
    /// Its extents without the lanes.
    pub(super) fn extents<'g>(&self, g: &'g Graph) -> &'g [usize] {
        &g.shape(self.node).extents()[usize::from(self.batched)..]
    }

    /// The number of lanes, if it has any.
    pub(super) fn lanes(&self, g: &Graph) -> Option<usize> {
        self.batched.then(|| g.shape(self.node).extents()[0])
    }
}

impl Output {
    pub(super) fn new(node: NodeId, batched: bool) -> Self {
        Self { node, batched }
    }

    /// The sum over everything but the lanes.
    pub fn total(self, g: &mut Graph) -> Self {
        let first = usize::from(self.batched);
        let axes: Vec<_> = (first..g.shape(self.node).rank()).collect();
        Self { node: g.reduce(Reduction::Sum, self.node, &axes), ..self }
    }
}

/// Arguments of which the last `events[k]` extents belong to one event each, stretched to meet.
///
/// # Errors
/// When two arguments come in different numbers of elements.
pub(super) fn align(
    g: &mut Graph,
    args: &[Argument],
    events: &[usize],
) -> Result<Aligned, LibraryError> {
    let mut elements: Vec<usize> = Vec::new();
    let mut lanes = None;
    for (arg, &event) in args.iter().zip(events) {
        let extents = arg.extents(g);
        let Some(outer) = extents.len().checked_sub(event) else {
            return Err(LibraryError::Mistake("an argument has too few dimensions".to_owned()));
        };
        let outer_extents = &extents[..outer];
        if !outer_extents.is_empty() && !elements.is_empty() && outer_extents != elements {
            let (a, b) = (Shape::from(elements.as_slice()), Shape::from(outer_extents));
            return Err(LibraryError::Mistake(format!("sizes {a} and {b} do not match")));
        }
        if !outer_extents.is_empty() {
            elements = outer_extents.to_vec();
        }
        lanes = lanes.or(arg.lanes(g));
    }
    let mut nodes = Vec::with_capacity(args.len());
    for (arg, &event) in args.iter().zip(events) {
        let extents = arg.extents(g).to_vec();
        let (outer_extents, event) = extents.split_at(extents.len() - event);
        let node = match arg.lanes(g) {
            Some(lanes) if outer_extents.len() < elements.len() => {
                let missing = vec![1; elements.len() - outer_extents.len()];
                g.reshape(
                    arg.node,
                    Shape::from([lanes]).join(&missing).join(outer_extents).join(event),
                )
            }
            _ => arg.node,
        };
        nodes.push(node);
    }
    let shape = Shape::from(lanes.as_slice()).join(&elements);
    Ok(Aligned { nodes, shape, batched: lanes.is_some() })
}

/// A formula of elements applied to arguments that are stretched to meet.
pub(super) fn elementwise(
    g: &mut Graph,
    args: &[Argument],
    formula: impl FnOnce(&mut Graph, &[NodeId]) -> NodeId,
) -> Result<Output, LibraryError> {
    let aligned = align(g, args, &vec![0; args.len()])?;
    let node = formula(g, &aligned.nodes);
    let node = g.broadcast_to(node, &aligned.shape);
    Ok(Output::new(node, aligned.batched))
}

/// The integer that an argument is in all lanes.
///
/// # Errors
/// When it is not known, or not the same in all lanes.
pub(super) fn int(g: &Graph, args: &[Argument], k: usize) -> Result<i64, LibraryError> {
    let values = ints(g, args, k)?;
    let (first, rest) = values.split_first().ok_or(LibraryError::Varies(k))?;
    if rest.iter().all(|v| v == first) { Ok(*first) } else { Err(LibraryError::Varies(k)) }
}

/// The same as [`int`], zero or positive.
pub(super) fn size(g: &Graph, args: &[Argument], k: usize) -> Result<usize, LibraryError> {
    let value = int(g, args, k)?;
    usize::try_from(value)
        .map_err(|_| LibraryError::Mistake(format!("a size must not be negative, found {value}")))
}

/// The position, from 0, that an argument from 1 means among `extent`.
pub(super) fn position(
    g: &Graph,
    args: &[Argument],
    k: usize,
    extent: usize,
) -> Result<usize, LibraryError> {
    let value = int(g, args, k)?;
    match usize::try_from(value) {
        Ok(index) if (1..=extent).contains(&index) => Ok(index - 1),
        _ => Err(LibraryError::Mistake(format!("index {value} is out of range 1..{extent}"))),
    }
}

/// The integers that an argument is, lane after lane.
///
/// # Errors
/// When they are not known.
pub(super) fn ints(g: &Graph, args: &[Argument], k: usize) -> Result<Vec<i64>, LibraryError> {
    let arg = args.get(k).ok_or(LibraryError::Unknown(k))?;
    Ok(known(g, arg.node).ok_or(LibraryError::Unknown(k))?.iter().map(|v| *v as i64).collect())
}

/// The values of a node that needs neither data nor parameters.
pub(crate) fn known(g: &Graph, node: NodeId) -> Option<Vec<f64>> {
    if let Some(tensor) = g.as_constant(node) {
        return Some(tensor.values().to_vec());
    }
    if g.dependence(node) != Dependence::Constant {
        return None;
    }
    // A graph of its own: an evaluation looks at every node of its graph, of which there may be
    // many.
    let mut small = Graph::new();
    let mut copies: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    let mut open = vec![node];
    while let Some(&next) = open.last() {
        let args = &g.node(next).args;
        let missing = open.len();
        open.extend(args.iter().filter(|arg| !copies.contains_key(*arg)));
        if open.len() == missing {
            let args: Vec<NodeId> = args.iter().map(|arg| copies[arg]).collect();
            let copy = small.apply(g.node(next).op.clone(), &args).ok()?;
            copies.insert(next, copy);
            open.pop();
        }
    }
    let values = evaluate(&small, &[copies[&node]], &|_| None).ok()?;
    Some(values[0].values().to_vec())
}

/// The node with the lanes' axis, stretched along it if need be.
pub(super) fn with_lanes(g: &mut Graph, arg: &Argument, lanes: Option<usize>) -> NodeId {
    match lanes {
        Some(lanes) if !arg.batched => {
            let shape = Shape::from([lanes]).join(arg.extents(g));
            g.broadcast_to(arg.node, &shape)
        }
        _ => arg.node,
    }
}

/// The number of lanes that any argument has.
pub(super) fn lanes(g: &Graph, args: &[Argument]) -> Option<usize> {
    args.iter().find_map(|arg| arg.lanes(g))
}

/// Axes in another order, counted after the lanes' axis.
pub(super) fn permute(g: &mut Graph, node: NodeId, batched: bool, order: &[usize]) -> NodeId {
    let first = usize::from(batched);
    let order: Vec<usize> = (0..first).chain(order.iter().map(|a| a + first)).collect();
    g.apply(Op::Permute(order), &[node]).expect("an order of the value's own axes")
}

/// Another shape after the lanes' axis; the elements are as many.
pub(super) fn reshape(g: &mut Graph, node: NodeId, batched: bool, extents: &[usize]) -> NodeId {
    let lanes = &g.shape(node).extents()[..usize::from(batched)];
    let shape = Shape::from(lanes).join(extents);
    g.reshape(node, shape)
}
