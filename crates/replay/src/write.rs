//! A [`Game`] -> a file's bytes, with the events of its version in the order in which the game
//! sends them. Codes of modifications (the game's Gecko list) are no part of a [`Game`] and not
//! written.

use crate::columns::{
    Columns, Field, FrameEnd, FrameStart, Item, Platform, Post, Pre, Stored, Transformation, Wind,
};
use crate::events::{
    FRAME_END, FRAME_START, GAME_END, GAME_START, ITEM, PAYLOADS, PLATFORM, POST, PRE,
    TRANSFORMATION, WIND,
};
use crate::game::{Character, Game, PerFrame};
use crate::read::HEADER;
use crate::start::GameEnd;
use crate::ubjson::{write_key, write_value};
use crate::version::Version;

/// Why a game cannot be written: a sentence that names the column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteError(String);

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WriteError {}

/// Kinds of events of a version, in the order in which files declare them.
fn payloads(game: &Game, start: usize) -> Vec<(u8, usize)> {
    let version = game.start.version;
    let all = [
        (GAME_START, start, Version::new(0, 1, 0)),
        (PRE, Pre::payload(version), Version::new(0, 1, 0)),
        (POST, Post::payload(version), Version::new(0, 1, 0)),
        (GAME_END, GameEnd::payload(version), Version::new(0, 1, 0)),
        (FRAME_START, FrameStart::payload(version), Version::new(2, 2, 0)),
        (ITEM, Item::payload(version), Version::new(3, 0, 0)),
        (FRAME_END, FrameEnd::payload(version), Version::new(3, 0, 0)),
        (PLATFORM, Platform::payload(version), Version::new(3, 18, 0)),
        (WIND, Wind::payload(version), Version::new(3, 18, 0)),
        (TRANSFORMATION, Transformation::payload(version), Version::new(3, 18, 0)),
    ];
    let of_version = all.into_iter().filter(|(.., since)| *since <= version);
    of_version.map(|(code, size, _)| (code, size)).collect()
}

struct Writer<'a> {
    game: &'a Game,
    sizes: Vec<(u8, usize)>,
    out: Vec<u8>,
}

impl Game {
    /// The file of this game. A frame appears once, whatever rollbacks there were.
    ///
    /// # Errors
    /// When a column that the version has is not as long as the game, or a list's offsets are not
    /// in order.
    pub fn write(&self) -> Result<Vec<u8>, WriteError> {
        self.check()?;
        let start = self.start.to_bytes();
        let sizes = payloads(self, start.len());
        let mut writer = Writer { game: self, sizes, out: Vec::new() };
        writer.events(&start);
        let events = writer.out;
        let length = u32::try_from(events.len())
            .map_err(|_| WriteError("the game has more than 4 GiB of events".to_owned()))?;

        let mut file = Vec::with_capacity(events.len() + 1024);
        file.extend_from_slice(HEADER);
        file.extend_from_slice(&length.to_be_bytes());
        file.extend_from_slice(&events);
        if let Some(metadata) = &self.metadata {
            write_key("metadata", &mut file);
            write_value(metadata, &mut file);
        }
        file.push(b'}');
        Ok(file)
    }

    fn check(&self) -> Result<(), WriteError> {
        let version = self.start.version;
        for (number, port) in self.ports.iter().enumerate() {
            let characters = port.iter().flat_map(|p| [Some(&p.leader), p.follower.as_ref()]);
            for character in characters.flatten() {
                let what = format!("port {}", number + 1);
                check(&character.pre, self.len(), version, &what)?;
                check(&character.post, self.len(), version, &what)?;
                if character.present.len() != self.len() {
                    return Err(WriteError(format!("{what}: presence is not known of all frames")));
                }
            }
        }
        check(&self.frame_start, self.len(), version, "frame start")?;
        check(&self.frame_end, self.len(), version, "frame end")?;
        check_list(&self.items, self.len(), version, "items")?;
        check_list(&self.platforms, self.len(), version, "platforms")?;
        check_list(&self.wind, self.len(), version, "wind")?;
        check_list(&self.transformations, self.len(), version, "transformations")
    }
}

fn check<C: Columns>(
    columns: &C,
    rows: usize,
    version: Version,
    what: &str,
) -> Result<(), WriteError> {
    let payload = C::payload(version);
    for (field, column) in C::FIELDS.iter().zip(columns.columns()) {
        let Field { name, since, .. } = *field;
        if since <= version && column.len() != rows {
            return Err(WriteError(format!(
                "{what}: column `{name}` has {} rows, where version {version} needs {rows}",
                column.len()
            )));
        }
    }
    debug_assert!(C::FIELDS.iter().all(|f| (f.since <= version) == f.is_within(payload)));
    Ok(())
}

fn check_list<C: Columns>(
    list: &PerFrame<C>,
    frames: usize,
    version: Version,
    what: &str,
) -> Result<(), WriteError> {
    let in_order = list.offsets.windows(2).all(|w| w[0] <= w[1]);
    if list.offsets.len() != frames + 1 || !in_order {
        return Err(WriteError(format!("{what}: expected {} offsets in order", frames + 1)));
    }
    let rows = list.offsets.last().map_or(0, |n| *n as usize);
    check(&list.rows, rows, version, what)
}

impl Writer<'_> {
    fn size(&self, code: u8) -> Option<usize> {
        self.sizes.iter().find(|(c, _)| *c == code).map(|(_, size)| *size)
    }

    /// An event with a frame's number; nothing where the version has no such event.
    fn event(&mut self, code: u8, row: usize) -> Option<&mut [u8]> {
        let size = self.size(code)?;
        let begin = self.out.len();
        self.out.resize(begin + 1 + size, 0);
        let event = &mut self.out[begin..];
        event[0] = code;
        event[1..5].copy_from_slice(&self.game.frame_of(row).to_be_bytes());
        Some(event)
    }

    fn events(&mut self, start: &[u8]) {
        self.out.extend_from_slice(&[PAYLOADS, (3 * self.sizes.len() + 1) as u8]);
        for (code, size) in &self.sizes {
            self.out.push(*code);
            self.out.extend_from_slice(&(*size as u16).to_be_bytes());
        }
        self.out.push(GAME_START);
        self.out.extend_from_slice(start);
        let game = self.game;
        for row in 0..game.len() {
            if let Some(event) = self.event(FRAME_START, row) {
                game.frame_start.encode(row, event);
            }
            self.characters(PRE, row, |c, event| c.pre.encode(row, event));
            self.list(&game.platforms, PLATFORM, row);
            self.list(&game.wind, WIND, row);
            self.list(&game.transformations, TRANSFORMATION, row);
            self.list(&game.items, ITEM, row);
            self.characters(POST, row, |c, event| c.post.encode(row, event));
            if let Some(event) = self.event(FRAME_END, row) {
                game.frame_end.encode(row, event);
            }
        }
        if let Some(end) = game.end {
            self.out.push(GAME_END);
            self.out.extend_from_slice(&end.to_bytes(game.start.version));
        }
    }

    fn characters(&mut self, code: u8, row: usize, encode: impl Fn(&Character, &mut [u8])) {
        let game = self.game;
        for (number, port) in game.ports.iter().enumerate() {
            let Some(port) = port else { continue };
            for (follower, character) in [(0, Some(&port.leader)), (1, port.follower.as_ref())] {
                let Some(character) = character.filter(|c| c.is_present(row)) else { continue };
                if let Some(event) = self.event(code, row) {
                    event[5] = number as u8;
                    event[6] = follower;
                    encode(character, event);
                }
            }
        }
    }

    fn list<C: Stored>(&mut self, list: &PerFrame<C>, code: u8, row: usize) {
        for item in list.of(row) {
            if let Some(event) = self.event(code, row) {
                list.rows.encode(item, event);
            }
        }
    }
}
