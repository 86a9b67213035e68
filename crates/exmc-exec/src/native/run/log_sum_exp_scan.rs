//! Sums over the states before: `next_k = log sum_g exp(state_from(k, g) + known_kg)`, step after
//! step, without a function to wait for.
//!
//! The forward algorithm of a hidden LogSumExpScan model is of this kind. A state is kept as 2^n m,
//! n an integer, and so are the exponentials of what is known, which do not wait for the state; a
//! step then is products and sums whose exponents are aligned. Nothing overflows or vanishes,
//! however far apart the states are: what alignment drops is less than 2^-900 of the sum.
//! Logarithms are taken of all steps at once afterwards, of those that somebody reads.
//!
//! Where every state sums over all states and no pair of a step is further than 2^800 from another,
//! the states stay as close to each other, and share one exponent until the bounds of their sizes
//! say that they must be brought back to about one: then a step is products and sums alone
//! ([`dense`](dense::dense)).
//!
//! The derivative needs every term's share in its sum: the terms are there, so a share is a
//! product.
#![expect(
    unsafe_code,
    reason = "steps read and write at addresses that are found once, when memory is made"
)]

mod dense;

use std::fmt;

use exmc_math::simd::{Address, Level, Routine, Simd, vector};

use self::dense::dense;
use crate::native::link::Linker;
use crate::native::program::{LANES, Place};

/// Most pairs of states; of more, whole vectors of functions are quicker.
pub(in crate::native) const MAX_PAIRS: usize = 128;

/// A loop of such sums.
#[derive(Debug)]
pub(in crate::native) struct LogSumExpScan {
    pub(in crate::native) length: usize,
    pub(in crate::native) reverse: bool,
    /// Number of states.
    pub(in crate::native) width: usize,
    pub(in crate::native) start: Place,
    /// Pairs of every state with the states that it sums over, all of one state in a row: numbers
    /// of the latter.
    pub(in crate::native) from: Vec<u32>,
    /// What is added to the pairs.
    pub(in crate::native) terms: Vec<PairTerm>,
    /// Of the states before every step and after the last one: m, and n.
    pub(in crate::native) parts: [Place; 2],
    /// The terms' shares in their sums, and which element of a step's shares each pair's is.
    pub(in crate::native) shares: Option<(Place, Vec<u32>)>,
    /// The states before every step, after it, and after the last step, where somebody reads them.
    pub(in crate::native) states: [Option<Place>; 3],
}

/// Something known that is added to every pair.
#[derive(Clone, Debug)]
pub(in crate::native) struct PairTerm {
    pub(in crate::native) place: Place,
    /// How far apart the elements of neighbouring steps are.
    pub(in crate::native) stride: usize,
    pub(in crate::native) negative: bool,
    /// Which element each pair takes.
    pub(in crate::native) index: Vec<u32>,
    /// Of the exponentials of all its elements, where it changes from step to step: m, and n.
    pub(in crate::native) parts: Option<[Place; 2]>,
}

impl fmt::Display for LogSumExpScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares = self.shares.as_ref().map(|(place, _)| *place);
        let outputs = self.states.iter().chain([&shares]).flatten();
        let outputs: Vec<_> = outputs.map(Place::to_string).collect();
        let terms: Vec<_> = self.terms.iter().map(|term| term.place.to_string()).collect();
        let (outputs, terms) = (outputs.join(", "), terms.join(", "));
        let Self { length, start, from, .. } = self;
        write!(
            f,
            "markov {outputs} from {start} with {terms} // {length} steps of {} pairs",
            from.len()
        )
    }
}

/// A [`LogSumExpScan`] with addresses.
#[derive(Debug)]
pub(in crate::native) struct LinkedLogSumExpScan {
    length: usize,
    reverse: bool,
    width: usize,
    start: *const f64,
    from: Vec<u32>,
    /// Added to the pairs of all steps alike, and of each step.
    fixed: Vec<Addend>,
    moving: Vec<Addend>,
    parts: [*mut f64; 2],
    shares: Option<(*mut f64, Vec<u32>)>,
    before: Option<*mut f64>,
    after: Option<*mut f64>,
    last: Option<*mut f64>,
    /// Lines of single elements, to be filled with them.
    lines: Vec<*mut f64>,
}

#[derive(Debug)]
struct Addend {
    first: *const f64,
    stride: usize,
    sign: f64,
    index: Vec<u32>,
    /// Where the parts of the exponentials of all its elements go, if it changes from step to step.
    parts: Option<[*mut f64; 2]>,
}

impl LogSumExpScan {
    pub(in crate::native) fn chain(&self, memory: &Linker<'_>) -> LinkedLogSumExpScan {
        let first = |place: Option<Place>| place.map(|place| memory.first(place));
        let [before, after, last] = self.states.map(first);
        let single = self.states.iter().flatten().filter(|place| place.step == 0);
        let addend = |term: &PairTerm| Addend {
            first: memory.first(term.place),
            stride: term.stride,
            sign: if term.negative { -1.0 } else { 1.0 },
            index: term.index.clone(),
            parts: term.parts.map(|places| places.map(|place| memory.first(place))),
        };
        let (fixed, moving): (Vec<_>, Vec<_>) =
            self.terms.iter().map(addend).partition(|addend| addend.parts.is_none());
        let shares = self.shares.as_ref();
        LinkedLogSumExpScan {
            length: self.length,
            reverse: self.reverse,
            width: self.width,
            start: memory.first(self.start),
            from: self.from.clone(),
            fixed,
            moving,
            parts: self.parts.map(|place| memory.first(place)),
            shares: shares.map(|(place, positions)| (memory.first(*place), positions.clone())),
            before,
            after,
            last,
            lines: single.map(|&place| memory.first(place)).collect(),
        }
    }
}

impl Addend {
    /// Adds the elements to the pairs.
    #[inline(always)]
    fn add(&self, pairs: &mut [f64]) {
        for (pair, &k) in pairs.iter_mut().zip(&self.index) {
            // SAFETY: `lower` took the index from the shapes of the loop's body.
            *pair += self.sign * unsafe { *self.first.add(k as usize) };
        }
    }

    /// Takes the exponentials of the elements of all steps apart.
    #[inline(always)]
    fn take_apart<S: Simd>(&self, s: S, length: usize) {
        let Some([m, n]) = self.parts else { return };
        for k in (0..length * self.stride).step_by(LANES) {
            // SAFETY: arrays and parts have memory to the end of a line more than their elements.
            unsafe {
                let x = s.load(&*self.first.add(k).cast::<[f64; LANES]>());
                let (exponent, mantissa) = vector::exp_parts(s, s.mul(s.splat(self.sign), x));
                s.store(mantissa, &mut *m.add(k).cast::<[f64; LANES]>());
                s.store(exponent, &mut *n.add(k).cast::<[f64; LANES]>());
            }
        }
    }

    /// The parts of what a pair takes at a step.
    ///
    /// # Safety
    /// The loop has this step and this pair, and [`Self::take_apart`] has run.
    #[inline(always)]
    unsafe fn parts(&self, step: usize, pair: usize) -> [f64; 2] {
        let Some([m, n]) = self.parts else { return [1.0, 0.0] };
        // SAFETY: the caller vouches for it; `lower` took the index from the shapes of the loop's
        // body.
        unsafe {
            let k = step * self.stride + *self.index.get_unchecked(pair) as usize;
            [*m.add(k), *n.add(k)]
        }
    }
}

struct RunLogSumExpScan;

impl Routine for RunLogSumExpScan {
    type Context = ();
    type Step = LinkedLogSumExpScan;

    #[inline(always)]
    unsafe fn run<S: Simd>(s: S, (): &(), chain: &LinkedLogSumExpScan) {
        let &LinkedLogSumExpScan { length, reverse, width, parts: [m, n], .. } = chain;
        let pairs = chain.from.len();
        chain.moving.iter().for_each(|addend| addend.take_apart(s, length));
        let mut fixed = [0.0; MAX_PAIRS];
        chain.fixed.iter().for_each(|addend| addend.add(&mut fixed[..pairs]));
        let mut known = [[0.0; MAX_PAIRS]; 2];
        for k in (0..pairs).step_by(LANES) {
            let (exponent, mantissa) = vector::exp_parts(s, s.load(vector_at(&mut fixed, k)));
            s.store(mantissa, vector_at(&mut known[0], k));
            s.store(exponent, vector_at(&mut known[1], k));
        }
        for k in (0..width).step_by(LANES) {
            let mut start = [0.0; LANES];
            for (j, start) in start.iter_mut().enumerate().take(width - k) {
                // SAFETY: the start has `width` elements.
                *start = unsafe { *chain.start.add(k + j) };
            }
            let (exponent, mantissa) = vector::exp_parts(s, s.load(&start));
            // SAFETY: parts have memory to the end of a line more than their elements.
            unsafe {
                s.store(exponent, &mut *n.add(k).cast::<[f64; LANES]>());
                s.store(mantissa, &mut *m.add(k).cast::<[f64; LANES]>());
            }
        }
        let all = (0..pairs).all(|p| pairs == width * width && chain.from[p] as usize == p % width);
        match width {
            2 if all => dense::<2>(chain, &known),
            3 if all => dense::<3>(chain, &known),
            4 if all => dense::<4>(chain, &known),
            5 if all => dense::<5>(chain, &known),
            _ => sparse(chain, &known),
        }
        let steps = length * width;
        // What was before the first step is given.
        let outputs = [(chain.before, 0, steps), (chain.after, width, steps)];
        for (to, first, len) in outputs.into_iter().chain([(chain.last, steps, width)]) {
            let Some(to) = to else { continue };
            for k in (0..len).step_by(LANES) {
                // SAFETY: parts and outputs have memory to the end of a line more than their
                // elements.
                let (mantissa, exponent) = unsafe {
                    (
                        s.load(&*m.add(first + k).cast::<[f64; LANES]>()),
                        s.load(&*n.add(first + k).cast::<[f64; LANES]>()),
                    )
                };
                let low = s.fma(exponent, s.splat(LN_2[1]), vector::log(s, mantissa));
                let values = s.fma(exponent, s.splat(LN_2[0]), low);
                if !reverse && k + LANES <= len {
                    // SAFETY: outputs have these elements, which are in the order of the steps.
                    unsafe { s.store(values, &mut *to.add(k).cast::<[f64; LANES]>()) };
                    continue;
                }
                let values = s.to_array(values);
                for (j, value) in values.into_iter().enumerate().take(len - k) {
                    let (step, state) = ((k + j) / width, (k + j) % width);
                    let stacked = len == steps && reverse;
                    let step = if stacked { length - 1 - step } else { step };
                    // SAFETY: outputs have these elements.
                    unsafe { *to.add(step * width + state) = value };
                }
            }
        }
        for &line in &chain.lines {
            // SAFETY: a place of one element is a line, to which nothing else refers.
            unsafe { *line.cast::<[f64; LANES]>() = [*line; LANES] };
        }
    }
}

/// A vector of an array.
#[inline(always)]
fn vector_at(array: &mut [f64; MAX_PAIRS], k: usize) -> &mut [f64; LANES] {
    &mut array.as_chunks_mut::<LANES>().0[k / LANES]
}

/// log 2 in two parts, the first with zeros behind, so that products with exponents are exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// The exponent of zero, below that of any number's exponential.
const NOTHING: f64 = -1e300;

/// All steps, for states that do not all take part in every sum, or many.
#[inline(always)]
fn sparse(chain: &LinkedLogSumExpScan, known: &[[f64; MAX_PAIRS]; 2]) {
    let &LinkedLogSumExpScan { length, reverse, width, parts: [m, n], .. } = chain;
    let pairs = chain.from.len();
    for step in 0..length {
        let row_index = if reverse { length - 1 - step } else { step };
        let [mut mantissas, mut exponents] = *known;
        for addend in &chain.moving {
            for pair in 0..pairs {
                // SAFETY: the loop has this step and this pair, and the exponentials were taken
                // apart.
                let [m, n] = unsafe { addend.parts(row_index, pair) };
                mantissas[pair] *= m;
                exponents[pair] += n;
            }
        }
        // SAFETY: parts have the states before every step and after the last one, and there are
        // shares for every step.
        unsafe {
            let [before, after] = [step, step + 1].map(|k| [m.add(k * width), n.add(k * width)]);
            let shares = chain.shares.as_ref();
            let shares = shares.map(|(first, places)| (first.add(row_index * pairs), &places[..]));
            let (from, known) = (&chain.from[..], [&mantissas[..pairs], &exponents[..pairs]]);
            let normal = step % 16 == 15;
            match pairs / width {
                1 => advance::<1>(from, before, after, known, normal, shares),
                2 => advance::<2>(from, before, after, known, normal, shares),
                3 => advance::<3>(from, before, after, known, normal, shares),
                _ => advance_any(from, pairs / width, before, after, known, normal, shares),
            }
        }
    }
}

/// Where the shares of a step go: the first, and which one each pair's is.
type Shares<'a> = Option<(*mut f64, &'a [u32])>;

/// One step from a state's parts, m and n, to the next ones; `normal` says to bring every m back to
/// about one.
///
/// Every state sums over `G` states.
///
/// # Safety
/// The states and shares are there, and nothing else refers to those that are written.
#[inline(always)]
unsafe fn advance<const G: usize>(
    from: &[u32],
    [m, n]: [*mut f64; 2],
    [m_next, n_next]: [*mut f64; 2],
    [mantissas, exponents]: [&[f64]; 2],
    normal: bool,
    shares: Shares<'_>,
) {
    let (from, _) = from.as_chunks::<G>();
    let ((mantissas, _), (exponents, _)) = (mantissas.as_chunks::<G>(), exponents.as_chunks::<G>());
    for (k, ((from, mantissas), exponents)) in from.iter().zip(mantissas).zip(exponents).enumerate()
    {
        let (mut terms, mut sums) = ([0.0; G], [0.0; G]);
        for j in 0..G {
            // SAFETY: `lower` took the pairs from the state's shape.
            let (m, n) = unsafe { (*m.add(from[j] as usize), *n.add(from[j] as usize)) };
            terms[j] = m * mantissas[j];
            sums[j] = n + exponents[j];
        }
        let mut largest = sums[0];
        for &sum in &sums[1..] {
            largest = if sum > largest { sum } else { largest };
        }
        let mut sum = 0.0;
        for j in 0..G {
            terms[j] *= power_of_two(sums[j] - largest);
            sum += terms[j];
        }
        // SAFETY: the next state is as large as this one, and there is a share for every pair.
        unsafe {
            share(&terms, sum, shares, k * G);
            put(sum, largest, normal, m_next.add(k), n_next.add(k));
        }
    }
}

/// The same for any number of states to sum over.
///
/// # Safety
/// As [`advance`].
#[inline(always)]
unsafe fn advance_any(
    from: &[u32],
    group: usize,
    [m, n]: [*mut f64; 2],
    [m_next, n_next]: [*mut f64; 2],
    [mantissas, exponents]: [&[f64]; 2],
    normal: bool,
    shares: Shares<'_>,
) {
    let (mantissas, exponents) = (mantissas.chunks_exact(group), exponents.chunks_exact(group));
    let groups = from.chunks_exact(group).zip(mantissas).zip(exponents);
    let mut terms = [0.0; MAX_PAIRS];
    for (k, ((from, mantissas), exponents)) in groups.enumerate() {
        let mut largest = f64::NEG_INFINITY;
        for (&other, exponent) in from.iter().zip(exponents) {
            // SAFETY: `lower` took the pairs from the state's shape.
            let exponent = unsafe { *n.add(other as usize) } + exponent;
            largest = if exponent > largest { exponent } else { largest };
        }
        let mut sum = 0.0;
        let known = from.iter().zip(mantissas).zip(exponents);
        for (term, ((&other, mantissa), exponent)) in terms.iter_mut().zip(known) {
            // SAFETY: as above.
            let (m, n) = unsafe { (*m.add(other as usize), *n.add(other as usize)) };
            *term = m * mantissa * power_of_two((n + exponent) - largest);
            sum += *term;
        }
        // SAFETY: the next state is as large as this one, and there is a share for every pair.
        unsafe {
            share(&terms[..group], sum, shares, k * group);
            put(sum, largest, normal, m_next.add(k), n_next.add(k));
        }
    }
}

/// Writes the shares of terms in their sum: zeros in a sum of zero.
///
/// # Safety
/// There is a share for every pair, from number `first` on, and nothing else refers to it.
#[inline(always)]
unsafe fn share(terms: &[f64], sum: f64, shares: Shares<'_>, first: usize) {
    let Some((to, places)) = shares else { return };
    let one = if sum == 0.0 { 0.0 } else { 1.0 / sum };
    for (term, &place) in terms.iter().zip(&places[first..]) {
        // SAFETY: the caller vouches for it.
        unsafe { *to.add(place as usize) = term * one };
    }
}

/// Writes a state's parts.
///
/// # Safety
/// The places are there, and nothing else refers to them.
#[inline(always)]
unsafe fn put(mut sum: f64, mut largest: f64, normal: bool, m: *mut f64, n: *mut f64) {
    if sum == 0.0 {
        largest = NOTHING;
    } else if normal && sum > 0.0 && sum < f64::INFINITY {
        // In sixteen steps a sum of that many terms stays a normal number.
        let exponent = (sum.to_bits() >> 52) as f64 - 1023.0;
        largest += exponent;
        sum *= power_of_two(-exponent);
    }
    // SAFETY: the caller vouches for them.
    unsafe { (*m, *n) = (sum, largest) };
}

/// 2^n for an integer n below 1000; 2^-1000 for those below -1000.
#[inline(always)]
fn power_of_two(n: f64) -> f64 {
    let n = if n > -1000.0 { n } else { -1000.0 };
    // 2^52 has neighbours one apart, so the sum's low bits are the biased exponent.
    f64::from_bits((n + (4_503_599_627_370_496.0 + 1023.0)).to_bits() << 52)
}

impl LinkedLogSumExpScan {
    pub(in crate::native) fn address(level: Level) -> Address<(), Self> {
        level.address::<RunLogSumExpScan>()
    }
}
