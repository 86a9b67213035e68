//! Lowering backwards: constrained values of the free variables -> their unconstrained arrays.

use std::collections::{BTreeMap, BTreeSet};

use exmc_graph::{DType, Graph, NodeId, Role};

use super::{Inverse, Lowering};
use crate::model::Kind;
use crate::support::KnownSupports;
use crate::transform::Transform;

impl<'m> Lowering<'m> {
    /// Constrained values of the free variables -> their unconstrained arrays.
    pub(super) fn inverse(&self, order: &[&'m str]) -> Inverse {
        let mut inverse = Lowering {
            model: self.model,
            options: self.options,
            graph: Graph::new(),
            values: BTreeMap::new(),
            free: BTreeMap::new(),
            known: KnownSupports::default(),
            layout: Vec::new(),
            checks: Vec::new(),
            pointwise: Vec::new(),
            imported: vec![None; self.model.graph.len()],
            observations: self.observations.clone(),
        };
        let free: BTreeSet<&str> = self.free.keys().copied().collect();
        for &name in order {
            if free.contains(name) {
                let shape = self.model.shape_of(name).expect("variables have shapes").clone();
                let made = inverse.graph.input(name, Role::Parameter, shape, DType::Real);
                let input = made.expect("names are unique and this graph is new");
                inverse.values.insert(name, input);
            } else {
                inverse.value(name);
            }
        }
        let outputs = self.layout.iter().map(|entry| inverse.unconstrained(&entry.name)).collect();
        Inverse { graph: inverse.graph, outputs }
    }

    fn unconstrained(&mut self, name: &str) -> NodeId {
        let Kind::Rv(rv) = &self.model.nodes[name].kind else {
            unreachable!("free variables are random")
        };
        let missing = self.observations.get(name).copied().map(|(_, obs)| obs.missing.as_slice());
        let mut value = self.values[name];
        if let Some(positions) = missing {
            value = self.elements(value, &rv.shape, positions);
        }
        if let Some(standardised) = rv.standardised {
            if let Some(location) = standardised.location {
                let location = self.import(location);
                value = self.graph.sub(value, location);
            }
            let scale = self.import(standardised.scale);
            value = self.graph.div(value, scale);
        }
        let transform = rv.transform.unwrap_or(Transform::Identity).map_arguments(&mut |limit| {
            let limit = self.import(limit);
            match missing {
                None => limit,
                Some(positions) => self.elements(limit, &rv.shape, positions),
            }
        });
        transform.unconstrain(&mut self.graph, value)
    }
}
