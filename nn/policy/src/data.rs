//! Paths -> replays by name; replays -> batches as tensors on a device, without a cache.
//!
//! A batch is laid out frame by frame, then window by window: row `frame * windows + window`. So
//! the rows of one frame lie together, which is what recurrent networks read.

use std::path::{Path, PathBuf};

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use features::{Batch, BatchSettings, COMPONENTS, Epoch, Part, Players, Schema, part_of};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Settings of the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DataConfig {
    /// Replays, archives of replays, and folders of these.
    pub paths: Vec<PathBuf>,
    /// Whose inputs are learned: `all`, `port N` (1 to 4) or `character N`.
    pub players: String,
    /// Windows a batch (32).
    pub batch: usize,
    /// Frames a window (32).
    pub window: usize,
    /// Files that are open at a time (64).
    pub open_files: usize,
    /// Share of files that are held out, by the hash of their names (0).
    pub held_out_files: f64,
    /// Share of each remaining file's frames, at its end, that are held out (0).
    pub held_out_frames: f64,
    /// Seed of the orders of files and windows (0).
    pub seed: u64,
}

impl Default for DataConfig {
    fn default() -> Self {
        let settings = BatchSettings::default();
        Self {
            paths: Vec::new(),
            players: "all".to_owned(),
            batch: settings.batch,
            window: settings.window,
            open_files: settings.open_files,
            held_out_files: 0.0,
            held_out_frames: 0.0,
            seed: settings.seed,
        }
    }
}

/// Whose inputs a text asks for.
///
/// # Errors
/// A text that is none of the three.
pub fn parse_players(text: &str) -> Result<Players, Error> {
    let wrong = || {
        let expected = "expected `all`, `port 1` to `port 4`, or `character N`";
        Error::usage(format!("`data.players` is `{text}`; {expected}"))
    };
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        ["all"] => Ok(Players::All),
        ["port", number] => match number.parse() {
            Ok(port @ 1..=replay::PORTS) => Ok(Players::Port(port - 1)),
            _ => Err(wrong()),
        },
        ["character", number] => number.parse().map(Players::Character).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// Which frames a pass takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// Those that are trained on.
    Training,
    /// Those that are held out.
    HeldOut,
    /// All of all files.
    All,
}

/// Replays by name: a file's path, or an archive's path and behind a colon the entry.
#[derive(Clone, Debug)]
pub struct Replays {
    names: Vec<String>,
}

impl Replays {
    /// Finds the replays of paths; folders are searched to the bottom, in the order of names.
    ///
    /// # Errors
    /// A path that is not there, an archive that cannot be opened, or no replay at all.
    pub fn find(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut names = Vec::new();
        for path in paths {
            find(path, true, &mut names)?;
        }
        if names.is_empty() {
            let listed: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
            return Err(Error::usage(format!("there are no replays in: {}", listed.join(", ")))
                .hint("give files that end in .slp, archives (.zip, .gz) or folders of these"));
        }
        Ok(Self { names })
    }

    /// The names in their order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The replays of one part of the data.
    #[must_use]
    pub fn part(&self, config: &DataConfig, frames: Frames) -> Vec<String> {
        let is_held_out = |name: &String| part_of(name, config.held_out_files) == Part::Validation;
        let names = self.names.iter().filter(|name| match frames {
            Frames::All => true,
            Frames::Training => !is_held_out(name),
            // Files that are trained on have held-out frames at their ends.
            Frames::HeldOut if config.held_out_frames > 0.0 => true,
            Frames::HeldOut => is_held_out(name),
        });
        names.cloned().collect()
    }
}

/// How names of archives end that are looked for in folders.
#[cfg(feature = "seven-zip")]
const ARCHIVES: [&str; 3] = [".zip", ".slp.gz", ".7z"];
#[cfg(not(feature = "seven-zip"))]
const ARCHIVES: [&str; 2] = [".zip", ".slp.gz"];

fn find(path: &Path, is_given: bool, names: &mut Vec<String>) -> Result<(), Error> {
    let kind = std::fs::metadata(path).map_err(|e| Error::unreadable(path, &e))?;
    let name = path.to_string_lossy().into_owned();
    let lower = name.to_ascii_lowercase();
    if kind.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|e| Error::unreadable(path, &e))?;
        let entries = entries.map(|entry| entry.map(|entry| entry.path()));
        let mut entries: Vec<PathBuf> =
            entries.collect::<Result<_, _>>().map_err(|e| Error::unreadable(path, &e))?;
        entries.sort();
        entries.iter().try_for_each(|entry| find(entry, false, names))
    } else if lower.ends_with(".slp") {
        names.push(name);
        Ok(())
    } else if is_given || ARCHIVES.iter().any(|end| lower.ends_with(end)) {
        let bytes = std::fs::read(path).map_err(|e| Error::unreadable(path, &e))?;
        each(&name, &bytes, &mut |inner, _| names.push(inner.to_owned())).map_err(Error::data)
    } else {
        Ok(())
    }
}

/// Calls `visit` with the name and the bytes of each replay in a file.
#[cfg(feature = "archive")]
fn each(name: &str, bytes: &[u8], visit: &mut dyn FnMut(&str, &[u8])) -> Result<(), String> {
    replay::archive::each(name, bytes, visit).map_err(|e| e.to_string())
}

/// The same of a build that reads replays only.
#[cfg(not(feature = "archive"))]
fn each(name: &str, bytes: &[u8], visit: &mut dyn FnMut(&str, &[u8])) -> Result<(), String> {
    if !bytes.starts_with(b"{U") {
        return Err(format!(
            "`{name}` is no replay; this build opens no archives (build it with `--features archive`)"
        ));
    }
    visit(name, bytes);
    Ok(())
}

/// The bytes of a replay by its name.
///
/// # Errors
/// When the file or the archive cannot be read, in a sentence.
pub fn read_replay(name: &str) -> Result<Vec<u8>, String> {
    if Path::new(name).exists() {
        return std::fs::read(name).map_err(|e| e.to_string());
    }
    // The archive's name ends where a colon or the lost ending `.gz` begins.
    let ends = name.match_indices(':').map(|(end, _)| name[..end].to_owned());
    let archive = ends.chain([format!("{name}.gz")]).find(|path| Path::new(path).is_file());
    let archive = archive.ok_or("the file is not there")?;
    let bytes = std::fs::read(&archive).map_err(|e| e.to_string())?;
    let mut found = None;
    each(&archive, &bytes, &mut |inner, bytes| {
        if inner == name {
            found = Some(bytes.to_vec());
        }
    })?;
    found.ok_or_else(|| "the archive has no such entry any more".to_owned())
}

/// What a replay's name gives.
pub type ReadReplay = fn(&str) -> Result<Vec<u8>, String>;

/// One pass over replays; [`next_batch`](Epoch::next_batch) gives its batches.
///
/// # Errors
/// A setting out of range.
pub fn pass<'a>(
    names: &'a [String],
    schema: &'a Schema,
    mut settings: BatchSettings,
    config: &DataConfig,
    frames: Frames,
    number: u64,
) -> Result<Epoch<'a, ReadReplay>, Error> {
    let edge = 1.0 - config.held_out_frames;
    settings.frames = match frames {
        Frames::Training => 0.0..edge,
        Frames::HeldOut if config.held_out_frames > 0.0 => edge..1.0,
        Frames::HeldOut | Frames::All => 0.0..1.0,
    };
    Ok(Epoch::new(names, schema, settings, number, read_replay as ReadReplay)?)
}

/// A batch on a device.
#[derive(Clone, Debug)]
pub struct Tensors {
    /// Plain features, `[frames * windows, plain columns]`.
    pub plain: Tensor<2>,
    /// Rows of tables for each column that holds them, `[frames * windows]`.
    pub tables: Vec<Tensor<1, Int>>,
    /// True classes of each component, `[frames * windows, 1]`.
    pub targets: Vec<Tensor<2, Int>>,
    /// Weights of frames, `[frames * windows]`.
    pub weights: Option<Tensor<1>>,
    /// Windows.
    pub windows: usize,
    /// Frames a window.
    pub frames: usize,
}

impl Tensors {
    /// A batch of windows of `frames` frames; `weights` are by window and frame.
    #[must_use]
    pub fn new(
        batch: &Batch,
        schema: &Schema,
        frames: usize,
        weights: Option<&[f32]>,
        device: &Device,
        dtype: DType,
    ) -> Self {
        let windows = batch.windows.len();
        let rows = windows * frames;
        let width = schema.width();
        let tables: Vec<(usize, usize)> = schema.tables().collect();
        let is_table: Vec<bool> = (0..width)
            .map(|column| tables.iter().any(|(table_column, _)| *table_column == column))
            .collect();
        let mut plain = Vec::with_capacity(rows * (width - tables.len()));
        let mut numbers = vec![Vec::with_capacity(rows); tables.len()];
        let mut targets = vec![Vec::with_capacity(rows); COMPONENTS.len()];
        let mut ordered = Vec::with_capacity(rows);
        for frame in 0..frames {
            for window in 0..windows {
                let source_row = window * frames + frame;
                let row = &batch.features[source_row * width..(source_row + 1) * width];
                plain.extend(row.iter().zip(&is_table).filter(|(_, t)| !**t).map(|(x, _)| *x));
                for (numbers, (column, size)) in numbers.iter_mut().zip(&tables) {
                    numbers.push((row[*column] as i32).clamp(0, *size as i32 - 1));
                }
                let row = &batch.targets[source_row * COMPONENTS.len()..];
                for (targets, class) in targets.iter_mut().zip(row) {
                    targets.push(i32::from(*class));
                }
                ordered.extend(weights.map(|weights| weights[source_row]));
            }
        }
        let column = |values: Vec<i32>| {
            Tensor::<2, Int>::from_data(TensorData::new(values, [rows, 1]), device)
        };
        let number =
            |values: Vec<i32>| Tensor::<1, Int>::from_data(TensorData::new(values, [rows]), device);
        Self {
            plain: Tensor::from_data(
                TensorData::new(plain, [rows, width - tables.len()]),
                (device, dtype),
            ),
            tables: numbers.into_iter().map(number).collect(),
            targets: targets.into_iter().map(column).collect(),
            weights: weights
                .map(|_| Tensor::from_data(TensorData::new(ordered, [rows]), (device, dtype))),
            windows,
            frames,
        }
    }
}
