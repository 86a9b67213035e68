//! A run whose recorded values are in memory or stay in their files -> summaries and columns, one
//! block of columns in memory at a time.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;

use exmc_diagnose::{Draws, Summariser, Summary, Warning};
use exmc_infer::RunPhase;

use crate::error::RunError;
use crate::labels::{ChainMoments, switched};
use crate::parallel::{in_parallel, in_parallel_with};
use crate::posterior::Variable;
use crate::read::{StoredRun, open_chain};
use crate::record::{FLAGS, HEADER_SIZE, is_warmup, place_of, record_size};

/// Bytes of recorded values that are in memory at once, unless one column has more.
pub(crate) const BLOCK_BYTES: usize = 64 << 20;

/// Records up to this size are read whole, one after the other, where a part of each is asked for:
/// to skip the rest of a few pages costs more than to read it.
const READ_WHOLE: usize = 1 << 14;

impl StoredRun {
    /// Whether recorded values are in memory, and not only in the run's files.
    pub fn has_values(&self) -> bool {
        self.has_values
    }

    /// Every column's name and summary, as [`Posterior::summary`](crate::Posterior::summary) of all
    /// draws in memory has them.
    ///
    /// # Errors
    /// When a file cannot be read, or holds fewer draws than when the run was opened.
    pub fn summary(&self) -> Result<Vec<(String, Summary)>, RunError> {
        self.summary_of_first(usize::MAX)
    }

    /// The same of the first draws of each chain, at most so many.
    ///
    /// # Errors
    /// As [`summary`](Self::summary).
    pub fn summary_of_first(&self, most: usize) -> Result<Vec<(String, Summary)>, RunError> {
        let usable = self.posterior.usable_chains();
        let n = usable.iter().map(|c| c.infos.len()).min().unwrap_or(0).min(most);
        let numbers: Vec<u32> = usable.iter().map(|c| c.chain).collect();
        if n == 0 {
            return Ok(Vec::new());
        }
        let variables = &self.posterior.variables;
        let total = variables.iter().map(Variable::len).sum();
        let mut names =
            variables.iter().flat_map(|v| (0..v.len()).map(move |flat| v.column_name(flat)));
        let mut all = Vec::with_capacity(total);
        let bytes = if self.has_values { usize::MAX } else { self.block_bytes };
        for columns in blocks(total, n * numbers.len(), bytes) {
            let width = columns.len();
            let read = match self.has_values {
                true => Vec::new(),
                false => self.columns(&numbers, columns, n)?,
            };
            let chains: Vec<&[f64]> = match self.has_values {
                true => usable.iter().map(|chain| &chain.values[..n * width]).collect(),
                false => read.iter().map(Vec::as_slice).collect(),
            };
            let made = in_parallel_with(width, Summariser::new, |summariser, column| {
                Some(summariser.summary(&Draws::column(&chains, width, column).ok()?))
            });
            let named = made.into_iter().zip(names.by_ref());
            all.extend(named.filter_map(|(summary, name)| Some((name, summary?))));
        }
        Ok(all)
    }

    /// The first `n` draws of some columns, `[draw, column]` for each of the chains.
    ///
    /// # Errors
    /// When a file cannot be read, or holds fewer draws.
    pub fn columns(
        &self,
        chains: &[u32],
        columns: Range<usize>,
        n: usize,
    ) -> Result<Vec<Vec<f64>>, RunError> {
        let width: usize = self.posterior.variables.iter().map(Variable::len).sum();
        let read = in_parallel(chains.len(), |k| {
            if columns.len() < width {
                return self.slices(chains[k], columns.clone(), (n, width));
            }
            let mut values = Vec::with_capacity(n * columns.len());
            self.rows(chains[k], RunPhase::Sampling, n, |row| {
                values.extend_from_slice(&row[columns.clone()]);
            })?;
            Ok(values)
        });
        read.into_iter().collect()
    }

    /// The first `n` draws of some columns of a chain, each read where it stands: all blocks of
    /// columns together read a file once. Checksums were checked when the run was opened.
    fn slices(
        &self,
        chain: u32,
        columns: Range<usize>,
        (n, width): (usize, usize),
    ) -> Result<Vec<f64>, RunError> {
        let path = self.path.join(crate::directory::chain_file(chain));
        let unreadable = |error: std::io::Error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                RunError::malformed(&path, "draws that were there are gone")
            }
            _ => RunError::read(&path, error),
        };
        let mut file = File::open(&path).map_err(|e| RunError::read(&path, e))?;
        let (mut values, mut left) = (Vec::with_capacity(n * columns.len()), n);
        if record_size(width) <= READ_WHOLE {
            let mut file = BufReader::with_capacity(1 << 20, file);
            let mut record = vec![0; record_size(width)];
            file.seek_relative(HEADER_SIZE as i64).map_err(unreadable)?;
            while left > 0 {
                file.read_exact(&mut record).map_err(unreadable)?;
                let flags = record[FLAGS..].first_chunk().expect("a record has its flags");
                if !is_warmup(*flags) {
                    let part = &record[place_of(columns.start)..place_of(columns.end)];
                    let numbers = part.as_chunks::<8>().0.iter();
                    values.extend(numbers.map(|number| f64::from_le_bytes(*number)));
                    left -= 1;
                }
            }
            return Ok(values);
        }
        let mut read_at = |place: usize, bytes: &mut [u8]| {
            let read =
                file.seek(SeekFrom::Start(place as u64)).and_then(|_| file.read_exact(bytes));
            read.map_err(unreadable)
        };
        let mut bytes = vec![0; 8 * columns.len()];
        let mut place = HEADER_SIZE;
        while left > 0 {
            let mut flags = [0; 4];
            read_at(place + FLAGS, &mut flags)?;
            if !is_warmup(flags) {
                read_at(place + place_of(columns.start), &mut bytes)?;
                let numbers = bytes.as_chunks::<8>().0.iter();
                values.extend(numbers.map(|number| f64::from_le_bytes(*number)));
                left -= 1;
            }
            place += record_size(width);
        }
        Ok(values)
    }

    /// As [`Posterior::label_switching`](crate::Posterior::label_switching) of all draws in memory.
    ///
    /// # Errors
    /// As [`summary`](Self::summary).
    pub fn label_switching(&self) -> Result<Option<Warning>, RunError> {
        if self.has_values {
            return Ok(self.posterior.label_switching());
        }
        let usable = self.posterior.usable_chains();
        let variables: &[Variable] = &self.posterior.variables;
        let read = in_parallel(usable.len(), |k| {
            let mut moments = ChainMoments::new(usable[k].chain, variables);
            if !moments.is_empty() {
                let n = usable[k].infos.len();
                self.rows(usable[k].chain, RunPhase::Sampling, n, |row| moments.push(row))?;
            }
            Ok(moments)
        });
        let moments = read.into_iter().collect::<Result<Vec<_>, RunError>>()?;
        Ok(switched(variables, &moments))
    }

    /// Hands the recorded values of the first `n` draws of a phase to a closure, row by row.
    pub(crate) fn rows(
        &self,
        chain: u32,
        phase: RunPhase,
        n: usize,
        mut take: impl FnMut(&[f64]),
    ) -> Result<(), RunError> {
        let mut records = open_chain(&self.path, chain, &self.record)?;
        let mut left = n;
        while left > 0 {
            let Ok((record, values)) = records.next()? else {
                let path = self.path.join(crate::directory::chain_file(chain));
                return Err(RunError::malformed(&path, "draws that were there are gone"));
            };
            if record.phase == phase {
                take(values);
                left -= 1;
            }
        }
        Ok(())
    }
}

/// Parts of the columns whose values fit into so many bytes, each of one column at least.
fn blocks(width: usize, rows: usize, bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let each = (bytes / (8 * rows.max(1))).clamp(1, width.max(1));
    (0..width).step_by(each).map(move |first| first..width.min(first + each))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_columns_once() {
        let one = |range: Range<usize>| vec![range];
        let all: Vec<Range<usize>> = blocks(10, 100, 3 * 800 + 1).collect();
        assert_eq!(all, [0..3, 3..6, 6..9, 9..10]);
        assert_eq!(blocks(2, 1 << 40, 1).collect::<Vec<_>>(), [0..1, 1..2]);
        assert_eq!(blocks(7, 1, usize::MAX).collect::<Vec<_>>(), one(0..7));
        assert_eq!(blocks(0, 5, 100).count(), 0);
    }
}
