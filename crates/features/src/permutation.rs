//! A seed and a length -> an order of 0 to length - 1, without memory: a Feistel network of four
//! rounds over the smallest even number of bits, walked until a result is below the length.

use crate::hash::mix;

const ROUNDS: u64 = 4;

/// An order of the numbers below a length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    length: u64,
    /// Bits of each half.
    half: u32,
    seed: u64,
}

impl Permutation {
    pub(crate) fn new(length: usize, seed: u64) -> Self {
        let length = length as u64;
        let bits = 64 - length.saturating_sub(1).leading_zeros();
        Self { length, half: bits.div_ceil(2).max(1), seed: mix(seed ^ 0x9e37_79b9_7f4a_7c15) }
    }

    /// The number at a place, which must be below the length.
    pub(crate) fn number_at(&self, place: usize) -> usize {
        let mask = (1_u64 << self.half) - 1;
        let mut number = place as u64;
        loop {
            let (mut left, mut right) = (number >> self.half, number & mask);
            for round in 0..ROUNDS {
                let key = self.seed.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                (left, right) = (right, left ^ (mix(right ^ key) & mask));
            }
            number = left << self.half | right;
            // The network permutes a power of two, at most four times the length.
            if number < self.length {
                return number as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Permutation;

    #[test]
    fn every_number_comes_once_and_in_another_order_for_another_seed() {
        for length in [1, 2, 3, 5, 64, 65, 1000] {
            let order = |seed| {
                let permutation = Permutation::new(length, seed);
                (0..length).map(|k| permutation.number_at(k)).collect::<Vec<_>>()
            };
            let mut sorted = order(7);
            sorted.sort_unstable();
            assert_eq!(sorted, (0..length).collect::<Vec<_>>());
            assert_eq!(order(7), order(7));
            assert!(length < 64 || order(7) != order(8));
        }
    }
}
