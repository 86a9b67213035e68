//! Mixtures of the states before: `next_k = sum_j weight_kj (state_j + added_j)`, step after step.
//!
//! The derivative of the forward algorithm of a hidden LogSumExpScan model is of this kind: its
//! weights are the shares of the terms in their sums, which the forward loop leaves behind.
#![expect(
    unsafe_code,
    reason = "steps read and write at addresses that are found once, when memory is made"
)]

use std::fmt;

use exmc_math::simd::{Address, Level, Routine, Simd};

use crate::native::link::Linker;
use crate::native::program::{LANES, Place};

/// Most elements of a state.
pub(in crate::native) const MAX_STATES: usize = 16;

/// A loop of such mixtures.
#[derive(Debug)]
pub(in crate::native) struct LinearScan {
    pub(in crate::native) length: usize,
    pub(in crate::native) reverse: bool,
    /// Elements of the state.
    pub(in crate::native) width: usize,
    pub(in crate::native) start: Place,
    /// What every step adds to the state before it is mixed.
    pub(in crate::native) added: Option<Place>,
    /// The weights, and how far apart those of neighbouring steps are.
    pub(in crate::native) weights: Place,
    pub(in crate::native) stride: usize,
    /// For every element of the next state, in order: weights and elements of the state.
    pub(in crate::native) terms: Vec<Vec<[u32; 2]>>,
    /// The states before every step, after it, and after the last step, where somebody reads them.
    pub(in crate::native) states: [Option<Place>; 3],
}

impl fmt::Display for LinearScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outputs: Vec<_> = self.states.iter().flatten().map(Place::to_string).collect();
        let terms: usize = self.terms.iter().map(Vec::len).sum();
        let Self { length, start, weights, .. } = self;
        let outputs = outputs.join(", ");
        write!(f, "mixing {outputs} from {start} by {weights}")?;
        self.added.map_or(Ok(()), |added| write!(f, " with {added}"))?;
        write!(f, " // {length} steps of {terms} terms")
    }
}

/// A [`LinearScan`] with addresses.
#[derive(Debug)]
pub(in crate::native) struct LinkedLinearScan {
    length: usize,
    reverse: bool,
    width: usize,
    start: *const f64,
    added: Option<*const f64>,
    weights: *const f64,
    stride: usize,
    /// For every element of the next state, where its terms end.
    ends: Vec<usize>,
    terms: Vec<[u32; 2]>,
    before: Option<*mut f64>,
    after: Option<*mut f64>,
    last: Option<*mut f64>,
    /// Lines of single elements, to be filled with them.
    lines: Vec<*mut f64>,
}

impl LinearScan {
    pub(in crate::native) fn mixer(&self, memory: &Linker<'_>) -> LinkedLinearScan {
        let first = |place: Option<Place>| place.map(|place| memory.first(place));
        let [before, after, last] = self.states.map(first);
        let single = self.states.iter().flatten().filter(|place| place.step == 0);
        let ends = self.terms.iter().scan(0, |end, terms| {
            *end += terms.len();
            Some(*end)
        });
        LinkedLinearScan {
            length: self.length,
            reverse: self.reverse,
            width: self.width,
            start: memory.first(self.start),
            added: first(self.added).map(<*mut f64>::cast_const),
            weights: memory.first(self.weights),
            stride: self.stride,
            ends: ends.collect(),
            terms: self.terms.concat(),
            before,
            after,
            last,
            lines: single.map(|&place| memory.first(place)).collect(),
        }
    }
}

struct RunLinearScan;

impl Routine for RunLinearScan {
    type Context = ();
    type Step = LinkedLinearScan;

    #[inline(always)]
    unsafe fn run<S: Simd>(_: S, (): &(), mixer: &LinkedLinearScan) {
        let &LinkedLinearScan { width, .. } = mixer;
        let complete = mixer.terms.len() == width * width
            && mixer.terms.iter().enumerate().all(|(k, term)| term[1] as usize == k % width)
            && mixer.ends.iter().enumerate().all(|(k, end)| *end == (k + 1) * width);
        match width {
            2 if complete => dense::<2>(mixer),
            3 if complete => dense::<3>(mixer),
            4 if complete => dense::<4>(mixer),
            5 if complete => dense::<5>(mixer),
            _ => sparse(mixer),
        }
        for &line in &mixer.lines {
            // SAFETY: a place of one element is a line, to which nothing else refers.
            unsafe { *line.cast::<[f64; LANES]>() = [*line; LANES] };
        }
    }
}

/// Every element is a mixture of all `K`, in order.
#[inline(always)]
fn dense<const K: usize>(mixer: &LinkedLinearScan) {
    run(mixer, K, |state: &[f64; MAX_STATES], weights| {
        let mut next = [0.0; MAX_STATES];
        for (next, terms) in next.iter_mut().zip(mixer.terms.as_chunks::<K>().0) {
            for (&[weight, _], state) in terms.iter().zip(state) {
                // SAFETY: `lower` took the terms from the shapes of the loop's body.
                *next = unsafe { *weights.add(weight as usize) }.mul_add(*state, *next);
            }
        }
        next
    });
}

#[inline(always)]
fn sparse(mixer: &LinkedLinearScan) {
    run(mixer, mixer.width, |state: &[f64; MAX_STATES], weights| {
        let mut next = [0.0; MAX_STATES];
        let mut first = 0;
        for (next, &end) in next.iter_mut().zip(&mixer.ends) {
            for &[weight, from] in &mixer.terms[first..end] {
                // SAFETY: as above.
                *next =
                    unsafe { *weights.add(weight as usize) }.mul_add(state[from as usize], *next);
            }
            first = end;
        }
        next
    });
}

/// Runs all steps, each by `mix`, given the state with what is added and the step's weights.
#[inline(always)]
fn run(
    mixer: &LinkedLinearScan,
    width: usize,
    mix: impl Fn(&[f64; MAX_STATES], *const f64) -> [f64; MAX_STATES],
) {
    let put = |state: &[f64; MAX_STATES], to: Option<*mut f64>, step: usize| {
        let Some(to) = to else { return };
        for (k, &value) in state[..width].iter().enumerate() {
            // SAFETY: outputs have `width` elements a step, and nothing else refers to them now.
            unsafe { *to.add(step * width + k) = value };
        }
    };
    let mut state = [0.0; MAX_STATES];
    for (k, state) in state[..width].iter_mut().enumerate() {
        // SAFETY: the start has `width` elements.
        *state = unsafe { *mixer.start.add(k) };
    }
    for step in 0..mixer.length {
        let row_index = if mixer.reverse { mixer.length - 1 - step } else { step };
        put(&state, mixer.before, row_index);
        if let Some(added) = mixer.added {
            for (k, state) in state[..width].iter_mut().enumerate() {
                // SAFETY: what is added has `width` elements a step.
                *state += unsafe { *added.add(row_index * width + k) };
            }
        }
        // SAFETY: there are weights for every step.
        state = mix(&state, unsafe { mixer.weights.add(row_index * mixer.stride) });
        put(&state, mixer.after, row_index);
    }
    put(&state, mixer.last, 0);
}

impl LinkedLinearScan {
    pub(in crate::native) fn address(level: Level) -> Address<(), Self> {
        level.address::<RunLinearScan>()
    }
}
