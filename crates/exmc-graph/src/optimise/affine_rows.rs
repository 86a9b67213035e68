//! Rows that are affine in unknowns -> the expression of their sum of squares by a triangular
//! factor.

use std::ops::Range;

use exmc_fault::{Fault, planted};

use super::affine::{Affine, Column, Unknown};
use super::cost::{ELEMENT, GATHERED, MATRIX, NODE};
use super::count_gathers::only_read;
use crate::graph::{Graph, NodeId};
use crate::kernels::LeastSquares;
use crate::op::Op;
use crate::tensor::{Shape, Tensor};

/// Columns that a group with a weight of its own may have.
const MAX_GROUP_ROWS: usize = 8;
/// Elements of a table that may become columns of zeros and ones.
const MAX_INDICATORS: usize = 128;

/// Columns with an unknown for each group: a vector.
struct Local {
    data: Option<NodeId>,
    unknown: NodeId,
}

/// Columns with common unknowns: the matrix of a vector, or one column of a scalar.
enum Common {
    Matrix { data: Option<NodeId>, matrix: NodeId, vector: NodeId },
    Column { data: Option<NodeId>, scalar: NodeId },
}

/// Rows whose sum of squares is wanted.
pub(super) struct Rows {
    rows: usize,
    offset: Option<NodeId>,
    index: Option<NodeId>,
    groups: usize,
    local: Vec<Local>,
    common: Vec<Common>,
    /// One for each group.
    weight: Option<NodeId>,
    /// What the rows cost as they are.
    cost_of_rows: f64,
}

impl Rows {
    /// Decides which unknowns are of groups. `group` is the index of weights, if there are any.
    pub(super) fn new(
        g: &mut Graph,
        rows: usize,
        affine: Affine,
        group: Option<NodeId>,
    ) -> Option<Self> {
        let n = rows as f64;
        let extent = |g: &Graph, table: NodeId| g.shape(table).len();
        let mut cost_of_rows = 3.0 * NODE + 3.0 * ELEMENT * n;
        let mut best: Option<(NodeId, usize)> = None;
        for column in &affine.columns {
            cost_of_rows += NODE + n * 2.0 * ELEMENT;
            if let Unknown::Table { table, index } = column.unknown {
                cost_of_rows += NODE + n * GATHERED;
                let extent = extent(g, table);
                let fits = group.is_none_or(|group| group == index);
                if fits && best.is_none_or(|(_, most)| extent > most) {
                    best = Some((index, extent));
                }
            }
        }
        for block in &affine.blocks {
            let columns = g.shape(block.vector).len() as f64;
            cost_of_rows += NODE + n * MATRIX * columns;
        }
        let index = best.map(|(index, _)| index).or(group);
        let groups = best.map_or(1, |(_, extent)| extent);
        let offset = affine.offset;
        let (mut local, mut scalars) = (Vec::new(), Vec::new());
        let mut common = Vec::new();
        for block in affine.blocks {
            let (data, matrix, vector) = (block.data, block.matrix, block.vector);
            common.push(Common::Matrix { data, matrix, vector });
        }
        for Column { data, unknown } in affine.columns {
            match unknown {
                Unknown::Table { table, index: column_index } if Some(column_index) == index => {
                    if extent(g, table) != groups {
                        return None;
                    }
                    let unknown = only_read(g, table, column_index);
                    local.push(Local { data, unknown });
                }
                Unknown::Table { table, index: column_index } => {
                    let table = only_read(g, table, column_index);
                    let matrix = indicators(g, column_index, extent(g, table))?;
                    common.push(Common::Matrix { data, matrix, vector: table });
                }
                Unknown::Scalar(scalar) => scalars.push((data, scalar)),
            }
        }
        for (data, scalar) in scalars {
            // A common level joins the groups' levels.
            if let Some(local_column) =
                local.iter_mut().find(|local_column: &&mut Local| local_column.data == data)
            {
                let everywhere = g.broadcast_to(scalar, &[groups].into());
                local_column.unknown = g.add(local_column.unknown, everywhere);
            } else {
                common.push(Common::Column { data, scalar });
            }
        }
        let weight = None;
        Some(Self { rows, offset, index, groups, local, common, weight, cost_of_rows })
    }

    /// Gives every group a weight: all unknowns become the groups' own.
    pub(super) fn weigh(&mut self, g: &mut Graph, weight: NodeId) -> Option<()> {
        let groups = g.shape(weight).len();
        if self.local.is_empty() {
            self.groups = groups;
        } else if self.groups != groups {
            return None;
        }
        self.weight = Some(match self.index {
            Some(index) => only_read(g, weight, index),
            None => weight,
        });
        let shape = Shape::from([groups]);
        for common in std::mem::take(&mut self.common) {
            match common {
                Common::Column { data, scalar } => {
                    let unknown = g.broadcast_to(scalar, &shape);
                    self.local.push(Local { data, unknown });
                }
                Common::Matrix { data, matrix, vector } => {
                    let columns = g.shape(vector).len();
                    if self.local.len() + columns > MAX_GROUP_ROWS {
                        return None;
                    }
                    for k in 0..columns {
                        let column = g.slice(matrix, 1, k, k + 1);
                        let column = g.reshape(column, [self.rows]);
                        let data = Some(data.map_or(column, |data| g.mul(data, column)));
                        let element = g.slice(vector, 0, k, k + 1);
                        let element = g.reshape(element, Shape::scalar());
                        let unknown = g.broadcast_to(element, &shape);
                        self.local.push(Local { data, unknown });
                    }
                }
            }
        }
        (self.local.len() <= MAX_GROUP_ROWS).then_some(())
    }

    /// Number of common unknowns.
    fn global(&self, g: &Graph) -> usize {
        let columns = self.common.iter().map(|common| match common {
            Common::Matrix { vector, .. } => g.shape(*vector).len(),
            Common::Column { .. } => 1,
        });
        columns.sum()
    }

    /// Whether the factor's few rows are estimated to cost less than the rows.
    pub(super) fn factor_pays(&self, g: &Graph) -> bool {
        let (local, global) = (self.local.len() as f64, self.global(g) as f64);
        let groups = self.groups as f64;
        let triangle = 0.5 * local * (local + 1.0);
        let common = self.common.len() as f64;
        let last = if common > 0.0 { 3.0 } else { 0.0 };
        let nodes = 2.0 + triangle + 2.0 * local + (2.0 + local) * common + last;
        let of_groups = groups * (ELEMENT * (triangle + 3.0 * local) + MATRIX * local * global);
        let cost = NODE * nodes + of_groups + MATRIX * global * global;
        self.rows > self.groups * self.local.len() + self.global(g) && cost < self.cost_of_rows
    }

    /// The sum of squares as that of the factor's rows; the rows are multiplied by `row_scale`
    /// first.
    pub(super) fn sum_of_squares(&self, g: &mut Graph, row_scale: Option<NodeId>) -> NodeId {
        let (groups, global) = (self.groups, self.global(g));
        let packed = LeastSquares::new(groups, self.local.len(), global);
        let factor = self.factor(g, row_scale);
        let part = |g: &mut Graph, range: Range<usize>| g.slice(factor, 0, range.start, range.end);
        let mut local = Vec::with_capacity(self.local.len());
        for (j, local_column) in self.local.iter().enumerate() {
            let point = part(g, packed.local_point(j));
            local.push(g.sub(local_column.unknown, point));
        }
        let point = part(g, packed.point());
        let mut common = Vec::with_capacity(self.common.len());
        let mut start = 0;
        for common_block in &self.common {
            let (unknown, len) = match common_block {
                Common::Matrix { vector, .. } => (*vector, g.shape(*vector).len()),
                Common::Column { scalar, .. } => (*scalar, 1),
            };
            let unknown = g.reshape(unknown, [len]);
            let point = g.slice(point, 0, start, start + len);
            common.push((start, g.sub(unknown, point)));
            start += len;
        }
        let mut squares: Option<NodeId> = None;
        for i in 0..self.local.len() {
            let mut row = part(g, packed.local_offset(i));
            for (j, unknown) in local.iter().enumerate().skip(i) {
                let entries = part(g, packed.triangle(i, j));
                let product = g.mul(entries, *unknown);
                row = g.add(product, row);
            }
            if global > 0 {
                let coupling = part(g, packed.coupling(i));
                let coupling = g.reshape(coupling, [groups, global]);
                row = add_products(g, row, coupling, &common);
            }
            let square = g.square(row);
            squares = Some(squares.map_or(square, |sum| g.add(sum, square)));
        }
        let mut rest = part(g, packed.rest());
        if planted(Fault::CollapsedRest) {
            rest = g.scale(rest, 0.0);
        }
        if let Some(weight) = self.weight {
            let all = squares.map_or(rest, |squares| g.add(squares, rest));
            let weighted = g.mul(weight, all);
            return g.sum(weighted);
        }
        let mut total = g.sum(rest);
        if let Some(squares) = squares {
            let sum = g.sum(squares);
            total = g.add(sum, total);
        }
        if global > 0 {
            let matrix = part(g, packed.matrix());
            let matrix = g.reshape(matrix, [global, global]);
            let offset = part(g, packed.offset());
            let row = add_products(g, offset, matrix, &common);
            let square = g.square(row);
            let sum = g.sum(square);
            total = g.add(sum, total);
        }
        total
    }

    /// What the data say about the rows.
    fn factor(&self, g: &mut Graph, row_scale: Option<NodeId>) -> NodeId {
        let n = self.rows;
        let row_scale = row_scale.map(|scale| g.reshape(scale, [n, 1]));
        let scaled = |g: &mut Graph, x: NodeId| row_scale.map_or(x, |scale| g.mul(scale, x));
        let column = |g: &mut Graph, data: Option<NodeId>| {
            let data = data.unwrap_or_else(|| g.filled(&[n].into(), 1.0));
            g.reshape(data, [n, 1])
        };
        let mut columns = Vec::new();
        for local_column in &self.local {
            columns.push(column(g, local_column.data));
        }
        for common_block in &self.common {
            columns.push(match *common_block {
                Common::Column { data, .. } => column(g, data),
                Common::Matrix { data: None, matrix, .. } => matrix,
                Common::Matrix { data, matrix, .. } => {
                    let data = column(g, data);
                    g.mul(matrix, data)
                }
            });
        }
        let columns = g.concat(&columns, 1);
        let columns = scaled(g, columns);
        let offset = match self.offset {
            Some(offset) => column(g, Some(offset)),
            None => g.filled(&[n, 1].into(), 0.0),
        };
        let offset = scaled(g, offset);
        let offset = g.reshape(offset, [n]);
        let index = match self.index {
            Some(index) => g.reshape(index, [n]),
            None => {
                let zero = g.constant(Tensor::indices(&[0]));
                g.broadcast_to(zero, &[n].into())
            }
        };
        let (groups, local) = (self.groups, self.local.len());
        g.must(Op::LeastSquares { groups, local }, &[columns, offset, index])
    }
}

/// Adds the products of a known matrix's columns with unknowns that start at a column each.
fn add_products(
    g: &mut Graph,
    mut rows: NodeId,
    matrix: NodeId,
    unknowns: &[(usize, NodeId)],
) -> NodeId {
    let shape = g.shape(rows).clone();
    for &(start, unknown) in unknowns {
        let len = g.shape(unknown).len();
        let part = g.slice(matrix, 1, start, start + len);
        let product = if len == 1 {
            let column = g.reshape(part, shape.clone());
            let scalar = g.reshape(unknown, Shape::scalar());
            g.mul(column, scalar)
        } else {
            g.matmul(part, unknown)
        };
        rows = g.add(product, rows);
    }
    rows
}

/// For every row, a one in the column of its index; rows of the identity, so that binding checks
/// the index.
fn indicators(g: &mut Graph, index: NodeId, columns: usize) -> Option<NodeId> {
    if columns > MAX_INDICATORS {
        return None;
    }
    let mut identity = vec![0.0; columns * columns];
    identity.iter_mut().step_by(columns + 1).for_each(|one| *one = 1.0);
    let identity = Tensor::real([columns, columns], identity)?;
    let identity = g.constant(identity);
    Some(g.gather(identity, index))
}
