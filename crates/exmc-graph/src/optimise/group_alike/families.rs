//! Scalar variables that are read together -> one vector for all of them.
//!
//! Of variables with a common prior, some have outcomes and some have none. If every column were a
//! vector of its own, neither the position's elements nor the gradient's would be parts of one
//! array.

use rustc_hash::FxHashMap;

use crate::graph::{Graph, NodeId};

/// Which scalar variables are in a column together, directly or by others.
#[derive(Default)]
pub(super) struct Families {
    parents: FxHashMap<NodeId, NodeId>,
    places: FxHashMap<NodeId, (NodeId, usize)>,
}

impl Families {
    /// Says that variables are read together.
    pub(super) fn join(&mut self, members: &[NodeId]) {
        let Some((&first, rest)) = members.split_first() else { return };
        let first = self.root(first);
        for &id in rest {
            let other = self.root(id);
            self.parents.insert(other, first);
        }
    }

    fn root(&mut self, id: NodeId) -> NodeId {
        let mut root = id;
        while let Some(&parent) = self.parents.get(&root).filter(|parent| **parent != root) {
            root = parent;
        }
        self.parents.insert(id, root);
        root
    }

    /// Makes the vectors, each in the order of the graph's nodes, which for inputs is that of the
    /// position.
    pub(super) fn make(&mut self, g: &mut Graph) {
        let mut all: Vec<NodeId> = self.parents.keys().copied().collect();
        all.sort_unstable();
        let mut families: Vec<Vec<NodeId>> = Vec::new();
        let mut numbers: FxHashMap<NodeId, usize> = FxHashMap::default();
        for id in all {
            let root = self.root(id);
            let family = *numbers.entry(root).or_insert_with(|| {
                families.push(Vec::new());
                families.len() - 1
            });
            families[family].push(id);
        }
        for members in families.into_iter().filter(|members| members.len() > 1) {
            let rows: Vec<NodeId> = members.iter().map(|&id| g.reshape(id, [1])).collect();
            let vector = g.concat(&rows, 0);
            self.places.extend(members.iter().enumerate().map(|(k, &id)| (id, (vector, k))));
        }
    }

    /// The vector and the number of the element that a variable is.
    pub(super) fn place(&self, id: NodeId) -> Option<(NodeId, usize)> {
        self.places.get(&id).copied()
    }
}
