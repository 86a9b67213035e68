//! Values: a graph and its roots -> what has to be computed at run time, from what, over how many
//! elements.
//!
//! Reshapes, stretched scalars and contiguous slices are other views of a value, not values.
//! Everything else is a *member* of a loop (one result per element of the loop), a *sink* of a loop
//! (a result that is there after the loop's last element) or a *call* (a kernel over whole arrays).

mod indices;

use std::sync::Arc;

use exmc_graph::{Binary, Dependence, EvaluateError, Graph, NodeId, Op, Reduction, Shape};
use rustc_hash::FxHashMap;

/// A value, or a contiguous part of one. A single element stands for as many as its reader wants.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct View {
    /// Number of the value.
    pub(in crate::native) value: usize,
    /// First element.
    pub(in crate::native) offset: usize,
    /// Number of elements.
    pub(in crate::native) len: usize,
}

/// How a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Usage {
    /// Element k for element k of the loop.
    Lane,
    /// Any element at any time, so all of them must be in memory.
    Whole,
}

/// Where the numbers of an index come from.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::native) enum Index {
    /// An integer node known when data are bound; each stands for a row of `width` elements.
    Data { node: NodeId, width: usize },
    /// Known when the graph is compiled; [`NOTHING`] for an element that is zero.
    Static(Arc<Vec<u32>>),
}

/// The index of an element that is zero.
pub(in crate::native) const NOTHING: u32 = u32::MAX;

/// A matrix that is known when data are bound, rows first; `transposed` when the node's columns are
/// rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::native) struct Matrix {
    pub(in crate::native) node: NodeId,
    pub(in crate::native) transposed: bool,
    pub(in crate::native) rows: usize,
    pub(in crate::native) columns: usize,
}

/// What a value is computed by.
#[derive(Clone, Debug)]
pub(in crate::native) enum Compute {
    /// Known when data are bound.
    Shared(NodeId),
    /// A part of the position.
    Input(NodeId),
    /// Member: an elementwise function.
    Map(Op),
    /// Member: a scalar, stretched in memory.
    Copy,
    /// Member of a loop of one: one element of an array.
    Pick,
    /// Member: elements of an array by index.
    Load(Index),
    /// Member: arrays one after the other, from these elements on; zeros elsewhere if `zero`.
    Pieces { starts: Vec<usize>, zero: bool },
    /// Member: rows of a matrix times a vector.
    MatVec(Matrix),
    /// Member: a factor of a product whose logarithm is taken; NaN where that might be no normal
    /// number.
    Factor,
    /// Member: the logarithm of a product of factors.
    LogOfFactors,
    /// Sink: the sum.
    Sum,
    /// Sink: the product of factors.
    Product,
    /// Sink: elements added to an array by index.
    Scatter(Index),
    /// Sink: the transpose of a matrix times the loop's vector.
    MatTVec(Matrix),
    /// A kernel over whole arrays.
    Call(Op),
    /// A counted loop over a body, run by the reference machinery.
    Scan(Op),
    /// An output of a scan.
    Output { scan: usize, number: usize },
}

impl Compute {
    /// Whether it is this function of two arguments, element by element.
    pub(in crate::native) fn is_binary(&self, binary: Binary) -> bool {
        matches!(self, Self::Map(Op::Binary(function)) if *function == binary)
    }
}

/// What kind of place a value's computation has in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Kind {
    Input,
    Elementwise,
    Reduction,
    Call,
}

/// One value.
#[derive(Clone, Debug)]
pub(in crate::native) struct Value {
    pub(in crate::native) node: NodeId,
    pub(in crate::native) work: Compute,
    pub(in crate::native) operands: Vec<(View, Usage)>,
    /// Elements of the loop that it belongs to.
    pub(in crate::native) space: usize,
    /// Number of elements.
    pub(in crate::native) len: usize,
    /// Who reads it, and how.
    pub(in crate::native) readers: Vec<(usize, Usage)>,
    /// Whether it is a root.
    pub(in crate::native) root: bool,
}

impl Value {
    pub(in crate::native) fn kind(&self) -> Kind {
        match self.work {
            Compute::Shared(_) | Compute::Input(_) => Kind::Input,
            Compute::Map(_)
            | Compute::Factor
            | Compute::LogOfFactors
            | Compute::Copy
            | Compute::Pick
            | Compute::Load(_)
            | Compute::Pieces { .. }
            | Compute::MatVec(_) => Kind::Elementwise,
            Compute::Sum | Compute::Product | Compute::Scatter(_) | Compute::MatTVec(_) => {
                Kind::Reduction
            }
            Compute::Call(_) | Compute::Scan(_) | Compute::Output { .. } => Kind::Call,
        }
    }
}

/// The values that the roots need, in an order in which operands precede readers, and the roots'
/// views.
///
/// `body`: of a loop's body, whose constants are never packed as matrices.
///
/// # Errors
/// When an index of a body has no value.
pub(in crate::native) fn values(
    graph: &Graph,
    roots: &[NodeId],
    body: bool,
) -> Result<(Vec<Value>, Vec<View>), EvaluateError> {
    let live = graph.reachable(roots);
    let mut reader = Reader {
        graph,
        body,
        is_read_whole: read_whole(graph, &live),
        views: vec![None; graph.len()],
        values: Vec::new(),
        indices: FxHashMap::default(),
        sums: FxHashMap::default(),
        failed: None,
    };
    for id in graph.ids().filter(|id| live[id.index()]) {
        if graph.dependence(id) == Dependence::Parameter {
            reader.add(id);
        }
    }
    let views: Vec<View> = roots.iter().map(|&root| reader.view(root)).collect();
    if let Some(error) = reader.failed {
        return Err(error);
    }
    let mut values = reader.values;
    for view in &views {
        values[view.value].root = true;
    }
    for k in 0..values.len() {
        for (view, usage) in values[k].operands.clone() {
            values[view.value].readers.push((k, usage));
        }
    }
    Ok((values, views))
}

/// Whether somebody reads a node other than element by element.
fn read_whole(graph: &Graph, live: &[bool]) -> Vec<bool> {
    let mut is_read_whole = vec![false; graph.len()];
    for id in graph.ids().filter(|id| live[id.index()]) {
        let node = graph.node(id);
        for (k, arg) in node.args.iter().enumerate() {
            let lane = match node.op {
                Op::Unary(_) | Op::Binary(_) | Op::Ternary(_) => true,
                // A sum of one term each is its argument under another name.
                Op::Reduce(Reduction::Sum, _) => graph.shape(*arg).len() != node.shape.len(),
                Op::ScatterAdd { .. } => k == 0,
                _ => false,
            };
            is_read_whole[arg.index()] |= !lane;
        }
    }
    is_read_whole
}

struct Reader<'g> {
    graph: &'g Graph,
    body: bool,
    is_read_whole: Vec<bool>,
    views: Vec<Option<View>>,
    values: Vec<Value>,
    /// Those of operations that move or add up elements, by operation and shapes: many of a model
    /// are alike.
    indices: FxHashMap<(Op, Shape, Shape), Arc<Vec<u32>>>,
    /// Sums over all of a view, by value, first element and terms: nodes of other shapes are often
    /// the same one.
    sums: FxHashMap<[usize; 3], View>,
    /// Why an index of a body has no value.
    failed: Option<EvaluateError>,
}

impl Reader<'_> {
    /// The view of a node; the first question for a node that is known early makes its value.
    fn view(&mut self, id: NodeId) -> View {
        if let Some(view) = self.views[id.index()] {
            return view;
        }
        let node = self.graph.node(id);
        assert_ne!(node.dependence, Dependence::Parameter, "{id} is read before it is computed");
        let len = node.shape.len();
        let source = self.stretched(id);
        let is_single = self.graph.shape(source).len() == 1;
        let view = match node.op {
            Op::Reshape(_) => self.view(node.args[0]),
            Op::Broadcast(_) if is_single && (len == 1 || !self.is_read_whole[id.index()]) => {
                self.view(source)
            }
            _ => self.push(id, Compute::Shared(id), Vec::new(), 0, len),
        };
        self.views[id.index()] = Some(view);
        view
    }

    /// What a node is stretched from, maybe step by step.
    fn stretched(&self, mut id: NodeId) -> NodeId {
        while let Op::Broadcast(_) = self.graph.node(id).op {
            id = self.graph.node(id).args[0];
        }
        id
    }

    fn push(
        &mut self,
        node: NodeId,
        work: Compute,
        operands: Vec<(View, Usage)>,
        space: usize,
        len: usize,
    ) -> View {
        let readers = Vec::new();
        self.values.push(Value { node, work, operands, space, len, readers, root: false });
        View { value: self.values.len() - 1, offset: 0, len }
    }

    fn add(&mut self, id: NodeId) {
        let view = self.describe(id);
        self.views[id.index()] = Some(view);
    }

    /// What computes a node that depends on parameters.
    fn describe(&mut self, id: NodeId) -> View {
        let graph = self.graph;
        let node = graph.node(id);
        let len = node.shape.len();
        let arg = |k: usize| node.args[k];
        let arg_shape = |k: usize| graph.shape(node.args[k]);
        match &node.op {
            Op::Input { .. } => self.push(id, Compute::Input(id), Vec::new(), 0, len),
            Op::Unary(_) | Op::Binary(_) | Op::Ternary(_) => {
                let operands = self.all(&node.args, Usage::Lane);
                self.push(id, Compute::Map(node.op.clone()), operands, len, len)
            }
            Op::Reshape(_) => self.view(arg(0)),
            Op::Broadcast(_) | Op::Permute(_) if arg_shape(0).len() == len => {
                if let Op::Permute(_) = node.op
                    && len > 1
                {
                    return self.move_elements(id);
                }
                self.view(arg(0))
            }
            Op::Broadcast(_) if arg_shape(0).len() == 1 => {
                let view = self.view(arg(0));
                if self.is_read_whole[id.index()] {
                    self.push(id, Compute::Copy, vec![(view, Usage::Lane)], len, len)
                } else {
                    view
                }
            }
            Op::Slice { axis, start, step, len: count } => {
                let [blocks, _, inner] = around(arg_shape(0), *axis);
                if blocks != 1 || (*step != 1 && *count != 1) {
                    return self.move_elements(id);
                }
                let view = self.view(arg(0));
                if view.len == len {
                    return view;
                }
                let view = View { offset: view.offset + start * inner, len, ..view };
                if len == 1 {
                    self.push(id, Compute::Pick, vec![(view, Usage::Whole)], 1, 1)
                } else {
                    view
                }
            }
            Op::Unslice { axis, start, step, .. } => {
                let [blocks, _, inner] = around(&node.shape, *axis);
                let count = arg_shape(0).extents()[*axis];
                if blocks != 1 || (*step != 1 && count != 1) || len == 1 {
                    return self.move_elements(id);
                }
                let operands = self.all(&node.args, Usage::Whole);
                let work = Compute::Pieces { starts: vec![start * inner], zero: true };
                self.push(id, work, operands, len, len)
            }
            Op::Concat { axis } if around(&node.shape, *axis)[0] == 1 && len > 1 => {
                self.concatenate(id)
            }
            Op::Gather => {
                let width = arg_shape(0).extents()[1..].iter().product();
                let index = self.index_of(arg(1), width);
                self.load(id, index)
            }
            Op::Broadcast(_) => self.move_elements(id),
            Op::ScatterAdd { len: rows } => {
                let width = len.checked_div(*rows).unwrap_or(0);
                let space = arg_shape(0).len();
                let value = self.view(arg(0));
                let work = Compute::Scatter(self.index_of(arg(1), width));
                self.push(id, work, vec![(value, Usage::Lane)], space, len)
            }
            Op::Reduce(_, _) if arg_shape(0).len() == len => self.view(arg(0)),
            Op::Reduce(Reduction::Sum, axes) => {
                let space = arg_shape(0).len();
                if len == 1 {
                    return self.sum(id, space);
                }
                // The sum that an element belongs to is the one that would be stretched to it.
                let full_shape = arg_shape(0);
                let mut sums = full_shape.extents().to_vec();
                axes.iter().for_each(|axis| sums[*axis] = 1);
                let stretch = Op::Broadcast(full_shape.clone());
                let index = || sum_index(full_shape, axes);
                let index = self.static_index(&stretch, &sums.into(), full_shape, index);
                let operands = self.all(&node.args, Usage::Lane);
                self.push(id, Compute::Scatter(index), operands, space, len)
            }
            Op::LogProduct(powers) => self.log_product(id, powers),
            Op::MatMul if self.streams(arg(0), arg(1)) => {
                let (m, k) = (arg_shape(0).extents()[0], arg_shape(0).extents()[1]);
                if m.min(k) == 1 {
                    return self.product_with_vector(id, m.max(k));
                }
                let operand = self.view(arg(1));
                if m >= k {
                    let work = Compute::MatVec(self.matrix(arg(0), false, m, k));
                    self.push(id, work, vec![(operand, Usage::Whole)], m, len)
                } else {
                    let work = Compute::MatTVec(self.matrix(arg(0), true, k, m));
                    self.push(id, work, vec![(operand, Usage::Lane)], k, len)
                }
            }
            Op::Scan { .. } => {
                let operands = self.all(&node.args, Usage::Whole);
                self.push(id, Compute::Scan(node.op.clone()), operands, 0, 0)
            }
            Op::Project(number) => {
                let scan = self.view(arg(0));
                let work = Compute::Output { scan: scan.value, number: *number };
                self.push(id, work, vec![(scan, Usage::Whole)], 0, len)
            }
            op => {
                let operands = self.all(&node.args, Usage::Whole);
                self.push(id, Compute::Call(op.clone()), operands, 0, len)
            }
        }
    }

    fn all(&mut self, args: &[NodeId], usage: Usage) -> Vec<(View, Usage)> {
        args.iter().map(|&arg| (self.view(arg), usage)).collect()
    }

    /// The product with a matrix of one column or one row: a vector of so many numbers times a
    /// scalar, or the sum of its products with a vector.
    fn product_with_vector(&mut self, id: NodeId, count: usize) -> View {
        let node = self.graph.node(id);
        let rows = node.shape.len();
        // Transposed or not, the numbers are the same.
        let vector = self.matrix(node.args[0], false, count, 1).node;
        let operands = self.all(&[vector, node.args[1]], Usage::Lane);
        let product = self.push(id, Compute::Map(Op::Binary(Binary::Mul)), operands, count, count);
        if rows == count {
            return product;
        }
        self.push(id, Compute::Sum, vec![(product, Usage::Lane)], count, 1)
    }

    /// The sum of all terms of a node's argument.
    fn sum(&mut self, id: NodeId, space: usize) -> View {
        let terms = self.view(self.graph.node(id).args[0]);
        let key = [terms.value, terms.offset, space];
        if let Some(&known) = self.sums.get(&key) {
            return known;
        }
        let sum = self.push(id, Compute::Sum, vec![(terms, Usage::Lane)], space, 1);
        self.sums.insert(key, sum);
        sum
    }

    /// The logarithm of the product of all elements of a node's arguments, each as often as its
    /// power says.
    fn log_product(&mut self, id: NodeId, powers: &[usize]) -> View {
        let mul = |reader: &mut Self, a: View, b: View| {
            let operands = vec![(a, Usage::Lane), (b, Usage::Lane)];
            reader.push(id, Compute::Map(Op::Binary(Binary::Mul)), operands, 1, 1)
        };
        let mut product: Option<View> = None;
        for (&arg, &power) in self.graph.node(id).args.iter().zip(powers) {
            let len = self.graph.shape(arg).len();
            let view = self.view(arg);
            let mut factor = self.push(id, Compute::Factor, vec![(view, Usage::Lane)], len, len);
            // Of none, too: their product is one.
            if len != 1 {
                factor = self.push(id, Compute::Product, vec![(factor, Usage::Lane)], len, 1);
            }
            for _ in 0..power {
                product = Some(product.map_or(factor, |product| mul(self, product, factor)));
            }
        }
        let product = product.expect("there is a factor at least");
        self.push(id, Compute::LogOfFactors, vec![(product, Usage::Lane)], 1, 1)
    }

    fn load(&mut self, id: NodeId, index: Index) -> View {
        let node = self.graph.node(id);
        let (table, len) = (self.view(node.args[0]), node.shape.len());
        self.push(id, Compute::Load(index), vec![(table, Usage::Whole)], len, len)
    }

    /// Pieces side by side, or a call when there are many.
    fn concatenate(&mut self, id: NodeId) -> View {
        /// Pieces beyond which copying block by block costs more than one call.
        const MANY: usize = 8;
        let node = self.graph.node(id);
        let len = node.shape.len();
        let operands = self.all(&node.args, Usage::Whole);
        if operands.len() > MANY {
            return self.push(id, Compute::Call(node.op.clone()), operands, 0, len);
        }
        let mut starts = Vec::new();
        let mut end = 0;
        for arg in &node.args {
            starts.push(end);
            end += self.graph.shape(*arg).len();
        }
        self.push(id, Compute::Pieces { starts, zero: false }, operands, len, len)
    }

    /// Whether a product is a known matrix times a vector that depends on parameters.
    fn streams(&self, a: NodeId, b: NodeId) -> bool {
        let extents = self.graph.shape(a).extents();
        !self.body
            && self.graph.dependence(a) < Dependence::Parameter
            && self.graph.shape(b).rank() == 1
            && !(extents[0] == 1 && extents[1] <= 1)
    }

    /// The matrix that a node (or its transpose) is, by the node that it transposes if there is
    /// one.
    fn matrix(&self, id: NodeId, transposed: bool, rows: usize, columns: usize) -> Matrix {
        let node = self.graph.node(id);
        match &node.op {
            Op::Permute(order) if order[..] == [1, 0] => {
                self.matrix(node.args[0], !transposed, rows, columns)
            }
            _ => Matrix { node: id, transposed, rows, columns },
        }
    }
}

/// How many blocks before an axis, its extent, how many elements after it.
fn around(shape: &Shape, axis: usize) -> [usize; 3] {
    let extents = shape.extents();
    [extents[..axis].iter().product(), extents[axis], extents[axis + 1..].iter().product()]
}

/// For each element of the result of an operation that only moves elements, which one it is.
fn moved_index(op: &Op, from: &Shape, to: &Shape) -> Vec<u32> {
    let strides = from.strides();
    let along = |axis: usize| -> Vec<u32> {
        let extent = to.extents()[axis];
        let steps = |first: usize, stride: usize| -> Vec<u32> {
            (0..extent).map(|k| narrow(first + k * stride)).collect()
        };
        match op {
            Op::Broadcast(_) => {
                let missing = to.rank() - from.rank();
                let fixed = axis < missing || from.extents()[axis - missing] == 1;
                steps(0, if fixed { 0 } else { strides[axis - missing] })
            }
            Op::Permute(order) => steps(0, strides[order[axis]]),
            Op::Slice { axis: slice_axis, start, step, .. } if *slice_axis == axis => {
                steps(start * strides[axis], step * strides[axis])
            }
            Op::Unslice { axis: slice_axis, start, step, .. } if *slice_axis == axis => {
                let row = |k: usize| {
                    let inside = k >= *start && (k - start).is_multiple_of(*step);
                    inside.then(|| (k - start) / step).filter(|row| *row < from.extents()[axis])
                };
                let place = |k| row(k).map_or(NOTHING, |row| narrow(row * strides[axis]));
                (0..extent).map(place).collect()
            }
            _ => steps(0, strides[axis]),
        }
    };
    outer_sums((0..to.rank()).map(along))
}

/// For each element of a shape, which element of the sum over some axes it belongs to.
fn sum_index(shape: &Shape, axes: &[usize]) -> Vec<u32> {
    let kept: Vec<usize> = (0..shape.rank()).filter(|axis| !axes.contains(axis)).collect();
    let inner: Shape = kept.iter().map(|&axis| shape.extents()[axis]).collect::<Vec<_>>().into();
    let strides = inner.strides();
    let along = |axis: usize| -> Vec<u32> {
        let stride = kept.iter().position(|&kept_axis| kept_axis == axis).map_or(0, |k| strides[k]);
        (0..shape.extents()[axis]).map(|k| narrow(k * stride)).collect()
    };
    outer_sums((0..shape.rank()).map(along))
}

/// A place that is not [`NOTHING`]; one too far for the program's offsets is caught when those are
/// assigned.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(NOTHING - 1).min(NOTHING - 1)
}

/// Sums of one number of each axis, outermost first; [`NOTHING`] where an axis has none.
fn outer_sums(axes: impl Iterator<Item = Vec<u32>>) -> Vec<u32> {
    axes.fold(vec![0], |sums: Vec<u32>, axis| {
        if axis == [0] {
            return sums;
        }
        let largest = |numbers: &[u32]| numbers.iter().copied().max().map_or(0, u64::from);
        // No sum needs a look of its own where none can be nothing.
        let plain = largest(&sums) + largest(&axis) < u64::from(NOTHING);
        let mut next = Vec::with_capacity(sums.len() * axis.len());
        for sum in sums {
            if plain {
                next.extend(axis.iter().map(|k| sum + k));
            } else {
                next.extend(axis.iter().map(|&k| match [sum, k] {
                    [NOTHING, _] | [_, NOTHING] => NOTHING,
                    _ => sum.saturating_add(k).min(NOTHING - 1),
                }));
            }
        }
        next
    })
}
