//! A loop with carried state -> whether its routine or its body keeps the rules.

use std::ops::Range;

use super::{HALVES, Scope, Verifier};
use crate::native::program::{LANES, Place, Region};
use crate::native::run::linear_scan::{LinearScan, MAX_STATES};
use crate::native::run::log_sum_exp_scan::{LogSumExpScan, MAX_PAIRS};
use crate::native::run::scan_loop::{Move, Recurrence, ScanLoop};

impl Verifier<'_> {
    pub(super) fn recurrence(&mut self, scan: &Recurrence) -> Result<(), String> {
        let steps = scan.length.saturating_sub(1);
        self.read(scan.start, 0..scan.width)?;
        let mut read = vec![(scan.start, scan.width)];
        for coefficient in [scan.a, scan.b] {
            let [step, next] = coefficient.strides;
            let len = steps * step + scan.width.saturating_sub(1) * next + 1;
            self.read(coefficient.place, 0..len)?;
            read.push((coefficient.place, len));
        }
        let stacked = scan.length * scan.width;
        let states = [scan.before, scan.after].map(|place| (place, stacked));
        self.chain_results(states.into_iter().chain([(scan.last, scan.width)]), &read)?;
        for &operand in &read {
            Self::apart((scan.state, scan.width), operand)?;
        }
        self.spoil(scan.state, scan.width)
    }

    /// The states that a chain leaves behind, apart from what it has read.
    fn chain_results(
        &mut self,
        results: impl Iterator<Item = (Option<Place>, usize)>,
        read: &[(Place, usize)],
    ) -> Result<(), String> {
        for (place, len) in results {
            let Some(place) = place else { continue };
            for &operand in read {
                Self::apart((place, len), operand)?;
            }
            self.result(place, len)?;
        }
        Ok(())
    }

    pub(super) fn markov(&mut self, scan: &LogSumExpScan) -> Result<(), String> {
        let pairs = scan.from.len();
        if scan.width == 0 || pairs > MAX_PAIRS || !pairs.is_multiple_of(scan.width) {
            return Err(format!("{pairs} pairs of {} states", scan.width));
        }
        if scan.from.iter().any(|&k| k as usize >= scan.width) {
            return Err(format!("a pair is of none of {} states", scan.width));
        }
        self.read(scan.start, 0..scan.width)?;
        let mut read = vec![(scan.start, scan.width)];
        for term in &scan.terms {
            let most = term.index.iter().max().map_or(0, |&k| k as usize + 1);
            let moves = term.stride > 0;
            if term.index.len() != pairs || (moves && most > term.stride) {
                return Err(format!("term {} of {} elements a step", term.place, term.stride));
            }
            let len = if moves { scan.length * term.stride } else { most };
            self.read(term.place, 0..len)?;
            read.push((term.place, len));
            match term.parts {
                Some(parts) => {
                    for place in parts {
                        // Whole vectors of the term and of its parts.
                        let padded = len.next_multiple_of(LANES);
                        let start = term.place.offset as usize;
                        match term.place.region {
                            Region::Arena => self.arena.contains(&(start..start + padded))?,
                            _ => self
                                .shared
                                .contains(&(start * HALVES..(start + padded) * HALVES))?,
                        }
                        self.spoil(place, padded)?;
                    }
                }
                None if moves => return Err(format!("term {} has no parts", term.place)),
                None => {}
            }
        }
        let all = (scan.length + 1) * scan.width;
        for place in scan.parts {
            for &operand in &read {
                Self::apart((place, all), operand)?;
            }
            self.spoil(place, all + LANES - 1 - (all + LANES - 1) % LANES)?;
        }
        if let Some((place, positions)) = &scan.shares {
            if positions.len() != pairs || positions.iter().any(|&k| k as usize >= pairs) {
                return Err(format!("shares of {} of {pairs} pairs", positions.len()));
            }
            self.chain_results([(Some(*place), scan.length * pairs)].into_iter(), &read)?;
        }
        let stacked = scan.length * scan.width;
        let [before, after, last] = scan.states;
        let results = [(before, stacked), (after, stacked), (last, scan.width)];
        self.chain_results(results.into_iter(), &read)
    }

    pub(super) fn mixing(&mut self, scan: &LinearScan) -> Result<(), String> {
        if scan.width > MAX_STATES || scan.terms.len() != scan.width {
            return Err(format!("{} rows of {} states", scan.terms.len(), scan.width));
        }
        let most = scan.terms.iter().flatten().map(|&[weight, _]| weight as usize + 1).max();
        if scan.terms.iter().flatten().any(|&[_, from]| from as usize >= scan.width) {
            return Err(format!("a term is of none of {} states", scan.width));
        }
        let stacked = scan.length * scan.width;
        let weights = scan.length.saturating_sub(1) * scan.stride + most.unwrap_or(0);
        let mut read = vec![(scan.start, scan.width), (scan.weights, weights)];
        read.extend(scan.added.map(|place| (place, stacked)));
        for &(place, len) in &read {
            self.read(place, 0..len)?;
        }
        let [before, after, last] = scan.states;
        let results = [(before, stacked), (after, stacked), (last, scan.width)];
        self.chain_results(results.into_iter(), &read)
    }

    pub(super) fn repeat(&mut self, scan_loop: &ScanLoop) -> Result<(), String> {
        for m in &scan_loop.starts {
            self.copy(m, 1).map_err(|why| format!("start {} to {}: {why}", m.from, m.to))?;
        }
        let from = u32::try_from(self.is_single.len()).unwrap_or(u32::MAX);
        // States are written in every step and read in the next one.
        let states: Vec<Range<usize>> = scan_loop.starts.iter().map(|m| written(m, 1)).collect();
        self.scopes.push(Scope::new(from));
        for m in &scan_loop.reads {
            self.copy(m, scan_loop.length)
                .map_err(|why| format!("row {} to {}: {why}", m.from, m.to))?;
        }
        self.stages(&scan_loop.body)?;
        for m in &scan_loop.writes {
            self.copy(m, scan_loop.length)
                .map_err(|why| format!("{} to {}: {why}", m.from, m.to))?;
        }
        if let Some(mut scope) = self.scopes.pop() {
            let is_state = |range: &Range<usize>| {
                states.iter().any(|state| state.start <= range.start && range.end <= state.end)
            };
            scope.reads.retain(|range| !is_state(range));
            scope.close()?;
        }
        for m in &scan_loop.ends {
            self.copy(m, 1).map_err(|why| format!("end {} to {}: {why}", m.from, m.to))?;
        }
        Ok(())
    }

    /// A copy in each of `steps` steps.
    fn copy(&mut self, m: &Move, steps: usize) -> Result<(), String> {
        let last = steps.saturating_sub(1);
        let line = m.to.step == 0;
        if line && (m.len != 1 || (last > 0 && m.strides[1] != 0)) {
            return Err(format!("{} elements for a line", m.len));
        }
        let len = if m.stretch || line { m.len.min(1) } else { m.len };
        if steps > 0 && len > 0 {
            self.read(m.from, 0..last * m.strides[0] + len)?;
            Self::apart((m.to, m.len), (m.from, len))?;
        }
        let by = self.writer(false);
        let to = written(m, steps);
        self.write_as(m.to, 0..to.len(), by)
    }
}

/// The elements that a copy writes in so many steps.
fn written(m: &Move, steps: usize) -> Range<usize> {
    let start = m.to.offset as usize;
    match steps.checked_sub(1) {
        None => start..start,
        Some(_) if m.to.step == 0 => start..start + LANES,
        Some(last) => start..start + last * m.strides[1] + m.len,
    }
}
