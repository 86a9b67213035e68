//! Random numbers that are the same on every device: a seed -> uniform and normal numbers, on the
//! host.

/// A stream of random numbers: SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A stream of its own for each `part`, so that neither order nor size of the others matters.
    pub(crate) fn of(seed: u64, part: u64) -> Self {
        let mut mixed = Self::new(seed ^ part.wrapping_mul(0xd1b5_4a32_d192_ed03));
        Self::new(mixed.next())
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In (0, 1): the middle of one of $2^{53}$ intervals, so never 0 and never 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal numbers, by Box and Muller's transform.
    pub(crate) fn normals(&mut self, count: usize) -> Vec<f64> {
        let mut values = Vec::with_capacity(count + 1);
        while values.len() < count {
            let radius = (-2.0 * self.uniform().ln()).sqrt();
            let (sine, cosine) = (std::f64::consts::TAU * self.uniform()).sin_cos();
            values.extend([radius * cosine, radius * sine]);
        }
        values.truncate(count);
        values
    }
}
