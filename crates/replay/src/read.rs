//! A file's bytes -> a [`Game`].
//!
//! The file is a UBJSON object whose key `raw` holds a stream of events. Its first event says how
//! long each kind is, so unknown kinds are passed over and longer events of newer versions are read
//! as far as they are known. A frame's number says which row it is, so a frame that a rollback
//! repeats replaces the one before. Whatever is damaged ends the frames at a place that is
//! reported; nothing panics, and memory stays in proportion to the file.

use crate::error::ReplayError;
use crate::events::{
    FRAME_END, FRAME_START, GAME_END, GAME_START, ITEM, PAYLOADS, PLATFORM, POST, PRE, Sizes,
    TRANSFORMATION, WIND, name,
};
use crate::frames::Frames;
use crate::game::Game;
use crate::start::{GameEnd, GameStart};
use crate::ubjson::{Cursor, Value};

/// `{`, the key `raw`, and an array of bytes whose length follows.
pub(crate) const HEADER: &[u8; 11] = b"{U\x03raw[$U#l";

/// Reads files one after the other and keeps what it needs for that.
#[derive(Default)]
pub struct Reader {
    frames: Frames,
}

impl Game {
    /// Reads a file. Frames before a damaged place are kept, with [`Game::damage`] set.
    ///
    /// # Errors
    /// When not even the setup of the game can be read.
    pub fn read(bytes: &[u8]) -> Result<Self, ReplayError> {
        Reader::default().read(bytes)
    }

    /// Reads a file that must be whole.
    ///
    /// # Errors
    /// The first damaged place, wherever it is.
    pub fn read_whole(bytes: &[u8]) -> Result<Self, ReplayError> {
        let mut game = Self::read(bytes)?;
        game.damage.take().map_or(Ok(game), Err)
    }
}

impl Reader {
    /// Reads a file, as [`Game::read`] does.
    ///
    /// # Errors
    /// When not even the setup of the game can be read.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Game, ReplayError> {
        self.read_into(bytes, None)
    }

    /// Reads a file into the memory of a game that is not needed any more.
    ///
    /// # Errors
    /// When not even the setup of the game can be read.
    pub fn read_into(&mut self, bytes: &[u8], old: Option<Game>) -> Result<Game, ReplayError> {
        if !bytes.starts_with(HEADER) {
            let message = "expected `{U\\3raw[$U#l`, with which a Slippi replay begins";
            return Err(ReplayError::new(0, message));
        }
        let Some(length) = bytes.get(11..15) else {
            return Err(ReplayError::new(11, "the file ends before the length of its events"));
        };
        let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let (sizes, offset) = Sizes::read(bytes, 15)?;
        if bytes.get(offset) != Some(&GAME_START) {
            return Err(ReplayError::new(offset, "expected a game start event behind the sizes"));
        }
        let size = sizes.payload(GAME_START);
        let Some(event) = bytes.get(offset + 1..offset + 1 + size).filter(|_| size > 0) else {
            return Err(ReplayError::new(offset, "the file ends within the game start event"));
        };
        let start = GameStart::read(event, offset)?;

        // A recorder that was cut off leaves the length at 0.
        let declared = if length == 0 { bytes.len() } else { 15 + length };
        let end = declared.min(bytes.len());
        self.frames.begin(start, old, &sizes, end.saturating_sub(offset));
        let outcome = self.events(&bytes[..end], offset + 1 + size, &sizes);
        let (game_end, stopped, mut damage) = match outcome {
            Ok((game_end, end_offset)) => (game_end, end_offset, None),
            Err(damage) => (None, declared, Some(damage)),
        };
        let is_cut = game_end.is_none() && (length == 0 || declared > bytes.len());
        if is_cut && damage.is_none() {
            let message = "the file ends before the game does: it was cut, or is still written";
            damage = Some(ReplayError::new(bytes.len(), message));
        }
        let game = self.frames.finish(damage.is_some());
        let mut game = game.ok_or_else(|| ReplayError::new(offset, "the game was never begun"))?;
        game.end = game_end;
        let behind = if length == 0 { stopped } else { declared };
        match metadata(bytes, behind) {
            Ok(metadata) => game.metadata = metadata,
            Err(wrong) => damage = damage.or(Some(wrong)),
        }
        game.damage = damage;
        Ok(game)
    }

    /// All events up to the game's end; also the place behind it.
    fn events(
        &mut self,
        bytes: &[u8],
        mut offset: usize,
        sizes: &Sizes,
    ) -> Result<(Option<GameEnd>, usize), ReplayError> {
        let frames = &mut self.frames;
        while let Some(&code) = bytes.get(offset) {
            let Some(size) = sizes.of(code) else {
                let message = format!("event {code:#04x} has no declared size");
                return Err(ReplayError::new(offset, message));
            };
            let next = offset + 1 + size;
            let Some(event) = bytes.get(offset..next) else {
                let missing = next - bytes.len();
                let message = format!("the {} lacks {missing} bytes", name(code));
                return Err(ReplayError::new(offset, message));
            };
            // Blocks read past the event where its version is old, so they get what is behind it.
            let open = &bytes[offset..];
            match code {
                PRE => {
                    let (row, slot) = frames.character(event, offset)?;
                    slot.push_pre(row, open);
                }
                POST => {
                    let (row, slot) = frames.character(event, offset)?;
                    slot.push_post(row, open);
                }
                FRAME_START => {
                    let row = frames.open(event, offset)?;
                    frames.frame_start.push(row, open);
                }
                FRAME_END => {
                    let row = frames.close(event, offset)?;
                    frames.frame_end.push(row, open);
                }
                ITEM => {
                    let row = frames.within(event, offset)?;
                    frames.items.push(row, open);
                }
                PLATFORM => {
                    let row = frames.within(event, offset)?;
                    frames.platforms.push(row, open);
                }
                WIND => {
                    let row = frames.within(event, offset)?;
                    frames.wind.push(row, open);
                }
                TRANSFORMATION => {
                    let row = frames.within(event, offset)?;
                    frames.transformations.push(row, open);
                }
                GAME_END => return Ok((Some(GameEnd::read(&event[1..])), next)),
                GAME_START | PAYLOADS => {
                    return Err(ReplayError::new(offset, "a second beginning inside of the game"));
                }
                _ => {}
            }
            offset = next;
        }
        Ok((None, offset))
    }
}

/// What follows the events: other keys of the file's object, of which `metadata` is wanted.
fn metadata(bytes: &[u8], offset: usize) -> Result<Option<Value>, ReplayError> {
    if offset >= bytes.len() {
        return Err(ReplayError::new(bytes.len(), "the file ends before its closing brace"));
    }
    let mut cursor = Cursor::new(bytes, offset);
    let mut metadata = None;
    while cursor.peek() != Some(b'}') {
        let key = cursor.text()?;
        let value = cursor.value()?;
        if key == "metadata" {
            metadata = Some(value);
        }
    }
    Ok(metadata)
}
