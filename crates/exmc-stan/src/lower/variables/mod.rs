//! Variables during lowering: what each element is, in which lanes, and how elements are read and
//! written.

pub(super) mod gather;
pub(super) mod host_conversion;
pub(super) mod lane_value;
pub(super) mod store;
