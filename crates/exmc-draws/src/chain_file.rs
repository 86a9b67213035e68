//! Blocks of records -> the end of a chain's file, by the sampler or by a thread behind it.
//!
//! A block is handed over as it is full, and what waits is written by whoever comes first: the
//! thread of [`Behind`](crate::background_write::Behind), that of checkpoints, or the sampler where
//! it needs the draws in the file or too much waits. Blocks are written in the order in which they
//! came, and nothing is written after a write that failed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::disk::Disk;
use crate::error::RunError;
use crate::record::seal;

/// Blocks that are kept to be filled again.
const MOST_FREE: usize = 64;

/// Whole records, without their checksums yet.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: Box<[u8]>,
    used: usize,
}

impl Block {
    /// Room for as many records of a size as a number of bytes holds, one at the least.
    pub(crate) fn new(record: usize, bytes: usize) -> Self {
        let records = (bytes / record).max(1);
        Self { bytes: vec![0; records * record].into_boxed_slice(), used: 0 }
    }

    /// No room at all, in the place of a block that is written.
    pub(crate) fn none() -> Self {
        Self { bytes: Box::default(), used: 0 }
    }

    /// Room for the next record, in a block that is not full.
    pub(crate) fn next(&mut self, record: usize) -> &mut [u8] {
        let start = self.used;
        self.used += record;
        &mut self.bytes[start..self.used]
    }

    /// Bytes of the records in it.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    pub(crate) fn has_room(&self) -> bool {
        self.used < self.bytes.len()
    }
}

/// The file of a chain that is written.
#[derive(Debug)]
pub(crate) struct ChainFile {
    path: PathBuf,
    disk: Disk,
    /// Bytes of a record.
    record: usize,
    waiting: Mutex<Waiting>,
    /// Bytes that wait, of all files of the run.
    bytes_waiting: Arc<AtomicUsize>,
    end: Mutex<End>,
    /// Whether a write failed.
    failed: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    full: Vec<Block>,
    free: Vec<Block>,
}

/// The end of the file; who holds it writes.
#[derive(Debug)]
struct End {
    file: File,
    size: u64,
    error: Option<io::Error>,
}

impl ChainFile {
    /// With the bytes that the file has.
    pub(crate) fn new(
        path: PathBuf,
        (file, size): (File, u64),
        disk: Disk,
        record: usize,
        bytes_waiting: Arc<AtomicUsize>,
    ) -> Self {
        let end = Mutex::new(End { file, size, error: None });
        let (waiting, failed) = (Mutex::default(), AtomicBool::new(false));
        Self { path, disk, record, waiting, bytes_waiting, end, failed }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a block's records, to be written when somebody writes what waits. The block has no
    /// room then.
    pub(crate) fn push(&self, block: &mut Block) {
        if block.used == 0 {
            return;
        }
        let block = std::mem::replace(block, Block::none());
        self.bytes_waiting.fetch_add(block.used, Ordering::Relaxed);
        lock(&self.waiting).full.push(block);
    }

    /// An empty block that was written before.
    pub(crate) fn free(&self) -> Option<Block> {
        lock(&self.waiting).free.pop()
    }

    /// Writes what waits; how many bytes. `None` where blocks that were pushed are not in the file
    /// and never will be: a write failed, now or before, or the file was closed.
    pub(crate) fn write_waiting(&self) -> Option<usize> {
        let mut end = lock(&self.end);
        if self.has_failed() {
            return None;
        }
        let mut blocks = std::mem::take(&mut lock(&self.waiting).full);
        if blocks.is_empty() {
            return Some(0);
        }
        let bytes = blocks.iter().map(|block| block.used).sum();
        self.bytes_waiting.fetch_sub(bytes, Ordering::Relaxed);
        for block in &mut blocks {
            block.bytes[..block.used].chunks_exact_mut(self.record).for_each(seal);
        }
        let parts: Vec<&[u8]> = blocks.iter().map(|block| &block.bytes[..block.used]).collect();
        let End { file, size, error, .. } = &mut *end;
        if let Err(e) = self.disk.write(file, &parts, size) {
            *error = Some(e);
            self.failed.store(true, Ordering::Release);
        }
        drop(end);
        let mut waiting = lock(&self.waiting);
        for mut block in blocks {
            if waiting.free.len() < MOST_FREE {
                block.used = 0;
                waiting.free.push(block);
            }
        }
        (!self.has_failed()).then_some(bytes)
    }

    /// Writes bytes that are no records.
    pub(crate) fn write_header(&self, bytes: &[u8]) -> io::Result<()> {
        let End { file, size, .. } = &mut *lock(&self.end);
        self.disk.write(file, &[bytes], size)
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// The error of the write that failed, with what was written before.
    pub(crate) fn error(&self) -> RunError {
        let mut end = lock(&self.end);
        let error = end.error.take().unwrap_or_else(|| io::ErrorKind::Other.into());
        RunError::write(&self.path, end.size, error)
    }

    /// The file once more, and its size, for who waits for the disk.
    ///
    /// # Errors
    /// When the system has no more of them.
    pub(crate) fn again(&self) -> Result<(File, u64), RunError> {
        let end = lock(&self.end);
        match end.file.try_clone() {
            Ok(file) => Ok((file, end.size)),
            Err(error) => Err(RunError::write(&self.path, end.size, error)),
        }
    }

    /// Throws away what waits, so that somebody else may open the file.
    pub(crate) fn close(&self) {
        // Who writes has it no more.
        let _end = lock(&self.end);
        let blocks = std::mem::take(&mut lock(&self.waiting).full);
        if !blocks.is_empty() {
            let bytes = blocks.iter().map(|block| block.used).sum();
            self.bytes_waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.failed.store(true, Ordering::Release);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}
