//! The stream of one chain and phase: ChaCha8 words to integers, uniforms, normals and
//! exponentials.

use std::fmt;

use chacha20::ChaCha8Rng;
use exmc_fault::{Fault, planted};
use rand_core::{Rng, SeedableRng};

use super::ziggurat;

/// Which part of a chain's life a stream serves. The codes are stable: stored runs depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Phase {
    /// Looking for a starting point.
    Initial = 0,
    /// Adapting; these draws are thrown away.
    Warmup = 1,
    /// Drawing from the posterior.
    Sampling = 2,
    /// Drawing observed variables given posterior draws.
    Predictive = 3,
    /// Drawing what was integrated out, given a posterior draw of the rest.
    Conditional = 4,
    /// Drawing from the joint prior.
    Prior = 5,
    /// Generated quantities and transformed data of a Stan program.
    Quantities = 6,
    /// Drawing from the normal approximation at a mode.
    Approximation = 7,
    /// Looking for a point from which to search for a mode.
    Mode = 8,
    /// Walking to a mode and drawing from normal approximations on the way (Pathfinder).
    Path = 9,
    /// Estimating gradients of a lower bound, and drawing from the approximation that it leads to.
    Variational = 10,
    /// Choosing among draws by their weights.
    Resampling = 11,
}

impl Phase {
    /// All of them: who draws random numbers has a phase of its own, so that no two draw the same.
    pub const ALL: [Self; 12] = [
        Self::Initial,
        Self::Warmup,
        Self::Sampling,
        Self::Predictive,
        Self::Conditional,
        Self::Prior,
        Self::Quantities,
        Self::Approximation,
        Self::Mode,
        Self::Path,
        Self::Variational,
        Self::Resampling,
    ];

    /// The stable code that goes into the stream number and into stored runs.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// One reproducible sequence of random words: ChaCha8 keyed by the seed, numbered by chain and
/// phase.
///
/// Streams of different `(chain, phase)` never overlap: each is its own ChaCha nonce, with 2^68
/// words. All 64 bits of the seed are used; they are spread over the 256-bit key by SplitMix64.
///
/// **Reference**: Bernstein 2008 (ChaCha); Steele, Lea, Flood 2014 (SplitMix64).
///
/// ```
/// use exmc_math::random::{ChainRng, Phase};
/// let mut rng = ChainRng::new(42, 0, Phase::Sampling);
/// rng.standard_normal();
/// let position = rng.word_position();
/// let next = rng.standard_normal();
/// let mut resumed = ChainRng::new(42, 0, Phase::Sampling);
/// resumed.set_word_position(position);
/// assert_eq!(resumed.standard_normal().to_bits(), next.to_bits());
/// ```
pub struct ChainRng {
    seed: u64,
    stream: u64,
    words: ChaCha8Rng,
    /// The last pairs of words taken from `words`, of which those from `next` on have not been
    /// given out.
    pairs: [u64; PAIRS],
    next: usize,
}

/// Pairs of words taken at once: four blocks of ChaCha, which vector instructions make together.
const PAIRS: usize = 32;
/// Words of a stream.
const PERIOD: u128 = 1 << 68;

impl ChainRng {
    /// The stream of `chain` in `phase` under `seed`, at its beginning.
    pub fn new(seed: u64, chain: u32, phase: Phase) -> Self {
        let chain = if planted(Fault::StreamReuse) { 0 } else { chain };
        Self::from_stream(seed, u64::from(chain) << 8 | u64::from(phase.code()))
    }

    fn from_stream(seed: u64, stream: u64) -> Self {
        let mut words = ChaCha8Rng::from_seed(spread_seed(seed));
        words.set_stream(stream);
        Self { seed, stream, words, pairs: [0; PAIRS], next: PAIRS }
    }

    /// The next 64 bits: two 32-bit words of the stream, low word first.
    #[inline(always)]
    pub fn next_u64(&mut self) -> u64 {
        self.next_u64_if(true)
    }

    /// The next 64 bits, which are those of the next call too unless they are `taken`: for who
    /// decides without a branch.
    #[inline(always)]
    pub fn next_u64_if(&mut self, taken: bool) -> u64 {
        if self.next >= PAIRS {
            self.take_pairs();
        }
        let pair = self.pairs[self.next];
        self.next += usize::from(taken);
        pair
    }

    #[inline(never)]
    fn take_pairs(&mut self) {
        let mut bytes = [0; 8 * PAIRS];
        self.words.fill_bytes(&mut bytes);
        for (pair, bytes) in self.pairs.iter_mut().zip(bytes.as_chunks().0) {
            *pair = u64::from_le_bytes(*bytes);
        }
        self.next = 0;
    }

    /// Uniform on `[0, 1)`: the multiples of `2^-53`, each equally likely.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        unit_from_bits(self.next_u64())
    }

    /// The same, which is the next call's too unless it is `taken`.
    #[inline(always)]
    pub fn uniform_if(&mut self, taken: bool) -> f64 {
        unit_from_bits(self.next_u64_if(taken))
    }

    /// Uniform on the open interval `(0, 1)`: the 2^52 midpoints `(k + 1/2) 2^-52`, symmetric about
    /// 1/2.
    #[inline]
    pub fn uniform_open(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// Uniform integer in `0..bound`, without bias (Lemire 2019, rejection on the low product).
    ///
    /// **Panics** if `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a uniform integer needs a bound above zero");
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// A draw from the normal distribution with mean 0 and variance 1 (256-layer ziggurat).
    #[inline(always)]
    pub fn standard_normal(&mut self) -> f64 {
        ziggurat::standard_normal(self)
    }

    /// As many draws from the normal distribution with mean 0 and variance 1 as there is room for:
    /// those that [`standard_normal`](Self::standard_normal) would make one after the other.
    pub fn fill_standard_normal(&mut self, mut out: &mut [f64]) {
        while !out.is_empty() {
            if self.next >= PAIRS {
                self.take_pairs();
            }
            let pairs = &self.pairs[self.next..];
            let count = out.len().min(pairs.len()).min(ziggurat::TOGETHER);
            let (batch, rest) = out.split_at_mut(count);
            let together = match (pairs.first_chunk(), batch.first_chunk_mut()) {
                (Some(pairs), Some(chunk)) => ziggurat::plain_normals(pairs, chunk),
                _ => false,
            };
            if together {
                self.next += count;
            } else {
                batch.iter_mut().for_each(|x| *x = self.standard_normal());
            }
            out = rest;
        }
    }

    /// A draw from the exponential distribution with mean 1 (256-layer ziggurat).
    #[inline]
    pub fn standard_exponential(&mut self) -> f64 {
        ziggurat::standard_exponential(self)
    }

    /// How many 32-bit words were taken from the start of the stream; with (seed, chain, phase) it
    /// is the whole state.
    pub fn word_position(&self) -> u128 {
        let ahead = 2 * (PAIRS - self.next) as u128;
        self.words.get_word_pos().wrapping_sub(ahead) % PERIOD
    }

    /// Continues at `position`, as returned by [`ChainRng::word_position`] (taken modulo 2^68).
    pub fn set_word_position(&mut self, position: u128) {
        self.words.set_word_pos(position);
        self.next = PAIRS;
    }
}

impl Clone for ChainRng {
    fn clone(&self) -> Self {
        let mut copy = Self::from_stream(self.seed, self.stream);
        copy.set_word_position(self.word_position());
        copy
    }
}

impl fmt::Debug for ChainRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainRng")
            .field("seed", &self.seed)
            .field("chain", &(self.stream >> 8))
            .field("phase", &(self.stream & 0xff))
            .field("word_position", &self.word_position())
            .finish()
    }
}

/// The top 53 bits as a number in `[0, 1)`.
#[inline(always)]
pub(super) fn unit_from_bits(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Four SplitMix64 outputs as the 256-bit key.
fn spread_seed(seed: u64) -> [u8; 32] {
    let mut key = [0; 32];
    let mut state = seed;
    for bytes in key.chunks_exact_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes());
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_matches_the_published_sequence() {
        // First output of SplitMix64 from state 0, as in the authors' reference code.
        assert_eq!(spread_seed(0)[..8], 0xe220_a839_7b1d_cdaf_u64.to_le_bytes());
    }

    #[test]
    fn resuming_at_every_position_continues_the_stream() {
        // 300 words cross several of the generator's internal buffers, at odd and even positions.
        let mut original = ChainRng::new(7, 3, Phase::Warmup);
        for step in 0..300 {
            let mut resumed = ChainRng::new(7, 3, Phase::Warmup);
            resumed.set_word_position(original.word_position());
            let mut copy = original.clone();
            assert_eq!(copy.word_position(), original.word_position());
            for _ in 0..40 {
                assert_eq!(resumed.next_u64(), copy.next_u64(), "step {step}");
            }
            if step % 7 == 0 {
                original.standard_normal().to_bits()
            } else {
                original.next_u64()
            };
        }
        // The last pair of the stream, and the first again.
        let mut last = ChainRng::new(7, 3, Phase::Warmup);
        last.set_word_position(PERIOD - 2);
        last.next_u64();
        let beginning = ChainRng::new(7, 3, Phase::Warmup).next_u64();
        assert_eq!((last.word_position(), last.next_u64_if(false)), (0, beginning));
        assert_eq!((last.word_position(), last.next_u64()), (0, beginning));
        assert_eq!(last.word_position(), 2);
        let mut odd = ChainRng::new(7, 3, Phase::Warmup);
        odd.set_word_position(63);
        let mut even = ChainRng::new(7, 3, Phase::Warmup);
        even.set_word_position(62);
        assert_eq!(odd.next_u64() as u32, (even.next_u64() >> 32) as u32);
    }

    #[test]
    fn streams_differ_in_seed_chain_and_phase() {
        let first = |seed, chain, phase| ChainRng::new(seed, chain, phase).next_u64();
        let mut firsts = vec![];
        for seed in [0, 1, u64::MAX] {
            for chain in [0, 1, u32::MAX] {
                for phase in Phase::ALL {
                    firsts.push(first(seed, chain, phase));
                }
            }
        }
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 9 * Phase::ALL.len());
    }

    #[test]
    fn integers_below_a_bound_are_even() {
        // 44.8 is the upper 1e-6 point of chi-square with 9 degrees of freedom: that is the
        // false-alarm rate.
        let mut rng = ChainRng::new(1, 0, Phase::Initial);
        let mut counts = [0.0; 10];
        for _ in 0..100_000 {
            counts[rng.below(10) as usize] += 1.0;
        }
        let statistic: f64 = counts.iter().map(|c: &f64| (c - 1e4) * (c - 1e4) / 1e4).sum();
        assert!(statistic < 44.8, "chi-square {statistic}");
        assert_eq!(rng.below(1), 0);
    }
}
