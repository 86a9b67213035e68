//! A run directory -> the texts that the run was made from.

use std::fs;
use std::io;
use std::path::Path;

use crate::directory::DATA_FILE;
use crate::error::RunError;

/// The text of a run's model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredModel {
    /// A model as data.
    Json(String),
    /// A Stan program.
    Stan(String),
}

/// The texts that a run was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredTexts {
    /// The model's, where the directory holds one.
    pub model: Option<StoredModel>,
    /// That of the data, where there were any.
    pub data: Option<String>,
}

/// Reads the texts that a run was made from.
///
/// # Errors
/// When a file that there is cannot be read, or is not UTF-8.
pub fn read_texts(directory: &Path) -> Result<StoredTexts, RunError> {
    let read = |name: &str| {
        let path = directory.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(RunError::malformed(&path, "it is not UTF-8"))
            }
            Err(error) => Err(RunError::read(&path, error)),
        }
    };
    let model = match read("model.json")? {
        Some(text) => Some(StoredModel::Json(text)),
        None => read("model.stan")?.map(StoredModel::Stan),
    };
    Ok(StoredTexts { model, data: read(DATA_FILE)? })
}
