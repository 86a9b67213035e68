//! Random walks and autoregressions: a location that holds the element before -> what it is
//! multiplied by, and values of innovations in one pass.
//!
//! With $\theta_i=c_i+a_i\theta_{i-\ell}+\sigma_iz_i$ each element has the location
//! $m_i=c_i+a_i\theta_{i-\ell}$. Partly centred,
//! $\theta_i=(1-\lambda_i\sigma_i^{1-\lambda_i})m_i+\sigma_i^{1-\lambda_i}x_i$ is a recurrence
//! again, and the matrix of its slopes is triangular with $\sigma_i^{1-\lambda_i}$ on the diagonal.

use std::sync::Arc;

use exmc_fault::{Fault, planted};

use super::affine::{Affine, affine};
use super::coordinate::Shares;
use super::find::{Written, holds, in_order, one_number};
use super::view::View;
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Role, ScanBody, SharedBody};
use crate::tensor::{DType, Shape, Tensor};

/// The element before each of a view.
#[derive(Clone, Debug)]
pub(super) struct Before {
    /// By how many places it comes before in the input's own order.
    pub(super) distance: usize,
    /// What multiplies it: one number, or one a place of the view.
    slope: NodeId,
    /// Places of the view that have one; all where there is nothing.
    has: Option<Vec<bool>>,
}

/// The location of a walk's elements.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// One number for all elements but the first `distance`, or one an element, which is 0 for
    /// those that begin anew.
    pub(super) slope: NodeId,
    distance: usize,
}

/// What is added to an element before to give a location, and that element: for elements of a view
/// that come in one distance.
pub(super) fn before(
    g: &mut Graph,
    (input, view): (NodeId, &View),
    location: NodeId,
) -> Option<(Option<NodeId>, Before)> {
    let Affine { slope, besides, elements } = affine(g, location, input)?;
    let view_elements = view.elements(g.shape(input).len());
    let distance = view_elements.first()?.checked_sub(*elements.first()?)?;
    let is_same =
        view_elements.iter().zip(&elements).all(|(element, before)| *element == before + distance);
    let fits = distance > 0 && view_elements.len() == elements.len() && is_same && !view.clamped;
    fits.then_some((besides, Before { distance, slope, has: None }))
}

/// A running sum of $\sigma z$.
pub(super) struct Summed {
    /// The node that is the walk.
    pub(super) value: NodeId,
    /// What its first elements begin with, at each place of the product.
    pub(super) location: Option<NodeId>,
    pub(super) before: Before,
}

/// The running sum that uses a product, with a number that is added to all of it.
pub(super) fn summed(
    g: &mut Graph,
    users: &[Vec<NodeId>],
    (input, view): (NodeId, &View),
    product: NodeId,
) -> Option<Summed> {
    let &[sum] = &users[product.index()][..] else { return None };
    let Op::CumSum { axis, reverse: false } = g.node(sum).op else { return None };
    let shape = g.shape(product).clone();
    if view.elements(shape.len()).iter().enumerate().any(|(k, &element)| k != element) {
        return None;
    }
    let distance = shape.strides()[axis];
    let along = shape.extents()[axis];
    let begins: Vec<bool> =
        (0..shape.len()).map(|k: usize| (k / distance).is_multiple_of(along)).collect();
    let (mut value, mut location) = (sum, None);
    if let [user] = users[sum.index()][..]
        && let (Op::Binary(Binary::Add), &[a, b]) = (&g.node(user).op, &g.node(user).args[..])
    {
        let other = if a == sum { b } else { a };
        if a != b && one_number(g, other).is_some() && !holds(g, other, input) {
            let first = begins.iter().map(|&begins| f64::from(u8::from(begins)));
            let first = Tensor::real(shape, first.collect::<Vec<f64>>()).expect("one an element");
            let first = g.constant(first);
            (value, location) = (user, Some(g.mul(first, other)));
        }
    }
    let has = Some(begins.into_iter().map(|begins| !begins).collect());
    let before = Before { distance, slope: g.scalar(1.0), has };
    Some(Summed { value, location, before })
}

impl Walk {
    /// One of neighbouring elements, with what multiplies the one before: one number, or one an
    /// element.
    pub(super) fn of_neighbours(slope: NodeId) -> Self {
        Self { slope, distance: 1 }
    }

    /// The walk of all pieces of an input; nothing where none is one (outer: where they do not
    /// fit).
    pub(super) fn joined<'a>(
        g: &mut Graph,
        input: NodeId,
        pieces: impl Iterator<Item = (&'a View, Option<&'a Before>)>,
    ) -> Option<Option<Self>> {
        let shape = g.shape(input).clone();
        let (mut distance, mut slopes) = (None, Vec::new());
        let mut begins = vec![true; shape.len()];
        for (view, before) in pieces {
            slopes.push((view, before.map(|before| before.slope)));
            let Some(before) = before else { continue };
            if distance.is_some_and(|distance| distance != before.distance) {
                return None;
            }
            distance = Some(before.distance);
            for (place, element) in view.elements(shape.len()).into_iter().enumerate() {
                begins[element] = !before.has.as_ref().is_none_or(|has| has[place]);
            }
        }
        let Some(distance) = distance else { return Some(None) };
        let numbers: Vec<Option<NodeId>> =
            slopes.iter().filter_map(|(_, slope)| *slope).map(|s| one_number(g, s)).collect();
        let is_plain = begins.iter().enumerate().all(|(k, begins)| *begins == (k < distance));
        if let (true, Some(number)) = (is_plain, numbers[0])
            && numbers.iter().all(|other| *other == Some(number))
        {
            let slope = g.reshape(number, Shape::scalar());
            return Some(Some(Self { slope, distance }));
        }
        let slope = in_order(g, &shape, &slopes, 0.0)?;
        let goes_on: Vec<f64> = begins.iter().map(|begins| f64::from(u8::from(!begins))).collect();
        let goes_on = g.constant(Tensor::real(shape, goes_on).expect("one an element"));
        let slope = g.mul(goes_on, slope);
        Some(Some(Self { slope, distance }))
    }

    /// The location of each element of a walk with these values.
    pub(super) fn location(&self, g: &mut Graph, value: NodeId, besides: Option<NodeId>) -> NodeId {
        let before = self.shifted(g, value);
        let location = g.mul(self.slope, before);
        besides.map_or(location, |besides| g.add(besides, location))
    }

    /// For each element that before it; zero where there is none.
    fn shifted(&self, g: &mut Graph, x: NodeId) -> NodeId {
        let shape = g.shape(x).clone();
        let flat = g.reshape(x, [shape.len()]);
        let earlier = g.slice(flat, 0, 0, shape.len() - self.distance);
        let nothing = g.filled(&Shape::from([self.distance]), 0.0);
        let before = g.concat(&[nothing, earlier], 0);
        g.reshape(before, shape)
    }

    /// The values with these coordinates, where `gain` is $\sigma^{1-\lambda}$.
    pub(super) fn value(
        &self,
        g: &mut Graph,
        (x, gain): (NodeId, NodeId),
        besides: Option<NodeId>,
        shares: &Shares<'_>,
    ) -> NodeId {
        if shares.uniform() == Some(1.0) {
            return x;
        }
        let shape = g.shape(x).clone();
        // What stays of the location: 1 - lambda sigma^(1 - lambda), at the ends 1 and 0.
        let stays = if shares.are_ends() {
            let stays = shares.map(|share| 1.0 - share);
            g.constant(stays)
        } else {
            let share = g.constant(shares.tensor().clone());
            let lost = g.mul(share, gain);
            let one = g.scalar(1.0);
            g.sub(one, lost)
        };
        // Elements that begin anew have no element before, whatever multiplies it.
        let goes_on = shares.each(shape.len()).skip(self.distance).all(|share| share == 0.0);
        let slope = if goes_on { self.slope } else { g.mul(stays, self.slope) };
        let slope = match shares.uniform() {
            None if planted(Fault::RecentredWalk) => {
                let stays = g.broadcast_to(stays, &shape);
                let behind = self.shifted(g, stays);
                g.mul(behind, slope)
            }
            _ => slope,
        };
        let mut step = g.mul(gain, x);
        if let Some(besides) = besides {
            let besides = g.mul(stays, besides);
            step = g.add(besides, step);
        }
        let step = g.broadcast_to(step, &shape);
        self.recurrence(g, slope, step)
    }

    /// $y_i=a_iy_{i-\ell}+d_i$.
    pub(super) fn recurrence(&self, g: &mut Graph, slope: NodeId, step: NodeId) -> NodeId {
        let shape = g.shape(step).clone();
        let (len, distance) = (shape.len(), self.distance);
        let steps = len.div_ceil(distance);
        let missing = steps * distance - len;
        if missing == 0 && is_one_behind(g, slope, distance) {
            let rows = g.reshape(step, [steps, distance]);
            let sums = g.cumulative_sum(rows, 0);
            return g.reshape(sums, shape);
        }
        // A step is a number, or a row of as many as the distance.
        let row = if distance == 1 { Shape::scalar() } else { Shape::from([distance]) };
        let rows = |g: &mut Graph, x: NodeId| {
            let full = g.broadcast_to(x, &shape);
            let mut flat = g.reshape(full, [len]);
            if missing > 0 {
                let nothing = g.filled(&Shape::from([missing]), 0.0);
                flat = g.concat(&[flat, nothing], 0);
            }
            g.reshape(flat, Shape::from([steps]).join(row.extents()))
        };
        let mut body = Graph::new();
        let mut input = |name: &str, shape: &Shape| {
            let made = body.input(name, Role::Parameter, shape.clone(), DType::Real);
            made.expect("names are unique")
        };
        let carry = input("carry0", &row);
        let is_fixed = g.shape(slope).is_scalar();
        let (own_slope, own_step) = match is_fixed {
            true => (input("fixed0", &Shape::scalar()), input("x0", &row)),
            false => (input("x0", &row), input("x1", &row)),
        };
        let grown = body.mul(own_slope, carry);
        let next = body.add(grown, own_step);
        let begin = g.filled(&row, 0.0);
        let step = rows(g, step);
        let (args, counts) = match is_fixed {
            true => (vec![begin, step, slope], [1, 1, 1]),
            false => (vec![begin, rows(g, slope), step], [1, 2, 0]),
        };
        let body = ScanBody { graph: body, next: vec![next], stacked: vec![next], counts };
        let body = SharedBody(Arc::new(body));
        let scan = g.must(Op::Scan { length: steps, reverse: false, body }, &args);
        let all = g.must(Op::Project(1), &[scan]);
        let all = g.reshape(all, [steps * distance]);
        let all = g.slice(all, 0, 0, len);
        g.reshape(all, shape)
    }

    /// The values with these innovations, or these values themselves.
    pub(super) fn written_value(
        &self,
        g: &mut Graph,
        (old, written): (NodeId, Written),
        (scale, besides): (NodeId, Option<NodeId>),
    ) -> NodeId {
        if written == Written::Centred {
            return old;
        }
        let shape = g.shape(old).clone();
        let mut step = g.mul(scale, old);
        if let Some(besides) = besides {
            step = g.add(besides, step);
        }
        let step = g.broadcast_to(step, &shape);
        self.recurrence(g, self.slope, step)
    }
}

/// Whether all elements of a constant but the first ones are 1.
fn is_one_behind(g: &Graph, slope: NodeId, first: usize) -> bool {
    let behind = |all: &Tensor| all.values().iter().skip(first).all(|v| *v == 1.0);
    g.as_uniform(slope) == Some(1.0)
        || g.as_constant(slope).is_some_and(|all| !all.shape().is_scalar() && behind(all))
}
