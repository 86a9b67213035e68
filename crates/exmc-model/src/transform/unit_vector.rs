//! Unit vectors: n numbers -> the same divided by their length (last axis).
//!
//! The length is not part of the value; it gets the density of a standard normal vector's length,
//! so that `z` is standard normal when the direction is uniform. **Reference**: Stan reference
//! manual, "Unit vector"; Muller 1959.

use exmc_graph::{Graph, NodeId};

/// [`Transform::UnitVector`](super::Transform::UnitVector): the log slope is $-\tfrac12\sum z_k^2$.
///
/// **Edges**: NaN at z = 0, which has no direction.
pub(super) fn constrain(g: &mut Graph, z: NodeId) -> (NodeId, Option<NodeId>) {
    let squares = g.square(z);
    let squared_length = g.sum_last(squares);
    let length = g.sqrt(squared_length);
    let column = g.shape(length).join(&[1]);
    let length = g.reshape(length, column);
    (g.div(z, length), Some(g.scale(squared_length, -0.5)))
}
