//! Draws of one chain -> the end of its file, with a checkpoint from time to time.
//!
//! A checkpoint follows the draws that it stands behind: they are written first, and on the disk
//! before it takes its place.

use std::fs::{self, File};
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use exmc_fault::{Fault, planted};
use exmc_infer::{Checkpoint, Info, RunPhase};

use crate::background_sync::SyncThread;
use crate::background_write::Behind;
use crate::chain_file::{Block, ChainFile};
use crate::checkpoint::{self, Identity, StoredCheckpoint};
use crate::directory::{Reopened, chain_file, checkpoint_file};
use crate::disk::Disk;
use crate::error::RunError;
use crate::record::{HEADER_SIZE, Header, encode, record_size};
use crate::records::{NoHeader, Records, Stopped};
use crate::run_file::RunRecord;

/// A block has about this many bytes; so few that the blocks of four chains leave a core's nearest
/// caches to the sampler …
const BLOCK: usize = 1 << 14;
/// … unless so many records take more, …
const LEAST_RECORDS: usize = 2;
/// … and no more than these: larger records are written one by one, for copying them costs the
/// sampler nothing beside making them.
const LARGEST_RECORD: usize = 1 << 17;
/// What there is after this long is written, so that a slow model loses little when its process is
/// killed.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// Checkpoints are at least so far apart …
const CHECKPOINT_WAIT: Duration = Duration::from_secs(1);
/// … and this many times as far as one keeps its chain from sampling.
const CHECKPOINT_SHARE: u32 = 100;

/// Where draws take microseconds, the clock is read with one call in so many, for reading it takes
/// a twentieth of that.
const MOST_SKIPPED: u32 = 32;
/// Calls take microseconds where so much time at most has passed since the clock was read last.
const IS_FAST: Duration = Duration::from_millis(5);

/// The time, a few fast calls behind.
#[derive(Debug)]
struct Clock {
    now: Instant,
    /// Calls from one look to the next, and calls until the next.
    stride: u32,
    left: u32,
}

impl Clock {
    fn start() -> Self {
        Self { now: Instant::now(), stride: 1, left: 0 }
    }

    fn look(&mut self) -> Instant {
        if self.left > 0 {
            self.left -= 1;
            return self.now;
        }
        let now = Instant::now();
        let is_fast = now.duration_since(self.now) < IS_FAST;
        self.stride = if is_fast { (2 * self.stride).min(MOST_SKIPPED) } else { 1 };
        (self.now, self.left) = (now, self.stride - 1);
        now
    }
}

/// Appends the draws of one chain to its file.
#[derive(Debug)]
pub struct ChainWriter {
    file: Arc<ChainFile>,
    block: Block,
    record: usize,
    clock: Clock,
    last_write: Instant,
    state: State,
    threads: Threads,
    checkpoints: Checkpoints,
}

/// What works behind the samplers of a run: one thread that writes, one that waits for the disk.
#[derive(Clone, Debug)]
pub(crate) struct Threads {
    pub(crate) disk: Disk,
    pub(crate) write: Behind,
    pub(crate) sync: SyncThread,
}

impl Threads {
    pub(crate) fn start(disk: &Disk) -> Self {
        let sync = SyncThread::start(disk.clone());
        Self { disk: disk.clone(), write: Behind::default(), sync }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Broken,
    Finished,
}

/// What a writer knows of its chain's checkpoints.
#[derive(Debug)]
struct Checkpoints {
    path: PathBuf,
    /// None for a run that nobody can go on with.
    identity: Option<Identity>,
    /// When the last one was taken, and until when there is none.
    last: Instant,
    least_wait: Duration,
    wait: Duration,
    /// Whether it is in its place.
    settled: Arc<AtomicBool>,
    /// Seconds of warmup and sampling until the last one.
    seconds: [f64; 2],
}

impl Checkpoints {
    fn new(path: PathBuf, identity: Option<Identity>, seconds: [f64; 2]) -> Self {
        Self {
            path,
            identity,
            last: Instant::now(),
            least_wait: CHECKPOINT_WAIT,
            wait: CHECKPOINT_WAIT,
            settled: Arc::new(AtomicBool::new(true)),
            seconds,
        }
    }
}

impl ChainWriter {
    /// Begins the file of a chain, which must not be there yet.
    pub(crate) fn create(
        directory: &Path,
        header: &Header,
        threads: Threads,
        identity: Option<Identity>,
    ) -> Result<Self, RunError> {
        let path = directory.join(chain_file(header.chain));
        let checkpoint = directory.join(checkpoint_file(header.chain));
        let file = threads.disk.create_new(&path).map_err(|e| RunError::write(&path, 0, e))?;
        let checkpoints = Checkpoints::new(checkpoint, identity, [0.0; 2]);
        let opened = Self::open((&path, file, 0), header, threads, checkpoints);
        if opened.is_err() {
            let _ = fs::remove_file(&path);
        }
        opened
    }

    /// A writer to the end of a file of so many bytes, which gets its header if there are none.
    fn open(
        (path, file, size): (&Path, File, u64),
        header: &Header,
        threads: Threads,
        checkpoints: Checkpoints,
    ) -> Result<Self, RunError> {
        let record = record_size(header.width as usize);
        let (disk, waiting) = (threads.disk.clone(), threads.write.counter());
        let file = ChainFile::new(path.to_owned(), (file, size), disk, record, waiting);
        if size == 0 {
            file.write_header(&header.encode()).map_err(|e| RunError::write(path, 0, e))?;
        }
        let file = Arc::new(file);
        threads.write.add(&file);
        Ok(Self {
            file,
            block: Block::none(),
            record,
            clock: Clock::start(),
            last_write: Instant::now(),
            state: State::Open,
            threads,
            checkpoints,
        })
    }

    fn empty(record: usize) -> Block {
        let is_large = record > LARGEST_RECORD;
        Block::new(record, if is_large { record } else { BLOCK.max(LEAST_RECORDS * record) })
    }

    /// Opens the file of a chain, cut back to the chain's checkpoint, or to no draws where there is
    /// none that can be used.
    pub(crate) fn go_on(
        (directory, record): (&Path, &RunRecord),
        header: &Header,
        threads: Threads,
        identity: Option<Identity>,
    ) -> Result<Reopened, RunError> {
        let path = directory.join(chain_file(header.chain));
        let place = directory.join(checkpoint_file(header.chain));
        let disk = &threads.disk;
        let mut file = disk.open(&path).map_err(|e| RunError::write(&path, 0, e))?;
        let held = held(&path, &file, header)?;
        let mut note = None;
        let stored = match (fs::read(&place), &identity) {
            (Ok(bytes), Some(identity)) => checkpoint::decode(&bytes, identity, header.chain)
                .and_then(|stored| behind(stored, record, held.unwrap_or_default()))
                .map_err(|why| note = Some(format!("`{}`: {why}", checkpoint_file(header.chain))))
                .ok(),
            (Err(error), _) if error.kind() != io::ErrorKind::NotFound => {
                return Err(RunError::read(&place, error));
            }
            _ => None,
        };
        let (warmup, draws) = stored.as_ref().map_or((0, 0), |s| counts(&s.checkpoint, record));
        let records = (if record.save_warmup { warmup } else { 0 }) + draws;
        let size = HEADER_SIZE as u64 + records * record_size(header.width as usize) as u64;
        let cut = |file: &mut File, size: u64| {
            disk.set_len(file, size)?;
            file.seek(SeekFrom::Start(size)).map(drop)
        };
        // Not even the header was written.
        let size = if held.is_none() { 0 } else { size };
        // Planted: the end of the file is where it was left.
        if planted(Fault::TornDrawKept) {
            let end = file.seek(SeekFrom::End(0));
            end.map_err(|e| RunError::write(&path, size, e))?;
        } else {
            cut(&mut file, size).map_err(|e| RunError::write(&path, size, e))?;
        }
        let seconds = stored.as_ref().map_or([0.0; 2], |stored| stored.seconds);
        let checkpoints = Checkpoints::new(place, identity, seconds);
        let writer = Self::open((&path, file, size), header, threads, checkpoints)?;
        let checkpoint = stored.map(|stored| stored.checkpoint);
        Ok(Reopened { writer, checkpoint, draws, seconds, note })
    }

    /// Appends one draw. It reaches the file with its block, at the latest with the first draw that
    /// is made a second later, or a few fast draws after that.
    ///
    /// # Errors
    /// When the operating system refuses this, or something before it; draws written before stay
    /// readable, and later calls do nothing.
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
        if !self.block.has_room() {
            self.block = self.file.free().unwrap_or_else(|| Self::empty(self.record));
        }
        encode(self.block.next(self.record), phase, index, info, values);
        let now = self.clock.look();
        if now.saturating_duration_since(self.last_write) >= MAX_WAIT {
            return self.flush();
        }
        if !self.block.has_room() {
            let is_large = self.record > LARGEST_RECORD;
            if is_large || !self.threads.write.takes(self.block.len()) {
                return self.flush();
            }
            self.last_write = now;
            return self.hand_over();
        }
        Ok(())
    }

    /// Leaves the block to whoever writes what waits.
    fn hand_over(&mut self) -> Result<(), RunError> {
        // What the disk's thread met ends the chain as its own errors do.
        if self.threads.sync.has_failed() {
            self.state = State::Broken;
            return self.threads.sync.flush();
        }
        if self.file.has_failed() {
            self.state = State::Broken;
            return Err(self.file.error());
        }
        self.file.push(&mut self.block);
        Ok(())
    }

    /// From now on checkpoints are at least so far apart; a second, where nothing was said.
    pub fn wait_between_checkpoints(&mut self, wait: Duration) {
        (self.checkpoints.least_wait, self.checkpoints.wait) = (wait, wait);
    }

    /// Whether it is time for a checkpoint.
    pub fn is_checkpoint_due(&mut self) -> bool {
        let now = self.clock.look();
        let checkpoints = &self.checkpoints;
        now.saturating_duration_since(checkpoints.last) >= checkpoints.wait
            && checkpoints.settled.load(Ordering::Acquire)
    }

    /// Stores where the chain stands, which must be behind the draw that was appended last. Waits
    /// for no disk.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn checkpoint(
        &mut self,
        warmup: u64,
        take: impl FnOnce() -> Checkpoint,
    ) -> Result<(), RunError> {
        let Some(identity) = self.checkpoints.identity else { return Ok(()) };
        if self.state == State::Broken {
            return Ok(());
        }
        let began = Instant::now();
        let checkpoint = take();
        let passed = began.duration_since(self.checkpoints.last).as_secs_f64();
        self.checkpoints.seconds[usize::from(checkpoint.iteration > warmup)] += passed;
        let seconds = self.checkpoints.seconds;
        let stored = StoredCheckpoint { checkpoint, seconds };
        // Planted: draws stay in memory that a checkpoint is behind.
        if !planted(Fault::CheckpointAhead) {
            self.hand_over()?;
        }
        self.checkpoints.settled = Arc::new(AtomicBool::new(false));
        self.threads.sync.checkpoint(
            Arc::clone(&self.file),
            self.checkpoints.path.clone(),
            (identity, stored),
            Arc::clone(&self.checkpoints.settled),
        )?;
        self.checkpoints.last = began;
        self.checkpoints.wait = self.checkpoints.least_wait.max(CHECKPOINT_SHARE * began.elapsed());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RunError> {
        self.hand_over()?;
        self.last_write = Instant::now();
        if self.file.write_waiting().is_none() {
            self.state = State::Broken;
            return Err(self.file.error());
        }
        Ok(())
    }

    /// Writes what is left and has it put on the disk, for which
    /// [`RunDirectory::finish`](crate::RunDirectory::finish) waits.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn finish(&mut self) -> Result<(), RunError> {
        if self.state != State::Open {
            return Ok(());
        }
        self.flush()?;
        self.state = State::Finished;
        let (file, size) = self.file.again()?;
        self.threads.sync.add(self.file.path().to_owned(), file, size)
    }
}

impl Drop for ChainWriter {
    /// Somebody else may open the file from now on.
    fn drop(&mut self) {
        self.file.close();
    }
}

/// Warmup draws and draws that a checkpoint is behind.
fn counts(checkpoint: &Checkpoint, record: &RunRecord) -> (u64, u64) {
    let warmup = record.config.warmup;
    (checkpoint.iteration.min(warmup), checkpoint.iteration.saturating_sub(warmup))
}

/// A checkpoint, if the file holds the draws that it is behind and the run is not shorter.
fn behind(
    stored: StoredCheckpoint,
    record: &RunRecord,
    (held_warmup, held_draws): (u64, u64),
) -> Result<StoredCheckpoint, &'static str> {
    let (warmup, draws) = counts(&stored.checkpoint, record);
    let is_held = draws <= held_draws && (!record.save_warmup || warmup <= held_warmup);
    if !is_held && !planted(Fault::CheckpointAhead) {
        return Err("it is behind draws that are not there; the chain begins anew");
    }
    if draws > record.config.draws {
        return Err("it is behind more draws than the run is to have");
    }
    Ok(stored)
}

/// Whole warmup draws and draws of a file; nothing where it has no whole header.
fn held(path: &Path, file: &File, header: &Header) -> Result<Option<(u64, u64)>, RunError> {
    let reader = file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
    let reader = reader.map_err(|e| RunError::read(path, e))?;
    let mut records = match Records::of(BufReader::with_capacity(1 << 16, reader), path, header)? {
        Ok(records) if !records.has_header() => return Ok(None),
        Ok(records) => records,
        Err(NoHeader) => return Err(RunError::malformed(path, "it has no header of exmc's draws")),
    };
    loop {
        match records.next()? {
            Ok(_) => {}
            Err(Stopped::End | Stopped::Cut | Stopped::Damaged | Stopped::Other { .. }) => {
                return Ok(Some(records.counts()));
            }
        }
    }
}
