//! Slippi replays (internal, unstable): the bytes of an `.slp` file -> columns, and back.
//!
//! ```
//! use replay::{Game, GameStart, Player, Version};
//!
//! // A game of three frames on Final Destination, written and read back.
//! let mut start = GameStart::new(Version::NEWEST, 32);
//! start.players[0] = Some(Player::human(2));
//! let mut game = Game::blank(start, 3);
//! let port = game.ports[0].as_mut().expect("port 1 has a player");
//! port.leader.post.x = vec![0.0, 1.5, 3.0];
//! let bytes = game.write()?;
//!
//! let read = Game::read(&bytes)?;
//! assert_eq!(read.len(), 3);
//! assert_eq!(read.frame_of(0), -123);
//! assert_eq!(read.ports[0].as_ref().map(|p| p.leader.post.x[1]), Some(1.5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | read | bytes of a file -> [`Game`], or a located [`ReplayError`] | [`Game::read`], [`Reader`] |
//! | write | [`Game`] -> bytes of a file | [`Game::write`] |
//! | unpack | bytes of a file or an archive of any kind -> each replay's bytes | `archive::each` |
//!
//! What the columns are, and since which version, is in their tables ([`Pre`], [`Post`], [`Item`])
//! and in `docs/replays.md`. Reading takes no dependency from outside and no `unsafe`; archives
//! need the feature `archive`, those of 7-Zip the feature `seven-zip`.
#![forbid(unsafe_code)]

mod columns;
mod compare;
mod error;
mod events;
mod frames;
mod game;
mod read;
mod scalar;
mod start;
mod text;
mod ubjson;
mod version;
mod write;

#[cfg(feature = "archive")]
pub mod archive;

pub use columns::{
    Columns, Field, FrameEnd, FrameStart, Item, Platform, Post, Pre, Transformation, Wind,
};
pub use compare::differences;
pub use error::ReplayError;
pub use game::{Character, FIRST_FRAME, Game, PerFrame, Port};
pub use read::Reader;
pub use scalar::{Column, Kind};
pub use start::{GameEnd, GameStart, PORTS, Player, PlayerKind};
pub use text::MeleeText;
pub use ubjson::Value;
pub use version::Version;
pub use write::WriteError;
