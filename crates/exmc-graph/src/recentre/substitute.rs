//! Substituting: expressions of inputs that have a location and a scale -> the same of partly centred coordinates.

use exmc_fault::{Fault, planted};

use super::find::{LocationScale, Part, Written};
use crate::graph::{Graph, NodeId};
use crate::op::{Op, Role, Unary};
use crate::tensor::{DType, Shape, Tensor};

/// Expressions in new coordinates.
#[derive(Clone, Debug)]
pub struct Recentred {
    /// The new expressions; an input that has another coordinate now keeps its name and shape.
    pub graph: Graph,
    /// The copies of the roots.
    pub roots: Vec<NodeId>,
    /// What the log density of each changed input's coordinate has more than that of the input: a scalar an entry, in the order
    /// of the entries.
    pub log_jacobians: Vec<NodeId>,
}

/// Rewrites expressions with, for each entry, a share of centring for each of the input's elements (one number, or an array
/// of the input's shape): 1 is $\theta$ itself, 0 is $(\theta-\mu)/\sigma$. Nothing where locations and scales depend on each other in a
/// circle.
pub fn recentre(
    graph: &Graph,
    roots: &[NodeId],
    entries: &[(&LocationScale, &Tensor)],
) -> Option<Recentred> {
    let mut copier = Copier { old: graph, new: Graph::new(), copies: vec![None; graph.len()] };
    let mut log_jacobians = vec![None; entries.len()];
    for k in order(graph, entries)? {
        let (entry, share) = entries[k];
        log_jacobians[k] = Some(copier.replace(entry, share));
    }
    let roots = copier.copy(roots);
    let log_jacobians = log_jacobians.into_iter().map(|node| node.expect("all were replaced"));
    Some(Recentred { log_jacobians: log_jacobians.collect(), graph: copier.new, roots })
}

/// Entries such that each comes after those of which its location and scale hold the inputs.
fn order(graph: &Graph, entries: &[(&LocationScale, &Tensor)]) -> Option<Vec<usize>> {
    let needs: Vec<Vec<bool>> = entries
        .iter()
        .map(|(entry, _)| {
            let roots: Vec<NodeId> = entry.location.iter().copied().chain([entry.scale]).collect();
            let live = graph.reachable(&roots);
            entries.iter().map(|(other, _)| live[other.input.index()]).collect()
        })
        .collect();
    let mut order: Vec<usize> = Vec::new();
    while order.len() < entries.len() {
        let ready = |k: &usize| {
            !order.contains(k)
                && needs[*k].iter().enumerate().all(|(j, needed)| !needed || order.contains(&j))
        };
        order.push((0..entries.len()).find(ready)?);
    }
    Some(order)
}

/// Copies expressions, some of which have been given their copies.
struct Copier<'g> {
    old: &'g Graph,
    new: Graph,
    copies: Vec<Option<NodeId>>,
}

impl Copier<'_> {
    fn copy(&mut self, roots: &[NodeId]) -> Vec<NodeId> {
        let mut missing: Vec<NodeId> = roots.to_vec();
        let mut needed = Vec::new();
        let mut seen = vec![false; self.old.len()];
        while let Some(id) = missing.pop() {
            if self.copies[id.index()].is_none() && !std::mem::replace(&mut seen[id.index()], true)
            {
                needed.push(id);
                missing.extend(&self.old.node(id).args);
            }
        }
        // Arguments come before their users.
        needed.sort_unstable();
        for id in needed {
            let node = self.old.node(id);
            let copy = match &node.op {
                Op::Input { name, role } => {
                    let made = self.new.input(name, *role, node.shape.clone(), node.dtype);
                    made.expect("names are unique in the old graph")
                }
                op => {
                    let of = |arg: &NodeId| self.copies[arg.index()].expect("arguments come first");
                    let args: Vec<NodeId> = node.args.iter().map(of).collect();
                    self.new.must(op.clone(), &args)
                }
            };
            self.copies[id.index()] = Some(copy);
        }
        roots.iter().map(|root| self.copies[root.index()].expect("roots were copied")).collect()
    }

    /// Gives the input's places their expressions in the new coordinate. Returns the log Jacobian.
    fn replace(&mut self, entry: &LocationScale, share: &Tensor) -> NodeId {
        let old = self.old;
        let Op::Input { name, .. } = &old.node(entry.input).op else {
            unreachable!("entries are of inputs")
        };
        let shape = old.shape(entry.input).clone();
        let location = entry.location.map(|location| self.copy(&[location])[0]);
        let scale = self.copy(&[entry.scale])[0];
        let g = &mut self.new;
        let z = g.input(name, Role::Parameter, shape.clone(), DType::Real);
        let z = z.expect("each input is replaced once");
        let coordinate = Coordinate { shape, location, scale, share };
        let (parts, log_scale) = coordinate.parts(g, z);
        for (node, part, view) in &entry.places {
            let whole = parts[*part as usize];
            self.copies[node.index()] = Some(view.apply(&mut self.new, whole));
        }
        let own = match entry.written {
            Written::Centred => Part::Value,
            Written::NonCentred => Part::Standard,
        };
        self.copies[entry.input.index()] = Some(parts[own as usize]);
        coordinate.log_jacobian(&mut self.new, entry.written, log_scale)
    }
}

/// One input's new coordinate.
struct Coordinate<'a> {
    shape: Shape,
    location: Option<NodeId>,
    scale: NodeId,
    share: &'a Tensor,
}

impl Coordinate<'_> {
    /// The share of centring where all elements have one.
    fn uniform(&self) -> Option<f64> {
        let (first, rest) = self.share.values().split_first()?;
        rest.iter().all(|share| share == first).then_some(*first)
    }

    /// Value, difference and standard form, in the order of [`Part`], and the logarithm of the scale.
    fn parts(&self, g: &mut Graph, z: NodeId) -> ([NodeId; 3], NodeId) {
        let log_scale = log(g, self.scale);
        let add_location = |g: &mut Graph, x: NodeId| match self.location {
            Some(location) => g.add(location, x),
            None => x,
        };
        let parts = match self.uniform() {
            Some(0.0) => {
                let difference = g.mul(self.scale, z);
                [add_location(g, difference), difference, z]
            }
            Some(1.0) => {
                let difference = self.location.map_or(z, |location| g.sub(z, location));
                let standard = g.div(difference, self.scale);
                [z, difference, standard]
            }
            _ => {
                let share = g.constant(self.share.clone());
                let centred = match self.location {
                    None => z,
                    Some(location) => {
                        let moved = g.mul(share, location);
                        g.sub(z, moved)
                    }
                };
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
        };
        let full = |g: &mut Graph, x: NodeId| g.broadcast_to(x, &self.shape);
        (parts.map(|part| full(g, part)), log_scale)
    }

    /// $\sum(1-\lambda)\log\sigma$ where the density was of the value, $-\sum\lambda\log\sigma$ where it was of the standard form.
    fn log_jacobian(&self, g: &mut Graph, written: Written, log_scale: NodeId) -> NodeId {
        let missing = if written == Written::Centred { 1.0 } else { 0.0 };
        let powers: Vec<f64> = self.share.values().iter().map(|share| missing - share).collect();
        let each = self.shape.len() / powers.len().max(1);
        let mut total = match g.shape(log_scale).is_scalar() {
            true => {
                let power = powers.iter().sum::<f64>() * each as f64;
                g.scale(log_scale, power)
            }
            false => {
                let powers = Tensor::real(self.share.shape().clone(), powers);
                let powers = g.constant(powers.expect("one an element"));
                let terms = g.mul(powers, log_scale);
                let terms = g.broadcast_to(terms, &self.shape);
                g.sum(terms)
            }
        };
        if planted(Fault::RecentredJacobian) {
            total = g.scale(total, 0.5);
        }
        total
    }
}

/// $\lambda\mu+\sigma^{\lambda-1}(\theta-\mu)$ of the input's old coordinate, which is $\theta$ or $(\theta-\mu)/\sigma$ as it was written.
pub fn recentre_value(
    g: &mut Graph,
    (old, written): (NodeId, Written),
    location: Option<NodeId>,
    scale: NodeId,
    share: &Tensor,
) -> NodeId {
    let shape = g.shape(old).clone();
    let log_scale = log(g, scale);
    let (share, rest) = {
        let rest: Vec<f64> = share.values().iter().map(|s| s - 1.0).collect();
        let rest = Tensor::real(share.shape().clone(), rest).expect("as many as shares");
        (g.constant(share.clone()), g.constant(rest))
    };
    let (base, exponent) = match (written, location) {
        (Written::Centred, Some(location)) => (g.sub(old, location), rest),
        (Written::Centred, None) => (old, rest),
        (Written::NonCentred, _) => (old, share),
    };
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
