//! What a run writes -> calls of the operating system, all of them here.
//!
//! A test can have the n-th of them fail, as a full disk or a broken one would
//! ([`Disk::failing_from`], [`Disk::failing_at`]); then a write leaves half of its bytes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::RunError;

/// Systems take no more parts of a write at once.
const MOST_PARTS: usize = 1024;

/// The disk, or one that fails for a test. Clones count their calls together.
#[derive(Clone, Debug, Default)]
pub struct Disk(Option<Arc<Failing>>);

#[derive(Debug)]
struct Failing {
    calls: AtomicU64,
    first: u64,
    last: u64,
}

impl Disk {
    /// A disk whose calls fail from number `n` on (from 1), as when it is full.
    pub fn failing_from(n: u64) -> Self {
        Self::failing(n, u64::MAX)
    }

    /// A disk of which one call fails, that of number `n` (from 1).
    pub fn failing_at(n: u64) -> Self {
        Self::failing(n, n)
    }

    fn failing(first: u64, last: u64) -> Self {
        Self(Some(Arc::new(Failing { calls: AtomicU64::new(0), first, last })))
    }

    /// Calls so far, of a disk that fails.
    pub fn calls(&self) -> u64 {
        self.0.as_ref().map_or(0, |failing| failing.calls.load(Ordering::SeqCst))
    }

    fn call(&self) -> io::Result<()> {
        let Some(failing) = &self.0 else { return Ok(()) };
        let number = failing.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if (failing.first..=failing.last).contains(&number) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    /// A new file, which must not be there yet.
    pub(crate) fn create_new(&self, path: &Path) -> io::Result<File> {
        self.call()?;
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    /// A file to go on with.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        self.call()?;
        OpenOptions::new().read(true).write(true).open(path)
    }

    /// Writes all bytes of all parts; `size` counts those that were written.
    pub(crate) fn write(&self, file: &mut File, parts: &[&[u8]], size: &mut u64) -> io::Result<()> {
        let refused = self.call();
        let mut left: usize = parts.iter().map(|part| part.len()).sum();
        if refused.is_err() {
            left /= 2;
        }
        let mut slices = Vec::with_capacity(parts.len());
        for part in parts {
            let length = part.len().min(left);
            left -= length;
            slices.push(IoSlice::new(&part[..length]));
        }
        let mut rest = slices.as_mut_slice();
        // Takes empty parts off, here and below.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let few = rest.len().min(MOST_PARTS);
            match file.write_vectored(&rest[..few]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    *size += n as u64;
                    IoSlice::advance_slices(&mut rest, n);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        refused
    }

    /// Cuts a file off.
    pub(crate) fn set_len(&self, file: &File, len: u64) -> io::Result<()> {
        self.call()?;
        file.set_len(len)
    }

    /// Waits until a file is on the disk.
    pub(crate) fn sync(&self, file: &File) -> io::Result<()> {
        self.call()?;
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call()?;
        fs::rename(from, to)
    }

    /// Puts a file in the place of another, which may not be there: whoever reads finds the one or
    /// the other, also after the power failed if it is to `settle`. Gives the new file.
    pub(crate) fn replace(
        &self,
        path: &Path,
        bytes: &[u8],
        settle: bool,
    ) -> Result<File, RunError> {
        self.replace_by(path, |write| write(bytes), settle)
    }

    /// [`replace`](Self::replace) with bytes that come in pieces.
    pub(crate) fn replace_by(
        &self,
        path: &Path,
        contents: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()>,
        settle: bool,
    ) -> Result<File, RunError> {
        let temporary = temporary(path);
        let mut size = 0;
        let written = File::create(&temporary).and_then(|mut file| {
            self.call()?;
            contents(&mut |bytes| self.write(&mut file, &[bytes], &mut size))?;
            if settle {
                self.sync(&file)?;
            }
            Ok(file)
        });
        let written = written.map_err(|e| RunError::write(&temporary, size, e));
        let written = written.and_then(|file| {
            self.rename(&temporary, path).map_err(|e| RunError::write(path, 0, e))?;
            Ok(file)
        });
        match &written {
            // Some file systems cannot do this to a directory; the file itself is there in any
            // case.
            Ok(_) if settle => drop(path.parent().map(|parent| File::open(parent)?.sync_all())),
            Ok(_) => {}
            Err(_) => drop(fs::remove_file(&temporary)),
        }
        written
    }
}

/// The file beside `path` that becomes it. Tasks of a run may write the same file at once.
fn temporary(path: &Path) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    name.into()
}
