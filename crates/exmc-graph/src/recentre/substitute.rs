//! Substituting: expressions of inputs that have a location and a scale -> the same of partly
//! centred coordinates.

use super::coordinate::Coordinate;
use super::find::{LocationScale, Part, Written};
use crate::graph::{Graph, NodeId};
use crate::op::{Op, Role};
use crate::tensor::{DType, Tensor};

/// Expressions in new coordinates.
#[derive(Clone, Debug)]
pub struct Recentred {
    /// The new expressions; an input that has another coordinate now keeps its name and shape.
    pub graph: Graph,
    /// The copies of the roots.
    pub roots: Vec<NodeId>,
    /// What the log density of each changed input's coordinate has more than that of the input: a
    /// scalar an entry, in the order of the entries.
    pub log_jacobians: Vec<NodeId>,
}

/// Rewrites expressions with, for each entry, a share of centring for each of the input's elements
/// (one number, or an array of the input's shape): 1 is $\theta$ itself, 0 is
/// $(\theta-\mu)/\sigma$. Nothing where locations and scales depend on each other in a circle.
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
            let live = graph.reachable(&entry.roots());
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
                    let copy_of =
                        |arg: &NodeId| self.copies[arg.index()].expect("arguments come first");
                    let args: Vec<NodeId> = node.args.iter().map(copy_of).collect();
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
        let roots = self.copy(&entry.roots());
        let g = &mut self.new;
        let z = g.input(name, Role::Parameter, shape.clone(), DType::Real);
        let z = z.expect("each input is replaced once");
        let coordinate = Coordinate { shape, entry: entry.with_roots(&roots), share };
        let parts = coordinate.parts(g, z);
        for (node, part, view) in &entry.places {
            let all_elements = parts[*part as usize];
            let g = &mut self.new;
            self.copies[node.index()] = Some(match part {
                Part::Rows => g.reshape(all_elements, view.shape.clone()),
                _ => view.apply(g, all_elements),
            });
        }
        let written_part = match entry.written {
            Written::Centred => Part::Value,
            Written::NonCentred => Part::Standard,
        };
        self.copies[entry.input.index()] = Some(parts[written_part as usize]);
        coordinate.log_jacobian(&mut self.new)
    }
}
