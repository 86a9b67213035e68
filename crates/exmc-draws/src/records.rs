//! A chain's file -> its whole draws, one at a time, and why there are no more.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use exmc_infer::RunPhase;

use crate::directory::FORMAT_VERSION;
use crate::error::RunError;
use crate::record::{HEADER_SIZE, Header, Record, decode, record_size};

/// Reads draws from a file.
pub(crate) struct Records<R> {
    reader: R,
    path: PathBuf,
    bytes: Vec<u8>,
    values: Vec<f64>,
    warmup: u64,
    draws: u64,
    has_header: bool,
}

/// Why there are no more draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The file ends.
    End,
    /// It ends in the middle of a draw.
    Cut,
    /// The next record's checksum is wrong.
    Damaged,
    /// The next record is whole, but another draw than the next one.
    Other { found: u64, expected: u64 },
}

/// That a file begins with something else than a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoHeader;

impl<R: Read> Records<R> {
    /// Reads the header, which must be the expected one. A file that ends before its header does
    /// has no draws: its process was killed before the first one.
    pub(crate) fn of(
        mut reader: R,
        path: &Path,
        expected: &Header,
    ) -> Result<Result<Self, NoHeader>, RunError> {
        let mut bytes = [0; HEADER_SIZE];
        let n = read_full(&mut reader, &mut bytes).map_err(|e| RunError::read(path, e))?;
        let has_header = n == HEADER_SIZE;
        match Header::decode(&bytes[..n]) {
            Some(header) if u64::from(header.version) != FORMAT_VERSION => {
                return Err(RunError::version(path, header.version.into()));
            }
            Some(header) if header != *expected => {
                return Err(RunError::malformed(path, "it belongs to another run"));
            }
            None if has_header || !expected.encode().starts_with(&bytes[..n]) => {
                return Ok(Err(NoHeader));
            }
            _ => {}
        }
        let width = expected.width as usize;
        let (bytes, values) = (vec![0; record_size(width)], Vec::with_capacity(width));
        let path = path.to_owned();
        Ok(Ok(Self { reader, path, bytes, values, warmup: 0, draws: 0, has_header }))
    }

    /// Whether there is a whole header.
    pub(crate) fn has_header(&self) -> bool {
        self.has_header
    }

    /// The next draw and its recorded values. After there are no more it must not be called again.
    pub(crate) fn next(&mut self) -> Result<Result<(Record, &[f64]), Stopped>, RunError> {
        let n = read_full(&mut self.reader, &mut self.bytes);
        match n.map_err(|e| RunError::read(&self.path, e))? {
            0 if !self.bytes.is_empty() => return Ok(Err(Stopped::End)),
            n if n < self.bytes.len() => return Ok(Err(Stopped::Cut)),
            _ => {}
        }
        self.values.clear();
        let Some(record) = decode(&self.bytes, &mut self.values) else {
            return Ok(Err(Stopped::Damaged));
        };
        let count = match record.phase {
            RunPhase::Warmup => &mut self.warmup,
            RunPhase::Sampling => &mut self.draws,
        };
        if record.index != *count {
            return Ok(Err(Stopped::Other { found: record.index, expected: *count }));
        }
        *count += 1;
        Ok(Ok((record, &self.values)))
    }

    /// Warmup draws and draws so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.warmup, self.draws)
    }
}

/// Reads until the buffer is full or the file ends; returns how much there was.
fn read_full(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
