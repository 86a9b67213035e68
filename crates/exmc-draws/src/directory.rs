//! A run -> its directory: `run.json`, the model's and data's text, one growing file a chain.
//!
//! | file | what |
//! |---|---|
//! | `run.json` | settings, columns, how far the run got; replaced as a whole (temporary file, rename) |
//! | `model.json` or `model.stan`, `data.json` | the texts that the run was made from |
//! | `chain-K.draws` | draws of chain K, appended while sampling (see `record`) |
//!
//! A chain's file only grows, and a reader takes whole records with the right checksum only, so a
//! directory never claims a draw that it does not hold, whenever its process was killed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exmc_diagnose::WarningKind;
use exmc_infer::{Info, RunPhase};

use crate::background_sync::SyncThread;
use crate::error::RunError;
use crate::posterior::Posterior;
use crate::record::{Header, columns_hash, encode};
use crate::run_file::{RunRecord, RunStatus, StoredChain};

/// Version of the format of all files.
pub const FORMAT_VERSION: u64 = 1;

pub(crate) const RUN_FILE: &str = "run.json";
pub(crate) const DATA_FILE: &str = "data.json";

/// A buffer of this many bytes is written at once …
const BLOCK: usize = 1 << 16;
/// … or what there is after this long, so that a slow model loses little when its process is
/// killed.
const MAX_WAIT: Duration = Duration::from_secs(1);

pub(crate) fn chain_file(chain: u32) -> String {
    format!("chain-{chain}.draws")
}

/// The text of a model, in the form that it was written in.
#[derive(Clone, Copy, Debug)]
pub enum ModelText<'a> {
    /// A model as data, stored to the byte as `model.json`.
    Json(&'a str),
    /// A Stan program without includes, stored to the byte as `model.stan`.
    Stan(&'a str),
}

impl<'a> ModelText<'a> {
    fn file(self) -> (&'static str, &'a str) {
        match self {
            Self::Json(text) => ("model.json", text),
            Self::Stan(text) => ("model.stan", text),
        }
    }
}

/// A directory that a run writes to.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    record: RunRecord,
    made_directory: bool,
    files: Vec<PathBuf>,
    sync_thread: SyncThread,
}

impl RunDirectory {
    /// Claims `path` (made if it does not exist) for a run and writes what is known before
    /// sampling. Returns one writer a chain.
    ///
    /// # Errors
    /// When the directory already holds a run ([`RunError::is_occupied`]) or a file by the name of
    /// one of a run's, or a file cannot be written.
    pub fn create(
        path: &Path,
        record: RunRecord,
        model: ModelText<'_>,
        data: Option<&str>,
    ) -> Result<(Self, Vec<ChainWriter>), RunError> {
        let made_directory = match fs::create_dir(path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(path).map_err(|e| RunError::write(path, 0, e))?;
                true
            }
            Err(error) => return Err(RunError::write(path, 0, error)),
        };
        Self::fill(path, made_directory, record, model, data)
    }

    /// The same in a new directory `exmc-run-<n>` within `parent`, with the smallest free n.
    ///
    /// # Errors
    /// When a directory or file cannot be written.
    pub fn create_fresh(
        parent: &Path,
        record: RunRecord,
        model: ModelText<'_>,
        data: Option<&str>,
    ) -> Result<(Self, Vec<ChainWriter>), RunError> {
        let mut number = 1_u64;
        loop {
            let path = parent.join(format!("exmc-run-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Self::fill(&path, true, record, model, data),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(RunError::write(&path, 0, error)),
            }
        }
    }

    fn fill(
        path: &Path,
        made_directory: bool,
        record: RunRecord,
        model: ModelText<'_>,
        data: Option<&str>,
    ) -> Result<(Self, Vec<ChainWriter>), RunError> {
        if path.join(RUN_FILE).exists() {
            return Err(RunError::occupied(path));
        }
        let (path, files) = (path.to_owned(), Vec::new());
        let mut directory =
            Self { path, record, made_directory, files, sync_thread: SyncThread::start() };
        match directory.write_all(model, data) {
            Ok(writers) => Ok((directory, writers)),
            Err(error) => {
                directory.abandon();
                Err(error)
            }
        }
    }

    fn write_all(
        &mut self,
        model: ModelText<'_>,
        data: Option<&str>,
    ) -> Result<Vec<ChainWriter>, RunError> {
        let columns = columns_hash(&self.record.variables);
        let width = self.record.variables.iter().map(|v| v.len() as u64).sum();
        let mut writers = Vec::new();
        // The first of these is what two processes compete for.
        for chain in 0..self.record.config.chains {
            let path = self.path.join(chain_file(chain));
            let version = FORMAT_VERSION as u32;
            let header = Header { version, chain, width, columns };
            let writer = ChainWriter::create(path.clone(), &header, self.sync_thread.clone());
            writers.push(writer.map_err(|e| self.occupied_or(e))?);
            self.files.push(path);
        }
        let (model_file, model) = model.file();
        for (name, text) in [(model_file, Some(model)), (DATA_FILE, data)] {
            if let Some(text) = text {
                self.place(name, text)?;
            }
        }
        let record = self.record.to_json();
        self.place(RUN_FILE, &record)?;
        if let Ok(entries) = File::open(&self.path) {
            self.sync_thread.add(self.path.clone(), entries, 0)?;
        }
        Ok(writers)
    }

    /// Writes a file that must not be there yet, as a whole or not at all; it settles while
    /// sampling begins.
    fn place(&mut self, name: &str, text: &str) -> Result<(), RunError> {
        let path = self.path.join(name);
        // Also a link that leads nowhere.
        if path.symlink_metadata().is_ok() {
            return Err(RunError::exists(&path));
        }
        let file = written(&path, text)?;
        self.files.push(path.clone());
        self.sync_thread.add(path, file, text.len() as u64)
    }

    fn occupied_or(&self, error: RunError) -> RunError {
        let exists = std::error::Error::source(&error)
            .and_then(|e| e.downcast_ref::<io::Error>())
            .is_some_and(|e| e.kind() == io::ErrorKind::AlreadyExists);
        if exists { RunError::occupied(&self.path) } else { error }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until all draws are on the disk and says how the run ended. The chains' writers must
    /// have been finished.
    ///
    /// # Errors
    /// When draws did not reach the disk or `run.json` cannot be replaced; the old one then stays.
    pub fn finish(
        &mut self,
        status: RunStatus,
        error: Option<String>,
        posterior: &Posterior,
    ) -> Result<(), RunError> {
        self.sync_thread.flush()?;
        self.record.status = status;
        self.record.error = error;
        self.record.seconds = posterior.seconds;
        // What is wrong with chains follows from how they ended.
        let of_density = posterior.warnings.iter().filter(|w| w.kind == WarningKind::Precision);
        self.record.warnings = of_density.map(|w| w.message.clone()).collect();
        self.record.chains = posterior.chains.iter().map(StoredChain::of).collect();
        replace(&self.path.join(RUN_FILE), &self.record.to_json())
    }

    /// Removes everything again, for a run that could not start. Failures to remove are ignored:
    /// what stays behind holds no draws.
    pub fn abandon(&mut self) {
        for file in self.files.drain(..) {
            let _ = fs::remove_file(file);
        }
        if self.made_directory {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Puts a file in the place of another: whoever reads finds the one or the other, also after the
/// power failed.
fn replace(path: &Path, text: &str) -> Result<(), RunError> {
    let temporary = temporary(path);
    let written = write_new(&temporary, text)
        .and_then(|file| {
            file.sync_all().map_err(|e| RunError::write(&temporary, text.len() as u64, e))
        })
        .and_then(|()| fs::rename(&temporary, path).map_err(|e| RunError::write(path, 0, e)));
    match written {
        // Some file systems cannot do this to a directory; the file itself is there in any case.
        Ok(()) => drop(path.parent().map(|parent| File::open(parent)?.sync_all())),
        Err(_) => drop(fs::remove_file(&temporary)),
    }
    written
}

/// A new file at `path`, written as a whole or not at all, which may not be on the disk yet.
fn written(path: &Path, text: &str) -> Result<File, RunError> {
    let temporary = temporary(path);
    let written = write_new(&temporary, text).and_then(|file| {
        fs::rename(&temporary, path).map_err(|e| RunError::write(path, 0, e))?;
        Ok(file)
    });
    if written.is_err() {
        drop(fs::remove_file(&temporary));
    }
    written
}

/// The file beside `path` that becomes it.
fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

fn write_new(path: &Path, text: &str) -> Result<File, RunError> {
    let mut file = File::create(path).map_err(|e| RunError::write(path, 0, e))?;
    let mut size = 0;
    write_counted(&mut file, text.as_bytes(), &mut size)
        .map_err(|e| RunError::write(path, size, e))?;
    Ok(file)
}

/// `write_all` that knows how far it got.
fn write_counted(file: &mut File, mut bytes: &[u8], size: &mut u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                *size += n as u64;
                bytes = &bytes[n..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Appends the draws of one chain to its file.
#[derive(Debug)]
pub struct ChainWriter {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    size: u64,
    last_write: Instant,
    state: State,
    sync_thread: SyncThread,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Broken,
    Finished,
}

impl ChainWriter {
    fn create(path: PathBuf, header: &Header, sync_thread: SyncThread) -> Result<Self, RunError> {
        let opened = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = opened.map_err(|e| RunError::write(&path, 0, e))?;
        let buffer = header.encode().to_vec();
        let (last_write, state) = (Instant::now(), State::Open);
        let mut writer = Self { path, file, buffer, size: 0, last_write, state, sync_thread };
        if let Err(error) = writer.flush() {
            let _ = fs::remove_file(&writer.path);
            return Err(error);
        }
        Ok(writer)
    }

    /// Appends one draw. It reaches the file with its block, at the latest with the first draw that
    /// is made a second later.
    ///
    /// # Errors
    /// When the operating system refuses; draws written before stay readable, and later calls do
    /// nothing.
    pub fn append(
        &mut self,
        phase: RunPhase,
        index: u64,
        info: &Info,
        values: &[f64],
    ) -> Result<(), RunError> {
        if self.state == State::Broken {
            return Ok(());
        }
        self.state = State::Open;
        encode(&mut self.buffer, phase, index, info, values);
        if self.buffer.len() >= BLOCK || self.last_write.elapsed() >= MAX_WAIT {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RunError> {
        let written = write_counted(&mut self.file, &self.buffer, &mut self.size);
        self.buffer.clear();
        self.last_write = Instant::now();
        written.map_err(|error| {
            self.state = State::Broken;
            RunError::write(&self.path, self.size, error)
        })
    }

    /// Writes what is left and has it put on the disk, for which [`RunDirectory::finish`] waits.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn finish(&mut self) -> Result<(), RunError> {
        if self.state != State::Open {
            return Ok(());
        }
        self.flush()?;
        self.state = State::Finished;
        let file = self.file.try_clone().map_err(|e| RunError::write(&self.path, self.size, e))?;
        self.sync_thread.add(self.path.clone(), file, self.size)
    }
}
