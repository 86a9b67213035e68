//! Sums over steps: what a state adds up -> one sum, taken before elements are moved to their
//! places.

use exmc_graph::{Binary, NodeId, Op, Reduction, Unary};

use super::{FITS, Split};

impl Split<'_> {
    /// The sum of a node's values over all steps.
    pub(super) fn sum_of_steps(&mut self, id: NodeId) -> NodeId {
        // Nodes that are read twice, each time by one that is, are met as often as there are paths.
        if let Some(&known) = self.sums.get(&id) {
            return known;
        }
        let sum = self.new_sum_of_steps(id);
        self.sums.insert(id, sum);
        sum
    }

    fn new_sum_of_steps(&mut self, id: NodeId) -> NodeId {
        if !self.steps[id.index()] {
            let value = self.once(id);
            return self.new.scale(value, self.length as f64);
        }
        let node = self.body.node(id).clone();
        let args = &node.args;
        match &node.op {
            Op::Unary(Unary::Neg) => {
                let sum = self.sum_of_steps(args[0]);
                self.new.neg(sum)
            }
            Op::Binary(op @ (Binary::Add | Binary::Sub)) if args.iter().any(|a| self.moves(*a)) => {
                let (a, b) = (self.sum_of_steps(args[0]), self.sum_of_steps(args[1]));
                self.new.binary(*op, a, b)
            }
            Op::Binary(Binary::Mul) if !self.steps[args[0].index()] => {
                let (a, b) = (self.once(args[0]), self.sum_of_steps(args[1]));
                self.new.mul(a, b)
            }
            Op::Binary(Binary::Mul) if !self.steps[args[1].index()] => {
                let (a, b) = (self.sum_of_steps(args[0]), self.once(args[1]));
                self.new.mul(a, b)
            }
            Op::Broadcast(_)
            | Op::Reshape(_)
            | Op::Permute(_)
            | Op::Slice { .. }
            | Op::Unslice { .. } => {
                let sum = self.sum_of_steps(args[0]);
                self.new.apply(node.op, &[sum]).expect(FITS)
            }
            Op::Reduce(Reduction::Sum, axes) => {
                let x = self.all_steps(args[0]);
                let axes: Vec<usize> =
                    std::iter::once(0).chain(axes.iter().map(|axis| axis + 1)).collect();
                self.new.reduce(Reduction::Sum, x, &axes)
            }
            &Op::ScatterAdd { len } => {
                let index = self.all_steps(args[1]);
                self.scatter(args, index, len)
            }
            _ => {
                let x = self.all_steps(id);
                self.new.reduce(Reduction::Sum, x, &[0])
            }
        }
    }

    /// Whether a sum over steps is better taken before this node.
    fn moves(&mut self, id: NodeId) -> bool {
        if let Some(&known) = self.moving.get(&id) {
            return known;
        }
        let node = self.body.node(id).clone();
        let moves = !self.steps[id.index()]
            || match node.op {
                Op::Broadcast(_)
                | Op::Slice { .. }
                | Op::Unslice { .. }
                | Op::ScatterAdd { .. }
                | Op::Reduce(Reduction::Sum, _) => true,
                Op::Unary(Unary::Neg)
                | Op::Binary(Binary::Add | Binary::Sub)
                | Op::Reshape(_)
                | Op::Permute(_) => node.args.iter().any(|arg| self.moves(*arg)),
                _ => false,
            };
        self.moving.insert(id, moves);
        moves
    }
}
