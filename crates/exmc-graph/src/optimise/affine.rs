//! Reading rows: an array -> data plus data times parameters, element by element, if it is that,
//! for a square up to its sign.

use super::terms::{Product, distribute, gathered, is_known, multiply, terms};
use crate::graph::{Graph, NodeId};
use crate::op::Op;

/// What a column of data is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unknown {
    /// A scalar.
    Scalar(NodeId),
    /// Elements of a table by index.
    Table { table: NodeId, index: NodeId },
}

/// Data times a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// The data; `None` for ones.
    pub(super) data: Option<NodeId>,
    pub(super) unknown: Unknown,
}

/// A known matrix times a vector, each row times data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) data: Option<NodeId>,
    pub(super) matrix: NodeId,
    pub(super) vector: NodeId,
}

/// An array that is affine in parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Affine {
    /// The part without parameters.
    pub(super) offset: Option<NodeId>,
    pub(super) columns: Vec<Column>,
    pub(super) blocks: Vec<Block>,
}

impl Affine {
    /// Takes an array, or the same with the other sign, apart; nothing where it is not affine, or
    /// knows no parameter. The sign is that in which most parameters are not negated.
    pub(super) fn read_up_to_sign(g: &mut Graph, x: NodeId) -> Option<Self> {
        let mut products = Vec::new();
        for term in terms(g, x) {
            let product = term.product(g);
            match distribute(g, &product) {
                Some(parts) => products.extend(parts),
                None => products.push(product),
            }
        }
        let varying = products.iter().filter(|product| !product.is_known(g));
        let sign = varying.map(|product| product.number.signum()).sum::<f64>();
        let mut affine = Self::default();
        for mut product in products {
            if sign < 0.0 {
                product.number = -product.number;
            }
            affine.add(g, &product, x)?;
        }
        (!affine.columns.is_empty() || !affine.blocks.is_empty()).then_some(affine)
    }

    fn add(&mut self, g: &mut Graph, product: &Product, like: NodeId) -> Option<()> {
        let shape = g.shape(like).clone();
        let [known, others] = product.split(g);
        let data = multiply(g, &known);
        match *others {
            [] if product.is_known(g) => {
                let data = data.unwrap_or_else(|| g.filled(&shape, 1.0));
                let part = product.scale(g, data);
                self.offset = Some(self.offset.map_or(part, |offset| g.add(offset, part)));
            }
            [] => {
                let one = g.scalar(1.0);
                let unknown = Unknown::Scalar(product.scale(g, one));
                self.add_column(g, Column { data, unknown });
            }
            [(id, 1)] => {
                if let Some((table, index)) = gathered(g, id) {
                    let table = product.scale(g, table);
                    self.add_column(g, Column { data, unknown: Unknown::Table { table, index } });
                    return Some(());
                }
                let node = g.node(id);
                let (&Op::MatMul, &[matrix, vector]) = (&node.op, &node.args[..]) else {
                    return None;
                };
                if !is_known(g, matrix) || g.shape(vector).rank() != 1 {
                    return None;
                }
                let vector = product.scale(g, vector);
                self.blocks.push(Block { data, matrix, vector });
            }
            _ => return None,
        }
        Some(())
    }

    /// Adds a column, to one with the same data and index if there is one.
    fn add_column(&mut self, g: &mut Graph, column: Column) {
        for existing in self.columns.iter_mut().filter(|existing| existing.data == column.data) {
            match (&mut existing.unknown, column.unknown) {
                (Unknown::Scalar(a), Unknown::Scalar(b)) => {
                    *a = g.add(*a, b);
                    return;
                }
                (Unknown::Table { table, index }, Unknown::Table { table: b, index: other })
                    if *index == other && g.shape(*table) == g.shape(b) =>
                {
                    *table = g.add(*table, b);
                    return;
                }
                _ => {}
            }
        }
        self.columns.push(column);
    }
}
