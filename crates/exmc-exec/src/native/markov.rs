//! Sums over the states before: `next_k = log sum_g exp(state_from(k, g) + known_kg)`, step after step, without a function
//! to wait for.
//!
//! The forward algorithm of a hidden Markov model is of this kind. A state is kept as 2^n m, n an integer, and
//! so are the exponentials of what is known, which do not wait for the state; a step then is products and sums whose
//! exponents are aligned. Nothing overflows or vanishes, however far apart the states are: what alignment drops is less
//! than 2^-900 of the sum. Logarithms are taken of all steps at once afterwards.
#![expect(
    unsafe_code,
    reason = "steps read and write at addresses that are found once, when memory is made"
)]

use std::fmt;

use exmc_math::simd::{Address, Level, Routine, Simd, vector};

use super::program::{LANES, Place};
use super::resolve::Memory;

/// Most pairs of states; of more, whole vectors of functions are quicker.
pub(super) const MOST_PAIRS: usize = 128;

/// A loop of such sums.
#[derive(Debug)]
pub(super) struct Markov {
    pub(super) length: usize,
    pub(super) reverse: bool,
    /// Number of states.
    pub(super) width: usize,
    pub(super) start: Place,
    /// Pairs of every state with the states that it sums over, all of one state in a row: numbers of the latter.
    pub(super) from: Vec<u32>,
    /// What is added to the pairs.
    pub(super) terms: Vec<Term>,
    /// Of the states before every step and after the last one, with all zeros behind: m, and n.
    pub(super) parts: [Place; 2],
    /// The states before every step, after it, and after the last step, where somebody reads them.
    pub(super) before: Option<Place>,
    pub(super) after: Option<Place>,
    pub(super) last: Option<Place>,
}

/// Something known that is added to every pair.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) place: Place,
    /// How far apart the elements of neighbouring steps are.
    pub(super) stride: usize,
    pub(super) negative: bool,
    /// Which element each pair takes.
    pub(super) index: Vec<u32>,
}

impl fmt::Display for Markov {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outputs: Vec<_> =
            [self.before, self.after, self.last].iter().flatten().map(Place::to_string).collect();
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

/// A [`Markov`] with addresses.
#[derive(Debug)]
pub(super) struct Chain {
    length: usize,
    reverse: bool,
    width: usize,
    start: *const f64,
    from: Vec<u32>,
    /// Added to the pairs of all steps alike, and of each step.
    fixed: Vec<Addend>,
    moving: Vec<Addend>,
    parts: [*mut f64; 2],
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
}

impl Markov {
    pub(super) fn chain(&self, memory: &Memory<'_>) -> Chain {
        let first = |place: Option<Place>| place.map(|place| memory.first(place));
        let outputs = [self.before, self.after, self.last];
        let single = outputs.iter().flatten().filter(|place| place.step == 0);
        let addend = |term: &Term| Addend {
            first: memory.first(term.place),
            stride: term.stride,
            sign: if term.negative { -1.0 } else { 1.0 },
            index: term.index.clone(),
        };
        let (fixed, moving): (Vec<_>, Vec<_>) =
            self.terms.iter().map(addend).partition(|addend| addend.stride == 0);
        Chain {
            length: self.length,
            reverse: self.reverse,
            width: self.width,
            start: memory.first(self.start),
            from: self.from.clone(),
            fixed,
            moving,
            parts: self.parts.map(|place| memory.first(place)),
            before: first(self.before),
            after: first(self.after),
            last: first(self.last),
            lines: single.map(|&place| memory.first(place)).collect(),
        }
    }
}

impl Addend {
    /// Adds the elements of a step to the pairs.
    #[inline(always)]
    fn add(&self, step: usize, pairs: &mut [f64]) {
        for (pair, &k) in pairs.iter_mut().zip(&self.index) {
            // SAFETY: `lower` took the index from the shapes of the loop's body, and the place has elements for all steps.
            let value = unsafe { *self.first.add(step * self.stride + k as usize) };
            *pair += self.sign * value;
        }
    }
}

struct RunChain;

impl Routine for RunChain {
    type Context = ();
    type Step = Chain;

    #[inline(always)]
    fn run<S: Simd>(s: S, (): &(), chain: &Chain) {
        let &Chain { length, reverse, width, parts: [m, n], .. } = chain;
        let mut fixed = [0.0; MOST_PAIRS];
        let pairs = chain.from.len();
        for addend in &chain.fixed {
            addend.add(0, &mut fixed[..pairs]);
        }
        for k in 0..width.div_ceil(LANES) {
            let mut start = [0.0; LANES];
            for (j, start) in start.iter_mut().enumerate().take(width - LANES * k) {
                // SAFETY: the start has `width` elements.
                *start = unsafe { *chain.start.add(LANES * k + j) };
            }
            let (exponent, mantissa) = vector::exp_parts(s, s.load(&start));
            // SAFETY: parts have memory to the end of a line more than their elements.
            unsafe {
                s.store(exponent, &mut *n.add(LANES * k).cast::<[f64; LANES]>());
                s.store(mantissa, &mut *m.add(LANES * k).cast::<[f64; LANES]>());
            }
        }
        let (mut exponents, mut mantissas) = ([0.0; MOST_PAIRS], [0.0; MOST_PAIRS]);
        let mut known = [0.0; MOST_PAIRS];
        let known_once = chain.moving.is_empty();
        for step in 0..length {
            if step == 0 || !known_once {
                for (known, fixed) in known.iter_mut().zip(&fixed).take(pairs) {
                    *known = *fixed;
                }
                let at = if reverse { length - 1 - step } else { step };
                for addend in &chain.moving {
                    addend.add(at, &mut known[..pairs]);
                }
                let vectors = known.as_chunks::<LANES>().0.iter().take(pairs.div_ceil(LANES));
                let to = exponents.as_chunks_mut::<LANES>().0.iter_mut();
                let to = to.zip(mantissas.as_chunks_mut::<LANES>().0);
                for (known, (exponents, mantissas)) in vectors.zip(to) {
                    let (exponent, mantissa) = vector::exp_parts(s, s.load(known));
                    s.store(exponent, exponents);
                    s.store(mantissa, mantissas);
                }
            }
            // SAFETY: parts have the states before every step and after the last one.
            let (state, next) = unsafe {
                (
                    [m.add(step * width), n.add(step * width)],
                    [m.add((step + 1) * width), n.add((step + 1) * width)],
                )
            };
            let (from, known) = (&chain.from[..], [&mantissas, &exponents]);
            let normal = step % 16 == 15;
            match pairs / width {
                2 => advance::<2>(from, state, next, known, normal),
                3 => advance::<3>(from, state, next, known, normal),
                4 => advance::<4>(from, state, next, known, normal),
                5 => advance::<5>(from, state, next, known, normal),
                group => advance_any(from, group, state, next, known, normal),
            }
        }
        let steps = length * width;
        // What was before the first step is given.
        let outputs = [(chain.before, 0, steps), (chain.after, width, steps)];
        for (to, first, len) in outputs.into_iter().chain([(chain.last, steps, width)]) {
            let Some(to) = to else { continue };
            for k in (0..len).step_by(LANES) {
                // SAFETY: parts and outputs have memory to the end of a line more than their elements.
                let (mantissa, exponent) = unsafe {
                    (
                        s.load(&*m.add(first + k).cast::<[f64; LANES]>()),
                        s.load(&*n.add(first + k).cast::<[f64; LANES]>()),
                    )
                };
                let low = s.fma(exponent, s.splat(LN_2[1]), vector::log(s, mantissa));
                let values = s.to_array(s.fma(exponent, s.splat(LN_2[0]), low));
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

/// log 2 in two parts, the first with zeros behind, so that products with exponents are exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// The exponent of zero, below that of any number's exponential.
const NOTHING: f64 = -1e300;

/// One step from a state's parts, m and n, to the next ones; `normal` says to bring every m back to about one.
///
/// Every state sums over `G` states.
#[inline(always)]
fn advance<const G: usize>(
    from: &[u32],
    [m, n]: [*mut f64; 2],
    [m_next, n_next]: [*mut f64; 2],
    [mantissas, exponents]: [&[f64; MOST_PAIRS]; 2],
    normal: bool,
) {
    let (from, _) = from.as_chunks::<G>();
    let ((mantissas, _), (exponents, _)) = (mantissas.as_chunks::<G>(), exponents.as_chunks::<G>());
    for (k, ((from, mantissas), exponents)) in from.iter().zip(mantissas).zip(exponents).enumerate()
    {
        let (mut products, mut sums) = ([0.0; G], [0.0; G]);
        for j in 0..G {
            // SAFETY: `lower` took the pairs from the state's shape.
            let (m, n) = unsafe { (*m.add(from[j] as usize), *n.add(from[j] as usize)) };
            products[j] = m * mantissas[j];
            sums[j] = n + exponents[j];
        }
        let mut largest = sums[0];
        for &sum in &sums[1..] {
            largest = if sum > largest { sum } else { largest };
        }
        let mut sum = 0.0;
        for j in 0..G {
            sum += products[j] * power_of_two(sums[j] - largest);
        }
        // SAFETY: the next state is as large as this one.
        unsafe { put(sum, largest, normal, m_next.add(k), n_next.add(k)) };
    }
}

/// The same for any number of states to sum over.
#[inline(always)]
fn advance_any(
    from: &[u32],
    group: usize,
    [m, n]: [*mut f64; 2],
    [m_next, n_next]: [*mut f64; 2],
    [mantissas, exponents]: [&[f64; MOST_PAIRS]; 2],
    normal: bool,
) {
    let (mantissas, exponents) = (mantissas.chunks_exact(group), exponents.chunks_exact(group));
    let groups = from.chunks_exact(group).zip(mantissas).zip(exponents);
    for (k, ((from, mantissas), exponents)) in groups.enumerate() {
        let mut largest = f64::NEG_INFINITY;
        for (&other, exponent) in from.iter().zip(exponents) {
            // SAFETY: `lower` took the pairs from the state's shape.
            let exponent = unsafe { *n.add(other as usize) } + exponent;
            largest = if exponent > largest { exponent } else { largest };
        }
        let mut sum = 0.0;
        for ((&other, mantissa), exponent) in from.iter().zip(mantissas).zip(exponents) {
            // SAFETY: as above.
            let (m, n) = unsafe { (*m.add(other as usize), *n.add(other as usize)) };
            sum += m * mantissa * power_of_two((n + exponent) - largest);
        }
        // SAFETY: the next state is as large as this one.
        unsafe { put(sum, largest, normal, m_next.add(k), n_next.add(k)) };
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

impl Chain {
    pub(super) fn address(level: Level) -> Address<(), Self> {
        level.address::<RunChain>()
    }
}
