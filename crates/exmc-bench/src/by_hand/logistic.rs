//! Logistic regression: a design and outcomes -> a gradient in one pass over the design.
//!
//! Rows are multiplied by the outcome's sign once, when they are packed: with $s = 1-2y$ and $\eta
//! = s(\alpha + x'\beta)$ a row adds $-\log(1+e^\eta)$ and $-s x / (1+e^{-\eta})$. Rows that fill
//! up a tile have $s = 0$ and add $-\log 2$ and no gradient. The logarithms are that of a product
//! of numbers between 1 and 2.
#![expect(clippy::needless_range_loop, reason = "one index runs through several arrays of lanes")]

use exmc_math::simd::{Kernel, Level, Simd, Twice, vector};

use super::Gradient;
use crate::models::Data;

/// Vectors of eight rows that are worked on at a time: independent chains enough to hide the
/// latency of a fused multiply-add, few enough for AVX2's registers.
const U: usize = 4;
/// Factors up to 2 that a product takes before its logarithm is due.
const MAX_FACTORS: usize = 1000;

/// How many tiles ahead memory is asked for: far enough for its latency, near enough to stay in the
/// first-level cache.
const AHEAD: usize = 3;
/// Bytes that the last-level cache holds. What it does not, comes quicker unasked.
const CACHED: usize = 8 << 20;

/// Thirty-two rows: the signs, then one column after the other.
struct Tile<const K: usize> {
    signs: [[f64; 8]; U],
    columns: [[[f64; 8]; U]; K],
}

/// Ours, with normal(0, 10) priors.
pub(super) fn kernel(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let (design, outcomes) = (data.tensor("X")?, data.tensor("y")?);
    match design.shape().extents() {
        [_, 20] => Ok(packed::<20>(design.values(), outcomes.values(), 0.01, level)),
        other => Err(format!("the kernel is written for 20 columns, found shape {other:?}")),
    }
}

/// One column, no priors.
pub(super) fn wells(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let column: Vec<f64> = data.values("dist")?.iter().map(|d| d / 100.0).collect();
    Ok(packed::<1>(&column, &data.values("switched")?, 0.0, level))
}

fn packed<const K: usize>(
    design: &[f64],
    outcomes: &[f64],
    precision: f64,
    level: Level,
) -> Gradient {
    let rows = 8 * U;
    let empty = || Tile { signs: [[0.0; 8]; U], columns: [[[0.0; 8]; U]; K] };
    let mut tiles: Vec<Tile<K>> = (0..outcomes.len().div_ceil(rows)).map(|_| empty()).collect();
    for (i, (row, y)) in design.chunks_exact(K).zip(outcomes).enumerate() {
        let (tile, u, lane) = (&mut tiles[i / rows], i % rows / 8, i % 8);
        let sign = 1.0 - 2.0 * y;
        tile.signs[u][lane] = sign;
        for (column, x) in tile.columns.iter_mut().zip(row) {
            column[u][lane] = sign * x;
        }
    }
    let added = (tiles.len() * rows - outcomes.len()) as f64;
    let constant = added * std::f64::consts::LN_2;
    Box::new(move |position, gradient| {
        level.run(Logistic { tiles: &tiles, constant, precision, position, gradient })
    })
}

struct Logistic<'a, const K: usize> {
    tiles: &'a [Tile<K>],
    constant: f64,
    precision: f64,
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl<const K: usize> Kernel for Logistic<'_, K> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { tiles, constant, precision, position, gradient } = self;
        let (zero, one) = (s.splat(0.0), s.splat(1.0));
        let alpha = s.splat(position[0]);
        let mut beta = [zero; K];
        for k in 0..K {
            beta[k] = s.splat(position[k + 1]);
        }
        let ahead = if size_of_val(tiles) > CACHED { 0 } else { AHEAD };
        let (mut of_beta, mut of_alpha, mut logp) = ([zero; K], zero, zero);
        for tiles in tiles.chunks(MAX_FACTORS / U) {
            let mut product = one;
            for tile in tiles {
                let mut eta = [zero; U];
                for u in 0..U {
                    eta[u] = s.mul(s.load(&tile.signs[u]), alpha);
                }
                for k in 0..K {
                    for u in 0..U {
                        eta[u] = s.fma(s.load(&tile.columns[k][u]), beta[k], eta[u]);
                    }
                }
                let mut factor = one;
                for u in 0..U / 2 {
                    let pair = [eta[2 * u], eta[2 * u + 1]];
                    let (logistic, e) = vector::sigmoid_exp(Twice::new(s), pair);
                    for (half, u) in [2 * u, 2 * u + 1].into_iter().enumerate() {
                        factor = s.mul(factor, s.add(one, e[half]));
                        logp = s.sub(logp, s.max(zero, eta[u]));
                        eta[u] = logistic[half];
                        of_alpha = s.fnma(s.load(&tile.signs[u]), eta[u], of_alpha);
                    }
                }
                product = s.mul(product, factor);
                let next = std::ptr::from_ref(tile).wrapping_add(ahead);
                for k in 0..K {
                    for u in 0..U {
                        of_beta[k] = s.fnma(s.load(&tile.columns[k][u]), eta[u], of_beta[k]);
                        s.prefetch(next.cast::<f64>().wrapping_add((U + U * k + u) * 8));
                    }
                }
            }
            logp = s.sub(logp, vector::log(s, product));
        }
        let mut total = s.total(logp) + constant;
        let mut squares = position[0] * position[0];
        gradient[0] = s.total(of_alpha) - precision * position[0];
        for k in 0..K {
            let b = position[k + 1];
            squares += b * b;
            gradient[k + 1] = s.total(of_beta[k]) - precision * b;
        }
        total -= 0.5 * precision * squares;
        total
    }
}
