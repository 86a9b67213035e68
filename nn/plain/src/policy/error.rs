//! What is wrong with a policy's file -> the place or the field, and a sentence.

use std::fmt;

/// Why a checkpoint cannot be read, or does not fit where it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The bytes are no checkpoint, or were cut off or changed.
    Damaged {
        /// The byte of the file at which it shows.
        byte: u64,
        /// What is wrong there.
        message: String,
    },
    /// A field of the contract, or a tensor, is not what it must be.
    Mismatch {
        /// The field by its path, such as `architecture.backbone.hidden`, or ``tensor `NAME` ``.
        field: String,
        /// What it is.
        found: String,
        /// What it must be.
        expected: String,
    },
}

impl CheckpointError {
    pub(crate) fn damaged(byte: usize, message: impl Into<String>) -> Self {
        Self::Damaged { byte: byte as u64, message: message.into() }
    }

    pub(crate) fn mismatch(
        field: impl Into<String>,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) -> Self {
        Self::Mismatch {
            field: field.into(),
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// The field that does not fit, if that is what is wrong.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Mismatch { field, .. } => Some(field),
            Self::Damaged { .. } => None,
        }
    }
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { byte, message } => {
                write!(f, "the checkpoint is damaged at byte {byte}: {message}")
            }
            Self::Mismatch { field, found, expected } => {
                let field = if field.contains('`') { field.clone() } else { format!("`{field}`") };
                write!(f, "the checkpoint's {field} is {found}; expected {expected}")
            }
        }
    }
}

impl std::error::Error for CheckpointError {}
