//! A loop over blocks -> whether its instructions keep the rules.

use std::ops::Range;

use exmc_graph::Precision;

use super::{HALVES, SINGLES, Scope, Verifier};
use crate::native::compile::loop_ir::{Index, NOTHING};
use crate::native::compile::registers::reads_before_writing;
use crate::native::emit;
use crate::native::program::{Code, Extra, Instruction, LANES, Loop, Place, Region, Slots, print};

impl Verifier<'_> {
    pub(super) fn loop_over(&mut self, stage: &Loop) -> Result<(), String> {
        if !stage.block.is_multiple_of(LANES) || stage.block == 0 {
            return Err(format!("blocks of {}", stage.block));
        }
        if stage.single && stage.n > LANES {
            return Err(format!("a single vector of {} elements", stage.n));
        }
        let several = stage.n > stage.block;
        let from = u32::try_from(self.is_single.len()).unwrap_or(u32::MAX);
        if several {
            self.scopes.push(Scope::new(from));
        }
        let mut pieces = Pieces::default();
        for i in &stage.body {
            let mut of_loop = InLoop { stage, several, from, pieces: &mut pieces };
            let checked = self.instruction(&mut of_loop, i);
            checked.map_err(|why| format!("{}: {why}", print::line(i, &stage.extras)))?;
        }
        pieces.check(stage.n)?;
        for slots in &stage.slots {
            self.array(slots.part, slots.len)?;
            let stride = Slots::stride(slots.len);
            let place = Place { offset: slots.first, stream: true, step: 8, ..slots.out };
            self.spoil(place, stage.shards * stride)?;
            self.result(slots.out, slots.len)?;
        }
        if stage.shards > 1 && stage.n < stage.shards * stage.block && !several {
            return Err(format!("{} shards of {} elements", stage.shards, stage.n));
        }
        if several && let Some(scope) = self.scopes.pop() {
            scope.close()?;
        }
        // Registers mean nothing after their loop.
        self.arena.forget(&(self.program.thread_start..self.program.arena));
        Ok(())
    }

    fn instruction(
        &mut self,
        loop_state: &mut InLoop<'_, '_>,
        i: &Instruction,
    ) -> Result<(), String> {
        let stage = loop_state.stage;
        let extra = i.extra.map(|k| &stage.extras[k as usize]);
        let is_single = i.precision == Precision::F32;
        let operands = [i.a, i.b, i.c].into_iter().zip(i.code.lanes());
        let is_there = |(place, is_lane): &(Place, bool)| *is_lane && *place != Place::NONE;
        let lanes: Vec<Place> = operands.filter(is_there).map(|(place, _)| place).collect();
        let reads_single = (is_single || i.code == Code::Widen) && i.code != Code::Narrow;
        for &place in &lanes {
            self.lane(loop_state, place, reads_single)?;
        }
        let whole_operand = match (i.code, extra) {
            (Code::Load | Code::LoadOrZero, Some(&Extra::Index { number, len })) => {
                self.index(number, len, if i.out.step == 0 { 1 } else { stage.n })?;
                Some((i.a, len))
            }
            (Code::Scatter, Some(&Extra::Index { number, len })) => {
                self.index(number, len, stage.n)?;
                None
            }
            (Code::Piece, Some(&Extra::Piece { start, len })) => {
                if start + len > stage.n {
                    return Err(format!("a piece ends at {} of {}", start + len, stage.n));
                }
                Some((i.a, len))
            }
            (Code::Pick, _) => Some((i.a, 1)),
            (Code::MatVec | Code::MatTVec, Some(&Extra::Matrix { offset, columns })) => {
                let height = if is_single { SINGLES } else { LANES };
                let len = stage.n.next_multiple_of(height) * columns;
                let (region, scale) = match is_single {
                    true => (Region::Single, HALVES),
                    false => (Region::Shared, 1),
                };
                let offset = u32::try_from(offset * scale).unwrap_or(u32::MAX);
                self.read(Place { region, stream: true, step: 8, offset }, 0..len)?;
                (i.code == Code::MatVec).then_some((i.a, columns))
            }
            (Code::Terms, Some(Extra::Terms(terms))) => {
                for &place in terms.iter().flat_map(|(factors, _)| factors) {
                    if place != Place::NONE {
                        if place.step != 0 {
                            return Err(format!("factor {place} is not a scalar"));
                        }
                        self.array(place, 1)?;
                    }
                }
                None
            }
            (Code::Lane, Some(Extra::Lane { .. })) => None,
            (Code::Load | Code::LoadOrZero | Code::Scatter | Code::Piece | Code::Lane, _)
            | (Code::MatVec | Code::MatTVec | Code::Terms, _) => {
                return Err("its extra is missing".to_owned());
            }
            _ => None,
        };
        if let Some((place, len)) = whole_operand {
            let found = self.read(place, 0..len)?;
            // Before the last block, what this loop writes is not there as a whole.
            if loop_state.several && found.is_some_and(|found| found.by >= loop_state.from) {
                return Err(format!("{place} is read as a whole in the loop that writes it"));
            }
        }
        let read = lanes.iter().copied().chain(whole_operand.map(|(place, _)| place));
        read.for_each(|place| loop_state.pieces.read(place));
        self.results(loop_state, i, &lanes, whole_operand, is_single)
    }

    /// An operand of which element k is read for element k of the loop.
    fn lane(
        &mut self,
        loop_state: &InLoop<'_, '_>,
        place: Place,
        single: bool,
    ) -> Result<(), String> {
        let stage = loop_state.stage;
        let per_vector = if single && place.step != 0 { SINGLES } else { LANES };
        let len = if place.stream { stage.n } else { stage.n.min(stage.block) };
        if place.step == 0 {
            self.array(place, 1)?;
            return Ok(());
        }
        let found = match place.region {
            Region::Arena if single => {
                // A register of the narrower type: as many numbers in half of its memory.
                let len = len.div_ceil(HALVES);
                let found = self.read(place, 0..len)?;
                if found.is_some_and(|found| !self.is_single[found.by as usize]) {
                    return Err(format!("{place} is read as another type"));
                }
                found
            }
            _ => self.read(place, 0..len)?,
        };
        let padded = place.offset as usize + len.next_multiple_of(per_vector);
        match place.region {
            Region::Arena if single => {
                self.arena.contains(&(0..padded.div_ceil(HALVES)))?;
            }
            Region::Arena => {
                self.arena.contains(&(0..padded))?;
                if found.is_some_and(|found| self.is_single[found.by as usize]) {
                    return Err(format!("{place} is read as another type"));
                }
            }
            Region::Single => self.shared.contains(&(0..padded))?,
            _ => self.shared.contains(&(0..padded * HALVES))?,
        }
        let in_loop = found.filter(|found| found.by >= loop_state.from);
        if loop_state.several && in_loop.is_some_and(|found| found.first != place.offset as usize) {
            return Err(format!("{place} is not the elements that this loop has written"));
        }
        Ok(())
    }

    /// What an instruction writes, given what it has read.
    fn results(
        &mut self,
        loop_state: &mut InLoop<'_, '_>,
        i: &Instruction,
        lanes: &[Place],
        whole_operand: Option<(Place, usize)>,
        is_single: bool,
    ) -> Result<(), String> {
        let stage = loop_state.stage;
        let extra = i.extra.map(|k| &stage.extras[k as usize]);
        let [second, third] = i.code.results();
        let others = [(second, i.b), (third, i.d)];
        let mut elementwise: Vec<Place> =
            others.iter().filter(|(is, _)| *is).map(|(_, place)| *place).collect();
        if !i.code.is_sink() {
            elementwise.push(i.out);
        }
        let writes_single = (is_single && i.code != Code::Widen) || i.code == Code::Narrow;
        let len = |place: &Place| if place.stream { stage.n } else { stage.n.min(stage.block) };
        for place in &elementwise {
            if place.step == 0
                && i.code != Code::Pick
                && whole_operand.is_none()
                && let Some(other) = lanes.iter().find(|lane| lane.step != 0)
            {
                return Err(format!("scalar {place} is computed from array {other}"));
            }
            for lane in lanes {
                let takes_place = lane.offset == place.offset && lane.region == place.region;
                if !(takes_place && reads_before_writing(i)) {
                    Self::apart((*place, len(place)), (*lane, len(lane)))?;
                }
            }
            if let Some(whole_operand) = whole_operand {
                Self::apart((*place, len(place)), whole_operand)?;
            }
        }
        if i.code.is_sink() {
            let (results, partial) = match extra {
                Some(&Extra::Index { len, .. }) => (len, 0),
                Some(&Extra::Matrix { columns, .. }) => (columns, columns * LANES),
                _ => (1, i.code.partial_lines() * LANES),
            };
            if i.code.has_partial_sums() {
                for lane in lanes {
                    Self::apart((i.c, partial), (*lane, len(lane)))?;
                }
                Self::apart((i.out, results), (i.c, partial))?;
                self.spoil(i.c, partial)?;
            }
            for lane in lanes {
                Self::apart((i.out, results), (*lane, len(lane)))?;
            }
            self.result(i.out, results)?;
            loop_state.pieces.sinks.push(i.out);
        }
        for place in elementwise {
            if loop_state.pieces.sinks.contains(&place) {
                return Err(format!("{place} is a sum of this loop"));
            }
            let elements = match (place.step, place.stream) {
                (0, _) => 0..LANES,
                // A block of the narrower type fills half of its register.
                (_, false) if writes_single => 0..stage.block / HALVES,
                (_, false) => 0..stage.block,
                _ => 0..stage.n,
            };
            if writes_single && place.step != 0 && place.stream {
                return Err(format!("{place} is f32 outside of a register"));
            }
            let by = match (i.code, extra) {
                (Code::Piece, Some(&Extra::Piece { start, len })) => {
                    let (by, is_known) =
                        loop_state.pieces.writer(place, start..start + len, || self.writer(false));
                    let elements = match place.stream {
                        true => start..start + len,
                        // Which part of a register depends on the block; that pieces leave no gap
                        // is checked after the loop.
                        false if is_known => 0..0,
                        false => elements,
                    };
                    self.single_assignment(stage, place, &elements, by)?;
                    self.write_as(place, elements, by)?;
                    continue;
                }
                (Code::Zero, _) => {
                    let by = self.writer(false);
                    loop_state.pieces.zero(place, by);
                    by
                }
                _ => self.writer(writes_single),
            };
            self.single_assignment(stage, place, &elements, by)?;
            self.write_as(place, elements.clone(), by)?;
            if place.step != 0 {
                // The last vector is written as a whole.
                let first = place.offset as usize;
                let end = first + elements.end.next_multiple_of(LANES);
                self.arena.contains(&(first..end))?;
                self.arena.forget(&(first + elements.end..end));
                for scope in &mut self.scopes {
                    scope.writes.push(first + elements.end..end);
                }
            }
        }
        Ok(())
    }

    /// Rule 5.
    fn single_assignment(
        &self,
        stage: &Loop,
        place: Place,
        elements: &Range<usize>,
        by: u32,
    ) -> Result<(), String> {
        let start = place.offset as usize;
        let is_short = stage.n <= emit::UNROLL_LIMIT * LANES;
        if !is_short || start >= self.program.thread_start {
            return Ok(());
        }
        let range = start + elements.start..start + elements.end;
        match self.arena.overlapping(&range).find(|other| *other != by) {
            Some(_) => Err(format!("{place} is short and has two writers")),
            None => Ok(()),
        }
    }

    /// Rule 7 of an index with so many elements.
    fn index(&self, number: usize, extent: usize, len: usize) -> Result<(), String> {
        let Some(part) = self.program.indices.get(number) else {
            return Err(format!("index {number} is not there"));
        };
        if part.extent != extent || part.len < len {
            return Err(format!(
                "index {number} has {} elements below {}, wanted {len} below {extent}",
                part.len, part.extent
            ));
        }
        if let Index::Static(index) = &part.index
            && index.iter().any(|&k| k != NOTHING && k as usize >= extent)
        {
            return Err(format!("index {number} is outside of 0..{extent}"));
        }
        Ok(())
    }
}

/// The loop that an instruction is in.
struct InLoop<'a, 'p> {
    stage: &'a Loop,
    /// Whether it has more than one block.
    several: bool,
    /// Writers from this one on are in the loop.
    from: u32,
    pieces: &'p mut Pieces,
}

/// Arrays of a loop that are put together, and its sums.
#[derive(Default)]
struct Pieces {
    arrays: Vec<Array>,
    sinks: Vec<Place>,
}

/// An array that is put together.
struct Array {
    place: Place,
    by: u32,
    /// Whether it was zero before; else pieces must leave no gap.
    zeroed: bool,
    /// Whether it has been read: it is complete then.
    is_read: bool,
    pieces: Vec<Range<usize>>,
}

impl Pieces {
    /// Who writes the array that a piece belongs to, and whether that array is known.
    fn writer(
        &mut self,
        place: Place,
        range: Range<usize>,
        new: impl FnOnce() -> u32,
    ) -> (u32, bool) {
        // A register may have been an earlier array's, too, which was read before.
        let last = self.arrays.iter_mut().rfind(|array| array.place == place);
        if let Some(array) = last.filter(|array| !array.is_read) {
            let overlaps =
                |piece: &Range<usize>| piece.start < range.end && range.start < piece.end;
            if !array.pieces.iter().any(overlaps) {
                array.pieces.push(range);
                return (array.by, true);
            }
        }
        let by = new();
        self.arrays.push(Array {
            place,
            by,
            zeroed: false,
            is_read: false,
            pieces: [range].into(),
        });
        (by, false)
    }

    /// An array of zeros, some of which pieces replace.
    fn zero(&mut self, place: Place, by: u32) {
        self.arrays.push(Array { place, by, zeroed: true, is_read: false, pieces: Vec::new() });
    }

    /// Notes that what lies at a place is read.
    fn read(&mut self, place: Place) {
        let is_same_place = |array: &&mut Array| {
            (array.place.region, array.place.offset) == (place.region, place.offset)
        };
        self.arrays.iter_mut().filter(is_same_place).for_each(|array| array.is_read = true);
    }

    /// Whether pieces leave no gaps.
    fn check(&self, n: usize) -> Result<(), String> {
        let in_blocks = |array: &&Array| !array.zeroed && !array.place.stream;
        for Array { place, pieces, .. } in self.arrays.iter().filter(in_blocks) {
            let mut pieces: Vec<_> = pieces.iter().collect();
            pieces.sort_by_key(|range| range.start);
            let end = pieces
                .iter()
                .fold(0, |end, range| if range.start <= end { end.max(range.end) } else { end });
            if end < n && place.step != 0 {
                return Err(format!("pieces of {place} leave a gap from {end} on"));
            }
        }
        Ok(())
    }
}
