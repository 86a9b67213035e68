//! A pool of frames: memory of instances that are gone -> memory of the next instances of the same
//! density or function.
//!
//! An instance of the native executor has machine code of its own, with the addresses of its
//! memory; making that takes as long as thousands of evaluations of a small model. What an instance
//! leaves there changes no result.

use std::sync::{Arc, Mutex};

use crate::backend::Frame;

/// Frames that nobody uses, each with the number of threads that it was made for. Clones share
/// them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FramePool(Arc<Mutex<Vec<(usize, Frame)>>>);

impl FramePool {
    /// A frame for that many threads, made anew where none is left.
    pub(crate) fn take(&self, threads: usize, make: impl FnOnce() -> Frame) -> PooledFrame {
        let mut frames = self.0.lock().unwrap_or_else(|poison| poison.into_inner());
        let place = frames.iter().position(|(frame_threads, _)| *frame_threads == threads);
        let found = place.map(|place| frames.swap_remove(place).1);
        drop(frames);
        let frame = Some(found.unwrap_or_else(make));
        PooledFrame { frame, threads, pool: self.clone() }
    }
}

/// A frame that goes back to its pool when it is dropped.
#[derive(Debug)]
pub(crate) struct PooledFrame {
    /// There until it is dropped.
    frame: Option<Frame>,
    threads: usize,
    pool: FramePool,
}

impl PooledFrame {
    /// The frame.
    #[inline(always)]
    pub(crate) fn get(&mut self) -> &mut Frame {
        self.frame.as_mut().expect("only dropping takes the frame")
    }
}

impl Drop for PooledFrame {
    fn drop(&mut self) {
        // What a panic left is not to be trusted.
        if std::thread::panicking() {
            return;
        }
        if let Some(frame) = self.frame.take() {
            let mut frames = self.pool.0.lock().unwrap_or_else(|poison| poison.into_inner());
            frames.push((self.threads, frame));
        }
    }
}
