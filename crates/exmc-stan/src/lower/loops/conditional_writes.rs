//! What an iteration's own copy of a variable is given under conditions on parameters -> where it
//! has a value.
//!
//! A copy begins without values. What is written to it under a condition has a value only there,
//! and a read must stand under the condition too; any other needs what another iteration left, so
//! that the loop runs one by one ([`Abort::Carried`]).

use super::lanes::Mask;
use crate::lower::Lowering;
use crate::lower::abort::{Abort, LowerResult};
use crate::lower::variables::lane_value::LaneValue;
use crate::lower::variables::store::{Addresses, Cells, NEVER, Storage};
use crate::typed::VariableId;

/// Under how many different conditions elements may have been given values: each write is compared
/// with all of them, and loops within loops make thousands.
const MAX_CONDITIONS: usize = 64;

/// Elements that have a value only under conditions on parameters.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Partly {
    /// Their addresses, ascending.
    addresses: Vec<u32>,
    /// They have a value where all masks of one of these hold.
    under: Vec<Vec<Mask>>,
}

impl Partly {
    fn overlaps(&self, flat: &[u32]) -> bool {
        flat.iter().any(|address| self.addresses.binary_search(address).is_ok())
    }

    /// Whether the elements have a value where all of these masks hold.
    fn holds_under(&self, masks: &[Mask]) -> bool {
        self.under.iter().any(|all| all.iter().all(|mask| masks.contains(mask)))
    }
}

impl Storage {
    /// That elements have a value, whatever parameters are.
    pub(in crate::lower) fn is_given(&mut self, flat: &[u32]) {
        if self.partly.is_empty() {
            return;
        }
        let mut given = flat.to_vec();
        given.sort_unstable();
        for partly in &mut self.partly {
            partly.addresses.retain(|address| given.binary_search(address).is_err());
        }
        self.partly.retain(|partly| !partly.addresses.is_empty());
    }

    /// Whether elements have a value under the masks in force, of all that are.
    pub(in crate::lower) fn has_value(&self, flat: &[u32], masks: &[Mask]) -> bool {
        let here = masks.get(self.masks..).unwrap_or(&[]);
        self.partly.iter().all(|partly| partly.holds_under(here) || !partly.overlaps(flat))
    }

    /// How many of the elements were never given a value, under any condition.
    fn never_given(&self, flat: &[u32]) -> usize {
        let Cells::Mixed { cells, .. } = &self.cells else { return 0 };
        flat.iter().filter(|address| cells[**address as usize].source == NEVER).count()
    }
}

impl Lowering<'_> {
    /// What elements hold once a value was written to them where the masks hold that were put in
    /// force since the variable's place was made; `mask` is all of these.
    pub(in crate::lower) fn merged(
        &mut self,
        id: VariableId,
        addresses: &Addresses,
        value: LaneValue,
        mask: &LaneValue,
    ) -> LowerResult<LaneValue> {
        let Some(mut storage) = self.env.stores[id.0 as usize].take() else {
            unreachable!("callers looked it up");
        };
        let under = self.env.masks.get(storage.masks..).unwrap_or(&[]).to_vec();
        let (level, never) = (storage.level, storage.never_given(&addresses.flat));
        let noted = match never {
            0 => self.note_more(&mut storage, &addresses.flat, under),
            n if n == addresses.flat.len() => {
                let mut sorted = addresses.flat.clone();
                sorted.sort_unstable();
                sorted.dedup();
                storage.partly.push(Partly { addresses: sorted, under: vec![under] });
                true
            }
            _ => false,
        };
        self.env.stores[id.0 as usize] = Some(storage);
        if !noted {
            return Err(Abort::Carried { level, variable: Some(id), private: false });
        }
        // Where there was nothing before there is nothing to keep.
        if never > 0 {
            return Ok(value);
        }
        let old = self.read_unchecked(id, addresses)?;
        Ok(self.blend(mask, &value, &old))
    }

    /// Notes that elements have a value under these masks too; no where that cannot be said.
    fn note_more(&mut self, storage: &mut Storage, flat: &[u32], under: Vec<Mask>) -> bool {
        if storage.partly.is_empty() {
            return true;
        }
        let mut sorted = flat.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        for partly in &mut storage.partly {
            if partly.holds_under(&under) || !partly.overlaps(&sorted) {
                continue;
            }
            if partly.addresses != sorted {
                return false;
            }
            partly.under.push(under.clone());
            self.join_opposites(&mut partly.under);
            if partly.under.len() > MAX_CONDITIONS {
                return false;
            }
        }
        storage.partly.retain(|partly| !partly.under.iter().any(Vec::is_empty));
        true
    }

    /// Conditions that differ in one mask and its opposite become one without it.
    fn join_opposites(&mut self, under: &mut Vec<Vec<Mask>>) {
        while let Some((a, b, position)) = self.opposites(under) {
            let mut joined = under[a].clone();
            joined.remove(position);
            under.remove(b);
            under[a] = joined;
        }
    }

    fn opposites(&mut self, under: &[Vec<Mask>]) -> Option<(usize, usize, usize)> {
        for (a, first) in under.iter().enumerate() {
            for (b, second) in under.iter().enumerate().skip(a + 1) {
                if first.len() != second.len() {
                    continue;
                }
                let mut differ = (0..first.len()).filter(|k| first[*k] != second[*k]);
                if let (Some(position), None) = (differ.next(), differ.next())
                    && self.is_opposite(first[position], second[position])
                {
                    return Some((a, b, position));
                }
            }
        }
        None
    }

    fn is_opposite(&mut self, a: Mask, b: Mask) -> bool {
        let same = (a.lanes, a.level) == (b.lanes, b.level);
        same && (self.sink.graph.not(a.node) == b.node || self.sink.graph.not(b.node) == a.node)
    }
}
