//! Columns: a reduction over a short axis -> elementwise operations on one array for every place of
//! that axis.
//!
//! A mixture's components or a softmax's classes are an axis of a few places beside one of many.
//! Its log of a sum of exponentials is a kernel of its own over the whole array, or a handful of
//! operations on columns, each as long as the other axes together, which are fused with what makes
//! them and with what reads them. Elementwise operations, stretched values and pieces that were
//! joined along the axis have columns without moving an element; of anything else they are slices.

use exmc_graph::{Binary, Dependence, Graph, NodeId, Op, Reduction, Shape, Unary};
use rustc_hash::{FxHashMap, FxHashSet};

/// Places of an axis up to which it is taken apart.
const MAX_SHORT_AXIS: usize = 16;
/// Why the operations that are applied here fit.
const FITS: &str = "shapes fit as they did in the original";

/// Takes short axes apart in what `roots` need.
pub(crate) fn columns(graph: &Graph, roots: &[NodeId]) -> (Graph, Vec<NodeId>) {
    let live = graph.reachable(roots);
    let reduces = |id: NodeId| live[id.index()] && short_axis(graph, id).is_some();
    if !graph.ids().any(reduces) {
        return (graph.clone(), roots.to_vec());
    }
    let mut rewriter = Rewriter {
        graph,
        new: Graph::new(),
        copies: vec![None; graph.len()],
        columns: FxHashMap::default(),
        mapped: FxHashSet::default(),
        exponentials: FxHashMap::default(),
    };
    for id in graph.ids().filter(|id| live[id.index()]) {
        let copy = rewriter.copy(id);
        rewriter.copies[id.index()] = Some(copy);
        rewriter.find_columns(id);
    }
    let roots = roots.iter().map(|&root| rewriter.copy_of(root)).collect();
    (rewriter.new, roots)
}

/// The axis of a reduction that is better done on columns.
fn short_axis(graph: &Graph, id: NodeId) -> Option<usize> {
    let node = graph.node(id);
    let (Op::Reduce(reduction, axes), Dependence::Parameter) = (&node.op, node.dependence) else {
        return None;
    };
    let &[axis] = &axes[..] else { return None };
    let extent = graph.shape(node.args[0]).extents()[axis];
    // A sum runs beside what it adds up as it is.
    let worth = *reduction != Reduction::Sum && (2..=MAX_SHORT_AXIS).contains(&extent);
    (worth && node.shape.len() > 1).then_some(axis)
}

struct Rewriter<'g> {
    graph: &'g Graph,
    new: Graph,
    copies: Vec<Option<NodeId>>,
    /// Columns of nodes that were asked for, by node and axis.
    columns: FxHashMap<(NodeId, usize), Vec<NodeId>>,
    /// Elementwise functions of nodes with columns, by node and axis.
    mapped: FxHashSet<(NodeId, usize)>,
    /// For a log of a sum of exponentials on columns: the exponentials divided by their sum.
    exponentials: FxHashMap<NodeId, Vec<NodeId>>,
}

impl Rewriter<'_> {
    fn copy_of(&self, id: NodeId) -> NodeId {
        self.copies[id.index()].expect("arguments precede users, and roots are live")
    }

    fn apply(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        self.new.apply(op, args).expect(FITS)
    }

    fn copy(&mut self, id: NodeId) -> NodeId {
        let graph = self.graph;
        let node = graph.node(id);
        let arg = |k: usize| node.args[k];
        match &node.op {
            Op::Input { name, role } => {
                let input = self.new.input(name, *role, node.shape.clone(), node.dtype);
                return input.expect("names are unique in the original");
            }
            Op::Reduce(reduction, _) if let Some(axis) = short_axis(graph, id) => {
                let columns = self.columns_of(arg(0), axis);
                return self.combine(id, *reduction, &columns);
            }
            &Op::Slice { axis, start, len: 1, .. } if self.has_columns(arg(0), axis) => {
                let column = self.columns_of(arg(0), axis)[start];
                return self.new.reshape(column, node.shape.clone());
            }
            // A sum over all but the short axis.
            Op::Reduce(Reduction::Sum, axes) if node.shape.rank() == 1 => {
                let rank = graph.shape(arg(0)).rank();
                let kept = (0..rank).find(|axis| !axes.contains(axis));
                if let Some(axis) = kept
                    && self.has_columns(arg(0), axis)
                {
                    let columns = self.columns_of(arg(0), axis);
                    let mut sums = Vec::new();
                    for column in columns {
                        let sum = self.new.sum(column);
                        sums.push(self.new.reshape(sum, [1]));
                    }
                    return self.new.concat(&sums, 0);
                }
            }
            _ => {}
        }
        let args: Vec<NodeId> = node.args.iter().map(|&arg| self.copy_of(arg)).collect();
        self.apply(node.op.clone(), &args)
    }

    /// Finds out along which axes an elementwise function has columns because an argument has.
    fn find_columns(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let maps = node.op.is_elementwise();
        if !maps || node.dependence < Dependence::Parameter {
            return;
        }
        for axis in 0..node.shape.rank() {
            if node.args.iter().any(|&arg| self.has_columns(arg, axis)) {
                self.mapped.insert((id, axis));
            }
        }
    }

    /// Whether columns of a node are there already, or are made of some that are by elementwise
    /// functions.
    fn has_columns(&self, id: NodeId, axis: usize) -> bool {
        self.columns.contains_key(&(id, axis)) || self.mapped.contains(&(id, axis))
    }

    /// A node's arrays for every place of an axis, which they have no more.
    fn columns_of(&mut self, id: NodeId, axis: usize) -> Vec<NodeId> {
        // Arguments first: expressions may be deeper than the stack.
        let mut waiting = vec![id];
        while let Some(&top) = waiting.last() {
            if self.columns.contains_key(&(top, axis)) {
                waiting.pop();
                continue;
            }
            let node = self.graph.node(top);
            let before = waiting.len();
            if node.op.is_elementwise() {
                let missing = node.args.iter().filter(|&&a| !self.columns.contains_key(&(a, axis)));
                waiting.extend(missing);
            }
            if waiting.len() == before {
                let found = self.make_columns(top, axis);
                self.columns.insert((top, axis), found);
                waiting.pop();
            }
        }
        self.columns[&(id, axis)].clone()
    }

    fn make_columns(&mut self, id: NodeId, axis: usize) -> Vec<NodeId> {
        let graph = self.graph;
        let node = graph.node(id);
        let count = node.shape.extents()[axis];
        let narrow = without(&node.shape, axis);
        match &node.op {
            Op::Unary(_) | Op::Binary(_) | Op::Ternary(_) => {
                if let Some(found) = self.weights(id, axis) {
                    return found;
                }
                let place = |k: usize| -> Vec<NodeId> {
                    node.args.iter().map(|&arg| self.columns[&(arg, axis)][k]).collect()
                };
                let args: Vec<Vec<NodeId>> = (0..count).map(place).collect();
                args.iter().map(|args| self.apply(node.op.clone(), args)).collect()
            }
            Op::Broadcast(_) => {
                let from = graph.shape(node.args[0]).clone();
                let value = self.copy_of(node.args[0]);
                let from_axis = (axis + from.rank()).checked_sub(node.shape.rank());
                match from_axis.filter(|&from_axis| from.extents()[from_axis] == count) {
                    Some(from_axis) => (0..count)
                        .map(|k| {
                            let part = self.new.slice(value, from_axis, k, k + 1);
                            let part = self.new.reshape(part, without(&from, from_axis));
                            self.new.broadcast_to(part, &narrow)
                        })
                        .collect(),
                    None => {
                        let kept =
                            from_axis.map_or(from.clone(), |from_axis| without(&from, from_axis));
                        let value = self.new.reshape(value, kept);
                        vec![self.new.broadcast_to(value, &narrow); count]
                    }
                }
            }
            Op::Concat { axis: concat_axis } if *concat_axis == axis => {
                let mut columns = Vec::new();
                for &arg in &node.args {
                    columns.extend(self.slices(arg, axis));
                }
                columns
            }
            _ => self.slices(id, axis),
        }
    }

    /// The places of an axis, cut out.
    fn slices(&mut self, id: NodeId, axis: usize) -> Vec<NodeId> {
        let shape = self.graph.shape(id).clone();
        let (value, narrow) = (self.copy_of(id), without(&shape, axis));
        (0..shape.extents()[axis])
            .map(|k| {
                let part = self.new.slice(value, axis, k, k + 1);
                self.new.reshape(part, narrow.clone())
            })
            .collect()
    }

    /// A reduction over columns. The node is that of the original.
    fn combine(&mut self, id: NodeId, reduction: Reduction, columns: &[NodeId]) -> NodeId {
        let op = match reduction {
            Reduction::Sum => Binary::Add,
            Reduction::Max => Binary::Max,
            Reduction::Min => Binary::Min,
            Reduction::LogSumExp if columns.len() == 2 => {
                let [a, b] = [columns[0], columns[1]];
                let share = Op::Binary(Binary::LogAddExpShare);
                let weights = vec![self.apply(share.clone(), &[a, b]), self.apply(share, &[b, a])];
                self.exponentials.insert(id, weights);
                Binary::LogAddExp
            }
            Reduction::LogSumExp => return self.log_sum_exp(id, columns),
        };
        let mut result = columns[0];
        for &column in &columns[1..] {
            result = self.apply(Op::Binary(op), &[result, column]);
        }
        result
    }

    /// The log of the sum of exponentials less the largest, which is left out where it is not
    /// finite.
    fn log_sum_exp(&mut self, id: NodeId, columns: &[NodeId]) -> NodeId {
        let mut largest = columns[0];
        for &column in &columns[1..] {
            largest = self.apply(Op::Binary(Binary::Max), &[largest, column]);
        }
        let finite = self.apply(Op::Unary(Unary::IsFinite), &[largest]);
        let zero = self.new.scalar(0.0);
        let offset = self.new.select(finite, largest, zero);
        let mut exponentials = Vec::new();
        for &column in columns {
            let difference = self.apply(Op::Binary(Binary::Sub), &[column, offset]);
            exponentials.push(self.apply(Op::Unary(Unary::Exp), &[difference]));
        }
        let mut sum = exponentials[0];
        for &term in &exponentials[1..] {
            sum = self.apply(Op::Binary(Binary::Add), &[sum, term]);
        }
        // Where nothing is added up, the weights are zero.
        let nothing = self.new.binary(Binary::Eq, sum, zero);
        let divisor = self.apply(Op::Binary(Binary::Add), &[sum, nothing]);
        let share = self.apply(Op::Unary(Unary::Reciprocal), &[divisor]);
        let weights = exponentials
            .iter()
            .map(|&term| self.apply(Op::Binary(Binary::Mul), &[term, share]))
            .collect();
        self.exponentials.insert(id, weights);
        let log = self.apply(Op::Unary(Unary::Log), &[sum]);
        self.apply(Op::Binary(Binary::Add), &[offset, log])
    }

    /// The columns of the shares in a sum of exponentials that was taken apart.
    fn weights(&self, id: NodeId, axis: usize) -> Option<Vec<NodeId>> {
        let sum = weights_of(self.graph, id)?;
        let along = self.graph.node(sum).op == Op::Reduce(Reduction::LogSumExp, vec![axis]);
        if along { self.exponentials.get(&sum).cloned() } else { None }
    }
}

/// The log of a sum of exponentials y of x for `exp(x - y)`, with zero for y where that is nothing:
/// the exponentials' shares in their sum.
pub(in crate::native) fn weights_of(graph: &Graph, id: NodeId) -> Option<NodeId> {
    let args = |id: NodeId, op: &Op| {
        let node = graph.node(id);
        (node.op == *op).then_some(&node.args)
    };
    let difference = args(id, &Op::Unary(Unary::Exp))?[0];
    let &[x, y] = &args(difference, &Op::Binary(Binary::Sub))?[..] else { return None };
    let y = unstretched(graph, y);
    let &[condition, _, y] = &args(y, &Op::Ternary(exmc_graph::Ternary::Select))?[..] else {
        return None;
    };
    let compared = args(condition, &Op::Binary(Binary::Eq))?;
    let sum = graph.node(y);
    let fits = matches!(sum.op, Op::Reduce(Reduction::LogSumExp, _))
        && sum.args[0] == x
        && compared[0] == y
        && graph.as_uniform(compared[1]) == Some(f64::NEG_INFINITY);
    fits.then_some(y)
}

/// The node that a stretched or renamed one comes from.
fn unstretched(graph: &Graph, mut id: NodeId) -> NodeId {
    while let Op::Broadcast(_) | Op::Reshape(_) = graph.node(id).op {
        id = graph.node(id).args[0];
    }
    id
}

fn without(shape: &Shape, axis: usize) -> Shape {
    let mut extents = shape.extents().to_vec();
    extents.remove(axis);
    extents.into()
}
