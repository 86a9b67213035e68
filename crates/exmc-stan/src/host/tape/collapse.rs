//! Loops that write more than fits: what their iterations wrote becomes the derivatives of the few
//! numbers that later statements can still read.
//!
//! A statement reads variables and the density so far. Between two iterations nothing else refers
//! to what was written since the loop began: values that are half computed are older, as their
//! expressions were begun before the loop. So the tape from there on is replaced by one number for
//! each live one, and memory does not grow with the number of iterations, if few are live.

use crate::host::error::{Fault, FaultKind, Outcome};
use crate::source::Span;
use crate::typed::VariableId;

use super::Tracer;
use super::record::Id;
use super::traced::{flatten, in_form};

/// What is written until a loop is looked at, by default: a reverse sweep over as much stays in the
/// processor's caches.
pub(super) const COLLAPSE_AFTER: usize = 1 << 20;
/// The most bytes of a tape, by default: 2^27 operations on one number each. Chains have a tape
/// each.
pub(super) const MAX_BYTES: u64 = 2 << 30;
/// Numbers that may be live; each costs a sweep.
const INLINE_ARGUMENTS: usize = 16;
/// The same where a quarter of the memory is in use.
const MIN_COLLAPSED: usize = 128;

/// A loop that runs.
pub(super) struct Watched {
    mark: Id,
    /// The size of the tape when it began, and at which it is looked at next.
    begin: usize,
    next: usize,
}

impl Tracer<'_> {
    /// A loop begins.
    pub(super) fn watch(&self) -> Watched {
        let (mark, begin) = (self.tape.mark(), self.tape.size());
        Watched { mark, begin, next: self.next_look(mark, begin, 0) }
    }

    /// When to look again: a look costs as much as there is before the loop, and as it leaves.
    fn next_look(&self, mark: Id, size: usize, left: usize) -> usize {
        match self.collapse_after {
            0 => 0,
            after => size + after.min(COLLAPSE_AFTER).max(mark as usize).max(left),
        }
    }

    /// Between two iterations: makes room on the tape, or says that there is none.
    pub(super) fn make_room(&mut self, watched: &mut Watched, span: Span) -> Outcome<()> {
        if self.tape.size() < watched.next && self.tape.bytes() < self.most_bytes {
            return Ok(());
        }
        if self.collapse_after < usize::MAX {
            self.collapse(watched.mark);
        }
        let size = self.tape.size();
        let left = size.saturating_sub(watched.begin);
        watched.next = self.next_look(watched.mark, size, left);
        if self.tape.bytes() < self.most_bytes {
            return Ok(());
        }
        let most = self.most_bytes >> 20;
        let message = format!(
            "the operations of one evaluation need more memory than the interpreter's tape may take ({most} MiB)"
        );
        Err(Fault::new(FaultKind::Limit, message).at(span))
    }

    /// Replaces what was written from `mark` on, if few of its numbers are live.
    fn collapse(&mut self, mark: Id) {
        let is_scarce = self.tape.bytes() > self.most_bytes / 4;
        let most = if is_scarce { MIN_COLLAPSED } else { INLINE_ARGUMENTS };
        let (mut live, mut variables) = (Vec::new(), Vec::new());
        live.extend((self.target >= mark).then_some(self.target));
        let mut places = Vec::new();
        for (variable, ids) in self.ids.known() {
            places.clear();
            flatten(ids, &mut places);
            let before = live.len();
            live.extend(places.iter().map(|id| *id as Id).filter(|id| *id >= mark));
            if live.len() > before {
                variables.push(variable);
            }
        }
        live.sort_unstable();
        live.dedup();
        if live.len() > most {
            return;
        }
        let mut new = live.clone();
        self.tape.collapse(mark, &mut new, &mut self.scratch);
        if let Ok(k) = live.binary_search(&self.target) {
            self.target = new[k];
        }
        let moved = |id: Id| live.binary_search(&id).map_or(id, |k| new[k]);
        for variable in variables {
            rename(&mut self.ids, variable, &moved);
        }
    }
}

/// Gives the numbers of a variable their new places.
fn rename(
    ids: &mut crate::host::environment::Environment,
    variable: VariableId,
    moved: &dyn Fn(Id) -> Id,
) {
    let Some(old) = ids.take(variable) else { return };
    let mut places = Vec::new();
    flatten(&old, &mut places);
    let mut places = places.into_iter();
    let new = in_form(&old, &mut || f64::from(moved(places.next().unwrap_or(0.0) as Id)));
    ids.set(variable, new);
}
