//! Moves of elements and lookups -> the numbers of an index, as far as they are known.

use std::sync::Arc;

use exmc_fault::{Fault, planted};
use exmc_graph::{NodeId, Op, Shape, evaluate};

use super::{Index, Reader, View, moved_index};
use crate::native::run::pack::expand;

impl Reader<'_> {
    /// An operation that only moves elements.
    pub(super) fn move_elements(&mut self, id: NodeId) -> View {
        let node = self.graph.node(id);
        let (from, to) = (self.graph.shape(node.args[0]), &node.shape);
        let index = self.static_index(&node.op, from, to, || moved_index(&node.op, from, to));
        self.load(id, index)
    }

    /// An integer node's index. Those of a loop's body are computed now, since they do not change:
    /// its nodes are not the program's.
    pub(super) fn index_of(&mut self, node: NodeId, width: usize) -> Index {
        if !self.body {
            return Index::Data { node, width };
        }
        if let Some(known) = self.graph.as_constant(node) {
            return Index::Static(Arc::new(expand(known.values(), width)));
        }
        if planted(Fault::IndexOfAnotherGraph) {
            return Index::Data { node, width };
        }
        let numbers = match evaluate(self.graph, &[node], &|_| None) {
            Ok(known) => expand(known[0].values(), width),
            Err(error) => {
                self.failed = Some(error);
                Vec::new()
            }
        };
        Index::Static(Arc::new(numbers))
    }

    pub(super) fn static_index(
        &mut self,
        op: &Op,
        from: &Shape,
        to: &Shape,
        make: impl FnOnce() -> Vec<u32>,
    ) -> Index {
        let key = (op.clone(), from.clone(), to.clone());
        Index::Static(Arc::clone(self.indices.entry(key).or_insert_with(|| Arc::new(make()))))
    }
}
