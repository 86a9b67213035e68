//! Games that a policy plays (internal, unstable): controllers -> frames.
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | play | a controller -> the next frame, by any game | [`Environment`] |
//! | the stub game | a seed and controllers -> frames of a game with a known optimum | [`StubGame`] |
//! | record | frames -> a replay that is written as `.slp` | [`record`] |
//! | bridge | lines of JSON <-> frames and controllers of another process | [`Bridge`], [`serve`] |
//!
//! The protocol of bridges is in `docs/bridge-protocol.md`.
#![forbid(unsafe_code)]

mod bridge;
mod message;
mod record;
mod stub;

use features::{Controller, FrameState, View};

pub use bridge::{Bridge, serve};
pub use message::PROTOCOL;
pub use record::record;
pub use stub::{Expert, StubGame, StubSettings, optimal_crossings};

/// A frame of a running game and what it was worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The frame, as features take it.
    pub state: FrameState,
    /// The reward of this frame.
    pub reward: f64,
    /// Whether the game is over.
    pub is_done: bool,
}

/// A game that a policy plays.
pub trait Environment {
    /// Who the policy is.
    fn view(&self) -> View;

    /// Begins a game; the same seed begins the same game. Returns its first frame.
    ///
    /// # Errors
    /// When the game cannot begin, in a sentence.
    fn reset(&mut self, seed: u64) -> Result<Step, EnvironmentError>;

    /// Plays one frame with this controller and returns it.
    ///
    /// # Errors
    /// When the game cannot go on, in a sentence.
    fn step(&mut self, controller: &Controller) -> Result<Step, EnvironmentError>;
}

/// Why a game cannot begin or go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentError(String);

impl EnvironmentError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl std::fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EnvironmentError {}
