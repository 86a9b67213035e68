//! Registers: a loop's instructions with as many registers as values -> with as few as needed.

use exmc_fault::{Fault, planted};

use super::program::{Code, Instruction, LANES, Loop, Place, Region};

/// Assigns block registers by last use and turns them into parts of the arena from `first` on, and what sinks
/// of shards use into the part behind them; the end of both.
pub(super) fn assign_registers(stage: &mut Loop, first: usize) -> usize {
    let mut last = vec![0; stage.registers];
    for (k, i) in stage.body.iter().enumerate() {
        for place in [i.out, i.a, i.b, i.c, i.d] {
            if place.region == Region::Register {
                last[place.offset as usize] = k;
            }
        }
    }
    let mut assigned: Vec<Option<usize>> = vec![None; stage.registers];
    let mut free: Vec<usize> = Vec::new();
    let mut count = 0;
    for (k, i) in stage.body.iter_mut().enumerate() {
        let results = i.code.results();
        let read = |place, is_result: bool| if is_result { Place::NONE } else { place };
        let reads = [i.a, read(i.b, results[0]), i.c, read(i.d, results[1])];
        // A result may take an operand's place where the operand is read before the result is written.
        let in_place = reads_before_writing(i);
        let release = |assigned: &[Option<usize>], free: &mut Vec<usize>| {
            let mut freed = [usize::MAX; 4];
            for (j, place) in reads.iter().enumerate() {
                if place.region == Region::Register
                    && (last[place.offset as usize] == k || planted(Fault::StaleRegister))
                    && let Some(register) = assigned[place.offset as usize]
                    && !freed.contains(&register)
                {
                    freed[j] = register;
                    free.push(register);
                }
            }
        };
        if in_place {
            release(&assigned, &mut free);
        }
        let mut write = |place: &Place, assigned: &mut [Option<usize>], free: &mut Vec<usize>| {
            if place.region == Region::Register && assigned[place.offset as usize].is_none() {
                let register = free.pop().unwrap_or_else(|| {
                    count += 1;
                    count - 1
                });
                assigned[place.offset as usize] = Some(register);
            }
        };
        write(&i.out, &mut assigned, &mut free);
        for (place, _) in [&i.b, &i.d].into_iter().zip(results).filter(|(_, is_result)| *is_result)
        {
            write(place, &mut assigned, &mut free);
        }
        if !in_place {
            release(&assigned, &mut free);
        }
        // A result that nobody reads.
        for (place, is_result) in [(i.out, true), (i.b, results[0]), (i.d, results[1])] {
            if place.region == Region::Register
                && last[place.offset as usize] == k
                && is_result
                && let Some(register) = assigned[place.offset as usize]
                && !free.contains(&register)
            {
                free.push(register);
            }
        }
        for place in [&mut i.out, &mut i.a, &mut i.b, &mut i.c, &mut i.d] {
            if place.region == Region::Register {
                let register = assigned[place.offset as usize].expect("written before it is read");
                let offset = u32::try_from(first + register * stage.block).unwrap_or(u32::MAX);
                *place = Place { region: Region::Arena, offset, ..*place };
            }
        }
    }
    stage.registers = count;
    // Runs of an index are read to the end of a vector, so maybe past the last register.
    let own = first + count * stage.block + LANES;
    let sinks = stage.body.iter_mut().flat_map(|i| [&mut i.out, &mut i.c]);
    for place in sinks.chain(stage.slots.iter_mut().map(|slots| &mut slots.part)) {
        if place.region == Region::Own {
            let offset = u32::try_from(own + place.offset as usize).unwrap_or(u32::MAX);
            *place = Place { region: Region::Arena, offset, ..*place };
        }
    }
    own + stage.own
}

/// Whether an instruction reads all that it needs for a vector before it writes that vector.
fn reads_before_writing(i: &Instruction) -> bool {
    !matches!(
        i.code,
        Code::Lane
            | Code::Load
            | Code::LoadOrZero
            | Code::Piece
            | Code::Zero
            | Code::MatVec
            | Code::Widen
    )
}
