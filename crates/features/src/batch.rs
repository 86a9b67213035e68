//! Replays, a seed and a size -> batches of windows, without anything stored between.
//!
//! An epoch takes the files in a seeded order, holds a number of them open at a time, and draws all
//! windows of these in a seeded order. Each file is read once an epoch; a window lies within one
//! file and behind the countdown; its features are made when its batch is.

use std::ops::Range;

use exmc_fault::{Fault, planted};
use replay::{Game, PORTS, Reader, ReplayError};

use crate::action::{COMPONENTS, Discretiser};
use crate::hash::{mix, stable_hash};
use crate::permutation::Permutation;
use crate::quantity::View;
use crate::schema::Schema;
use crate::state::{Controller, FrameState};

/// Whose inputs are learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Players {
    /// Of every player.
    All,
    /// Of the player at a port, from 0.
    Port(usize),
    /// Of players with this character, by its external number.
    Character(u8),
}

/// How batches are made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BatchSettings {
    /// Windows a batch (32).
    pub batch: usize,
    /// Frames a window (32).
    pub window: usize,
    /// Frames from the observed frame to the one whose inputs are the target; at least 1 (1), as
    /// the observed frame already shows its own inputs.
    pub delay: usize,
    /// Whose inputs (all players').
    pub players: Players,
    /// Files that are open at a time (64): windows are mixed among them. A file takes about 300
    /// bytes a frame.
    pub open_files: usize,
    /// Seed of all orders (0).
    pub seed: u64,
    /// Classes of axes and the trigger.
    pub discretiser: Discretiser,
    /// Share of each file's frames behind the countdown that windows and their targets lie in (0 to
    /// 1, all of them), so that the end of a file can be held out.
    pub frames: Range<f64>,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self {
            batch: 32,
            window: 32,
            delay: 1,
            players: Players::All,
            open_files: 64,
            seed: 0,
            discretiser: Discretiser::default(),
            frames: 0.0..1.0,
        }
    }
}

/// Where a window lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The file, by its place in the names.
    pub file: usize,
    /// Who looks.
    pub view: View,
    /// The row of the first observed frame.
    pub start: usize,
}

/// Windows with their features and targets.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Where each window lies.
    pub windows: Vec<Window>,
    /// Features, by window, frame and column.
    pub features: Vec<f32>,
    /// Classes, by window, frame and component.
    pub targets: Vec<u8>,
}

/// Why there are no batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataError(String);

impl std::fmt::Display for DataError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DataError {}

/// One pass over files.
pub struct Epoch<'a, R> {
    names: &'a [String],
    schema: &'a Schema,
    settings: BatchSettings,
    number: u64,
    read: R,
    order: Permutation,
    /// Files before this place of the order were opened.
    opened: usize,
    reader: Reader,
    open: Vec<(usize, Game)>,
    windows: Vec<Window>,
    drawn: usize,
    window_order: Permutation,
    refused: Vec<(usize, String)>,
    /// The frames of a window.
    states: Vec<FrameState>,
}

impl<'a, R> Epoch<'a, R>
where
    R: FnMut(&str) -> Result<Vec<u8>, String>,
{
    /// Pass number `number` over the files of these names; `read` returns a file's bytes.
    ///
    /// # Errors
    /// When there are no files, or a setting is outside of its range.
    pub fn new(
        names: &'a [String],
        schema: &'a Schema,
        settings: BatchSettings,
        number: u64,
        read: R,
    ) -> Result<Self, DataError> {
        let wrong = [
            (names.is_empty(), "there are no files"),
            (settings.batch == 0, "`batch` is 0; a batch has at least one window"),
            (settings.window == 0, "`window` is 0; a window has at least one frame"),
            (settings.delay == 0, "`delay` is 0; the observed frame already shows its own inputs"),
            (settings.open_files == 0, "`open_files` is 0; at least one file must be open"),
            (
                !(0.0 <= settings.frames.start && settings.frames.end <= 1.0),
                "`frames` must lie from 0 to 1",
            ),
        ];
        if let Some((_, message)) = wrong.iter().find(|(is_wrong, _)| *is_wrong) {
            return Err(DataError((*message).to_owned()));
        }
        let seed = mix(settings.seed).wrapping_add(number);
        let states = vec![FrameState::default(); settings.window];
        Ok(Self {
            names,
            schema,
            settings,
            number,
            read,
            order: Permutation::new(names.len(), seed),
            opened: 0,
            reader: Reader::default(),
            open: Vec::new(),
            windows: Vec::new(),
            drawn: 0,
            window_order: Permutation::new(1, 0),
            refused: Vec::new(),
            states,
        })
    }

    /// Files that could not be read at all, by their places in the names, and why; of damaged files
    /// the frames before the damage are used.
    #[must_use]
    pub fn refused(&self) -> &[(usize, String)] {
        &self.refused
    }

    /// Makes the next batch; false when the pass is over. The last batch may be smaller.
    ///
    /// # Errors
    /// When no file had a window at all: the reasons of the first that were refused.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, DataError> {
        batch.windows.clear();
        while batch.windows.len() < self.settings.batch {
            if self.drawn == self.windows.len() && !self.open_files() {
                break;
            }
            if self.drawn < self.windows.len() {
                batch.windows.push(self.windows[self.window_order.number_at(self.drawn)]);
                self.drawn += 1;
                self.fill(batch);
            }
        }
        let frames = batch.windows.len() * self.settings.window;
        batch.features.truncate(frames * self.schema.width());
        batch.targets.truncate(frames * COMPONENTS.len());
        if batch.windows.is_empty() && self.refused.len() == self.names.len() {
            let reasons: Vec<String> = self
                .refused
                .iter()
                .take(3)
                .map(|(file, why)| format!("{}: {why}", self.names[*file]))
                .collect();
            return Err(DataError(format!("no file could be read: {}", reasons.join("; "))));
        }
        Ok(!batch.windows.is_empty())
    }

    /// Opens the next files and lists their windows; false when there are none.
    fn open_files(&mut self) -> bool {
        if self.opened == self.names.len() {
            return false;
        }
        let mut old: Vec<Game> = self.open.drain(..).map(|(_, game)| game).collect();
        self.windows.clear();
        self.drawn = 0;
        let end = (self.opened + self.settings.open_files).min(self.names.len());
        for place in self.opened..end {
            let file = self.order.number_at(place);
            let bytes = (self.read)(&self.names[file]);
            let game = bytes.and_then(|bytes| {
                let game = self.reader.read_into(&bytes, old.pop());
                game.map_err(|error: ReplayError| error.to_string())
            });
            match game {
                Ok(game) => {
                    self.list_windows(file, &game);
                    self.open.push((file, game));
                }
                Err(why) => self.refused.push((file, why)),
            }
        }
        self.opened = end;
        self.open.sort_unstable_by_key(|(file, _)| *file);
        let seed = mix(self.settings.seed ^ mix(self.number)).wrapping_add(end as u64);
        self.window_order = Permutation::new(self.windows.len(), seed);
        true
    }

    fn list_windows(&mut self, file: usize, game: &Game) {
        let BatchSettings { window, delay, .. } = self.settings;
        // Inputs count from frame 0 on, behind the countdown.
        let begin = usize::try_from(-i64::from(game.first_frame)).unwrap_or(0);
        let played = game.len().saturating_sub(begin) as f64;
        let first = begin + (self.settings.frames.start * played).round() as usize;
        let end = (begin + (self.settings.frames.end * played).round() as usize).min(game.len());
        // Another phase in each pass, so that windows do not always begin at the same frames.
        let phase = mix(stable_hash(&self.names[file]) ^ mix(self.settings.seed ^ self.number));
        let needed = if planted(Fault::WindowAcrossFiles) { 1 } else { window + delay };
        for view in views(game, self.settings.players) {
            let mut start = first + (phase % window as u64) as usize;
            while start + needed <= end {
                self.windows.push(Window { file, view, start });
                start += window;
            }
        }
    }

    /// Appends features and targets of the batch's last window.
    fn fill(&mut self, batch: &mut Batch) {
        let Some(&Window { file, view, start }) = batch.windows.last() else { return };
        let count = batch.windows.len();
        let BatchSettings { window, delay, discretiser, .. } = self.settings;
        let width = self.schema.width();
        let (features, targets) = (window * width, window * COMPONENTS.len());
        // A batch of the same size as the one before has its memory already.
        batch.features.resize(batch.features.len().max(count * features), 0.0);
        batch.targets.resize(batch.targets.len().max(count * targets), 0);
        let features = &mut batch.features[(count - 1) * features..count * features];
        let targets = &mut batch.targets[(count - 1) * targets..count * targets];
        let Ok(place) = self.open.binary_search_by_key(&file, |(file, _)| *file) else { return };
        let delay = if planted(Fault::TargetOfSameFrame) { 0 } else { delay };
        for (k, targets) in targets.chunks_exact_mut(COMPONENTS.len()).enumerate() {
            let (mut game, mut row) = (&self.open[place].1, start + k);
            if planted(Fault::WindowAcrossFiles) && row + delay >= game.len() {
                row -= game.len() - delay;
                game = &self.open[(place + 1) % self.open.len()].1;
            }
            self.states[k].read(game, row);
            let port = game.ports.get(view.own_port).and_then(Option::as_ref);
            let controller = port.map(|p| Controller::of(&p.leader, row + delay));
            let action = discretiser.action(&controller.unwrap_or_default());
            targets.copy_from_slice(&action.0);
        }
        let computed = self.schema.compute(&self.states, view, features);
        debug_assert!(computed.is_ok(), "a window has as many places as frames and features");
    }
}

/// Who may look at a game: each player that is wanted, with the first other player as the opponent.
pub fn views(game: &Game, players: Players) -> impl Iterator<Item = View> + '_ {
    let is_taken = |port: &usize| game.ports[*port].is_some();
    (0..PORTS).filter(is_taken).filter_map(move |own_port| {
        let is_wanted = match players {
            Players::All => true,
            Players::Port(port) => port == own_port,
            Players::Character(character) => {
                game.start.players[own_port].as_ref().is_some_and(|p| p.character == character)
            }
        };
        let opponent = (0..PORTS).filter(is_taken).find(|port| *port != own_port)?;
        is_wanted.then_some(View { own_port, opponent, name: 0 })
    })
}
