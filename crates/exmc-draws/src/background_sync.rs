//! Files that were written -> files that are on the disk, waited for by a thread of its own.
//!
//! The disk takes about a millisecond a file. A run's first files and the files of chains that end
//! early settle while the sampler works; only who says that a run is complete has to wait.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use exmc_fault::{Fault, planted};

use crate::chain_file::ChainFile;
use crate::checkpoint::{Identity, StoredCheckpoint, encode};
use crate::disk::Disk;
use crate::error::RunError;

/// Hands files to the thread that waits for the disk; clones share the thread.
#[derive(Clone, Debug)]
pub(crate) struct SyncThread {
    /// None where the system gave no thread: files are then waited for at once.
    tasks: Option<Sender<Task>>,
    disk: Disk,
    /// Whether there was an error that nobody asked for yet.
    failed: Arc<AtomicBool>,
}

#[derive(Debug)]
enum Task {
    /// Wait for this file, of which so many bytes were written.
    File(PathBuf, File, u64),
    /// Put the draws on the disk, then the checkpoint in the place of a file; say when it is there.
    Checkpoint {
        draws: Arc<ChainFile>,
        path: PathBuf,
        identity: Identity,
        stored: Box<StoredCheckpoint>,
        done: Arc<AtomicBool>,
    },
    /// Answer when all files before have settled, with the first error.
    Report(Sender<Option<RunError>>),
}

impl SyncThread {
    pub(crate) fn start(disk: Disk) -> Self {
        let (tasks, incoming) = channel();
        let failed = Arc::new(AtomicBool::new(false));
        let (thread_disk, told) = (disk.clone(), Arc::clone(&failed));
        let run = move || run(&thread_disk, &told, incoming);
        let thread = thread::Builder::new().name("exmc-disk".into()).spawn(run);
        Self { tasks: thread.is_ok().then_some(tasks), disk, failed }
    }

    /// Has `file` put on the disk; errors come with [`flush`](Self::flush), or here where there is
    /// no thread.
    pub(crate) fn add(&self, path: PathBuf, file: File, size: u64) -> Result<(), RunError> {
        self.hand_on(Task::File(path, file, size))
    }

    /// Has a checkpoint take the place of the one before, once the draws that it follows, which the
    /// file took over before, are on the disk; `done` becomes true when it has, or when that
    /// failed. Errors as with [`add`](Self::add), but those of writing draws are the file's.
    pub(crate) fn checkpoint(
        &self,
        draws: Arc<ChainFile>,
        path: PathBuf,
        (identity, stored): (Identity, StoredCheckpoint),
        done: Arc<AtomicBool>,
    ) -> Result<(), RunError> {
        self.hand_on(Task::Checkpoint { draws, path, identity, stored: Box::new(stored), done })
    }

    fn hand_on(&self, task: Task) -> Result<(), RunError> {
        let refused = match &self.tasks {
            Some(tasks) => tasks.send(task).err().map(|error| error.0),
            None => Some(task),
        };
        refused.map_or(Ok(()), |task| perform(&self.disk, task))
    }

    /// Whether [`flush`](Self::flush) would give an error now.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Waits until every file that was added before is on the disk.
    pub(crate) fn flush(&self) -> Result<(), RunError> {
        let (answer, incoming) = channel();
        if let Some(tasks) = &self.tasks
            && tasks.send(Task::Report(answer)).is_ok()
            && let Ok(Some(error)) = incoming.recv()
        {
            return Err(error);
        }
        Ok(())
    }
}

fn run(disk: &Disk, failed: &AtomicBool, tasks: Receiver<Task>) {
    let mut first_error = None;
    for task in tasks {
        if let Task::Report(answer) = task {
            failed.store(false, Ordering::Relaxed);
            // Who asked may have gone.
            drop(answer.send(first_error.take()));
        } else if let Err(error) = perform(disk, task) {
            first_error.get_or_insert(error);
            failed.store(true, Ordering::Relaxed);
        }
    }
}

fn perform(disk: &Disk, task: Task) -> Result<(), RunError> {
    match task {
        Task::File(path, file, size) => sync(disk, path, &file, size),
        Task::Checkpoint { draws, path, identity, stored, done } => {
            let place = || {
                // Planted: draws stay in memory that a checkpoint is behind.
                if !planted(Fault::CheckpointAhead) && draws.write_waiting().is_none() {
                    return Ok(());
                }
                let (file, size) = draws.again()?;
                sync(disk, draws.path().to_owned(), &file, size)?;
                let contents =
                    |write: &mut dyn FnMut(&[u8]) -> _| encode(&identity, &stored, write);
                disk.replace_by(&path, contents, true).map(drop)
            };
            let placed = place();
            drop(stored);
            done.store(true, Ordering::Release);
            placed
        }
        Task::Report(_) => Ok(()),
    }
}

fn sync(disk: &Disk, path: PathBuf, file: &File, size: u64) -> Result<(), RunError> {
    match disk.sync(file) {
        // Some file systems cannot do this to a directory; what it holds is there in any case.
        Err(error) if !path.is_dir() => Err(RunError::write(&path, size, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of `/proc` cannot be synchronised on Linux, so it stands for a disk that fails.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_first_error_is_reported_once() {
        let path = PathBuf::from("/proc/self/status");
        let without = || SyncThread { tasks: None, ..SyncThread::start(Disk::default()) };
        for sync_thread in [SyncThread::start(Disk::default()), without()] {
            let added = sync_thread.add(path.clone(), File::open(&path).unwrap(), 7);
            let error = added.and_then(|()| sync_thread.flush()).unwrap_err();
            assert_eq!((error.path(), error.bytes_written()), (path.as_path(), Some(7)));
            assert!(sync_thread.flush().is_ok());
        }
    }
}
