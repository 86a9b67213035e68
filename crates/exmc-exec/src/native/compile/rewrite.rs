//! Rewriting: a graph -> one with the same values to rounding and fewer operations per element.
//!
//! Constant factors and signs are taken out of products, quotients and sums and multiplied
//! together; so are scalars out of sums, where they then cost one product instead of one per
//! element; what is divided by a scalar or by data is multiplied by a reciprocal that is computed
//! once, and a scalar that is divided becomes a factor. Each of these rounds differently by an ulp
//! or two, and none changes where a value is infinite or NaN unless a scalar is within a few powers
//! of two of the largest or smallest number. Where long arrays may be `f32`, a factor stays that
//! brings numbers of another size to about one: without it their squares would leave the range.

use exmc_graph::{Binary, Dependence, Graph, NodeId, Op, Precision, Reduction, Tensor, Unary};
use rustc_hash::FxHashSet;

/// Elements of which another sum costs no more than a product with each.
const MIN_LONG_SUM: usize = 64;

/// Factors of long arrays of `f32` that may be taken out are at most this, and at least one over
/// it.
const MAX_SCALE: f64 = 1e6;

/// A constant times a node.
#[derive(Clone, Copy)]
struct Scaled {
    factor: f64,
    node: NodeId,
}

/// Rewrites what `roots` need, for a precision of long arrays.
pub(crate) fn rewrite(
    graph: &Graph,
    roots: &[NodeId],
    precision: Precision,
) -> (Graph, Vec<NodeId>) {
    let live = graph.reachable(roots);
    let mut uses = vec![0; graph.len()];
    for id in graph.ids().filter(|id| live[id.index()]) {
        for arg in &graph.node(id).args {
            uses[arg.index()] += 1;
        }
    }
    for root in roots {
        uses[root.index()] += 2;
    }
    let mut rewriter = Rewriter {
        new: Graph::new(),
        precision,
        copies: vec![None; graph.len()],
        again: FxHashSet::default(),
    };
    for id in graph.ids().filter(|id| live[id.index()]) {
        let copy = rewriter.copy(graph, id);
        if uses[id.index()] > 1 {
            rewriter.again.insert(copy.node);
        }
        rewriter.copies[id.index()] = Some(copy);
    }
    let roots = roots.iter().map(|root| rewriter.copy_with_factor(*root)).collect();
    (rewriter.new, roots)
}

struct Rewriter {
    new: Graph,
    /// Of long arrays.
    precision: Precision,
    copies: Vec<Option<Scaled>>,
    /// Nodes that are read more than once, so that taking them apart would compute them twice.
    again: FxHashSet<NodeId>,
}

impl Rewriter {
    fn copy(&mut self, graph: &Graph, id: NodeId) -> Scaled {
        let node = graph.node(id);
        if node.dependence < Dependence::Parameter {
            return one(self.copy_whole(graph, id));
        }
        let arg = |rewriter: &Self, k: usize| {
            rewriter.copies[node.args[k].index()].expect("arguments precede users")
        };
        match &node.op {
            Op::Unary(Unary::Neg) => {
                let x = arg(self, 0);
                Scaled { factor: -x.factor, ..x }
            }
            Op::Unary(Unary::Square) => {
                let x = arg(self, 0);
                let factor = x.factor * x.factor;
                if !self.may_leave(factor, x.node) {
                    return one(self.copy_whole(graph, id));
                }
                Scaled { factor, node: self.apply(node.op.clone(), &[x.node]) }
            }
            Op::Unary(Unary::Reciprocal) => {
                let x = arg(self, 0);
                let reciprocal = self.apply(node.op.clone(), &[x.node]);
                self.scaled(1.0 / x.factor, reciprocal)
            }
            Op::Binary(Binary::Mul) => {
                let (a, b) = (arg(self, 0), arg(self, 1));
                self.multiply(a, b)
            }
            Op::Binary(Binary::Div) => {
                let (a, b) = (arg(self, 0), arg(self, 1));
                self.divide(a, b)
            }
            Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
                let (a, b) = (arg(self, 0), arg(self, 1));
                let sign = if *op == Binary::Add { 1.0 } else { -1.0 };
                self.add(a, Scaled { factor: sign * b.factor, ..b })
            }
            Op::Reshape(_) | Op::Permute(_) | Op::Slice { .. } => {
                let x = arg(self, 0);
                let moved = self.apply(node.op.clone(), &[x.node]);
                self.scaled(x.factor, moved)
            }
            Op::Reduce(Reduction::Sum, _) => {
                let x = arg(self, 0);
                self.linear(x, &node.op, &[], 0)
            }
            Op::ScatterAdd { .. } => {
                let (x, index) = (arg(self, 0), arg(self, 1).node);
                self.linear(x, &node.op, &[index], 0)
            }
            Op::MatMul
                if graph.dependence(node.args[0]) < Dependence::Parameter
                    && graph.shape(node.args[1]).rank() == 1 =>
            {
                let (matrix, x) = (arg(self, 0).node, arg(self, 1));
                self.linear(x, &node.op, &[matrix], 1)
            }
            _ => one(self.copy_whole(graph, id)),
        }
    }

    /// The same operation of the same arguments.
    fn copy_whole(&mut self, graph: &Graph, id: NodeId) -> NodeId {
        let node = graph.node(id);
        match &node.op {
            Op::Input { name, role } => self
                .new
                .input(name, *role, node.shape.clone(), node.dtype)
                .expect("names are unique in the original"),
            op => {
                let args: Vec<NodeId> =
                    node.args.iter().map(|&arg| self.copy_with_factor(arg)).collect();
                self.apply(op.clone(), &args)
            }
        }
    }

    /// A node of the original with its factor.
    fn copy_with_factor(&mut self, id: NodeId) -> NodeId {
        let copy = self.copies[id.index()].expect("arguments precede users, and roots are live");
        self.with_factor(copy)
    }

    fn with_factor(&mut self, x: Scaled) -> NodeId {
        if x.factor == 1.0 {
            x.node
        } else if x.factor == -1.0 {
            self.apply(Op::Unary(Unary::Neg), &[x.node])
        } else {
            let factor = self.constant(x.factor, x.node);
            self.apply(Op::Binary(Binary::Mul), &[factor, x.node])
        }
    }

    /// A constant in the shape of a node.
    fn constant(&mut self, value: f64, like: NodeId) -> NodeId {
        let constant = self.new.constant(Tensor::scalar(value));
        let shape = self.new.shape(like).clone();
        self.new.broadcast_to(constant, &shape)
    }

    fn apply(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        self.new.apply(op, args).expect("shapes fit as they did in the original")
    }

    /// A factor that may be taken out; one that is 0, infinite or NaN stays where it is.
    fn scaled(&mut self, factor: f64, node: NodeId) -> Scaled {
        let x = Scaled { factor, node };
        if self.may_leave(factor, node) { x } else { one(self.with_factor(x)) }
    }

    /// Whether a node may be computed without a factor.
    fn may_leave(&self, factor: f64, node: NodeId) -> bool {
        match self.precision.of(self.new.shape(node).len()) {
            Precision::F32 => (MAX_SCALE.recip()..=MAX_SCALE).contains(&factor.abs()),
            _ => factor.is_normal(),
        }
    }

    /// The value of a constant node that may be taken out as a factor.
    fn factor(&self, x: Scaled) -> Option<f64> {
        let value = self.new.as_uniform(x.node)? * x.factor;
        self.may_leave(value, x.node).then_some(value)
    }

    /// The scalar that a node is a stretched copy of, if it has more than one element.
    fn stretched(&self, id: NodeId) -> Option<NodeId> {
        let node = self.new.node(id);
        let is_scalar = |arg: NodeId| self.new.shape(arg).len() == 1;
        (matches!(node.op, Op::Broadcast(_)) && node.shape.len() > 1 && is_scalar(node.args[0]))
            .then(|| node.args[0])
    }

    /// The stretched scalar and the other factor of a product that is read once.
    fn stretched_factor(&self, id: NodeId) -> Option<(NodeId, NodeId)> {
        let node = self.new.node(id);
        if node.op != Op::Binary(Binary::Mul) || self.again.contains(&id) {
            return None;
        }
        let (a, b) = (node.args[0], node.args[1]);
        let known = |id| self.new.dependence(id) < Dependence::Parameter;
        match (self.stretched(a), self.stretched(b)) {
            (Some(_), None) if !known(b) => Some((a, b)),
            (None, Some(_)) if !known(a) => Some((b, a)),
            _ => None,
        }
    }

    fn multiply(&mut self, a: Scaled, b: Scaled) -> Scaled {
        for (constant, other) in [(a, b), (b, a)] {
            if let Some(value) = self.factor(constant) {
                return self.scaled(value * other.factor, other.node);
            }
        }
        let node = self.product(a.node, b.node);
        self.scaled(a.factor * b.factor, node)
    }

    /// A product with a stretched scalar outermost, so that a sum can take it out.
    fn product(&mut self, a: NodeId, b: NodeId) -> NodeId {
        for (x, y) in [(a, b), (b, a)] {
            if self.stretched(x).is_none()
                && let Some((scalar, rest)) = self.stretched_factor(y)
            {
                let inner = self.apply(Op::Binary(Binary::Mul), &[x, rest]);
                return self.apply(Op::Binary(Binary::Mul), &[scalar, inner]);
            }
        }
        self.apply(Op::Binary(Binary::Mul), &[a, b])
    }

    fn divide(&mut self, a: Scaled, b: Scaled) -> Scaled {
        if let Some(value) = self.factor(b) {
            return self.scaled(a.factor / value, a.node);
        }
        if let Some(value) = self.factor(a) {
            let reciprocal = self.apply(Op::Unary(Unary::Reciprocal), &[b.node]);
            return self.scaled(value / b.factor, reciprocal);
        }
        let node = if let Some(scalar) = self.stretched(b.node) {
            let reciprocal = self.apply(Op::Unary(Unary::Reciprocal), &[scalar]);
            let shape = self.new.shape(a.node).clone();
            let reciprocal = self.new.broadcast_to(reciprocal, &shape);
            self.product(a.node, reciprocal)
        } else if self.new.shape(b.node).len() == 1
            || self.new.dependence(b.node) < Dependence::Parameter
            || self.stretched(a.node).is_some()
        {
            let reciprocal = self.apply(Op::Unary(Unary::Reciprocal), &[b.node]);
            self.product(a.node, reciprocal)
        } else {
            self.apply(Op::Binary(Binary::Div), &[a.node, b.node])
        };
        self.scaled(a.factor / b.factor, node)
    }

    fn add(&mut self, a: Scaled, b: Scaled) -> Scaled {
        let (add, sub) = (Op::Binary(Binary::Add), Op::Binary(Binary::Sub));
        if a.factor == b.factor {
            let node = self.apply(add, &[a.node, b.node]);
            return Scaled { factor: a.factor, node };
        }
        if a.factor == -b.factor {
            // The one with the factor one stands first.
            let (first, second) = if a.factor == -1.0 { (b, a) } else { (a, b) };
            let node = self.apply(sub, &[first.node, second.node]);
            return Scaled { factor: first.factor, node };
        }
        if b.factor < 0.0 {
            let b = Scaled { factor: -b.factor, ..b };
            let (a, b) = (self.with_factor(a), self.with_factor(b));
            return one(self.apply(sub, &[a, b]));
        }
        if a.factor < 0.0 {
            let a = Scaled { factor: -a.factor, ..a };
            let (a, b) = (self.with_factor(a), self.with_factor(b));
            return one(self.apply(sub, &[b, a]));
        }
        let (a, b) = (self.with_factor(a), self.with_factor(b));
        one(self.apply(add, &[a, b]))
    }

    /// The sum over all of a long array of `s x + y`, with a stretched scalar `s`, as `s sum(x) +
    /// sum(y)`.
    fn long_sum(&mut self, x: Scaled, op: &Op) -> Option<Scaled> {
        let node = self.new.node(x.node);
        let (Op::Reduce(Reduction::Sum, axes), Op::Binary(f @ (Binary::Add | Binary::Sub))) =
            (op, &node.op)
        else {
            return None;
        };
        let (f, args) = (*f, [node.args[0], node.args[1]]);
        let is_long = axes.len() == node.shape.rank() && node.shape.len() > MIN_LONG_SUM;
        let known = |id| self.new.dependence(id) < Dependence::Parameter;
        if !is_long
            || self.again.contains(&x.node)
            || args.iter().any(|&id| known(id))
            || args.iter().all(|&id| self.stretched_factor(id).is_none())
        {
            return None;
        }
        let [a, b] = args.map(|id| self.linear(one(id), op, &[], 0));
        let sign = if f == Binary::Add { 1.0 } else { -1.0 };
        let sum = self.add(a, Scaled { factor: sign * b.factor, ..b });
        Some(self.scaled(x.factor * sum.factor, sum.node))
    }

    /// An operation that is linear in its argument number `position`; `others` are its other
    /// arguments.
    fn linear(&mut self, x: Scaled, op: &Op, others: &[NodeId], position: usize) -> Scaled {
        let run = |rewriter: &mut Self, x: NodeId| {
            let mut args = others.to_vec();
            args.insert(position, x);
            rewriter.apply(op.clone(), &args)
        };
        if let Some(sum) = self.long_sum(x, op) {
            return sum;
        }
        if let Some((stretched, rest)) = self.stretched_factor(x.node)
            && let Some(scalar) = self.stretched(stretched)
        {
            let sum = run(self, rest);
            let shape = self.new.shape(sum).clone();
            if shape.len() * 2 <= self.new.shape(rest).len() {
                // A scalar may have one element without being of the scalar shape.
                let scalar = self.new.reshape(scalar, Vec::new());
                let scalar = self.new.broadcast_to(scalar, &shape);
                let product = self.apply(Op::Binary(Binary::Mul), &[scalar, sum]);
                return self.scaled(x.factor, product);
            }
        }
        let sum = run(self, x.node);
        self.scaled(x.factor, sum)
    }
}

fn one(node: NodeId) -> Scaled {
    Scaled { factor: 1.0, node }
}
