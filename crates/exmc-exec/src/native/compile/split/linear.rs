//! Linear states: an expression of a state -> `a state + b`, where neither part depends on the
//! state.

use exmc_graph::{Binary, NodeId, Op, Unary};
use rustc_hash::FxHashMap;

use super::{FITS, Split};

/// What a state is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    One,
    MinusOne,
    Node(NodeId),
}

/// `factor state + rest`, with no rest for `None`.
type Parts = (Factor, Option<NodeId>);

impl Split<'_> {
    /// The parts of a state's next value, if that is linear in the state, element by element.
    ///
    /// Parts are nodes of the body; products are distributed over sums, which moves roundings by an
    /// ulp. A `select` ends the search: with a factor of zero for the branch not taken, an infinite
    /// state would become NaN.
    pub(super) fn linear_in(&mut self, state: usize) -> Option<Parts> {
        let input = self.body.find_input(&format!("carry{state}"))?;
        let next = self.next[state];
        if !self.states[next.index()].contains(&state) {
            return None;
        }
        let needed = self.body.reachable(&[next]);
        let path: Vec<NodeId> = self
            .body
            .ids()
            .filter(|id| needed[id.index()] && self.states[id.index()].contains(&state))
            .collect();
        let mut parts: FxHashMap<NodeId, Parts> = FxHashMap::default();
        for id in path {
            let found = if id == input { (Factor::One, None) } else { self.parts_of(id, &parts)? };
            parts.insert(id, found);
        }
        self.look_at_new_nodes();
        parts.get(&next).copied()
    }

    fn parts_of(&mut self, id: NodeId, known: &FxHashMap<NodeId, Parts>) -> Option<Parts> {
        let node = self.body.node(id).clone();
        let (x, y) = (node.args[0], node.args.get(1).copied());
        let other = |arg: Option<NodeId>| arg.filter(|arg| !known.contains_key(arg));
        Some(match (&node.op, known.get(&x).copied(), y.and_then(|y| known.get(&y)).copied()) {
            (Op::Unary(Unary::Neg), Some(x), _) => self.negated(x),
            (Op::Binary(Binary::Add), Some((a, b)), None) => (a, self.sum(b, other(y))),
            (Op::Binary(Binary::Add), None, Some((a, b))) => (a, self.sum(Some(x), b)),
            (Op::Binary(Binary::Add), Some((a, b)), Some((c, d))) => {
                (self.factor_sum(a, c, id), self.sum(b, d))
            }
            (Op::Binary(Binary::Sub), Some((a, b)), None) => {
                let y = self.body.neg(other(y)?);
                (a, self.sum(b, Some(y)))
            }
            (Op::Binary(Binary::Sub), None, Some(parts)) => {
                let (a, b) = self.negated(parts);
                (a, self.sum(Some(x), b))
            }
            (Op::Binary(Binary::Sub), Some((a, b)), Some(parts)) => {
                let (c, d) = self.negated(parts);
                (self.factor_sum(a, c, id), self.sum(b, d))
            }
            (Op::Binary(Binary::Mul), Some(parts), None) => self.times(parts, other(y)?),
            (Op::Binary(Binary::Mul), None, Some(parts)) => self.times(parts, x),
            (Op::Binary(Binary::Div), Some((a, b)), None) => {
                let y = other(y)?;
                let a = self.factor_node(a, id);
                let a = Factor::Node(self.body.div(a, y));
                (a, b.map(|b| self.body.div(b, y)))
            }
            (Op::Reshape(shape), Some((a, b)), _) => {
                let mut reshape = |x: NodeId| self.body.reshape(x, shape.clone());
                let a = if let Factor::Node(a) = a { Factor::Node(reshape(a)) } else { a };
                (a, b.map(reshape))
            }
            _ => return None,
        })
    }

    fn sum(&mut self, a: Option<NodeId>, b: Option<NodeId>) -> Option<NodeId> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.body.add(a, b)),
            (a, b) => a.or(b),
        }
    }

    fn negated(&mut self, (a, b): Parts) -> Parts {
        let a = match a {
            Factor::One => Factor::MinusOne,
            Factor::MinusOne => Factor::One,
            Factor::Node(a) => Factor::Node(self.body.neg(a)),
        };
        (a, b.map(|b| self.body.neg(b)))
    }

    fn times(&mut self, (a, b): Parts, factor: NodeId) -> Parts {
        let a = match a {
            Factor::One => factor,
            Factor::MinusOne => self.body.neg(factor),
            Factor::Node(a) => self.body.mul(a, factor),
        };
        (Factor::Node(a), b.map(|b| self.body.mul(b, factor)))
    }

    fn factor_sum(&mut self, a: Factor, b: Factor, like: NodeId) -> Factor {
        let (a, b) = (self.factor_node(a, like), self.factor_node(b, like));
        Factor::Node(self.body.add(a, b))
    }

    /// A factor as a node of the shape of `like`.
    pub(super) fn factor_node(&mut self, factor: Factor, like: NodeId) -> NodeId {
        let value = match factor {
            Factor::Node(a) => return a,
            Factor::One => 1.0,
            Factor::MinusOne => -1.0,
        };
        let shape = self.body.shape(like).clone();
        self.body.filled(&shape, value)
    }

    /// Makes a linear state's next value `a state + b` in the body.
    pub(super) fn make_linear(&mut self, state: usize, (a, b): Parts) -> NodeId {
        let input = self.body.find_input(&format!("carry{state}"));
        let input = input.expect("a state that depends on itself is read");
        let a = self.factor_node(a, input);
        let product = self.body.apply(Op::Binary(Binary::Mul), &[a, input]).expect(FITS);
        let next = match b {
            Some(b) => self.body.apply(Op::Binary(Binary::Add), &[product, b]).expect(FITS),
            None => product,
        };
        self.look_at_new_nodes();
        next
    }
}
