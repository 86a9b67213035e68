//! A policy's file -> its contract and weights -> logits -> what it presses.
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | open | bytes of a safetensors file -> contract and weights, checked | [`Checkpoint::read`] |
//! | save | contract and weights -> bytes | [`Checkpoint::new`], [`Checkpoint::write`] |
//! | check | contract and weights, features of a sequence -> logits in `f64` | [`evaluate`] |
//! | play | contract and weights, frame after frame -> logits in `f32` | [`Live`] |
//! | press | contract and weights, a game's frames, a seed -> controllers | [`Agent`] |
//!
//! `docs/policy.md` holds the formulas, the names and shapes of the tensors, and the format.

mod agent;
mod checkpoint;
mod contract;
mod error;
mod layout;
mod live;
mod oracle;
mod safetensors;

pub use agent::{Agent, AgentSettings};
pub use checkpoint::{Checkpoint, Tensor};
pub use contract::{
    Architecture, Backbone, Classes, Contract, FORMAT, HeadKind, Heads, build_id, schema_hash,
};
pub use error::CheckpointError;
pub use layout::{Inputs, TensorShape};
pub use live::{Live, Real};
pub use oracle::{Outputs, evaluate};
