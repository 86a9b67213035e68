//! Steps together: an operation of one step -> the same operation of all steps, along a new
//! outermost axis.

use exmc_graph::{Dependence, NodeId, Op, OverSteps, Shape, Tensor};

use super::{FITS, Source, Split, source};

/// Numbers of one step beyond which a product of two matrices that both change is not written out.
const PRODUCT: usize = 4096;

impl Split<'_> {
    /// The values of a node in all steps.
    pub(super) fn all_steps(&mut self, id: NodeId) -> NodeId {
        let mut waiting = vec![id];
        while let Some(&id) = waiting.last() {
            if !self.steps[id.index()] || self.all[id.index()].is_some() {
                waiting.pop();
                continue;
            }
            let node = self.body.node(id);
            let value = match source(&node.op) {
                Some(Source::State(state)) => self.before_steps(state),
                Some(Source::Sequence(k)) => self.args[self.counts[0] + k],
                _ if !self.goes_together(id) => self.run_alone(id),
                _ => {
                    let missing = node.args.iter().filter(|arg| self.is_missing(**arg));
                    let before = waiting.len();
                    waiting.extend(missing);
                    if waiting.len() > before {
                        continue;
                    }
                    self.together(id)
                }
            };
            self.all[id.index()] = Some(value);
            waiting.pop();
        }
        self.every(id)
    }

    fn is_missing(&self, id: NodeId) -> bool {
        self.steps[id.index()] && self.all[id.index()].is_none()
    }

    /// The shape of a node with the axis of steps.
    fn long(&self, shape: &Shape) -> Shape {
        Shape::from([self.length]).join(shape.extents())
    }

    /// Values of all steps that are there already, or one value for all of them.
    fn every(&mut self, id: NodeId) -> NodeId {
        if let Some(value) = self.all[id.index()] {
            return value;
        }
        let value = self.once(id);
        let shape = self.long(self.body.shape(id));
        self.new.broadcast_to(value, &shape)
    }

    /// Whether a node that changes from step to step has a form for all steps at once.
    ///
    /// An index that changes must still be checked against its own extent, so it may not choose
    /// from arrays of several steps laid side by side.
    pub(super) fn goes_together(&self, id: NodeId) -> bool {
        let node = self.body.node(id);
        let changes = |k: usize| self.steps[node.args[k].index()];
        let shape = |k: usize| self.body.shape(node.args[k]);
        let constant = |k: usize| self.body.dependence(node.args[k]) == Dependence::Constant;
        match (node.op.facts().over_steps, &node.op) {
            (OverSteps::Always, _) => true,
            (OverSteps::Never, _) => false,
            (OverSteps::OfArguments, Op::Gather) => !changes(0) || constant(1),
            (OverSteps::OfArguments, Op::ScatterAdd { .. }) => constant(1),
            (OverSteps::OfArguments, Op::MatMul) if changes(0) && changes(1) => {
                shape(0).len() * shape(1).extents().get(1).unwrap_or(&1) <= PRODUCT
            }
            (OverSteps::OfArguments, Op::TriangularSolve { .. }) => {
                !changes(0) && shape(1).rank() == 1
            }
            (OverSteps::OfArguments, _) => true,
        }
    }

    /// A node's operation on the values of all steps of its arguments.
    fn together(&mut self, id: NodeId) -> NodeId {
        let node = self.body.node(id).clone();
        let args = &node.args;
        match &node.op {
            Op::Broadcast(to) => {
                let x = self.every(args[0]);
                let from = self.body.shape(args[0]);
                let missing = vec![1; to.rank() - from.rank()];
                let from = self.long(&Shape::from(missing).join(from.extents()));
                let x = self.new.reshape(x, from);
                self.new.broadcast_to(x, &self.long(to))
            }
            Op::Reshape(to) => {
                let x = self.every(args[0]);
                let to = self.long(to);
                self.new.reshape(x, to)
            }
            Op::Permute(order) => {
                let order = std::iter::once(0).chain(order.iter().map(|axis| axis + 1));
                self.shifted(Op::Permute(order.collect()), args)
            }
            &Op::Slice { axis, start, step, len } => {
                self.shifted(Op::Slice { axis: axis + 1, start, step, len }, args)
            }
            &Op::Unslice { axis, start, step, extent } => {
                self.shifted(Op::Unslice { axis: axis + 1, start, step, extent }, args)
            }
            &Op::Concat { axis } => self.shifted(Op::Concat { axis: axis + 1 }, args),
            Op::Reduce(reduction, axes) => {
                let axes = axes.iter().map(|axis| axis + 1).collect();
                self.shifted(Op::Reduce(*reduction, axes), args)
            }
            &Op::CumSum { axis, reverse } => {
                self.shifted(Op::CumSum { axis: axis + 1, reverse }, args)
            }
            Op::Gather if !self.steps[args[0].index()] => {
                let (table, index) = (self.once(args[0]), self.every(args[1]));
                self.new.gather(table, index)
            }
            Op::Gather => {
                let (table, index) = (self.every(args[0]), self.every(args[1]));
                let shape = self.body.shape(args[0]).clone();
                let index = self.own_rows(index, shape.extents()[0]);
                let rows = self.length * shape.extents()[0];
                let table =
                    self.new.reshape(table, Shape::from([rows]).join(&shape.extents()[1..]));
                self.new.gather(table, index)
            }
            &Op::ScatterAdd { len } => {
                let index = self.every(args[1]);
                let index = self.own_rows(index, len);
                let sum = self.scatter(args, index, self.length * len);
                let shape = self.long(&node.shape);
                self.new.reshape(sum, shape)
            }
            Op::MatMul => self.products(args[0], args[1], &node.shape),
            Op::TriangularSolve { transposed } => {
                let (triangle, b) = (self.once(args[0]), self.every(args[1]));
                let b = self.new.transpose(b);
                let x = self.new.triangular_solve(triangle, b, *transposed);
                self.new.transpose(x)
            }
            op => self.shifted(op.clone(), args),
        }
    }

    /// An operation on the values of all steps of all arguments.
    fn shifted(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        let args: Vec<NodeId> = args.iter().map(|&arg| self.every(arg)).collect();
        self.new.apply(op, &args).expect(FITS)
    }

    /// An index into `extent` rows, made one into those of its own step.
    fn own_rows(&mut self, index: NodeId, extent: usize) -> NodeId {
        let shape = self.new.shape(index).clone();
        let first: Vec<usize> = (0..self.length).map(|step| step * extent).collect();
        let first = self.new.constant(Tensor::indices(&first));
        let mut stretched = vec![1; shape.rank()];
        stretched[0] = self.length;
        let first = self.new.reshape(first, stretched);
        let first = self.new.broadcast_to(first, &shape);
        self.new.add(index, first)
    }

    /// The values `args[0]` of all steps, added up by an index of all steps into `len` rows.
    pub(super) fn scatter(&mut self, args: &[NodeId], index: NodeId, len: usize) -> NodeId {
        let values = self.all_steps(args[0]);
        let rank = self.body.shape(args[1]).rank();
        let rest = self.body.shape(args[0]).extents()[rank..].to_vec();
        let count = self.new.shape(index).len();
        let index = self.new.reshape(index, [count]);
        let values = self.new.reshape(values, Shape::from([count]).join(&rest));
        self.new.apply(Op::ScatterAdd { len }, &[values, index]).expect(FITS)
    }

    /// Matrix products of all steps; `shape` is that of one.
    fn products(&mut self, a: NodeId, b: NodeId, shape: &Shape) -> NodeId {
        let t = self.length;
        let (m, k) = (self.body.shape(a).extents()[0], self.body.shape(a).extents()[1]);
        let columns = self.body.shape(b).extents().get(1).copied();
        match (self.steps[a.index()], self.steps[b.index()]) {
            (false, _) => {
                let (a, b) = (self.once(a), self.every(b));
                match columns {
                    // The vectors are rows here.
                    None => {
                        let a = self.new.transpose(a);
                        self.new.matmul(b, a)
                    }
                    Some(n) => {
                        let b = self.new.apply(Op::Permute(vec![1, 0, 2]), &[b]).expect(FITS);
                        let b = self.new.reshape(b, [k, t * n]);
                        let c = self.new.matmul(a, b);
                        let c = self.new.reshape(c, [m, t, n]);
                        self.new.apply(Op::Permute(vec![1, 0, 2]), &[c]).expect(FITS)
                    }
                }
            }
            (true, false) => {
                let (a, b) = (self.every(a), self.once(b));
                let a = self.new.reshape(a, [t * m, k]);
                let c = self.new.matmul(a, b);
                let shape = self.long(shape);
                self.new.reshape(c, shape)
            }
            (true, true) => {
                let (a, b) = (self.every(a), self.every(b));
                let n = columns.unwrap_or(1);
                let (a, b) = (self.new.reshape(a, [t, m, k, 1]), self.new.reshape(b, [t, 1, k, n]));
                let terms = self.new.mul(a, b);
                let c = self.new.reduce(exmc_graph::Reduction::Sum, terms, &[2]);
                let shape = self.long(shape);
                self.new.reshape(c, shape)
            }
        }
    }
}
