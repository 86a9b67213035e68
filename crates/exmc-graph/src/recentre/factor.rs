//! Vectors with a triangular factor: $F^{-1}(\theta-\mu)$ or $\mu+Fz$ in a density -> the same with
//! each element partly centred.
//!
//! A vector $\theta=\mu+Fz$ with a lower triangular $F$ is a chain: given the elements before it,
//! $\theta_k$ has the location $m_k=\mu_k+\sum_{i<k}F_{ki}z_i$ and the scale $F_{kk}$. So the
//! coordinate is that of a number with location and scale,
//! $x_k=\lambda_km_k+F_{kk}^{\lambda_k}z_k$, which at the ends is $\theta$ and $z$ whatever the
//! correlations are, and $d\theta/dx$ is triangular with $F_{kk}^{1-\lambda_k}$ on the diagonal. An
//! element that data know may be itself while what is left of the others, given it, is not.

use exmc_fault::{Fault, planted};

use super::coordinate::{Shares, power};
use super::find::{Chain, LocationScale, Part, Written, holds, in_order, one_number, varies};
use super::triangle::{has_positive_diagonal, is_lower};
use super::view::View;
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op};
use crate::tensor::{Shape, Tensor};

/// Rows above which a triangular system with all elements is solved rather than written out, where
/// all vectors have the same shares.
const MAX_WRITTEN_OUT: usize = 4;

/// Rows of vectors with shares of their own.
const MAX_ROWS: usize = 32;

/// The factor of all vectors of an input.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    /// `[rows, rows]`; only its lower triangle counts.
    pub(super) factor: NodeId,
    /// Whether all else in it is zero.
    is_lower: bool,
    /// The input's elements, a column a vector.
    grid: View,
    /// The way back.
    back: View,
}

/// $F^{-1}(\theta-\mu)$.
pub(super) fn solved(
    g: &mut Graph,
    id: NodeId,
    factor: NodeId,
    sides: NodeId,
) -> Option<LocationScale> {
    let moves = moves_over(g, sides);
    let inner = moves.last().map_or(sides, |last| g.node(*last).args[0]);
    let (value, location) = match (&g.node(inner).op, &g.node(inner).args[..]) {
        (Op::Binary(Binary::Sub), &[value, location]) => (value, Some(location)),
        _ => (inner, None),
    };
    let (input, view) = View::of(g, value)?;
    let len = g.shape(input).len();
    let fits = !view.clamped && view.shape.len() == len && view.is_injective(len);
    let of_others = location.is_none_or(|location| !holds(g, location, input));
    if !fits || !of_others || !varies(g, factor) || holds(g, factor, input) {
        return None;
    }
    let grid = view.moved(g, len, &moves)?;
    if !has_positive_diagonal(g, factor) {
        return None;
    }
    let shape = g.shape(input).clone();
    let location = in_order(g, &shape, &[(&view, location)], 0.0);
    let chain_factor = Factor::new(g, factor, grid.elements(len), input)?;
    let places =
        vec![(id, Part::Rows, View { shape: g.shape(id).clone(), ..chain_factor.grid.clone() })];
    Some(chain_factor.found(g, (input, Written::Centred), location, places))
}

/// Operations around an expression that only move its elements, the outermost first.
fn moves_over(g: &Graph, mut x: NodeId) -> Vec<NodeId> {
    let mut moves = Vec::new();
    while let Op::Reshape(_) | Op::Permute(_) = g.node(x).op {
        moves.push(x);
        x = g.node(x).args[0];
    }
    // Where a parameter itself is moved, the view of it is told by all of them.
    if matches!(g.node(x).op, Op::Binary(_)) { moves } else { Vec::new() }
}

/// $Fz$ or $zF^\top$, with the location that is added to it.
pub(super) fn multiplied(
    g: &mut Graph,
    users: &[Vec<NodeId>],
    id: NodeId,
    a: NodeId,
    b: NodeId,
) -> Option<LocationScale> {
    let ((input, view), factor, is_transposed) = match (View::of(g, b), View::of(g, a)) {
        (Some(found), _) => (found, a, false),
        (None, Some(found)) => (found, b, true),
        _ => return None,
    };
    let len = g.shape(input).len();
    let fits = !view.clamped && view.shape.len() == len && view.is_injective(len);
    let is_square = matches!(g.shape(factor).extents(), [m, n] if m == n);
    if !fits || !is_square || !varies(g, factor) || holds(g, factor, input) {
        return None;
    }
    let mut elements = view.elements(len);
    let factor = match (is_transposed, &g.node(factor).op, &g.node(factor).args[..]) {
        (false, ..) => factor,
        (true, Op::Permute(_), &[inner]) => inner,
        (true, ..) => g.transpose(factor),
    };
    if !is_lower(g, factor) || !has_positive_diagonal(g, factor) {
        return None;
    }
    let product = View::ordered(g.shape(id).clone(), elements.clone());
    if is_transposed {
        let &[vectors, rows] = view.shape.extents() else { return None };
        elements = (0..len).map(|k| elements[k % vectors * rows + k / vectors]).collect();
    }
    // What is added may be added to the product in another order.
    let (mut value, mut moves) = (id, Vec::new());
    let (mut place, mut location) = ((id, product.clone()), None);
    while let [user] = users[value.index()][..] {
        match (&g.node(user).op, &g.node(user).args[..]) {
            (Op::Reshape(_) | Op::Permute(_), _) => {
                moves.insert(0, user);
                value = user;
            }
            (Op::Binary(Binary::Add), &[left, right]) if left != right => {
                let other = if left == value { right } else { left };
                if varies(g, other) && !holds(g, other, input) {
                    let view = product.moved(g, len, &moves)?;
                    let shape = g.shape(input).clone();
                    location = in_order(g, &shape, &[(&view, Some(other))], 0.0);
                    place = (user, view);
                }
                break;
            }
            _ => break,
        }
    }
    let chain_factor = Factor::new(g, factor, elements, input)?;
    let places = vec![(place.0, Part::Value, place.1)];
    Some(chain_factor.found(g, (input, Written::NonCentred), location, places))
}

impl Factor {
    fn new(g: &Graph, factor: NodeId, elements: Vec<usize>, input: NodeId) -> Option<Self> {
        let rows = g.shape(factor).extents()[0];
        let shape = g.shape(input);
        let columns = shape.len().checked_div(rows)?;
        if rows > MAX_ROWS && columns > 1 {
            return None;
        }
        let grid = View::ordered(Shape::from([rows, columns]), elements);
        let back = grid.back(shape);
        Some(Self { factor, is_lower: is_lower(g, factor), grid, back })
    }

    fn found(
        self,
        g: &mut Graph,
        (input, written): (NodeId, Written),
        location: Option<NodeId>,
        places: Vec<(NodeId, Part, View)>,
    ) -> LocationScale {
        let scale = g.diagonal(self.factor);
        let chain = Some(Chain::Factor(self));
        LocationScale { input, written, location, scale, chain, covered: None, places }
    }

    /// Elements of a vector.
    pub(super) fn rows(&self) -> usize {
        self.grid.shape.extents()[0]
    }

    fn columns(&self) -> usize {
        self.grid.shape.extents()[1]
    }

    /// An expression of the input's shape, or one number, as rows.
    fn in_rows(&self, g: &mut Graph, x: NodeId) -> NodeId {
        match one_number(g, x) {
            Some(number) => g.broadcast_to(number, &self.grid.shape),
            None => self.grid.apply(g, x),
        }
    }

    /// The scale of each element, as an array of the input's shape.
    pub(super) fn scales(&self, g: &mut Graph, diagonal: NodeId) -> NodeId {
        let column = g.reshape(diagonal, [self.rows(), 1]);
        let rows = g.broadcast_to(column, &self.grid.shape);
        self.back.apply(g, rows)
    }

    /// The shares of each row.
    fn shares(&self, shares: &Shares<'_>) -> Vec<Vec<f64>> {
        let all: Vec<f64> = shares.each(self.grid.shape.len()).collect();
        let elements = self.grid.elements(all.len());
        let in_rows: Vec<f64> = elements.into_iter().map(|element| all[element]).collect();
        in_rows.chunks(self.columns()).map(<[f64]>::to_vec).collect()
    }

    /// By row, the sum over its vectors of a function of the share.
    pub(super) fn row_sums(&self, shares: &Shares<'_>, function: impl Fn(f64) -> f64) -> Tensor {
        let rows = self.shares(shares);
        let sums: Vec<f64> =
            rows.iter().map(|row| row.iter().map(|s| function(*s)).sum()).collect();
        Tensor::vector(&sums)
    }

    /// $F^{-1}(\theta-\mu)$ as rows, of values in the input's shape.
    fn standard(&self, g: &mut Graph, value: NodeId, location: Option<NodeId>) -> NodeId {
        let rows = self.grid.apply(g, value);
        let sides = match location {
            None => rows,
            Some(location) => {
                let location = self.in_rows(g, location);
                g.sub(rows, location)
            }
        };
        g.triangular_solve(self.factor, sides, false)
    }

    /// The location of each element given those before it, in the input's shape, of standard
    /// numbers in rows.
    fn location(&self, g: &mut Graph, standard: NodeId, location: Option<NodeId>) -> NodeId {
        let below = self.below(g);
        let mut conditional_location = g.matmul(below, standard);
        if let Some(location) = location {
            let location = self.in_rows(g, location);
            conditional_location = g.add(location, conditional_location);
        }
        self.back.apply(g, conditional_location)
    }

    /// What of the factor is below its diagonal.
    fn below(&self, g: &mut Graph) -> NodeId {
        self.masked(g, |row, k| k < row)
    }

    fn masked(&self, g: &mut Graph, has: impl Fn(usize, usize) -> bool) -> NodeId {
        let n = self.rows();
        let mask: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(has(k / n, k % n)))).collect();
        let mask = g.constant(Tensor::real([n, n], mask).expect("one an element"));
        g.mul(mask, self.factor)
    }

    /// Of a coordinate as the model has it: the location of each element, and standard numbers, in
    /// the input's shape.
    pub(super) fn written(
        &self,
        g: &mut Graph,
        (old, written): (NodeId, Written),
        location: Option<NodeId>,
    ) -> [NodeId; 2] {
        let standard = match written {
            Written::Centred => self.standard(g, old, location),
            Written::NonCentred => self.grid.apply(g, old),
        };
        [self.location(g, standard, location), self.back.apply(g, standard)]
    }

    /// Value, difference and standard numbers in the input's shape, and the last as rows, of partly
    /// centred coordinates.
    pub(super) fn parts(
        &self,
        g: &mut Graph,
        x: NodeId,
        (diagonal, location): (NodeId, Option<NodeId>),
        shares: &Shares<'_>,
    ) -> [NodeId; 4] {
        let (value, standard) = match shares.uniform() {
            Some(1.0) => (x, self.standard(g, x, location)),
            Some(0.0) => {
                let standard = self.grid.apply(g, x);
                (self.value(g, standard, location), standard)
            }
            _ => {
                let rows = self.shares(shares);
                let is_shared = rows.iter().all(|row| row.iter().all(|share| *share == row[0]));
                if is_shared && self.rows() > MAX_WRITTEN_OUT {
                    let shares: Vec<f64> = rows.iter().map(|row| row[0]).collect();
                    let standard = self.solved(g, x, (diagonal, location), &shares);
                    (self.value(g, standard, location), standard)
                } else {
                    self.written_out(g, x, location, &rows)
                }
            }
        };
        let column = g.reshape(diagonal, [self.rows(), 1]);
        let difference = g.mul(column, standard);
        let difference = self.back.apply(g, difference);
        [value, difference, self.back.apply(g, standard), standard]
    }

    /// $\mu+Fz$ in the input's shape.
    fn value(&self, g: &mut Graph, standard: NodeId, location: Option<NodeId>) -> NodeId {
        // The model's own product where there is one: both then are computed once.
        let lower = if self.is_lower { self.factor } else { self.masked(g, |row, k| k <= row) };
        let product = g.matmul(lower, standard);
        let product = self.back.apply(g, product);
        location.map_or(product, |location| g.add(location, product))
    }

    /// Standard numbers where all vectors have the same shares: with $w_k=x_k-\lambda_km_k$ and
    /// $z_k=F_{kk}^{-\lambda_k}w_k$, the $w$ solve $w+\Lambda
    /// N\,\mathrm{diag}(F_{kk}^{-\lambda_k})\,w=x-\Lambda\mu$, where $N$ is $F$ below its diagonal.
    fn solved(
        &self,
        g: &mut Graph,
        x: NodeId,
        (diagonal, location): (NodeId, Option<NodeId>),
        shares: &[f64],
    ) -> NodeId {
        let n = self.rows();
        let column = g.constant(Tensor::real([n, 1], shares).expect("one a row"));
        let shrunk =
            power(g, diagonal, &Tensor::vector(&shares.iter().map(|s| -s).collect::<Vec<_>>()));
        let shrunk = g.broadcast_to(shrunk, &Shape::from([n]));
        let mut sides = self.grid.apply(g, x);
        if let Some(location) = location {
            let location = self.in_rows(g, location);
            let moved = g.mul(column, location);
            sides = g.sub(sides, moved);
        }
        let below = self.below(g);
        let across = g.mul(below, shrunk);
        let across = g.mul(column, across);
        let one: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k % n == k / n))).collect();
        let one = g.constant(Tensor::real([n, n], one).expect("one an element"));
        let system = g.add(one, across);
        let away = g.triangular_solve(system, sides, false);
        let shrunk = g.reshape(shrunk, [n, 1]);
        g.mul(shrunk, away)
    }

    /// Values in the input's shape and standard numbers in rows, one row after the other.
    fn written_out(
        &self,
        g: &mut Graph,
        x: NodeId,
        location: Option<NodeId>,
        shares: &[Vec<f64>],
    ) -> (NodeId, NodeId) {
        let (n, columns) = (self.rows(), self.columns());
        let flat = g.reshape(self.factor, [n * n]);
        let x = self.grid.apply(g, x);
        let location = location.map(|location| self.in_rows(g, location));
        let row = |g: &mut Graph, x: NodeId, k: usize| {
            let row = g.slice(x, 0, k, k + 1);
            g.reshape(row, [columns])
        };
        let number = |g: &mut Graph, k: usize| {
            let number = g.slice(flat, 0, k, k + 1);
            g.reshape(number, Shape::scalar())
        };
        let mut standard: Vec<NodeId> = Vec::new();
        let mut values = Vec::new();
        for (k, share) in shares.iter().enumerate() {
            let mut conditional_location = location.map(|location| row(g, location, k));
            for (i, z) in standard.iter().enumerate() {
                if planted(Fault::RecentredFactor) {
                    break;
                }
                let by = number(g, k * n + i);
                let term = g.mul(by, *z);
                conditional_location =
                    Some(conditional_location.map_or(term, |sum| g.add(sum, term)));
            }
            let scale = number(g, k * n + k);
            let x = row(g, x, k);
            let share = Tensor::vector(share);
            let shares = Shares::new(&share);
            let away = shares.less(g, x, conditional_location);
            let shrunk = power(g, scale, &shares.map(|share| -share));
            let grown = power(g, scale, &shares.map(|share| 1.0 - share));
            let z = g.mul(shrunk, away);
            let value = if shares.uniform() == Some(1.0) {
                x
            } else {
                let difference = g.mul(grown, away);
                conditional_location.map_or(difference, |sum| g.add(sum, difference))
            };
            standard.push(z);
            values.push(value);
        }
        let together = |g: &mut Graph, rows: &[NodeId]| {
            let rows: Vec<NodeId> = rows.iter().map(|row| g.reshape(*row, [1, columns])).collect();
            g.concat(&rows, 0)
        };
        let values = together(g, &values);
        (self.back.apply(g, values), together(g, &standard))
    }
}
