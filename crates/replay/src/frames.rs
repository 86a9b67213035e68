//! Events in the order of the file -> columns in the order of frames, each frame as it was played
//! last.

use std::ops::Range;

use exmc_fault::{Fault, planted};

use crate::columns::{
    BLOCK_ROWS, Block, Columns, FrameEnd, FrameStart, Item, Platform, Post, Pre, Stored,
    Transformation, Wind,
};
use crate::error::ReplayError;
use crate::events::{
    FRAME_END, FRAME_START, ITEM, PLATFORM, POST, PRE, Sizes, TRANSFORMATION, WIND,
};
use crate::game::{Character, FIRST_FRAME, Game, HAS_POST, HAS_PRE, PerFrame, Port};
use crate::start::{GameStart, PORTS};

/// Columns and the rows that are still to be moved there.
#[derive(Default)]
pub(crate) struct Track<C: Stored> {
    block: C::Block,
    /// The row of the block's first.
    start: usize,
    columns: C,
    payload: usize,
}

impl<C: Stored> Track<C> {
    /// Begins with the memory of `old`; what is in it must be written over or cleared.
    fn begin(&mut self, mut old: C, payload: usize, rows: usize) {
        old.prepare(rows, payload);
        self.columns = old;
        self.payload = payload;
        self.block.clear();
        self.start = 0;
    }

    /// Takes the event at the beginning of `bytes` as a row; true if rows were moved before that.
    #[inline(always)]
    pub(crate) fn push(&mut self, row: usize, bytes: &[u8]) -> Option<Range<usize>> {
        let held = self.block.rows();
        let is_next = held != BLOCK_ROWS && self.start + held == row;
        let moved = if is_next { None } else { Some(self.restart_at(row)) };
        self.block.push(bytes);
        moved
    }

    #[inline(never)]
    fn restart_at(&mut self, row: usize) -> Range<usize> {
        let moved = self.flush();
        self.start = row;
        moved
    }

    fn flush(&mut self) -> Range<usize> {
        let moved = self.start..self.start + self.block.rows();
        if !moved.is_empty() {
            self.block.flush(self.start, self.payload, &mut self.columns);
        }
        self.start = moved.end;
        moved
    }
}

/// Items and the like: rows in the order of the file, and which of them belong to each frame.
#[derive(Default)]
pub(crate) struct List<C: Stored> {
    track: Track<C>,
    rows: usize,
    ranges: Vec<Range<usize>>,
}

impl<C: Stored> List<C> {
    fn begin(&mut self, old: PerFrame<C>, payload: usize) {
        let mut rows = old.rows;
        rows.clear();
        self.track.begin(rows, payload, 0);
        self.rows = 0;
        self.ranges.clear();
    }

    pub(crate) fn push(&mut self, row: usize, bytes: &[u8]) {
        self.track.push(self.rows, bytes);
        if self.ranges.len() <= row {
            self.ranges.resize(row + 1, self.rows..self.rows);
        }
        self.rows += 1;
        self.ranges[row].end = self.rows;
    }

    /// Forgets what a frame had, as it is played again.
    fn restart(&mut self, row: usize) {
        if let Some(range) = self.ranges.get_mut(row) {
            *range = self.rows..self.rows;
        }
    }

    fn finish(&mut self, frames: usize, in_order: bool) -> PerFrame<C> {
        self.track.flush();
        let mut rows = std::mem::take(&mut self.track.columns);
        rows.resize(self.rows, self.track.payload);
        if self.rows == 0 {
            return PerFrame { rows, offsets: vec![0; frames + 1] };
        }
        self.ranges.resize(frames, self.rows..self.rows);
        let mut offsets = Vec::with_capacity(frames + 1);
        let mut total = 0;
        offsets.push(0);
        for range in &self.ranges {
            total += range.len() as u32;
            offsets.push(total);
        }
        let rows = if in_order { rows } else { rows.gather(&self.ranges) };
        PerFrame { rows, offsets }
    }
}

/// One character's columns.
#[derive(Default)]
pub(crate) struct Slot {
    pre: Track<Pre>,
    post: Track<Post>,
    present: Vec<u8>,
    in_use: bool,
}

impl Slot {
    fn begin(&mut self, old: Character, sizes: [usize; 2], rows: usize) {
        self.pre.begin(old.pre, sizes[0], rows);
        self.post.begin(old.post, sizes[1], rows);
        self.present = old.present;
        self.present.clear();
        self.in_use = true;
    }

    #[inline(always)]
    pub(crate) fn push_pre(&mut self, row: usize, bytes: &[u8]) {
        if planted(Fault::RollbackKeepsFirst) && self.present.get(row).is_some_and(|b| *b != 0) {
            return;
        }
        if let Some(moved) = self.pre.push(row, bytes) {
            self.mark(moved, HAS_PRE);
        }
    }

    #[inline(always)]
    pub(crate) fn push_post(&mut self, row: usize, bytes: &[u8]) {
        if planted(Fault::RollbackKeepsFirst) && self.present.get(row).is_some_and(|b| *b == 3) {
            return;
        }
        if let Some(moved) = self.post.push(row, bytes) {
            self.mark(moved, HAS_POST);
        }
    }

    #[inline(never)]
    fn mark(&mut self, rows: Range<usize>, bit: u8) {
        if self.present.len() < rows.end {
            self.present.resize(rows.end, 0);
        }
        self.present[rows].iter_mut().for_each(|bits| *bits |= bit);
    }

    fn flush(&mut self) {
        let moved = self.pre.flush();
        self.mark(moved, HAS_PRE);
        let moved = self.post.flush();
        self.mark(moved, HAS_POST);
    }

    fn finish(&mut self, frames: usize) -> Character {
        self.flush();
        let (pre, post) = (self.pre.payload, self.post.payload);
        let mut character = Character {
            pre: std::mem::take(&mut self.pre.columns),
            post: std::mem::take(&mut self.post.columns),
            present: std::mem::take(&mut self.present),
        };
        character.resize(frames, pre, post);
        // A frame without the character, or one that a rollback took it out of.
        if character.present.iter().any(|bits| *bits != HAS_PRE | HAS_POST) {
            for row in (0..frames).filter(|row| !character.is_present(*row)).collect::<Vec<_>>() {
                character.present[row] = 0;
                character.pre.clear_row(row);
                character.post.clear_row(row);
            }
        }
        self.in_use = false;
        character
    }
}

/// Where in a game the file is, and everything that was read of it.
#[derive(Default)]
pub(crate) struct Frames {
    game: Option<Game>,
    /// Whether there is a frame, and the number of that of row 0.
    is_begun: bool,
    first: i32,
    /// Number and row of the present frame.
    id: i32,
    row: usize,
    rows: usize,
    is_open: bool,
    /// Whether frames begin with an event of their own (since 2.2).
    has_starts: bool,
    rollbacks: usize,
    sizes: [usize; 2],
    slots: [Box<Slot>; 2 * PORTS],
    pub(crate) frame_start: Track<FrameStart>,
    pub(crate) frame_end: Track<FrameEnd>,
    pub(crate) items: List<Item>,
    pub(crate) platforms: List<Platform>,
    pub(crate) wind: List<Wind>,
    pub(crate) transformations: List<Transformation>,
}

/// The frame's number in an event that has one.
fn frame_number(event: &[u8]) -> i32 {
    event.get(1..5).map_or(0, |b| i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

impl Frames {
    pub(crate) fn begin(
        &mut self,
        start: GameStart,
        old: Option<Game>,
        sizes: &Sizes,
        bytes: usize,
    ) {
        let size = |code| sizes.of(code).unwrap_or(0);
        self.sizes = [size(PRE), size(POST)];
        self.has_starts = sizes.of(FRAME_START).is_some();
        (self.is_begun, self.first, self.id, self.row, self.rows) = (false, FIRST_FRAME, 0, 0, 0);
        (self.is_open, self.rollbacks) = (false, 0);
        // No frame has fewer bytes, so the columns will hardly grow again.
        let players = start.players.iter().flatten().count().max(1);
        let frame =
            size(FRAME_START) + size(FRAME_END) + 2 + players * (size(PRE) + size(POST) + 2);
        let expected = bytes / frame;

        let players: [bool; PORTS] = std::array::from_fn(|port| start.players[port].is_some());
        let mut old = old.unwrap_or_else(|| Game::empty(start.clone()));
        for (port, has_player) in players.into_iter().enumerate() {
            let old = old.ports[port].take().unwrap_or_default();
            let leader = &mut self.slots[2 * port];
            leader.begin(old.leader, self.sizes, if has_player { expected } else { 0 });
            leader.in_use = has_player;
            let follower = &mut self.slots[2 * port + 1];
            follower.begin(old.follower.unwrap_or_default(), self.sizes, 0);
            follower.in_use = false;
        }
        // A frame may lack these events, so its values must be 0 from the beginning.
        old.frame_start.clear();
        old.frame_end.clear();
        self.frame_start.begin(std::mem::take(&mut old.frame_start), size(FRAME_START), expected);
        self.frame_end.begin(std::mem::take(&mut old.frame_end), size(FRAME_END), expected);
        self.items.begin(std::mem::take(&mut old.items), size(ITEM));
        self.platforms.begin(std::mem::take(&mut old.platforms), size(PLATFORM));
        self.wind.begin(std::mem::take(&mut old.wind), size(WIND));
        self.transformations.begin(std::mem::take(&mut old.transformations), size(TRANSFORMATION));
        self.game = Some(Game::empty(start));
    }

    /// Begins a frame, or begins it again; its row.
    pub(crate) fn open(&mut self, event: &[u8], offset: usize) -> Result<usize, ReplayError> {
        let id = frame_number(event);
        if !self.is_begun {
            (self.is_begun, self.first) = (true, id);
        }
        let row = i64::from(id) - i64::from(self.first);
        if row < 0 || row > self.rows as i64 {
            let message = format!("frame {id} does not follow frame {}", self.id);
            return Err(ReplayError::new(offset, message));
        }
        (self.id, self.row, self.is_open) = (id, row as usize, true);
        if self.row == self.rows {
            self.rows += 1;
        } else {
            self.restart();
        }
        Ok(self.row)
    }

    /// The present frame is played again: nothing of what it was must remain.
    #[cold]
    fn restart(&mut self) {
        self.rollbacks += 1;
        for slot in self.slots.iter_mut().filter(|slot| slot.in_use) {
            slot.flush();
            if planted(Fault::RollbackKeepsFirst) {
                continue;
            }
            if let Some(bits) = slot.present.get_mut(self.row) {
                *bits = 0;
            }
        }
        self.items.restart(self.row);
        self.platforms.restart(self.row);
        self.wind.restart(self.row);
        self.transformations.restart(self.row);
    }

    /// The row of an event that belongs to the present frame.
    #[inline]
    pub(crate) fn within(&self, event: &[u8], offset: usize) -> Result<usize, ReplayError> {
        let id = frame_number(event);
        if id == self.id && self.is_begun { Ok(self.row) } else { Err(self.astray(id, offset)) }
    }

    #[cold]
    fn astray(&self, id: i32, offset: usize) -> ReplayError {
        let message = if self.is_begun {
            format!("an event of frame {id} inside of frame {}", self.id)
        } else {
            format!("an event of frame {id} before any frame began")
        };
        ReplayError::new(offset, message)
    }

    /// The character and the row of a pre-frame or post-frame event.
    #[inline(always)]
    pub(crate) fn character(
        &mut self,
        event: &[u8],
        offset: usize,
    ) -> Result<(usize, &mut Slot), ReplayError> {
        let header = event.first_chunk::<7>().copied().unwrap_or_default();
        let id = i32::from_be_bytes([header[1], header[2], header[3], header[4]]);
        if id != self.id || !self.is_begun {
            self.begin_silently(id, event, offset)?;
        }
        let is_follower = header[6] != 0 && !planted(Fault::FollowerIsLeader);
        let place = 2 * usize::from(header[5]) + usize::from(is_follower);
        let slot = self.slots.get_mut(place);
        let slot = slot.ok_or_else(|| ReplayError::new(offset, "a port behind the fourth"))?;
        slot.in_use = true;
        Ok((self.row, slot))
    }

    /// Before 2.2 a frame begins with its first event, and none is played again.
    #[cold]
    #[inline(never)]
    fn begin_silently(&mut self, id: i32, event: &[u8], offset: usize) -> Result<(), ReplayError> {
        if !self.has_starts && (!self.is_begun || Some(id) == self.id.checked_add(1)) {
            self.open(event, offset).map(drop)
        } else {
            Err(self.astray(id, offset))
        }
    }

    /// Ends a frame; its row.
    pub(crate) fn close(&mut self, event: &[u8], offset: usize) -> Result<usize, ReplayError> {
        let row = self.within(event, offset)?;
        self.is_open = false;
        Ok(row)
    }

    /// The game, without the frame that a damaged place cut off.
    pub(crate) fn finish(&mut self, is_damaged: bool) -> Option<Game> {
        let frames = if is_damaged && self.is_open { self.row } else { self.rows };
        let mut game = self.game.take()?;
        game.first_frame = self.first;
        game.frames = frames;
        game.rollbacks = self.rollbacks;
        for port in 0..PORTS {
            let mut finish = |place: usize| {
                let slot = &mut self.slots[place];
                slot.in_use.then(|| slot.finish(frames))
            };
            let (leader, follower) = (finish(2 * port), finish(2 * port + 1));
            if leader.is_some() || follower.is_some() {
                let mut leader = leader.unwrap_or_default();
                leader.resize(frames, self.sizes[0], self.sizes[1]);
                game.ports[port] = Some(Port { leader, follower });
            }
        }
        self.frame_start.flush();
        self.frame_end.flush();
        game.frame_start = std::mem::take(&mut self.frame_start.columns);
        game.frame_end = std::mem::take(&mut self.frame_end.columns);
        game.frame_start.resize(frames, self.frame_start.payload);
        game.frame_end.resize(frames, self.frame_end.payload);
        let in_order = self.rollbacks == 0 && frames == self.rows;
        game.items = self.items.finish(frames, in_order);
        game.platforms = self.platforms.finish(frames, in_order);
        game.wind = self.wind.finish(frames, in_order);
        game.transformations = self.transformations.finish(frames, in_order);
        Some(game)
    }
}
