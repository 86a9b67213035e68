//! Blocks that samplers handed over -> their files, by a thread that looks every millisecond.
//!
//! A write costs the sampler of a small model a fifth of its time, most of it copying into the
//! system's cache. Nobody wakes the thread while blocks come: that would cost a sampler as much as
//! the write. It starts with the first block, and rests where none has come for a while.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::chain_file::ChainFile;

/// Time from one look to the next.
const NAP: Duration = Duration::from_millis(1);
/// Looks without a block after which the thread rests.
const LOOKS: u32 = 50;
/// A thread that rests looks so often whether its run is still there.
const REST: Duration = Duration::from_millis(200);
/// Bytes of all chains that may wait; a sampler that finds more writes its own.
const MOST_WAITING: usize = 1 << 24;

/// The thread of a run; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behind(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    files: Mutex<Vec<Weak<ChainFile>>>,
    /// Bytes that wait, of all files.
    waiting: Arc<AtomicUsize>,
    /// None in it where the system gave no thread.
    thread: OnceLock<Option<Thread>>,
    rests: AtomicBool,
}

impl Behind {
    /// What counts the bytes that wait.
    pub(crate) fn counter(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0.waiting)
    }

    /// Has the file's blocks written, as they are handed over.
    pub(crate) fn add(&self, file: &Arc<ChainFile>) {
        let mut files = self.0.files.lock().unwrap_or_else(|poison| poison.into_inner());
        files.retain(|file| file.strong_count() > 0);
        files.push(Arc::downgrade(file));
    }

    /// Whether so many bytes more may wait. Where not, who asks writes them itself.
    pub(crate) fn takes(&self, bytes: usize) -> bool {
        let thread = self.0.thread.get_or_init(|| {
            // A thread that shares the sampler's core would only cost it more.
            if thread::available_parallelism().map_or(1, usize::from) < 2 {
                return None;
            }
            let shared = Arc::downgrade(&self.0);
            let run = move || run(&shared);
            let thread = thread::Builder::new().name("exmc-write".into()).spawn(run);
            thread.ok().map(|handle| handle.thread().clone())
        });
        let Some(thread) = thread else { return false };
        if self.0.waiting.load(Ordering::Relaxed) + bytes > MOST_WAITING {
            return false;
        }
        if self.0.rests.load(Ordering::Relaxed) {
            thread.unpark();
        }
        true
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(Some(thread)) = self.thread.get() {
            thread.unpark();
        }
    }
}

fn run(shared: &Weak<Shared>) {
    let mut idle = 0;
    loop {
        let Some(upgraded) = shared.upgrade() else { return };
        let files = upgraded.files.lock().unwrap_or_else(|poison| poison.into_inner()).clone();
        let written: usize = files.iter().filter_map(|file| file.upgrade()?.write_waiting()).sum();
        idle = if written > 0 { 0 } else { idle + 1 };
        let rests = idle > LOOKS;
        upgraded.rests.store(rests, Ordering::Relaxed);
        drop(upgraded);
        if rests {
            thread::park_timeout(REST);
        } else {
            thread::sleep(NAP);
        }
    }
}
