//! A partly centred coordinate of one input -> its value, its difference to its location and its
//! standard form; and back.

use exmc_fault::{Fault, planted};

use super::find::{Chain, LocationScale, Written};
use crate::graph::{Graph, NodeId};
use crate::op::{Op, Unary};
use crate::tensor::{Shape, Tensor};

/// Shares of centring: one number, or one an element.
pub(super) struct Shares<'a>(&'a Tensor);

impl<'a> Shares<'a> {
    pub(super) fn new(share: &'a Tensor) -> Self {
        Self(share)
    }

    pub(super) fn tensor(&self) -> &Tensor {
        self.0
    }

    /// The share where all elements have one.
    pub(super) fn uniform(&self) -> Option<f64> {
        let (first, rest) = self.0.values().split_first()?;
        rest.iter().all(|share| share == first).then_some(*first)
    }

    /// Whether each element is centred or is not.
    pub(super) fn are_ends(&self) -> bool {
        self.0.values().iter().all(|share| *share == 0.0 || *share == 1.0)
    }

    pub(super) fn map(&self, function: impl Fn(f64) -> f64) -> Tensor {
        let values: Vec<f64> = self.0.values().iter().map(|share| function(*share)).collect();
        Tensor::real(self.0.shape().clone(), values).expect("as many as shares")
    }

    /// The shares of so many elements.
    pub(super) fn each(&self, len: usize) -> impl Iterator<Item = f64> {
        let values = self.0.values();
        (0..len).map(move |k| values[if values.len() == 1 { 0 } else { k }])
    }

    /// $x-\lambda m$.
    pub(super) fn less(&self, g: &mut Graph, x: NodeId, location: Option<NodeId>) -> NodeId {
        match (location, self.uniform()) {
            (None, _) | (_, Some(0.0)) => x,
            (Some(location), Some(1.0)) => g.sub(x, location),
            (Some(location), _) => {
                let share = g.constant(self.0.clone());
                let moved = g.mul(share, location);
                g.sub(x, moved)
            }
        }
    }
}

/// A positive scale to constant powers.
pub(super) fn power(g: &mut Graph, scale: NodeId, powers: &Tensor) -> NodeId {
    let values = powers.values();
    let sign = if values.contains(&-1.0) { -1.0 } else { 1.0 };
    if values.iter().all(|power| *power == 0.0 || *power == sign) {
        // The scale itself, or what it divides, at some places.
        let constant = |g: &mut Graph, function: &dyn Fn(f64) -> f64| {
            let values: Vec<f64> = values.iter().map(|power| function(power.abs())).collect();
            let values = Tensor::real(powers.shape().clone(), values);
            g.constant(values.expect("as many as powers"))
        };
        let full_power = if sign > 0.0 { scale } else { g.unary(Unary::Reciprocal, scale) };
        if values.iter().all(|power| *power == 0.0) {
            return g.scalar(1.0);
        }
        if values.iter().all(|power| *power == sign) {
            return full_power;
        }
        let (indicators, rest) =
            (constant(g, &|indicator| indicator), constant(g, &|indicator| 1.0 - indicator));
        let some = g.mul(indicators, full_power);
        return g.add(rest, some);
    }
    let log_scale = log(g, scale);
    let powers = g.constant(powers.clone());
    let exponent = g.mul(powers, log_scale);
    g.exp(exponent)
}

/// One input's new coordinate.
pub(super) struct Coordinate<'a> {
    pub(super) shape: Shape,
    /// With roots in the graph that the coordinate is made in.
    pub(super) entry: LocationScale,
    pub(super) share: &'a Tensor,
}

impl Coordinate<'_> {
    /// Value, difference, standard form and the last by rows, in the order of
    /// [`Part`](super::find::Part).
    pub(super) fn parts(&self, g: &mut Graph, x: NodeId) -> [NodeId; 4] {
        let shares = Shares::new(self.share);
        let LocationScale { location, scale, chain, .. } = &self.entry;
        let [value, difference, standard, rows] = match chain {
            None => {
                let [value, difference, standard] = self.independent(g, x);
                [value, difference, standard, standard]
            }
            Some(Chain::Walk(walk)) => {
                let gain = power(g, *scale, &shares.map(|share| 1.0 - share));
                let value = walk.value(g, (x, gain), *location, &shares);
                let conditional_location = walk.location(g, value, *location);
                let away = shares.less(g, x, Some(conditional_location));
                let shrunk = power(g, *scale, &shares.map(|share| -share));
                let standard = g.mul(shrunk, away);
                [value, g.mul(gain, away), standard, standard]
            }
            Some(Chain::Factor(factor)) => factor.parts(g, x, (*scale, *location), &shares),
        };
        let full = |g: &mut Graph, x: NodeId| g.broadcast_to(x, &self.shape);
        [full(g, value), full(g, difference), full(g, standard), rows]
    }

    /// The same of elements whose locations do not hold each other.
    fn independent(&self, g: &mut Graph, z: NodeId) -> [NodeId; 3] {
        let shares = Shares::new(self.share);
        let LocationScale { location, scale, .. } = self.entry;
        let add_location = |g: &mut Graph, x: NodeId| match location {
            Some(location) => g.add(location, x),
            None => x,
        };
        match shares.uniform() {
            Some(0.0) => {
                let difference = g.mul(scale, z);
                [add_location(g, difference), difference, z]
            }
            Some(1.0) => {
                let difference = location.map_or(z, |location| g.sub(z, location));
                let standard = g.div(difference, scale);
                [z, difference, standard]
            }
            _ => {
                let log_scale = log(g, scale);
                let share = g.constant(self.share.clone());
                let centred = shares.less(g, z, location);
                let minus = g.neg(share);
                let rest = g.shift(minus, 1.0);
                let power = |g: &mut Graph, by: NodeId| {
                    let exponent = g.mul(by, log_scale);
                    g.exp(exponent)
                };
                let grown = power(g, if planted(Fault::RecentredPower) { share } else { rest });
                let difference = g.mul(grown, centred);
                let shrunk = power(g, minus);
                let standard = g.mul(shrunk, centred);
                [add_location(g, difference), difference, standard]
            }
        }
    }

    /// $\sum(1-\lambda)\log\sigma$ where the density was of the value, $-\sum\lambda\log\sigma$
    /// where it was of the standard form.
    pub(super) fn log_jacobian(&self, g: &mut Graph) -> NodeId {
        let missing = if self.entry.written == Written::Centred { 1.0 } else { 0.0 };
        let shares = Shares::new(self.share);
        let log_scale = log(g, self.entry.scale);
        let mut total = if let Some(Chain::Factor(factor)) = &self.entry.chain {
            let powers = g.constant(factor.row_sums(&shares, |share| missing - share));
            let terms = g.mul(powers, log_scale);
            g.sum(terms)
        } else if g.shape(log_scale).is_scalar() {
            let power: f64 = shares.each(self.shape.len()).map(|share| missing - share).sum();
            g.scale(log_scale, power)
        } else {
            let powers = g.constant(shares.map(|share| missing - share));
            let terms = g.mul(powers, log_scale);
            let terms = g.broadcast_to(terms, &self.shape);
            g.sum(terms)
        };
        if planted(Fault::RecentredJacobian) {
            total = g.scale(total, 0.5);
        }
        total
    }
}

impl LocationScale {
    /// Location and scale of each element, as arrays of the input's shape: of chained elements,
    /// given those before.
    pub fn location_and_scale(&self, g: &mut Graph) -> [NodeId; 2] {
        let shape = g.shape(self.input).clone();
        let zero = g.scalar(0.0);
        let [location, scale] = match &self.chain {
            None => [self.location.unwrap_or(zero), self.scale],
            Some(Chain::Walk(walk)) => {
                let old = (self.input, self.written);
                let value = walk.written_value(g, old, (self.scale, self.location));
                [walk.location(g, value, self.location), self.scale]
            }
            Some(Chain::Factor(factor)) => {
                let [location, _] = factor.written(g, (self.input, self.written), self.location);
                [location, factor.scales(g, self.scale)]
            }
        };
        [location, scale].map(|node| g.broadcast_to(node, &shape))
    }
}

/// $\lambda\mu+\sigma^{\lambda-1}(\theta-\mu)$ of the input's old coordinate, which is $\theta$ or
/// $(\theta-\mu)/\sigma$ as it was written; `copies` are those of the [roots](LocationScale::roots)
/// in this graph.
pub fn recentre_value(
    g: &mut Graph,
    entry: &LocationScale,
    old: NodeId,
    copies: &[NodeId],
    share: &Tensor,
) -> NodeId {
    let entry = entry.with_roots(copies);
    let shape = g.shape(old).clone();
    let LocationScale { location, scale, written, ref chain, .. } = entry;
    let (location, base, written, scale) = match chain {
        None => {
            let base = match (written, location) {
                (Written::Centred, Some(location)) => g.sub(old, location),
                _ => old,
            };
            (location, base, written, scale)
        }
        Some(Chain::Walk(walk)) => {
            let value = walk.written_value(g, (old, written), (scale, location));
            let mut conditional_location = walk.location(g, value, location);
            if planted(Fault::RecentredBefore) {
                let zero = g.scalar(0.0);
                conditional_location = location.unwrap_or(zero);
            }
            let base =
                if written == Written::Centred { g.sub(old, conditional_location) } else { old };
            (Some(conditional_location), base, written, scale)
        }
        Some(Chain::Factor(factor)) => {
            let [conditional_location, standard] = factor.written(g, (old, written), location);
            (Some(conditional_location), standard, Written::NonCentred, factor.scales(g, scale))
        }
    };
    let log_scale = log(g, scale);
    let shares = Shares::new(share);
    let exponent = match written {
        Written::Centred => shares.map(|share| share - 1.0),
        Written::NonCentred => share.clone(),
    };
    let (exponent, share) = (g.constant(exponent), g.constant(share.clone()));
    let exponent = g.mul(exponent, log_scale);
    let power = g.exp(exponent);
    let grown = g.mul(power, base);
    let value = match location {
        Some(location) if !planted(Fault::RecentredInverse) => {
            let moved = g.mul(share, location);
            g.add(moved, grown)
        }
        _ => grown,
    };
    g.broadcast_to(value, &shape)
}

/// The logarithm of a positive expression.
fn log(g: &mut Graph, x: NodeId) -> NodeId {
    match (&g.node(x).op, &g.node(x).args[..]) {
        (Op::Unary(Unary::Exp), &[exponent]) => exponent,
        _ => g.log(x),
    }
}
