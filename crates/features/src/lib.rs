//! Features of a policy (internal, unstable): frames of replays and of running games -> numbers,
//! by one function for both; controllers <-> classes; replays -> batches.
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | observe | a row of a replay, or a running game's report -> [`FrameState`] | [`FrameState::of`] |
//! | compute | [`FrameState`] and [`Schema`] -> numbers | [`Schema::compute`] |
//! | discretise | [`Controller`] <-> [`Action`] | [`Discretiser`] |
//! | draw | names of files and a seed -> windows in an order | [`Epoch`] |
//! | batch | windows -> features and targets | [`Epoch::next_batch`] |
//!
//! There is no stage before training and nothing is stored between a replay and a batch, so nothing
//! can be out of date. A checkpoint keeps [`Schema::text`]; [`Schema::hash`] tells schemas apart.
#![forbid(unsafe_code)]

mod action;
mod action_category;
mod batch;
mod hash;
mod layouts;
mod permutation;
mod quantity;
mod schema;
mod split;
mod state;

pub use action::{Action, COMPONENTS, Discretiser};
pub use action_category::{CATEGORIES, action_category};
pub use batch::{Batch, BatchSettings, DataError, Epoch, Players, Window, views};
pub use hash::stable_hash;
pub use quantity::{Axis, OfCharacter, OfFollower, OfGame, OfItem, Quantity, Side, View};
pub use schema::{Field, Schema, SchemaError};
pub use split::{Part, part_of};
pub use state::{BUTTONS, CharacterState, Controller, FrameState, ItemState, MAX_ITEMS, PortState};
