//! What a run reports <-> lines of JSON in its file of metrics.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// One line of metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `training`, or `held_out` for the average on held-out frames.
    pub kind: String,
    /// Steps that were taken.
    pub step: u64,
    /// Passes over the data that are complete.
    pub pass: u64,
    /// The loss without penalties; of held-out frames the negative log likelihood.
    pub loss: f64,
    /// The penalties.
    pub penalty: f64,
    /// The learning rate; 0 of held-out frames.
    pub rate: f64,
    /// The loss of each component.
    pub components: Vec<f64>,
    /// Seconds since the run began or was resumed.
    pub seconds: f64,
}

/// The open file.
#[derive(Debug)]
pub(crate) struct Metrics {
    path: PathBuf,
    file: File,
}

/// The file of metrics in a run's directory.
#[must_use]
pub fn metrics_path(directory: &Path) -> PathBuf {
    directory.join("metrics.jsonl")
}

/// Reads a file of metrics. A last line that was cut off is left out.
///
/// # Errors
/// A file that cannot be read, or a line that is none of metrics.
pub fn read_metrics(directory: &Path) -> Result<Vec<Row>, Error> {
    let path = metrics_path(directory);
    let text = std::fs::read_to_string(&path).map_err(|e| Error::unreadable(&path, &e))?;
    let mut rows = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if !line.ends_with('\n') {
            break;
        }
        rows.push(
            serde_json::from_str(line).map_err(|e| {
                Error::data(format!("`{}`, line {}: {e}", path.display(), number + 1))
            })?,
        );
    }
    Ok(rows)
}

impl Metrics {
    /// Opens the file of a run that took `step` steps; lines of later steps, which a killed run
    /// wrote behind its last state, are removed.
    pub(crate) fn open(directory: &Path, step: u64) -> Result<Self, Error> {
        let path = metrics_path(directory);
        let mut rows = if path.exists() { read_metrics(directory)? } else { Vec::new() };
        rows.retain(|row| row.step <= step);
        let unwritable = |e: std::io::Error| Error::unwritable(&path, &e);
        std::fs::write(&path, "").map_err(unwritable)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(unwritable)?;
        let mut metrics = Self { path, file };
        rows.iter().try_for_each(|row| metrics.write(row))?;
        Ok(metrics)
    }

    pub(crate) fn write(&mut self, row: &Row) -> Result<(), Error> {
        let line = serde_json::to_string(row)
            .map_err(|e| Error::internal(format!("a line of metrics: {e}")))?;
        let written = self.file.write_all((line + "\n").as_bytes());
        written.map_err(|e| Error::unwritable(&self.path, &e))
    }
}
