//! A seed -> random numbers of one call after the other.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a client constructs for generated quantities: each use has a stream of its own, given by
/// the seed and the number of the use, also where threads share it.
#[derive(Debug)]
pub struct Stream {
    seed: u32,
    next: AtomicU64,
}

impl Stream {
    /// The stream of a seed, at its first use.
    pub fn new(seed: u32) -> Self {
        Self { seed, next: AtomicU64::new(0) }
    }

    /// The seed, and the number of this use.
    pub fn next_use(&self) -> (u32, u64) {
        (self.seed, self.next.fetch_add(1, Ordering::Relaxed))
    }
}
