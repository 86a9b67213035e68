//! What is wrong with a replay: a place in the file and a sentence.

use std::fmt;

/// A place in a file and what is wrong there.
///
/// [`Game::read`](crate::Game::read) returns one when nothing can be read; a file whose frames end
/// early keeps one in [`Game::damage`](crate::Game::damage) beside the frames before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// Bytes from the beginning of the file.
    pub offset: usize,
    message: String,
}

impl ReplayError {
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }

    /// The sentence, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.message)
    }
}

impl std::error::Error for ReplayError {}
