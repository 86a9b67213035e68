//! Chains in which every state sums over all states: pairs with mantissas and exponents -> steps of
//! products and sums.
//!
//! States share an exponent until the bounds of their sizes say that they must be brought back to
//! about one. Where only one thing changes from step to step, and for whole rows of pairs alike,
//! rows share an exponent, too, and what the steps have in common is computed once.

use super::{LinkedLogSumExpScan, MAX_PAIRS, advance, power_of_two};

/// How far apart pairs of a step or states may be, as powers of two, to share an exponent; and how
/// small and large states may become before they are brought back to about one.
const MAX_EXPONENT_GAP: i32 = 800;
const RANGE: i32 = 900;

/// What every pair is multiplied with at a step: mantissas and exponents.
#[inline(always)]
fn weights<const K: usize>(
    chain: &LinkedLogSumExpScan,
    known: &[[f64; MAX_PAIRS]; 2],
    row_index: usize,
) -> [[[f64; K]; K]; 2] {
    let (mut mantissas, mut exponents) = ([[0.0; K]; K], [[0.0; K]; K]);
    for k in 0..K {
        for j in 0..K {
            let pair = K * k + j;
            let (mut mantissa, mut exponent) = (known[0][pair], known[1][pair]);
            for addend in &chain.moving {
                // SAFETY: the loop has this step and this pair, and the exponentials were taken
                // apart.
                let [m, n] = unsafe { addend.parts(row_index, pair) };
                mantissa *= m;
                exponent += n;
            }
            (mantissas[k][j], exponents[k][j]) = (mantissa, exponent);
        }
    }
    [mantissas, exponents]
}

/// The pairs of a loop in which what changes from step to step is the same for all pairs of a
/// state: what does not, with one exponent a state, and how far below it the smallest is.
struct Rows<const K: usize> {
    mantissas: [[f64; K]; K],
    exponents: [f64; K],
    depths: [f64; K],
}

impl<const K: usize> Rows<K> {
    /// None if a pair has something of its own, or is far from the others of its state.
    fn new(chain: &LinkedLogSumExpScan, known: &[[f64; MAX_PAIRS]; 2]) -> Option<Self> {
        let [addend] = &chain.moving[..] else { return None };
        let alike = |row: &[u32]| row.iter().all(|k| *k == row[0]);
        if !addend.index.chunks(K).all(alike) {
            return None;
        }
        let (mut mantissas, mut exponents, mut depths) = ([[0.0; K]; K], [0.0; K], [0.0; K]);
        for k in 0..K {
            let row_exponents = &known[1][K * k..K * (k + 1)];
            let largest =
                row_exponents.iter().fold(f64::NEG_INFINITY, |a, &b| if b > a { b } else { a });
            let smallest =
                row_exponents.iter().fold(f64::INFINITY, |a, &b| if b < a { b } else { a });
            let near = largest - smallest < f64::from(MAX_EXPONENT_GAP) && largest.abs() < 1e15;
            if !near {
                return None;
            }
            (exponents[k], depths[k]) = (largest, largest - smallest);
            for j in 0..K {
                mantissas[k][j] = known[0][K * k + j] * power_of_two(row_exponents[j] - largest);
            }
        }
        Some(Self { mantissas, exponents, depths })
    }
}

/// All steps, where each of `K` states sums over all of them.
#[inline(always)]
pub(super) fn dense<const K: usize>(chain: &LinkedLogSumExpScan, known: &[[f64; MAX_PAIRS]; 2]) {
    let &LinkedLogSumExpScan { length, reverse, parts: [m, n], .. } = chain;
    let rows = Rows::<K>::new(chain, known);
    // States of one exponent; how far below 2^0 the largest and any may be, and how far above.
    let (mut states, mut common) = ([0.0; K], 0.0);
    let (mut largest_below, mut below, mut above) = (0, 0, 0);
    let mut together = false;
    // Mantissas are products of so many numbers between a half and two, and sums have at most eight
    // of them.
    let slack = chain.moving.len() as i32 + 4;
    for step in 0..length {
        let row_index = if reverse { length - 1 - step } else { step };
        let (mut scaled, mut largest, mut smallest) =
            ([[0.0; K]; K], f64::NEG_INFINITY, f64::INFINITY);
        // Powers of two commute with rounding, so that both ways have the same numbers.
        if let Some(rows) = &rows {
            let (mut factors, mut exponents) = ([0.0; K], [0.0; K]);
            for k in 0..K {
                // SAFETY: the loop has this step and this pair, and the exponentials were taken
                // apart.
                let [m, n] = unsafe { chain.moving[0].parts(row_index, K * k) };
                (factors[k], exponents[k]) = (m, rows.exponents[k] + n);
                let bottom = exponents[k] - rows.depths[k];
                largest = if exponents[k] > largest { exponents[k] } else { largest };
                smallest = if bottom < smallest { bottom } else { smallest };
            }
            for k in 0..K {
                let factor = factors[k] * power_of_two(exponents[k] - largest);
                scaled[k] = rows.mantissas[k].map(|mantissa| mantissa * factor);
            }
        } else {
            let [mantissas, exponents] = weights::<K>(chain, known, row_index);
            for &exponent in exponents.as_flattened() {
                largest = if exponent > largest { exponent } else { largest };
                smallest = if exponent < smallest { exponent } else { smallest };
            }
            for k in 0..K {
                for j in 0..K {
                    scaled[k][j] = mantissas[k][j] * power_of_two(exponents[k][j] - largest);
                }
            }
        }
        // SAFETY: parts have the states before every step and after the last one.
        let [before, after] = [step, step + 1].map(|k| unsafe { [m.add(K * k), n.add(K * k)] });
        let shares = chain.shares.as_ref().map(|(first, places)| {
            // SAFETY: there are shares for every step.
            (unsafe { first.add(K * K * row_index) }, &places[..])
        });
        // An exponent far from all others is that of zero, or beyond.
        let is_close = largest - smallest < f64::from(MAX_EXPONENT_GAP) && largest.abs() < 1e15;
        let apart =
            if is_close { (largest - smallest) as i32 + 2 * slack } else { MAX_EXPONENT_GAP };
        if is_close && (!together || below + apart > RANGE || above > RANGE) {
            // SAFETY: the states before this step are there.
            match unsafe { join::<K>(before) } {
                Some((joined, exponent, distance)) => {
                    (states, common, together) = (joined, exponent, true);
                    (largest_below, below, above) = (0, distance, 1);
                }
                None => together = false,
            }
        }
        if !is_close || !together || below + apart > RANGE {
            together = false;
            let [mantissas, exponents] = weights::<K>(chain, known, row_index);
            // SAFETY: states and shares are there for every step.
            unsafe {
                advance::<K>(
                    &chain.from,
                    before,
                    after,
                    [mantissas.as_flattened(), exponents.as_flattened()],
                    step % 16 == 15,
                    shares,
                )
            };
            continue;
        }
        let mut next = [0.0; K];
        for k in 0..K {
            let mut terms = [0.0; K];
            for j in 0..K {
                terms[j] = scaled[k][j] * states[j];
                next[k] = scaled[k][j].mul_add(states[j], next[k]);
            }
            if let Some((first, places)) = shares {
                let one = 1.0 / next[k];
                for (term, &place) in terms.iter().zip(&places[K * k..]) {
                    // SAFETY: there is a share for every pair.
                    unsafe { *first.add(place as usize) = term * one };
                }
            }
        }
        common += largest;
        states = next;
        // The largest state takes part in every sum, and the largest weight goes with some state.
        (largest_below, below) =
            ((below + slack).min(largest_below + apart), largest_below + apart);
        above += slack;
        for (k, state) in states.into_iter().enumerate() {
            // SAFETY: parts have the states after this step.
            unsafe { (*after[0].add(k), *after[1].add(k)) = (state, common) };
        }
    }
}

/// States with one exponent, the largest between one and two, and how far below it the smallest may
/// be as a power of two. None for states that are too far apart, zero or no numbers.
///
/// # Safety
/// There are `K` states.
#[inline(always)]
unsafe fn join<const K: usize>([m, n]: [*mut f64; 2]) -> Option<([f64; K], f64, i32)> {
    let (mut states, mut exponents) = ([0.0; K], [0.0; K]);
    let (mut largest, mut smallest) = (f64::NEG_INFINITY, f64::INFINITY);
    for k in 0..K {
        // SAFETY: the caller vouches for it.
        let (state, exponent) = unsafe { (*m.add(k), *n.add(k)) };
        if !(f64::MIN_POSITIVE..f64::INFINITY).contains(&state) {
            return None;
        }
        let state_exponent = (state.to_bits() >> 52) as f64 - 1023.0;
        states[k] = state * power_of_two(-state_exponent);
        exponents[k] = exponent + state_exponent;
        largest = if exponents[k] > largest { exponents[k] } else { largest };
        smallest = if exponents[k] < smallest { exponents[k] } else { smallest };
    }
    let is_close = largest - smallest < f64::from(MAX_EXPONENT_GAP);
    if !is_close {
        return None;
    }
    for (state, exponent) in states.iter_mut().zip(exponents) {
        *state *= power_of_two(exponent - largest);
    }
    Some((states, largest, (largest - smallest) as i32))
}
