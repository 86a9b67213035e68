//! Registers: a loop's instructions with as many registers as values -> with as few as needed.
//!
//! A register has numbers of one type only. Generated code does all instructions for a vector
//! before it goes on to the next one, and the vectors of one type overlap others of the other type.

use exmc_fault::{Fault, planted};
use exmc_graph::Precision;

use super::lower::Reuse;
use crate::native::program::{Code, Instruction, LANES, Loop, Place, Region};

/// Assigns block registers by last use and turns them into parts of the arena from `first` on, and
/// what sinks of shards use into the part behind them; the end of both.
pub(in crate::native) fn assign_registers(stage: &mut Loop, first: usize, reuse: Reuse) -> usize {
    let mut last = vec![0; stage.registers];
    for (k, i) in stage.body.iter().enumerate() {
        for place in [i.out, i.a, i.b, i.c, i.d] {
            if place.region == Region::Register {
                last[place.offset as usize] = k;
            }
        }
    }
    let mut is_single = vec![false; stage.registers];
    for i in &stage.body {
        for place in singles(i).into_iter().flatten() {
            if place.region == Region::Register {
                is_single[place.offset as usize] = true;
            }
        }
    }
    let mut assigned: Vec<Option<usize>> = vec![None; stage.registers];
    // Of either type.
    let mut free: [Vec<usize>; 2] = Default::default();
    let mut count = 0;
    for (k, i) in stage.body.iter_mut().enumerate() {
        let results = i.code.results();
        let read = |place, is_result: bool| if is_result { Place::NONE } else { place };
        let reads = [i.a, read(i.b, results[0]), i.c, read(i.d, results[1])];
        // A result may take an operand's place where the operand is read before the result is
        // written.
        let in_place = reads_before_writing(i);
        let release = |assigned: &[Option<usize>], free: &mut [Vec<usize>; 2]| {
            if reuse == Reuse::Never {
                return;
            }
            let mut freed = [usize::MAX; 4];
            for (j, place) in reads.iter().enumerate() {
                let number = place.offset as usize;
                if place.region == Region::Register
                    && (last[number] == k || is_stale(is_single[number]))
                    && let Some(register) = assigned[number]
                    && !freed.contains(&register)
                {
                    freed[j] = register;
                    free[usize::from(is_single[number])].push(register);
                }
            }
        };
        if in_place {
            release(&assigned, &mut free);
        }
        let written = [(i.out, true), (i.b, results[0]), (i.d, results[1])];
        let is_register = |place: &Place| place.region == Region::Register;
        for (place, _) in written.iter().filter(|(place, is)| *is && is_register(place)) {
            let number = place.offset as usize;
            if assigned[number].is_none() {
                let register = free[usize::from(is_single[number])].pop().unwrap_or_else(|| {
                    count += 1;
                    count - 1
                });
                assigned[number] = Some(register);
            }
        }
        if !in_place {
            release(&assigned, &mut free);
        }
        // A result that nobody reads.
        for (place, _) in written.iter().filter(|(place, is)| *is && is_register(place)) {
            let number = place.offset as usize;
            let free = &mut free[usize::from(is_single[number])];
            if last[number] == k
                && reuse == Reuse::Allowed
                && let Some(register) = assigned[number]
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
    let own_start = first + count * stage.block + LANES;
    let sinks = stage.body.iter_mut().flat_map(|i| [&mut i.out, &mut i.c]);
    for place in sinks.chain(stage.slots.iter_mut().map(|slots| &mut slots.part)) {
        if place.region == Region::Own {
            let offset = u32::try_from(own_start + place.offset as usize).unwrap_or(u32::MAX);
            *place = Place { region: Region::Arena, offset, ..*place };
        }
    }
    own_start + stage.sink_elements
}

/// Whether a planted fault gives a register away that is still to be read.
fn is_stale(is_single: bool) -> bool {
    planted(Fault::StaleRegister) || (is_single && planted(Fault::StaleRegisterSingle))
}

/// Where an instruction writes arrays of `f32`.
fn singles(i: &Instruction) -> [Option<Place>; 3] {
    let (computes, narrows) = (i.precision == Precision::F32, i.code == Code::Narrow);
    let [second, third] = i.code.results();
    let first = narrows || (computes && !i.code.is_sink());
    [(first, i.out), (computes && second, i.b), (computes && third, i.d)]
        .map(|(is_single, place)| is_single.then_some(place))
}

/// Whether an instruction reads all that it needs for a vector before it writes that vector.
pub(in crate::native) fn reads_before_writing(i: &Instruction) -> bool {
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
