//! Reads and writes of a program -> who wrote each element, or which rule a place breaks.

use std::collections::BTreeMap;
use std::ops::Range;

/// A part of memory and who wrote it last.
#[derive(Clone, Copy, Debug)]
struct Written {
    end: usize,
    by: u32,
    /// Where that writer's array begins.
    first: usize,
}

/// One region of memory, of which every element has been written by somebody or by nobody.
#[derive(Debug, Default)]
pub(super) struct Region {
    len: usize,
    /// By first element; no two overlap.
    written: BTreeMap<usize, Written>,
}

/// What reading some elements found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Who wrote all of them.
    pub(super) by: u32,
    /// Where that writer's array begins.
    pub(super) first: usize,
}

impl Region {
    pub(super) fn new(len: usize) -> Self {
        Self { len, written: BTreeMap::new() }
    }

    /// Whether elements are inside the region.
    ///
    /// # Errors
    /// When they are not.
    pub(super) fn contains(&self, range: &Range<usize>) -> Result<(), String> {
        if range.start <= range.end && range.end <= self.len {
            return Ok(());
        }
        Err(format!("elements {range:?} are outside of a region of {}", self.len))
    }

    /// Who wrote elements, of which there is at least one.
    ///
    /// # Errors
    /// When one of them was not written, or by another than the first one.
    pub(super) fn read(&self, range: &Range<usize>) -> Result<Found, String> {
        self.contains(range)?;
        let mut position = range.start;
        let mut found: Option<Found> = None;
        let before = self.written.range(..=position).next_back();
        let after = self.written.range(position + 1..range.end.max(position + 1));
        for (&start, written) in before.into_iter().chain(after) {
            if written.end <= position {
                continue;
            }
            if start > position {
                break;
            }
            let known = found.get_or_insert(Found { by: written.by, first: written.first });
            if known.by != written.by {
                return Err(format!(
                    "elements {range:?} are of two arrays, from {position} on of another"
                ));
            }
            position = written.end;
        }
        match found {
            Some(found) if position >= range.end => Ok(found),
            _ => Err(format!("element {position} of {range:?} is read before it is written")),
        }
    }

    /// The writers of which elements are overwritten.
    pub(super) fn overlapping(&self, range: &Range<usize>) -> impl Iterator<Item = u32> {
        let before = self.written.range(..=range.start).next_back();
        let before = before.filter(|(_, written)| written.end > range.start);
        let after = self.written.range(range.start + 1..range.end.max(range.start + 1));
        before.into_iter().chain(after).map(|(_, written)| written.by)
    }

    /// From now on nobody has written these elements.
    pub(super) fn forget(&mut self, range: &Range<usize>) {
        let before = self.written.range(..range.start).next_back().map(|(&k, &w)| (k, w));
        if let Some((start, written)) = before
            && written.end > range.start
        {
            self.written.insert(start, Written { end: range.start, ..written });
            if written.end > range.end {
                self.written.insert(range.end, written);
            }
        }
        let inside: Vec<usize> = self.written.range(range.clone()).map(|(&k, _)| k).collect();
        for start in inside {
            if let Some(written) = self.written.remove(&start)
                && written.end > range.end
            {
                self.written.insert(range.end, written);
            }
        }
    }

    /// From now on these elements were written by `by`, whose array begins at `first`.
    ///
    /// # Errors
    /// When they are not inside the region.
    pub(super) fn write(
        &mut self,
        range: &Range<usize>,
        by: u32,
        first: usize,
    ) -> Result<(), String> {
        self.contains(range)?;
        if !range.is_empty() {
            self.forget(range);
            self.written.insert(range.start, Written { end: range.end, by, first });
        }
        Ok(())
    }
}

/// A part of a program that runs more than once: what it reads of before must not be written in it.
#[derive(Debug)]
pub(super) struct Scope {
    /// Writers from this one on are inside.
    pub(super) from: u32,
    pub(super) reads: Vec<Range<usize>>,
    pub(super) writes: Vec<Range<usize>>,
}

impl Scope {
    pub(super) fn new(from: u32) -> Self {
        Self { from, reads: Vec::new(), writes: Vec::new() }
    }

    /// Whether nothing that is read is written.
    ///
    /// # Errors
    /// When something is.
    pub(super) fn close(mut self) -> Result<(), String> {
        self.reads.sort_by_key(|range| range.start);
        self.writes.sort_by_key(|range| range.start);
        // The read that reaches furthest of those that begin before a write ends.
        let mut reads = self.reads.iter().peekable();
        let mut open: Vec<&Range<usize>> = Vec::new();
        for write in self.writes.iter().filter(|range| !range.is_empty()) {
            while let Some(read) = reads.next_if(|read| read.start < write.end) {
                open.push(read);
            }
            open.retain(|read| read.end > write.start);
            if let Some(read) = open.iter().find(|read| read.start < write.end) {
                return Err(format!("a loop writes {write:?} of what it reads at {read:?}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_has_one_writer() {
        let mut region = Region::new(100);
        region.write(&(10..30), 1, 10).unwrap();
        assert_eq!(region.read(&(10..30)), Ok(Found { by: 1, first: 10 }));
        assert!(region.read(&(9..11)).unwrap_err().contains("before it is written"));
        assert!(region.read(&(29..31)).unwrap_err().contains("element 30"));
        region.write(&(20..24), 2, 20).unwrap();
        assert!(region.read(&(10..30)).unwrap_err().contains("two arrays"));
        assert_eq!(region.read(&(24..30)), Ok(Found { by: 1, first: 10 }));
        region.forget(&(15..22));
        assert_eq!(region.read(&(22..24)), Ok(Found { by: 2, first: 20 }));
        assert!(region.read(&(14..16)).is_err());
        assert_eq!(region.overlapping(&(0..100)).collect::<Vec<_>>(), [1, 2, 1]);
        assert!(region.write(&(99..101), 3, 99).unwrap_err().contains("outside"));
    }

    #[test]
    fn a_loop_must_not_write_what_it_reads_of_before() {
        let scope = |reads: &[Range<usize>], writes: &[Range<usize>]| {
            Scope { from: 0, reads: reads.to_vec(), writes: writes.to_vec() }.close()
        };
        assert!(scope(&[0..8, 8..16], &[16..24, 40..48]).is_ok());
        assert!(scope(&[0..100, 8..16], &[50..51, 900..901]).is_err());
        assert!(scope(&[0..8, 30..40], &[8..16, 39..50]).is_err());
        assert!(scope(&[20..28, 99..99], &[0..8, 28..36]).is_ok());
    }
}
