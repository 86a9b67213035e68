//! Files that were written -> files that are on the disk, waited for by a thread of its own.
//!
//! The disk takes about a millisecond a file. A run's first files and the files of chains that end
//! early settle while the sampler works; only who says that a run is complete has to wait.

use std::fs::File;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::error::RunError;

/// Hands files to the thread that waits for the disk; clones share the thread.
#[derive(Clone, Debug)]
pub(crate) struct SyncThread {
    /// None where the system gave no thread: files are then waited for at once.
    tasks: Option<Sender<Task>>,
}

#[derive(Debug)]
enum Task {
    /// Wait for this file, of which so many bytes were written.
    File(PathBuf, File, u64),
    /// Answer when all files before have settled, with the first error.
    Report(Sender<Option<RunError>>),
}

impl SyncThread {
    pub(crate) fn start() -> Self {
        let (tasks, incoming) = channel();
        let thread = thread::Builder::new().name("exmc-disk".into()).spawn(move || run(incoming));
        Self { tasks: thread.is_ok().then_some(tasks) }
    }

    /// Has `file` put on the disk; errors come with [`flush`](Self::flush), or here where there is
    /// no thread.
    pub(crate) fn add(&self, path: PathBuf, file: File, size: u64) -> Result<(), RunError> {
        let task = Task::File(path, file, size);
        let refused = match &self.tasks {
            Some(tasks) => tasks.send(task).err().map(|error| error.0),
            None => Some(task),
        };
        match refused {
            Some(Task::File(path, file, size)) => sync(path, &file, size),
            _ => Ok(()),
        }
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

fn run(tasks: Receiver<Task>) {
    let mut first_error = None;
    for task in tasks {
        match task {
            Task::File(path, file, size) => {
                if let Err(error) = sync(path, &file, size) {
                    first_error.get_or_insert(error);
                }
            }
            // Who asked may have gone.
            Task::Report(answer) => drop(answer.send(first_error.take())),
        }
    }
}

fn sync(path: PathBuf, file: &File, size: u64) -> Result<(), RunError> {
    match file.sync_all() {
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
        for sync_thread in [SyncThread::start(), SyncThread { tasks: None }] {
            let added = sync_thread.add(path.clone(), File::open(&path).unwrap(), 7);
            let error = added.and_then(|()| sync_thread.flush()).unwrap_err();
            assert_eq!((error.path(), error.bytes_written()), (path.as_path(), Some(7)));
            assert!(sync_thread.flush().is_ok());
        }
    }
}
