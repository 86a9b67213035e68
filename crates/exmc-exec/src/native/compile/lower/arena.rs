//! The arena: lengths -> offsets, where long arrays take the memory of those that nobody reads any
//! more.
//!
//! A value's memory is given back when the last stage that reads it has been lowered, so that only
//! later stages take it. Short arrays keep places of their own: straight lines of instructions hold
//! them in registers and rely on one value a place.

use crate::native::program::LANES;

/// Elements of an array up to which its memory is not taken by others.
const MAX_SHORT_ARRAY: usize = 64;

/// Memory of one instance, counted in elements.
#[derive(Debug)]
pub(super) struct Arena {
    /// Where it ends.
    end: usize,
    /// Parts that may be taken, by offset: first element and length; no two are neighbours.
    free: Vec<(usize, usize)>,
    reuse: Reuse,
}

/// Whether memory that nobody reads any more is given to other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Reuse {
    Allowed,
    /// Every value has memory of its own: what a program with less memory is compared with.
    Never,
}

/// Memory of `len` elements: whole lines, and one more so that a part of it may be read to the end
/// of a line.
pub(super) fn lines(len: usize) -> usize {
    if len == 1 { LANES } else { len.next_multiple_of(LANES) + LANES }
}

impl Arena {
    /// One that begins at an offset.
    pub(super) fn starting_at(end: usize, reuse: Reuse) -> Self {
        Self { end, free: Vec::new(), reuse }
    }

    pub(super) fn reuse(&self) -> Reuse {
        self.reuse
    }

    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Memory that nobody had before, and that lies behind all that was reserved before.
    pub(super) fn reserve(&mut self, len: usize) -> usize {
        let offset = self.end;
        self.end += lines(len);
        offset
    }

    /// Leaves what lies before an offset to others.
    pub(super) fn extend_to(&mut self, end: usize) {
        self.end = self.end.max(end);
    }

    /// Memory for `len` elements: of the free parts the smallest that is large enough, if there is
    /// one.
    pub(super) fn take(&mut self, len: usize) -> usize {
        let wanted = lines(len);
        let fits = |&(_, &(_, len)): &(usize, &(usize, usize))| len >= wanted;
        let free = self.free.iter().enumerate().filter(fits);
        match free.min_by_key(|&(_, &(offset, len))| (len, offset)) {
            Some((k, &(offset, _))) if len > MAX_SHORT_ARRAY => {
                let (first, rest) = &mut self.free[k];
                (*first, *rest) = (*first + wanted, *rest - wanted);
                if *rest == 0 {
                    self.free.remove(k);
                }
                offset
            }
            _ => self.reserve(len),
        }
    }

    /// Gives the memory of `len` elements back.
    pub(super) fn give_back(&mut self, offset: usize, len: usize) {
        if len <= MAX_SHORT_ARRAY || self.reuse == Reuse::Never {
            return;
        }
        let k = self.free.partition_point(|&(first, _)| first < offset);
        self.free.insert(k, (offset, lines(len)));
        let joins = |k: usize, free: &[(usize, usize)]| {
            free.get(k + 1).is_some_and(|&(next, _)| free[k].0 + free[k].1 == next)
        };
        for k in [Some(k), k.checked_sub(1)].into_iter().flatten() {
            if joins(k, &self.free) {
                let (_, len) = self.free.remove(k + 1);
                self.free[k].1 += len;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_once_at_a_time_and_parts_join() {
        let mut arena = Arena::starting_at(LANES, Reuse::Allowed);
        let places = [100, 200, 300].map(|len| arena.take(len));
        let end = arena.end();
        assert_eq!(places, [8, 8 + 112, 8 + 112 + 208]);
        arena.give_back(places[0], 100);
        arena.give_back(places[2], 300);
        // The smallest that is large enough.
        assert_eq!(arena.take(90), places[0]);
        assert_eq!(arena.take(101), places[2]);
        assert_eq!(arena.take(101), places[2] + 112);
        // Both halves and what is between are one part again.
        arena.give_back(places[2] + 112, 101);
        arena.give_back(places[0], 90);
        arena.give_back(places[2], 101);
        arena.give_back(places[1], 200);
        assert_eq!(arena.free, [(8, end - 8)]);
        assert_eq!(arena.take(end - 16), 8);
        assert_eq!((arena.take(100), arena.end()), (end, end + 112));
    }

    #[test]
    fn short_arrays_have_places_of_their_own() {
        let mut arena = Arena::starting_at(0, Reuse::Allowed);
        let [long, short] = [100, MAX_SHORT_ARRAY].map(|len| arena.take(len));
        arena.give_back(short, MAX_SHORT_ARRAY);
        arena.give_back(long, 100);
        assert_eq!(arena.take(MAX_SHORT_ARRAY), 112 + 72);
        // What is reserved lies behind everything.
        assert_eq!(arena.reserve(100), 112 + 144);
    }
}
