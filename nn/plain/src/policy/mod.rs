//! A policy's file -> its contract and weights -> logits -> what it presses.
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | open | bytes of a safetensors file -> contract and weights, checked | [`Checkpoint::read`] |
//! | save | contract and weights -> bytes | [`Checkpoint::new`], [`Checkpoint::write`] |
//!
//! `docs/policy.md` holds the formulas, the names and shapes of the tensors, and the format.

mod checkpoint;
mod contract;
mod error;
mod layout;
mod safetensors;

pub use checkpoint::{Checkpoint, Tensor};
pub use contract::{
    Architecture, Backbone, Classes, Contract, FORMAT, HeadKind, Heads, build_id, schema_hash,
};
pub use error::CheckpointError;
pub use layout::{Inputs, TensorShape};
