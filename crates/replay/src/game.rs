//! A replay in memory: columns by port, lists by frame, and what the file says beside them.

use std::ops::Range;

use crate::columns::{
    Columns, FrameEnd, FrameStart, Item, Platform, Post, Pre, Transformation, Wind,
};
use crate::error::ReplayError;
use crate::start::{GameEnd, GameStart, PORTS};
use crate::ubjson::Value;

/// The number of the first frame of a game; the countdown ends before frame 0.
pub const FIRST_FRAME: i32 = -123;

pub(crate) const HAS_PRE: u8 = 1;
pub(crate) const HAS_POST: u8 = 2;

/// A character's columns. All have as many rows as the game has frames, or none where the file's
/// version lacks the field.
#[derive(Clone, Debug, Default)]
pub struct Character {
    /// What each frame began with.
    pub pre: Pre,
    /// What each frame led to.
    pub post: Post,
    pub(crate) present: Vec<u8>,
}

impl Character {
    /// Whether the character took part in a frame; where it did not, all columns are 0.
    #[must_use]
    pub fn is_present(&self, row: usize) -> bool {
        self.present.get(row).is_some_and(|bits| *bits == HAS_PRE | HAS_POST)
    }

    /// Marks a frame as one in which the character takes part, or does not.
    pub fn set_present(&mut self, row: usize, is_present: bool) {
        if let Some(bits) = self.present.get_mut(row) {
            *bits = if is_present { HAS_PRE | HAS_POST } else { 0 };
        }
    }
}

/// A port's characters: Ice Climbers are two, all others one.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// The character that the player leads.
    pub leader: Character,
    /// The second of the Ice Climbers.
    pub follower: Option<Character>,
}

/// What a frame has any number of, such as items.
#[derive(Clone, Debug, Default)]
pub struct PerFrame<C> {
    /// One row for each, frame after frame.
    pub rows: C,
    /// For each frame the number of rows before it, and at last the number of all.
    pub offsets: Vec<u32>,
}

impl<C> PerFrame<C> {
    /// The rows of a frame.
    #[must_use]
    pub fn of(&self, row: usize) -> Range<usize> {
        match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(begin), Some(end)) => *begin as usize..*end as usize,
            _ => 0..0,
        }
    }
}

/// A replay. Row 0 is the frame with the number [`Self::first_frame`]; a frame that was played
/// again after a rollback is here as it was played last.
#[derive(Clone, Debug)]
pub struct Game {
    /// How the game is set up.
    pub start: GameStart,
    /// Number of the frame of row 0, as a rule [`FIRST_FRAME`].
    pub first_frame: i32,
    pub(crate) frames: usize,
    /// Columns of each port that took part.
    pub ports: [Option<Port>; PORTS],
    /// What opens each frame.
    pub frame_start: FrameStart,
    /// What closes each frame.
    pub frame_end: FrameEnd,
    /// Items and projectiles.
    pub items: PerFrame<Item>,
    /// Moves of the platforms of Fountain of Dreams.
    pub platforms: PerFrame<Platform>,
    /// Changes of the wind in Dream Land.
    pub wind: PerFrame<Wind>,
    /// Changes of Pokémon Stadium.
    pub transformations: PerFrame<Transformation>,
    /// How the game ended; some files lack it.
    pub end: Option<GameEnd>,
    /// What the recorder noted: `startAt`, `lastFrame`, `players`, `playedOn`.
    pub metadata: Option<Value>,
    /// Frames that were played again.
    pub rollbacks: usize,
    /// Why the file could not be read to its end; the frames here are those before that place.
    pub damage: Option<ReplayError>,
}

impl Game {
    /// A game of `frames` frames from [`FIRST_FRAME`] on in which every player of `start` takes
    /// part, with zeros in every column that the version has. [`Self::write`] writes it once the
    /// columns are filled.
    #[must_use]
    pub fn blank(start: GameStart, frames: usize) -> Self {
        let version = start.version;
        let mut ports = [const { None }; PORTS];
        for (port, player) in ports.iter_mut().zip(&start.players) {
            if player.is_some() {
                let mut leader = Character::default();
                leader.resize(frames, Pre::payload(version), Post::payload(version));
                leader.present.fill(HAS_PRE | HAS_POST);
                *port = Some(Port { leader, follower: None });
            }
        }
        let mut game = Self::empty(start);
        game.ports = ports;
        game.frames = frames;
        game.frame_start.resize(frames, FrameStart::payload(version));
        game.frame_end.resize(frames, FrameEnd::payload(version));
        game.items.offsets = vec![0; frames + 1];
        game.platforms.offsets = vec![0; frames + 1];
        game.wind.offsets = vec![0; frames + 1];
        game.transformations.offsets = vec![0; frames + 1];
        game
    }

    pub(crate) fn empty(start: GameStart) -> Self {
        Self {
            start,
            first_frame: FIRST_FRAME,
            frames: 0,
            ports: [const { None }; PORTS],
            frame_start: FrameStart::default(),
            frame_end: FrameEnd::default(),
            items: PerFrame::default(),
            platforms: PerFrame::default(),
            wind: PerFrame::default(),
            transformations: PerFrame::default(),
            end: None,
            metadata: None,
            rollbacks: 0,
            damage: None,
        }
    }

    /// Frames, which is the number of rows of every column.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames
    }

    /// Whether there are no frames.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// The row of a frame's number, if the game has that frame.
    #[must_use]
    pub fn row_of(&self, frame: i32) -> Option<usize> {
        let row = i64::from(frame) - i64::from(self.first_frame);
        usize::try_from(row).ok().filter(|row| *row < self.frames)
    }

    /// The number of the frame of a row.
    #[must_use]
    pub fn frame_of(&self, row: usize) -> i32 {
        self.first_frame.wrapping_add(row as i32)
    }
}

impl Character {
    pub(crate) fn resize(&mut self, rows: usize, pre: usize, post: usize) {
        self.pre.resize(rows, pre);
        self.post.resize(rows, post);
        self.present.resize(rows, 0);
    }
}
