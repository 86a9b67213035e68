//! A run -> its directory: `run.json`, the model's and data's text, one growing file a chain.
//!
//! | file | what |
//! |---|---|
//! | `run.json` | settings, columns, how far the run got; replaced as a whole (temporary file, rename) |
//! | `model.json` or `model.stan`, `data.json`, `init.json` | the texts that the run was made from |
//! | `chain-K.draws` | draws of chain K, appended while sampling (see `record`) |
//! | `chain-K.checkpoint` | chain K after one of its draws (see `checkpoint`); replaced as a whole |
//! | `chain-K.json` | how a chain that was a task of its own ended |
//! | `run.lock`, `chain-K.lock` | who writes, as long as somebody does (see `lock`) |
//!
//! A chain's file only grows, and a reader takes whole records with the right checksum only, so a
//! directory never claims a draw that it does not hold, whenever its process was killed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use exmc_diagnose::WarningKind;

use crate::chain_writer::{ChainWriter, Threads};
use crate::checkpoint::Identity;
use crate::disk::Disk;
use crate::error::RunError;
use crate::lock::Lock;
use crate::posterior::Posterior;
use crate::read::read_record;
use crate::record::{Header, columns_hash};
use crate::run_file::{RunRecord, RunStatus, StoredChain};

/// Version of the format of all files.
pub const FORMAT_VERSION: u64 = 1;

pub(crate) const RUN_FILE: &str = "run.json";
pub(crate) const DATA_FILE: &str = "data.json";
const INIT_FILE: &str = "init.json";

pub(crate) fn chain_file(chain: u32) -> String {
    format!("chain-{chain}.draws")
}

pub(crate) fn checkpoint_file(chain: u32) -> String {
    format!("chain-{chain}.checkpoint")
}

/// Where a task says how its chain ended.
pub(crate) fn task_file(chain: u32) -> String {
    format!("chain-{chain}.json")
}

/// The text of a model, in the form that it was written in.
#[derive(Clone, Copy, Debug)]
pub enum ModelText<'a> {
    /// A model as data, stored to the byte as `model.json`.
    Json(&'a str),
    /// A Stan program without includes, stored to the byte as `model.stan`.
    Stan(&'a str),
}

/// The texts that a run is made from, which it keeps.
#[derive(Clone, Copy, Debug)]
pub struct RunTexts<'a> {
    /// The model.
    pub model: ModelText<'a>,
    /// Its data, stored as `data.json`.
    pub data: Option<&'a str>,
    /// Initial values, stored as `init.json`.
    pub init: Option<&'a str>,
}

impl<'a> RunTexts<'a> {
    /// A model that needs no other text.
    pub fn model(model: ModelText<'a>) -> Self {
        Self { model, data: None, init: None }
    }

    fn files(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let (model_file, model) = self.model.file();
        let all = [(model_file, Some(model)), (DATA_FILE, self.data), (INIT_FILE, self.init)];
        all.into_iter().filter_map(|(name, text)| Some((name, text?)))
    }
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
    /// That of the record, whatever the number of draws.
    identity: Option<Identity>,
    /// The chain that is written, where others are written elsewhere.
    task: Option<u32>,
    made_directory: bool,
    files: Vec<PathBuf>,
    threads: Threads,
    lock: Option<Lock>,
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
        texts: &RunTexts<'_>,
    ) -> Result<(Self, Vec<ChainWriter>), RunError> {
        Self::create_on(&Disk::default(), path, record, texts)
    }

    /// The same on a disk that may fail, for tests.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_on(
        disk: &Disk,
        path: &Path,
        record: RunRecord,
        texts: &RunTexts<'_>,
    ) -> Result<(Self, Vec<ChainWriter>), RunError> {
        let made_directory = made(path)?;
        Self::fill(disk, path, made_directory, record, texts)
    }

    /// The same in a new directory `exmc-run-<n>` within `parent`, with the smallest free n.
    ///
    /// # Errors
    /// When a directory or file cannot be written.
    pub fn create_fresh(
        parent: &Path,
        record: RunRecord,
        texts: &RunTexts<'_>,
    ) -> Result<(Self, Vec<ChainWriter>), RunError> {
        let mut number = 1_u64;
        loop {
            let path = parent.join(format!("exmc-run-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Self::fill(&Disk::default(), &path, true, record, texts),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(RunError::write(&path, 0, error)),
            }
        }
    }

    fn in_folder(path: &Path, record: RunRecord, disk: &Disk) -> Self {
        Self {
            path: path.to_owned(),
            identity: record.identity(),
            record,
            task: None,
            made_directory: false,
            files: Vec::new(),
            threads: Threads::start(disk),
            lock: None,
        }
    }

    fn fill(
        disk: &Disk,
        path: &Path,
        made_directory: bool,
        record: RunRecord,
        texts: &RunTexts<'_>,
    ) -> Result<(Self, Vec<ChainWriter>), RunError> {
        if path.join(RUN_FILE).exists() {
            return Err(RunError::occupied(path));
        }
        let mut directory = Self::in_folder(path, record, disk);
        directory.made_directory = made_directory;
        match directory.write_all(texts) {
            Ok(writers) => Ok((directory, writers)),
            Err(error) => {
                directory.abandon();
                Err(error)
            }
        }
    }

    fn write_all(&mut self, texts: &RunTexts<'_>) -> Result<Vec<ChainWriter>, RunError> {
        self.lock = Some(Lock::take(&self.path, None)?);
        // Somebody else may have had the lock a moment ago.
        if self.path.join(RUN_FILE).exists() {
            return Err(RunError::occupied(&self.path));
        }
        self.remove_temporaries();
        self.remove_beginnings(texts);
        let mut writers = Vec::new();
        for chain in 0..self.record.config.chains {
            let writer = self.new_writer(chain).map_err(|e| self.occupied_or(e))?;
            self.files
                .extend([chain_file(chain), checkpoint_file(chain)].map(|f| self.path.join(f)));
            writers.push(writer);
        }
        for (name, text) in texts.files() {
            self.place(name, text)?;
        }
        let record = self.record.to_json();
        self.place(RUN_FILE, &record)?;
        self.settle_entries()?;
        Ok(writers)
    }

    /// Removes what a process that was killed before it had written `run.json` left of this very
    /// run: headers, or the beginnings of them (a file without a byte is one), and texts.
    fn remove_beginnings(&self, texts: &RunTexts<'_>) {
        let remove = |name: &str, is_ours: &dyn Fn(&[u8]) -> bool| {
            let path = self.path.join(name);
            let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
            if is_file && fs::read(&path).is_ok_and(|bytes| is_ours(&bytes)) {
                let _ = fs::remove_file(path);
            }
        };
        for chain in 0..self.record.config.chains {
            let header = self.header(chain).encode();
            remove(&chain_file(chain), &|bytes| header.starts_with(bytes));
        }
        for (name, text) in texts.files() {
            remove(name, &|bytes| bytes == text.as_bytes());
        }
    }

    fn settle_entries(&self) -> Result<(), RunError> {
        match File::open(&self.path) {
            Ok(entries) => self.threads.sync.add(self.path.clone(), entries, 0),
            Err(_) => Ok(()),
        }
    }

    /// A writer that begins a chain's file.
    fn new_writer(&self, chain: u32) -> Result<ChainWriter, RunError> {
        ChainWriter::create(&self.path, &self.header(chain), self.threads.clone(), self.identity)
    }

    fn header(&self, chain: u32) -> Header {
        let columns = columns_hash(&self.record.variables);
        let width = self.record.variables.iter().map(|v| v.len() as u64).sum();
        Header { version: FORMAT_VERSION as u32, chain, width, columns }
    }

    /// Writes a file that must not be there yet, as a whole or not at all; it settles while
    /// sampling begins.
    fn place(&mut self, name: &str, text: &str) -> Result<(), RunError> {
        let path = self.path.join(name);
        // Also a link that leads nowhere.
        if path.symlink_metadata().is_ok() {
            return Err(RunError::exists(&path));
        }
        let file = self.threads.disk.replace(&path, text.as_bytes(), false)?;
        self.files.push(path.clone());
        self.threads.sync.add(path, file, text.len() as u64)
    }

    /// Claims a run that is there already, to go on with it: nobody else does so at the same time.
    /// [`RunDirectory::go_on`] then opens its chains.
    ///
    /// # Errors
    /// When another process writes the run ([`RunError::is_locked`]), there is none, or it cannot
    /// be read.
    pub fn reopen(path: &Path) -> Result<Self, RunError> {
        Self::reopen_on(&Disk::default(), path)
    }

    /// The same on a disk that may fail, for tests.
    ///
    /// # Errors
    /// As [`reopen`](Self::reopen).
    pub fn reopen_on(disk: &Disk, path: &Path) -> Result<Self, RunError> {
        // Before a lock is made in a directory that holds no run.
        read_record(path)?;
        let lock = Lock::take(path, None)?;
        let mut directory = Self::in_folder(path, read_record(path)?, disk);
        directory.lock = Some(lock);
        directory.remove_temporaries();
        Ok(directory)
    }

    /// Removes what a process that was killed was about to put into a file's place: of all files,
    /// or of a task's.
    fn remove_temporaries(&self) {
        let is_ours = |name: &str| {
            let name = name.strip_suffix(".tmp").and_then(|name| name.rsplit_once('.'));
            let Some((name, _)) = name.filter(|(_, process)| process.parse::<u32>().is_ok()) else {
                return false;
            };
            match self.task {
                Some(chain) => name == checkpoint_file(chain) || name == task_file(chain),
                None => {
                    let of_chain = name.strip_prefix("chain-").is_some_and(|rest| {
                        rest.ends_with(".checkpoint") || rest.ends_with(".json")
                    });
                    let texts = ["model.json", "model.stan", DATA_FILE, INIT_FILE, RUN_FILE];
                    of_chain || texts.contains(&name)
                }
            }
        };
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(is_ours) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Claims one chain of a run whose chains are written by tasks, in a directory that may or may
    /// not hold the run already.
    ///
    /// # Errors
    /// When the directory holds another run ([`RunError::is_mismatch`]), when another process
    /// writes the chain, or a file cannot be written.
    pub fn join(
        path: &Path,
        record: RunRecord,
        texts: &RunTexts<'_>,
        chain: u32,
    ) -> Result<Self, RunError> {
        let disk = Disk::default();
        made(path)?;
        let lock = Lock::take(path, Some(chain))?;
        let mut directory = Self::in_folder(path, record, &disk);
        if path.join(RUN_FILE).exists() {
            let existing = read_record(path)?;
            if !existing.origin.as_ref().is_some_and(|origin| origin.tasks) {
                return Err(RunError::occupied(path));
            }
            let mut differences = directory.record.differences(&existing);
            if directory.record.save_warmup != existing.save_warmup {
                differences.push("whether warmup draws are stored".to_owned());
            }
            if directory.record.config.draws != existing.config.draws {
                let (draws, others) = (directory.record.config.draws, existing.config.draws);
                differences.push(format!("setting `draws`: {draws} and {others}"));
            }
            if !differences.is_empty() {
                let what = format!("the run there is another one: {}", differences.join("; "));
                return Err(RunError::mismatch(path, what));
            }
            directory.record = existing;
        } else {
            // Another task may do the same at the same time, with the same bytes.
            for (name, text) in texts.files() {
                disk.replace(&path.join(name), text.as_bytes(), true)?;
            }
            let text = directory.record.to_json();
            disk.replace(&path.join(RUN_FILE), text.as_bytes(), true)?;
        }
        directory.task = Some(chain);
        directory.lock = Some(lock);
        directory.remove_temporaries();
        Ok(directory)
    }

    /// What `run.json` says, as this process will write it.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Opens the files of chains to append to, each cut back to its last checkpoint; chains without
    /// one that can be used begin anew. With other settings than before (more draws), these are
    /// stored first. Whoever reads the run finds that it is running.
    ///
    /// # Errors
    /// When a file cannot be read, written or cut, or belongs to another run.
    pub fn go_on(&mut self, record: RunRecord) -> Result<Vec<Reopened>, RunError> {
        self.record = record;
        let chains: Vec<u32> = match self.task {
            Some(chain) => vec![chain],
            None => {
                self.record.status = RunStatus::Running;
                self.record.error = None;
                self.record.chains.clear();
                self.write_record()?;
                // What tasks said of their chains is said in `run.json` from now on.
                for chain in 0..self.record.config.chains {
                    let _ = fs::remove_file(self.path.join(task_file(chain)));
                }
                (0..self.record.config.chains).collect()
            }
        };
        let opened = chains.into_iter().map(|chain| self.go_on_with(chain));
        opened.collect()
    }

    fn go_on_with(&self, chain: u32) -> Result<Reopened, RunError> {
        let path = self.path.join(chain_file(chain));
        if self.task.is_some() {
            let _ = fs::remove_file(self.path.join(task_file(chain)));
        }
        if path.symlink_metadata().is_err() {
            let writer = self.new_writer(chain)?;
            return Ok(Reopened {
                writer,
                checkpoint: None,
                draws: 0,
                seconds: [0.0; 2],
                note: None,
            });
        }
        ChainWriter::go_on(
            (&self.path, &self.record),
            &self.header(chain),
            self.threads.clone(),
            self.identity,
        )
    }

    /// From now on the run is one of so many draws, which all chains have.
    pub fn end_at(&mut self, draws: u64) {
        self.record.config.draws = draws;
    }

    fn write_record(&self) -> Result<(), RunError> {
        let text = self.record.to_json();
        self.threads.disk.replace(&self.path.join(RUN_FILE), text.as_bytes(), true).map(drop)
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
        self.threads.sync.flush()?;
        let stored = |chain| StoredChain::of(chain, status);
        let chains: Vec<StoredChain> = posterior.chains.iter().map(stored).collect();
        if let Some(task) = self.task {
            for chain in chains.iter().filter(|chain| chain.chain == task) {
                let path = self.path.join(task_file(task));
                self.threads.disk.replace(&path, chain.to_json().as_bytes(), true)?;
            }
        } else {
            self.record.status = status;
            self.record.error = error;
            self.record.seconds += posterior.seconds;
            // What is wrong with chains follows from how they ended.
            let of_density = posterior.warnings.iter().filter(|w| w.kind == WarningKind::Precision);
            self.record.warnings = of_density.map(|w| w.message.clone()).collect();
            self.record.chains = chains;
            self.write_record()?;
        }
        self.lock = None;
        Ok(())
    }

    /// Removes everything again, for a run that could not start. Failures to remove are ignored:
    /// what stays behind holds no draws.
    pub fn abandon(&mut self) {
        // A checkpoint may be on its way.
        let _ = self.threads.sync.flush();
        for file in self.files.drain(..) {
            let _ = fs::remove_file(file);
        }
        self.lock = None;
        if self.made_directory {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl Drop for RunDirectory {
    /// What is on its way to the disk arrives there before somebody else may write the run.
    fn drop(&mut self) {
        let _ = self.threads.sync.flush();
    }
}

/// A chain's file that was opened again.
#[derive(Debug)]
pub struct Reopened {
    /// What appends to it.
    pub writer: ChainWriter,
    /// Where the chain goes on; it begins anew where there is nothing.
    pub checkpoint: Option<exmc_infer::Checkpoint>,
    /// Draws after warmup that its file holds until there.
    pub draws: u64,
    /// Wall-clock seconds of warmup and sampling until there.
    pub seconds: [f64; 2],
    /// Why a checkpoint that is there could not be used.
    pub note: Option<String>,
}

/// Makes a directory; whether it was not there before.
fn made(path: &Path) -> Result<bool, RunError> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path).map_err(|e| RunError::write(path, 0, e))?;
            Ok(true)
        }
        Err(error) => Err(RunError::write(path, 0, error)),
    }
}
