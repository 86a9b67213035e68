//! Shards: a loop over many elements -> parts of it that may run at the same time.
//!
//! How many depends on the loop alone, so the bits of a result do not depend on the number of
//! threads. A shard is so many whole blocks. It uses the registers and partial sums of the thread
//! that runs it and leaves what its sinks found in slots of its own; after the last shard, slots
//! are added up in the order of shards.

use crate::native::program::{Code, Extra, Instruction, LANES, Loop, Place, Region, Slots};

/// Nanoseconds (about, of one core) that are worth a shard: long against the microsecond in which
/// another core notices that there is work.
const SHARD_WORK: usize = 16_000;
/// Loops of fewer shards than this stay whole.
const MIN_SHARDS: usize = 4;
/// Enough for the shards to end at about the same time on a dozen cores; each costs a slot.
const MAX_SHARDS: usize = 32;

/// Splits a loop where it is long enough; `reserve` gives an offset for so many elements of the
/// arena.
pub(super) fn split(stage: &mut Loop, mut reserve: impl FnMut(usize) -> u32) {
    let shards = count(stage);
    if shards < MIN_SHARDS || reads_past_blocks(stage) {
        return;
    }
    stage.shards = shards;
    for i in &mut stage.body {
        let Some(len) = sink_len(i, &stage.extras) else { continue };
        let mut own_place = |elements: usize, place: Place| {
            let offset = super::narrow(stage.sink_elements);
            stage.sink_elements += elements.next_multiple_of(LANES);
            Place { region: Region::Own, offset, ..place }
        };
        let out = i.out;
        i.out = own_place(len, out);
        if i.code.has_partial_sums() {
            let lines = if i.code == Code::MatTVec { len } else { i.code.partial_lines() };
            i.c = own_place(lines * LANES, i.c);
        }
        let first = reserve(shards * Slots::stride(len));
        stage.slots.push(Slots { part: i.out, len, first, out });
    }
}

fn count(stage: &Loop) -> usize {
    let per_vector: usize = stage.body.iter().map(|i| cost(i, &stage.extras)).sum();
    let work = stage.n.div_ceil(LANES) * per_vector;
    let sums: usize = stage.body.iter().filter_map(|i| sink_len(i, &stage.extras)).sum();
    // Adding up the slots must cost little against the loop, which needs at least one block a
    // shard.
    let affordable = stage.n / (4 * sums.max(1));
    (work / SHARD_WORK).min(MAX_SHARDS).min(affordable).min(stage.n.div_ceil(stage.block))
}

/// Elements of a sink's result; nothing for members.
fn sink_len(i: &Instruction, extras: &[Extra]) -> Option<usize> {
    match (i.code, i.extra.map(|k| &extras[k as usize])) {
        (Code::Sum | Code::Dot | Code::SumLog | Code::SumLog1p, _)
        | (Code::SumSoftplusInvLogit | Code::SumLogAddExpShares, _) => Some(1),
        (Code::Scatter, Some(Extra::Index { len, .. })) => Some(*len),
        (Code::MatTVec, Some(Extra::Matrix { columns, .. })) => Some(*columns),
        _ => None,
    }
}

/// Nanoseconds a vector of eight, about, with AVX2 at 3 GHz: only sizes of a kind matter.
fn cost(i: &Instruction, extras: &[Extra]) -> usize {
    match (i.code, i.extra.map(|k| &extras[k as usize])) {
        (Code::MatVec | Code::MatTVec, Some(Extra::Matrix { columns, .. })) => *columns,
        (Code::Lane, _) => 200,
        (Code::Lgamma | Code::Digamma | Code::Trigamma | Code::Tetragamma, _) => 40,
        (Code::DigammaRise, _) => 40,
        (Code::LgammaDigamma | Code::Lbeta | Code::LogBesselI0 | Code::BesselI1I0, _) => 60,
        (Code::Pow | Code::LogAddExp | Code::LogDiffExp | Code::Log1mExp | Code::Erf, _) => 20,
        (Code::Erfc | Code::LogNormalCdf | Code::NormalQuantile | Code::Atan2, _) => 20,
        (Code::SoftplusInvLogit | Code::SinCos | Code::LogAddExpShares, _) => 20,
        (Code::SumSoftplusInvLogit | Code::SumLogAddExpShares | Code::Shares, _) => 15,
        (Code::Sin | Code::Cos | Code::Tan | Code::Asin | Code::Acos | Code::Atan, _) => 15,
        (Code::Sinh | Code::Cosh | Code::Tanh | Code::Expm1 | Code::Softplus, _) => 15,
        (Code::Exp | Code::Log | Code::Log1p | Code::InvLogit | Code::LogAddExpShare, _) => 10,
        (Code::Load | Code::LoadOrZero | Code::Scatter, _) => 6,
        (Code::Div | Code::Reciprocal | Code::AddThenReciprocal | Code::Sqrt, _) => 4,
        (Code::SumLog | Code::SumLog1p, _) => 3,
        _ => 1,
    }
}

/// Whether a sink may read elements behind its block that another shard writes: runs of an index
/// are read to the end of a vector.
fn reads_past_blocks(stage: &Loop) -> bool {
    let writes = |i: &Instruction, place| {
        let [second, third] = i.code.results();
        i.out == place || (second && i.b == place) || (third && i.d == place)
    };
    let written = |place| stage.body.iter().any(|i| writes(i, place));
    stage.body.iter().any(|i| i.code == Code::Scatter && i.a.stream && written(i.a))
}
