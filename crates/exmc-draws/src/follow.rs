//! A chain's file that somebody else writes -> the draws that came since the last look.
//!
//! Only files are looked at, so that the run may be one of another machine on a shared disk. A file
//! is opened anew for each look, for a network's disk may show an old one otherwise.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use exmc_infer::{Info, RunPhase};

use crate::checkpoint::{self, Identity};
use crate::directory::{FORMAT_VERSION, chain_file, checkpoint_file};
use crate::error::RunError;
use crate::record::{HEADER_SIZE, Header, columns_hash, decode, record_size};
use crate::run_file::RunRecord;

/// Follows one chain of a run.
#[derive(Debug)]
pub struct ChainFollower {
    path: PathBuf,
    checkpoint: PathBuf,
    identity: Option<Identity>,
    header: Header,
    /// Bytes that were read; 0 before the header was.
    offset: u64,
    /// Warmup draws and draws that were read.
    counts: [u64; 2],
}

/// What a look found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Draws that were handed on.
    pub draws: u64,
    /// Whether the file was cut back or is another one, so that they are the first ones again.
    pub anew: bool,
}

/// Where a chain stood when its checkpoint was written.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Mark {
    /// Draws that it had made, warmup included.
    pub iteration: u64,
    /// Its step size.
    pub step_size: f64,
    /// Leapfrog steps, warmup included.
    pub leapfrogs: u64,
}

impl ChainFollower {
    /// Follows a chain from its first draw on.
    pub fn new(directory: &Path, record: &RunRecord, chain: u32) -> Self {
        let width = record.variables.iter().map(|v| v.len() as u64).sum();
        let columns = columns_hash(&record.variables);
        Self {
            path: directory.join(chain_file(chain)),
            checkpoint: directory.join(checkpoint_file(chain)),
            identity: record.identity(),
            header: Header { version: FORMAT_VERSION as u32, chain, width, columns },
            offset: 0,
            counts: [0; 2],
        }
    }

    /// Hands the draws that came since the last look to a closure: phase, what the sampler said and
    /// recorded values. A file that is not there yet has none.
    ///
    /// # Errors
    /// When the file cannot be read, or belongs to another run.
    pub fn look(
        &mut self,
        mut take: impl FnMut(RunPhase, &Info, &[f64]),
    ) -> Result<Found, RunError> {
        let unreadable = |e| RunError::read(&self.path, e);
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::default()),
            Err(error) => return Err(unreadable(error)),
        };
        let length = file.metadata().map_err(unreadable)?.len();
        let mut found = Found::default();
        if length < self.offset {
            (self.offset, self.counts, found.anew) = (0, [0; 2], true);
        }
        if length < HEADER_SIZE as u64 {
            return Ok(found);
        }
        if self.offset == 0 {
            let mut bytes = [0; HEADER_SIZE];
            file.read_exact(&mut bytes).map_err(unreadable)?;
            if Header::decode(&bytes) != Some(self.header) {
                return Err(RunError::malformed(&self.path, "it belongs to another run"));
            }
            self.offset = HEADER_SIZE as u64;
        }
        file.seek(SeekFrom::Start(self.offset)).map_err(unreadable)?;
        let size = record_size(self.header.width as usize);
        let (mut bytes, mut values) = (vec![0; size], Vec::new());
        let mut reader = BufReader::with_capacity(1 << 16, file);
        while self.offset + size as u64 <= length {
            match reader.read_exact(&mut bytes) {
                Ok(()) => {}
                // It was cut back meanwhile.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(unreadable(error)),
            }
            values.clear();
            // One that is not whole is looked at again.
            let Some(record) = decode(&bytes, &mut values) else { break };
            let count = &mut self.counts[usize::from(record.phase == RunPhase::Sampling)];
            if record.index != *count {
                break;
            }
            *count += 1;
            self.offset += size as u64;
            found.draws += 1;
            take(record.phase, &record.info, &values);
        }
        Ok(found)
    }

    /// Where the chain stood at its last checkpoint; nothing where there is none of this run.
    pub fn mark(&self) -> Option<Mark> {
        let bytes = fs::read(&self.checkpoint).ok()?;
        let stored = checkpoint::decode(&bytes, &self.identity?, self.header.chain).ok()?;
        let checkpoint = stored.checkpoint;
        Some(Mark {
            iteration: checkpoint.iteration,
            step_size: checkpoint.step_size,
            leapfrogs: checkpoint.leapfrogs,
        })
    }
}
