//! Standard normal and exponential draws: random words to samples by the ziggurat method.
//!
//! One 64-bit word gives the layer (8 bits), the sign (1 bit) and a 53-bit position, all disjoint;
//! a point left of the next layer's edge is accepted at once (98.8 % of the normal draws). The
//! others are decided exactly: by the density in the wedges, by Marsaglia's method in the normal
//! tail, by memorylessness in the exponential tail. The tables are frozen in `ziggurat_tables.rs`.
//!
//! **Reference**: Marsaglia and Tsang 2000; Doornik 2005 (why layer and position must not share
//! bits).

use super::stream::{ChainRng, unit_from_bits};
use super::ziggurat_tables::{EXPONENTIAL_F, EXPONENTIAL_X, NORMAL_F, NORMAL_X};

/// A draw from N(0, 1).
#[inline(always)]
pub(super) fn standard_normal(rng: &mut ChainRng) -> f64 {
    let bits = rng.next_u64();
    let layer = (bits & 0xff) as usize;
    let x = unit_from_bits(bits) * NORMAL_X[layer];
    if x < NORMAL_X[layer + 1] { with_sign(x, bits) } else { beyond_the_next_layer(rng, bits) }
}

/// Draws that are made together.
pub(super) const TOGETHER: usize = 8;

/// A draw for each word, unless one of them needs more than that; whether there is none such.
///
/// Without a branch among them, so that a processor computes them side by side.
#[inline(always)]
pub(super) fn plain_normals(bits: &[u64; TOGETHER], out: &mut [f64; TOGETHER]) -> bool {
    let mut all = true;
    for (&bits, out) in bits.iter().zip(out) {
        let layer = (bits & 0xff) as usize;
        let x = unit_from_bits(bits) * NORMAL_X[layer];
        all &= x < NORMAL_X[layer + 1];
        *out = with_sign(x, bits);
    }
    all
}

/// [`standard_normal`] for a first word whose point is not left of the next layer's edge.
#[cold]
#[inline(never)]
fn beyond_the_next_layer(rng: &mut ChainRng, mut bits: u64) -> f64 {
    loop {
        let layer = (bits & 0xff) as usize;
        let x = unit_from_bits(bits) * NORMAL_X[layer];
        if x < NORMAL_X[layer + 1] {
            return with_sign(x, bits);
        }
        if layer == 0 {
            return with_sign(normal_tail(rng), bits);
        }
        if below_density(rng, &NORMAL_F, layer, libm::exp(-0.5 * x * x)) {
            return with_sign(x, bits);
        }
        bits = rng.next_u64();
    }
}

/// Bit 8 as the sign of `x`, which is not negative: moved there, because no processor can foresee a
/// branch on it.
#[inline(always)]
fn with_sign(x: f64, bits: u64) -> f64 {
    f64::from_bits(x.to_bits() | (bits & 0x100) << 55)
}

/// A draw from Exponential(1).
#[inline]
pub(super) fn standard_exponential(rng: &mut ChainRng) -> f64 {
    let mut shift = 0.0;
    loop {
        let bits = rng.next_u64();
        let layer = (bits & 0xff) as usize;
        let x = unit_from_bits(bits) * EXPONENTIAL_X[layer];
        if x < EXPONENTIAL_X[layer + 1] {
            return shift + x;
        }
        if layer == 0 {
            // Beyond the edge the density repeats itself: start again from there.
            shift += EXPONENTIAL_X[1];
        } else if below_density(rng, &EXPONENTIAL_F, layer, libm::exp(-x)) {
            return shift + x;
        }
    }
}

/// Whether a uniform height inside `layer` lies under `density`.
#[cold]
fn below_density(rng: &mut ChainRng, heights: &[f64; 257], layer: usize, density: f64) -> bool {
    heights[layer] + (heights[layer + 1] - heights[layer]) * rng.uniform() < density
}

/// A draw from N(0, 1) given that it exceeds the base strip's edge r: r + e/r with e exponential,
/// kept with probability exp(-(e/r)^2 / 2).
#[cold]
fn normal_tail(rng: &mut ChainRng) -> f64 {
    let edge = NORMAL_X[1];
    loop {
        let excess = -libm::log(rng.uniform_open()) / edge;
        let height = -libm::log(rng.uniform_open());
        if 2.0 * height > excess * excess {
            return edge + excess;
        }
    }
}
