//! A pool of frames: memory of instances that are gone -> memory of the next instances of the same
//! density or function.
//!
//! An instance of the native executor has machine code of its own, with the addresses of its
//! memory; making that takes as long as thousands of evaluations of a small model. What an instance
//! leaves there changes no result.

use std::sync::{Arc, Mutex};

use crate::compiled::Frame;

/// Frames that nobody uses, each with the number of threads that it was made for. Clones share
/// them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FramePool(Arc<Mutex<Vec<(usize, Frame)>>>);

impl FramePool {
    /// A frame for that many threads, made anew where none is left.
    pub(crate) fn take(&self, threads: usize, make: impl FnOnce() -> Frame) -> Frame {
        let mut frames = self.0.lock().unwrap_or_else(|poison| poison.into_inner());
        let place = frames.iter().position(|(own, _)| *own == threads);
        let found = place.map(|place| frames.swap_remove(place).1);
        drop(frames);
        found.unwrap_or_else(make)
    }

    /// Keeps a frame for the next instance, and leaves an empty one in its place.
    pub(crate) fn keep(&self, threads: usize, frame: &mut Frame) {
        // What a panic left is not to be trusted.
        if std::thread::panicking() {
            return;
        }
        let frame = std::mem::take(frame);
        self.0.lock().unwrap_or_else(|poison| poison.into_inner()).push((threads, frame));
    }
}
