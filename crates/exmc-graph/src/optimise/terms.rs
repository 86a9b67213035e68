//! Taking apart: an array that is summed -> terms, each a product of a number, scalars and arrays.

use crate::graph::{Dependence, Graph, NodeId};
use crate::op::{Binary, Op, Unary};
use crate::tensor::Shape;

/// Terms and factors beyond which an expression is left as it is.
const MAX_TERMS: usize = 64;
/// Nodes that are looked at for them; one that is read twice counts twice.
const BUDGET: usize = 256;
/// Sums inside of products inside of sums that are taken apart.
const NESTED: usize = 4;

/// A product of powers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Product {
    pub(super) number: f64,
    /// Nodes of one element.
    pub(super) scalars: Vec<(NodeId, i32)>,
    /// Nodes of the array's shape.
    pub(super) arrays: Vec<(NodeId, i32)>,
}

impl Product {
    pub(super) fn one() -> Self {
        Self { number: 1.0, scalars: Vec::new(), arrays: Vec::new() }
    }

    fn size(&self) -> usize {
        self.scalars.len() + self.arrays.len()
    }

    pub(super) fn times(mut self, other: &Self) -> Self {
        self.number *= other.number;
        other.scalars.iter().for_each(|&(id, power)| raise(&mut self.scalars, id, power));
        other.arrays.iter().for_each(|&(id, power)| raise(&mut self.arrays, id, power));
        self
    }

    /// Whether all scalars and arrays are known when data are bound.
    pub(super) fn is_known(&self, g: &Graph) -> bool {
        self.scalars.iter().chain(&self.arrays).all(|&(id, _)| is_known(g, id))
    }

    /// The arrays that are known when data are bound, and the others.
    pub(super) fn split(&self, g: &Graph) -> [Vec<(NodeId, i32)>; 2] {
        let (known, others) = self.arrays.iter().copied().partition(|&(id, _)| is_known(g, id));
        [known, others]
    }

    /// `x` times the number and the scalars; x has the shape of a scalar or any other.
    pub(super) fn scale(&self, g: &mut Graph, x: NodeId) -> NodeId {
        let mut scalars = Vec::with_capacity(self.scalars.len());
        for &(id, power) in &self.scalars {
            scalars.push((g.reshape(id, Shape::scalar()), power));
        }
        let mut result = x;
        let shape = g.shape(x).clone();
        if let Some(factor) = multiply(g, &scalars) {
            let factor = g.broadcast_to(factor, &shape);
            result = g.mul(factor, result);
        }
        match self.number {
            1.0 => result,
            -1.0 => g.neg(result),
            number => g.scale(result, number),
        }
    }
}

fn raise(factors: &mut Vec<(NodeId, i32)>, id: NodeId, power: i32) {
    match factors.iter_mut().find(|(known, _)| *known == id) {
        Some((_, total)) => *total += power,
        None => factors.push((id, power)),
    }
    factors.retain(|&(_, power)| power != 0);
}

/// A product of powers of nodes of one shape, if there are any. Reciprocals come first: the square
/// of a reciprocal has a derivative that overflows later than that of the reciprocal of a square.
pub(super) fn multiply(g: &mut Graph, factors: &[(NodeId, i32)]) -> Option<NodeId> {
    let mut product = None;
    for &(id, power) in factors {
        let base = if power < 0 { g.reciprocal(id) } else { id };
        let mut rest = power.unsigned_abs();
        while rest > 0 {
            let (factor, taken) = if rest >= 2 { (g.square(base), 2) } else { (base, 1) };
            product = Some(product.map_or(factor, |product| g.mul(product, factor)));
            rest -= taken;
        }
    }
    product
}

/// A part of a sum: the array `node` times the number and the scalars of `outer`.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) outer: Product,
    pub(super) node: NodeId,
}

impl Term {
    /// The whole term as one product.
    pub(super) fn product(&self, g: &Graph) -> Product {
        let mut product = self.outer.clone();
        if !factors(g, self.node, 1, &mut product, &mut { BUDGET }) {
            product = self.outer.clone();
            raise(&mut product.arrays, self.node, 1);
        }
        product
    }
}

/// The terms that an array is the sum of: one where it is no sum.
pub(super) fn terms(g: &Graph, x: NodeId) -> Vec<Term> {
    let mut all = Vec::new();
    if !collect(g, x, Product::one(), &mut all, &mut { BUDGET }) {
        all = vec![Term { outer: Product::one(), node: x }];
    }
    all
}

fn collect(g: &Graph, x: NodeId, outer: Product, all: &mut Vec<Term>, budget: &mut usize) -> bool {
    if all.len() >= MAX_TERMS || outer.size() >= MAX_TERMS || *budget == 0 {
        return false;
    }
    *budget -= 1;
    let node = g.node(x);
    let negative = |outer: &Product| Product { number: -outer.number, ..outer.clone() };
    match node.op {
        Op::Binary(Binary::Add) => {
            collect(g, node.args[0], outer.clone(), all, budget)
                && collect(g, node.args[1], outer, all, budget)
        }
        Op::Binary(Binary::Sub) => {
            let second = negative(&outer);
            collect(g, node.args[0], outer, all, budget)
                && collect(g, node.args[1], second, all, budget)
        }
        Op::Unary(Unary::Neg) => collect(g, node.args[0], negative(&outer), all, budget),
        Op::Binary(Binary::Mul) if is_uniform(g, node.args[0]) => {
            let mut outer = outer;
            factors(g, node.args[0], 1, &mut outer, budget)
                && collect(g, node.args[1], outer, all, budget)
        }
        Op::Binary(op @ (Binary::Mul | Binary::Div)) if is_uniform(g, node.args[1]) => {
            let mut outer = outer;
            let power = if op == Binary::Mul { 1 } else { -1 };
            factors(g, node.args[1], power, &mut outer, budget)
                && collect(g, node.args[0], outer, all, budget)
        }
        _ => {
            all.push(Term { outer, node: x });
            true
        }
    }
}

/// A product with data of a sum, as the products that it is the sum of.
pub(super) fn distribute(g: &Graph, product: &Product) -> Option<Vec<Product>> {
    distribute_nested(g, product, NESTED)
}

fn distribute_nested(g: &Graph, product: &Product, depth: usize) -> Option<Vec<Product>> {
    if depth == 0 {
        return None;
    }
    let [known, others] = product.split(g);
    let &[(sum, 1)] = &*others else { return None };
    let inner = terms(g, sum);
    if inner.len() < 2 {
        return None;
    }
    let outer = Product { arrays: known, ..product.clone() };
    let mut all = Vec::new();
    for term in inner {
        let product = outer.clone().times(&term.product(g));
        match distribute_nested(g, &product, depth - 1) {
            Some(parts) => all.extend(parts),
            None => all.push(product),
        }
        if all.len() > MAX_TERMS {
            return None;
        }
    }
    Some(all)
}

/// Multiplies `product` by a power of `x`, taken apart; false when there are too many factors.
fn factors(g: &Graph, x: NodeId, power: i32, product: &mut Product, budget: &mut usize) -> bool {
    if product.size() >= MAX_TERMS || power.abs() > 8 || *budget == 0 {
        return false;
    }
    *budget -= 1;
    if let Some(value) = g.as_uniform(x) {
        let mut all = 1.0;
        (0..power.unsigned_abs()).for_each(|_| all *= value);
        let all = if power < 0 { 1.0 / all } else { all };
        if all.is_normal() && (product.number * all).is_normal() {
            product.number *= all;
            return true;
        }
    }
    let node = g.node(x);
    let arg = |k: usize| node.args[k];
    match node.op {
        Op::Unary(Unary::Neg) => {
            if power % 2 != 0 {
                product.number = -product.number;
            }
            factors(g, arg(0), power, product, budget)
        }
        Op::Unary(Unary::Square) => factors(g, arg(0), 2 * power, product, budget),
        Op::Unary(Unary::Reciprocal) => factors(g, arg(0), -power, product, budget),
        Op::Binary(Binary::Mul) => {
            factors(g, arg(0), power, product, budget) && factors(g, arg(1), power, product, budget)
        }
        Op::Binary(Binary::Div) => {
            factors(g, arg(0), power, product, budget)
                && factors(g, arg(1), -power, product, budget)
        }
        Op::Broadcast(_) if g.shape(arg(0)).len() == 1 => {
            factors(g, arg(0), power, product, budget)
        }
        _ => {
            let factors =
                if node.shape.len() == 1 { &mut product.scalars } else { &mut product.arrays };
            raise(factors, x, power);
            true
        }
    }
}

/// Whether a node has one value everywhere: a constant or a stretched scalar.
fn is_uniform(g: &Graph, id: NodeId) -> bool {
    g.as_uniform(id).is_some() || stretched(g, id).is_some()
}

/// The scalar that a node is a stretched copy of.
pub(super) fn stretched(g: &Graph, id: NodeId) -> Option<NodeId> {
    let node = g.node(id);
    let is_scalar = matches!(node.op, Op::Broadcast(_)) && g.shape(node.args[0]).len() == 1;
    is_scalar.then(|| node.args[0])
}

pub(super) fn is_known(g: &Graph, id: NodeId) -> bool {
    g.dependence(id) < Dependence::Parameter
}

/// The table, a vector of parameters, and the index of a node that gathers from one.
pub(super) fn gathered(g: &Graph, id: NodeId) -> Option<(NodeId, NodeId)> {
    let node = g.node(id);
    match (&node.op, &node.args[..]) {
        (Op::Gather, &[table, index]) if g.shape(table).rank() == 1 && !is_known(g, table) => {
            Some((table, index))
        }
        _ => None,
    }
}
